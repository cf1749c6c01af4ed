"""Headers of images: what an image is, without decoding it, so that its size is known and limited before that.

An image that is broken or too large, or had better stay as it is, gives a ``Refusal``.

Pillow reads headers and EXIF. It is imported when first used, and limited to the formats of the web.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import struct
import zlib
from typing import TYPE_CHECKING, Literal

from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.shortage import Shortage, raise_shortage
from adaptc.core.values import dataclass
from adaptc.formats.image import jpeg, png

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an image stays as it is: a kind of ``diagnostics.KINDS`` and the fields of its message."""

    kind: str
    fields: tuple[tuple[str, str | int], ...]

    def diagnostic(self, path: str) -> Diagnostic:
        """Return the diagnostic for the file ``path``."""
        return diagnose(self.kind, Location(path), **dict(self.fields))

    @property
    def reason(self) -> str:
        """The message without a location."""
        return diagnose(self.kind, None, **dict(self.fields)).message


def broken(media_type: str, problem: object) -> Refusal:
    """Return the refusal of an image that cannot be read. Raises ``Shortage`` if memory was short."""
    if isinstance(problem, Exception):
        raise_shortage(problem)
    first_line = (str(problem).strip() or "no reason given").splitlines()[0]
    return Refusal("image-broken", (("media_type", media_type), ("problem", first_line)))


def unchanged(reason: str) -> Refusal:
    """Return the refusal of an image that can be read but had better stay as it is."""
    return Refusal("image-unchanged", (("reason", reason),))


# What Pillow raises on broken input. A bug of ours would be another type (TypeError, KeyError,
# AttributeError).
BROKEN = (OSError, SyntaxError, ValueError, EOFError, OverflowError, IndexError, struct.error, zlib.error)

# Content of a site never reaches other plugins of Pillow (EPS, which calls Ghostscript, PSD, FLI, ...).
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "ICO", "BMP", "TIFF")
# The plugins that do without their decoder where it cannot be loaded
_DECODERS = (("WebPImagePlugin", "_webp"), ("AvifImagePlugin", "_avif"))


def open_image(content: bytes) -> Image.Image:
    """Open an image by its header, without decoding pixels. Raises one of ``BROKEN``.

    Pillow's own limit on pixels is switched off, since global state makes it a warning or an error; ``probe`` compares
    the size in the header with the limit of the configuration instead.
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None
    try:
        return Image.open(io.BytesIO(content), formats=_FORMATS)
    except UnidentifiedImageError:
        _require_decoders()
        raise


def _require_decoders() -> None:
    """Raise ``ImportError`` or ``Shortage`` if a decoder that is installed is not loaded.

    Pillow does without it, and takes its images for unknown.
    """
    for plugin, decoder in _DECODERS:
        if not importlib.import_module(f"PIL.{plugin}").SUPPORTED:
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"PIL.{decoder}")
                raise Shortage(f"Pillow's decoder {decoder} was not loaded")


_ORIENTATION, _X_RESOLUTION, _Y_RESOLUTION, _UNIT = 0x0112, 0x011A, 0x011B, 0x0128
_EXIF_IFD, _PIXEL_X, _PIXEL_Y = 0x8769, 0xA002, 0xA003
_INCHES = 2
_SHORT = 3  # the type of a number of 16 bits (TIFF 6.0, section 2)


@dataclass(frozen=True, slots=True)
class Exif:
    """The part of EXIF that a browser shows.

    ``orientation`` is 1 to 8 (CIPA DC-008, 4.6.4 A). With ``has_density`` the natural size in CSS pixels may differ
    from the size in stored pixels (HTML, "density-corrected natural width and height").
    """

    orientation: int = 1
    has_density: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether dropping the metadata would change the picture or its size."""
        return self.orientation != 1 or self.has_density


def read_exif(content: bytes, size: tuple[int, int] | None = None) -> Exif:
    """Read EXIF from its bytes (with or without ``Exif`` in front); broken EXIF counts as shown.

    ``size`` is that of the image in stored pixels. Where it is not known, any resolution may be a density.
    """
    from PIL import Image

    if not content:
        return Exif()
    tags = Image.Exif()
    try:
        tags.load(content)
        inner = tags.get_ifd(_EXIF_IFD)
        orientation = tags.get(_ORIENTATION, 1)
    except BROKEN as error:
        raise_shortage(error)
        return Exif(has_density=True)  # a browser may read what Pillow cannot
    stated = (inner.get(_PIXEL_X), inner.get(_PIXEL_Y))
    has_density = tags.get(_UNIT) == _INCHES and None not in stated and _is_dense(tags, stated, size)
    return Exif(orientation if orientation in range(1, 9) else 1, has_density)


def read_orientation(content: bytes) -> int:
    """Return how browsers turn an image, 1 to 8 (CIPA DC-008, 4.6.4 A); 1 is upright. Raises one of ``BROKEN``.

    As Chromium does: a JPEG by its first EXIF, a PNG by the ``eXIf`` in front of its pixels, AVIF by its boxes ``irot``
    and ``imir``, whatever its EXIF says; WebP and other types never.
    """
    if content.startswith(png.SIGNATURE):
        return _orientation_of(next((each.content for each in png.colour_chunks(content) if each.name == b"eXIf"), b""))
    if content.startswith(b"\xff\xd8"):
        segment = jpeg.exif_segment(content)
        return 1 if segment is None else _orientation_of(segment.content[6:])
    if media.by_content(content[: media.SNIFF_BYTES]) != media.AVIF:
        return 1
    with open_image(content) as image:  # Pillow tells of the boxes as if they were EXIF
        return read_exif(image.info.get("exif", b"")).orientation


