"""The names (of classes, ids, attributes, elements) that a page's scripts are likely to bring into it as it loads.

They are the words of the scripts' strings and templates, the names of properties (``{active: true}``, ``e.hidden =
true``, ``e.dataset.openPanel``; ``{NavBar: …}`` as ``nav-bar``, too), and names composed of such a word and of pieces
of strings that end or begin with a hyphen or underscore (``"fa-" + icon``, ``"is-" + type + "-submenu" + "-item"``).
Others may come as well: what is missed here costs a request, and no rule (``wait.js``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from adaptc.core.values import dataclass
from adaptc.formats.script.lexer import Kind
from adaptc.formats.script.script import Script, string_content

__all__ = ["DATASET", "LikelyNames", "Names", "hyphenated", "names_of_script", "names_of_text"]

_WORD = re.compile(r"[A-Za-z_][\w-]*+")
# What a selector looks up is there already; where elements are made, "a.navbar" is one to make (HyperScript's notation)
_MADE = re.compile(r"^[a-z][a-z0-9]*+((?:\.[A-Za-z_][\w-]*+)++)$", re.MULTILINE)
_LOOKUP = re.compile(r"[.#][A-Za-z_][\w-]*+")
_PIECE = re.compile(r"(?<![\w-])(?:[A-Za-z][\w-]*+(?<=[-_])|[-_]+[A-Za-z][\w-]*+)")
_JOINT = re.compile(r"(?<=[-_])(?![-_])|(?<![-_])(?=[-_])")
_MOST_JOINTS = 16  # of a name that is composed
_PROPERTY = re.compile(r"[{,]([A-Za-z_]\w*+):|\.([A-Za-z_]\w*+)=(?!=)")
DATASET = re.compile(r'\bdataset(?:\.|\[")([\w$-]++)')
_CAPITAL = re.compile(r"[A-Z]")
_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one text: whole ones, and pieces of composed ones."""

    words: frozenset[str] = frozenset()
    pieces: frozenset[str] = frozenset()


class LikelyNames:
    """A container of the names that texts are likely to bring in together; ``folds`` says that case does not count."""

    def __init__(self, parts: Sequence[Names], *, folds: bool = False) -> None:
        self._folds = folds
        self._words = frozenset(map(self._fold, frozenset().union(*(part.words for part in parts))))
        self._pieces = frozenset(map(self._fold, frozenset().union(*(part.pieces for part in parts))))
        self._cache: dict[object, bool] = {}

    def _fold(self, name: str) -> str:
        return name.lower() if self._folds else name

    def __contains__(self, name: object) -> bool:
        result = self._cache.get(name)
        if result is None:
            words = _WORD.findall(self._fold(str(name)))  # "md:flex" has two
            result = self._cache[name] = bool(words) and all(map(self._is_likely, words))
        return result

    def _is_likely(self, word: str) -> bool:
        """Whether a word is one of the scripts, after and before any number of pieces."""
        if self._has(word):
            return True
        joints = [0, *(joint.start() for joint in _JOINT.finditer(word)), len(word)]
        if len(joints) > _MOST_JOINTS:
            return False
        starts, ends = {0}, {len(word)}
        for first, second in combinations(joints, 2):
            if first in starts and word[first:second] in self._pieces:
                starts.add(second)
        for first, second in reversed(list(combinations(joints, 2))):
            if second in ends and word[first:second] in self._pieces:
                ends.add(first)
        return any(first < second and self._has(word[first:second]) for first in starts for second in ends)

    def _has(self, word: str) -> bool:
        return word in self._words or word.rstrip(_DIGITS) in self._words


def names_of_text(text: str) -> Names:
    """Return the names in a text that scripts read: markup, JSON, attributes."""
    return Names(frozenset(_WORD.findall(text)), frozenset(_PIECE.findall(text)))


def names_of_script(script: Script) -> Names:
    """Return the names that a script is likely to bring in."""
    if not script.lexes:
        return names_of_text(script.text)
    strings = "\n".join(map(string_content, script.texts_of(Kind.STRING, Kind.TEMPLATE)))
    names = names_of_text(_LOOKUP.sub(" ", strings))
    made = _MADE.findall(strings) if "createElement" in script.text else ()
    return Names(names.words.union(_properties(script.code), _WORD.findall(" ".join(made))), names.pieces)


def _properties(code: str) -> Iterator[str]:
    """Yield names of properties that a script defines or sets, with hyphens as well; those of ``dataset`` so alone."""
    for match in _PROPERTY.finditer(code):
        name = match[1] or match[2]
        yield name
        yield hyphenated(name).removeprefix("-")
    for name in DATASET.findall(code):
        yield "data-" + hyphenated(name)


def hyphenated(name: str) -> str:
    """Return a name in capitals as it is with hyphens (HTML, 3.2.6.6: ``openPanel`` is ``open-panel``)."""
    return _CAPITAL.sub(lambda capital: f"-{capital[0].lower()}", name)
