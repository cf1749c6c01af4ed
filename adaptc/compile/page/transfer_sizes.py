"""The sizes of files and texts as they are transferred: compressed, close enough to compare."""

from __future__ import annotations

from functools import lru_cache

import deflate

from adaptc.compile.view import View
from adaptc.core import media
from adaptc.core.model import CODINGS
from adaptc.formats.codings import encode

# libdeflate's middle level: sizes are compared, not sent
_LEVEL = 6


def transfer_size(path: str, view: View) -> int:
    """Return the bytes that an asset at this level takes to transfer."""
    content = view.artifact(path)
    return _compressed_file_size(content) if media.is_compressible(view.media_type(path)) else len(content)


def client_sizes(path: str, view: View) -> tuple[int, ...]:
    """Return the bytes that an asset at this level takes as it is and in each content coding (``compressed_sizes``)."""
    content = view.artifact(path)
    is_text = media.is_compressible(view.media_type(path))
    return _compressed_file_sizes(content) if is_text else (len(content),) * (1 + len(CODINGS))


def compressed_sizes(content: bytes) -> tuple[int, ...]:
    """Return the sizes of text as it is and in each content coding, by fast settings: close enough to compare."""
    return (len(content), *(len(encode(content, coding, "fast")) for coding in CODINGS))


def compressed_size(content: bytes) -> int:
    """Return the size of text as a server sends it, close enough to compare."""
    return len(deflate.zlib_compress(content, _LEVEL))


# A file's bytes are the same object in all pages of a batch
_compressed_file_size = lru_cache(maxsize=256)(compressed_size)


_compressed_file_sizes = lru_cache(maxsize=256)(compressed_sizes)
