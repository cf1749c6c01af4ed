"""images: recompress every raster image under its own name and media type."""

from __future__ import annotations

from adaptc.compile.view import Asset, Options, Outcome, View
from adaptc.core import media
from adaptc.core.model import Action

MEDIA_TYPES = frozenset({media.JPEG, media.PNG, media.GIF, media.WEBP, media.AVIF, "image/apng"})


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
