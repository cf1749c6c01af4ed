"""Content digests (SHA-256, FIPS 180-4), which name artifacts in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_CHUNK = 1 << 20


def digest_bytes(content: bytes) -> str:
    """Return the SHA-256 of ``content`` as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def digest_chunks(chunks: Iterable[bytes]) -> str:
    """Return the SHA-256 of the concatenated chunks as 64 hexadecimal digits."""
    total = hashlib.sha256()
    for chunk in chunks:
        total.update(chunk)
    return total.hexdigest()


def digest_file(path: str) -> str | None:
    """Return the SHA-256 of a file; what cannot be read is equal to nothing."""
    try:
        with open(path, "rb", buffering=0) as file:
            return digest_chunks(iter(lambda: file.read(_CHUNK), b""))
    except OSError:
        return None


def digest_parts(*parts: str | bytes) -> str:
    """Return the SHA-256 of a sequence of parts as 64 hexadecimal digits.

    Each part is preceded by its length, so that ``("ab", "c")`` and ``("a", "bc")`` differ. Text is encoded as UTF-8
    with lone surrogates, since file names may hold any bytes.
    """
    total = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(b"%d:" % len(content))
        total.update(content)
    return total.hexdigest()
