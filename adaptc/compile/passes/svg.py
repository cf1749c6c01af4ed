"""svg: clean every SVG file, conservatively."""

from __future__ import annotations

from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core.model import Action


def clean_svg_file(asset: Asset, view: View, options: Options) -> Outcome:
    """Remove from an SVG file what is invisible and out of reach of scripts."""
    from adaptc.formats.svg import clean_svg

    result = clean_svg(asset.content, asset.path)
    verb = "kept" if result.content is None else "cleaned"
    return Outcome(result.content, (Action("svg", verb, asset.path, result.reason),), result.diagnostics)
