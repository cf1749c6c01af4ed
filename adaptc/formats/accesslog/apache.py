"""Apache's log formats (mod_log_config, "Custom Log Formats") as pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adaptc.formats.accesslog.pieces import Field, Meaning, Piece

# The nicknames that Apache's own configuration and Debian's define.
NICKNAMES = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "vhost_combined": '%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"',
}

_MEANINGS = {
    "h": Meaning.CLIENT,
    "a": Meaning.CLIENT,
    "u": Meaning.USER,
    "r": Meaning.REQUEST,
    "m": Meaning.METHOD,
    "U": Meaning.PATH,
    "q": Meaning.QUERY,
    "s": Meaning.STATUS,
    "b": Meaning.SIZE,
    "B": Meaning.SIZE,
    "O": Meaning.SIZE,
}
_HEADERS = {
    "referer": Meaning.REFERRER,
    "user-agent": Meaning.USER_AGENT,
    "x-forwarded-for": Meaning.FORWARDED,
}

# %>s, %{Referer}i, %!200,304{User-Agent}i, %^FB
_DIRECTIVE = re.compile(r"%(?:!?\d{3}(?:,\d{3})*)?[<>]?(?:\{([^}]*)\})?[<>]?(\^[A-Za-z]{2}|[A-Za-z%])")
_ESCAPES = {r"\"": '"', r"\\": "\\", r"\t": "\t", r"\n": "\n"}
_ESCAPE = re.compile(r'\\["\\tn]')


def apache_pieces(text: str) -> Iterator[Piece]:
    r"""Yield the pieces of a LogFormat string, with or without the backslashes that the configuration file has."""
    format_string = _ESCAPE.sub(lambda found: _ESCAPES[found[0]], text)
    at = 0
    for found in _DIRECTIVE.finditer(format_string):
        yield format_string[at : found.start()]
        yield from _directive(found[0], found[1], found[2])
        at = found.end()
    yield format_string[at:]


def _directive(written: str, argument: str | None, letter: str) -> Iterator[Piece]:
    if letter == "%":
        yield "%"
    elif letter == "t":
        yield from _time(written, argument)
    elif letter == "i":
        yield Field(written, _HEADERS.get((argument or "").lower(), Meaning.OTHER))
    else:
        yield Field(written, _MEANINGS.get(letter, Meaning.OTHER))


def _time(written: str, argument: str | None) -> Iterator[Piece]:
    """Without an argument a time has brackets of its own; ``begin:`` and ``end:`` say which time it is."""
    notation = re.sub(r"^(?:begin|end):", "", argument or "")
    if notation:
        yield Field(written, Meaning.OTHER if notation.endswith("_frac") else Meaning.TIME, notation)
    else:
        yield from ("[", Field(written, Meaning.TIME, "common"), "]")
