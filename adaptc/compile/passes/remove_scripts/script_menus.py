"""Menus that a script builds from a list of links in its text, as those of Doxygen: they are written as links.

The list is data: objects with a text and a URL, or arrays that begin with both. It counts where its URLs lead to files
of the site to which the page does not link by itself, and where a script names an empty element that is called a menu.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
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
from adaptc.formats.html.visible_text import fold_space

__all__ = ["write_script_menus"]

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
