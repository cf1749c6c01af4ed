"""One regular expression from the pieces of a format.

Log lines are written by strangers, so that no line may take long: every field but the user's name takes what it can
and gives nothing back (possessive quantifiers), and ends at a quote or at the first character of the text behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptc.core.diagnostics import UsageError
from adaptc.formats.accesslog.pieces import Field, Meaning, Piece

# The groups of every pattern, in this order; a format that lacks a field has an empty group at its end.
GROUPS = ("client", "time", "method", "target", "status", "size", "referrer", "user_agent")

_GROUP = {
    Meaning.CLIENT: "client",
    Meaning.FORWARDED: "client",
    Meaning.TIME: "time",
    Meaning.METHOD: "method",
    Meaning.TARGET: "target",
    Meaning.PATH: "target",
    Meaning.STATUS: "status",
    Meaning.SIZE: "size",
    Meaning.REFERRER: "referrer",
    Meaning.USER_AGENT: "user_agent",
}
_NUMBERS = {Meaning.STATUS: r"\d{1,3}|-", Meaning.SIZE: r"\d{1,18}|-"}


class PatternWriter:
    """Writes patterns of pieces. Of two fields for one group the first counts, for the target a whole request line."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.clock = ""
        self.decoded = False  # whether the target is a path that the server has decoded
        self._taken: set[str] = set()
        self._has_request = any(isinstance(one, Field) and one.meaning is Meaning.REQUEST for one in pieces)

    def pattern(self, pieces: Sequence[Piece]) -> str:
        """Return the pattern of pieces. Raises ``UsageError`` where nothing tells two fields apart."""
        kept = [one for one in pieces if one]
        return "".join(
            re.escape(one) if isinstance(one, str) else self._field(one, _before(kept, at), _stops(kept, at))
            for at, one in enumerate(kept)
        )

    def missing(self) -> tuple[str, ...]:
        """Return the groups of ``GROUPS`` that no pattern so far has."""
        return tuple(name for name in GROUPS if name not in self._taken)

    def _field(self, field: Field, before: str, stops: str) -> str:
        text = _text(stops)
        if before.endswith('"') and stops == '"':
            text = _quoted(stops)
        if field.meaning is Meaning.REQUEST:
            return self._request(text, stops)
        if field.meaning is Meaning.USER:
            return ".*?"
        group = _GROUP.get(field.meaning)
        if group is None or group in self._taken or (self._has_request and group in ("method", "target")):
            return text
        self._take(field, group)
        return self._group(field.meaning, group, text, stops)

    def _take(self, field: Field, group: str) -> None:
        self._taken.add(group)
        if field.meaning is Meaning.TIME:
            self.clock = field.clock
        if field.meaning is Meaning.PATH:
            self.decoded = True

    def _group(self, meaning: Meaning, group: str, text: str, stops: str) -> str:
        if meaning is Meaning.FORWARDED:
            one = _text(stops + ", ")
            return f"(?P<{group}>{one})(?:, ?{one})*+"
        if meaning is Meaning.TIME:
            text = _time(self.clock, text, stops)
        return f"(?P<{group}>{_NUMBERS.get(meaning, text)})"

    def _request(self, text: str, stops: str) -> str:
        """A request line, or what a client sent instead of one."""
        if "target" in self._taken:
            return text
        self._taken.update(("method", "target"))
        word = _quoted(stops + " ")
        return f"(?:(?P<method>{_text(stops + ' ')}) (?P<target>{word})(?: {word})?|{text})"


def _text(stops: str) -> str:
    return f"[^{re.escape(stops)}]*+" if stops else ".*+"


def _time(notation: str, text: str, stops: str) -> str:
    """A time may hold the character that ends it, as often as its notation does: ``%F %T`` before a space."""
    inner = notation.count(stops[:1]) if stops and "%" in notation else 0
    return f"{text}(?:{re.escape(stops)}{text}){{{inner}}}" if inner else text


def _quoted(stops: str) -> str:
    r"""Text in quotes, in which ``\"`` is no end."""
    plain = rf"[^{re.escape(stops)}\\]*+"
    return rf"{plain}(?:\\.{plain})*+"


def _before(pieces: Sequence[Piece], at: int) -> str:
    before = pieces[at - 1] if at else ""
    return before if isinstance(before, str) else ""


def _stops(pieces: Sequence[Piece], at: int) -> str:
    """Return the characters at which a field ends; none at the end of the line."""
    if at + 1 == len(pieces):
        return ""
    following, field = pieces[at + 1], pieces[at]
    if isinstance(following, str):
        return following[0]
    if following.meaning is Meaning.QUERY:
        return "?" + _stops(pieces, at + 1)
    assert isinstance(field, Field)
    raise UsageError(f"nothing in the log format tells where {field.written} ends and {following.written} begins")
