"""JPEG marker segments (ITU-T T.81, annex B): what is read without decoding coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from adaptc.core.values import dataclass

SOI, EOI, SOS = 0xD8, 0xD9, 0xDA
APP0, APP1, APP2, APP14, APP15, COM = 0xE0, 0xE1, 0xE2, 0xEE, 0xEF, 0xFE
# Baseline, extended sequential and progressive with Huffman coding: what browsers decode (T.81, table B.1).
_PROGRESSIVE = 0xC2
_HUFFMAN_FRAMES = frozenset({0xC0, 0xC1, _PROGRESSIVE})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}

_JFIF, _EXIF, _ICC, _MPF = b"JFIF\x00", b"Exif\x00\x00", b"ICC_PROFILE\x00", b"MPF\x00"


@dataclass(frozen=True, slots=True)
class Segment:
    """A marker segment before the first scan: the marker's second byte and the content without the length."""

    marker: int
    content: bytes

    def encoded(self) -> bytes:
        """Return the segment as bytes, with marker and length."""
        return bytes((0xFF, self.marker)) + (len(self.content) + 2).to_bytes(2, "big") + self.content

    @property
    def is_metadata(self) -> bool:
        """Whether decoders return the same samples without it: comments and APPn, but not JFIF and Adobe's."""
        if self.marker == APP0:
            return not self.content.startswith(_JFIF)
        return self.marker == COM or (APP1 <= self.marker <= APP15 and self.marker != APP14)

    @property
    def is_icc(self) -> bool:
        """Whether it holds a part of the ICC profile (ICC.1, B.4)."""
        return self.marker == APP2 and self.content.startswith(_ICC)


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame header: Huffman coding, progressive mode, bits a sample, number of components."""

    is_huffman: bool
    is_progressive: bool
    precision: int
    components: int


def segments(content: bytes) -> Iterator[Segment]:
    """Yield the segments from SOI to the first scan, or to the place where the file breaks off."""
    return (segment for segment, _ in _segments_and_ends(content))


def _segments_and_ends(content: bytes) -> Iterator[tuple[Segment, int]]:
    """Yield each segment with the offset of its end."""
    position = 2
    while position + 4 <= len(content) and content[position] == 0xFF:
        marker = content[position + 1]
        if marker == 0xFF:  # fill byte (B.1.1.2)
            position += 1
            continue
        length = int.from_bytes(content[position + 2 : position + 4], "big")
        if marker in (SOS, EOI) or length < 2 or position + 2 + length > len(content):
            return
        end = position + 2 + length
        yield Segment(marker, content[position + 4 : end]), end
        position = end


def read_frame(content: bytes) -> Frame | None:
    """Return the frame header, or ``None`` if there is none before the first scan."""
    for segment in segments(content):
        if segment.marker in _FRAMES and len(segment.content) >= 6:
            marker = segment.marker
            return Frame(marker in _HUFFMAN_FRAMES, marker == _PROGRESSIVE, segment.content[0], segment.content[5])
    return None


def exif_segment(content: bytes) -> Segment | None:
    """Return the first EXIF segment."""
    return next((s for s in segments(content) if s.marker == APP1 and s.content.startswith(_EXIF)), None)


def icc_profile(content: bytes) -> bytes:
    """Return the parts of the ICC profile (ICC.1, B.4), joined as they are stored; empty if there is none."""
    return b"".join(segment.content for segment in segments(content) if segment.is_icc)


def without_metadata(content: bytes, keeps: Callable[[Segment], bool] = lambda _: False) -> bytes:
    """Return ``content`` without its metadata before the first scan, except segments that ``keeps`` accepts.

    Two files that are equal without all metadata decode to the same samples.
    """
    pairs = list(_segments_and_ends(content))
    end = pairs[-1][1] if pairs else 2
    parts = (segment.encoded() for segment, _ in pairs if not segment.is_metadata or keeps(segment))
    return content[:2] + b"".join(parts) + content[end:]


def holds_second_image(content: bytes) -> bool:
    """Whether there is a multi-picture index (CIPA DC-007): of a gain map, a stereo pair or a large preview.

    The index holds offsets into the file, and a browser may show the second image (HDR gain maps do).
    """
    return any(s.marker == APP2 and s.content.startswith(_MPF) for s in segments(content))


def insert_after_start(content: bytes, segment: Segment) -> bytes:
    """Return ``content`` with ``segment`` after SOI and, if there is one, the JFIF header."""
    first = next(segments(content), None)
    at = 2 + (len(first.encoded()) if first is not None and first.marker == APP0 else 0)
    return content[:at] + segment.encoded() + content[at:]


def frame_shape(content: bytes) -> tuple[int, int] | None:
    """Return bits a sample and number of components."""
    frame = read_frame(content)
    return None if frame is None else (frame.precision, frame.components)
