"""Smaller images of the same media type: with the same pixels, or with a measured loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_bytes
from adaptc.core.facts import BoundedCache
from adaptc.core.libraries import identify
from adaptc.core.model import Effort
from adaptc.core.shortage import raise_shortage
from adaptc.core.values import dataclass, replace
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.exact import exact_jpeg, exact_png, keeps_jpeg_colours, keeps_png_colours
from adaptc.formats.image.lossy import ENCODERS, Encoder, lossy
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, Refusal, broken, probe
from adaptc.formats.image.vips import load, load_once, vips

Target = Literal["exact"] | float | str  # the last is a fixed quality, as "q=60"


@dataclass(frozen=True, slots=True)
class Recompression:
    """The result for one image.

    ``content`` is never larger than the original; ``None`` means to keep the original. ``reason`` describes for people
    what was done, or why nothing was. ``score`` is 1.0 for equal pixels, the measured score of a lossy result, else
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
) -> Recompression:
    """Return a smaller image in the format that it has, or the reason why there is none.

    ``target`` is "exact" for the same pixels in a browser, the lowest score allowed, in [0, 1] (see ``score``), or a
    fixed quality such as "q=60".
    ``media_type`` is that of the file's name, which the server sends. Browsers go by the content (WHATWG MIME Sniffing,
    section 8), so that a PNG called ``.jpg`` is shown as before if it stays a PNG, or becomes the JPEG that it is
    called, as it does with a loss where it is opaque.
    """
    if media_type not in (_EXACT_ENCODERS if target == "exact" else ENCODERS):
        return Recompression(None, f"{media_type} is not recompressed")
    facts = probe(content, limit_pixels)
    if isinstance(facts, Refusal):
        return _refuse(path, facts)
    result = _recompress_by_content(path, content, media_type, facts, effort, target)
    if facts.media_type == media_type:
        return result
    return replace(result, diagnostics=(_wrong_extension(path, media_type, facts), *result.diagnostics))


def _recompress_by_content(
    path: str, content: bytes, named: str, facts: ImageFacts, effort: Effort, target: Target
) -> Recompression:
    if target == "exact":
        return _recompress_exactly(path, content, facts.media_type, effort)
    if facts.media_type not in ENCODERS:
        return Recompression(None, f"{facts.media_type} is not recompressed")
    encoder = ENCODERS[media.JPEG if named == media.JPEG and not facts.has_alpha else facts.media_type]
    return _choose_smaller(
        content,
        facts.media_type,
        _recompress_lossy(path, content, facts, effort, target, encoder),
        lambda: _recompress_exactly(path, content, facts.media_type, effort),
    )


# Results without loss, by content, type, effort and versions of encoders: levels with a loss compare theirs with it,
# and candidates of a plan ask for it at each price
_known = BoundedCache[tuple[str, str, Effort, str], Recompression](16 << 20)
_LIBRARIES = ("mozjpeg-lossless-optimization", "oxipng-pybind", "pyvips", "pyvips-binary")
_LEAST = 1024  # bytes that a result counts for at least


def _recompress_exactly(path: str, content: bytes, media_type: str, effort: Effort) -> Recompression:
    if media_type not in _EXACT_ENCODERS:
        return Recompression(None, f"{media_type} is not recompressed exactly")
    key = (digest_bytes(content), media_type, effort, identify(_LIBRARIES))
    result = _known.get(key)
    if result is None:
        result = _encode_exactly(path, content, media_type, effort)
        if not result.diagnostics:  # which name the path
            _known.put(key, result, max(_LEAST, len(result.content or b"")))
    return result


def _encode_exactly(path: str, content: bytes, media_type: str, effort: Effort) -> Recompression:
    exact = _EXACT_ENCODERS[media_type](content, effort)
    if isinstance(exact, Refusal):
        return _refuse(path, exact)
    return _verify(path, content, exact, media_type)


def _recompress_lossy(
    path: str, content: bytes, facts: ImageFacts, effort: Effort, target: float | str, encoder: Encoder
) -> Recompression:
    search = lossy(content, facts, effort, target, encoder)
    if isinstance(search, Refusal):
        return _refuse(path, search)
    if search.content is None or search.best is None:
        return Recompression(None, f"no quality reaches the score {target}")
    saved = len(content) - len(search.content)
    if saved <= 0:
        return Recompression(None, "already smallest")
    reason = f"{saved:,} bytes saved, score {search.best.score:.4f} at quality {search.best.quality}"
    return Recompression(search.content, reason, score=search.best.score)


# A lossy image of this share of the bytes is not compared with an exact one, which takes longer: those of JPEGs save 2
# to 14 % apart from metadata, which both drop, and of 1,197 PNGs of this share none was smaller exactly
_CERTAINLY_SMALLER = {media.JPEG: 0.7, media.PNG: 0.3}


