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
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from adaptc.formats.script.code_text import unescape
from adaptc.formats.script.joined_values import joined_values
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.structure import structure
from adaptc.formats.script.tokens import Token, tokenize

__all__ = ["ScriptNames"]

_WORD = re.compile(r"[A-Za-z_][\w-]*")
_BEGINNING = re.compile(r"([A-Za-z][\w-]*[-_])(?=[\"'`$\\<{%# ]|\Z)")
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
class _Names:
    """The names of one text: whole ones, beginnings and ends of composed ones, and words that it may join.

    What follows the ``beginnings`` may be anything, what follows the ``starts`` is in the scripts or the page.
    """

    words: frozenset[str]
    beginnings: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()


class ScriptNames:
    """A container of the names that ``scripts`` may bring in, or ``texts`` that they read: markup, JSON, attributes.

    ``of_page`` is the container for a page with these scripts.
    """

    def __init__(self, scripts: Iterable[str], texts: Iterable[str] = ()) -> None:
        names = [*map(_names_of_script, scripts), *map(_names_of_text, texts)]
        self._words = frozenset().union(*(each.words for each in names))
        self._beginnings = tuple(sorted({beginning for each in names for beginning in each.beginnings}))
        starts = frozenset().union(*(each.starts for each in names))
        self._starts = tuple(sorted(start for start in starts if not start.startswith(self._beginnings)))
        self._pieces = frozenset(chain.from_iterable(map(_pieces, self._words))) if self._starts else frozenset()
        self._ends = tuple(sorted({end for each in names for end in each.ends}))
        self._joined = frozenset().union(*(each.joined for each in names))
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
    return frozenset(piece.lower() for piece in _PIECE.findall(text))


@lru_cache(maxsize=512)
def _names_of_text(text: str) -> _Names:
    return _Names(
        frozenset(_WORD.findall(text)), frozenset(_BEGINNING.findall(text)), ends=frozenset(_END.findall(text))
    )


@lru_cache(maxsize=512)
def _names_of_script(text: str) -> _Names:
    tokens = tokenize(text)
    if tokens is None:
        names = _names_of_text(text)
        return _Names(names.words, names.beginnings, ends=names.ends, joined=names.words)
    tokens = [token for token in tokens if token.kind is not Kind.COMMENT]
    strings = [_content(token) for token in tokens if token.kind in _TEXTS]
    patterns = [token.text for token in tokens if token.kind is Kind.REGEX]
    properties = frozenset(_properties(tokens))
    joints = [prefixes for joint in _joints(tokens) for prefixes in _prefixes(tokens, joint)]
    written = _written_names(tokens, text)
    beginnings = frozenset(chain(filter(None, joints), *map(_BEGINNING.findall, strings))) - written.keys()
    is_open = any(token.kind is Kind.WORD and _ELSEWHERE.fullmatch(token.text) for token in tokens)
    return _Names(
        properties.union(*map(_WORD.findall, chain(strings, patterns)), *written.values()),
        beginnings if is_open else frozenset(),
        frozenset() if is_open else beginnings,
        frozenset(chain.from_iterable(map(_END.findall, strings))),
        _parts(strings).union(_keys(tokens)) if "" in joints else frozenset(),
    )


def _content(token: Token) -> str:
    """Return the text of a string, or of a piece of a template."""
    return unescape(token.text[1:].removesuffix("${") if token.text.endswith("${") else token.text[1:-1])


def _parts(strings: Iterable[str]) -> frozenset[str]:
    """Return the words that a script may join to names: its strings of words alone."""
    return frozenset(word for string in strings if _WORDS.match(string) for word in string.split())


def _properties(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield names of properties that a script defines or sets; those of ``dataset`` also as attributes."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.kind is not Kind.WORD:
            continue
        if after.text == ":" or (after.text == "=" and before.text == "."):
            yield token.text
        if before.text in (".", "?.") and _CAPITAL.search(token.text):
            yield f"data-{_CAPITAL.sub(_hyphenate, token.text)}"


def _keys(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the keys of objects whose values are no functions."""
    for token, after, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.kind is Kind.WORD and after.text == ":" and value.text not in _FUNCTIONS:
            yield token.text


def _hyphenate(capital: re.Match[str]) -> str:
    return f"-{capital[0].lower()}"


def _written_names(tokens: Sequence[Token], text: str) -> dict[str, set[str]]:
    """Return the names of each beginning all of whose other parts the script writes out."""
    places = [
        place for place, token in enumerate(tokens) if token.kind in _TEXTS and _BEGINNING.search(_content(token))
    ]
    script = structure(text) if places else None
    written: dict[str, set[str]] = {}
    others: set[str] = set()
    if script is None:
        return written
    for place in places:
        content = _content(tokens[place])
        for match in _BEGINNING.finditer(content):
            is_joint = match.end() == len(content) and place + 2 < len(tokens) and tokens[place + 1].text == "+"
            values = joined_values(script, place + 2) if is_joint else None
            written.setdefault(match[1], set()).update(match[1] + value for value in values or ())
            others.update((match[1],) if values is None else ())
    return {beginning: names for beginning, names in written.items() if beginning not in others}


# ---- names joined with hyphens and underscores


def _joints(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the places of hyphens between parts of a name.

    They are those of ``a + "-" + b``, ``a + (b ? "-" + b : "")``, ``c = a + "-"``, ``[a, b].join("_")``,
    ``"".concat(a, "-", b)`` and `${a}-${b}`; not those of comparisons (``a.indexOf(b + "-")``) and numbers.
    """
    for place in range(1, len(tokens) - 1):
        token = tokens[place]
        if token.kind in _TEXTS and _JOINT.match(token.text) and _is_joint(tokens, place):
            yield place


def _is_joint(tokens: Sequence[Token], place: int) -> bool:
    before, token, after = tokens[place - 1].text, tokens[place].text, tokens[place + 1].text
    if token[0] == "}":
        return token.endswith("${")
    if after == "+" and "++" in (following.text for following in tokens[place + 2 : place + 6]):
        return False  # a number that nothing else has: a + "_" + count++
    if before == "+":
        return after == "+" or (place > 2 and tokens[place - 3].text in _ASSIGNING)
    return (after == "+" and before in _CHOOSING) or _is_argument(tokens, place)


def _is_argument(tokens: Sequence[Token], place: int) -> bool:
    """Whether the token is an argument of ``join`` or ``concat``."""
    for opening in range(place - 1, max(place - _ARGUMENTS, 1), -1):
        if tokens[opening].text == "(":
            return tokens[opening - 1].text in ("join", "concat")
    return False


def _prefixes(tokens: Sequence[Token], joint: int) -> Iterator[str]:
    """Yield the beginnings of names that a joint composes, and ``""`` where there may be others."""
    before, left = tokens[joint - 1], tokens[joint - 2]
    values = list(_values(tokens, left.text)) if before.text == "+" and left.kind is Kind.WORD else [None]
    hyphen = _content(tokens[joint])
    yield from (value + hyphen for value in values if value)
    if None in values or not values:
        yield ""


def _values(tokens: Sequence[Token], name: str) -> Iterator[str | None]:
    """Yield the strings that a variable or property gets, and ``None`` for other values."""
    for place in range(len(tokens) - 2):
        if tokens[place].text == name and tokens[place + 1].text in ("=", ":"):
            value = tokens[place + 2]
            yield _content(value) if value.kind is Kind.STRING else None
