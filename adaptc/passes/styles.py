"""styles: flatten ``@import`` and minify every style sheet under its own name."""

from __future__ import annotations

from adaptc import media
from adaptc.css.decode import decode_sheet
from adaptc.css.flatten import Imported, flatten
from adaptc.css.minify import minify_sheet
from adaptc.diagnostics import Diagnostic
from adaptc.model import Action
from adaptc.passes.view import Asset, Options, Outcome, View
from adaptc.urls import Reach, relative_url


def rewrite_sheet(asset: Asset, view: View, options: Options) -> Outcome:
    """Make a style sheet smaller and free of ``@import``; the result is UTF-8."""
    sheet = decode_sheet(asset.content, "utf-8")
    if not (declared := _declares_encoding(asset.content)) and not _is_utf8(asset.content):
        return Outcome(None, (Action("styles", "kept", asset.path, "its encoding is that of the page that links it"),))
    text, actions, diagnostics = sheet.text, list[Action](), list[Diagnostic]()
    if options["flatten"] and "@import" in text.lower():
        flattened = flatten(asset.path, text, _Loader(view), _Rebase(view))
        text = flattened.text
        diagnostics.extend(flattened.diagnostics)
        actions.extend(Action("styles", "flattened", path, "imported by this sheet") for path in flattened.imported)
    if options["minify"]:
        shorter = minify_sheet(text)
        if shorter is not None:
            actions.append(Action("styles", "minified", asset.path, f"{len(text)} to {len(shorter)} characters"))
            text = shorter
    return Outcome(_encoded(text, declared), tuple(actions), tuple(diagnostics)) if actions else Outcome(None)


def _declares_encoding(content: bytes) -> bool:
    return content.startswith((b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe", b'@charset "'))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _encoded(text: str, declared: bool) -> bytes:
    content = text.encode("utf-8", "replace")
    # without a declaration a sheet takes the encoding of the page that links it (CSS Syntax 3, 3.2): keep it so
    return b'@charset "utf-8";' + content if declared and not text.isascii() else content


class _Loader:
    """Loads imported sheets for ``flatten``; a string is the reason why one cannot be."""

    def __init__(self, view: View) -> None:
        self.view = view

    def __call__(self, sheet: str, url: str) -> Imported | str:
        found = self.view.follow(self.view.url_of(sheet), url)
        if found.target.reach is not Reach.LOCAL:
            return "it is not a file of this site"
        if found.path is None:
            return "there is no such file"
        if self.view.media_type(found.path) != media.CSS:
            return "it is not a style sheet"
        return Imported(found.path, decode_sheet(self.view.read(found.path), "utf-8").text)


class _Rebase:
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
