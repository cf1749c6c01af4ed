"""Selectors made fit for the question "can this ever match the page?" (Selectors 4).

What a page can be asked is its static structure. Pseudo-elements and pseudo-classes of states (``:hover``,
``:checked``, ``:target``, whatever is not known here) are dropped, so that the selector that is asked matches at
least what the one that is written can match. Inside ``:not()`` that would be the wrong way round: there the whole
``:not()`` is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from adaptc.formats.css.scanner import NAME, SPACE, unescape

__all__ = ["name_selector", "required_names", "static_selectors"]

# Pseudo-classes that a page answers by its structure alone.
_STRUCTURAL = frozenset({
    "root", "empty", "first-child", "last-child", "only-child", "first-of-type", "last-of-type", "only-of-type",
})  # fmt: skip
_COUNTING = frozenset({"nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"})
_LISTS = frozenset({"is", "where", "has"})
# Set by the visitor: details and dialogs open, and options of a form are chosen.
_STATES = frozenset({"open"})

_TOKEN = re.compile(
    rf"(?P<comment>/\*(?:[^*]|\*(?!/))*\*/)"
    rf"|(?P<combinator>{SPACE}*+(?:\|\||[>+~]){SPACE}*+)"
    rf"|(?P<space>{SPACE}++)"
    rf"|(?P<comma>,)"
    rf"|(?P<end>\))"
    rf"|(?P<nesting>&)"
    rf"|\.(?P<class>{NAME})"
    rf"|\#(?P<id>{NAME})"
    rf"|\[{SPACE}*+(?P<attribute>{NAME}){SPACE}*+(?:[~|^$*]?=(?:[^\]\"'\\]|\\.|\"[^\"\\]*\"|'[^'\\]*')*+)?+\]"
    rf"|(?P<pseudo>::?+{NAME})(?P<call>\()?+"
    rf"|(?P<type>(?:(?:{NAME}|\*)?+\|(?!\|))?+(?:{NAME}|\*))"
)


class Part(NamedTuple):
    """A simple selector or a combinator; ``inner`` are the alternatives of ``:is()`` and its kin."""

    kind: str
    name: str
    written: str
    inner: tuple[tuple[Part, ...], ...] = ()


Complex = tuple[Part, ...]


class Unreadable(Exception):
    """What is written is no selector that is known here."""


@lru_cache(maxsize=1 << 14)
def static_selectors(prelude: str, parents: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return what to ask the page for each selector of a rule; ``()`` when that is not known: keep the rule.

    ``parents`` are those of the rule around a nested one (CSS Nesting 1), which ``&`` stands for.
    """
    try:
        read = _read(prelude)
    except Unreadable:
        return ()
    return tuple(dict.fromkeys(_asked(each, parents) for each in read))


@lru_cache(maxsize=1 << 16)
def required_names(selector: str) -> frozenset[str]:
    """Return what a page must have for one selector of ``static_selectors`` to match.

    ``.class``, ``#id``, ``[attribute`` and ``type`` in lower case, without escapes; names inside of ``:is()``
    and its kin are alternatives and do not count.
    """
    try:
        return frozenset(_names(_read(selector)[0]))
    except Unreadable:
        return frozenset()


def name_selector(name: str) -> str:
    """Write one of ``required_names`` as a selector (CSSOM, "serialize an identifier")."""
    mark = name[0] if name[0] in ".#[" else ""
    body = name[len(mark) :]
    escaped = "".join(
        c if c in "-_" or c >= "\x80" or (c.isalnum() and (index or not c.isdigit())) else f"\\{ord(c):x} "
        for index, c in enumerate(body)
    )
    return f"{mark}{escaped}]" if mark == "[" else mark + escaped


