"""The parts of a page: main content, navigation, what nobody sees (WHATWG HTML "sections"; WAI-ARIA 1.2 landmarks).

Landmarks are told by elements and roles first, then by the words of class and id that people use for the same.
When no main content stands out, there is none: a reader then gets everything in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from turbohtml import Document, Element, Namespace, Node, Text

__all__ = ["UNSEEN", "Landmarks", "content_length", "depth", "in_content", "is_hidden", "landmarks", "walk", "words"]

# Elements whose text no visitor reads as text.
UNSEEN = frozenset({
    "script", "style", "template", "head", "title", "meta", "link", "base", "param", "source", "track", "noframes",
    "noembed", "canvas", "svg", "datalist", "colgroup", "area", "frame", "frameset",
})  # fmt: skip

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_NAVIGATION = frozenset({
    "nav", "navbar", "navigation", "navi", "menu", "menubar", "submenu", "sidebar", "sidenav", "toolbar", "topbar",
    "breadcrumb", "breadcrumbs", "sitemap", "navcol", "navleft", "navlinks", "toc", "quickview", "menus",
})  # fmt: skip
_NAVIGATION_ROLES = frozenset({"navigation", "menubar", "menu", "tablist", "toolbar"})
_MAIN_NAMES = (
    "main", "main-content", "maincontent", "content", "page-content", "pagecontent", "content-main", "body-content",
    "article", "primary", "displayarea", "post", "entry-content", "right_col", "right-panel", "documentwrapper",
)  # fmt: skip
_LIGATURES = re.compile(r"material-(?:icons|symbols)|\bligature\b")
_INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)")
_SKIPS = re.compile(r"\bskip")
_GUTTER = frozenset({
    "linenos", "lineno", "linenumbers", "line-numbers", "gutter", "linenodiv", "headerlink",
    "permalink", "anchorlink", "header-anchor", "headeranchor",
})  # fmt: skip
_HALF = 0.5
_LINKED = 0.6  # share of a navigation's characters that stand in links; menus have labels between
_FEWEST = 3  # links that make a list navigation


@dataclass(frozen=True, slots=True)
class Landmarks:
    """``main`` is the element that holds the main content, if one stands out; ``navigation`` are outside of it."""

    main: Element | None
    navigation: tuple[Element, ...]


def landmarks(tree: Document) -> Landmarks:
    """Find the landmarks of a page."""
    body = tree.select_one("body")
    if body is None:
        return Landmarks(None, ())
    total = content_length(body)
    main = _main(tree, body, total)
    inside = {main, *main.ancestors} if main is not None else set()
    # Where no main content stands out, what is called a menu may be all that there is.
    most = int(_HALF * total) if main is None else total
    found = [each for each in body.iter_elements() if each not in inside and _is_navigation(each, most)]
    kept = [each for each in found if main is None or main not in each.ancestors]
    chosen = set(kept)
    return Landmarks(main, tuple(each for each in kept if chosen.isdisjoint(each.ancestors)))


def is_hidden(element: Element) -> bool:
    """Whether an element is not shown, or only decorates: told by its own attributes."""
    attrs = element.attrs
    if "hidden" in attrs and (element.attr("hidden") or "").lower() != "until-found":
        return True
    if element.tag == "dialog" and "open" not in attrs:
        return True
    if "style" in attrs and _INVISIBLE.search((element.attr("style") or "").lower()):
        return True
    if (element.attr("aria-hidden") or "").lower() == "true":
        return _is_decorative(element)
    return _is_hidden_class(element) if "class" in attrs else False


def content_length(node: Node) -> int:
    """Return the count of characters that a visitor reads, white space left out; hidden elements do not count."""
    return sum(len("".join(text.data.split())) for text in in_content(node))


def in_content(node: Node) -> Iterator[Text]:
    """Return the text nodes that a visitor reads, in order."""
    shown = walk(node, lambda element: element.tag not in UNSEEN and not is_hidden(element))
    return (each for each in shown if isinstance(each, Text))


def walk(node: Node, enters: Callable[[Element], bool]) -> Iterator[Text | Element]:
    """Yield the text nodes below a node and the elements that ``enters`` allows, in order.

    Without recursion: markup that closes nothing nests as deep as the parser lets it (512).
    """
    stack = [*reversed(node.children)]
    while stack:
        child = stack.pop()
        if isinstance(child, Text):
            yield child
        elif isinstance(child, Element) and enters(child):
            yield child
            stack += reversed(child.children)


def depth(tree: Document) -> int:
    """Return how deep elements stand in each other."""
    level, deepest = list(tree.children), 0
    while level := [child for node in level if isinstance(node, Element) for child in node.children]:
        deepest += 1
    return deepest


def words(element: Element) -> frozenset[str]:
    """Return the words of an element's class and id, in lower case: ``mainNav`` has "main" and "nav"."""
    named = f"{element.attr('class') or ''} {element.attr('id') or ''}"
    return frozenset(word.lower() for word in _WORD.findall(named)) if named != " " else frozenset()


