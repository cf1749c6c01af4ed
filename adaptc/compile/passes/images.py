"""images: recompress every raster image under its own name and media type; alternates: make it in other formats too;
svg: clean every SVG file, conservatively.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.pricing import choose_recompressed
from adaptc.compile.view import Alternate, Alternates, Asset, DerivingView, Options, Outcome, View
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import FORMATS, Action

if TYPE_CHECKING:
    from adaptc.formats.image.recompress import Target


def recompress_image(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Make an image smaller; ``target`` is "exact" (the same pixels) or a score of ``adaptc.formats.image.score``.

    With a price the score is the one that is worth its bytes, and ``target`` does not count.
    """
    copy, reason = choose_recompressed(asset.path, view, options) if options.get("price") else (None, "")
    if copy is not None:
        return Outcome(view.copy_content(copy), (Action("images", "recompressed", asset.path, reason),))
    target: Target = "exact" if options.get("price") else options["target"]
    from adaptc.formats.image.recompress import recompress

    result = recompress(
        asset.path,
        asset.content,
        asset.media_type,
        effort=view.settings.effort,
        target=target,
        limit_pixels=view.settings.limit_pixels,
    )
    verb = "kept" if result.content is None else "recompressed"
    return Outcome(result.content, (Action("images", verb, asset.path, result.reason),), result.diagnostics)


def make_alternates(asset: Asset, original: bytes, view: View, options: Options) -> Alternates:
    """Make the image in each of ``formats`` in which it is smaller; ``target`` as that of the pass ``images``."""
    formats = [name for name in FORMATS if name in options["formats"]]
    if not formats:
        return Alternates()
    from adaptc.formats.image.alternates import alternates, lacks_codec

    missing = {name: problem for name in formats if (problem := lacks_codec(name)) is not None}
    images = alternates(
        original,
        [name for name in formats if name not in missing],
        below=len(asset.content),
        effort=view.settings.effort,
        target=options["target"],
        limit_pixels=view.settings.limit_pixels,
    )
    return Alternates(
        tuple(Alternate(image.format, image.content) for image in images),
        tuple(Action("alternates", "made", asset.path, image.reason) for image in images),
        tuple(
            diagnose("image-codec-missing", Location(asset.path), format=name, problem=problem)
            for name, problem in missing.items()
        ),
    )


def clean_svg_file(asset: Asset, view: View, options: Options) -> Outcome:
    """Remove from an SVG file what is invisible and out of reach of scripts; write paths in fewer characters."""
    from adaptc.formats.svg import clean_svg

    result = clean_svg(asset.content, asset.path, options["shift"])
    verb = "kept" if result.content is None else "cleaned"
    return Outcome(result.content, (Action("svg", verb, asset.path, result.reason),), result.diagnostics)
