"""URLs of the versions of a style sheet or script: the same one, or where names hold a hash, one with another hash."""

from __future__ import annotations

import re

# Characters that are the same in a path, a URL and a URL pattern; names with others get no pattern
_SAFE = r"[A-Za-z0-9_./~-]*"
_LETTER = "[A-Za-z0-9_-]"
_EXTENSION = r"\.(?:css|js|mjs)"

# A hash has eight letters, one of them a digit: index-B2x4Yz_a.js (Vite), main.3f2a9c1b.chunk.js (webpack). Without
# lookaround, which not every server has: the first digit is one of the first seven letters, or comes later.
_LENGTH = 8
_FIRST_DIGITS = [f"{_LETTER}{{{place}}}[0-9]{_LETTER}{{{_LENGTH - 1 - place},}}" for place in range(_LENGTH - 1)]
_HASH = f"(?:{'|'.join(_FIRST_DIGITS)}|{_LETTER}{{{_LENGTH - 1},}}[0-9]{_LETTER}*)"


def hashed_path(head: str = "", tail: str = "") -> str:
    """Return the regular expression of a path with a hash; groups, after ``head`` and ``tail``, are what surrounds it.

    It begins and ends anywhere.
    """
    return rf"({head}{_SAFE}[._~-]){_HASH}({tail}(?:\.[a-z]{{1,8}})?{_EXTENSION})"


def plain_path(group: str = "") -> str:
    """Return the regular expression of a path that counts where ``hashed_path`` does not match, in one group."""
    return rf"({group}{_SAFE}{_EXTENSION})"


def pattern_of(path: str) -> str | None:
    """Return the pattern of the paths of all versions of a file, with ``*`` for a hash; ``None`` where there is none.

    It is a pattern as ``Use-As-Dictionary`` has it (RFC 9842, section 2.1.1).
    """
    if hashed := re.fullmatch(hashed_path(), path):
        return f"{hashed[1]}*{hashed[2]}"
    return path if re.fullmatch(plain_path(), path) else None
