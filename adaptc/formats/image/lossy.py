"""Encoding with a measured loss: an encoder for each format, and the lowest quality that reaches a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import log
from typing import TYPE_CHECKING, Any

from adaptc.core import media
from adaptc.core.facts import BoundedCache
from adaptc.core.model import Effort
from adaptc.core.values import dataclass, replace
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.exact import exact_png, jpeg_refusal
from adaptc.formats.image.probe import ImageFacts, Refusal, broken, orientation_exif, read_exif, unchanged
from adaptc.formats.image.score import Reference, has_colour_edges, sample_rows
from adaptc.formats.image.vips import (
    decode_srgb,
    decode_upright,
    from_pillow,
    load_once,
    resize_to_srgb,
    to_pillow,
    turn,
    vips,
)

if TYPE_CHECKING:
    from PIL import Image

# ---- The search for the lowest quality that reaches a score, in three encodings at most, each of which is measured
# The loss, 1 - score, grows about like a power of the step of the encoder's quantizer. On a scale of logarithms two
# points so predict a third (secant method). On 272 curves of real images (WebP, JPEG, PNG, AVIF; scores 0.90 to 0.98)
# it takes 2.3 encodings where bisection takes 6.1, for 3 % more bytes an image; for copies of a quality of 45 to 75,
# 1.3 and 1 %. On the scale of the qualities themselves JPEGs took 30 % more bytes.

LOWEST, HIGHEST = 20, 97
_ENCODINGS = 3
# The loss of a typical image, by the logarithm of the quantizer's step: 0.05 at quality 60 of JPEG and WebP
_TYPICAL_LOSS, _TYPICAL_STEP, _SLOPE = log(0.05), 3.74, 0.8
_LEAST_LOSS = 1e-4
# How far below the loss allowed a prediction aims, since it may miss; more so with each quality that has not reached it
_AIM, _SAFE_AIM = 0.03, 0.1
_CLOSE = 0.05  # a quality whose loss is this close to that allowed is taken
_FLATTEST, _STEEPEST = _SLOPE / 2, _SLOPE * 4  # two points too close to each other predict nothing
# Fine grain, which hardly anybody sees, counts as structure: a photograph of 700 x 467 pixels takes 59,922 bytes of
# WebP for a score of 0.96, and 9,603 of AVIF for 0.953. A high quality (Lighthouse compares with JPEG at 85) is
# enough where its loss is at most so many times that allowed.
_GRAINY, _NEVER = 2, 101


@dataclass(frozen=True, slots=True)
class Point:
    """A point of an image's curve: the encoder's quality, the size in bytes and the score in [0, 1]."""

    quality: int
    size: int
    score: float

    @property
    def loss(self) -> float:
        """The logarithm of what is missing to the score 1."""
        return _loss(self.score)


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search: the encoding that reaches the target, or ``None``, and all points in rising quality."""

    content: bytes | None
    best: Point | None
    points: tuple[Point, ...]


def jpeg_step(quality: int) -> float:
    """Return the logarithm of the factor of JPEG's quantization tables (libjpeg); WebP's has about the same shape."""
    return log(102 - quality) if quality >= 50 else log(2600 / max(quality, 1))


def av1_step(quality: int) -> float:
    """Return the logarithm of AV1's quantizer step, whose tables are exponential (AV1, 7.12.2).

    libheif has 64 quantizers for its 101 qualities: one that gives the encoding of the next lower has its step, too.
    """
    return 6.27 - 0.056 * (quality + _repeats(quality + 1))


def _repeats(quality: int) -> bool:
    """Whether a quality gives the encoding of the next lower one (libheif of pyvips-binary 8.18)."""
    if quality > 52:
        return quality % 4 == 1
    return quality % 5 in (1, 3) if quality > 33 else quality % 2 == 1


def decode(content: bytes) -> Image.Image:
    """Return what a browser shows of an encoding, with libvips. Raises ``pyvips.Error``."""
    return to_pillow(load_once(content))


