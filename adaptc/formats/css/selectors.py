"""Static selectors: what to match with a page to learn whether a rule can ever apply to it (Selectors 4).

Pseudo-elements and pseudo-classes of states (``:hover``, ``:checked``, ``:target``, everything unknown) are dropped, so
that the static selector matches at least what the original can match. In ``:not()`` this would match less, so there the
whole ``:not()`` is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from adaptc.core.values import dataclass, pattern
from adaptc.formats.css.scanner import NAME, SPACE, unescape

__all__ = ["AddressSelectors", "name_selector", "required_names", "selector_names", "static_selectors"]

# Pseudo-classes that depend on the structure of the page only
_STRUCTURAL = frozenset({
    "root", "empty", "first-child", "last-child", "only-child", "first-of-type", "last-of-type", "only-of-type",
})  # fmt: skip
_COUNTING = frozenset({"nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"})
_LISTS = frozenset({"is", "where", "has"})
# Attributes that change by user action: details and dialogs open
_STATES = frozenset({"open"})

_TOKEN = pattern(
    rf"(?P<comment>/\*(?:[^*]|\*(?!/))*\*/)"
    rf"|(?P<combinator>{SPACE}*+(?:\|\||[>+~]){SPACE}*+)"
    rf"|(?P<space>{SPACE}++)"
    rf"|(?P<comma>,)"
    rf"|(?P<end>\))"
    rf"|(?P<nesting>&)"
    rf"|\.(?P<class>{NAME})"
    rf"|\#(?P<id>{NAME})"
    rf"|\[{SPACE}*+(?P<attribute>{NAME}){SPACE}*+(?>(?:[~|^$*]?=(?>(?:[^\]\"'\\]|\\.|\"[^\"\\]*\"|'[^'\\]*')*))?)\]"
    rf"|(?P<pseudo>::?+{NAME})(?>(?P<call>\()?)"
    rf"|(?P<type>(?>(?:(?>(?:{NAME}|\*)?)\|(?!\|))?)(?:{NAME}|\*))"
)


class Part(NamedTuple):
    """A simple selector or a combinator; ``inner`` are the alternatives of ``:is()`` and similar functions."""

    kind: str
    name: str
    source: str
    inner: tuple[tuple[Part, ...], ...] = ()


Complex = tuple[Part, ...]


# Functions nested deeper than in any real selector
_MAX_DEPTH = 32
# Characters of the selectors around a nested rule, for each place in which they are written. Each ``&``, and each
# selector of a list, writes them all again, so that their length may grow exponentially with the depth.
_MAX_PARENTS = 1 << 16


class UnknownSelectorError(Exception):
    """The text is no selector, or has unknown syntax."""


# Plain selectors take a tenth of the time of others, and are nearly all: types, classes and ids, and pseudo-classes and
# pseudo-elements after them
_PLAIN_NAME = r"-?[A-Za-z_][-\w]*+"
_COMPOUND = rf"(?:{_PLAIN_NAME}|\*|[.#]{_PLAIN_NAME})(?>(?:[.#]{_PLAIN_NAME}|::?{_PLAIN_NAME})*)"
_PLAIN = rf"{_COMPOUND}(?>(?:{SPACE}*+(?:[>+~]|(?<={SPACE})){SPACE}*+{_COMPOUND})*)"
_PLAIN_LIST = pattern(rf"{SPACE}*+{_PLAIN}{SPACE}*+(?>(?:,{SPACE}*+{_PLAIN}{SPACE}*+)*)", re.ASCII)
_STATE = pattern(rf":(?::|(?!(?:{'|'.join(sorted(_STRUCTURAL))})(?![-\w]))){_PLAIN_NAME}", re.ASCII | re.IGNORECASE)
_PSEUDO = pattern(rf":{_PLAIN_NAME}", re.ASCII)
_PLAIN_NAMES = pattern(rf"[.#]?{_PLAIN_NAME}", re.ASCII)
_SUBJECT = pattern(r"[^ \t\n\r\f>+~]+\Z")
_SPACES = " \t\n\r\f"


@lru_cache(maxsize=1 << 14)
def static_selectors(prelude: str, parents: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the static form of each selector of a rule, or ``()`` if one is unknown.

    ``parents`` are the static selectors of the rule around a nested one (CSS Nesting 1), to which ``&`` refers. Where
    they are too long, they are left out: the result matches more then.
    """
    if not parents and _PLAIN_LIST.fullmatch(prelude):
        return tuple(dict.fromkeys(each.strip(_SPACES) for each in _STATE.sub("", prelude).split(",")))
    if parents and sum(map(len, parents)) * (1 + prelude.count(",") + prelude.count("&")) > _MAX_PARENTS:
        parents = ()
    try:
        selectors = _parse(prelude)
    except UnknownSelectorError:
        return ()
    return tuple(dict.fromkeys(_static_selector(selector, parents) for selector in selectors))


