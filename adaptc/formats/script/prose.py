"""Prose that a script holds as data, to write it into its page."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from adaptc.formats.script.escapes import unescape
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.tokens import tokenize

__all__ = ["prose_length"]

# Five words in a row, apart from tags
_PROSE = re.compile(r"[^\W\d_]+(?:[,;:'\u2019-]?\s?[^\W\d_]+){4,}")
_TAG = re.compile(r"<[^<>]*>")
_TEXTS = frozenset({Kind.STRING, Kind.TEMPLATE})


@lru_cache(maxsize=512)
def prose_length(script: str | bytes) -> int:
    """Return the characters, without white space, of prose in values of objects (``{q: "How do I …"}``).

    What a script says of its errors is an argument, and no value; lists of names begin with a small letter.
    """
    text = script if isinstance(script, str) else script.decode("utf-8", "replace")
    tokens = tokenize(text) or ()
    values = (token.text[1:-1] for before, token in pairwise(tokens) if before.text == ":" and token.kind in _TEXTS)
    sentences = (_TAG.sub(" ", unescape(value)) for value in values if value and not value[0].islower())
    prose = (match[0] for sentence in sentences for match in _PROSE.finditer(sentence))
    return sum(len("".join(each.split())) for each in prose)