@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes a libvips image of sRGB pixels with an effort and a quality of 0 to 100; ``step`` falls with it.

    ``finish`` makes an encoding smaller that has the quality wanted; its pixels stay. An encoder that ``is_local``
    encodes a part of an image as it encodes the whole, but for a few pixels. ``decode`` reads an encoding to score it;
    a format that libvips cannot read brings its own. ``add_orientation`` has browsers turn it. ``encode_crisp`` takes
    the place of ``encode`` for an image that shows text or lines. ``encode_sample`` takes its place for strips that are
    only scored: it gives the same pixels in less time. From the quality ``enough`` on an encoding counts as good where
    it scores ``_GRAINY`` times the loss allowed.
    """

    encode: Callable[[Any, Effort, int], bytes]
    step: Callable[[int], float] = jpeg_step
    finish: Callable[[bytes, Effort], bytes] | None = None
    is_local: bool = False
    decode: Callable[[bytes], Image.Image] = decode
    add_orientation: Callable[[bytes, int], bytes] | None = None
    encode_crisp: Callable[[Any, Effort, int], bytes] | None = None
    encode_sample: Callable[[Any, Effort, int], bytes] | None = None
    enough: int = _NEVER


def search_quality(
    encode: Callable[[int], bytes],
    score: Callable[[bytes], float],
    target: float,
    *,
    lowest: int = LOWEST,
    highest: int = HIGHEST,
    first: int | None = None,
    step: Callable[[int], float] = jpeg_step,
    ends_highest: bool = False,
    enough: int = _NEVER,
) -> Search:
    """Find a quality in ``lowest``..``highest`` whose score is at least ``target`` and close to it.

    ``first`` is tried first, by default the quality that suits a typical image. The score is expected to rise with the
    quality; where it does not, the result still reaches the target. Where two qualities give the same encoding the
    search ends. It may miss a quality that reaches the target (1 of 122 WebP images); not with ``ends_highest``: its
    last attempt is then the highest, if no other did. No quality above ``enough`` is tried where that has at most
    ``_GRAINY`` times the loss allowed.
    """
    goal, choices = _loss(target), range(lowest, highest + 1)
    if first is None:
        first = _quality_of(_TYPICAL_STEP + _SLOPE * (goal - _TYPICAL_LOSS), choices, step)
    points: list[Point] = []
    quality, content, best, last, most = first, None, None, b"", _ENCODINGS
    while True:
        if best is None and enough in choices:
            quality = min(quality, enough)
        encoded = encode(quality)
        is_limited, last = encoded == last and not ends_highest, encoded  # by its 256 colours, not by its quality
        point = Point(quality, len(encoded), score(encoded))
        points.append(point)
        is_good = point.score >= target or (quality >= enough and point.loss <= goal + log(_GRAINY))
        if is_good:
            content, best, choices = encoded, point, _without(quality, range(choices.start, quality), step)
        else:
            choices = _without(quality, range(quality + 1, choices.stop), step)
            most += quality == enough  # which was not where the target was expected
        is_close = best is not None and (len(choices) <= 1 or goal - best.loss <= _CLOSE)
        if is_close or is_limited or not choices or len(points) == most:
            return Search(content, best, tuple(sorted(points, key=lambda point: point.quality)))
        if ends_highest and best is None and len(points) == most - 1:
            quality = highest
        else:
            quality = _predict(points, goal - (_SAFE_AIM * len(points) if best is None else _AIM), choices, step)


def _without(tried: int, choices: range, step: Callable[[int], float]) -> range:
    """Return ``choices`` without the qualities next to it that give the encoding of one that was tried."""
    others = [quality for quality in choices if step(quality) != step(tried)]
    return range(others[0], others[-1] + 1) if others else range(0)


def _loss(score: float) -> float:
    return log(max(_LEAST_LOSS, 1 - score))


def _predict(points: Sequence[Point], goal: float, choices: range, step: Callable[[int], float]) -> int:
    """Return the quality of ``choices`` at which the line through the two points nearest to ``goal`` reaches it."""
    nearest, *others = sorted(points, key=lambda point: abs(point.loss - goal))
    slope = _SLOPE
    if others:
        rise = (others[0].loss - nearest.loss) / (step(others[0].quality) - step(nearest.quality))
        slope = min(max(rise, _FLATTEST), _STEEPEST)
    return _quality_of(step(nearest.quality) + (goal - nearest.loss) / slope, choices, step)


def _quality_of(wanted: float, choices: range, step: Callable[[int], float]) -> int:
    """Return the lowest quality whose step is at most ``wanted``, else the highest."""
    return next((quality for quality in choices if step(quality) <= wanted), choices[-1])


# Pixels that are encoded and scored, in strips of 32 rows. JPEGs of 34 photographs at effort "fast" so take 1.6 s of
# CPU in place of 6.6, for 4 % more bytes; scores of the whole images are 0.94 to 0.99 where 0.95 is asked for (mean
# 0.958, and 0.957 where all pixels count). With 120,000 pixels the least is 0.89. At "default" 0.76 s in place of 1.82
# for three photographs of 1 to 2 megapixels, whose scores are 0.964 to 0.986 where 0.96 is asked for.
_SMALL = 250_000
_SCORED: dict[Effort, int | None] = {"fast": _SMALL, "default": 500_000, "max": None}


def lossy(
    content: bytes,
    facts: ImageFacts,
    effort: Effort,
    target: float | str,
    encoder: Encoder | None = None,
    *,
    size: tuple[int, int] | None = None,
    shown: int | None = None,
) -> Search | Refusal:
    """Return the smallest encoding that scores at least ``target``, of the same media type or by ``encoder``.

    The target ``"q=60"`` is a quality. The score compares with the original as a browser shows it: in sRGB, 8 bits a
    sample. But for effort "max" it is that of a sample of a large image. With ``size`` the image is scaled to these
    pixels first; one that is wider than ``shown`` pixels is compared as a window of that width shows it. One that EXIF
    turns keeps stored pixels and orientation where the format has one, else it is upright.
    """
    refusal = _refusal(content, facts)
    if refusal is not None:
        return refusal
    try:
        encoder = encoder or ENCODERS[facts.media_type]
        # ``image-orientation: none`` shows what is stored: it stays so, with the EXIF that turns it elsewhere
        orientation = 1 if encoder.add_orientation is None else facts.orientation
        compared = _compared((content, size, orientation, _SCORED[effort], shown))
        search = _search(compared, effort, target, encoder)
        if search.content is None or orientation == 1 or encoder.add_orientation is None:
            return search
        return replace(search, content=encoder.add_orientation(search.content, facts.orientation))
    except vips().Error as problem:
        return broken(facts.media_type, problem)


# What undoes an orientation
_BACK = {**{number: number for number in range(1, 9)}, 6: 8, 8: 6}


@dataclass(frozen=True)
class _Compared:
    """The pixels that encodings of ``image`` are compared with: ``sample``, all of it or strips of it.

    ``reference`` has them as a window ``shown`` pixels wide shows them.
    """

    image: Any
    sample: Any
    reference: Reference
    is_part: bool
    shown: int | None

    @cached_property
    def is_crisp(self) -> bool:
        """Whether its chroma needs the resolution of its luma."""
        return has_colour_edges(self.sample)


_Key = tuple[bytes, tuple[int, int] | None, int, int | None, int | None]
# An image is encoded in one format after the other: what it is compared with is made once. Bytes that a worker keeps
_KEPT_BYTES = 64 << 20
_FLOATS = 3 * 4 * 9 // 8  # bytes a pixel of the sample: three channels, and two numbers for each window
_compared_images = BoundedCache[_Key, _Compared](_KEPT_BYTES)


def _compared(key: _Key) -> _Compared:
    """Return an image at a size, turned back by its orientation, and so many pixels of it as the sample."""
    compared = _compared_images.get(key)
    if compared is not None:
        return compared
    content, size, orientation, pixels, shown = key
    image = decode_srgb(content) if size is None else resize_to_srgb(decode_upright(content), size)
    if orientation != 1:
        image = turn(image, _BACK[orientation]).copy_memory()
    whole = to_pillow(image)
    sample = sample_rows(whole, image.width * image.height if pixels is None else pixels)
    compared = _Compared(image, sample, Reference(_as_shown(sample, shown)), sample is not whole, shown)
    size_kept = (image.width * image.height + sample.width * sample.height) * image.bands
    _compared_images.put(key, compared, size_kept + sample.width * sample.height * _FLOATS)
    return compared


_LANCZOS = 1  # ``PIL.Image.Resampling.LANCZOS``


def _as_shown(image: Image.Image, shown: int | None) -> Image.Image:
    if shown is None or image.width <= shown:
        return image
    return image.resize((shown, max(1, round(image.height * shown / image.width))), _LANCZOS)


def _search(compared: _Compared, effort: Effort, target: float | str, encoder: Encoder) -> Search:
    lowest, highest = (int(target[2:]), int(target[2:])) if isinstance(target, str) else (LOWEST, HIGHEST)
    wanted = 0.0 if isinstance(target, str) else target
    image, sample = compared.image, compared.sample
    pixels = _SCORED[effort] or image.width * image.height
    is_part = compared.is_part and encoder.is_local
    searched = from_pillow(sample).copy(interpretation="srgb") if is_part else image

    def score(encoded: bytes) -> float:
        decoded = encoder.decode(encoded)
        sampled = decoded if is_part else sample_rows(decoded, pixels)
        return compared.reference.score(_as_shown(sampled, compared.shown))

    is_crisp = encoder.encode_crisp is not None and compared.is_crisp
    encode = (encoder.encode_crisp if is_crisp else None) or encoder.encode
    options: dict[str, Any] = {"lowest": lowest, "highest": highest, "step": encoder.step, "enough": encoder.enough}
    attempt = (encoder.encode_sample if is_part else None) or encode
    search = search_quality(partial(attempt, searched, effort), score, wanted, **options)
    if search.content is None or search.best is None:
        return search
    content = encode(image, effort, search.best.quality) if is_part else search.content
    return replace(search, content=content if encoder.finish is None else encoder.finish(content, effort))


OTHER_COLOURS = "its colours are not those of sRGB"


def _refusal(content: bytes, facts: ImageFacts) -> Refusal | None:
    """Return why the colours or the natural size would be lost, or ``None``."""
    if facts.is_animated:
        return unchanged("it is animated")
    if facts.media_type == media.PNG:
        if b"acTL" in png.chunk_names(content):
            return unchanged("it is an animated PNG")
        return None if png.converts_to_srgb(content) else unchanged(OTHER_COLOURS)
    if facts.media_type != media.JPEG:
        return None
    exif = jpeg.exif_segment(content)
    if exif is not None and read_exif(exif.content, (facts.width, facts.height)).has_density:
        return unchanged("its metadata gives it another natural size")
    return jpeg_refusal(content)


def encode_jpeg(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode with mozjpeg's tables and trellis: 14 % smaller than libjpeg at equal quality.

    When fast, scans are only tried of small images: that takes as long as the rest, and saves 1 to 8 %.
    """
    return _encode_jpeg(image, quality, tries_scans=effort != "fast" or image.width * image.height <= _SMALL)


