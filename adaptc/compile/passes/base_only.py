"""base-only: the container object alone, without its embedded objects (Krishnamurthy and others, WWW2003: "baseonly").

Their client asked for the page and for nothing that it embeds. A server cannot keep a browser from asking, so the page
is written such that there is nothing to ask for: what a visitor sees is what a browser shows whose images, scripts,
style sheets and frames are turned off. The page's own styles stay; what runs no script shows its ``<noscript>``.
"""

from __future__ import annotations

from collections.abc import Callable

from adaptc.compile.page.context import PageContext, Report
from adaptc.compile.passes.media_links import link_media
from adaptc.compile.passes.unloaded import unload
from adaptc.compile.view import Options, View
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import Action
from adaptc.formats.html.document import parse
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.noscript import show_noscript

NAME = "base-only"


def base_only(text: str, page: PageContext, view: View, options: Options) -> tuple[str | None, Report]:
    """Return the page with nothing to load in it. Raises ``EditRefused``."""
    if parse(text).select_one("frameset frame[src]") is not None:
        said = diagnose("page-unchanged", Location(page.path), name=NAME, reason="its content stands in frames")
        return None, Report(diagnostics=[said])
    report = Report()
    made = show_noscript(text)
    if made != text:
        report.actions.append(Action(NAME, "shown", "<noscript>"))
    # two rounds: what media hold for browsers that cannot play them may load images itself
    for edit in (link_media, unload):
        made = _edited(made, edit, report, page.path)
    return made, report


def _edited(text: str, edit: Callable[[Editor], list[tuple[str, str]]], report: Report, path: str) -> str:
    editor = Editor(text)
    report.actions += [Action(NAME, verb, subject) for verb, subject in edit(editor)]
    edited = editor.apply()
    if edited.method == "serialised":
        report.diagnostics = [diagnose("page-reserialized", Location(path), name=NAME)]
    return edited.text
