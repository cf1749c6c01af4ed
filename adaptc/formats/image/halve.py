"""The door to images of the degrading levels: smaller in pixels and in bytes, under a name of their own.

A derived image never takes the place of the original under its URL: there it would be shown smaller on every page
that still refers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from adaptc.core import media
from adaptc.core.model import Effort
from adaptc.formats.image import jpeg, png
from adaptc.formats.image.degrade import FORMATS, LONGEST_SIDE, Degraded, Goal, degrade, encode_webp, lossless_webp
from adaptc.formats.image.exact import jpeg_refusal
from adaptc.formats.image.lossy import samples
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, probe, read_exif
from adaptc.formats.image.refusal import Refusal, broken, left
from adaptc.formats.image.score import HARD, HARD_QUALITIES, MODERATE, QUALITIES, TEXT_SCALE
from adaptc.formats.image.texture import Texture, texture
from adaptc.formats.image.vips import decode_frames, decode_upright, resize_frames, resize_to_srgb, vips

# CSS pixels by which the height of the box may be off. Browsers lay out in 64ths of a pixel.
CLOSE = 1 / 16
# The width may be this share larger than asked, where that gives a better height.
_SPREAD = 16


def scaled_size(width: int, height: int, scale: float, widest: int | None = None) -> tuple[int, int]:
    """Return width and height of a copy at ``scale`` (0 to 1), both at least 1; the width is rounded up.

    ``widest`` limits the width.

    A browser multiplies both sides by the original's width over the copy's, so the copy's height times that
    should be the original's height. 401 by 301 halved to 201 by 151 would be shown 301.25 high. Of the widths
    from the one asked for to a sixteenth above it, the first with a height within ``CLOSE`` is taken, or the
    closest for its pixels.
    """
    first = min(width, widest or width, max(1, ceil(round(width * scale, 6))))
    last = min(width, widest or width, first + first // _SPREAD + 2)
    sizes = [(wide, max(1, round(height * wide / width))) for wide in range(first, last + 1)]
    close = (size for size in sizes if slack((width, height), size) <= CLOSE)
    return next(close, None) or min(sizes, key=lambda size: slack((width, height), size) + size[0] / first)


def slack(natural: tuple[int, int], size: tuple[int, int]) -> float:
    """Return how many CSS pixels the box of a copy is higher or lower than that of the original."""
    return abs(size[1] * natural[0] / size[0] - natural[1])


ALL_FORMATS = tuple(FORMATS)
# Pixels of all frames together that are worth decoding and encoding anew: 20 to 60 ms a megapixel.
ANIMATION_LIMITS: dict[Effort, int] = {"fast": 10_000_000, "default": 30_000_000, "max": 100_000_000}
# Below these, a copy saves less than the markup that asks for it.
_SMALLEST, _NARROWEST = 1500, 32
_MARGIN = 128
_TYPES = frozenset({media.JPEG, media.PNG, media.GIF, media.WEBP, media.AVIF})
_EXTENSIONS = {"webp": "webp", "jpeg": "jpg", "png": "png"}


@dataclass(frozen=True, slots=True)
class Derived:
    """A smaller copy: its bytes, its pixels, and the size in CSS pixels at which the original is shown.

    ``score`` compares it with the lossless copy of the same size (see ``score``), 1.0 for equal pixels, ``None`` if
    not measured. ``reason`` says in words what was made.
    """

    content: bytes
    media_type: str
    extension: str
    width: int
    height: int
    natural_width: int
    natural_height: int
    score: float | None
    reason: str


def halve(
    content: bytes,
    *,
    scale: float = 0.5,
    text_scale: float | None = None,
    target: float | str = MODERATE,
    qualities: tuple[int, int] = QUALITIES,
    effort: Effort = "fast",
    limit_pixels: int = LIMIT_PIXELS,
    formats: Iterable[str] = ALL_FORMATS,
    frozen: bool = False,
) -> Derived | Refusal:
    """Return a copy at ``scale``, upright and in sRGB, or why there is none.

    ``text_scale`` is the scale of images that show text or lines; drawings of a few colours then become lossless
    WebP at full size where that is smaller still. ``target`` is a score in [0, 1], reached within ``qualities``, or
    ``"q=60"``. ``formats`` are the formats allowed, of ``ALL_FORMATS``. An animation stays one, at the middle
    quality, or becomes its first frame when ``frozen``. A copy is at least 128 bytes smaller than the original.
    """
    goal = Goal.of(target, *qualities)
    sizes = _Sizes(scale, text_scale or scale, text_scale is not None)
    return _Job(content, goal, effort, tuple(formats), sizes).run(limit_pixels, frozen)


def recompress_hard(
    content: bytes,
    *,
    max_width: int = 480,
    target: float | str = HARD,
    qualities: tuple[int, int] = HARD_QUALITIES,
    effort: Effort = "fast",
    limit_pixels: int = LIMIT_PIXELS,
    formats: Iterable[str] = ALL_FORMATS,
) -> Derived | Refusal:
    """Return a copy at most ``max_width`` pixels wide with a loss to be seen, or why there is none.

    It is at most as large as the copy that ``halve`` makes for the moderate level: half size, 0.71 where there is
    text. Animations become their first frame.
    """
    sizes = _Sizes(0.5, TEXT_SCALE, True, max_width)
    return _Job(content, Goal.of(target, *qualities), effort, tuple(formats), sizes).run(limit_pixels, frozen=True)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The size to give a copy. ``whole`` says that a lossless one may keep the size of the original."""

    scale: float
    text_scale: float
    whole: bool
    widest: int | None = None

    def of(self, natural: tuple[int, int], seen: Texture) -> tuple[int, int]:
        scale = self.text_scale if seen.is_crisp else self.scale
        if self.widest is not None:
            # a sixteenth less, so that there are widths to choose from
            scale = min(scale, self.widest / natural[0] * 15 / 16)
        return scaled_size(*natural, scale, self.widest)


