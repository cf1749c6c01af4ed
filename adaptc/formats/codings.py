"""HTTP content codings (RFC 9110 section 8.4): gzip (RFC 1952), br (RFC 7932), zstd (RFC 8878).

A coding has its name in ``model.REPRESENTATIONS``: ``gz``, ``br``, ``zst``. The same content, coding and effort give
the same bytes on every machine at any time: no time stamp, no file name, and "unknown" as gzip's operating system.

The settings of each effort, measured on 96 HTML and CSS files of eight documentation sites and templates (2.6 MB in
all, one x86-64 core; the share is that of the size with ``gzip -9``):

======  =======  =================  ======  ========
coding  effort   setting            share   MB/s
======  =======  =================  ======  ========
gz      fast     libdeflate 8       98.9 %  90
gz      default  libdeflate 12      95.4 %  4.7
gz      max      zopfli 15 rounds   93.9 %  0.15
br      fast     brotli 6           88.3 %  76
br      default  brotli 10          78.4 %  3.4
br      max      brotli 11          76.5 %  1.1
zst     fast     zstd 9             95.8 %  80
zst     default  zstd 19            91.2 %  3.8
zst     max      zstd 22            91.2 %  2.5
======  =======  =================  ======  ========

Not chosen: brotli 9 (8 MB/s for 1 % less than brotli 6), libdeflate 10 (12 MB/s), zopfli with 5 rounds (0.2
MB/s, as slow as 15). All codecs release the GIL, so threads scale.

Large content gets a faster setting, so that a file of many megabytes does not delay a build: see ``CEILINGS``.
"""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from adaptc.core.libraries import identify
from adaptc.core.model import CODINGS, Effort
from adaptc.core.shortage import Shortage
from adaptc.core.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import zstandard


RECIPE = "codings/1"
"""The version of the settings in this file; raise it whenever a setting changes bytes."""

# The distributions of the encoders
_LIBRARIES = {"libdeflate": "deflate", "zopfli": "zopfli", "brotli": "Brotli", "zstd": "zstandard"}
LIBRARIES = frozenset(_LIBRARIES.values())

MIB = 1 << 20

# RFC 9659: a zstd decoder for the web need not accept a window above 8 MB.
_ZSTD_WINDOW_LOG = 23

# A representation costs a file, a cache entry and a header line: it must save more than that.
_LEAST_SAVED_BYTES = 16
_LEAST_SAVED_PER_CENT = 1

# The largest contents whose encodings are remembered, in bytes: of many small ones, and of two large ones
_SMALL, _LARGE = MIB // 2, 4 * MIB
# Bytes passed to the zstd decoder at a time. Four bytes can expand to a block of 128 KiB (RFC 8878, section 3.1.1.2.2,
# RLE_Block), so that a piece expands to 8 MiB at most.
_ZSTD_PIECE = 256


class CodingError(ValueError):
    """The content is not in its coding: broken, cut off, followed by garbage, or larger than the limit when decoded."""


class TooLarge(CodingError):
    """The content is larger than the limit when decoded."""


@dataclass(frozen=True, slots=True)
class Setting:
    """An encoder and its level (zopfli: rounds)."""

    encoder: Literal["libdeflate", "zopfli", "brotli", "zstd"]
    level: int


SETTINGS: dict[tuple[str, Effort], Setting] = {
    ("gz", "fast"): Setting("libdeflate", 8),
    ("gz", "default"): Setting("libdeflate", 12),
    ("gz", "max"): Setting("zopfli", 15),
    ("br", "fast"): Setting("brotli", 6),
    ("br", "default"): Setting("brotli", 10),
    ("br", "max"): Setting("brotli", 11),
    ("zst", "fast"): Setting("zstd", 9),
    ("zst", "default"): Setting("zstd", 19),
    ("zst", "max"): Setting("zstd", 22),
}