def _is_decorative(element: Element) -> bool:
    """Whether ``aria-hidden`` is meant; closed dialogues carry it as well, and are opened by links to them."""
    if element.namespace is not Namespace.HTML:
        return True
    return element.select_one("a[href], input, select, textarea, p, h1, h2, h3, h4, table, ul") is None


def _is_hidden_class(element: Element) -> bool:
    """Whether it is an icon spelled as a ligature, a line number, or a link to skip what is not here."""
    value = (element.attr("class") or "").lower()
    if _LIGATURES.search(value):
        return True
    if not _GUTTER.isdisjoint(value.split()):  # the same classes stand on whole listings
        return not any(map(str.isalpha, element.text))
    href = element.attr("href") or ""
    return element.tag == "a" and href.startswith("#") and _SKIPS.search(value) is not None


def _main(tree: Document, body: Element, total: int) -> Element | None:
    for share, candidates in _candidates(tree):
        lengths = [(content_length(each), each) for each in candidates if not is_hidden(each)]
        length, best = max(lengths, key=lambda pair: pair[0], default=(0, body))
        if length and length >= share * total:
            return best
    return None


def _candidates(tree: Document) -> Iterator[tuple[float, Iterable[Element]]]:
    """Yield groups of elements that may hold the main content, with the least share of the page's text."""
    yield 0.0, tree.select("main, [role=main]")
    articles = tree.select("article, [role=article]")
    yield _HALF, articles if len(articles) == 1 else ()
    yield _HALF, [each for each in tree.select("div, section, td, form") if _is_called_main(each)]


def _is_called_main(element: Element) -> bool:
    names = f"{element.attr('id') or ''} {element.attr('class') or ''}".lower().split()
    return any(name in _MAIN_NAMES for name in names)


def _is_navigation(element: Element, most: int) -> bool:
    if not _is_called_navigation(element):
        return False
    links = element.select("a[href]")
    length = content_length(element)
    if not links or (length > most and element.tag != "nav"):
        return not length and not element.select("input, textarea, select")
    return sum(map(content_length, links)) >= _LINKED * length


def _is_called_navigation(element: Element) -> bool:
    if element.tag == "nav" or (element.attr("role") or "").lower() in _NAVIGATION_ROLES:
        return True
    if element.tag in ("ul", "ol", "table", "div", "td", "p", "section", "aside", "header", "footer", "center"):
        if not _NAVIGATION.isdisjoint(words(element)):
            return True
        return element.tag in ("ul", "ol") and _is_linked_list(element)
    return False


def _is_linked_list(element: Element) -> bool:
    """Whether a list stands in a header, footer or aside and holds links."""
    around = {each.tag for each in element.ancestors if isinstance(each, Element)}
    if around.isdisjoint(("header", "footer", "aside")) or not around.isdisjoint(("article", "main")):
        return False
    return len(element.select("a[href]")) >= _FEWEST
