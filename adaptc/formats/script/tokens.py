"""A lexer for JavaScript source text (ECMA-262 chapter 12 and Annex B.1.1, HTML-like comments).

It tells comments, strings, templates, regular expressions and code apart, and builds no tree. Whether ``/`` starts a
regular expression depends on the grammar; here it depends on the token before it and, for ``)`` and ``}``, on what
opened them. The one known error is division of a function expression (``function(){} / 2``), which nobody writes.

For a text that does not lex the result is ``None``, never a guess.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """The kinds of tokens. A template is several tokens, one for each piece of text between substitutions."""

    COMMENT = "comment"
    STRING = "string"
    TEMPLATE = "template"
    REGEX = "regex"
    WORD = "word"
    NUMBER = "number"
    PUNCTUATOR = "punctuator"


class Token(NamedTuple):
    """A token: ``text`` at offset ``start`` (code points)."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the token."""
        return self.start + len(self.text)


_LINE_END = "\n\r\u2028\u2029"
_SPACE = re.compile(r"[\s\ufeff]+")
_COMMENT = re.compile(rf"(?://|<!--)[^{_LINE_END}]*|/\*[\s\S]*?\*/")
_AT_LINE_START = re.compile(rf"-->[^{_LINE_END}]*")
_HASHBANG = re.compile(rf"#![^{_LINE_END}]*")
_STRING = re.compile(r""" "(?:[^"\\\n\r]|\\(?:\r\n|[\s\S]))*" | '(?:[^'\\\n\r]|\\(?:\r\n|[\s\S]))*' """, re.VERBOSE)
_TEMPLATE_PIECE = re.compile(r"[`}](?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)")
_REGEX = re.compile(
    rf"/(?![*/])(?:[^/\\\[{_LINE_END}]|\\[^{_LINE_END}]|\[(?:[^\]\\{_LINE_END}]|\\[^{_LINE_END}])*\])+/[\w$]*"
)
_NUMBER = re.compile(
    r"0[xXbBoO][\da-fA-F_]+n? | (?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?n?", re.VERBOSE
)
_WORD = re.compile(r"#?(?:[\w$\u200c\u200d]|\\u[\da-fA-F]{4}|\\u\{[\da-fA-F]+\})+")
_PUNCTUATOR = re.compile(
    r"(?!/\*)(?:\.\.\.|=>|\?\.(?!\d)|\+\+|--|>>>=?|<<=?|>>=?|\*\*=?|[=!]==?|&&=?|\|\|=?|\?\?=?|[-+*/%&|^<>]=?|[^\w\s])"
)

# After these words an expression starts, so a slash starts a regular expression and a brace an object.
OPERATOR_WORDS = frozenset(
    [
        "return",
        "typeof",
        "instanceof",
        "in",
        "of",
        "new",
        "delete",
        "void",
        "throw",
        "case",
        "yield",
        "await",
        "extends",
    ]
)
# After these a statement starts
STATEMENT_WORDS = frozenset(["do", "else"])
_CONDITION_WORDS = frozenset(["if", "while", "for", "with"])
# Characters that are a punctuator alone, never the start of a longer one
_SINGLE = frozenset("()[]{},;:~")
_CLOSERS = {")": "(", "]": "[", "}": "{"}

# Entries of the stack of open brackets, apart from the bracket itself
_CONDITION, _BLOCK, _OBJECT, _SUBSTITUTION = "(condition", "{block", "{object", "${"