def _encode_jpeg_sample(image: Any, _effort: Effort, quality: int) -> bytes:
    """Encode with the coefficients of ``encode_jpeg`` in scans that were not tried, in 70 % of the time."""
    return _encode_jpeg(image, quality, tries_scans=False)


def _encode_jpeg(image: Any, quality: int, *, tries_scans: bool) -> bytes:
    options = {"optimize_coding": True, "interlace": True, "quant_table": 3, "keep": "none"}
    trellis = {"trellis_quant": True, "overshoot_deringing": True, "optimize_scans": tries_scans}
    return bytes(image.jpegsave_buffer(Q=quality, **options, **trellis))


def encode_png(image: Any, _effort: Effort, quality: int) -> bytes:
    """Encode with at most 256 colours by imagequant, dithered."""
    return bytes(image.pngsave_buffer(palette=True, Q=quality, dither=1.0, effort=7, keep="none"))


def finish_png(palette: bytes, effort: Effort) -> bytes:
    """Return a PNG as small as the effort allows."""
    smaller = exact_png(palette, "fast" if effort == "fast" else "default")
    return palette if isinstance(smaller, Refusal) else min(palette, smaller, key=len)


def encode_webp(image: Any, effort: Effort, quality: int, *, is_sharp: bool = False) -> bytes:
    """Encode as WebP; sharp chroma keeps red text on blue crisp.

    That takes three times as long at effort "fast". Of 21 images without text or lines it changed score and size
    alike, as another quality does.
    """
    return bytes(image.webpsave_buffer(Q=quality, effort=WEBP_METHODS[effort], smart_subsample=is_sharp, keep="none"))


