"""EXIF as far as browsers show it: orientation and the density-corrected natural size."""

from __future__ import annotations

from dataclasses import dataclass

from adaptc.formats.image.pillow import BROKEN

_ORIENTATION, _X_RESOLUTION, _Y_RESOLUTION, _UNIT = 0x0112, 0x011A, 0x011B, 0x0128
_EXIF_IFD, _PIXEL_X, _PIXEL_Y = 0x8769, 0xA002, 0xA003
_INCHES = 2


@dataclass(frozen=True, slots=True)
class Exif:
    """What of EXIF a browser shows.

    ``orientation`` is 1 to 8 (CIPA DC-008, 4.6.4 A); ``density`` is true if the natural size in CSS pixels
    may differ from the pixels stored (HTML, "density-corrected natural width and height").
    """

    orientation: int = 1
    density: bool = False

    @property
    def shown(self) -> bool:
        """Whether dropping the metadata would change the picture or its size."""
        return self.orientation != 1 or self.density


def read_exif(content: bytes) -> Exif:
    """Read EXIF from its bytes (with or without ``Exif`` in front); broken EXIF counts as shown."""
    from PIL import Image

    if not content:
        return Exif()
    tags = Image.Exif()
    try:
        tags.load(content)
        inner = tags.get_ifd(_EXIF_IFD)
        orientation = tags.get(_ORIENTATION, 1)
    except BROKEN:
        return Exif(density=True)  # unsure: a browser may read what we cannot
    density = tags.get(_UNIT) == _INCHES and _PIXEL_X in inner and _PIXEL_Y in inner and _is_dense(tags)
    return Exif(orientation if orientation in range(1, 9) else 1, density)


def _is_dense(tags: object) -> bool:
    """Whether the resolution differs from 72 dots an inch, the one that corrects nothing."""
    resolutions = [tags.get(tag) for tag in (_X_RESOLUTION, _Y_RESOLUTION)]  # type: ignore[attr-defined]
    return all(resolutions) and any(resolution != 72 for resolution in resolutions)
