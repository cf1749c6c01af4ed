"""The names (of classes, ids, attributes, elements) that a page's scripts may bring into it.

They are the words of the scripts' strings, templates and regular expressions, the names of properties
(``{active: true}``, ``e.hidden = true``, ``e.dataset.openPanel``), and names that a script may compose: with a string
that begins or ends with a hyphen or underscore (``"fa-" + icon``), of a word and a number, and, in a script that joins
with hyphens (`${block}-${state}`), of its words. Names of variables bring in nothing, nor do comments. What follows a
beginning is made of words of the scripts and of the page, unless the script gets values from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import chain

from adaptc.formats.script.lexer import Kind, unescape
from adaptc.formats.script.script import Script, string_content
from adaptc.formats.script.structure import Span, Structure

__all__ = ["Names", "ScriptNames", "merge_names", "names_of_script", "names_of_text"]

_WORD = re.compile(r"[A-Za-z_][\w-]*")
_BEGINNING = re.compile(r"(?<![\w-])(?:(?![A-Za-z])[\w-])*+([A-Za-z][\w-]*+)(?<=[-_])(?=[\"'`$\\<{%# ]|\Z)")
_END = re.compile(r"(?:\A|(?<=[\"'`}>]))([-_]+[A-Za-z][\w-]*)")
_JOINTS = re.compile(r"[-_ ]+")
_JOINT = re.compile(r"[\"'`}][-_]+(?:\$\{|[\"'`])\Z")
_WORDS = re.compile(r"[\w -]+\Z")
_ASSIGNING = frozenset({"=", ":", "return", "?", ","})
_CHOOSING = frozenset({"?", ":", "&&", "||"})
_FUNCTIONS = frozenset({"function", "async", "("})
_ARGUMENTS = 12  # tokens between a joint and the parenthesis
_CAPITAL = re.compile(r"[A-Z]")
_DIGITS = "0123456789"
# Values that neither a script nor its page holds: answers, messages, what is stored, the address
_ELSEWHERE = re.compile(
    r"fetch|XMLHttpRequest|ajax|post|getJSON|WebSocket|EventSource|onmessage|localStorage|sessionStorage|cookie|location"
)
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_TEXTS = (Kind.STRING, Kind.TEMPLATE)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one text: whole ones, beginnings and ends of composed ones, and words that it may join.

    What follows the ``beginnings`` may be anything, what follows the ``starts`` is in the scripts or the page.
    """

    words: frozenset[str] = frozenset()
    beginnings: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()


def merge_names(parts: Sequence[Names]) -> Names:
    """Return the names of several texts together."""
    return Names(*(frozenset().union(*(getattr(part, field.name) for part in parts)) for field in fields(Names)))


class ScriptNames:
    """A container of the names that scripts, or the texts that they read, may bring in.

    ``parts`` are the names of each. ``of_page`` is the container for a page with these scripts.
    """

    def __init__(self, parts: Sequence[Names]) -> None:
        names = merge_names(parts)
        self._words, self._joined = names.words, names.joined
        self._beginnings, self._ends = tuple(sorted(names.beginnings)), tuple(sorted(names.ends))
        self._starts = tuple(sorted(start for start in names.starts if not start.startswith(self._beginnings)))
        self._pieces = frozenset[str]().union(*(_pieces_of(part.words) for part in parts if self._starts))
        self._cache: dict[object, bool] = {}

    def __contains__(self, name: object) -> bool:
        return self.is_certain(name) or str(name).startswith(self._starts)

    def is_certain(self, name: object) -> bool:
        """Whether a script may bring in a name, whatever the page holds."""
        result = self._cache.get(name)
        if result is None:
            result = self._cache[name] = self._may_bring(str(name))
        return result

    def _may_bring(self, name: str) -> bool:
        bare = name.lstrip("-")  # custom properties
        if bare in self._words or bare.rstrip(_DIGITS) in self._words:
            return True
        if name.startswith(self._beginnings) or name.endswith(self._ends):
            return True
        return self._joins(name)

    def of_page(self, text: str) -> Container[str]:
        """Return the names that the scripts may bring into the page with this source text."""
        return _PageNames(self, self._starts, self._pieces, text) if self._starts else self

    def _joins(self, name: str) -> bool:
        """Whether a name is words that a script may join; a word may have hyphens of its own."""
        for joint in _JOINTS.finditer(name):
            tail = name[joint.end() :]
            if name[: joint.start()] in self._joined and (tail in self._joined or tail.isdigit() or self._joins(tail)):
                return True
        return False


