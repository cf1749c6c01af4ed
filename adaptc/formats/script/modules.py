"""What a module's text has that depends on its address (ECMA-262, 16.2 and 13.3), so that it can run under another one.

A module from a ``blob:`` URL has no base for its specifiers, and another ``import.meta.url``. ``rehomed`` writes marks
in their places, for which the page puts the addresses of the files. A module that depends on its address in any other
way is not portable.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

from adaptc.core.facts import FactKind
from adaptc.core.values import dataclass
from adaptc.formats.script.lexer import Kind, Token, tokenize, unescape
from adaptc.formats.script.script import is_string

__all__ = ["DYNAMIC", "MODULE", "STATIC", "ModuleFacts", "module_facts", "rehomed"]

# Literal specifiers of declarations and of ``import("./a.js")``; other arguments of ``import()``, and what asks for the
# module's address
STATIC, DYNAMIC, _ARGUMENT, _URL, _RESOLVE = "static", "dynamic", "argument", "url", "resolve"


@dataclass(frozen=True, slots=True, eq=False)
class ModuleFacts:
    """The parts of a module that depend on its address, in order: kind, start and end (code points), specifier.

    ``strings`` are its other strings, by which it may name files, but for those of a list of what is fetched early.
    """

    is_portable: bool = False
    parts: tuple[tuple[str, int, int, str], ...] = ()
    strings: frozenset[str] = frozenset()

    def specifiers(self, *kinds: str) -> Iterator[str]:
        """Yield the literal specifiers of these kinds."""
        return (specifier for kind, _, _, specifier in self.parts if kind in kinds)


class _NotPortableError(Exception):
    """A module may depend on its address in another way."""


def module_facts(text: str) -> ModuleFacts:
    """Return the facts of a module; one that is not understood is not portable."""
    tokens = [token for token in tokenize(text) or () if token.kind is not Kind.COMMENT]
    if not tokens:
        return ModuleFacts()
    try:
        parts, is_portable = tuple(sorted(_Search(tokens).parts(), key=lambda part: part[1])), True
    except _NotPortableError:
        parts, is_portable = (), False
    known = {start for _, start, _, _ in parts}
    hints = [match.span() for match in _HINTS.finditer(text)]
    known.update(each.start for each in tokens if any(start < each.start < end for start, end in hints))
    strings = (each for each in tokens if is_string(each.text, each.kind) and each.start not in known)
    return ModuleFacts(is_portable, parts, frozenset(unescape(each.text[1:-1]) for each in strings))


# The files that Vite's loader has browsers fetch early: it runs none of them
_HINTS = re.compile(r"\b__vite__mapDeps\s*=[^;\[\]]{0,200}\[[^\[\]]*\]")

MODULE: FactKind[ModuleFacts] = FactKind("module", module_facts, ModuleFacts())

_Part = tuple[str, int, int, str]
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_END = Token(Kind.PUNCTUATOR, "", 0)


class _Search:
    """The search in one module, by its tokens without comments."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens

    def parts(self) -> Iterator[_Part]:
        depth = 0
        for place, token in enumerate(self.tokens):
            depth += _steps(token)
            is_word = token.kind is Kind.WORD and token.text in ("import", "export")
            if not is_word or self._at(place - 1).text in (".", "?.", "as"):
                continue
            following = self._at(place + 1)
            if depth and following.text in (":", ",", "}", "as"):
                continue  # the name of a property or of a binding
            if token.text == "import" and following.text == "(":
                yield from self._of_call(place + 1)
            elif token.text == "import" and following.text == ".":
                yield self._of_meta(place)
            elif depth:
                raise _NotPortableError
            else:
                yield from self._of_declaration(place)

    def _of_declaration(self, place: int) -> Iterator[_Part]:
        """Yield the specifier of an ``import`` declaration, or of ``export ... from``."""
        is_import, end = self._at(place).text == "import", place + 1
        if not is_import and self._at(end).text not in ("{", "*"):
            return
        while (token := self._at(end)).kind is not Kind.STRING:
            if token.text not in ("{", "*", ",") and token.kind is not Kind.WORD:
                raise _NotPortableError
            end = self._closing(end) + 1 if token.text == "{" else end + 1
            if not is_import and token.text == "{" and self._at(end).text != "from":
                return
        is_bare = is_import and end == place + 1
        if (not is_bare and self._at(end - 1).text != "from") or self._at(end + 1).text in ("with", "assert"):
            raise _NotPortableError
        yield _literal(STATIC, token)

    def _of_call(self, opening: int) -> Iterator[_Part]:
        """Yield the specifier of ``import(...)``, or where another argument begins and ends."""
        closing = self._closing(opening)
        first = self._at(opening + 1)
        if closing == opening + 1 or self._at(closing + 1).text == "{" or self._has_comma(opening + 1, closing):
            raise _NotPortableError  # a method of this name, or an import with options
        if closing == opening + 2 and is_string(first.text, first.kind):
            yield _literal(DYNAMIC, first)
        else:
            yield _ARGUMENT, self._at(opening).end, self._at(opening).end, "("
            yield _ARGUMENT, self._at(closing).start, self._at(closing).start, ")"

    def _of_meta(self, place: int) -> _Part:
        texts = [self._at(place + step).text for step in range(1, 5)]
        if texts[:3] != [".", "meta", "."] or texts[3] not in (_URL, _RESOLVE):
            raise _NotPortableError
        return texts[3], self._at(place).start, self._at(place + 4).end, ""

    def _has_comma(self, place: int, end: int) -> bool:
        while place < end:
            if self._at(place).text == ",":
                return True
            place = self._closing(place) + 1 if _steps(self._at(place)) > 0 else place + 1
        return False

    def _closing(self, place: int) -> int:
        """Return the place of the bracket that closes the one at ``place``."""
        depth = 0
        for end in range(place, len(self.tokens)):
            depth += _steps(self.tokens[end])
            if depth <= 0:
                return end
        raise _NotPortableError

    def _at(self, place: int) -> Token:
        return self.tokens[place] if 0 <= place < len(self.tokens) else _END


