"""svg: clean every SVG file, conservatively."""

from __future__ import annotations

from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core.model import Action


def clean_svg_file(asset: Asset, view: View, options: Options) -> Outcome:
    """Remove from an SVG file what cannot be seen or reached by a script."""
    from adaptc.formats.svg import clean_svg

    done = clean_svg(asset.content, asset.path)
    verb = "kept" if done.content is None else "cleaned"
    return Outcome(done.content, (Action("svg", verb, asset.path, done.reason),), done.diagnostics)
