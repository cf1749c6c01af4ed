"""What servers look for in header fields, as regular expressions (PCRE) that Apache and nginx read alike."""

from __future__ import annotations

from collections.abc import Iterable

from adaptc.core.model import MEDIA_TYPES, NEGOTIABLE, TOKENS

# URLs of images that may have alternates, case left aside
IMAGES = rf"\.(?:{'|'.join(NEGOTIABLE)})"

# A slow or thrifty client, in Save-Data, ECT and Downlink (Mbit/s, here below 0.4) joined by bars.
HINTS = r"^on\||^[^|]*\|(?:slow-)?2g\||\|0(?:\.[0-3]\d*)?$"


def accepts(coding: str) -> str:
    """Return the pattern of an ``Accept-Encoding`` that takes ``coding`` (RFC 9110, section 12.5.3).

    ``q=0`` means no. ``*`` is not taken for a yes: nobody sends it who has use for it.
    """
    return _named(token_pattern(coding))


def token_pattern(coding: str) -> str:
    """Return the pattern of a coding's token; ``x-gzip`` is ``gzip`` (RFC 9110, section 8.4.1.3)."""
    return "(?:x-)?gzip" if coding == "gz" else TOKENS[coding]


def accepts_format(name: str) -> str:
    """Return the pattern of an ``Accept`` that names an image format (RFC 9110, section 12.5.1); q=0 means no.

    ``image/*`` and ``*/*`` are not taken for a yes: those who cannot show WebP or AVIF send them too.
    """
    return _named(MEDIA_TYPES[name])


def _named(token: str) -> str:
    return rf"(?i)(?<![^,\s]){token}(?![^,;\s])(?![^,]*;\s*q=0(?:\.0*)?\s*(?:,|$))"


def asks(trees: Iterable[str], codings: Iterable[str], group: str = "") -> str:
    """Return the pattern of an ``X-Server-Actions`` that names something known, which it captures (as ``group``).

    The first class or level counts, wherever it stands: a coding beside it says nothing that Accept-Encoding does not.
    """
    begin, end = rf"\.({f'?<{group}>' if group else ''}", r")(?:$|[ ,;])"
    tree = rf"^(?:.*?[ ,;])??{begin}{'|'.join(trees)}{end}"
    named = "|".join(codings)
    return rf"(?|{tree}|(?:^|[ ,;]){begin}{named}{end})" if named else tree