# The largest content, in bytes, that a setting is used for, and the setting for larger content. At the bounds encoding
# takes half a minute at the worst speeds measured (pages, table rows, long repetitions, base64, noise): zopfli 0.15
# MB/s, libdeflate 12 3 MB/s, brotli 11 0.7 and 10 1.7 MB/s, zstd 22 0.5 and 19 1.4 MB/s.
CEILINGS: dict[Setting, tuple[int, Setting]] = {
    Setting("zopfli", 15): (4 * MIB, Setting("libdeflate", 12)),
    Setting("libdeflate", 12): (64 * MIB, Setting("libdeflate", 8)),
    Setting("brotli", 11): (16 * MIB, Setting("brotli", 10)),
    Setting("brotli", 10): (32 * MIB, Setting("brotli", 6)),
    Setting("zstd", 22): (16 * MIB, Setting("zstd", 19)),
    Setting("zstd", 19): (32 * MIB, Setting("zstd", 9)),
}


def encode(content: bytes, coding: str, effort: Effort) -> bytes:
    """Return ``content`` in ``coding``; the result may be larger.

    Raises ``KeyError`` for an unknown coding or effort, and ``Shortage`` where memory is short.
    """
    setting = setting_for(coding, effort, len(content))
    if len(content) <= _SMALL:
        return _encode_small(content, setting)
    return (_encode_large if len(content) <= _LARGE else _encode)(content, setting)


def _encode(content: bytes, setting: Setting) -> bytes:
    return _ENCODERS[setting.encoder](content, setting.level)


# A page is encoded to learn its size before it is encoded to be sent, and at level full before it is a source
_encode_small = lru_cache(maxsize=32)(_encode)
_encode_large = lru_cache(maxsize=6)(_encode)  # a page and its source, in three codings


def encode_if_smaller(content: bytes, coding: str, effort: Effort) -> bytes | None:
    """Return ``content`` in ``coding``, or ``None`` unless that saves 16 bytes and one per cent at least."""
    if len(content) <= _LEAST_SAVED_BYTES:
        return None
    encoded = encode(content, coding, effort)
    least = max(_LEAST_SAVED_BYTES, len(content) * _LEAST_SAVED_PER_CENT / 100)
    return encoded if len(content) - len(encoded) >= least else None


def setting_for(coding: str, effort: Effort, size: int) -> Setting:
    """Return the setting for content of ``size`` bytes."""
    setting = SETTINGS[coding, effort]
    while setting in CEILINGS and size > CEILINGS[setting][0]:
        setting = CEILINGS[setting][1]
    return setting


def decode(content: bytes, coding: str, limit: int | None) -> bytes:
    """Return ``content`` without its ``coding``.

    ``limit`` is the largest result accepted, in bytes; memory never holds much more than that (8 MiB), so that a
    decompression bomb does no harm. Raises ``CodingError`` for content that is not exactly one stream of that coding,
    or a sequence of streams where the coding allows it (gzip members, zstd frames).
    """
    return _DECODERS[coding](content, limit)


def libraries(codings: Iterable[str], effort: Effort) -> frozenset[str]:
    """Return the distributions that encode content of any size in these codings."""
    return frozenset(_LIBRARIES[setting.encoder] for coding in codings for setting in _settings(coding, effort))


def _settings(coding: str, effort: Effort) -> Iterable[Setting]:
    """Yield the setting for small content, and those for larger."""
    setting: Setting | None = SETTINGS[coding, effort]
    while setting is not None:
        yield setting
        setting = CEILINGS[setting][1] if setting in CEILINGS else None


ESTIMATING = libraries(CODINGS, "fast")
"""The distributions that passes and the verification use, which compare sizes by the settings of effort ``fast``."""


@cache
def recipe(coding: str, effort: Effort) -> str:
    """Return what encoded bytes depend on apart from the content: ``RECIPE`` and the versions of libraries."""
    return f"{RECIPE} {identify(libraries((coding,), effort))}"


# Codecs are imported where they are used: other commands start faster without them.


def _libdeflate(content: bytes, level: int) -> bytes:
    import deflate

    return _unknown_system(bytes(deflate.gzip_compress(content, level)))


