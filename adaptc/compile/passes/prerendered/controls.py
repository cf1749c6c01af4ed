"""Controls that only scripts listen to: what they open, and how the buttons among them are disabled."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from adaptc.formats.html.class_names import UNSEEN_CLASSES, class_names
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.forms import find_forms, pointed_at, script_controls
from adaptc.formats.html.visible_text import content_texts, is_followable

if TYPE_CHECKING:
    from turbohtml import Document, Element


def disable_controls(
    editor: Editor, openers: Collection[Element] = (), is_served: Callable[[Element], bool] = lambda _: True
) -> int:
    """Disable buttons that only scripts listen to: hide those without text, make those that open a panel plain.

    ``openers`` stay: the focus in them opens something. ``is_served`` says whether a script that was removed served a
    button. Returns the number of buttons.
    """
    forms = find_forms(editor.tree)
    opening = {each for each in script_controls(editor.tree) if any(True for _ in pointed_at(each))}
    count = 0
    for button in editor.tree.select("button, input[type=button]"):
        if button in openers or forms.has_effect(button) or _is_in_link(button) or not is_served(button):
            continue
        count += 1
        editor.set_attribute(button, "disabled", None)
        if button.tag == "button" and not words_of(button) and button.select_one("img") is None:
            _add_style(editor, button, "display:none!important")
        elif button in opening:
            _add_style(editor, button, "color:inherit;opacity:1")  # it reads as the heading of what it opened
    return count


def _add_style(editor: Editor, element: Element, declarations: str) -> None:
    style = (element.attr("style") or "").rstrip("; ")
    editor.set_attribute(element, "style", f"{style};{declarations}" if style else declarations)


def _is_in_link(button: Element) -> bool:
    """Whether pressing a button opens the details or the link around it, or in it; a disabled one takes the clicks."""
    if getattr(button.parent, "tag", None) == "summary":
        return True
    link = button.closest("a[href]") or button.select_one("a[href]")
    return link is not None and is_followable(link.attr("href"))


def words_of(button: Element) -> str:
    """Return the visible text of a button."""
    shown = (text for text in content_texts(button) if not _is_for_readers(text.parent))
    return " ".join("".join(text.data for text in shown).split())


def _is_for_readers(node: object) -> bool:
    from turbohtml import Element

    return isinstance(node, Element) and not UNSEEN_CLASSES.isdisjoint(class_names(node))


_QUOTED = re.compile(r"['\"]#?([A-Za-z][\w:.-]*)['\"]")
# What libraries hide until a tab, a panel, a slide or an effect shows it
_LIBRARIES = ",".join((
    "[role=tabpanel]", ".tab-pane", ".collapse", ".panel-collapse", ".accordion-collapse",  # Bootstrap
    ".accordion-content", ".accordion-body", ".accordion-panel", ".ui-tabs-panel", ".tabcontent", ".tab-content",
    ".mdl-tabs__panel", ".mdl-layout__tab-panel",
    ".carousel-item", ".carousel-inner>.item", ".owl-carousel", ".swiper-slide", ".slick-slide", ".slides>li",
    "[x-cloak]", "[v-cloak]", "[ng-cloak]", ".ng-cloak", "[x-show]", "[v-show]",
    ".treeview-menu", ".nav-treeview", ".child_menu", ".sub-menu", ".submenu", ".mega-menu",  # AdminLTE, Gentelella
    "[data-aos]", ".wow", ".animate-box", ".ftco-animate", "[data-sr-id]",
))  # fmt: skip


def script_targets(tree: Document) -> list[Element]:
    """Return what scripts of the page would show, in document order."""
    identities = {name for control in script_controls(tree) for name in pointed_at(control)}
    identities |= set(_named_by_handlers(tree))
    library = set(tree.select(_LIBRARIES))
    return [each for each in tree.iter_elements() if each in library or each.attr("id") in identities]


def _named_by_handlers(tree: Document) -> Iterator[str]:
    """Yield the ids in strings of event handlers and ``javascript:`` URLs."""
    for element in tree.iter_elements():
        for name in element.attrs:
            value = element.attr(name) or ""
            if name.startswith("on") or (name == "href" and value[:11].lower() == "javascript:"):
                yield from _QUOTED.findall(value)
