"""remove-scripts: a page that can be read and used without scripts."""

from __future__ import annotations

from adaptc.compile.page.context import PageContext, Report
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.passes.remove_scripts.boxes import remove_covers, seen_covers, shrink_drawings
from adaptc.compile.passes.remove_scripts.code import remove_code
from adaptc.compile.passes.remove_scripts.controls import disable_controls
from adaptc.compile.passes.remove_scripts.hidden import show_hidden
from adaptc.compile.passes.remove_scripts.loading import load_lazy_images
from adaptc.compile.passes.remove_scripts.menus import write_script_menus
from adaptc.compile.view import Options, View
from adaptc.core.model import Action
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.document import show_noscript
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.static_text import static_text
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, probe

__all__ = ["remove_scripts", "show_scriptless"]

NAME = "remove-scripts"


def show_scriptless(text: str) -> str:
    """Return the static text of a page, with what a ``<noscript>`` holds."""
    return show_noscript(static_text(text))


def remove_scripts(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Remove all scripts from a page, and adapt what depends on them.

    ``show_scriptless`` ran before and replaced each ``<noscript>`` by its content. Structured data (JSON-LD) stays: no
    script of the page runs it.
    """
    report = Report(is_scriptless=True)
    if page.has_scripts:
        sheets = screen_sheets(editor.tree, page.base, view)
        covers = seen_covers(page.evidence, editor.tree)
        shown = show_hidden(editor, sheets, covers=covers)
        cascade = Cascade(editor.tree, sheets)
        counts = (
            ("written", "menus that a script would build", write_script_menus(editor, page, view, cascade)),
            ("shown", "what a script would show", shown.count),
            ("loaded", "images that a script would load", load_lazy_images(editor, _Blanks(page, view))),
            ("uncovered", "what covers the page until a script removes it", remove_covers(editor, cascade)),
            ("uncovered", "what a browser saw over the text", len(covers)),
            ("shrunk", "boxes that a script would draw in", shrink_drawings(editor, page, sheets)),
            ("settled", "buttons that only scripts listen to", disable_controls(editor, shown.openers)),
        )
        report.actions += [Action(NAME, verb, subject, count=count) for verb, subject, count in counts if count]
    if removed := remove_code(editor):
        report.actions.append(Action(NAME, "removed", "scripts, event handlers and templates", count=removed))
    return report


_DOT = 4  # CSS pixels of a side, at most, of an image that only holds a place
_DOT_BYTES = 1024


class _Blanks:
    """Tells whether the image at a URL of a page is too small to show anything."""

    def __init__(self, page: PageContext, view: View) -> None:
        self._page, self._view = page, view

    def __call__(self, url: str) -> bool:
        path = self._view.follow(self._page.base, url).path if url else None
        if path is None or not self._view.media_type(path).startswith("image/"):
            return False
        content = self._view.read(path)
        facts = probe(content, LIMIT_PIXELS) if len(content) <= _DOT_BYTES else None
        return isinstance(facts, ImageFacts) and max(facts.natural_size) <= _DOT