def encode_avif(image: Any, effort: Effort, quality: int) -> bytes:
    """Encode as AV1 in 8 bits; libheif halves the colour planes below quality 90."""
    options = {"compression": "av1", "bitdepth": 8, "effort": _AVIF_EFFORTS[effort], "keep": "none"}
    return bytes(image.heifsave_buffer(Q=quality, **options))


def _turned_jpeg(content: bytes, orientation: int) -> bytes:
    exif = b"Exif\0\0" + orientation_exif(orientation)
    return jpeg.insert_after_start(content, jpeg.Segment(jpeg.APP1, exif))


def _turned_png(content: bytes, orientation: int) -> bytes:
    return png.insert_after_header(content, [png.Chunk(b"eXIf", orientation_exif(orientation))])


# Milliseconds a megapixel and bytes of eleven images at quality 50, with libaom: 0: 61, 121 kB; 1: 185, 103 kB;
# 2: 294, 100 kB; 3: 619, 96 kB; 4: 2,160, 93 kB; 6: 6,390, 89 kB
_AVIF_EFFORTS: dict[Effort, int] = {"fast": 1, "default": 2, "max": 6}
# libwebp's method; 4 takes three times as long as 2 and saves 1 to 4 % of the size
WEBP_METHODS: dict[Effort, int] = {"fast": 2, "default": 4, "max": 6}
JPEG = Encoder(encode_jpeg, is_local=True, add_orientation=_turned_jpeg, encode_sample=_encode_jpeg_sample, enough=85)
PNG = Encoder(encode_png, finish=finish_png, add_orientation=_turned_png)
WEBP = Encoder(encode_webp, is_local=True, encode_crisp=partial(encode_webp, is_sharp=True), enough=82)
AVIF = Encoder(encode_avif, av1_step, is_local=True, enough=64)
# Media types whose images are replaced by smaller ones: not AVIF, whose source is usually an image that the site lacks
ENCODERS: dict[str, Encoder] = {media.JPEG: JPEG, media.PNG: PNG, media.WEBP: WEBP}