class _PageNames:
    """The names for one page: what follows a beginning may be of the page's own words."""

    def __init__(self, names: ScriptNames, starts: tuple[str, ...], pieces: frozenset[str], text: str) -> None:
        self._names, self._starts, self._pieces = names, starts, pieces.union(_pieces(text))

    def __contains__(self, name: object) -> bool:
        return self._names.is_certain(name) or any(
            str(name).startswith(start) and self._pieces.issuperset(_pieces(str(name)[len(start) :].rstrip(_DIGITS)))
            for start in self._starts
        )


def _pieces(text: str) -> frozenset[str]:
    """Return the words of a text as a script may take them apart and join them: in lower case, without marks."""
    return frozenset(map(str.lower, _PIECE.findall(text)))


# The same scripts are in many pages, next to others
@lru_cache(maxsize=64)
def _pieces_of(words: frozenset[str]) -> frozenset[str]:
    return _pieces(" ".join(words))


def names_of_text(text: str) -> Names:
    """Return the names in a text that scripts read: markup, JSON, attributes."""
    return Names(
        frozenset(_WORD.findall(text)), frozenset(_BEGINNING.findall(text)), ends=frozenset(_END.findall(text))
    )


def names_of_script(script: Script) -> Names:
    """Return the names that a script may bring in."""
    if not script.lexes:
        names = names_of_text(script.text)
        return Names(names.words, names.beginnings, ends=names.ends, joined=names.words)
    strings = [string_content(text) for text in script.texts_of(*_TEXTS)]
    joints = {prefix for joint in _joints(script) for prefix in _prefixes(script, joint)}
    written = _written_names(script)
    beginnings = frozenset(chain(filter(None, joints), *map(_BEGINNING.findall, strings))).difference(written)
    is_open = any(map(_ELSEWHERE.fullmatch, script.texts_of(Kind.WORD)))
    return Names(
        frozenset(_properties(script)).union(
            _dataset_names(script), *map(_WORD.findall, chain(strings, script.texts_of(Kind.REGEX))), *written.values()
        ),
        beginnings if is_open else frozenset(),
        frozenset() if is_open else beginnings,
        frozenset(chain.from_iterable(map(_END.findall, strings))),
        _parts(strings).union(_keys(script)) if "" in joints else frozenset(),
    )


def _parts(strings: Iterable[str]) -> frozenset[str]:
    """Return the words that a script may join to names: its strings of words alone."""
    return frozenset(word for string in strings if _WORDS.match(string) for word in string.split())


def _properties(script: Script) -> Iterator[str]:
    """Yield names of properties that a script defines or sets; those of ``dataset`` also as attributes."""
    tokens, kinds = script.tokens, script.kinds_of
    for before, text, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_member = before == "." or before == "?."
        if not (is_member or after == ":") or kinds[text] is not Kind.WORD:
            continue
        if after == ":" or (after == "=" and before == "."):
            yield text
        if is_member and _CAPITAL.search(text):
            yield f"data-{_CAPITAL.sub(_hyphenate, text)}"


def _dataset_names(script: Script) -> Iterator[str]:
    """Yield the attributes that ``dataset.theme`` and ``dataset["theme"]`` stand for."""
    for place in script.places(("dataset",)):
        for text in script.tokens[place + 2 : place + 3]:
            name = string_content(text) if script.kinds_of[text] is Kind.STRING else text
            yield f"data-{_CAPITAL.sub(_hyphenate, name)}"


def _keys(script: Script) -> Iterator[str]:
    """Yield the keys of objects whose values are no functions."""
    tokens, kinds = script.tokens, script.kinds_of
    for text, after, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if after == ":" and kinds[text] is Kind.WORD and value not in _FUNCTIONS:
            yield text


def _hyphenate(capital: re.Match[str]) -> str:
    return f"-{capital[0].lower()}"


