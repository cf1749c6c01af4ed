"""From what stands in a log to the path that was served."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from adaptc.core.urls import unquote_path

# Apache: \" \\ \n \r \t \v \b \f \xHH; nginx: \xHH, with escape=json \uHHHH and \/ too.
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v", b"b": b"\b", b"f": b"\f"}
# The form of a request through a proxy (RFC 9112, section 3.2.2)
_ABSOLUTE = re.compile(r"[a-z]+://[^/?#]*", re.IGNORECASE)


@lru_cache(maxsize=1 << 16)
def served_path(target: str) -> str:
    """Return the decoded path of a request target (RFC 9112, section 3.2) as logged; empty when it has none."""
    plain = unescaped(target) if "\\" in target else target
    if not plain.startswith("/"):
        absolute = _ABSOLUTE.match(plain)
        if absolute is None:
            return ""
        plain = plain[absolute.end() :] or "/"
    path = plain.partition("?")[0].partition("#")[0]
    return unquote_path(path) if "%" in path else path


def unescaped(text: str) -> str:
    """Return logged text without the server's escapes."""
    if "\\" not in text:
        return text
    return os.fsdecode(_ESCAPE.sub(_plain, os.fsencode(text)))


def _plain(found: re.Match[bytes]) -> bytes:
    octet, unit, other = found.groups()
    if octet:
        return bytes([int(octet, 16)])
    if unit:
        return chr(int(unit, 16)).encode("utf-8", "surrogatepass")
    return _CONTROLS.get(other, other)