@dataclass(frozen=True, slots=True)
class _Job:
    """One image and what is asked of its copy."""

    content: bytes
    goal: Goal
    effort: Effort
    formats: tuple[str, ...]
    sizes: _Sizes

    def run(self, limit_pixels: int, frozen: bool) -> Derived | Refusal:
        facts = probe(self.content, limit_pixels)
        if isinstance(facts, Refusal):
            return facts
        moving = facts.animated and not frozen
        refused = _unfit(self.content, facts) or (self._unfit_animation(facts) if moving else None)
        if refused is not None:
            return refused
        try:
            made = self._animation(facts) if moving else self._still(facts)
        except vips().Error as problem:
            return broken(facts.media_type, problem)
        return self._checked(made, facts)

    def _still(self, facts: ImageFacts) -> tuple[Degraded | None, tuple[int, int]]:
        image = decode_upright(self.content)
        seen = texture(samples(image))
        size = self.sizes.of(facts.natural_size, seen)
        made = degrade(resize_to_srgb(image, size), self.goal, self.effort, self.formats)
        if self._may_stay_whole(facts, seen):
            whole = lossless_webp(resize_to_srgb(image, facts.natural_size), self.effort)
            if made is None or len(whole.content) <= len(made.content):
                return whole, facts.natural_size
        return made, size

    def _may_stay_whole(self, facts: ImageFacts, seen: Texture) -> bool:
        fits = max(facts.natural_size) <= LONGEST_SIDE and facts.width <= (self.sizes.widest or facts.width)
        return self.sizes.whole and seen.is_drawn and "webp" in self.formats and fits

    def _animation(self, facts: ImageFacts) -> tuple[Degraded | None, tuple[int, int]]:
        size = scaled_size(*facts.natural_size, self.sizes.scale)
        frames = resize_frames(decode_frames(self.content), size)
        quality = (self.goal.lowest + self.goal.highest) // 2
        return Degraded(encode_webp(frames, self.effort, quality), "webp", quality, None), size

    def _unfit_animation(self, facts: ImageFacts) -> Refusal | None:
        if facts.media_type not in (media.GIF, media.WEBP) or "webp" not in self.formats:
            return left("it is animated, and its frames cannot be encoded anew")
        if facts.frames * facts.width * facts.height > ANIMATION_LIMITS[self.effort]:
            return left("it is animated, and its frames are too many to be encoded anew")
        return None

    def _checked(self, made: tuple[Degraded | None, tuple[int, int]], facts: ImageFacts) -> Derived | Refusal:
        degraded, size = made
        if degraded is None:
            return left("no allowed format can hold it")
        if len(degraded.content) + _MARGIN > len(self.content):
            return left("a copy would not be smaller")
        return Derived(
            degraded.content,
            FORMATS[degraded.format],
            _EXTENSIONS[degraded.format],
            *size,
            *facts.natural_size,
            degraded.score,
            _reason(degraded, size, facts, len(self.content)),
        )