def tokenize(text: str) -> list[Token] | None:
    """Return the tokens of a script including comments, without white space; ``None`` if it does not lex."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tokens: list[Token] = []
        self.open: list[str] = []
        self.previous: Token | None = None  # the last token that is no comment
        self.before_previous: Token | None = None
        self.closed = ""  # the stack entry of the bracket that ``previous`` closed
        self.line_start = True

    def scan(self) -> list[Token] | None:
        self._take(Kind.COMMENT, _HASHBANG)
        while self._skip_space() < len(self.text):
            if not (self._comment() or self._token()):
                return None
        return None if self.open else self.tokens

    def _skip_space(self) -> int:
        if "!" <= self.text[self.at : self.at + 1] <= "~":  # most tokens follow each other
            return self.at
        if space := _SPACE.match(self.text, self.at):
            self.line_start = self.line_start or any(mark in space[0] for mark in _LINE_END)
            self.at = space.end()
        return self.at

    def _token(self) -> bool:
        self.line_start = False
        first = self.text[self.at]
        if first.isalpha() or first in "$_":
            return self._take(Kind.WORD, _WORD)
        if first in "\"'":
            return self._take(Kind.STRING, _STRING)
        if first == "`" or (first == "}" and self.open and self.open[-1] == _SUBSTITUTION):
            return self._template()
        if first in _SINGLE:
            return self._punctuator()
        if first == "/" and self._operand_expected() and self._take(Kind.REGEX, _REGEX):
            return True
        return (
            self._take(Kind.NUMBER, _NUMBER) or self._take(Kind.WORD, _WORD) or self._punctuator()
        )  # numbers first: \w holds digits

    def _comment(self) -> bool:
        if self.text[self.at] not in "/<-":
            return False
        if not (self._take(Kind.COMMENT, _COMMENT) or (self.line_start and self._take(Kind.COMMENT, _AT_LINE_START))):
            return False
        self.line_start = self.line_start or any(mark in self.tokens[-1].text for mark in _LINE_END)
        return True

    def _take(self, kind: Kind, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.at)
        if not match:
            return False
        self._add(kind, match[0])
        return True

    def _add(self, kind: Kind, text: str) -> None:
        token = Token(kind, text, self.at)
        self.tokens.append(token)
        self.at += len(text)
        if kind is not Kind.COMMENT:
            self.before_previous, self.previous = self.previous, token

    def _template(self) -> bool:
        if self.text[self.at] == "}":
            self.open.pop()
        if not self._take(Kind.TEMPLATE, _TEMPLATE_PIECE):
            return False
        if self.tokens[-1].text.endswith("${"):
            self.open.append(_SUBSTITUTION)
        return True

    def _punctuator(self) -> bool:
        bracket = self.text[self.at]
        opened = self._opens(bracket) if bracket in "([{" else ""
        if bracket in _CLOSERS and not self._close(bracket):
            return False
        if opened:
            self.open.append(opened)
        if bracket not in _SINGLE:
            return self._take(Kind.PUNCTUATOR, _PUNCTUATOR)
        self._add(Kind.PUNCTUATOR, bracket)
        return True

    def _opens(self, bracket: str) -> str:
        if bracket == "{":
            return _OBJECT if self._object_expected() else _BLOCK
        if bracket == "(" and self._follows_word(_CONDITION_WORDS):
            return _CONDITION
        return bracket

    def _close(self, bracket: str) -> bool:
        self.closed = self.open.pop() if self.open else ""
        return self.closed.startswith(_CLOSERS[bracket])

    def _follows_word(self, words: frozenset[str]) -> bool:
        if self.previous is None or self.previous.kind is not Kind.WORD or self.previous.text not in words:
            return False
        return self.before_previous is None or self.before_previous.text not in (".", "?.")

    def _operand_expected(self) -> bool:
        previous = self.previous
        if previous is None:
            return True
        if previous.kind is Kind.WORD:
            return self._follows_word(OPERATOR_WORDS | STATEMENT_WORDS)
        if previous.kind is Kind.TEMPLATE:
            return previous.text.endswith("${")
        if previous.kind is not Kind.PUNCTUATOR:
            return False
        if previous.text in _CLOSERS:
            return self.closed in (_CONDITION, _BLOCK)
        return previous.text not in ("++", "--")

    def _object_expected(self) -> bool:
        previous = self.previous
        if previous is None or previous.text in (";", "{", "}", ")", "=>"):
            return False
        if previous.kind is Kind.WORD:
            return self._follows_word(OPERATOR_WORDS)
        if previous.text == ":":  # a property's value, or a statement after a label or ``case``
            return bool(self.open) and self.open[-1] != _BLOCK
        return self._operand_expected()
