"""A small site whose pages and sheets are stripped, without a build."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from PIL import Image

from tests.sites.small import SmallSite

from adaptc.compile.analyse.decisions import Decisions
from adaptc.compile.analyse.decorations.evidence import SiteUsage, image_evidence
from adaptc.compile.analyse.decorations.rules import load_decoration_rules
from adaptc.compile.engine.unit.recording_view import Labelling, RecordingView
from adaptc.compile.page.context import page_context
from adaptc.compile.pipeline import BY_NAME
from adaptc.config.toml import parse_toml
from adaptc.core.model import Action
from adaptc.formats.html.document import read_page
from adaptc.formats.html.edit import Editor

STAND_IN = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='{}' height='{}'/>"


def picture(width: int, height: int, colour: str | tuple[int, ...] = "navy", mode: str = "RGB") -> bytes:
    """Return a PNG of one colour."""
    output = io.BytesIO()
    Image.new(mode, (width, height), colour).save(output, "PNG")
    return output.getvalue()


IMAGES: dict[str, str | bytes] = {
    "i/note.png": picture(24, 24),
    "i/spacer.gif": picture(7, 3),
    "i/photo.png": picture(400, 300),
    "i/logo.png": picture(120, 40),
    "i/bg.png": picture(64, 64),
    "i/light-bg.png": picture(64, 64, "ivory"),
    "i/wave-lines.svg": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 30 10"><path d="M0 0h9"/></svg>',
}
NOTE = '<img src="i/note.png" alt="">'
WORDS = "<p>Some words that stand here for the sake of the page, and more of them to come.</p>"


@dataclass
class StrippedSite(SmallSite):
    """Files by path over ``IMAGES``; ``rules`` is TOML over the rules that ship."""

    rules: str = ""
    levels: tuple[str, ...] = ("moderate",)
    usage: SiteUsage = SiteUsage.NONE

    def __post_init__(self) -> None:
        self.files = {**IMAGES, **self.files}
        super().__post_init__()
        usages = dict.fromkeys(self.contents, self.usage)
        self.decisions = Decisions(self.decisions.placements, self.decisions.pinned, usages)

    def view(self) -> RecordingView:
        view = super().view()
        rules = load_decoration_rules(parse_toml(self.rules, "own.toml"))
        evidence = lambda one, read: image_evidence(read(), one.media_type)  # noqa: E731
        view.materials.labelling = Labelling(self.levels, rules, evidence)
        return view

    def stripped(self, path: str = "index.html", name: str = "strip", **options: Any) -> tuple[str, list[Action]]:
        """Return a page's text after a pass, and its actions."""
        page, view = read_page(self.contents[path]), self.view()
        editor = Editor(page.text)
        defaults = {key: option.default for key, option in BY_NAME[name].options.items()}
        report = BY_NAME[name].run(editor, page_context(path, page, editor.tree, view), view, {**defaults, **options})
        return editor.apply().text, report.actions

    def sheet(self, path: str, **options: Any) -> tuple[str, list[Action]]:
        """Return a style sheet's text after strip-sheets, and its actions."""
        outcome = self.asset_of("strip-sheets", path, options)
        content = self.contents[path] if outcome.content is None else outcome.content
        return content.decode(), list(outcome.actions)

    def asset_of(self, name: str, path: str, options: dict[str, Any]) -> Any:
        """Run an asset pass."""
        from adaptc.compile.view import Asset

        defaults = {key: option.default for key, option in BY_NAME[name].options.items()}
        return BY_NAME[name].run(Asset(path, "text/css", self.contents[path]), self.view(), {**defaults, **options})


def body(
    html: str, rules: str = "", name: str = "strip", levels: tuple[str, ...] = ("moderate",), **options: Any
) -> str:
    """Return the body of a page after a pass."""
    return said(html, rules, name, levels, **options)[0]


def said(
    html: str, rules: str = "", name: str = "strip", levels: tuple[str, ...] = ("moderate",), **options: Any
) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the body of a page after a pass, and what was done: verb, subject, reason."""
    page = f"<!DOCTYPE html><html><head><title>T</title></head><body>{WORDS}{html}</body></html>"
    site = StrippedSite({"index.html": page}, rules=rules, levels=levels)
    text, actions = site.stripped(name=name, **options)
    inner = text.partition(WORDS)[2].removesuffix("</body></html>")
    return inner, [(one.verb, one.subject, one.reason) for one in actions]
