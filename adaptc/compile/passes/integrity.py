"""Subresource Integrity (W3C SRI, section 3.3): whether a file is what an ``integrity`` attribute says.

A file that does not match is refused by browsers: put into the page it would come to life.
"""

from __future__ import annotations

import base64
import hashlib

_ALGORITHMS = ("sha256", "sha384", "sha512")  # by strength


def meets_integrity(content: bytes, metadata: str | None) -> bool:
    """Whether a browser accepts ``content``: the strongest algorithm named decides; none that is known accepts all."""
    hashes = [_parsed(token) for token in (metadata or "").split()]
    known = [(algorithm, value) for algorithm, value in hashes if algorithm in _ALGORITHMS]
    if not known:
        return True
    strongest = max((algorithm for algorithm, _ in known), key=_ALGORITHMS.index)
    digest = base64.b64encode(hashlib.new(strongest, content).digest()).decode("ascii")
    return any(algorithm == strongest and value == digest for algorithm, value in known)


def _parsed(token: str) -> tuple[str, str]:
    algorithm, _, value = token.partition("-")
    return algorithm.lower(), value.partition("?")[0].replace("-", "+").replace("_", "/")
