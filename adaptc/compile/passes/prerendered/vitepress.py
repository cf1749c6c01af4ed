"""What the scripts of VitePress alone write into a page, which a prerendered page then has without them."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from adaptc.compile.passes.prerendered.hydration import inline_code
from adaptc.formats.html.class_names import class_names
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup
from adaptc.formats.html.visible_text import fold_space

if TYPE_CHECKING:
    from turbohtml import Document, Element

# ---- The bar, which is as wide as a script says


def write_bar(editor: Editor) -> None:
    """Give the bar of a page with a side bar, or of a home page, the class that its style needs."""
    bar = editor.tree.select_one(".VPNavBar")
    if bar is None:
        return
    have = class_names(bar)
    marks = {"has-sidebar": ".VPContent.has-sidebar", "home": ".VPContent.is-home"}
    added = [name for name, mark in marks.items() if name not in have and editor.tree.select_one(mark) is not None]
    if added:
        editor.set_attribute(bar, "class", " ".join([*have, *added]))


# ---- The outline, which a script writes from the headings of the second level

_OUTLINE = "ul.VPDocOutlineItem.root"
# The levels of headings that it has, where the site or the page sets others
_OUTLINE_LEVELS = re.compile(r"""outline\\*["']?:\s*(?:\\*["']deep|\[|\d|false|!1|\{[^{}]*level)""")


def written_outlines(tree: Document) -> frozenset[Element]:
    """Return the lists of headings that this module can write: not where the site or the page says which they have."""
    has_levels = any(map(_OUTLINE_LEVELS.search, inline_code(tree)))
    return frozenset() if has_levels else frozenset(tree.select(_OUTLINE))


def write_outline(editor: Editor, mark: str) -> int:
    """Write the links to the headings of a page where its outline waits for a script; returns their number.

    Each has the attribute ``mark``, by which they are found once the script writes them.
    """
    headings = editor.tree.select(".VPDoc h2[id]")
    for box in editor.tree.select(".VPDocAsideOutline") if headings else ():
        outline = box.select_one(_OUTLINE)
        if outline is not None and not outline.text.strip() and outline.select_one("*") is None:
            scope = "".join(f" {attribute_markup(name, '')}" for name in outline.attrs if name.startswith("data-v-"))
            editor.append(outline, "".join(_outline_link(heading, scope, mark) for heading in headings))
            editor.set_attribute(box, "class", " ".join([*class_names(box), "has-outline"]))
            return len(headings)
    return 0


def _outline_link(heading: Element, scope: str, mark: str) -> str:
    anchor = heading.select_one(".header-anchor")
    title = fold_space(heading.text.removesuffix(anchor.text if anchor is not None else "")).strip()
    address = attribute_markup("href", "#" + quote(heading.attr("id") or ""))
    link = f"<a class=outline-link {address} {attribute_markup('title', title)}{scope}>{escape(title)}</a>"
    return f"<li {mark}{scope}>{link}</li>"
