"""The names (of classes, ids, attributes, elements) that a page's scripts are likely to bring into it as it loads.

They are the words of the scripts' strings and templates, and the names of properties (``{active: true}``, ``e.hidden =
true``, ``e.dataset.openPanel``; ``{NavBar: …}`` as ``nav-bar``, too). Others may come as well, as those that a script
composes otherwise: what is missed here costs a request, and no rule (``wait.js``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from adaptc.formats.script.lexer import Kind
from adaptc.formats.script.script import Script, string_content

__all__ = ["DATASET", "WORD", "LikelyNames", "hyphenated", "names_of_script"]

WORD = re.compile(r"[A-Za-z_][\w-]*+")
# What a selector looks up is there already
_LOOKUP = re.compile(r"[.#][A-Za-z_][\w-]*+")
_PROPERTY = re.compile(r"[{,]([A-Za-z_]\w*+):|\.([A-Za-z_]\w*+)=(?!=)")
DATASET = re.compile(r'\bdataset(?:\.|\[")([\w$-]++)')


class LikelyNames:
    """A container of the names that are among ``words``; ``folds`` says that case does not count.

    Of a name such as ``md:flex`` both words must be there. A word may end in a number, or begin as ``alert-`` does.
    """

    def __init__(self, words: Iterable[str], *, folds: bool = False) -> None:
        self._fold = str.lower if folds else str
        self._words = frozenset(map(self._fold, words))

    def __contains__(self, name: object) -> bool:
        words = WORD.findall(self._fold(str(name)))
        return bool(words) and all(map(self._is_likely, words))

    def _is_likely(self, word: str) -> bool:
        head, _, rest = word.partition("-")
        is_composed = f"{head}-" in self._words and self._words.issuperset(rest.split("-"))
        return is_composed or word in self._words or word.rstrip("0123456789") in self._words


def names_of_script(script: Script) -> frozenset[str]:
    """Return the names that a script is likely to bring in."""
    if not script.lexes:
        return frozenset(WORD.findall(script.text))
    strings = "\n".join(map(string_content, script.texts_of(Kind.STRING, Kind.TEMPLATE)))
    return frozenset(WORD.findall(_LOOKUP.sub(" ", strings))).union(_properties(script.code))


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
    return re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", name)
