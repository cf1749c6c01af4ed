"""What an image is, from its header alone: no pixel is decoded before its size is known to be bearable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from adaptc.core import media
from adaptc.formats.image import png
from adaptc.formats.image.exif import read_exif
from adaptc.formats.image.pillow import BROKEN, open_image
from adaptc.formats.image.refusal import Refusal, broken

if TYPE_CHECKING:
    from PIL import Image

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
    """What a header says. Width and height are in stored pixels, before the orientation (EXIF, 1-8)."""

    media_type: str
    width: int
    height: int
    frames: int
    mode: Mode
    has_alpha: bool
    orientation: int
    has_icc: bool

    @property
    def animated(self) -> bool:
        """Whether there is more than one frame to show."""
        return self.frames > 1

    @property
    def natural_size(self) -> tuple[int, int]:
        """Width and height as shown: orientations 5 to 8 exchange them."""
        return (self.height, self.width) if self.orientation > 4 else (self.width, self.height)


def probe(content: bytes, limit_pixels: int = LIMIT_PIXELS) -> ImageFacts | Refusal:
    """Return the facts of an image's header, or why it is refused: ``image-broken`` or ``image-bomb``."""
    try:
        with open_image(content) as image:
            return _facts(image, content, limit_pixels)
    except BROKEN as error:
        return broken(media.by_content(content[: media.SNIFF_BYTES]) or "unknown", _problem(error))


def _facts(image: Image.Image, content: bytes, limit_pixels: int) -> ImageFacts | Refusal:
    pixels = image.width * image.height
    if pixels > limit_pixels:
        return Refusal("image-bomb", (("pixels", pixels), ("limit", limit_pixels)))
    media_type = _MEDIA_TYPES[image.format or ""]
    return ImageFacts(
        media_type=media_type,
        width=image.width,
        height=image.height,
        frames=1 if media_type in (media.JPEG, media.ICO) else int(getattr(image, "n_frames", 1)),
        mode=_mode(image, content),
        has_alpha=image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info,
        orientation=read_exif(image.info.get("exif", b"")).orientation,
        has_icc=bool(image.info.get("icc_profile")),
    )


def _mode(image: Image.Image, content: bytes) -> Mode:
    described = png.header(content)
    if image.mode.startswith("I") or (described is not None and described.depth == 16):
        return "16bit"
    return _MODES.get(image.mode, "rgb")


def _problem(error: BaseException) -> str:
    from PIL import UnidentifiedImageError

    return "its header is unknown or damaged" if isinstance(error, UnidentifiedImageError) else str(error)