def _orientation_of(tiff: bytes) -> int:
    """Return the orientation of EXIF, which counts as one number of 16 bits only, as the specification asks."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None or len(tiff) < 8:
        return 1
    start = struct.unpack_from(f"{order}I", tiff, 4)[0]
    count = struct.unpack_from(f"{order}H", tiff, start)[0] if start + 2 <= len(tiff) else 0
    for at in range(start + 2, min(start + 2 + 12 * count, len(tiff) - 11), 12):
        tag, kind, length, value = struct.unpack_from(f"{order}HHIH", tiff, at)
        if (tag, kind, length) == (_ORIENTATION, _SHORT, 1):
            return value if value in range(1, 9) else 1
    return 1


def orientation_exif(orientation: int) -> bytes:
    """Return EXIF by which browsers turn an image, without ``Exif`` in front."""
    return b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, _ORIENTATION, _SHORT, 1, orientation, 0, 0)


def _is_dense(tags: object, stated: tuple[object, object], size: tuple[int, int] | None) -> bool:
    """Whether the resolution differs from 72 dots an inch, and the ``stated`` size may be what follows from that.

    Photographs for print state their stored pixels and 300 dots an inch, say, which corrects nothing (HTML,
    "density-corrected natural width and height").
    """
    resolutions = [tags.get(tag) for tag in (_X_RESOLUTION, _Y_RESOLUTION)]  # type: ignore[attr-defined]
    if not all(resolutions) or all(resolution == 72 for resolution in resolutions):
        return False
    if size is None:
        return True
    follows = [side * 72 / float(resolution) for side, resolution in zip(size, resolutions, strict=True)]
    return stated != size and all(
        isinstance(number, int) and abs(number - side) <= 1 for number, side in zip(stated, follows, strict=True)
    )


def density_exif(size: tuple[int, int], natural: tuple[int, int]) -> bytes:
    """Return EXIF by which browsers show an image of ``size`` pixels at its ``natural`` size in CSS pixels.

    The resolution is that of the pixels where 72 dots an inch are the natural size (HTML, "density-corrected natural
    width and height").
    """
    from PIL import Image
    from PIL.TiffImagePlugin import IFDRational

    tags = Image.Exif()
    for tag, stored, shown in zip((_X_RESOLUTION, _Y_RESOLUTION), size, natural, strict=True):
        tags[tag] = IFDRational(72 * stored, shown)
    tags[_UNIT] = _INCHES
    tags.get_ifd(_EXIF_IFD).update({_PIXEL_X: natural[0], _PIXEL_Y: natural[1]})
    return tags.tobytes()


LIMIT_PIXELS = 100_000_000  # 400 MB decoded; the largest of 4,000 real images has 11 million pixels

Mode = Literal["gray", "rgb", "palette", "cmyk", "16bit"]

_MEDIA_TYPES = {
    "PNG": media.PNG,
    "JPEG": media.JPEG,
    "MPO": media.JPEG,  # JPEG with a multi-picture index
    "GIF": media.GIF,
    "WEBP": media.WEBP,
    "AVIF": media.AVIF,
    "ICO": media.ICO,
    "BMP": "image/bmp",
    "TIFF": "image/tiff",
}
_MODES: dict[str, Mode] = {
    "1": "gray",
    "L": "gray",
    "LA": "gray",
    "P": "palette",
    "PA": "palette",
    "CMYK": "cmyk",
}


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """The header of an image. Width and height are in stored pixels, before ``orientation`` is applied."""

    media_type: str
    width: int
    height: int
    frames: int
    mode: Mode
    has_alpha: bool
    orientation: int
    has_icc: bool

    @property
    def is_animated(self) -> bool:
        """Whether there is more than one frame."""
        return self.frames > 1

    @property
    def natural_size(self) -> tuple[int, int]:
        """Width and height as shown: orientations 5 to 8 swap them."""
        return (self.height, self.width) if self.orientation > 4 else (self.width, self.height)


def probe(content: bytes, limit_pixels: int = LIMIT_PIXELS) -> ImageFacts | Refusal:
    """Return the facts of an image's header, or a refusal: ``image-broken`` or ``image-bomb``."""
    try:
        with open_image(content) as image:
            return _read_facts(image, content, limit_pixels)
    except BROKEN as error:
        raise_shortage(error)
        return broken(media.by_content(content[: media.SNIFF_BYTES]) or "unknown", _describe(error))


def _read_facts(image: Image.Image, content: bytes, limit_pixels: int) -> ImageFacts | Refusal:
    pixels = image.width * image.height
    if pixels > limit_pixels:
        return Refusal("image-bomb", (("pixels", pixels), ("limit", limit_pixels)))
    media_type = _MEDIA_TYPES[image.format or ""]
    return ImageFacts(
        media_type=media_type,
        width=image.width,
        height=image.height,
        frames=1 if media_type in (media.JPEG, media.ICO) else int(getattr(image, "n_frames", 1)),
        mode=_mode_of(image, content),
        has_alpha=image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info,
        orientation=read_orientation(content),
        has_icc=bool(image.info.get("icc_profile")),
    )


def _mode_of(image: Image.Image, content: bytes) -> Mode:
    header = png.read_header(content)
    if image.mode.startswith("I") or (header is not None and header.depth == 16):
        return "16bit"
    return _MODES.get(image.mode, "rgb")


def _describe(error: BaseException) -> str:
    from PIL import UnidentifiedImageError

    return "its header is unknown or damaged" if isinstance(error, UnidentifiedImageError) else str(error)
