"""Regular expressions (PCRE) for header fields and paths, which Apache and nginx read alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from adaptc.core.model import MEDIA_TYPES, MOST_SLASHES, NEGOTIABLE, TOKENS

# URLs of images that may have alternates, in any case
IMAGES = rf"\.(?:{'|'.join(NEGOTIABLE)})"

# An Available-Dictionary (RFC 9842, section 2.2), of which it captures the SHA-256 in Base64
HELD = r"^:([A-Za-z0-9+/]{43})=:$"
DICTIONARIES = r"/_adaptc/[A-Za-z0-9]{43}\.dict$"

# Client hints of the network (WICG: Network Information, Save Data), and the fields that may carry each
HINT_FIELDS = {
    "Save-Data": ("Save-Data", "Sec-CH-Save-Data"),
    "ECT": ("ECT", "Sec-CH-ECT"),
    "Downlink": ("Downlink", "Sec-CH-Downlink"),
    "RTT": ("RTT", "Sec-CH-RTT"),
}
# What a site asks browsers to send (RFC 8942)
ACCEPT_CH = ", ".join(dict.fromkeys(name for names in HINT_FIELDS.values() for name in names))
_SPELLING = r"(?:[^|]*,)?"
# A slow or thrifty client. The hints are joined by bars, the fields of each by a comma. Downlink is in Mbit/s, here
# below 0.4; RTT in milliseconds, here from 1,400 on, which makes a connection 2g.
HINTS = "|".join(
    (
        rf"^{_SPELLING}\??(?:on|1)[,|]",
        rf"^[^|]*\|{_SPELLING}(?:\x22)?(?:slow-)?2g",
        rf"^(?:[^|]*\|){{2}}{_SPELLING}0(?:\.[0-3]\d*)?[,|]",
        rf"^(?:[^|]*\|){{3}}{_SPELLING}(?:1[4-9]\d\d|[2-9]\d\d\d|\d{{5,}})",
    )
)


_SPECIAL = re.compile(r"[^A-Za-z0-9_/ ,:=!@~<>&;'\x80-\U0010ffff-]")


def literal(text: str) -> str:
    """Return a regular expression (PCRE) that matches ``text`` and nothing else."""
    return _SPECIAL.sub(lambda match: rf"\x{ord(match[0]):02x}" if match[0] in '"\n\t' else f"\\{match[0]}", text)


_UNRESERVED = re.compile(r"[^A-Za-z0-9._~/-]")


def encoded(path: str) -> str:
    """Return a regular expression (PCRE) for a path as requests have it: some characters as they are or as %XX."""

    def either(match: re.Match[str]) -> str:
        codes = "".join(f"%(?i:{byte:02x})" for byte in match[0].encode("utf-8", "surrogateescape"))
        return f"(?:{literal(match[0])}|{codes})"

    return "".join(either(match) if (match := _UNRESERVED.fullmatch(char)) else literal(char) for char in path)


def held_directories() -> Iterator[tuple[str, int]]:
    """Yield patterns of an ``Available-Dictionary`` and the number of their groups: what slashes separate.

    The directory is ``dcz-`` with these groups, joined by ``_``.
    """
    for slashes in range(MOST_SLASHES + 1):
        yield f"^:{'/'.join(['([A-Za-z0-9+]*)'] * (slashes + 1))}=:$", slashes + 1


def accepts(coding: str) -> str:
    """Return the pattern of an ``Accept-Encoding`` that takes ``coding`` (RFC 9110, section 12.5.3).

    ``q=0`` means no. ``*`` does not count: no client that could use it sends it.
    """
    return _named(token_pattern(coding))


def token_pattern(coding: str) -> str:
    """Return the pattern of a coding's token, by name or token; ``x-gzip`` is ``gzip`` (RFC 9110, section 8.4.1.3)."""
    return "(?:x-)?gzip" if coding == "gz" else TOKENS.get(coding, coding)


def accepts_format(name: str) -> str:
    """Return the pattern of an ``Accept`` that names an image format (RFC 9110, section 12.5.1); q=0 means no.

    ``image/*`` and ``*/*`` do not count: clients that cannot show WebP or AVIF send them too.
    """
    return _named(MEDIA_TYPES[name])


def _named(token: str) -> str:
    return rf"(?i)(?<![^,\s]){token}(?![^,;\s])(?![^,]*;\s*q=0(?:\.0*)?\s*(?:,|$))"


def asks(trees: Iterable[str], codings: Iterable[str], group: str = "") -> str:
    """Return the pattern of an ``X-Server-Actions`` that names a known word, which it captures (as ``group``).

    The first class or level counts, in any position: a coding next to it adds nothing to Accept-Encoding.
    """
    begin, end = rf"\.({f'?<{group}>' if group else ''}", r")(?:$|[ ,;])"
    tree = rf"^(?:.*?[ ,;])??{begin}{'|'.join(trees)}{end}"
    named = "|".join(codings)
    return rf"(?|{tree}|(?:^|[ ,;]){begin}{named}{end})" if named else tree
