"""What the scripts of a page would show: told by the controls that point at it, and by what libraries call it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turbohtml import Document, Element

__all__ = ["pointed_at", "script_controls", "script_targets"]

# Attributes by which a control names what it opens: WAI-ARIA, Bootstrap 2 to 5, MDB, UIkit, Flowbite, Foundation
_POINTERS = (
    "aria-controls", "data-target", "data-bs-target", "data-mdb-target", "data-collapse-toggle", "data-modal-toggle",
    "data-dropdown-toggle", "data-toggle-target", "data-open", "data-tab", "data-w-tab", "uk-toggle",
)  # fmt: skip
_TOGGLES = ("data-toggle", "data-bs-toggle", "data-mdb-toggle")
_POINTING = ",".join(f"[{name}]" for name in (*_POINTERS, *_TOGGLES)) + ",[role=tab],[uk-tab],[uk-switcher]"
# Opened and closed by browsers themselves
_NATIVE = ("popovertarget", "commandfor")
_QUOTED = re.compile(r"['\"]#?([A-Za-z][\w:.-]*)['\"]")
# What libraries hide until a tab, a panel, a slide or an effect of theirs wants it
_LIBRARIES = ",".join((
    "[role=tabpanel]", ".tab-pane", ".collapse", ".panel-collapse", ".accordion-collapse",  # Bootstrap
    ".accordion-content", ".accordion-body", ".accordion-panel", ".ui-tabs-panel", ".tabcontent", ".tab-content",
    ".mdl-tabs__panel", ".mdl-layout__tab-panel",
    ".carousel-item", ".carousel-inner>.item", ".owl-carousel", ".swiper-slide", ".slick-slide", ".slides>li",
    "[x-cloak]", "[v-cloak]", "[ng-cloak]", ".ng-cloak", "[x-show]", "[v-show]",
    ".treeview-menu", ".nav-treeview", ".child_menu", ".sub-menu", ".submenu", ".mega-menu",  # AdminLTE, Gentelella
    "[data-aos]", ".wow", ".animate-box", ".ftco-animate", "[data-sr-id]",
))  # fmt: skip


def script_controls(tree: Document) -> list[Element]:
    """Return the elements that open or choose something by script."""
    return [each for each in tree.select(_POINTING) if not any(name in each.attrs for name in _NATIVE)]


def pointed_at(control: Element) -> Iterator[str]:
    """Yield the ids that a control points at."""
    named = [control.attr(name) or "" for name in _POINTERS]
    if any(name in control.attrs for name in _TOGGLES) or (control.attr("role") or "").lower() == "tab":
        named.append(control.attr("href") or "")
    for value in named:
        yield from (word.lstrip("#") for word in value.replace(",", " ").split() if word != "#")


def script_targets(tree: Document) -> list[Element]:
    """Return what scripts of the page would show at some time, in document order, each once."""
    identities = {name for control in script_controls(tree) for name in pointed_at(control)}
    identities |= set(_named_by_handlers(tree))
    library = set(tree.select(_LIBRARIES))
    return [each for each in tree.iter_elements() if each in library or each.attr("id") in identities]


def _named_by_handlers(tree: Document) -> Iterator[str]:
    """Yield the ids that stand as strings in event handlers and ``javascript:`` URLs."""
    for element in tree.iter_elements():
        for name in element.attrs:
            value = element.attr(name) or ""
            if name.startswith("on") or (name == "href" and value[:11].lower() == "javascript:"):
                yield from _QUOTED.findall(value)
