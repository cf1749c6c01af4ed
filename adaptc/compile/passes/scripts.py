"""scripts, json and script-icons: minify every script and JSON file, and drop icons that the site does not name."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from adaptc.compile.page.context import KEPT
from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core.model import Action
from adaptc.formats.characters import ANY_ICON, drop_icons, holds_icons
from adaptc.formats.script import minify_json, minify_script
from adaptc.formats.script.facts import SCRIPT


def rewrite_script(asset: Asset, view: View, options: Options) -> Outcome:
    """Minify a script, with shorter names of local variables if ``names``."""

    def minify(text: str) -> str | None:
        return minify_script(text, short_names=options["names"] and not view.facts(SCRIPT, text).reads_text)

    return _minified("scripts", asset, minify) if options["minify"] else Outcome(None)


def rewrite_json(asset: Asset, view: View, options: Options) -> Outcome:
    """Remove the white space of a JSON file."""
    return _minified("json", asset, minify_json)


def drop_unused_icons(asset: Asset, view: View, _options: Options) -> Outcome:
    """Drop the icons of a script (Font Awesome's) that no page, script or data of the site names."""
    if is_without_icons(asset.content):
        return Outcome(None)
    used = view.icons_named()
    if ANY_ICON in used:
        return _keep("script-icons", asset, "a page or a script may ask for any icon")
    reduced = drop_icons(asset.content.decode(), used)
    if reduced is None:
        return Outcome(None)
    text, count = reduced
    return Outcome(text.encode(), (Action("script-icons", "dropped", asset.path, f"{count:,} icons are not used"),))


def is_without_icons(content: bytes) -> bool:
    """Whether a script holds no icons, so that those of the site do not matter for it; or it is not UTF-8."""
    try:
        return not holds_icons(content.decode())
    except UnicodeDecodeError:
        return True


def _minified(name: str, asset: Asset, minify: Callable[[str], str | None]) -> Outcome:
    mark = codecs.BOM_UTF8 if asset.content.startswith(codecs.BOM_UTF8) else b""
    try:
        text = asset.content.removeprefix(mark).decode("utf-8")
    except UnicodeDecodeError:
        return _keep(name, asset, "it is not UTF-8")
    shorter = minify(text)
    # a script without a charset takes the page's: what was ASCII must stay so
    if shorter is None or (text.isascii() and not shorter.isascii()):
        return _keep(name, asset, "it is not shorter or not safe to minify")
    reason = f"{len(text)} to {len(shorter)} characters"
    return Outcome(mark + shorter.encode("utf-8"), (Action(name, "minified", asset.path, reason),))


def _keep(name: str, asset: Asset, reason: str) -> Outcome:
    return Outcome(None, (Action(name, KEPT, asset.path, reason),))
