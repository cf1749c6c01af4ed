"""styles: flatten ``@import`` and minify every style sheet under its own name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adaptc.compile.page.context import KEPT
from adaptc.compile.page.sheets import Rebase, SheetLoader, declares_encoding, is_minified, is_utf8
from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import Action
from adaptc.formats.css.flatten import flatten
from adaptc.formats.css.minify import minify_sheet
from adaptc.formats.css.sheet_text import decode_sheet, is_balanced


def rewrite_sheet(asset: Asset, view: View, options: Options) -> Outcome:
    """Make a style sheet smaller and free of ``@import``; the result is UTF-8."""
    if not (declares_encoding(asset.content) or is_utf8(asset.content)):
        return Outcome(None, (Action("styles", KEPT, asset.path, "its encoding is that of the page that links it"),))
    made = _SheetDraft(decode_sheet(asset.content, "utf-8").text, declares_encoding(asset.content))
    if not is_balanced(made.text):
        return _malformed(asset.path)
    if options["flatten"]:
        made = _flattened(asset, made, view)
    if options["minify"]:
        made = _minified(asset.path, made)
    return Outcome(made.encoded() if made.is_changed else None, made.actions, made.diagnostics, made.absorbed)


def _malformed(path: str) -> Outcome:
    """Browsers close what is open at the end of a sheet; text that moves or goes there would change what that is."""
    said = diagnose(
        "css-malformed", Location(path), problem="a bracket does not match, or it ends inside a string or comment"
    )
    return Outcome(None, (Action("styles", KEPT, path, "it is malformed"),), (said,))


@dataclass(frozen=True, slots=True)
class _SheetDraft:
    """A sheet in the making. ``is_declared`` says that it names its encoding, ``absorbed`` is that of ``Outcome``."""

    text: str
    is_declared: bool
    is_changed: bool = False
    actions: tuple[Action, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    absorbed: int = 0

    def encoded(self) -> bytes:
        """Encode; without a declaration a sheet takes the encoding of the page that links it (CSS Syntax 3, 3.2)."""
        content = self.text.encode("utf-8", "replace")
        return content if content.isascii() or not self.is_declared else b'@charset "utf-8";' + content


def _flattened(asset: Asset, made: _SheetDraft, view: View) -> _SheetDraft:
    if "@import" not in made.text.lower():
        return made
    loader = SheetLoader(view, asset)
    flattened = flatten(asset.path, made.text, loader, Rebase(view))
    actions = tuple(Action("styles", "flattened", path, "imported by this sheet") for path in flattened.imported)
    if not actions:
        return replace(made, diagnostics=flattened.diagnostics)
    is_declared = made.is_declared or loader.declared is True
    # What something else loads all the same is no request less
    absorbed = sum(len(view.read(path)) for path in flattened.imported if view.is_sole_import(path))
    return _SheetDraft(flattened.text, is_declared, True, actions, flattened.diagnostics, absorbed)


def _minified(path: str, made: _SheetDraft) -> _SheetDraft:
    if is_minified(made.text):
        return replace(made, actions=(*made.actions, Action("styles", KEPT, path, "it is minified already")))
    shorter = minify_sheet(made.text)
    if shorter is None:
        return made
    reason = f"{len(made.text)} to {len(shorter)} characters"
    return replace(
        made, text=shorter, is_changed=True, actions=(*made.actions, Action("styles", "minified", path, reason))
    )
