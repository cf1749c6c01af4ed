"""The tokens of a script with their places."""

from __future__ import annotations

from itertools import accumulate, compress, repeat
from typing import NamedTuple

from adaptc.formats.script.kinds import Kind, kind_of
from adaptc.formats.script.lexer import scan


class Token(NamedTuple):
    """A token: ``text`` at offset ``start`` (code points)."""

    kind: Kind
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the token."""
        return self.start + len(self.text)


def tokenize(text: str) -> list[Token] | None:
    """Return the tokens of a script including comments, without white space; ``None`` if it does not lex."""
    pieces = scan(text)
    if pieces is None:
        return None
    kinds = _kinds(pieces)
    rows = zip(kinds, pieces, accumulate(map(len, pieces), initial=0), strict=False)
    return list(map(tuple.__new__, repeat(Token), compress(rows, kinds)))


def _kinds(pieces: list[str]) -> list[Kind | None]:
    known = {piece: kind_of(piece) for piece in set(pieces)}
    return list(map(known.__getitem__, pieces))
