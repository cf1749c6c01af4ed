"""Alternates: an image in another media type, exactly or with a measured loss, for clients that accept it."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from functools import cache
from typing import TYPE_CHECKING, Any

from adaptc.core import media
from adaptc.core.model import FORMATS, Effort
from adaptc.core.shortage import raise_shortage
from adaptc.core.values import dataclass
from adaptc.formats.image import png
from adaptc.formats.image.lossy import AVIF, WEBP, Encoder, lossy
from adaptc.formats.image.probe import BROKEN, LIMIT_PIXELS, ImageFacts, Refusal, open_image, probe
from adaptc.formats.image.recompress import Target
from adaptc.formats.image.vips import to_pillow, vips

if TYPE_CHECKING:
    from PIL import Image

_LONGEST_SIDE = 16383  # WebP container, VP8L: 14 bits a dimension
# libwebp's method and quality (for lossless: how hard it tries) by effort.
_EFFORTS: dict[Effort, dict[str, int]] = {
    "fast": {"method": 1, "quality": 20},
    "default": {"method": 4, "quality": 75},
    "max": {"method": 6, "quality": 100},
}
# How images are encoded with a loss in each format of ``model.FORMATS``
ENCODERS: dict[str, Encoder] = {"avif": AVIF, "webp": WEBP}


@dataclass(frozen=True, slots=True)
class AlternateImage:
    """An image in another format; ``reason`` describes the encoding for people."""

    format: str
    content: bytes
    reason: str


def alternates(
    content: bytes,
    formats: Collection[str],
    *,
    below: int,
    effort: Effort = "default",
    target: Target = "exact",
    limit_pixels: int = LIMIT_PIXELS,
) -> tuple[AlternateImage, ...]:
    """Return the image in those ``formats`` in which it has less than ``below`` bytes, in the order of ``FORMATS``.

    ``target`` is that of ``recompress``. A format that servers prefer must be smaller than the next one: clients that
    accept AVIF accept WebP, so an AVIF that is not smaller than the WebP is left out.
    """
    facts = probe(content, limit_pixels)
    if isinstance(facts, Refusal):  # the pass that recompresses reports it
        return ()
    smaller: list[AlternateImage] = []
    for name in reversed(FORMATS):
        alternate = _encode_smallest(name, content, facts, effort, target, limit_pixels) if name in formats else None
        if alternate is not None and len(alternate.content) < below:
            smaller.insert(0, alternate)
            below = len(alternate.content)
    return tuple(smaller)


@cache
def lacks_codec(name: str) -> str | None:
    """Return why a format cannot be written, or what was written not read to score it; ``None`` if both can."""
    encoder = ENCODERS[name]
    try:
        encoder.decode(encoder.encode(vips().Image.black(16, 16, bands=3), "fast", 50))
    except (vips().Error, AttributeError, *BROKEN) as problem:  # AttributeError: built without the operation
        raise_shortage(problem)
        return (str(problem).strip() or "no reason given").splitlines()[0]
    return None


def _encode_smallest(
    name: str, content: bytes, facts: ImageFacts, effort: Effort, target: Target, limit_pixels: int
) -> AlternateImage | None:
    candidates: list[AlternateImage | None] = []
    # a page with ``image-orientation: none`` shows what is stored, and nobody knows which page asks for the image
    if target != "exact" and facts.orientation == 1:
        candidates.append(_encode_lossy(name, content, facts, effort, target))
    if name in EXACT_ENCODERS:
        exact = EXACT_ENCODERS[name](content, effort=effort, limit_pixels=limit_pixels)
        if exact is not None:
            candidates.append(AlternateImage(name, exact, f"{len(exact):,} bytes, pixels identical"))
    encoded = (candidate for candidate in candidates if candidate is not None)
    return min(encoded, key=lambda alternate: len(alternate.content), default=None)


def _encode_lossy(
    name: str, content: bytes, facts: ImageFacts, effort: Effort, target: Target
) -> AlternateImage | None:
    search = lossy(content, facts, effort, target, ENCODERS[name])
    if isinstance(search, Refusal) or search.content is None or search.best is None:
        return None
    reason = f"{len(search.content):,} bytes, score {search.best.score:.4f} at quality {search.best.quality}"
    return AlternateImage(name, search.content, reason)


def exact_webp(content: bytes, *, effort: Effort = "default", limit_pixels: int = LIMIT_PIXELS) -> bytes | None:
    """Return a lossless WebP with the pixels of a PNG or a GIF, or ``None``.

    ``None`` means that it is not smaller than ``content``, not certainly the same (16 bits, colours other than sRGB,
    EXIF that turns the image), or not readable. The decoded pixels are compared, colours under alpha 0 included (not of
    animations).
    """
    facts = probe(content, limit_pixels)
    if isinstance(facts, Refusal):
        return None
    try:
        if facts.is_animated and facts.media_type == media.GIF:
            return _animated_webp(content, facts, effort)
        if not _is_convertible(facts, content):
            return None
        with open_image(content) as image:
            return _encode_exact_webp(image, content, effort)
    except (vips().Error, *BROKEN) as problem:
        raise_shortage(problem)
        return None


def _is_convertible(facts: ImageFacts, content: bytes) -> bool:
    if facts.is_animated or facts.mode == "16bit" or max(facts.width, facts.height) > _LONGEST_SIDE:
        return False
    if facts.media_type == media.PNG:
        return facts.orientation == 1 and png.is_plain_srgb(content) and b"acTL" not in png.chunk_names(content)
    return facts.media_type == media.GIF


def _encode_exact_webp(image: Image.Image, content: bytes, effort: Effort) -> bytes | None:
    if not _covers_canvas(image):
        return None
    pixels = image.convert(_webp_mode(image))
    output = io.BytesIO()
    options: dict[str, Any] = {"lossless": True, "exact": True, **_EFFORTS[effort]}
    pixels.save(output, "WEBP", **options)
    encoded = output.getvalue()
    return encoded if len(encoded) < len(content) and _decodes_to(encoded, pixels) else None


def _covers_canvas(image: Image.Image) -> bool:
    """Whether the first frame fills the canvas; if not, a GIF shows more than its pixels."""
    return all(tile[1] == (0, 0, *image.size) for tile in getattr(image, "tile", ()))


def _webp_mode(image: Image.Image) -> str:
    return "RGBA" if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info else "RGB"


def _decodes_to(encoded: bytes, pixels: Image.Image) -> bool:
    with open_image(encoded) as decoded:
        return decoded.convert(pixels.mode).tobytes() == pixels.tobytes()


# ---- Animations: the same frames for the same times
# Those that end are left: browsers do not agree on how often a number of repetitions shows the frames.

# Of all frames together: 80 MB of memory a decoder
_MOST_PIXELS = 20_000_000
# Browsers show a frame for that long that is to be shown for ten ms or less
_SHORTEST, _USUAL = 10, 100
# What is seen for how many ms
_Frames = list[tuple["Image.Image", int]]


def _animated_webp(content: bytes, facts: ImageFacts, effort: Effort) -> bytes | None:
    """Return an animated GIF as a lossless WebP, if two decoders agree on its frames and the WebP has the same."""
    if facts.frames * facts.width * facts.height > _MOST_PIXELS or max(facts.width, facts.height) > _LONGEST_SIDE:
        return None
    with open_image(content) as image:
        if image.info.get("loop") != 0:
            return None
        frames = _shown_frames(image)
    if not _is_same([frame for frame, _ in frames], _decoded_by_vips(content)):
        return None
    output, pictures = io.BytesIO(), [frame for frame, _ in frames]
    times = [time for _, time in frames]
    tries = _EFFORTS["default" if effort == "fast" else effort]  # half the bytes, for a second
    options: dict[str, Any] = {"lossless": True, "save_all": True, "loop": 0, "minimize_size": True, **tries}
    pictures[0].save(output, "WEBP", append_images=pictures[1:], duration=times, **options)
    encoded = output.getvalue()
    if len(encoded) >= len(content):
        return None
    with open_image(encoded) as decoded:
        after = _merged(_shown_frames(decoded))
        is_endless = decoded.info.get("loop") == 0
    before = _merged(frames)
    has_same_times = [time for _, time in before] == [time for _, time in after]
    is_same = has_same_times and _is_same([frame for frame, _ in before], [frame for frame, _ in after])
    return encoded if is_same and is_endless else None


def _shown_frames(image: Image.Image) -> _Frames:
    from PIL import ImageSequence

    shown: _Frames = []
    for frame in ImageSequence.Iterator(image):
        pixels = _seen(frame.convert("RGBA"))
        time = int(frame.info.get("duration", 0))  # of a WebP it is known when the frame is decoded
        shown.append((pixels, time if time > _SHORTEST else _USUAL))
    return shown


def _seen(image: Image.Image) -> Image.Image:
    """Return an image without the colours of what is not seen at all."""
    from PIL import Image

    clear = Image.new("RGBA", image.size)
    return Image.composite(image, clear, image.getchannel("A").point(lambda alpha: 255 if alpha else 0))


def _decoded_by_vips(content: bytes) -> list[Image.Image]:
    every = vips().Image.new_from_buffer(content, "", n=-1)
    height = every.get("page-height") if "page-height" in every.get_fields() else every.height
    pages = (every.crop(0, top, every.width, height) for top in range(0, every.height, height))
    return [_seen(to_pillow(page).convert("RGBA")) for page in pages]


def _is_same(first: list[Image.Image], second: list[Image.Image]) -> bool:
    return len(first) == len(second) and all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


def _merged(frames: _Frames) -> _Frames:
    """Return frames that look like the one before as one with it: encoders join them."""
    merged: _Frames = []
    for frame, time in frames:
        if merged and merged[-1][0].tobytes() == frame.tobytes():
            merged[-1] = (frame, merged[-1][1] + time)
        else:
            merged.append((frame, time))
    return merged


# Formats that are worth an exact encoding: an exact AVIF is larger than an exact WebP as a rule
EXACT_ENCODERS: dict[str, Callable[..., bytes | None]] = {"webp": exact_webp}
