"""The parts of a page: main content, navigation, the site it belongs to (WHATWG HTML "sections"; WAI-ARIA landmarks).

Landmarks are found by elements and roles first (WAI-ARIA 1.2), then by the words of class and id that authors use for
the same. When no main content stands out, there is none: a reader then gets everything in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turbohtml import Document, Element, Node, Text

from adaptc.core.values import dataclass
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.syntax import class_names, class_words, name_words, vocabulary
from adaptc.formats.html.visible_text import (
    UNSEEN,
    TextLengths,
    content_lengths,
    fold_space,
    is_followable,
    is_hidden,
    link_label,
    link_name,
    unseen_elements,
    walk,
)

__all__ = [
    "HEADS", "Landmarks", "NavigationLink", "SiteIdentity", "content_links", "content_nodes",
    "find_landmarks", "find_site", "inner_navigation", "is_called_navigation", "navigation_links", "turns_pages",
]  # fmt: skip

_NAVIGATION = vocabulary("navigation")
_MENU_TAGS = ("ul", "ol", "table", "div", "td", "p", "section", "aside", "header", "footer", "center")
_NAVIGATION_ROLES = frozenset({"navigation", "menubar", "menu", "tablist", "toolbar"})
_MAIN_NAMES = vocabulary("main")
HEADS = frozenset({"header", "hdr", "masthead"})
_HALF = 0.5
_LINKED = 0.6  # share of a navigation's characters that are in links; menus have labels between
_FEWEST_ITEMS = 3  # links that make a list navigation
# Elements that are not text of the content, or whose text is a part of its own
_NOT_CONTENT = UNSEEN | {
    "math", "noscript", "button", "select", "textarea", "iframe", "video", "audio", "object", "dialog",
}  # fmt: skip
_LONGEST_LABEL = 90  # characters of a label, for teasers that are one link
_BRAND_WORDS = frozenset({"brand", "logo"})
_BUTTONS = frozenset({"btn", "button", "vpbutton"})  # "button brand" has the colour of the brand
_BRAND_DISTANCE = 4  # the link and three elements around it
_BRAND_LINKS = (
    "[class*=brand] a[href], [class*=logo] a[href], a[href][class*=brand], a[href][class*=logo], a[href][rel~=home i]"
)


@dataclass(frozen=True, slots=True)
class Landmarks:
    """``main`` is the element that holds the main content, if one stands out; ``navigation`` are outside of it."""

    main: Element | None
    navigation: tuple[Element, ...]


def find_landmarks(tree: Document) -> Landmarks:
    """Find the landmarks of a page."""
    body = tree.select_one("body")
    if body is None:
        return Landmarks(None, ())
    lengths = content_lengths(tree)
    total = lengths.of(body)
    main = _find_main(tree, body, lengths)
    inside = {main, *main.ancestors} if main is not None else set()
    # Where no main content stands out, what is called a menu may be all that there is.
    most = int(_HALF * total) if main is None else total
    titles = _letters("".join(each.text for each in tree.select("head > title, h1")))
    named = (each for each in body.select(_MAY_BE_NAVIGATION) if each not in inside)
    candidates = (each for each in named if _is_navigation(each, most, lengths) or _is_trail(each, titles, lengths))
    outside = [each for each in candidates if main is None or main not in each.ancestors]
    regions = set(outside)
    return Landmarks(main, tuple(each for each in outside if regions.isdisjoint(each.ancestors)))


def _find_main(tree: Document, body: Element, lengths: TextLengths) -> Element | None:
    for share, candidates in _candidates(tree):
        pairs = [(lengths.of(each), each) for each in candidates if each.tag not in UNSEEN and not is_hidden(each)]
        length, best = max(pairs, key=lambda pair: pair[0], default=(0, body))
        if length and length >= share * lengths.of(body):
            return best
    return None


def _candidates(tree: Document) -> Iterator[tuple[float, Iterable[Element]]]:
    """Yield groups of elements that may hold the main content, with the least share of the page's text."""
    yield 0.0, tree.select("main, [role=main]")
    articles = tree.select("article, [role=article]")
    yield _HALF, articles if len(articles) == 1 else ()
    named = ((each, (*class_names(each), each.attr("id") or "")) for each in tree.select("div, section, td, form"))
    yield _HALF, [each for each, names in named if any(name.lower() in _MAIN_NAMES for name in names)]


# A checkbox without a name opens a part of a menu (Material for MkDocs)
_NOT_IN_MENUS = "p, h1, article, form, input:not([type=checkbox i]), input[name]"