class Names(NamedTuple):
    """The names of one selector of ``static_selectors``: ``.class``, ``#id``, ``[attribute``, ``type`` (lower case).

    ``required`` are those that a page must have for it to match; names in ``:is()`` and similar functions are
    alternatives, and not required. ``subject`` is the rarest of those that the element itself must have: its id, a
    class or the type; ``""`` if there is none. Rules are found by it, as in browsers (Chromium's ``RuleSet``).
    """

    required: frozenset[str] = frozenset()
    subject: str = ""


@lru_cache(maxsize=1 << 16)
def selector_names(selector: str) -> Names:
    """Return the names of a static selector, without escapes."""
    if _PLAIN_LIST.fullmatch(selector):
        bare = _PSEUDO.sub("", selector)
        match = _SUBJECT.search(bare)
        return _names_of(_plain_names(bare), _plain_names(match[0] if match else ""))
    try:
        parts = _parse(selector)[0]
    except UnknownSelectorError:
        return Names()
    combinators = [index for index, part in enumerate(parts) if part.kind in ("combinator", "space")]
    return _names_of(list(_names(parts)), list(_names(parts[combinators[-1] + 1 :] if combinators else parts)))


def _names_of(required: Sequence[str], subject: Sequence[str]) -> Names:
    marked = [name for name in subject if name[0] != "["]
    return Names(frozenset(required), max(reversed(marked), key=lambda name: ".#".find(name[0]), default=""))


def _plain_names(text: str) -> list[str]:
    return [name if name[0] in ".#" else name.lower() for name in _PLAIN_NAMES.findall(text)]


def required_names(selector: str) -> frozenset[str]:
    """Return the names that a page must have for a static selector to match."""
    return selector_names(selector).required


@lru_cache(maxsize=1 << 14)
def name_selector(name: str) -> str:
    """Return one of ``required_names`` as a selector (CSSOM, "serialize an identifier")."""
    mark = name[0] if name[0] in ".#[" else ""
    body = name[len(mark) :]
    escaped = "".join(
        c if c in "-_" or c >= "\x80" or (c.isalnum() and (index or not c.isdigit())) else f"\\{ord(c):x} "
        for index, c in enumerate(body)
    )
    return f"{mark}{escaped}]" if mark == "[" else mark + escaped


def _parse(prelude: str) -> list[Complex]:
    parser = _Parser(prelude)
    selectors = parser.alternatives(0)
    if parser.position != len(prelude) or not all(selectors):
        raise UnknownSelectorError
    return selectors


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def alternatives(self, depth: int) -> list[Complex]:
        """Parse up to the end, or to the ``)`` that closes a function at ``depth``."""
        selectors: list[list[Part]] = [[]]
        while self.position < len(self.text):
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                raise UnknownSelectorError
            self.position = match.end()
            if match.lastgroup == "end":
                if not depth:
                    raise UnknownSelectorError
                break
            if match.lastgroup == "comma":
                selectors.append([])
            elif match.lastgroup != "comment":
                selectors[-1].append(self._part(match, depth))
        return [_trim(parts) for parts in selectors]

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
            if depth == _MAX_DEPTH:
                raise UnknownSelectorError
            return Part("list", name, match["pseudo"], tuple(self.alternatives(depth + 1)))
        self.position = _closing(self.text, self.position)
        return Part("function", name, self.text[match.start() : self.position])


