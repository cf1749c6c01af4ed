"""The structure of a script, as far as its tokens show it: brackets, functions, ends of expressions.

No tree is built. What is not understood is not there: callers then know less, and decide for the cautious side.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from adaptc.formats.script.lexer import OPERATOR_WORDS, Kind

Span = tuple[int, int]
"""Tokens from the first number up to, but not including, the second."""

_CLOSERS = frozenset(")]}")
_OPENERS = frozenset("([{")
# Words before a parenthesis and a block that are no methods
_STATEMENTS = frozenset({"if", "for", "while", "switch", "catch", "with", "function", "return"})
# Words after which no value has ended
_NO_VALUES = OPERATOR_WORDS | {"else", "do"} | (_STATEMENTS - {"function"})
_DECLARING = frozenset({"var", "let", "const"})


@dataclass(frozen=True, slots=True)
class Function:
    """A function: where it starts, its parameters, its body, its name where it has one in front of its parameters."""

    start: int
    parameters: tuple[str, ...]
    body: Span
    name: str = ""
    is_arrow: bool = False
    is_method: bool = False


@dataclass(frozen=True, eq=False)
class Structure:
    """The texts and kinds of a script's tokens, with the partner of each bracket."""

    tokens: Sequence[str]
    kinds: Sequence[Kind]
    pairs: dict[int, int]

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Return the functions, outer ones first."""
        return tuple(sorted(self._functions(), key=lambda function: (function.start, -function.body[1])))

    @cached_property
    def _innermost(self) -> Sequence[Function | None]:
        """Return the innermost function around each token; the first token of a function is outside of it."""
        innermost: list[Function | None] = [None] * len(self.tokens)
        for function in self.functions:
            for place in range(function.start + 1, function.body[1]):
                innermost[place] = function
        return innermost

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        words: dict[str, list[int]] = {}
        for place, (text, kind) in enumerate(zip(self.tokens, self.kinds, strict=True)):
            if kind is Kind.WORD:
                words.setdefault(text, []).append(place)
        return words

    def places(self, name: str) -> Sequence[int]:
        """Return where a name is, as that of a variable or of a property."""
        return self._words.get(name, ())

    def text(self, place: int) -> str:
        """Return the text of a token, empty outside of the script."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else ""

    def is_word(self, place: int) -> bool:
        """Whether there is a name or keyword."""
        return 0 <= place < len(self.tokens) and self.kinds[place] is Kind.WORD

    def enclosing(self, place: int) -> Function | None:
        """Return the innermost function around a token."""
        return self._innermost[place] if place < len(self.tokens) else None

    # ---- expressions

    def chain_start(self, end: int) -> int:
        """Return where the chain of members and calls (``$(a).b(c)[0]``) starts that ends before ``end``."""
        place = end - 1
        while True:
            if self.text(place) in _CLOSERS and place in self.pairs:
                place = self.pairs[place]
                if not self._ends_value(place - 1):
                    break
                place -= 1
            elif self.text(place - 1) in (".", "?."):
                place -= 2
            else:
                break
        return place - 1 if self.text(place - 1) == "new" else place

    def expression_end(self, start: int) -> int:
        """Return the end of the expression at ``start``: a comma, a semicolon, a bracket, or the next statement."""
        place = start
        while place < len(self.tokens):
            text = self.text(place)
            if text in (",", ";") or text in _CLOSERS:
                break
            if place > start and self._ends_value(place - 1) and self._starts_value(place):
                break
            place = self.pairs.get(place, place) + 1 if text in _OPENERS or text.endswith("${") else place + 1
        return place

    def split(self, span: Span, marks: frozenset[str]) -> list[Span]:
        """Split tokens at marks outside of brackets."""
        parts, start, place = [], span[0], span[0]
        while place < span[1]:
            text = self.text(place)
            if text in marks and self.kinds[place] in (Kind.PUNCTUATOR, Kind.WORD):
                parts.append((start, place))
                start = place + 1
            is_open = text in _OPENERS or text.endswith("${")
            place = self.pairs.get(place, place) + 1 if is_open else place + 1
        return [*parts, (start, span[1])]

    def arguments(self, opening: int) -> list[Span]:
        """Return the arguments of the call whose parenthesis is at ``opening``."""
        inside = (opening + 1, self.pairs.get(opening, opening + 1))
        return self.split(inside, frozenset({","})) if inside[0] < inside[1] else []

    def call_around(self, place: int) -> int | None:
        """Return the parenthesis of the call of which the token is an argument, or starts one."""
        place -= 1
        while place >= 0:
            text = self.text(place)
            if text == "(":
                return place if self._ends_value(place - 1) else None
            if text in ("[", "{", ";") or text.endswith("${"):
                return None
            place = self.pairs.get(place, place) - 1 if text in _CLOSERS else place - 1
        return None

    def _ends_value(self, place: int) -> bool:
        if place < 0 or place >= len(self.tokens):
            return False
        text, kind = self.tokens[place], self.kinds[place]
        if kind is Kind.WORD:
            return text not in _NO_VALUES
        return text in _CLOSERS or (kind is not Kind.PUNCTUATOR and not text.endswith("${"))

    def _starts_value(self, place: int) -> bool:
        if self.kinds[place] is Kind.WORD:
            return self.tokens[place] not in ("in", "of", "instanceof")
        return self.kinds[place] in (Kind.STRING, Kind.NUMBER)

    # ---- names

    def declares(self, function: Function, name: str) -> bool:
        """Whether a variable of this name is declared in a function, outside of functions in it."""
        return name in self._declared.get(function.start, ())

    @cached_property
    def _declared(self) -> dict[int, set[str]]:
        """Return the variables that functions declare, by where those start."""
        declared: dict[int, set[str]] = {}
        for keyword in _DECLARING:
            for place in self.places(keyword):
                function = self.enclosing(place)
                if function is not None:
                    declared.setdefault(function.start, set()).update(self._declarators(place + 1))
        return declared

    def assignments(self, span: Span, name: str) -> Iterator[int]:
        """Yield where a variable gets a value: the places of ``name`` before ``=``, ``of`` or ``in``."""
        places = self.places(name)
        for place in places[bisect_left(places, span[0]) : bisect_left(places, span[1])]:
            if self.text(place - 1) not in (".", "?.") and self._is_assigned(place):
                yield place

    def _is_assigned(self, place: int) -> bool:
        following = self.text(place + 1)
        return following == "=" or (following in ("of", "in") and self.text(place - 1) in _DECLARING)

    def _declarators(self, place: int) -> Iterator[str]:
        while self.is_word(place):
            yield self.text(place)
            place = self.expression_end(place + 2) if self.text(place + 1) == "=" else place + 1
            if self.text(place) != ",":
                return
            place += 1

    # ---- functions

    def _functions(self) -> Iterator[Function]:
        for place, text in enumerate(self.tokens):
            if text == "function":
                yield from self._function(place)
            elif text == "=>":
                yield self._arrow(place)
            elif text == "{" and self.text(place - 1) == ")":
                yield from self._method(place)

    def _function(self, place: int) -> Iterator[Function]:
        opening = next((at for at in range(place + 1, place + 4) if self.text(at) == "("), None)
        closing = None if opening is None else self.pairs.get(opening)
        if opening is not None and closing is not None and self.text(closing + 1) == "{":
            name = self.text(opening - 1) if opening - 1 > place and self.is_word(opening - 1) else ""
            yield Function(place, self._parameters(opening), (closing + 1, self.pairs[closing + 1] + 1), name)

    def _arrow(self, place: int) -> Function:
        is_listed = self.text(place - 1) == ")"
        start = self.pairs.get(place - 1, place - 1) if is_listed else place - 1
        body = place + 1
        end = self.pairs[body] + 1 if self.text(body) == "{" and body in self.pairs else self.expression_end(body)
        parameters = self._parameters(start) if is_listed else (self.text(start),)
        return Function(start, parameters, (body, end), is_arrow=True)

    def _method(self, place: int) -> Iterator[Function]:
        opening = self.pairs.get(place - 1)
        if opening is None or not self.is_word(opening - 1):
            return
        name, before = self.text(opening - 1), self.text(opening - 2)
        if name not in _STATEMENTS and before not in (".", "?.", "function", "new", "*"):
            body = (place, self.pairs[place] + 1)
            yield Function(opening - 1, self._parameters(opening), body, name, is_method=True)

    def _parameters(self, opening: int) -> tuple[str, ...]:
        return tuple(self.text(start) if self.is_word(start) else "" for start, _ in self.arguments(opening))


def find_structure(tokens: Sequence[str], kinds: Sequence[Kind]) -> Structure:
    """Return the structure of a script that lexes."""
    templates = {text for text, kind in zip(tokens, kinds, strict=True) if kind is Kind.TEMPLATE}
    closes = _CLOSERS.union(text for text in templates if text[0] == "}")
    opens = _OPENERS.union(text for text in templates if text.endswith("${"))
    pairs: dict[int, int] = {}
    pending: list[int] = []
    for place, text in enumerate(tokens):
        if text in closes:
            partner = pending.pop()
            pairs[place], pairs[partner] = partner, place
        if text in opens:
            pending.append(place)
    return Structure(tokens, kinds, pairs)
