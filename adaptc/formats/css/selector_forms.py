"""Selectors in canonical forms: equivalent spellings are equal (see ``outline``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

from tinycss2 import parse_component_value_list

from adaptc.core.values import pattern
from adaptc.formats.css.scanner import SPACE
from adaptc.formats.css.values import Entry, canonical_tokens

__all__ = ["Selector", "is_safe_to_join", "selectors", "simple_selectors", "split_list"]

_LEGACY_PSEUDO = frozenset({"before", "after", "first-line", "first-letter"})
# Pseudo-classes and pseudo-elements that every browser knows. An unknown one makes a browser drop the whole
# rule, so rules with one must not be merged with others.
_KNOWN_PSEUDO = _LEGACY_PSEUDO | frozenset({
    "hover", "focus", "active", "visited", "link", "target", "root", "empty", "checked", "disabled",
    "enabled", "first-child", "last-child", "only-child", "first-of-type", "last-of-type",
    "only-of-type", "nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type", "not", "lang",
    "focus-within", "focus-visible", "is", "where", "required", "optional", "valid", "invalid",
    "read-only", "read-write", "indeterminate", "default", "in-range", "out-of-range",
    "placeholder", "placeholder-shown",
})  # fmt: skip


def is_safe_to_join(prelude: list[Any]) -> bool:
    """Whether every browser accepts all selectors of a list."""
    for before, token in pairwise(prelude):
        if before == ":" and token != ":" and _pseudo_name(token) not in _KNOWN_PSEUDO:
            return False
    return all(token.type not in ("error", "at-keyword") for token in prelude)


def _pseudo_name(token: Any) -> str:
    return str(token.lower_name if token.type == "function" else getattr(token, "lower_value", ""))


class Selector(tuple):  # type: ignore[type-arg]
    """A canonical complex selector: a tuple of canonical tokens."""

    __slots__ = ()


def split_list(prelude: list[Any]) -> list[list[Any]]:
    """Split the component values of a prelude at their commas."""
    pieces: list[list[Any]] = [[]]
    for token in prelude:
        if token == ",":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def selectors(prelude: list[Any]) -> list[Selector]:
    """Split a prelude at its commas and return each selector in canonical form."""
    return [Selector(_canonical_selector(piece)) for piece in split_list(prelude)]


def _canonical_selector(tokens: list[Any]) -> Iterator[Entry]:
    """Yield canonical tokens, with one space for each descendant combinator and none around others."""
    tokens = [token for token in tokens if token.type != "comment"]
    while tokens and tokens[0].type == "whitespace":
        tokens.pop(0)
    while tokens and tokens[-1].type == "whitespace":
        tokens.pop()
    for index, token in enumerate(tokens):
        if token.type == "whitespace":
            if not {">", "+", "~"} & {str(getattr(tokens[index + step], "value", "")) for step in (-1, 1)}:
                yield (" ",)
        else:
            yield from _selector_token(token, tokens, index)


def _selector_token(token: Any, tokens: list[Any], index: int) -> Iterator[Entry]:
    if token.type == "[] block":
        yield ("[]", tuple(_unquoted(part) for part in canonical_tokens(token.content)))
    elif token.type == "function":
        yield ("function", token.lower_name, tuple(selectors(token.arguments)))
    elif (token == ":" and _is_legacy_double(tokens, index)) or (token == "*" and _is_implied(tokens, index)):
        return
    elif token.type == "ident":
        yield _KEYFRAME.get(token.lower_value if len(tokens) == 1 else "", ("ident", token.value))
    elif token.type == "percentage":
        yield ("percentage", float(token.value))
    else:
        yield (token.type, token.serialize())


# Two spellings of a keyframe selector. Type selectors of these names get the same form, which is harmless.
_KEYFRAME: dict[str, Entry] = {"from": ("percentage", 0.0), "to": ("percentage", 100.0)}


def _unquoted(part: Entry) -> Entry:
    return ("ident", part[1]) if part[0] == "string" else part


def _is_implied(tokens: list[Any], index: int) -> bool:
    """Whether the ``*`` at ``index`` is redundant, as in ``*:hover``, ``*.class`` and ``*[attribute]``."""
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    is_compound = following is not None and (following in (":", ".") or following.type in ("hash", "[] block"))
    return is_compound and (index == 0 or tokens[index - 1] != "|")


def _is_legacy_double(tokens: list[Any], index: int) -> bool:
    """Whether the first colon of ``::before`` is at ``index``: ``:before`` is equivalent."""
    following = tokens[index + 1 : index + 3]
    return (
        len(following) == 2
        and following[0] == ":"
        and following[1].type == "ident"
        and following[1].lower_value in _LEGACY_PSEUDO
    )


# ---- simple selectors, as text

_NAME = r"-?[A-Za-z_][-\w]*+"
_PART = rf"[.#]{_NAME}|::?{_NAME}"
_ATTRIBUTE = rf"\[{_NAME}(?>(?:[~|^$*]?=(?:{_NAME}|\"[-\w./]*+\"|'[-\w./]*+'))?)\]"
_ARGUMENTS = rf"\((?:[-\w]++|(?>(?:{_NAME})?)(?>(?:{_PART}|{_ATTRIBUTE})+))\)"
_COMPOUND = rf"(?:{_NAME}|\*|(?={_PART}|\[))(?>(?:{_PART}(?>(?:{_ARGUMENTS})?)|{_ATTRIBUTE})*)"
_SIMPLE = rf"{_COMPOUND}(?>(?:{SPACE}*+(?:[>+~]|(?<={SPACE})){SPACE}*+{_COMPOUND})*)"
_SIMPLE_LIST = pattern(rf"{_SIMPLE}{SPACE}*+(?>(?:,{SPACE}*+{_SIMPLE}{SPACE}*+)*)", re.ASCII)
_SEPARATOR = pattern(r" ?([>+~,])(?!=) ?")
_PSEUDO = pattern(rf":({_NAME})|\([^()]*+\)", re.ASCII)
_REDUNDANT = pattern(rf"\*(?=[.:#\[])|:(?=:(?:{'|'.join(sorted(_LEGACY_PSEUDO))})(?![-\w(]))", re.ASCII | re.IGNORECASE)
_TOKEN = pattern(rf"[-\w]++\([^()]*+\)|#?[-\w]++|[.:>+~* ]|{_ATTRIBUTE}", re.ASCII)


def simple_selectors(prelude: str) -> tuple[tuple[Selector, ...], bool] | None:
    """Return ``selectors`` and ``is_safe_to_join`` of a prelude in text form, ``None`` if it is not simple."""
    return _selectors(_SEPARATOR.sub(r"\1", " ".join(prelude.split()))) if _SIMPLE_LIST.fullmatch(prelude) else None


@lru_cache(maxsize=1 << 12)
def _selectors(text: str) -> tuple[tuple[Selector, ...], bool]:
    pairs = [_selector(each) for each in text.split(",")]
    return tuple(selector for selector, _ in pairs), all(is_safe for _, is_safe in pairs)


@lru_cache(maxsize=1 << 13)
def _selector(text: str) -> tuple[Selector, bool]:
    forms = (_KEYFRAME[text.lower()],) if text.lower() in _KEYFRAME else map(_form, _split(text))
    return Selector(forms), all(name.lower() in _KNOWN_PSEUDO for name in _PSEUDO.findall(text) if name)


def _split(text: str) -> list[str]:
    return _TOKEN.findall(_REDUNDANT.sub("", text))


@lru_cache(maxsize=1 << 12)
def _form(token: str) -> Entry:
    if token == " ":
        return (" ",)
    if token[-1] in ")]":
        tokens = parse_component_value_list(token)
        return next(_selector_token(tokens[0], tokens, 0))
    return ("hash" if token[0] == "#" else "literal" if token in ".:>+~*" else "ident", token)