def _closing(text: str, position: int) -> int:
    """Return the position after the ``)`` of a function; strings and escapes are too rare to parse."""
    depth = 1
    for index in range(position, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if text[index] in "\"'\\":
            break
        if not depth:
            return index + 1
    raise UnknownSelectorError


def _trim(parts: list[Part]) -> Complex:
    while parts and parts[0].kind == "space":
        parts.pop(0)
    while parts and parts[-1].kind == "space":
        parts.pop()
    if parts and parts[-1].kind == "combinator":
        raise UnknownSelectorError
    return tuple(parts)


def _static_selector(parts: Complex, parents: tuple[str, ...]) -> str:
    if not parents:
        return "".join(_static_parts(parts))
    parent = parents[0] if len(parents) == 1 and parents[0].isidentifier() else f":is({','.join(parents)})"
    selector = "".join(_static_parts(parts, parent))
    if _has_nesting(parts):
        return selector
    return parent + ("" if parts[0].kind == "combinator" else " ") + selector


def _has_nesting(parts: Complex) -> bool:
    return any(part.kind == "nesting" or any(map(_has_nesting, part.inner)) for part in parts)


def _static_parts(parts: Sequence[Part], parent: str = "*") -> Iterator[str]:
    """Yield the static parts as text; a compound without any is ``*``."""
    is_empty = True
    for index, part in enumerate(parts):
        if part.kind in ("combinator", "space"):
            yield "*" if is_empty and index else ""
            yield part.source
            is_empty = True
            continue
        text = _static_part(part, parent)
        # A type selector must be first in its compound, but "&" need not be.
        yield f":is({text})" if not is_empty and part.kind == "nesting" else text
        is_empty = is_empty and not text
    if is_empty:
        yield "*"


def _static_part(part: Part, parent: str) -> str:
    if part.kind == "nesting":
        return parent if parent != "*" else ""
    if part.kind == "list":
        return _static_list(part, parent)
    return part.source if _is_static(part) else ""


def _static_list(part: Part, parent: str) -> str:
    if part.name == ":not" and not all(_is_static(inner) for parts in part.inner for inner in parts):
        return ""
    inner = ["".join(_static_parts(parts, parent)) for parts in part.inner]
    return f"{part.source}({','.join(inner)})" if inner and all(part.inner) else ""


def _is_static(part: Part) -> bool:
    """Whether a part depends on the structure of the page only, and turbohtml matches it correctly."""
    if part.kind == "attribute":
        # In turbohtml an SVG attribute with capitals (viewBox) matches nothing.
        return part.name == part.name.lower() and part.name not in _STATES
    if part.kind == "pseudo":
        return part.name[1:] in _STRUCTURAL
    if part.kind == "function":
        return part.name[1:] in _COUNTING and " of " not in part.source
    if part.kind == "list":
        return all(_is_static(inner) for parts in part.inner for inner in parts)
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


# Attribute selectors that look at the addresses of images: ``img[src$=".jpg"]`` (Selectors 4, section 6).
#
# A pass that gives an image another address asks which images such a selector may then take for others. ``[src^=""]``
# of Owl Carousel matches nothing, ``iframe[src*="youtube"]`` no image, and ``[src]`` each one that has any address.


_NAMES = ("src", "srcset", "sizes")
_START = pattern(rf"\[{SPACE}*(?:{'|'.join(_NAMES)})(?![\w-])", re.IGNORECASE)
_TEST = pattern(
    rf"\[{SPACE}*(?P<name>{'|'.join(_NAMES)}){SPACE}*"
    rf"(?:(?P<operator>[~|^$*]?=){SPACE}*(?:\"(?P<double>[^\"\\\n]*)\"|'(?P<single>[^'\\\n]*)'|(?P<bare>[\w-]+))"
    rf"{SPACE}*[is]?{SPACE}*)?\]",
    re.IGNORECASE,
)
# Selectors 4, 6.2: with an empty value these match nothing, nor does ``~=`` with one that has white space.
_MATCHES: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda text, value: text == value,
    "~=": lambda text, value: value in text.split(),
    "|=": lambda text, value: text == value or text.startswith(f"{value}-"),
    "^=": lambda text, value: value != "" and text.startswith(value),
    "$=": lambda text, value: value != "" and text.endswith(value),
    "*=": lambda text, value: value != "" and value in text,
}

