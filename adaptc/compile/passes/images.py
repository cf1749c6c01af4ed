"""images: recompress every raster image under its own name and media type; alternates: make it in other formats too."""

from __future__ import annotations

from adaptc.compile.view import Alternate, Alternates, Asset, Options, Outcome, View
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import FORMATS, Action


def recompress_image(asset: Asset, view: View, options: Options) -> Outcome:
    """Make an image smaller; ``target`` is "exact" (the same pixels) or a score of ``adaptc.formats.image.score``."""
    from adaptc.formats.image.recompress import recompress

    done = recompress(
        asset.path,
        asset.content,
        asset.media_type,
        effort=view.settings.effort,
        target=options["target"],
        limit_pixels=view.settings.limit_pixels,
    )
    verb = "kept" if done.content is None else "recompressed"
    return Outcome(done.content, (Action("images", verb, asset.path, done.reason),), done.diagnostics)


def make_alternates(asset: Asset, original: bytes, view: View, options: Options) -> Alternates:
    """Make the image in each of ``formats`` in which it is smaller; ``target`` as that of the pass ``images``."""
    wanted = [one for one in FORMATS if one in options["formats"]]
    if not wanted:
        return Alternates()
    from adaptc.formats.image.alternates import alternates, lacks_codec

    missing = {one: problem for one in wanted if (problem := lacks_codec(one)) is not None}
    found = alternates(
        original,
        [one for one in wanted if one not in missing],
        below=len(asset.content),
        effort=view.settings.effort,
        target=options["target"],
        limit_pixels=view.settings.limit_pixels,
    )
    return Alternates(
        tuple(Alternate(one.format, one.content) for one in found),
        tuple(Action("alternates", "made", asset.path, one.reason) for one in found),
        tuple(
            diagnose("image-codec-missing", Location(asset.path), format=one, problem=problem)
            for one, problem in missing.items()
        ),
    )
