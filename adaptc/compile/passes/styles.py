"""styles: flatten ``@import`` and minify every style sheet under its own name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adaptc.compile.page.context import KEPT
from adaptc.compile.page.sheets import has_roaming_urls, sheet_text
from adaptc.compile.passes.minified import is_minified
from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import Action
from adaptc.core.urls import Reach, relative_url
from adaptc.formats.css.flatten import ImportedSheet, flatten
from adaptc.formats.css.minify import minify_sheet
from adaptc.formats.css.sheet_text import decode_sheet, is_balanced


def rewrite_sheet(asset: Asset, view: View, options: Options) -> Outcome:
    """Make a style sheet smaller and free of ``@import``; the result is UTF-8."""
    if not (declares_encoding(asset.content) or _is_utf8(asset.content)):
        return Outcome(None, (Action("styles", KEPT, asset.path, "its encoding is that of the page that links it"),))
    made = _Made(decode_sheet(asset.content, "utf-8").text, declares_encoding(asset.content))
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
class _Made:
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


def _flattened(asset: Asset, made: _Made, view: View) -> _Made:
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
    return _Made(flattened.text, is_declared, True, actions, flattened.diagnostics, absorbed)


def _minified(path: str, made: _Made) -> _Made:
    if is_minified(made.text):
        return replace(made, actions=(*made.actions, Action("styles", KEPT, path, "it is minified already")))
    shorter = minify_sheet(made.text)
    if shorter is None:
        return made
    reason = f"{len(made.text)} to {len(shorter)} characters"
    return replace(
        made, text=shorter, is_changed=True, actions=(*made.actions, Action("styles", "minified", path, reason))
    )


def declares_encoding(content: bytes) -> bool:
    """Whether a sheet says itself what its encoding is, by a byte order mark or ``@charset``."""
    return content.startswith((b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe", b'@charset "'))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class SheetLoader:
    """Loads imported sheets for ``flatten``; a string is the reason why one cannot be.

    ``declared`` says whether what is not ASCII so far stands in sheets that name their encoding; ``None`` while all
    is ASCII.
    """

    def __init__(self, view: View, root: Asset) -> None:
        self.view = view
        self.root = root
        self.declared = None if root.content.isascii() else declares_encoding(root.content)

    def __call__(self, sheet: str, url: str) -> ImportedSheet | str:
        found = self.view.follow(self.view.url_of(sheet), url)
        if found.target.reach is not Reach.LOCAL:
            return "it is not a file of this site"
        if found.path is None:
            return "there is no such file"
        if self.view.media_type(found.path) != media.CSS:
            return "it is not a style sheet"
        content = self.view.read(found.path)
        return self._problem(found.path, content) or ImportedSheet(found.path, decode_sheet(content, "utf-8").text)

    def _problem(self, path: str, content: bytes) -> str | None:
        if path.rpartition("/")[0] != self.root.path.rpartition("/")[0] and self._roams(content):
            return "a custom property holds a URL, which means another file elsewhere"
        if content.isascii():
            return None
        is_declared = declares_encoding(content)
        if not (is_declared or _is_utf8(content)) or self.declared is (not is_declared):
            return "its encoding is not that of the importing sheet"
        self.declared = is_declared
        return None

    def _roams(self, content: bytes) -> bool:
        text = sheet_text(content)
        return has_roaming_urls(text) or ("var(" in text and has_roaming_urls(sheet_text(self.root.content)))


class Rebase:
    """Rewrites a relative URL of one sheet for another place; what is no path of the site stays as it is."""

    def __init__(self, view: View) -> None:
        self.view = view

    def __call__(self, url: str, from_sheet: str, to_sheet: str) -> str:
        return rebase(self.view, url, self.view.url_of(from_sheet), to_sheet)


def rebase(view: View, url: str, base: str, to_path: str) -> str:
    """Return ``url``, written relative to ``base``, as a relative URL of the page or sheet at ``to_path``."""
    if url.startswith("/"):  # absolute in its host: the same everywhere
        return url
    target = view.follow(base, url).target
    return relative_url(to_path, target.path) + target.suffix if target.reach is Reach.LOCAL else url
