"""Encode content with the codings of a build, each once: what was encoded is in the cache."""

from __future__ import annotations

from collections.abc import Iterator

from adaptc.compile.engine.results import Output
from adaptc.compile.engine.store import Store
from adaptc.compile.view import Effort
from adaptc.core import media
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.model import IDENTITY
from adaptc.core.version import VERSION
from adaptc.formats import codings

# What the cache holds where a coding does not pay; it is no stream of any coding, as a file that was cut short to
# nothing would be.
_NO_GAIN = b"-"


class Encoder:
    """Makes outputs of content. ``codec`` says what the encoders do (``codings.recipe``)."""

    def __init__(self, store: Store, names: tuple[str, ...], codec: str, effort: Effort) -> None:
        self.store, self.codings, self.codec, self.effort = store, names, codec, effort

    def outputs(self, content: bytes, media_type: str, *, identity: bool) -> Iterator[Output]:
        """Yield the outputs of content: itself if ``identity`` says so, and the encodings."""
        digest = digest_bytes(content)
        if identity:
            yield Output(IDENTITY, self.store.put(content, digest), digest, len(content))
        yield from self.encodings(content, media_type, digest)

    def encodings(self, content: bytes, media_type: str, digest: str | None = None) -> Iterator[Output]:
        """Yield what each coding makes of content where that is smaller."""
        if not media.is_compressible(media_type):
            return
        digest = digest or digest_bytes(content)
        for coding in self.codings:
            key = digest_parts("encode", self.codec, VERSION, coding, self.effort, digest)
            encoded = self._encoded(key, content, coding)
            if encoded is not None:
                yield Output(coding, key, digest_bytes(encoded), len(encoded))

    def _encoded(self, key: str, content: bytes, coding: str) -> bytes | None:
        """Return the encoded content, ``None`` when that does not pay, from the cache if it is there."""
        encoded = self.store.read(key)
        if encoded is not None and encoded != _NO_GAIN and not _stands_for(encoded, content, coding):
            encoded = None
        if encoded is None:
            encoded = codings.encode_if_smaller(content, coding, self.effort) or _NO_GAIN
            self.store.put(encoded, key)
        return None if encoded == _NO_GAIN else encoded


def _stands_for(encoded: bytes, content: bytes, coding: str) -> bool:
    try:
        return codings.decode(encoded, coding, len(content)) == content
    except codings.CodingError:
        return False
