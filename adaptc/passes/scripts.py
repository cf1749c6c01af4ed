"""scripts and json: minify every classic script and every JSON file under its own name."""

from __future__ import annotations

from collections.abc import Callable

from adaptc.model import Action
from adaptc.passes.view import Asset, Options, Outcome, View
from adaptc.script import minify_json, minify_script


def rewrite_script(asset: Asset, view: View, options: Options) -> Outcome:
    """Minify a classic script; modules stay as they are."""
    return _minified("scripts", asset, minify_script) if options["minify"] else Outcome(None)


def rewrite_json(asset: Asset, view: View, options: Options) -> Outcome:
    """Take the white space out of a JSON file."""
    return _minified("json", asset, minify_json)


def _minified(name: str, asset: Asset, minify: Callable[[str], str | None]) -> Outcome:
    try:
        text = asset.content.decode("utf-8")
    except UnicodeDecodeError:
        return Outcome(None, (Action(name, "kept", asset.path, "it is not UTF-8"),))
    shorter = minify(text)
    # a script without a charset takes the page's: what was ASCII must stay so
    if shorter is None or (text.isascii() and not shorter.isascii()):
        return Outcome(None, (Action(name, "kept", asset.path, "it is not shorter or not safe to minify"),))
    reason = f"{len(text)} to {len(shorter)} characters"
    return Outcome(shorter.encode("utf-8"), (Action(name, "minified", asset.path, reason),))