def inner_navigation(main: Element) -> list[Element]:
    """Return the outermost menus within the main content, beside its article where it has one: by element or role.

    Bars that turn pages count, too, and above its first paragraph what is called a menu and has many links. One whose
    links lead nowhere shows what a menu looks like, as the pages of a kit of components do.
    """
    lengths = content_lengths(main)
    articles = main.select("article")
    above = _above_text(main)
    found: list[Element] = []
    for element in main.iter_elements():
        is_called = element.tag == "nav" or (element.attr("role") or "").lower() == "navigation"
        is_beside = len(articles) == 1 and articles[0] not in element.ancestors  # with labels of its parts
        is_contents = is_beside and "toc" in class_words(element)
        is_opening = element in above and is_called_navigation(element) and len(element.select("a[href]")) >= _MANY
        is_bar = turns_pages(element, lengths)
        if not (is_called or is_contents or is_opening or is_bar) or any(each in found for each in element.ancestors):
            continue
        if is_hidden(element) or (element.select_one(_NOT_IN_MENUS) is not None and not is_bar):
            continue
        links = [each for each in element.select("a[href]") if is_followable(each.attr("href"))]
        least = _LINKED / 3 if is_beside else _LINKED
        is_menu = not all(map(_is_tab, links)) and sum(map(lengths.of, links)) >= least * lengths.of(element)
        if is_bar or is_menu:
            found.append(element)
    return found


_MANY = 16  # links
_PARAGRAPH = 80  # characters


def _above_text(main: Element) -> set[Element]:
    """Return the elements that end before the first paragraph of the main content, none where it has no paragraph."""
    above: set[Element] = set()
    for element in main.iter_elements():
        own = sum(len(each.data.strip()) for each in element.children if isinstance(each, Text))
        if own >= _PARAGRAPH and element.closest("a, script, style, template") is None:
            return above.difference(element.ancestors)
        above.add(element)
    return set()


_MAY_BE_NAVIGATION = "nav, ul, ol, [role], [class], [id], table, p"  # is called so, a list, or a bar


def _is_navigation(element: Element, most: int, lengths: TextLengths) -> bool:
    if turns_pages(element, lengths):
        return True
    if not is_called_navigation(element) and not (element.tag in ("ul", "ol") and _is_link_list(element)):
        return False
    links = element.select("a[href]")
    if links and all(map(_is_tab, links)):
        return False
    length = lengths.of(element)
    if not links or (length > most and element.tag != "nav"):
        return not length and not element.select("input, textarea, select")
    is_turning = length <= _LONGEST_TRAIL and not _TURNING.isdisjoint(class_words(element))
    return is_turning or sum(map(lengths.of, links)) >= _LINKED * length


def turns_pages(element: Element, lengths: TextLengths) -> bool:
    """Whether an element is a bar of a manual, with links to what comes before and after: ``[ << ] [ Up ] [ > ]``.

    Each link is a sign, says no more than that it turns the page, has a relation that says so, or stands after such a
    word ("Next: Arrays").
    """
    if element.tag not in _BAR_TAGS or lengths.of(element) > _LONGEST_BAR:
        return False
    links = element.select("a[href]")
    if not _FEWEST_ITEMS <= len(links) <= _MOST_IN_BAR or element.select_one(_NOT_IN_BARS) is not None:
        return False
    rest = element.text
    for link in links:
        rest = rest.replace(link.text, " ", 1)
    between = _said_by(rest)
    related = [link for link in links if rel_tokens(link) & _TURNS or _is_sign(link.text)]
    others = [link for link in links if link not in related and not _says_only_turns(link)]
    turns = len(related) + len(between)
    return turns > 1 and _TURNING_WORDS.issuperset(between) and len(others) <= len(between)


def _said_by(text: str) -> list[str]:
    return _LETTERS.findall(text.casefold())


def _is_sign(text: str) -> bool:
    return bool(text.strip()) and _SIGNS.issuperset(text.strip())


def _says_only_turns(link: Element) -> bool:
    said = _said_by(link.text.strip() or link_name(link))
    return bool(said) and _TURNING_WORDS.issuperset(said)


_BAR_TAGS = ("table", "div", "p")
_NOT_IN_BARS = "input, h1, h2, h3, h4, h5, h6"
_LONGEST_BAR, _MOST_IN_BAR = 400, 12  # characters, links
_LETTERS = re.compile(r"\w+")
_SIGNS = frozenset("<>\u00ab\u00bb\u2039\u203a\u2190\u2191\u2192\u21d0\u21d1\u21d2^?")
_TURNS = frozenset({"next", "prev", "previous", "up", "start", "contents", "index", "first", "last"})
_TURNING_WORDS = frozenset({"next", "previous", "prev", "up", "top", "contents", "index", "home", "first", "last"})
_TURNING = frozenset({"navheader", "navfooter"})  # of DocBook: with the titles of the pages before and after
_TRAILS = frozenset({"breadcrumb", "breadcrumbs", "crumbs"})
_LONGEST_TRAIL = 240  # characters


