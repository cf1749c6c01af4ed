"""Module scripts: whether one needs no other module and none needs it."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.tokens import tokenize

__all__ = ["is_self_contained"]

_WORDS = frozenset({"import", "export"})


@lru_cache(maxsize=64)
def is_self_contained(text: str) -> bool:
    """Whether a module imports and exports nothing and does not ask for its address; ``False`` if it does not lex.

    ``import`` and ``export`` are reserved words: elsewhere they are names of properties, after a point or before a
    colon.
    """
    tokens = tokenize(text)
    if tokens is None:
        return False
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    return not any(
        word.kind is Kind.WORD
        and word.text in _WORDS
        and (previous is None or previous.text not in (".", "?."))
        and following.text != ":"
        for previous, (word, following) in zip((None, *code), pairwise(code), strict=False)
    )