# What the new addresses are like, a copy's and a data URI's: ``../_adaptc/0f3a.webp``, ``data:image/png;base64,AAAA``.
# A value that is part of one may match it. Digits and Base64 may hold any short run of characters.
_KINDS = ("avif", "gif", "jpeg", "jpg", "png", "webp", "svg+xml")
_STARTS = ("data:image/", "../", "_adaptc/")
_RUN = pattern(r"[\w+/=]{0,4}|[0-9a-f]{5,8}")
_MEDIA = pattern(rf"data:image/(?:{'|'.join(map(re.escape, _KINDS))})[;,]?(?:base64,)?")
_END = pattern(rf"[0-9a-f]*\.(?:{'|'.join(_KINDS[:-1])})")
_LENGTH = pattern(r"[\d.]*(?:px)?")


@dataclass(frozen=True, slots=True)
class AddressTest:
    """One attribute selector, in lower case; ``operator`` is ``None`` for one of presence."""

    name: str
    operator: str | None = None
    value: str = ""

    def may_change(self, attributes: Mapping[str, Any]) -> bool:
        """Whether an image may match before another address is written, and not after, or the other way round."""
        if self.operator is None:
            return self.name != "src" or "src" not in attributes  # with srcset and sizes it chooses among copies
        text = str(attributes.get(self.name) or "").lower()
        return _MATCHES[self.operator](text, self.value) or self._may_match_new()

    def _may_match_new(self) -> bool:
        value = self.value
        if not value or self.operator in ("=", "~=", "|="):
            return False
        if self.name == "sizes":
            return _LENGTH.fullmatch(value) is not None
        if self.operator == "^=":
            return value.startswith(_STARTS) or any(start.startswith(value) for start in _STARTS)
        if self.operator == "$=":
            return _RUN.fullmatch(value) is not None or _END.fullmatch(value) is not None
        known = (*_KINDS, "data:image/", ";base64,", "/_adaptc/")
        is_part = any(value in each or each in value for each in known)
        return is_part or _RUN.fullmatch(value) is not None or _MEDIA.search(value) is not None


@dataclass(frozen=True, slots=True)
class AddressSelectors:
    """The attribute selectors of sheets that look at addresses; ``None`` where one could not be read."""

    tests: frozenset[AddressTest] | None

    @classmethod
    def of(cls, sheets: Iterable[str]) -> AddressSelectors:
        """Return those in the texts of sheets."""
        found = [_tests(text) for text in sheets]
        known = [tests for tests in found if tests is not None]
        return cls(frozenset().union(*known) if len(known) == len(found) else None)

    @property
    def need_src(self) -> bool:
        """Whether one asks if an image has a ``src`` at all."""
        return self.tests is None or any(test.name == "src" and test.operator is None for test in self.tests)

    def may_choose(self, attributes: Mapping[str, Any], *, has_new_src: bool = True) -> bool:
        """Whether other addresses, that in ``src`` among them, may change which selectors match an image."""
        if self.tests is None:
            return True
        return any(test.may_change(attributes) for test in self.tests if has_new_src or test.name != "src")


@lru_cache(maxsize=256)
def _tests(text: str) -> frozenset[AddressTest] | None:
    starts = [match.start() for match in _START.finditer(text)]
    matches = [_TEST.match(text, start) for start in starts]
    if None in matches:
        return None
    return frozenset(_test(match) for match in matches if match is not None)


def _test(match: re.Match[str]) -> AddressTest:
    value = next((match[name] for name in ("double", "single", "bare") if match[name] is not None), "")
    return AddressTest(match["name"].lower(), match["operator"], value.lower())
