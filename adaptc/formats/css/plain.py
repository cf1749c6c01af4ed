"""Rules whose structure regular expressions can see: nearly all of a real sheet, at 100 MB/s.

A rule is plain if strings, comments and brackets in it are closed, parentheses are nested at most ``_PARENTHESES``
deep, URLs without quotes have no marks, and no escape is in the name of a function. All others are for the tokens of
``scanner``, which is 50 times slower and against which this module is tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from adaptc.core.values import pattern
from adaptc.formats.css.scanner import GAP, NAME_CHARACTER, SPACE, skip_gap

_PARENTHESES = 4
# Rules within rules; deeper ones are not plain
MOST_NESTED = 20

STRING = "|".join(rf"{mark}[^{mark}\\\n\r\f]*+(?>(?:\\[\s\S][^{mark}\\\n\r\f]*+)*){mark}" for mark in "\"'")
_COMMENT = r"/\*[^*]*+\*++(?>(?:[^/*][^*]*+\*++)*)/"
_SLASH = rf"/(?!\*)|{_COMMENT}"
_ESCAPE = rf"\\[^\n\r\f](?!{NAME_CHARACTER}*+{SPACE}?+{NAME_CHARACTER}*+\()"
_SIMPLE = rf"[^{{}}()\[\]\"'\\/]++|{STRING}|{_SLASH}"
_BRACKETS = rf"\[(?>(?:{_SIMPLE})*)\]"
# What is the same text in url(), in a function whose name ends in it, and in #url()
_URL = rf"{SPACE}*+(?:{STRING}|(?>(?:[^\"'()\\{{}}\[\]/\x00-\x20\x7f]|/(?!\*))*)){SPACE}*+"


def _parentheses(depth: int) -> str:
    inner = f"|{_parentheses(depth - 1)}" if depth > 1 else ""
    return rf"\((?:(?<=[uU][rR][lL]\(){_URL}|(?<![uU][rR][lL]\()(?>(?:{_SIMPLE}|{_BRACKETS}{inner})*))\)"


PARENTHESES = _parentheses(_PARENTHESES)
_MARKED = f"{STRING}|{_SLASH}|{PARENTHESES}|{_BRACKETS}|{_ESCAPE}"
_FLAT = rf"(?>(?:[^{{}}()\[\]\"'\\/]++|{_MARKED})*)"
OPENS, IS_WHOLE, _CLOSES = 1, 2, 3
_DEPTH = {OPENS: 1, IS_WHOLE: 0, _CLOSES: -1}
_VALUE = rf"(?:[^{{}}()\[\]\"'\\/;]++|{_MARKED})"
_COMMENT_OR_TEXT = pattern(rf"({_COMMENT})|{STRING}|\\.")
_MARKS = pattern(r"[(\[\"'/\\]")


# The prelude of a rule, with what is before it, and its block if that has no braces; or the end of a group
PLAIN_STEP = pattern(rf"({_FLAT})(?:\{{(?>(?:({_FLAT})\}})?)|(\}}))")
# A declaration in a flat block, with what is before it: its property, its value, and the semicolon if any
PLAIN_DECLARATION = pattern(rf"{GAP}((?:--|-?[A-Za-z_])[-0-9A-Za-z_]*+){GAP}:((?>{_VALUE}*));?+")
# The text up to the next semicolon of a flat block
PLAIN_TEXT = pattern(f"(?>{_VALUE}+)")


class PlainRule(NamedTuple):
    """A rule with the text of its block, or with the rules in it. The prelude begins with what is before the rule."""

    prelude: str
    body: str | None
    rules: Sequence[PlainRule] = ()


def plain_rule_end(text: str, position: int) -> int:
    """Return where the rule ends that starts at ``position``, with what is before it; -1 if it is not plain."""
    depth, next_step = 0, PLAIN_STEP.match
    while depth <= MOST_NESTED and (match := next_step(text, position)):
        position = match.end()
        depth += _DEPTH[match.lastindex or 0]
        if depth <= 0:
            return position if depth == 0 else -1
    return -1


def is_plain(rule: str) -> bool:
    """Whether one of ``sheet_text.split_rules`` is plain."""
    return plain_rule_end(rule, 0) == len(rule)


def parse_plain(rule: str) -> PlainRule | None:
    """Return one of ``sheet_text.split_rules`` with the rules in it, ``None`` if it is not plain."""
    around: list[tuple[str, list[PlainRule]]] = [("", [])]
    position, next_step = 0, PLAIN_STEP.match
    while len(around) <= MOST_NESTED and (match := next_step(rule, position)):
        position = match.end()
        if match.lastindex == IS_WHOLE:
            around[-1][1].append(PlainRule(match[1], match[2]))
        elif match.lastindex == OPENS:
            around.append((match[1], []))
        elif len(around) == 1 or skip_gap(match[1], 0) < len(match[1]):
            return None
        else:
            prelude, rules = around.pop()
            around[-1][1].append(PlainRule(prelude, None, rules))
        if len(around) == 1:
            return around[0][1][0] if position == len(rule) else None
    return None


def plain_comments(rule: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the comments of a plain rule."""
    return (match.span() for match in _COMMENT_OR_TEXT.finditer(rule) if match[1])


def split_declarations(body: str) -> list[str]:
    """Split the block of a plain rule at its semicolons."""
    return PLAIN_TEXT.findall(body) if _MARKS.search(body) else body.split(";")
