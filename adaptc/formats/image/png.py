"""PNG (Portable Network Graphics, third edition): chunks (section 5) and colours."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import takewhile

from adaptc.core.values import dataclass

SIGNATURE = b"\x89PNG\r\n\x1a\n"
PALETTE = 3

# Chunks that change the colours or the size that a browser shows (sections 11.3.2 and 11.3.4; eXIf turns the
# image). sBIT, bKGD, hIST, sPLT and pHYs are read by no browser; tRNS belongs to the pixels.
COLOUR_CHUNKS = ("cICP", "iCCP", "sRGB", "gAMA", "cHRM", "mDCV", "cLLI", "eXIf")
_COLOUR_NAMES = frozenset(name.encode() for name in COLOUR_CHUNKS)

# gAMA and cHRM (in 100,000ths) that say no more than sRGB does (table 17 of the specification).
SRGB_GAMMA = (45455).to_bytes(4, "big")
SRGB_PRIMARIES = b"".join(n.to_bytes(4, "big") for n in (31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000))


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk: its four-letter name and its content, without length and CRC."""

    name: bytes
    content: bytes

    def encoded(self) -> bytes:
        """Return the chunk as bytes, with length and CRC."""
        named = self.name + self.content
        return len(self.content).to_bytes(4, "big") + named + zlib.crc32(named).to_bytes(4, "big")


@dataclass(frozen=True, slots=True)
class Header:
    """IHDR: size in pixels, bits a sample (1, 2, 4, 8, 16), colour type (0, 2, 3, 4, 6), interlacing."""

    width: int
    height: int
    depth: int
    colour_type: int
    is_interlaced: bool

    @property
    def raw_size(self) -> int:
        """Bytes of all samples without compression."""
        return self.width * self.height * self.depth * _SAMPLES.get(self.colour_type, 1) // 8


# Samples a pixel by colour type (PNG, 11.2.1)
_SAMPLES = {0: 1, 2: 3, PALETTE: 1, 4: 2, 6: 4}


def chunks(content: bytes) -> Iterator[Chunk]:
    """Yield the chunks up to IEND or to the place where the file breaks off. CRCs are for the decoder to check."""
    position = len(SIGNATURE)
    while position + 12 <= len(content):
        length = int.from_bytes(content[position : position + 4], "big")
        name = content[position + 4 : position + 8]
        end = position + 8 + length
        if end + 4 > len(content):
            return
        yield Chunk(name, content[position + 8 : end])
        if name == b"IEND":
            return
        position = end + 4


def read_header(content: bytes) -> Header | None:
    """Return IHDR, or ``None`` if the file does not start with one."""
    first = next(chunks(content), None) if content.startswith(SIGNATURE) else None
    if first is None or first.name != b"IHDR" or len(first.content) != 13:
        return None
    width, height = int.from_bytes(first.content[:4], "big"), int.from_bytes(first.content[4:8], "big")
    return Header(width, height, first.content[8], first.content[9], first.content[12] != 0)


def chunk_names(content: bytes) -> frozenset[bytes]:
    """Return the names of all chunks."""
    return frozenset(chunk.name for chunk in chunks(content))


def colour_chunks(content: bytes) -> tuple[Chunk, ...]:
    """Return the chunks that change what a browser shows, in their order: those in front of the pixels (5.6)."""
    before = takewhile(lambda chunk: chunk.name != b"IDAT", chunks(content))
    return tuple(chunk for chunk in before if chunk.name in _COLOUR_NAMES)


def insert_after_header(content: bytes, inserted: Iterable[Chunk]) -> bytes:
    """Return ``content`` with chunks after IHDR, the place of all chunks that describe colours (5.6)."""
    at = len(SIGNATURE) + 25  # IHDR is 13 bytes and, as every chunk, length, name and CRC
    return content[:at] + b"".join(chunk.encoded() for chunk in inserted) + content[at:]


def is_plain_srgb(content: bytes) -> bool:
    """Whether the colours are sRGB, so that they stay the same without any colour chunk (EXIF aside)."""
    for chunk in colour_chunks(content):
        plain = {b"sRGB": chunk.content, b"gAMA": SRGB_GAMMA, b"cHRM": SRGB_PRIMARIES, b"eXIf": chunk.content}
        if plain.get(chunk.name) != chunk.content:
            return False
    return True


# Those that a profile may be for, and what decoders and browsers alike take for none; too short a profile is none, too
_SPACES = (b"RGB ", b"GRAY", b"CMYK", b"")


def embedded_profile(content: bytes) -> bytes | None:
    """Return the ICC profile of a PNG (11.3.2.3), ``None`` without one that can be read."""
    chunk = next((each for each in colour_chunks(content) if each.name == b"iCCP"), None)
    if chunk is None or not content.startswith(SIGNATURE):
        return None
    _name, _, compressed = chunk.content.partition(b"\0")
    try:
        return zlib.decompress(compressed[1:])
    except zlib.error:
        return None


def converts_to_srgb(content: bytes) -> bool:
    """Whether a decoder turns the colours into the sRGB that browsers show, as far as the chunks go.

    They hold a profile, or nothing, or gamma and primaries that are those of sRGB but for rounding. ``cICP`` goes
    before all of them, also before a profile (table 9); browsers ignore primaries without a gamma. A profile for Lab or
    XYZ, which no decoder takes, changes what Chromium shows.
    """
    described = {chunk.name: chunk.content for chunk in colour_chunks(content)}
    profile = embedded_profile(content)
    if b"cICP" in described or (profile is not None and profile[16:20] not in _SPACES):
        return False
    if not {b"iCCP", b"sRGB"}.isdisjoint(described) or b"gAMA" not in described:
        return True
    primaries = described.get(b"cHRM", SRGB_PRIMARIES)
    return _are_close(described[b"gAMA"], SRGB_GAMMA, 0.02) and _are_close(primaries, SRGB_PRIMARIES, 0.005)


def _are_close(numbers: bytes, expected: bytes, share: float) -> bool:
    """Whether numbers of 32 bits differ by ``share`` at most: Chromium passes over 2 % of a gamma."""
    pairs = zip(_numbers(numbers), _numbers(expected), strict=False)
    return len(numbers) == len(expected) and all(abs(number - wanted) <= wanted * share for number, wanted in pairs)


def _numbers(content: bytes) -> list[int]:
    return [int.from_bytes(content[start : start + 4], "big") for start in range(0, len(content), 4)]
