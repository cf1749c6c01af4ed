"""The names by which a script finds elements of its page (selectors, addresses of files), and those that it brings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from adaptc.core.values import dataclass, fields, pattern
from adaptc.formats.script.lexer import Kind, unescape
from adaptc.formats.script.script import Script, string_content

__all__ = [
    "WORD", "Handles", "LikelyNames", "file_selectors", "find_handles", "lookup_names", "names_of_script",
    "selects_file", "union_of",
]  # fmt: skip

_WORD = pattern(r"[\w-]+")
_ADDRESS = pattern(
    r"""\.(?:src|href|sheet|media|onload|attributes|outerHTML)\b|["'](?:src|href|media|load|onload)["']"""
)


def lookup_names(script: Script) -> frozenset[str]:
    """Return the words of a script's strings and templates, and the ``data-`` attributes that it reads.

    Among them is every id, class or attribute that the script writes out, in a selector as well. A script that asks
    for no address, medium or load event cannot tell an inline element from one with a file: it has none. A text that
    does not lex counts as one string.
    """
    if not script.lexes:
        return frozenset(_WORD.findall(script.text))
    if not _ADDRESS.search(script.code):
        return frozenset()
    strings = map(unescape, script.texts_of(Kind.STRING, Kind.TEMPLATE))
    words = chain.from_iterable(map(_WORD.findall, strings))
    return frozenset(chain(words, (f"data-{_hyphenated(name)}" for name in _DATASET.findall(script.code))))


# ---- The handles by which a script may take hold of elements of its page: ids, classes and attributes in selectors

_NAME = pattern(r"[A-Za-z_][\w-]*\Z")
_MARKED = pattern(r"([#.\[])([A-Za-z_][\w-]*)")
_CLASS_NAMES = pattern(r'getElementsByClassName\("([^"]*)"\)')
# $("img"), list.find(".gallery > img:first"), on("click", "img[alt]", f)
_IMAGES = pattern(r'(?:(?<!createElement)\(|,)"((?:[^"<]*[\s>,])?img(?:[.:\[#,\s][^"<]*)?)"')
_ALL_IMAGES = pattern(r"\bdocument\.images\b")


@dataclass(frozen=True, slots=True)
class Handles:
    """Names in selectors, and the ``selectors`` for images by their tag. A whole string may be an id.

    ``variables`` may be ids, too: a window has its elements as properties (HTML, 7.2.2.3).
    """

    ids: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    selectors: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()

    def may_be_id(self, name: object) -> bool:
        """Whether a script may find an element by its id."""
        return name in self.ids or name in self.variables


# Bootstrap's carousel (versions 4 and 5) gives and takes classes of its slides, and keeps their images from being
# dragged: it changes neither the images nor what is around them
_SLIDES = (".carousel-item", ".carousel-item img")
_STARTS_CAROUSEL = frozenset({"data-ride", "data-bs-ride"})


def is_carousel(strings: Iterable[str]) -> bool:
    """Whether a script with these strings has Bootstrap's carousel."""
    texts = frozenset(strings)
    return not texts.isdisjoint(_SLIDES) and any(text.endswith("bs.carousel") for text in texts)


def find_handles(script: Script) -> Handles:
    """Return the handles that a script has."""
    strings = [unescape(text[1:-1]) for text in script.texts_of(Kind.STRING, Kind.TEMPLATE)]
    marked: dict[str, set[str]] = {"#": set(), ".": set(), "[": set()}
    for sign, name in chain.from_iterable(map(_MARKED.findall, strings or [script.code])):
        marked[sign].add(name)
    classes = {name for names in _CLASS_NAMES.findall(script.code) for name in names.split()}
    selectors = {*_IMAGES.findall(script.code), *(["img"] if _ALL_IMAGES.search(script.code) else [])}
    if is_carousel(strings):
        selectors -= set(_SLIDES)
        marked["."] = {name for name in marked["."] if not name.startswith("carousel") and name != "active"}
        marked["["] -= _STARTS_CAROUSEL
    return Handles(
        frozenset(marked["#"] | set(filter(_NAME.match, strings))),
        frozenset(marked["."] | classes),
        frozenset(marked["["]),
        frozenset(selectors),
        frozenset(_VARIABLE.findall(script.code)),
    )


# hero.src, window.hero.src; not this.hero.src
_VARIABLE = pattern(r"(?<![\w$.])(?:(?:document|self|window)\.)?([A-Za-z_]\w*+)\.(?=[A-Za-z])")


def union_of(parts: Sequence[Handles]) -> Handles:
    """Return the handles that scripts have together."""
    names = (each.name for each in fields(Handles))
    return Handles(*(frozenset[str]().union(*(getattr(part, name) for part in parts)) for name in names))


