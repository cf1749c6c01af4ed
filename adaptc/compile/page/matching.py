"""Which of the images that a page shows stands for an image of the original, and how like it that is.

Nothing that a pass reports is believed here: images are compared by their pixels, so that every level is measured in
the same way, whatever made it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from adaptc.core.digest import digest_bytes

_THUMBNAIL = 16  # pixels a side
# The mean difference of the samples of two thumbnails up to which they may show the same, of 255
_NEAR = 24
# How much the ratio of the sides may differ: a copy has whole pixels
_RATIO = 0.15
# Images that are remembered
_MOST = 1024


@dataclass(frozen=True)
class Picture:
    """An image: its bytes, and their digest."""

    content: bytes
    digest: str

    @classmethod
    def of(cls, content: bytes) -> Picture:
        """Return the image of a file."""
        return cls(content, digest_bytes(content))

    @cached_property
    def thumbnail(self) -> tuple[float, bytes] | None:
        """The ratio of its sides and a few of its pixels over gray, ``None`` where it cannot be drawn."""
        from adaptc.formats.image.vips import decode_upright, resize_to_srgb, vips

        try:
            image = decode_upright(self.content)
            small = resize_to_srgb(image, (_THUMBNAIL, _THUMBNAIL))
            flat = small.flatten(background=[128, 128, 128]) if small.hasalpha() else small
            return image.width / image.height, bytes(flat.cast("uchar").write_to_memory())
        except vips().Error:
            return None


@dataclass(slots=True)
class Matcher:
    """Compares images, each pair once."""

    _pictures: dict[str, Picture] = field(default_factory=dict)
    _known: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def picture(self, content: bytes) -> Picture:
        """Return the image of a file, with what is known of it already."""
        picture = Picture.of(content)
        if len(self._pictures) >= _MOST:
            self._pictures.clear()
            self._known.clear()
        return self._pictures.setdefault(picture.digest, picture)

    def likeness(self, original: Picture, shown: Iterable[Picture], width: int) -> float:
        """Return the likeness of the image of ``shown`` that is most like ``original``, 0 where none is it.

        ``width`` is that of its box in CSS pixels.
        """
        pictures = {picture.digest: picture for picture in shown}
        if original.digest in pictures:
            return 1.0
        near = [picture for picture in pictures.values() if _is_near(original, picture)]
        return max((self._compare(original, picture, width) for picture in near), default=0.0)

    def _compare(self, original: Picture, picture: Picture, width: int) -> float:
        from adaptc.formats.image.likeness import likeness

        key = (original.digest, picture.digest, width)
        if key not in self._known:
            self._known[key] = likeness(original.content, picture.content, width)
        return self._known[key]


def _is_near(original: Picture, picture: Picture) -> bool:
    first, second = original.thumbnail, picture.thumbnail
    if first is None or second is None or abs(first[0] - second[0]) > _RATIO * first[0]:
        return False
    if len(first[1]) != len(second[1]):
        return False
    return sum(abs(a - b) for a, b in zip(first[1], second[1], strict=True)) <= _NEAR * len(first[1])
