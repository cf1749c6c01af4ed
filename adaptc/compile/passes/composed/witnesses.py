"""What a page says of itself to programs: JSON-LD and microdata (schema.org), Open Graph, its title; its site's name.

Each is a witness, and none is trusted alone: a title by JSON-LD is used where the page shows no heading, and a name
of the site where its logo is a picture without words. Feeds and RDFa are not asked: of 82 labelled and saved pages 29
name a feed, which has titles of the home's stories, and 5 have RDFa beyond Open Graph, each with a heading, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import unescape
from typing import Any, NamedTuple

from turbohtml import Document

from adaptc.compile.page.context import PageContext
from adaptc.compile.page.script_written import script_mounts
from adaptc.compile.view import View
from adaptc.core.facts import FactKind
from adaptc.core.values import dataclass
from adaptc.formats.html.landmarks import NavigationLink, SiteIdentity
from adaptc.formats.html.syntax import class_words, resolve_references
from adaptc.formats.html.visible_text import fold_space

_SEPARATOR = re.compile(r"\s+[|\u2013\u2014\u00b7\u2022\u00bb\u00ab:<>~/-]+\s+|\s*[|\uff5c]\s*|:\s+")
_LONGEST_NAME = 60  # characters
_LONGEST_SITE = 30  # characters of the site's name, which may have more parts: what it is about
LOGO_WORD = re.compile(r"\s+logo$", re.IGNORECASE)  # a picture is called "The Herald logo"
_WORD = re.compile(r"\w{3,}")
_DEEPEST = 6  # objects in each other
_ARTICLES = ("article", "posting", "report", "recipe", "review", "product")
_SITES = ("website", "organization", "newsmediaorganization", "corporation", "localbusiness", "store")


@dataclass(frozen=True, slots=True)
class Statements:
    """``title`` is the page's own, without the site's name, ``home`` a URL as written; each is ``""`` where unknown."""

    title: str = ""
    site: str = ""
    home: str = ""


def read_statements(tree: Document) -> Statements:
    """Return what a page says of itself."""
    said = partial(_meta, tree)
    graph = list(_json_objects(tree))
    headline = next(
        (name for each in graph if _is_a(each, _ARTICLES) and (name := _text(each, "headline", "name"))), ""
    )
    own_site = next((name for each in graph if _is_a(each, _SITES) and (name := _text(each, "name"))), "")
    publisher = next((name for each in graph if (name := _publisher(each))), "")
    title = page_title(tree)
    site = said("og:site_name") or own_site or publisher or said("application-name")
    site = site or said("apple-mobile-web-app-title")
    home = tree.select_one("head > link[rel~=home i][href][title]")  # DocBook, gtk-doc
    site = site or (fold_space(home.attr("title") or "") if home is not None else "")
    site = site if len(site) <= _LONGEST_NAME else ""
    own_title = headline or without_site(title, site) or title
    return Statements(own_title, site, (home.attr("href") or "") if home is not None else "")


def site_of_title(title: str) -> str:
    """Return what the title of a home page calls the site: its first part, if that is short."""
    first = _SEPARATOR.split(title)[0].strip()
    return first if len(first) <= _LONGEST_NAME else ""


def title_parts(title: str) -> list[str]:
    """Return the parts of a title: of the page, of the section, of the site."""
    return [part.strip() for part in _SEPARATOR.split(title) if part and part.strip()]


def page_title(tree: Document) -> str:
    """Return the title of a page."""
    title = tree.select_one("head > title")
    return fold_space(title.text) if title is not None else ""


def _meta(tree: Document, name: str) -> str:
    element = tree.select_one(f'meta[property="{name}"], meta[name="{name}"]')
    return fold_space(element.attr("content") or "") if element is not None else ""


def without_site(title: str, site: str) -> str:
    """Return what a title says before the name of the site, or after one that it begins with."""
    parts = [part for part in _SEPARATOR.split(title) if part]
    if not site or len(parts) < 2:
        return ""
    name = next((part for part in (*parts[:0:-1], parts[0]) if _is_same_name(part.strip(), site)), "")
    start = title.rfind(name) if name != parts[0] else 0
    rest = title[:start] if start else title[len(name) :] if name else ""
    return rest.strip(" |\u2013\u2014\u00b7\u2022\u00bb\u00ab:<>~/-\uff5c")


def _is_same_name(one: str, other: str) -> bool:
    """Whether two names are the same, but for the case and an ending: CNN and CNN.com."""
    first, second = sorted((one.casefold(), other.casefold()), key=len)
    return second == first or (second.startswith(first) and second[len(first) :].startswith("."))


# ---- the name of the site


def named_site(
    site: SiteIdentity, statements: Statements, title_of: Callable[[str], str], parts: Sequence[str]
) -> SiteIdentity:
    """Return the site with its name: what its logo says, what the page says of it, or the title of its home.

    ``parts`` are those of the page's title. A logo that a style draws is called what it does ("Visit the main page"),
    and so is a link to the home without a word of the title ("Help Contents").
    """
    brand, words = site.brand, "" if site.brand is None else fold_space(site.brand.text)
    is_drawn = brand is not None and not words and brand.select_one("img, svg") is None
    is_strange = {*_WORD.findall(site.name.casefold())}.isdisjoint(_WORD.findall(" ".join(parts).casefold()))
    site = site if site.home else site._replace(home=statements.home)
    if is_strange and statements.site and not words:
        site = site._replace(name=statements.site)
    has_no_name = is_drawn or (is_strange and words)
    if has_no_name and not statements.site and len(parts) > 1 and len(parts[-1]) <= _LONGEST_SITE:
        return site._replace(name=parts[-1])
    if site.name:
        name = LOGO_WORD.sub("", site.name)
        if brand is not None and not words:
            name = _said_within(name, (statements.site, *parts[1:]))
        return site._replace(name=name if len(name) <= _LONGEST_SITE else site_of_title(name) or name)
    return site._replace(name=statements.site or (site_of_title(title_of(site.home)) if site.home else ""))


def _said_within(name: str, others: Iterable[str]) -> str:
    """Return what else the site is called, if its name says that and more: "Back to the home of The Herald"."""
    found = (each for each in others if len(each) > 2 and each.casefold() in name.casefold())
    return next(found, name)


# ---- JSON-LD (W3C JSON-LD 1.1, "embedding in HTML")


def _json_objects(tree: Document) -> Iterator[Mapping[str, Any]]:
    for script in tree.select('script[type="application/ld+json" i]'):
        try:
            value = json.loads(script.text, strict=False)
        except (ValueError, RecursionError):
            continue
        yield from _objects(value, _DEEPEST)


def _objects(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if depth and isinstance(value, list):
        for item in value:
            yield from _objects(item, depth - 1)
    elif depth and isinstance(value, dict):
        yield value
        yield from _objects(value.get("@graph"), depth - 1)


def _is_a(item: Mapping[str, Any], kinds: tuple[str, ...]) -> bool:
    own = item.get("@type")
    names = own if isinstance(own, list) else [own]
    return any(isinstance(name, str) and name.lower().endswith(kinds) for name in names)


def _text(item: Mapping[str, Any], *names: str) -> str:
    values = (item.get(name) for name in names)
    texts = (fold_space(resolve_references(value)) for value in values if isinstance(value, str))
    return next(filter(None, texts), "")


def _publisher(item: Mapping[str, Any]) -> str:
    publisher = item.get("publisher")
    publisher = publisher[0] if isinstance(publisher, list) and publisher else publisher
    return _text(publisher, "name") if isinstance(publisher, dict) else ""


# ---- menus that a script builds from a list of links in its text, as that of Doxygen
#
# The list is data: objects with a text and a URL, or arrays that begin with both. It counts where its URLs lead to
# files of the site to which the page does not link by itself, and where a script names an empty element that is called
# a menu.

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_LINK = re.compile(
    rf'\{{\s*"?(?:text|title|name|label)"?\s*:\s*(?P<name>{_STRING})\s*,\s*"?(?:url|href|link)"?\s*:\s*(?P<url>{_STRING})'
    rf"|\[\s*(?P<first>{_STRING})\s*,\s*(?P<second>{_STRING})\s*(?=[,\]])"
)
_TOKEN = re.compile(rf"(?P<link>{_LINK.pattern})|{_STRING}|(?P<open>[\[{{])|(?P<close>[\]}}])")
_TAG = re.compile(r"<[^>]*>")
_MENU = frozenset({"nav", "menu", "toc", "tree", "sidebar", "navigation"})
_FEWEST = 2  # links that make a menu
_MOST_LINKS = 80


class _Link(NamedTuple):
    """A link in a list: its text, its URL, and how deep it is nested."""

    name: str
    url: str
    depth: int


def script_menus(tree: Document, page: PageContext, view: View) -> list[NavigationLink]:
    """Return the links of the menus of which a script holds the links, for the elements that it would fill."""
    lists = [links for script in page.scripts if (links := _menu(script, tree, page, view))]
    mounts = script_mounts(tree, page) if lists else ()
    named = [each for each in mounts if not _MENU.isdisjoint(class_words(each))]
    outermost = [each for each in named if set(named).isdisjoint(each.ancestors)]
    chosen = (links for _, links in zip(outermost, lists, strict=False))
    return [NavigationLink(link.url, link.name) for links in chosen for link in links]


def _menu(script: str | bytes, tree: Document, page: PageContext, view: View) -> list[_Link]:
    """Return the upper links of a list that lead to files of the site, if the page has few of them by itself."""
    links = [
        link
        for link in map(_Link._make, view.facts(_LINKS, script))
        if view.follow(page.base, link.url).path is not None
    ]
    if len(links) < _FEWEST:
        return []
    depths = sorted({link.depth for link in links})
    wide = next((depth for depth in depths if sum(link.depth <= depth for link in links) > _FEWEST), depths[-1])
    upper = [link for link in links if link.depth <= wide][:_MOST_LINKS]
    present = {link.attr("href") for link in tree.select("a[href]")}
    missing = [link for link in upper if link.url not in present]
    return upper if len(missing) >= _FEWEST else []


def _find_links(text: str) -> Iterable[tuple[str, str, int]]:
    return tuple(_nested_links(text)) if _LINK.search(text) is not None else ()


def _nested_links(text: str) -> Iterator[_Link]:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token["link"]:
            name, url = _value(token["name"] or token["first"]), _value(token["url"] or token["second"])
            if name and url:
                yield _Link(name, url, depth)
        depth += bool(token["link"] or token["open"]) - bool(token["close"])


def _value(string: str) -> str:
    """Return the text of a string, which a script writes as HTML; ``""`` for one with an escape that JSON lacks."""
    try:
        return fold_space(unescape(_TAG.sub("", json.loads(string))))
    except json.JSONDecodeError:
        return ""


_LINKS: FactKind[Iterable[tuple[str, str, int]]] = FactKind("links", _find_links, ())
