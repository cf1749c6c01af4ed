"""A small site whose pages and sheets get images at half resolution, without a build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.sites.small import SmallSite

from adaptc.compile.page.context import page_context
from adaptc.compile.passes.half_images import halve_images
from adaptc.compile.passes.sheet_images import halve_sheet
from adaptc.compile.view import Asset
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.document import read_page
from adaptc.formats.html.edit import Editor


@dataclass
class HalfSite(SmallSite):
    """Files by path; ``made`` are the copies after pages and sheets were asked for."""

    def halved(self, path: str = "index.html", **options: Any) -> tuple[str, list[Action]]:
        """Return a page's text after the pass, and its actions."""
        page, view = read_page(self.contents[path]), self.view()
        editor = Editor(page.text)
        report = halve_images(editor, page_context(path, page, editor.tree, view), view, options)
        return editor.apply().text, report.actions

    def page_text(self, path: str = "index.html", **options: Any) -> str:
        """Return a page's text after the pass."""
        return self.halved(path, **options)[0]

    def sheet(self, path: str, **options: Any) -> str:
        """Return a style sheet's text after the pass."""
        content = self.contents[path]
        made = halve_sheet(Asset(path, media.CSS, content), self.view(), options)
        return (content if made.content is None else made.content).decode()

    def publish(self, root: Path) -> None:
        """Write the copies that were made below ``root``."""
        for path, content in self.made.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
