"""The door to smaller images of the same media type: exact, or with a measured loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import Effort
from adaptc.formats.image.decode import jpeg_damage, same_pixels
from adaptc.formats.image.exact import exact_jpeg, exact_png, same_colour_chunks, same_jpeg_colours
from adaptc.formats.image.lossy import ENCODERS, lossy
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, probe
from adaptc.formats.image.refusal import Refusal

Target = Literal["exact"] | float


@dataclass(frozen=True, slots=True)
class Recompressed:
    """The result for one image.

    ``content`` is never larger than the original; ``None`` means: keep the original. ``reason`` says in words
    what was done or why not. ``score`` is 1.0 for equal pixels, the measured score of a lossy result, else
    ``None``.
    """

    content: bytes | None
    reason: str
    diagnostics: tuple[Diagnostic, ...] = ()
    score: float | None = None


def recompress(
    path: str,
    content: bytes,
    media_type: str,
    *,
    effort: Effort = "default",
    target: Target = "exact",
    limit_pixels: int = LIMIT_PIXELS,
) -> Recompressed:
    """Return a smaller image of the same media type, or say why there is none.

    ``target`` "exact" asks for the same pixels in a browser; a number in [0, 1] for at least that score (see
    ``score``). ``media_type`` is what the name says: an image that holds another format is left.
    """
    if media_type not in (_EXACT if target == "exact" else ENCODERS):
        return Recompressed(None, f"{media_type} is not recompressed")
    facts = probe(content, limit_pixels)
    if isinstance(facts, Refusal):
        return _refused(path, facts)
    if facts.media_type != media_type:
        return _misnamed(path, media_type, facts)
    if target == "exact":
        return _exact(path, content, media_type, effort)
    return _smaller(_lossy(path, content, facts, effort, target), lambda: _exact(path, content, media_type, effort))


def _exact(path: str, content: bytes, media_type: str, effort: Effort) -> Recompressed:
    if media_type not in _EXACT:
        return Recompressed(None, f"{media_type} is not recompressed exactly")
    exact = _EXACT[media_type](content, effort)
    if isinstance(exact, Refusal):
        return _refused(path, exact)
    return _verified(path, content, exact, media_type)


def _lossy(path: str, content: bytes, facts: ImageFacts, effort: Effort, target: float) -> Recompressed:
    found = lossy(content, facts, effort, target)
    if isinstance(found, Refusal):
        return _refused(path, found)
    if found.content is None or found.best is None:
        return Recompressed(None, f"no quality reaches the score {target:.3f}")
    saved = len(content) - len(found.content)
    if saved <= 0:
        return Recompressed(None, "already smallest")
    reason = f"{saved:,} bytes saved, score {found.best.score:.4f} at quality {found.best.quality}"
    return Recompressed(found.content, reason, score=found.best.score)


def _smaller(lossy_result: Recompressed, exact: Callable[[], Recompressed]) -> Recompressed:
    """Prefer an exact result that is as small; a broken image is not read a second time."""
    if any(finding.id == "image-broken" for finding in lossy_result.diagnostics):
        return lossy_result
    other = exact()
    if other.content is None:
        return lossy_result
    better = lossy_result.content is None or len(other.content) <= len(lossy_result.content)
    return other if better else lossy_result


def _refused(path: str, refusal: Refusal) -> Recompressed:
    return Recompressed(None, refusal.reason, (refusal.diagnostic(path),))


def _misnamed(path: str, media_type: str, facts: ImageFacts) -> Recompressed:
    extension = "." + path.rpartition(".")[2] if "." in path else media_type
    finding = diagnose("image-wrong-extension", Location(path), extension=extension, media_type=facts.media_type)
    return Recompressed(None, finding.message, (finding,))


def _verified(path: str, before: bytes, after: bytes, media_type: str) -> Recompressed:
    """Accept ``after`` if it is smaller and decodes to the same pixels under the same colour description."""
    if len(after) >= len(before):
        return _already_smallest(path, before, media_type)
    equal = same_pixels(media_type, before, after)
    if isinstance(equal, Refusal):
        return _refused(path, equal)
    if not equal or not _SAME_COLOURS[media_type](before, after):
        return Recompressed(None, "recompressing would change its pixels or colours")
    return Recompressed(after, f"{len(before) - len(after):,} bytes saved, pixels identical", score=1.0)


def _already_smallest(path: str, content: bytes, media_type: str) -> Recompressed:
    """Keep an image, and say if it is damaged: oxipng has refused a PNG that is, mozjpeg would not have."""
    found = jpeg_damage(content) if media_type == media.JPEG else None
    return Recompressed(None, "already smallest") if found is None else _refused(path, found)


_EXACT: dict[str, Callable[[bytes, Effort], bytes | Refusal]] = {
    media.PNG: exact_png,
    media.JPEG: exact_jpeg,
}
_SAME_COLOURS: dict[str, Callable[[bytes, bytes], bool]] = {
    media.PNG: same_colour_chunks,
    media.JPEG: same_jpeg_colours,
}
