"""Skips of mod_rewrite (flag ``S``), which templates write with labels and Apache reads as numbers of rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["count_skips"]

_SKIP = re.compile(r"S=to-([a-z]+)")
_LABEL = re.compile(r"# ([a-z]+):")


def count_skips(text: str) -> str:
    """Replace ``S=to-LABEL`` by the number of rules up to the line ``# LABEL:``, and drop those lines.

    A wrong number would skip rules of the site; this way no template can get it wrong. Raises ``ValueError`` for a
    label that does not follow.
    """
    lines = text.split("\n")
    labels = {match[1]: number for number, line in enumerate(lines) if (match := _LABEL.fullmatch(line))}
    return "\n".join(_counted(lines, labels))


def _counted(lines: list[str], labels: dict[str, int]) -> Iterator[str]:
    for number, line in enumerate(lines):
        skip = _SKIP.search(line)
        if skip is None:
            if number not in labels.values():
                yield line
        elif labels.get(skip[1], 0) <= number:
            raise ValueError(f"a skip to {skip[1]}, a label that does not follow")
        else:
            rules = sum(each.startswith("RewriteRule ") for each in lines[number + 1 : labels[skip[1]]])
            yield line.replace(skip[0], f"S={rules}")
