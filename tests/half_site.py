"""A small site whose pages and sheets get images at half resolution, without a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from small_site import SmallSite

from adaptc.digest import digest_bytes
from adaptc.engine.view import RecordingView
from adaptc.html.document import read_page
from adaptc.html.edit import Editor
from adaptc.image.halve import Derived, halve
from adaptc.model import Action
from adaptc.passes.half_images import half_images
from adaptc.passes.half_sheets import half_sheet
from adaptc.passes.page import page_context
from adaptc.passes.view import DerivedFile


class HalvingView(RecordingView):
    """A view that makes copies when they are asked for and keeps their bytes in ``made``."""

    made: dict[str, bytes]

    def derive(self, path: str, kind: str, options: Mapping[str, Any]) -> DerivedFile | str:
        assert kind == "half"
        done = halve(self.read(path), **options)
        if not isinstance(done, Derived):
            return done.reason
        name = f"_adaptc/{digest_bytes(done.content)[:12]}.{done.extension}"
        self.made[name] = done.content
        size = (done.width, done.height, done.natural_width, done.natural_height)
        return DerivedFile(name, done.media_type, len(done.content), *size)


@dataclass
class HalfSite(SmallSite):
    """Files by path; ``made`` are the copies after pages and sheets were asked for."""

    made: dict[str, bytes] = field(default_factory=dict)

    def view(self) -> HalvingView:
        plain = super().view()
        view = HalvingView(plain.site, plain.tree, plain.decisions, plain.settings, plain.build)
        view.made = self.made
        return view

    def halved(self, path: str = "index.html", **options: Any) -> tuple[str, list[Action]]:
        """Return a page's text after the pass, and its actions."""
        page, view = read_page(self.contents[path]), self.view()
        editor = Editor(page.text)
        report = half_images(editor, page_context(path, page, editor.tree, view), view, options)
        return editor.apply().text, report.actions

    def page_text(self, path: str = "index.html", **options: Any) -> str:
        """Return a page's text after the pass."""
        return self.halved(path, **options)[0]

    def sheet(self, path: str, **options: Any) -> str:
        """Return a style sheet's text after the pass."""
        return half_sheet(self.contents[path].decode(), path, self.view(), options)

    def publish(self, root: Path) -> None:
        """Write the copies that were made below ``root``."""
        for path, content in self.made.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
