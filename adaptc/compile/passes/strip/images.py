"""The backgrounds of a page's own CSS that go: style elements, style attributes, and ``background`` attributes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.page.backgrounds import Cleared, Going, clear_backgrounds
from adaptc.compile.page.context import KEPT, PageContext, Report, stands_apart
from adaptc.compile.page.image_labels import LabelledImage
from adaptc.compile.view import View
from adaptc.core.model import Action
from adaptc.formats.css.sheet_text import is_balanced
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

UNREADABLE = "text could not be read without it"


def strip_styles(
    editor: Editor, page: PageContext, view: View, going: Mapping[str, LabelledImage], report: Report
) -> None:
    """Clear the backgrounds of the references, as written, that are ``going``."""
    styles = _Styles(editor, page, view, going, report)
    for element in editor.tree.iter_elements("style"):
        styles.style_element(element)
    if not any(map(_reads_backgrounds, page.scripts)):  # a script for sliding backgrounds would load "none"
        for element in editor.tree.select('[style*="("]'):
            styles.style_attribute(element)
    for element in editor.tree.select("[background]"):
        styles.background_attribute(element)


class _Styles:
    def __init__(
        self, editor: Editor, page: PageContext, view: View, going: Mapping[str, LabelledImage], report: Report
    ) -> None:
        self.editor, self.page, self.view, self.going, self.report = editor, page, view, going, report

    def style_element(self, element: Element) -> None:
        if (element.attr("type") or "text/css").lower() != "text/css" or not is_balanced(element.text):
            return
        cleared = self._cleared(element, element.text, declarations=False)
        if cleared is not None and cleared.urls:
            self.editor.set_raw_text(element, cleared.text)

    def style_attribute(self, element: Element) -> None:
        cleared = self._cleared(element, element.attr("style") or "", declarations=True)
        if cleared is not None and cleared.urls:
            self.editor.set_attribute(element, "style", cleared.text)

    def background_attribute(self, element: Element) -> None:
        """Replace a ``background`` attribute by the colour of its image, which it would have tiled."""
        url = element.attr("background") or ""
        going = self._going(url)
        if going is None or stands_apart(element, self.editor.text):
            return
        seen = going.evidence
        if "bgcolor" not in element.attrs and seen is not None and seen.colour and (seen.opaque or 0) > 0.5:
            self.editor.set_attribute(element, "bgcolor", f"#{''.join(f'{part:02x}' for part in seen.colour)}")
        self.editor.remove_attribute(element, "background")
        self._note((url,))

    def _cleared(self, element: Element, text: str, *, declarations: bool) -> Cleared | None:
        if "(" not in text or stands_apart(element, self.editor.text):
            return None
        cleared = clear_backgrounds(text, self._going, declarations=declarations)
        self._note(cleared.urls)
        for url in cleared.unreadable:
            self.report.actions.append(Action("strip", KEPT, self.going[url].subject, UNREADABLE))
        return cleared

    def _going(self, url: str) -> Going | None:
        one = self.going.get(url)
        if one is None:
            return None
        is_bare = one.is_ad or not any(place.holds_text or place.body for place in one.places)
        return Going(None if one.path is None else self.view.evidence(one.path), is_bare)

    def _note(self, urls: tuple[str, ...]) -> None:
        for one in map(self.going.__getitem__, urls):
            self.report.actions.append(Action("strip", "stripped", one.subject, one.reason))


_NAMES = ("backgroundImage", "background-image")


@lru_cache(maxsize=512)
def _reads_backgrounds(script: str | bytes) -> bool:
    text = script if isinstance(script, str) else script.decode("utf-8", "replace")
    return any(name in text for name in _NAMES)
