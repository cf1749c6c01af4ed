"""reading: the page as text: its content, links and forms in one request."""

from __future__ import annotations

from adaptc.compile.page.context import PageContext, Report
from adaptc.compile.view import Options, View
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import Action
from adaptc.core.urls import quote_path
from adaptc.formats.html.streaming import place_streamed_parts
from adaptc.formats.html.text_only.page import make_text_only_page

NAME = "reading"


def write_reading_page(text: str, page: PageContext, view: View, options: Options) -> tuple[str | None, Report]:
    """Return the text-only version of a page, or ``None`` if it has none."""
    result = make_text_only_page(place_streamed_parts(text), url_path=quote_path(page.path))
    if isinstance(result, str):
        diagnostic = diagnose("page-unchanged", Location(page.path), name=NAME, reason=result)
        return None, Report(diagnostics=[diagnostic])
    left_out = [Action(NAME, "left out", f"<{tag}>", count=count) for tag, count in result.left_out]
    action = Action(NAME, "written", "the page", f"{len(text)} to {len(result.text)} characters")
    return result.text, Report([action, *left_out])
