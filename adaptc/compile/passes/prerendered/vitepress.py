"""What the scripts of VitePress and VuePress alone write into a page, which it then has without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import quote

from adaptc.compile.passes.prerendered.hydration import inline_code
from adaptc.core.facts import FactKind
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup, class_names
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


# ---- Where a heading stands that a link leads to: below the bars, as far as a script says

# A script says so of the site: in the page, or in the application as of VitePress 1.0.0-alpha
_OFFSET = re.compile(r"""\bscrollOffset\\*["']?:\s*(\d{1,4})\b""")
OFFSETS = FactKind("offsets of headings", lambda text: frozenset(_OFFSET.findall(text)), frozenset[str]())


def keep_scroll_offset(editor: Editor, sheets: Sequence[str], offsets: frozenset[str]) -> None:
    """Have browsers scroll to a heading as the script does that waits: its text to the site's ``scrollOffset``.

    ``offsets`` are those that its scripts name.
    """
    headings = editor.tree.select(".vp-doc :is(h1, h2, h3, h4, h5, h6)[id]")
    if len(offsets) != 1 or not headings:
        return
    (offset,) = map(int, offsets)
    cascade = Cascade(editor.tree, sheets, frozenset({"padding-top"}))
    for heading in headings:
        padding = re.fullmatch(r"(\d{1,4})px", cascade.value(heading, "padding-top", _WIDE))
        margin = offset - (int(padding[1]) if padding else 0)
        style = heading.attr("style")
        editor.set_attribute(heading, "style", f"{style};" * bool(style) + f"scroll-margin-top:{margin}px")


_WIDE = 1280

# ---- The switch of the theme, which a script labels: its state in the markup is that of a light page

_SWITCH = ".VPSwitchAppearance[title='']"
_SWITCH_LABEL = "Switch to dark theme"
_HAS_LABELS = re.compile(r"\bdarkModeSwitchTitle\b")


def label_switch(editor: Editor) -> None:
    """Label the switch of the theme, for those who hear pages, unless the site words the label itself."""
    if not any(map(_HAS_LABELS.search, inline_code(editor.tree))):
        for switch in editor.tree.select(_SWITCH):
            editor.set_attribute(switch, "title", _SWITCH_LABEL)


# ---- The outline, which a script writes from the headings of the second level

_OUTLINE, _HEADING = "ul.VPDocOutlineItem.root", ".VPDoc h2[id]"
# The button to the top of a page without an outline, which opens that of others
_TOP_BUTTON = ".VPLocalNavOutlineDropdown > button"
# The levels of headings that it has, where the site or the page sets others
_OUTLINE_LEVELS = re.compile(r"""outline\\*["']?:\s*(?:\\*["']deep|\[|\d|false|!1|\{[^{}]*level)""")


def written_outlines(tree: Document) -> frozenset[Element]:
    """Return the lists of headings that this module can write: not where the site or the page says which they have."""
    has_levels = any(map(_OUTLINE_LEVELS.search, inline_code(tree)))
    return frozenset() if has_levels else frozenset(tree.select(_OUTLINE))


def writes_headings(tree: Document, depths: frozenset[str]) -> bool:
    """Whether links to the headings of a page are written into it, which it does not show without scripts."""
    waiting = [each for each in written_outlines(tree) if not each.text.strip()]
    return (bool(waiting) and tree.select_one(_HEADING) is not None) or _find_side_bar(tree, depths) is not None


def write_outline(editor: Editor, mark: str) -> int:
    """Write the links to the headings of a page where its outline waits for a script; returns their number.

    Each has the attribute ``mark``, by which they are found once the script writes them.
    """
    headings = editor.tree.select(_HEADING)
    for box in editor.tree.select(".VPDocAsideOutline") if headings else ():
        outline = box.select_one(_OUTLINE)
        if outline is not None and not outline.text.strip() and outline.select_one("*") is None:
            scope = "".join(f" {attribute_markup(name, '')}" for name in outline.attrs if name.startswith("data-v-"))
            editor.append(outline, "".join(_outline_link(heading, scope, mark) for heading in headings))
            editor.set_attribute(box, "class", " ".join([*class_names(box), "has-outline"]))
            _write_local_bar(editor, box.select_one(".outline-title"), mark)
            return len(headings)
    return 0


