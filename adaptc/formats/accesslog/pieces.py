"""A log format as pieces: literal text, and fields of which some mean something to us.

Formats of Apache and of nginx both become pieces (``apache``, ``nginx``), and pieces one pattern (``pattern``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Meaning(Enum):
    """What a field of a log line holds."""

    CLIENT = auto()  # one address or host name
    FORWARDED = auto()  # X-Forwarded-For: the client's address, then those of proxies
    USER = auto()  # of HTTP authentication: may hold spaces
    TIME = auto()
    REQUEST = auto()  # the request line: method, target, protocol
    METHOD = auto()
    TARGET = auto()  # as the client wrote it: percent-encoded, with the query
    PATH = auto()  # decoded by the server, without the query
    QUERY = auto()  # with its question mark, or empty
    STATUS = auto()
    SIZE = auto()
    REFERRER = auto()
    USER_AGENT = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Field:
    """A field; ``written`` is how the format spells it. ``clock`` names the notation of a time, see ``clocks``."""

    written: str
    meaning: Meaning
    clock: str = ""


Piece = str | Field
