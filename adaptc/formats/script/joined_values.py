"""The strings that a script joins to another, where it writes all of them out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from adaptc.formats.script.escapes import unescape
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.structure import Span, Structure

__all__ = ["joined_values"]

_MEMBER = frozenset({".", "?."})
_READ = frozenset({"+", ")", ";", ",", "]", "}"})
_CHOICE = frozenset({"?", ":"})
_DECLARING = frozenset({"var", "let", "const", ","})


def joined_values(script: Structure, place: int) -> frozenset[str] | None:
    """Return the values of the variable, or of the member of an object, at ``place``; ``None`` if there may be others.

    ``var arrow = {left: "chevron-left"}; … arrow.left`` has one. A variable that is an argument or a parameter
    anywhere may have others.
    """
    key = script.text(place + 2) if script.text(place + 1) == "." else ""
    end = place + 3 if key else place + 1
    if not script.is_word(place) or script.text(end) not in _READ:
        return None
    values: set[str] = set()
    for value in chain.from_iterable(_values(script, each, key) for each in script.places(script.text(place))):
        if value is None:  # mostly at once: a minified bundle has a hundred thousand places of a name
            return None
        values.add(value)
    return frozenset(filter(None, values)) if values else None


def _values(script: Structure, place: int, key: str) -> Iterator[str | None]:
    """Yield the strings that a variable, or its property ``key``, gets at ``place``; ``None`` for what is not known."""
    before, after = script.text(place - 1), script.text(place + 1)
    if before in _MEMBER:
        yield None
    elif after == "=":
        for span in _choices(script, (place + 2, script.expression_end(place + 2))):
            yield from _properties(script, span, key) if key else (_string(script, span),)
    elif key and after == ".":
        yield from (None,) if script.text(place + 3) not in _READ else ()
    elif before in ("(", ",") or after not in _READ or (key and before not in _DECLARING):
        yield None


def _choices(script: Structure, span: Span) -> list[Span]:
    """Return the values of ``a ? b : c``, or the value itself."""
    parts = script.split(span, _CHOICE)
    return parts[1:] if len(parts) > 1 else parts


def _string(script: Structure, span: Span) -> str | None:
    is_string = span[1] == span[0] + 1 and script.kinds[span[0]] is Kind.STRING
    return unescape(script.text(span[0])[1:-1]) if is_string else None


def _properties(script: Structure, span: Span, key: str) -> Iterator[str | None]:
    """Yield the value of a property of an object literal, ``None`` if there may be another."""
    if script.text(span[0]) != "{" or script.pairs.get(span[0]) != span[1] - 1:
        yield None
        return
    for start, end in script.arguments(span[0]):
        if script.text(start + 1) != ":":
            yield None
        elif script.text(start).strip("\"'") == key:
            yield _string(script, (start + 2, end))