def _choose_smaller(
    content: bytes, media_type: str, lossy_result: Recompression, recompress_exactly: Callable[[], Recompression]
) -> Recompression:
    """Prefer an exact result that is as small; a broken image is not read a second time."""
    if any(diagnostic.id == "image-broken" for diagnostic in lossy_result.diagnostics):
        return lossy_result
    smaller = lossy_result.content
    if smaller is not None and _is_certainly_smaller(smaller, content, media_type):
        return lossy_result
    exact_result = recompress_exactly()
    if exact_result.content is None:
        return lossy_result
    is_smaller = lossy_result.content is None or len(exact_result.content) <= len(lossy_result.content)
    return exact_result if is_smaller else lossy_result


def _is_certainly_smaller(smaller: bytes, content: bytes, media_type: str) -> bool:
    """Whether an exact image would be larger than a lossy one; a PNG that is hardly compressed may shrink to little."""
    header = png.read_header(content)
    is_compressed = header is None or len(content) < header.raw_size / 2
    return is_compressed and len(smaller) < _CERTAINLY_SMALLER.get(media_type, 0) * len(content)


def _refuse(path: str, refusal: Refusal) -> Recompression:
    return Recompression(None, refusal.reason, (refusal.diagnostic(path),))


def _wrong_extension(path: str, media_type: str, facts: ImageFacts) -> Diagnostic:
    extension = "." + path.rpartition(".")[2] if "." in path else media_type
    return diagnose("image-wrong-extension", Location(path), extension=extension, media_type=facts.media_type)


def _verify(path: str, before: bytes, after: bytes, media_type: str) -> Recompression:
    """Accept ``after`` if it is smaller and decodes to the same pixels under the same colour description."""
    if len(after) >= len(before):
        return _keep(path, before, media_type)
    is_same = same_pixels(media_type, before, after)
    if isinstance(is_same, Refusal):
        return _refuse(path, is_same)
    if not is_same or not _KEEPS_COLOURS[media_type](before, after):
        return Recompression(None, "recompressing would change its pixels or colours")
    return Recompression(after, f"{len(before) - len(after):,} bytes saved, pixels identical", score=1.0)


def _keep(path: str, content: bytes, media_type: str) -> Recompression:
    """Keep an image, and report a damaged JPEG: oxipng refuses damaged PNGs, mozjpeg does not refuse JPEGs."""
    damage = jpeg_damage(content) if media_type == media.JPEG else None
    return Recompression(None, "already smallest") if damage is None else _refuse(path, damage)


_EXACT_ENCODERS: dict[str, Callable[[bytes, Effort], bytes | Refusal]] = {
    media.PNG: exact_png,
    media.JPEG: exact_jpeg,
}
_KEEPS_COLOURS: dict[str, Callable[[bytes, bytes], bool]] = {
    media.PNG: keeps_png_colours,
    media.JPEG: keeps_jpeg_colours,
}


# ---- Comparison of pixels: whether two files of a format decode to the same, alpha and 16 bits included


def same_pixels(media_type: str, before: bytes, after: bytes) -> bool | Refusal:
    """Whether both decode to the same samples; ``image-broken`` if ``before`` is damaged.

    The colour under fully transparent pixels counts too. ``after`` is our own output: if it is damaged, the answer is
    no.
    """
    if media_type == media.JPEG and jpeg.without_metadata(before) == jpeg.without_metadata(after):
        damage = jpeg_damage(before)
        return True if damage is None else damage
    error = vips().Error
    try:
        expected = load_once(before).copy_memory()
    except error as problem:
        return _damaged(media_type, problem)
    try:
        return _equal_samples(expected, load(after))
    except error as problem:
        raise_shortage(problem)
        return False


def jpeg_damage(content: bytes) -> Refusal | None:
    """Return ``image-broken`` if a JPEG does not decode without damage.

    It is decoded at an eighth of its size, which reads every coefficient too, in 60 % of the time.
    """
    try:
        load_once(content, shrink=8).avg()
    except vips().Error as problem:
        return _damaged(media.JPEG, problem)
    return None


def _damaged(media_type: str, problem: Exception) -> Refusal:
    """Return ``image-broken`` with the last line of libvips: the first only names the call that failed."""
    raise_shortage(problem)
    return broken(media_type, str(problem).strip().rpartition("\n")[2].strip())


def _equal_samples(before: Any, after: Any) -> bool:
    """Whether two libvips images have the same samples, of 8 or 16 bits."""
    if (before.width, before.height) != (after.width, after.height):
        return False
    if before.format != after.format:
        before, after = _sixteen_bits(before), _sixteen_bits(after)
    if before.bands == after.bands:
        return _are_equal(before, after)
    return all(_are_equal(_plane(before, index), _plane(after, index)) for index in range(4))


def _are_equal(before: Any, after: Any) -> bool:
    return bool((before == after).min())  # a comparison gives 0 or 255; ``min`` ends at the first 0


def _sixteen_bits(image: Any) -> Any:
    """Scale 8 bits by 257, so that white stays white."""
    return image if image.format == "ushort" else (image * 257).cast("ushort")


def _plane(image: Any, index: int) -> Any:
    """Return red, green, blue or alpha (0 to 3): gray serves as all three colours, and no alpha means opaque."""
    if index == 3 and image.bands in (1, 3):
        return image[0].new_from_image(65535 if image.format == "ushort" else 255)
    if index == 3:
        return image[image.bands - 1]
    return image[index if image.bands >= 3 else 0]
