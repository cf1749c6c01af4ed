"""The menus of a page: those that a script builds are written as links, and which links of others a visitor sees.

A script such as that of Doxygen builds a menu from a list of links in its text. The list is data: objects with a text
and a URL, or arrays that begin with both. It counts where its URLs lead to files of the site to which the page does not
link by itself, and where a script names an empty element that is called a menu.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from typing import NamedTuple

from turbohtml import Element

from adaptc.compile.page.context import PageContext
from adaptc.compile.page.script_written import script_mounts
from adaptc.compile.view import View
from adaptc.core.facts import FactKind
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.class_names import class_words
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.shown import VIEWPORTS
from adaptc.formats.html.syntax import attribute_markup, text_markup
from adaptc.formats.html.visible_text import content_length, fold_space, is_followable

__all__ = ["MENU_HIDING", "Menus", "is_menu", "write_script_menus"]

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_LINK = re.compile(
    rf'\{{\s*"?(?:text|title|name|label)"?\s*:\s*(?P<name>{_STRING})\s*,\s*"?(?:url|href|link)"?\s*:\s*(?P<url>{_STRING})'
    rf"|\[\s*(?P<first>{_STRING})\s*,\s*(?P<second>{_STRING})\s*(?=[,\]])"
)
_TOKEN = re.compile(rf"(?P<link>{_LINK.pattern})|{_STRING}|(?P<open>[\[{{])|(?P<close>[\]}}])")
_TAG = re.compile(r"<[^>]*>")
_MENU = frozenset({"nav", "menu", "toc", "tree", "sidebar", "navigation"})
_OVER = frozenset({"fixed", "absolute"})
_FEWEST = 2  # links that make a menu
_MOST = 80
_STYLE = "display:flex;flex-wrap:wrap;gap:0 1em;list-style:none;margin:0;padding:.5em"


class _Link(NamedTuple):
    """A link in a list: its text, its URL, and how deep it is nested."""

    name: str
    url: str
    depth: int


def write_script_menus(editor: Editor, page: PageContext, view: View, cascade: Cascade) -> int:
    """Write the menus of which a script holds the links, each in front of the element for it; returns their number."""
    body = editor.tree.select_one("body")
    lists = [links for script in page.scripts if (links := _menu(script, editor, page, view))]
    mounts = (
        [each for each in script_mounts(editor.tree, page) if not _MENU.isdisjoint(class_words(each))] if lists else []
    )
    inner = set(mounts)
    outermost = [each for each in mounts if inner.isdisjoint(each.ancestors)]
    for mount, links in zip(outermost, lists, strict=False):
        items = (f"<li><a {attribute_markup('href', link.url)}>{text_markup(link.name)}</a>" for link in links)
        menu = f'<nav><ul style="{_STYLE}">{"".join(items)}</ul></nav>'
        if body is not None and _is_covered(mount, cascade):
            editor.append(body, menu)
        else:
            editor.insert_before(mount, menu)
    return min(len(outermost), len(lists))


def _is_covered(mount: Element, cascade: Cascade) -> bool:
    """Whether what is in front of an element, or around it, lies over the page: a fixed header would hide a menu."""
    lineage = [mount, *(each for each in mount.ancestors if isinstance(each, Element))]
    others = [each for node in lineage for each in node.previous_siblings if isinstance(each, Element)]
    return any(
        cascade.value(each, "position", width) in _OVER for each in (*lineage[1:], *others) for width in VIEWPORTS
    )


def _menu(script: str | bytes, editor: Editor, page: PageContext, view: View) -> list[_Link]:
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
    upper = [link for link in links if link.depth <= wide][:_MOST]
    present = {link.attr("href") for link in editor.tree.select("a[href]")}
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


# ---- The menus of a page: which of their links a visitor sees, and which only a script would show

_FEWEST_OF_MENU = 3  # links that make a menu
_LINKED = 0.8  # share of a menu's characters in links
# The properties by which menus are hidden
MENU_HIDING = ("display", "visibility", "transform", "left", "right")
# Most controls that open a menu have a name that says so: "menu_toggle", "hamburger", "sidebar-trigger", or their icon
# has ("fa-bars", of which Read the Docs' theme makes a control)
_OPENERS = (
    "button, [role=button], label, a:not([href]), a[href^='#'], a[href^='javascript:'], div[onclick], span[onclick], "
    "i[data-toggle]"
)
_OPENING = frozenset({
    "toggle", "toggler", "toggles", "hamburger", "burger", "trigger", "opener", "menubtn", "navbtn", "sandwich",
    "bars",
})  # fmt: skip


class Menus:
    """The menus of one page, and which links are visible at which width of the window."""

    def __init__(self, cascade: Cascade, widths: tuple[int, ...]) -> None:
        hiding = [each for each in cascade.hidden_by(*MENU_HIDING) if not _opens_by_itself(cascade, each)]
        self._closed = {
            width: dict.fromkeys(each for each in hiding if _is_hidden(cascade, each, width)) for width in widths
        }
        links = cascade.tree.select("a[href]")
        self._links = [(link, link.attr("href")) for link in links if is_followable(link.attr("href"))]
        self._open = {width: self._seen(closed) for width, closed in self._closed.items()}
        self._has_opener = any(map(_opens_menu, cascade.tree.select(_OPENERS)))
        self._widths = widths

    def _seen(self, closed: Mapping[Element, None]) -> set[str | None]:
        hidden = closed.keys()
        return {href for link, href in self._links if link not in hidden and hidden.isdisjoint(link.ancestors)}

    def unreachable(self, shown: Iterable[Element]) -> Iterator[Element]:
        """Yield what is hidden in narrow windows and has links that are nowhere else; a control must open it.

        Of several menus with the same links one is enough: one of ``shown``, which are shown anyway, or the first.
        """
        narrowest, listed = self._widths[0], dict.fromkeys(shown)
        for element in self._closed[narrowest] if self._has_opener else ():
            links = self._only_in(element, narrowest)
            others = (each for each in listed if element not in each.ancestors and each not in element.ancestors)
            if len(links) >= _FEWEST_OF_MENU and not links <= {
                href for each in others for href in self._only_in(each, narrowest)
            }:
                listed[element] = None
                yield element

    def links_of_bars(self) -> Iterator[Element]:
        """Yield links of a navigation that are hidden one by one in narrow windows, and are nowhere else."""
        narrowest = self._widths[0]
        for element in self._closed[narrowest] if self._has_opener else ():
            is_alone = self._closed[narrowest].keys().isdisjoint(element.ancestors)
            is_of_bar = element.tag == "a" and element.closest("nav") is not None
            href = element.attr("href")
            if is_alone and is_of_bar and is_followable(href) and href not in self._open[narrowest]:
                yield element

    def drop_downs(self) -> list[Element]:
        """Return what is hidden at some width and has links that are nowhere else at that width."""
        closed = dict.fromkeys(each for width in self._widths for each in self._closed[width])
        return [each for each in closed if any(self._only_in(each, width) for width in self._widths)]

    def is_needed(self, element: Element, width: int) -> bool:
        """Whether an element shows what is not visible elsewhere at some width: anything except repeated links."""
        return bool(self._only_in(element, width)) or not is_menu(element)

    def is_only(self, element: Element) -> bool:
        """Whether an element holds links that are nowhere else on the page."""
        inside = [href for link, href in self._links if element in link.ancestors]
        others = {href for link, href in self._links if element not in link.ancestors}
        return not others.issuperset(inside)

    def _only_in(self, element: Element, width: int) -> set[str | None]:
        own = {link.attr("href") for link in element.select("a[href]") if is_followable(link.attr("href"))}
        return own - self._open[width]


def is_menu(element: Element) -> bool:
    """Whether an element is a list of links."""
    links = element.select("a[href]")
    return len(links) >= _FEWEST_OF_MENU and sum(map(content_length, links)) >= _LINKED * content_length(element)


def _opens_menu(control: Element) -> bool:
    """Whether the names of a control, its text or its target say that it opens a menu."""
    named = {control.text.strip().lower(), (control.attr("href") or "").lower().lstrip("#")}
    return "menu" in named or not _OPENING.isdisjoint(class_words(control))


def _is_hidden(cascade: Cascade, element: Element, width: int) -> bool:
    return any(name in MENU_HIDING for name in cascade.hiding(element, width))


def _opens_by_itself(cascade: Cascade, element: Element) -> bool:
    return any(cascade.is_shown_by_state(element, name) for name in MENU_HIDING)
