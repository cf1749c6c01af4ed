"""Dictionary-compressed Zstandard, the content coding ``dcz`` (RFC 9842, section 5).

A body has 8 fixed bytes, the SHA-256 of the dictionary, and a Zstandard frame that was made with the dictionary as raw
content. There is no ``dcb`` here: no maintained Brotli package for Python takes a dictionary.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from adaptc.core.shortage import Shortage
from adaptc.formats.codings import MIB, SETTINGS, CodingError

if TYPE_CHECKING:
    import zstandard

    from adaptc.core.model import Effort

MAGIC = bytes.fromhex("5e2a4d1820000000")
_HEADER = len(MAGIC) + hashlib.sha256().digest_size

# RFC 9842, section 5: every decoder accepts a window of 8 MB. Dictionary and content fit into it together.
MOST_BYTES = 4 * MIB


def name_of(dictionary: bytes) -> str:
    """Return the SHA-256 of a dictionary in Base64 without padding, as requests name it (RFC 9842, section 2.2)."""
    return base64.b64encode(hashlib.sha256(dictionary).digest()).rstrip(b"=").decode("ascii")


def nameable(content: bytes) -> bytes:
    """Return ``content`` with a number at its end, the first that makes the name a file name: no slash, no plus sign.

    A server can then find the directory of a dictionary by the field of the request, without a table. One name in four
    is one.
    """
    return next(dictionary for number in count() if name_of(dictionary := b"%s\n%d" % (content, number)).isalnum())


class DictionaryCodec:
    """Encodes and decodes with one dictionary, at the levels that ``zst`` has for an effort.

    Not for several threads. Neither dictionary nor content may be larger than ``MOST_BYTES``.
    """

    def __init__(self, dictionary: bytes, effort: Effort) -> None:
        self.dictionary = dictionary
        self.level = SETTINGS["zst", effort].level
        self._head = MAGIC + hashlib.sha256(dictionary).digest()

    def encode(self, content: bytes) -> bytes:
        """Return ``content`` as a body; it may be larger. Raises ``Shortage`` where memory is short."""
        import zstandard

        try:
            return self._head + self._compressor.compress(content)
        except zstandard.ZstdError as error:  # any content can be encoded
            raise Shortage(f"not enough memory: {error}") from error

    def decode(self, body: bytes, limit: int) -> bytes:
        """Return the content of a body, of ``limit`` bytes at most. Raises ``CodingError``."""
        import zstandard

        if body[:_HEADER] != self._head:
            raise CodingError("the body names another dictionary")
        try:
            size = zstandard.frame_content_size(body[_HEADER:])
            if not 0 <= size <= limit:
                raise CodingError(f"the decoded content has {size} bytes, the limit is {limit}")
            return self._decompressor.decompress(body[_HEADER:], allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise CodingError(str(error)) from error

    @cached_property
    def _compressor(self) -> zstandard.ZstdCompressor:
        import zstandard

        prepared = self._raw()
        prepared.precompute_compress(level=self.level)
        return zstandard.ZstdCompressor(self.level, dict_data=prepared, write_checksum=False)

    @cached_property
    def _decompressor(self) -> zstandard.ZstdDecompressor:
        import zstandard

        return zstandard.ZstdDecompressor(dict_data=self._raw(), max_window_size=8 * MIB)

    def _raw(self) -> zstandard.ZstdCompressionDict:
        import zstandard

        return zstandard.ZstdCompressionDict(self.dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
