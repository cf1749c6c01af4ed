"""styles: flatten ``@import``, drop prefixes and minify every style sheet under its own name."""

from __future__ import annotations

from adaptc.compile.page.context import KEPT
from adaptc.compile.page.sheets import Rebase, SheetLoader, declares_encoding, is_utf8
from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import Action
from adaptc.core.values import dataclass, replace
from adaptc.formats.css.flatten import flatten
from adaptc.formats.css.minify import minify_sheet
from adaptc.formats.css.prefixes import drop_dead_prefixes
from adaptc.formats.css.sheet_text import beyond_limits, decode_sheet, drop_lost_rules, is_balanced


def rewrite_sheet(asset: Asset, view: View, options: Options) -> Outcome:
    """Make a style sheet smaller and free of ``@import``; the result is UTF-8."""
    if not (declares_encoding(asset.content) or is_utf8(asset.content)):
        return Outcome(None, (Action("styles", KEPT, asset.path, "its encoding is that of the page that links it"),))
    draft = _readable(asset)
    if not is_balanced(draft.text):
        return _unread(asset.path, "it is malformed", _UNBALANCED)
    if (limit := beyond_limits(draft.text)) is not None:
        return _unread(asset.path, "it goes beyond what is read", limit)
    if options["flatten"]:
        draft = _flatten(asset, draft, view)
    if options["prefixes"] == "drop":
        draft = _drop_prefixes(asset.path, draft)
    if options["minify"]:
        draft = _minify(asset.path, draft)
    return Outcome(draft.encoded() if draft.is_changed else None, draft.actions, draft.diagnostics, draft.absorbed)


def _readable(asset: Asset) -> _SheetDraft:
    """Return the sheet without what no browser applies, if nothing else can be read after it."""
    text, is_declared = decode_sheet(asset.content, "utf-8").text, declares_encoding(asset.content)
    readable = text if is_balanced(text) else drop_lost_rules(text)
    if readable == text or not is_balanced(readable):
        return _SheetDraft(text, is_declared)
    action = Action("styles", "removed", asset.path, "rules that a closing brace too many makes invalid")
    return _SheetDraft(readable, is_declared, True, (action,))


def imports_nothing(content: bytes) -> bool:
    """Whether a sheet has no ``@import``, so that what is made of it depends on no other file."""
    if is_utf8(content) and not declares_encoding(content):  # decoding takes ten times as long as searching
        return b"@import" not in content.lower()
    return not _imports(decode_sheet(content, "utf-8").text)


def _imports(text: str) -> bool:
    return "@import" in text.lower()


# Browsers close what is open at the end of a sheet, and moved or removed text would change what that is.
_UNBALANCED = "a bracket does not match, or it ends inside a string or comment"


def _unread(path: str, reason: str, problem: str) -> Outcome:
    """Leave a sheet that cannot be taken apart."""
    diagnostic = diagnose("css-malformed", Location(path), problem=problem)
    return Outcome(None, (Action("styles", KEPT, path, reason),), (diagnostic,))


@dataclass(frozen=True, slots=True)
class _SheetDraft:
    """A sheet after some steps. ``is_declared`` says that it declares its encoding; ``absorbed`` as in ``Outcome``."""

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


def _flatten(asset: Asset, draft: _SheetDraft, view: View) -> _SheetDraft:
    if not _imports(draft.text):
        return draft
    loader = SheetLoader(view, asset)
    flattened = flatten(asset.path, draft.text, loader, Rebase(view))
    actions = tuple(Action("styles", "flattened", path, "imported by this sheet") for path in flattened.imported)
    if not actions:
        return replace(draft, diagnostics=flattened.diagnostics)
    actions = (*draft.actions, *actions)
    is_declared = draft.is_declared or loader.declared is True
    # A file that something else loads too saves no request
    absorbed = sum(len(view.read(path)) for path in flattened.imported if view.is_sole_import(path))
    return _SheetDraft(flattened.text, is_declared, True, actions, flattened.diagnostics, absorbed)


def _drop_prefixes(path: str, draft: _SheetDraft) -> _SheetDraft:
    shorter = drop_dead_prefixes(draft.text)
    if shorter == draft.text:
        return draft
    reason = f"{len(draft.text) - len(shorter)} characters that no browser of today knows"
    return replace(
        draft, text=shorter, is_changed=True, actions=(*draft.actions, Action("styles", "removed", path, reason))
    )


def _minify(path: str, draft: _SheetDraft) -> _SheetDraft:
    shorter = minify_sheet(draft.text)
    if shorter is None:
        return replace(draft, actions=(*draft.actions, Action("styles", KEPT, path, "it is minified already")))
    reason = f"{len(draft.text)} to {len(shorter)} characters"
    return replace(
        draft, text=shorter, is_changed=True, actions=(*draft.actions, Action("styles", "minified", path, reason))
    )