def _written_names(script: Script) -> dict[str, set[str]]:
    """Return the names of each beginning all of whose other parts the script writes out."""
    written: dict[str, set[str]] = {}
    others: set[str] = set()
    contents = {text: string_content(text) for text in script.texts_of(*_TEXTS)}
    for place in script.places(text for text, content in contents.items() if _BEGINNING.search(content)):
        content = contents[script.tokens[place]]
        for match in _BEGINNING.finditer(content):
            is_joint = match.end() == len(content) and script.tokens[place + 1 : place + 2] == ["+"]
            values = joined_values(script.structure, place + 2) if is_joint and script.structure else None
            written.setdefault(match[1], set()).update(match[1] + value for value in values or ())
            others.update((match[1],) if values is None else ())
    return {beginning: names for beginning, names in written.items() if beginning not in others}


# ---- names joined with hyphens and underscores


def _joints(script: Script) -> Iterator[int]:
    """Yield the places of hyphens between parts of a name.

    They are those of ``a + "-" + b``, ``a + (b ? "-" + b : "")``, ``c = a + "-"``, ``[a, b].join("_")``,
    ``"".concat(a, "-", b)`` and `${a}-${b}`; not those of comparisons (``a.indexOf(b + "-")``) and numbers.
    """
    for place in script.places(filter(_JOINT.match, script.texts_of(*_TEXTS))):
        if 0 < place < len(script.tokens) - 1 and _is_joint(script.tokens, place):
            yield place


def _is_joint(tokens: Sequence[str], place: int) -> bool:
    before, token, after = tokens[place - 1 : place + 2]
    if token[0] == "}":
        return token.endswith("${")
    if after == "+" and "++" in tokens[place + 2 : place + 6]:
        return False  # a number that nothing else has: a + "_" + count++
    if before == "+":
        return after == "+" or (place > 2 and tokens[place - 3] in _ASSIGNING)
    return (after == "+" and before in _CHOOSING) or _is_argument(tokens, place)


def _is_argument(tokens: Sequence[str], place: int) -> bool:
    """Whether the token is an argument of ``join`` or ``concat``."""
    for opening in range(place - 1, max(place - _ARGUMENTS, 1), -1):
        if tokens[opening] == "(":
            return tokens[opening - 1] in ("join", "concat")
    return False


def _prefixes(script: Script, joint: int) -> Iterator[str]:
    """Yield the beginnings of names that a joint composes, and ``""`` where there may be others."""
    before, left = script.tokens[joint - 1], script.tokens[joint - 2]
    is_name = before == "+" and script.kinds_of[left] is Kind.WORD
    values = list(_values(script, left)) if is_name else [None]
    hyphen = string_content(script.tokens[joint])
    yield from (value + hyphen for value in values if value)
    if None in values or not values:
        yield ""


def _values(script: Script, name: str) -> Iterator[str | None]:
    """Yield the strings that a variable or property gets, and ``None`` for other values."""
    tokens = script.tokens
    for place in script.structure.places(name) if script.structure else ():
        if place + 2 < len(tokens) and tokens[place + 1] in ("=", ":"):
            value = tokens[place + 2]
            yield string_content(value) if script.kinds_of[value] is Kind.STRING else None


# ---- The strings that a script joins to another, where it writes all of them out

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
    for value in chain.from_iterable(
        _joined_values_of(script, each, key) for each in script.places(script.text(place))
    ):
        if value is None:  # mostly at once: a minified bundle has a hundred thousand places of a name
            return None
        values.add(value)
    return frozenset(filter(None, values)) if values else None


def _joined_values_of(script: Structure, place: int, key: str) -> Iterator[str | None]:
    """Yield the strings that a variable, or its property ``key``, gets at ``place``; ``None`` for what is not known."""
    before, after = script.text(place - 1), script.text(place + 1)
    if before in _MEMBER:
        yield None
    elif after == "=":
        for span in _choices(script, (place + 2, script.expression_end(place + 2))):
            yield from _joined_properties(script, span, key) if key else (_string(script, span),)
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


def _joined_properties(script: Structure, span: Span, key: str) -> Iterator[str | None]:
    """Yield the value of a property of an object literal, ``None`` if there may be another."""
    if script.text(span[0]) != "{" or script.pairs.get(span[0]) != span[1] - 1:
        yield None
        return
    for start, end in script.arguments(span[0]):
        if script.text(start + 1) != ":":
            yield None
        elif script.text(start).strip("\"'") == key:
            yield _string(script, (start + 2, end))
