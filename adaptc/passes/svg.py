"""svg: clean every SVG file, conservatively."""

from __future__ import annotations

from adaptc.model import Action
from adaptc.passes.view import Asset, Options, Outcome, View


def clean_svg_file(asset: Asset, view: View, options: Options) -> Outcome:
    """Remove from an SVG file what cannot be seen or reached by a script."""
    from adaptc.svg import clean_svg

    done = clean_svg(asset.content, asset.path)
    verb = "kept" if done.content is None else "cleaned"
    return Outcome(done.content, (Action("svg", verb, asset.path, done.reason),), done.diagnostics)
