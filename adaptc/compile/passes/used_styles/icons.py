"""Icons of fonts that are not loaded: they are hidden; links and buttons that were only an icon show their name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adaptc.formats.css.fonts import has_private_use
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.class_names import UNSEEN_CLASSES, class_names
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.forms import find_forms
from adaptc.formats.html.syntax import text_markup
from adaptc.formats.html.visible_text import content_texts, icon_name, is_followable, link_label, link_name

if TYPE_CHECKING:
    from turbohtml import Element, Text


# Fonts that draw a whole word as one picture: without them the word is visible ("keyboard_arrow_right")
_LIGATURES = re.compile(r"(?:^|\s)(?:material-icons|material-symbols)[\w-]*(?:\s|$)")
_PICTURES = "img, svg, picture, video, object, input, canvas"


_SEEN = (
    "display:inline!important;visibility:visible!important;position:static!important;width:auto!important;"
    "height:auto!important;margin:0!important;clip:auto!important;clip-path:none!important;overflow:visible!important"
)
_WIDTHS = (412, 1280)


def hide_icons(editor: Editor, sheets: Iterable[str], *, has_scripts: bool) -> int:
    """Hide icons of fonts, and give links and buttons that were only an icon a text; returns the number of these.

    ``sheets`` are those of the page: at some widths they may hide the text next to an icon. A button
    without a name that does nothing without scripts is hidden where there are none.
    """
    for element in editor.tree.select("i, span, a, em, b, div"):
        if _is_icon(element):
            _hide(editor, element)
    cascade = Cascade(editor.tree, tuple(sheets))
    named = sum(_name_control(editor, link, cascade) for link in _links(editor))
    forms = find_forms(editor.tree)
    for button in _buttons(editor):
        if _name_control(editor, button, cascade):
            named += 1
        elif not has_scripts and not forms.has_effect(button) and not _visible_texts(button):
            _hide(editor, button)
    return named


def _hide(editor: Editor, element: Element) -> None:
    style = (element.attr("style") or "").rstrip("; ")
    editor.set_attribute(element, "style", f"{style};display:none" if style else "display:none")


def _links(editor: Editor) -> Iterator[Element]:
    for link in editor.tree.select("a[href]"):
        leads = is_followable(link.attr("href")) and not (link.attr("href") or "").startswith("#")
        if leads and len(link.children) and link.select_one(_PICTURES) is None:
            yield link


def _buttons(editor: Editor) -> Iterator[Element]:
    """Yield the buttons with an icon of a font, which those that style sheets draw are not."""
    for button in editor.tree.select("button"):
        if button.select_one(_PICTURES) is None and (icon_name(button) or any(map(_is_icon, button.select("*")))):
            yield button


def _name_control(editor: Editor, control: Element, cascade: Cascade) -> bool:
    """Give a link or button that shows nothing its name, or show the text in it that is hidden."""
    texts = _visible_texts(control)
    if not texts:
        label = _label(control)
        if any(map(str.isalnum, label)):
            editor.append(control, text_markup(label))
        return any(map(str.isalnum, label))
    hidden = [element for text in texts if (element := _hidden_around(text, control, cascade)) is not None]
    if len(hidden) < len(texts) or all(each.text.strip() for each in control.select("*") if not _is_icon(each)):
        return False
    for element in dict.fromkeys(hidden):
        style = (element.attr("style") or "").rstrip("; ")
        editor.set_attribute(element, "style", f"{style};{_SEEN}" if style else _SEEN)
    return True


def _visible_texts(control: Element) -> list[Text]:
    return [text for text in content_texts(control) if any(map(_is_character, text.data))]


def _label(control: Element) -> str:
    """Return what a control without visible text is called: its name, that of its icon, or of what it leads to."""
    name = link_name(control)
    if any(map(str.isalnum, name)):
        return name
    return _ligature(control) or (link_label(control) if control.tag == "a" else "")


def _ligature(control: Element) -> str:
    """Return the words of an icon whose font draws them as one picture."""
    words = (each.text.strip().replace("_", " ") for each in control.select("*") if _is_ligature(each))
    return next((each for each in words if any(map(_is_character, each))), "")


def _is_character(character: str) -> bool:
    return not character.isspace() and not has_private_use(character)


def _hidden_around(text: Text, link: Element, cascade: Cascade) -> Element | None:
    """Return what hides a text of a link at some width."""
    from turbohtml import Element

    for each in text.ancestors:
        if each is link or not isinstance(each, Element):
            return None
        is_unseen = not UNSEEN_CLASSES.isdisjoint(class_names(each))
        hiding = (name for width in _WIDTHS for name in cascade.hiding(each, width))
        if is_unseen or any(name in ("display", "visibility") for name in hiding):
            return each
    return None


def _is_icon(element: Element) -> bool:
    text = element.text.strip() if len(element.children) == 1 else ""
    if not text:
        return False
    return _is_ligature(element) or (element.tag != "a" and all(has_private_use(c) or c.isspace() for c in text))


def _is_ligature(element: Element) -> bool:
    return _LIGATURES.search(element.attr("class") or "") is not None