def _write_local_bar(editor: Editor, title: Element | None, mark: str) -> None:
    """Have the bar of a narrow window name the outline, as it does of a page with headings."""
    bar, button = editor.tree.select_one(".VPLocalNav.empty"), editor.tree.select_one(_TOP_BUTTON)
    if bar is None or button is None or title is None or button.select_one("*") is not None:
        return
    scope = "".join(f" {attribute_markup(name, '')}" for name in button.attrs if name.startswith("data-v-"))
    label = f"<span class=menu-text{scope}>{escape(fold_space(title.text).strip())}</span>"
    icon = f'<span class="vpi-chevron-right icon"{scope}></span>'
    before = f"<span hidden {mark}>{button.inner_html}</span>"  # scripts look for it
    editor.replace_element(button, f"<button{scope}>{label}{icon}{before}</button>")
    editor.set_attribute(bar, "class", " ".join(name for name in class_names(bar) if name != "empty"))


def _outline_link(heading: Element, scope: str, mark: str) -> str:
    title, address = _title_of(heading), attribute_markup("href", "#" + quote(heading.attr("id") or ""))
    link = f"<a class=outline-link {address} {attribute_markup('title', title)}{scope}>{escape(title)}</a>"
    return f"<li {mark}{scope}>{link}</li>"


# ---- VuePress: the headings of a page in the side bar, under its name

_NAME = "li > a.vp-sidebar-item.active"
# All that a side bar has where nobody wrote one
_ONLY_NAME = "ul.vp-sidebar-items > li:only-child > p.vp-sidebar-heading:only-child"
_HEADINGS = ":is(.vp-page, [vp-content]) :is(h2, h3)[id]"
# How many levels of headings a side bar has: a script says so of the site, and one of a page with a number of its own
_DEPTH = re.compile(r"""\bsidebarDepth\\*["']?:\s*(-?\d+)""")
DEPTHS = FactKind("depths of side bars", lambda text: frozenset(_DEPTH.findall(text)), frozenset[str]())


def write_side_bar(editor: Editor, depths: frozenset[str], mark: str) -> int:
    """Write the links to the headings of a page into a side bar of the default depth; returns their number."""
    found, written = _find_side_bar(editor.tree, depths), ""
    if found is None:
        return 0
    name, headings = found
    for place, heading in enumerate(headings):
        if heading.tag == "h2":
            below = list(takewhile(lambda each: each.tag == "h3", headings[place + 1 :]))
            inner = _side_list(f"<li>{_side_link(each)}</li>" for each in below) if below else ""
            written += f"<li>{_side_link(heading)}{inner}</li>"
    editor.insert_after(name, _side_list([written], f" {mark}"))
    return len(headings)


def _find_side_bar(tree: Document, depths: frozenset[str]) -> tuple[Element, list[Element]] | None:
    """Return the name of the page in its side bar of the default depth, and the page's headings."""
    names = (tree.select(_NAME) or tree.select(_ONLY_NAME)) if depths == {"2"} else []
    headings = tree.select(_HEADINGS) if names else []
    return (names[0], headings) if len(names) == 1 and headings and headings[0].tag == "h2" else None


def _side_list(items: Iterable[str], mark: str = "") -> str:
    return f"<ul class=vp-sidebar-children{mark}>{''.join(items)}</ul>"


def _side_link(heading: Element) -> str:
    title, address = _title_of(heading), attribute_markup("href", "#" + quote(heading.attr("id") or ""))
    label = attribute_markup("aria-label", title)
    return f'<a class="route-link auto-link vp-sidebar-item" {address} {label}>{escape(title)}</a>'


def _title_of(heading: Element) -> str:
    own = [each.text for each in heading.select(".header-anchor")]
    text = heading.text
    return fold_space(text.removesuffix(own[0]) if own and own[0] != text else text).strip()