def _zopfli(content: bytes, rounds: int) -> bytes:
    import zopfli.zopfli

    return _unknown_system(zopfli.zopfli.compress(content, numiterations=rounds, gzip_mode=1))


def _unknown_system(member: bytes) -> bytes:
    """Set a gzip header's OS byte to 255, "unknown" (RFC 1952 section 2.3.1): zopfli writes 3."""
    return member[:9] + b"\xff" + member[10:]


def _brotli(content: bytes, level: int) -> bytes:
    import brotli

    try:
        return bytes(brotli.compress(content, quality=level))
    except brotli.error as error:  # any content can be encoded
        raise Shortage(f"not enough memory: {error}") from error


def _zstd(content: bytes, level: int) -> bytes:
    import zstandard

    try:
        return _zstd_compressor_for(content, level).compress(content)
    except zstandard.ZstdError as error:  # as for brotli
        raise Shortage(f"not enough memory: {error}") from error


def _zstd_compressor_for(content: bytes, level: int) -> zstandard.ZstdCompressor:
    import zstandard

    if len(content) <= MIB:  # a compressor keeps its memory; and no window is larger than its content
        return _zstd_compressor(level, threading.get_ident())
    usual = zstandard.ZstdCompressionParameters.from_level(level, source_size=len(content))
    window = min(usual.window_log, _ZSTD_WINDOW_LOG)
    bounded = zstandard.ZstdCompressionParameters.from_level(
        level, source_size=len(content), window_log=window, write_checksum=False
    )
    return zstandard.ZstdCompressor(compression_params=bounded)


@lru_cache(maxsize=4)
def _zstd_compressor(level: int, _thread: int) -> zstandard.ZstdCompressor:
    """Return a thread's compressor for a level: creating one takes a third of the time for a small page."""
    import zstandard

    return zstandard.ZstdCompressor(level, write_checksum=False)


def _gunzip(content: bytes, limit: int | None) -> bytes:
    import zlib

    decoded, rest = bytearray(), content
    while rest or not content:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            decoded += member.decompress(rest, 0 if limit is None else limit - len(decoded) + 1)
        except zlib.error as error:
            raise CodingError(str(error)) from error
        _check_limit(len(decoded), limit)
        if not member.eof:
            raise CodingError("the stream is cut off")
        rest = member.unused_data
    return bytes(decoded)


def _unbrotli(content: bytes, limit: int | None) -> bytes:
    import brotli

    decoder, decoded, rest = brotli.Decompressor(), bytearray(), content
    try:
        while not decoder.is_finished():
            piece = decoder.process(rest, output_buffer_limit=MIB)
            decoded += piece
            _check_limit(len(decoded), limit)
            if not piece and not rest:
                raise CodingError("the stream is cut off")
            rest = b""
    except brotli.error as error:
        raise CodingError(str(error)) from error
    return bytes(decoded)


def _unzstd(content: bytes, limit: int | None) -> bytes:
    import zstandard

    decoded, rest = bytearray(), content
    while rest or not content:
        decoder = zstandard.ZstdDecompressor(max_window_size=1 << _ZSTD_WINDOW_LOG).decompressobj()
        try:
            for start in range(0, len(rest), _ZSTD_PIECE):
                decoded += decoder.decompress(rest[start : start + _ZSTD_PIECE])
                _check_limit(len(decoded), limit)
                if decoder.eof:
                    break
        except zstandard.ZstdError as error:
            raise CodingError(str(error)) from error
        if not decoder.eof:
            raise CodingError("the stream is cut off")
        rest = decoder.unused_data + rest[start + _ZSTD_PIECE :]
    return bytes(decoded)


def _check_limit(size: int, limit: int | None) -> None:
    if limit is not None and size > limit:
        raise TooLarge(f"the decoded content is larger than {limit} bytes")


_ENCODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "libdeflate": _libdeflate,
    "zopfli": _zopfli,
    "brotli": _brotli,
    "zstd": _zstd,
}

_DECODERS: dict[str, Callable[[bytes, int | None], bytes]] = {
    "gz": _gunzip,
    "br": _unbrotli,
    "zst": _unzstd,
}
