"""dimensions: width and height of images, where they cannot move the layout."""

from __future__ import annotations

from adaptc.html.edit import Editor
from adaptc.passes.page import PageContext, Report
from adaptc.passes.view import Options, View


def add_dimensions(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Add them."""
    return Report()