def _steps(token: Token) -> int:
    """Return by how much a token changes the depth of brackets."""
    if token.kind is Kind.TEMPLATE:
        return token.text.endswith("${") - (token.text[0] == "}")
    return (token.text in _OPENING) - (token.text in _CLOSING) if token.kind is Kind.PUNCTUATOR else 0


def _literal(kind: str, token: Token) -> _Part:
    return kind, token.start, token.end, unescape(token.text[1:-1])


def rehomed(text: str, facts: ModuleFacts, own: str, mark: Callable[[str], str]) -> str:
    """Return a portable module with expressions and specifiers in the place of what depends on its address.

    ``own`` is a string literal for its address, and ``mark`` returns the literal for a specifier.
    """
    from_file, declared = _from_file(text, facts, own)
    pieces, position = list[str](), 0
    for kind, start, end, specifier in facts.parts:
        pieces.append(text[position:start])
        if kind == _ARGUMENT:
            pieces.append(f"{from_file}(" if specifier == "(" else ")")
        elif kind == _RESOLVE:
            pieces.append(f"(import.meta.resolve&&(s=>import.meta.resolve({from_file}(s))))")
        else:
            pieces.append(own if kind == _URL else mark(specifier))
        position = end
    return "".join([*pieces, text[position:], declared])


def _from_file(text: str, facts: ModuleFacts, own: str) -> tuple[str, str]:
    """Return a function of what ``import()`` is called with, and its declaration if a module has it once for all calls.

    An argument that begins as an address is one from the module's file; any other is as it is.
    """
    value = f"/^[./]/.test(s)?new URL(s,{own})+'':s"
    uses = sum(kind == _RESOLVE or specifier == "(" for kind, _, _, specifier in facts.parts)
    if uses < 2:
        return f"(s=>{value})", ""
    name = next(name for count in itertools.count() if (name := f"$_{count}") not in text)
    return name, f"\nfunction {name}(s){{return {value}}}"