def _read(prelude: str) -> list[Complex]:
    reader = _Reader(prelude)
    found = reader.alternatives(0)
    if reader.position != len(prelude) or not all(found):
        raise Unreadable
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def alternatives(self, depth: int) -> list[Complex]:
        """Read up to the end, or to the ``)`` that closes a function at ``depth``."""
        found: list[list[Part]] = [[]]
        while self.position < len(self.text):
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                raise Unreadable
            self.position = match.end()
            if match.lastgroup == "end":
                if not depth:
                    raise Unreadable
                break
            if match.lastgroup == "comma":
                found.append([])
            elif match.lastgroup != "comment":
                found[-1].append(self._part(match, depth))
        return [_trimmed(each) for each in found]

    def _part(self, match: re.Match[str], depth: int) -> Part:
        kind = match.lastgroup or ""
        if kind in ("pseudo", "call"):
            return self._pseudo(match, depth)
        return Part(kind, unescape(match[kind]) if kind in ("class", "id", "attribute") else match[kind], match[0])

    def _pseudo(self, match: re.Match[str], depth: int) -> Part:
        name = match["pseudo"].lower()
        if not match["call"]:
            return Part("pseudo", name, match["pseudo"])
        if name[1:] in _LISTS or name == ":not":
            return Part("list", name, match["pseudo"], tuple(self.alternatives(depth + 1)))
        end = _closing(self.text, self.position)
        written = self.text[match.start() : end]
        self.position = end
        return Part("function", name, written)


def _closing(text: str, position: int) -> int:
    """Return the position behind the ``)`` of a function; strings with parentheses are too rare to read."""
    depth = 1
    for index in range(position, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if text[index] in "\"'\\":
            break
        if not depth:
            return index + 1
    raise Unreadable


def _trimmed(parts: list[Part]) -> Complex:
    while parts and parts[0].kind == "space":
        parts.pop(0)
    while parts and parts[-1].kind == "space":
        parts.pop()
    if parts and parts[-1].kind == "combinator":
        raise Unreadable
    return tuple(parts)


def _asked(parts: Complex, parents: tuple[str, ...]) -> str:
    if not parents:
        return "".join(_written(parts))
    around = parents[0] if len(parents) == 1 and parents[0].isidentifier() else f":is({','.join(parents)})"
    written = "".join(_written(parts, around))
    if _has_nesting(parts):
        return written
    return around + ("" if parts[0].kind == "combinator" else " ") + written


def _has_nesting(parts: Complex) -> bool:
    return any(part.kind == "nesting" or any(map(_has_nesting, part.inner)) for part in parts)


def _written(parts: Sequence[Part], around: str = "*") -> Iterator[str]:
    """Write the static parts; a compound that has none is ``*``."""
    is_empty = True
    for index, part in enumerate(parts):
        if part.kind in ("combinator", "space"):
            yield "*" if is_empty and index else ""
            yield part.written
            is_empty = True
            continue
        written = _static(part, around)
        # A type stands first in its compound: what takes the place of "&" need not.
        yield f":is({written})" if not is_empty and part.kind == "nesting" else written
        is_empty = is_empty and not written
    if is_empty:
        yield "*"


def _static(part: Part, around: str) -> str:
    if part.kind == "nesting":
        return around if around != "*" else ""
    if part.kind == "list":
        return _static_list(part, around)
    return part.written if _is_static(part) else ""


def _static_list(part: Part, around: str) -> str:
    if part.name == ":not" and not all(_is_static(inner) for each in part.inner for inner in each):
        return ""
    inner = ["".join(_written(each, around)) for each in part.inner]
    return f"{part.written}({','.join(inner)})" if inner and all(part.inner) else ""


def _is_static(part: Part) -> bool:
    """Whether the answer for a part cannot change, and the engine is trusted with it."""
    if part.kind == "attribute":
        # In the engine at hand an attribute of SVG with capitals (viewBox) matches nothing.
        return part.name == part.name.lower() and part.name not in _STATES
    if part.kind == "pseudo":
        return part.name[1:] in _STRUCTURAL
    if part.kind == "function":
        return part.name[1:] in _COUNTING and " of " not in part.written
    if part.kind == "list":
        return all(_is_static(inner) for each in part.inner for inner in each)
    return part.kind != "nesting"


_MARKS = {"class": ".", "id": "#", "attribute": "["}


def _names(parts: Complex) -> Iterator[str]:
    for part in parts:
        if part.kind in _MARKS:
            yield _MARKS[part.kind] + part.name
        elif part.kind == "type":
            name = unescape(part.name.rpartition("|")[2]).lower()
            if name != "*":
                yield name
