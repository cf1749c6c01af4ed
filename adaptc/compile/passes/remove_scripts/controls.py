"""Buttons that only scripts listen to: icons are hidden, words stay without looking as if they worked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.passes.remove_scripts.targets import pointed_at, script_controls
from adaptc.formats.html.controls import find_forms
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.landmarks import in_content

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["settle_controls"]

# Opened and closed by browsers themselves (HTML, "popovers" and "invokers")
_NATIVE = ("popovertarget", "commandfor", "form")
# Words for screen readers: "Toggle navigation"
_UNSEEN_WORDS = frozenset({"sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden", "assistive-text"})


def settle_controls(editor: Editor) -> int:
    """Hide buttons without words, make headings of panels plain, disable them and all others; returns how many."""
    forms = find_forms(editor.tree)
    opening = {each for each in script_controls(editor.tree) if any(True for _ in pointed_at(each))}
    count = 0
    for button in editor.tree.select("button, input[type=button]"):
        if _is_native(button) or _sends(button, forms.is_working(button)):
            continue
        count += 1
        editor.set_attribute(button, "disabled", None)
        if button.tag == "button" and not _words(button) and button.select_one("img") is None:
            _add_style(editor, button, "display:none!important")
        elif button in opening:
            _add_style(editor, button, "color:inherit;opacity:1")  # it reads as the heading of what it opened
    return count


def _add_style(editor: Editor, element: Element, declarations: str) -> None:
    style = (element.attr("style") or "").rstrip("; ")
    editor.set_attribute(element, "style", f"{style};{declarations}" if style else declarations)


def _is_native(button: Element) -> bool:
    parent = button.parent
    return any(name in button.attrs for name in _NATIVE) or getattr(parent, "tag", None) == "summary"


def _sends(button: Element, is_in_form: bool) -> bool:
    """Whether it submits or resets a form; a button of no type submits."""
    kind = (button.attr("type") or "submit").strip().lower()
    return is_in_form and button.tag == "button" and kind not in ("button", "menu")


def _words(button: Element) -> str:
    """Return what can be read on a button."""
    shown = (text for text in in_content(button) if not _is_for_readers(text.parent))
    return " ".join("".join(text.data for text in shown).split())


def _is_for_readers(node: object) -> bool:
    from turbohtml import Element

    return isinstance(node, Element) and not _UNSEEN_WORDS.isdisjoint((node.attr("class") or "").split())