def _is_trail(element: Element, titles: str, lengths: TextLengths) -> bool:
    """Whether an element is the path to the page, at whose end its title may stand without a link."""
    names = {*class_words(element), *name_words(element.attr("aria-label") or "")}
    if element.tag not in ("nav", *_MENU_TAGS) or _TRAILS.isdisjoint(names) or lengths.of(element) > _LONGEST_TRAIL:
        return False
    links, rest = element.select("a[href]"), _letters(element.text)
    for link in links:
        rest = rest.replace(_letters(link.text), "", 1)
    return bool(links) and rest in titles


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _is_tab(link: Element) -> bool:
    """Whether a link is the title of a part of this page that it opens: of its content, whatever is around it."""
    toggled = link.attr("data-bs-toggle") or link.attr("data-toggle") or link.attr("role")
    return toggled in ("tab", "pill") and (link.attr("href") or "").startswith("#")


def is_called_navigation(element: Element) -> bool:
    """Whether an element is navigation by its tag, its role or what it is called."""
    tag = element.tag
    if tag == "nav" or (element.attr("role") or "").lower() in _NAVIGATION_ROLES:
        return True
    return tag in _MENU_TAGS and not _NAVIGATION.isdisjoint(class_words(element))


def _is_link_list(element: Element) -> bool:
    """Whether a list in a header, footer or aside, or in what is called the head of the page, holds links."""
    around = [each for each in element.ancestors if isinstance(each, Element)]
    enclosing = {each.tag for each in around}
    if not enclosing.isdisjoint(("article", "main")):
        return False
    is_framed = not enclosing.isdisjoint(("header", "footer", "aside")) or any(map(_is_head_of_page, around))
    return is_framed and len(element.select("a[href]")) >= _FEWEST_ITEMS


def _is_head_of_page(element: Element) -> bool:
    """Whether an element is called a head, and none of an article: a title in it is a link to the home."""
    return not HEADS.isdisjoint(class_words(element)) and element.select_one("h1:not(:has(a[href]))") is None


def content_links(tree: Document, landmarks: Landmarks) -> list[str]:
    """Return the URLs, as written, of the links outside of the navigation that a visitor can follow."""
    body = tree.select_one("body")
    links = body.select("a[href]") if body is not None else ()
    skipped = _outside_content(body, landmarks) if body is not None and links else set[Element]()
    followable = (link for link in links if is_followable(link.attr("href")) and link_label(link))
    return [link.attr("href") or "" for link in followable if skipped.isdisjoint((link, *link.ancestors))]


def content_nodes(root: Node, landmarks: Landmarks) -> Iterator[Text | Element]:
    """Yield the text nodes and elements of the content below ``root``: not the navigation, controls and media."""
    skipped = _outside_content(root, landmarks)
    return walk(root, lambda each: each not in skipped)


def _outside_content(root: Node, landmarks: Landmarks) -> set[Element]:
    return unseen_elements(root, _NOT_CONTENT).union(landmarks.navigation)


class NavigationLink(NamedTuple):
    """A link: ``href`` as written, and its label."""

    href: str
    label: str


def navigation_links(landmarks: Landmarks) -> list[NavigationLink]:
    """Return the links of the navigation, each URL once."""
    links: dict[str, NavigationLink] = {}
    for link in (each for region in landmarks.navigation for each in region.select("a[href]")):
        href, label = link.attr("href") or "", link_label(link)
        if is_followable(href) and label and not is_hidden(link):
            links.setdefault(href, NavigationLink(href, label[:_LONGEST_LABEL]))
    return list(links.values())


class SiteIdentity(NamedTuple):
    """The site's name and the URL of its home page as written, each ``""`` where unknown; ``brand`` is the link."""

    name: str
    home: str
    brand: Element | None


def find_site(tree: Document) -> SiteIdentity:
    """Find the name of the site that a page belongs to, and the link that shows it."""
    parts = {f"#{each.attr('id')}" for each in tree.select("[id]")}
    links = (each for each in tree.select(_BRAND_LINKS) if not _is_state(each.attr("href") or "", parts))
    brand = next(filter(_is_brand, links), None)
    home = (brand.attr("href") or "") if brand is not None and is_followable(brand.attr("href")) else ""
    meta = tree.select_one('meta[property="og:site_name"], meta[name="application-name"]')
    name = (meta.attr("content") or "") if meta is not None else ""
    label = link_name(brand) if brand is not None else ""
    return SiteIdentity(fold_space(name) or (label if len(label) < _LONGEST_LABEL else ""), home, brand)


def _is_state(href: str, parts: set[str]) -> bool:
    """Whether a link leads to no part of the page, but to a state of its scripts: ``#wgt=deals``."""
    return href.startswith("#") and "=" in href and href not in parts


def _is_brand(link: Element) -> bool:
    """Whether a link is called a logo or brand, itself or by an element around it ("catalogo" is neither)."""
    if is_hidden(link) or not _BUTTONS.isdisjoint(class_words(link)):
        return False
    lineage = [link, *(each for each in link.ancestors if isinstance(each, Element))][:_BRAND_DISTANCE]
    return "home" in rel_tokens(link) or any(not _BRAND_WORDS.isdisjoint(class_words(each)) for each in lineage)