def _reason(made: Degraded, size: tuple[int, int], facts: ImageFacts, before: int) -> str:
    pixels = "{}x{} of {}x{} pixels".format(*size, *facts.natural_size)
    coding = "lossless" if made.quality is None else f"quality {made.quality}"
    score = "" if made.score is None else f", score {made.score:.3f}"
    return f"{pixels}, {made.format} {coding}{score}: {len(made.content):,} of {before:,} bytes"


def _unfit(content: bytes, facts: ImageFacts) -> Refusal | None:
    """Return why a copy would not look like the original, or not pay."""
    if facts.media_type not in _TYPES:
        return left(f"{facts.media_type} is not made smaller")
    if len(content) < _SMALLEST or min(facts.natural_size) < _NARROWEST:
        return left("it is too small to gain by a smaller copy")
    if facts.media_type == media.PNG:
        return None if facts.has_icc or _is_nearly_srgb(content) else left("its colours are not those of sRGB")
    return _unfit_jpeg(content, facts) if facts.media_type == media.JPEG else None


def _unfit_jpeg(content: bytes, facts: ImageFacts) -> Refusal | None:
    exif = jpeg.exif(content)
    if exif is not None and read_exif(exif.content).density:
        return left("its metadata gives it another natural size")
    is_plain = facts.mode != "cmyk" and not jpeg.holds_second_image(content)
    return jpeg_refusal(content) if is_plain else None


def _is_nearly_srgb(content: bytes) -> bool:
    """Whether gamma and primaries are those of sRGB but for rounding; primaries alone say nothing to browsers."""
    chunks = {chunk.name: chunk.content for chunk in png.colour_chunks(content)}
    if b"cICP" in chunks or b"sRGB" in chunks or b"gAMA" not in chunks:
        return b"cICP" not in chunks
    primaries = chunks.get(b"cHRM", png.SRGB_PRIMARIES)
    return _near(chunks[b"gAMA"], png.SRGB_GAMMA) and _near(primaries, png.SRGB_PRIMARIES)


def _near(numbers: bytes, others: bytes) -> bool:
    """Whether numbers of 32 bits differ by 2 % at most."""
    pairs = zip(_numbers(numbers), _numbers(others), strict=False)
    return len(numbers) == len(others) and all(abs(one - other) <= other / 50 for one, other in pairs)


def _numbers(content: bytes) -> list[int]:
    return [int.from_bytes(content[at : at + 4], "big") for at in range(0, len(content), 4)]


# Goes up whenever a copier makes other bytes of the same image
COPIERS_VERSION = 2

# The functions that make smaller copies, by the names that passes use
COPIERS: Mapping[str, Callable[..., Derived | Refusal]] = {"half": halve, "hard": recompress_hard}
