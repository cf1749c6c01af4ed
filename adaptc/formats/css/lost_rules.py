"""Rules that no browser applies: a closing brace too many makes the rule after it invalid (CSS Syntax 3, 5.4.1).

``a{} } @media screen{b{}} c{}`` has two valid rules: what follows the brace, up to the end of the next block, is the
selector and the block of a rule whose selector cannot be read. Without it the sheet means the same and is balanced.
"""

from __future__ import annotations

from adaptc.formats.css.scanner import DENSE, Kind, skip_between_rules, tokens
from adaptc.formats.css.sheet_text import rule_ends, track_nesting

__all__ = ["drop_lost_rules"]


def drop_lost_rules(text: str) -> str:
    """Return a sheet without its lost rules; the sheet itself if it has none, or other faults around them."""
    pieces, rest = [], text
    while (span := _find_lost_rule(rest)) is not None:
        pieces.append(rest[: span[0]])
        rest = rest[span[1] :]
    return "".join([*pieces, rest])


def _find_lost_rule(text: str) -> tuple[int, int] | None:
    """Return the span of the first rule with an unmatched brace in its selector."""
    ends = rule_ends(text)
    start = skip_between_rules(text, ends[-1] if ends else 0)
    if start == len(text) or text[start] == "@":  # in the prelude of an at-rule the brace has other effects
        return None
    stack: list[str] = []
    is_lost = False
    for token in tokens(text, start, DENSE):
        is_brace = token.kind is Kind.MARK and token.value == "}"
        if is_brace and not stack:
            is_lost = True
        elif not token.is_closed or not track_nesting(stack, token):
            return None
        elif is_brace and not stack:
            return (start, token.end) if is_lost else None
    return (start, len(text)) if is_lost and not stack else None