# ---- Selectors by which a script finds links and scripts by their files
# An element without a file is not found that way. Selectors with the name of another element (``a[href="…"]``) do not
# count, and those that name no file are of links to pages, as a rule.

_SELECTOR = pattern(
    r"""(?<![\w.#:-])([\w-]*+)(?>(?:[.#:]++[\w-]*+)*)\[\s*+(href|src)\s*+([~*^|$]?=)\s*+["']?([^"'\]]{0,300})(["'\]])?"""
)
_ELEMENTS = frozenset({"", "link", "script"})
_OF_LOADER = '`link[href="${'
_ENDINGS = {"href": re.compile(r"\.css\b"), "src": re.compile(r"\.m?js\b")}
# Selectors 4, section 6: what a value does to an attribute
_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "=": str.__eq__,
    "~=": lambda text, value: value in text.split(),
    "|=": lambda text, value: text == value or text.startswith(f"{value}-"),
    "^=": str.startswith,
    "$=": str.endswith,
    "*=": str.__contains__,
}


def file_selectors(script: Script) -> frozenset[str]:
    """Return the selectors by addresses in a script's strings, as ``href$=theme.css``.

    Of a value that is put together (``'[href$="' + name + '.css"]'``) the file's ending counts, wherever it is written.
    Vite's loader of chunks looks for files that it is about to load, which it names.
    """
    is_loader = '"modulepreload"' in script.code
    texts = [unescape(text) for text in script.texts_of(Kind.STRING, Kind.TEMPLATE)] if script.lexes else [script.text]
    found = {each for text in texts if not (is_loader and text == _OF_LOADER) for each in _selectors(text)}
    composed = {
        f"{name}*={ending[0]}"
        for name, pattern in _ENDINGS.items()
        for ending in (map(pattern.search, texts) if name in found else ())
        if ending is not None
    }
    return frozenset(found - _ENDINGS.keys() | composed)


def _selectors(text: str) -> Iterator[str]:
    """Yield the selectors of a string; of those whose value is put together, the name of the attribute."""
    for element, name, operator, value, end in _SELECTOR.findall(text):
        if element.lower() in _ELEMENTS:
            yield f"{name}{operator}{value}" if value and end and "${" not in value else name


def selects_file(selectors: Iterable[str], name: str, address: str) -> bool:
    """Whether one of the ``selectors`` of scripts finds an element by its attribute ``name`` with this value."""
    for selector in selectors:
        found = _PARTS.fullmatch(selector)
        if found is not None and found[1] == name and _OPERATORS[found[2]](address, found[3]):
            return True
    return False


_PARTS = pattern(r"(href|src)([~*^|$]?=)([\s\S]+)")


# ---- The names (of classes, ids, attributes, elements) that a page's scripts are likely to bring into it as it loads
# They are the words of the scripts' strings and templates, and the names of properties (``{active: true}``,
# ``e.hidden = true``, ``e.dataset.openPanel``; ``{NavBar: …}`` as ``nav-bar``, too). Others may come as well, as those
# that a script composes otherwise: what is missed here costs a request, and no rule (``wait.js``).

WORD = re.compile(r"[A-Za-z_][\w-]*+")
# What a selector looks up is there already
_LOOKUP = pattern(r"[.#][A-Za-z_][\w-]*+")
_PROPERTY = pattern(r"[{,]([A-Za-z_]\w*+):|\.([A-Za-z_]\w*+)=(?!=)")
_DATASET = pattern(r'\bdataset(?:\.|\[")([\w$-]++)')


class LikelyNames:
    """A container of the names that are among ``words``; ``folds`` says that case does not count.

    Of a name such as ``md:flex`` both words must be there, or the name. A word may end in a number, or begin as
    ``alert-`` or ``card__title--`` does.
    """

    def __init__(self, words: Iterable[str], *, folds: bool = False) -> None:
        self._fold = str.lower if folds else str
        self._words = frozenset(map(self._fold, words))

    def __contains__(self, name: object) -> bool:
        folded = self._fold(str(name))
        words = WORD.findall(folded)
        return folded.lstrip(".#[") in self._words or (bool(words) and all(map(self._is_likely, words)))

    def _is_likely(self, word: str) -> bool:
        if word in self._words or word.rstrip("0123456789") in self._words:
            return True
        ends = (place for place, character in enumerate(word, 1) if character == "-")
        return any(word[:end] in self._words and self._words.issuperset(word[end:].split("-")) for end in ends)


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
        yield _hyphenated(name).removeprefix("-")
    for name in _DATASET.findall(code):
        yield "data-" + _hyphenated(name)


def _hyphenated(name: str) -> str:
    """Return a name in capitals as it is with hyphens (HTML, 3.2.6.6: ``openPanel`` is ``open-panel``)."""
    return re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", name)
