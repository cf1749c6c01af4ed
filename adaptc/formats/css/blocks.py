"""The declarations that stand together with one: what a rule says beside it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import tinycss2

from adaptc.formats.css.scanner import DENSE, Kind, tokens

# Values by property; of several declarations of a property the last one, as in the cascade of one rule
Declared = Mapping[str, list[Any]]


class Blocks:
    """The blocks of a style sheet, or of a style attribute's ``declarations``, which are one block."""

    def __init__(self, text: str, *, declarations: bool = False) -> None:
        self.text = text
        self._marks = [] if declarations else [
            token.start for token in tokens(text, 0, DENSE) if token.kind is Kind.MARK and token.value in "{}"
        ]  # fmt: skip

    def around(self, position: int) -> Declared:
        """Return the declarations around a position, as far as the next brace on each side."""
        at = bisect_left(self._marks, position)
        start = self._marks[at - 1] + 1 if at else 0
        end = self._marks[at] if at < len(self._marks) else len(self.text)
        return declared(self.text[start:end])


def declared(text: str) -> Declared:
    """Return the values of declarations by property."""
    nodes = tinycss2.parse_blocks_contents(text, skip_comments=True, skip_whitespace=True)
    return {node.lower_name: node.value for node in nodes if node.type == "declaration"}
