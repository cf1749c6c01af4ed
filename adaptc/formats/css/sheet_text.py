"""Style sheets as text: decode bytes, split between rules, check what may follow, embed in a ``<style>`` element."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from adaptc.core.values import dataclass
from adaptc.formats.css.plain import is_plain, plain_comments, plain_rule_end
from adaptc.formats.css.scanner import (
    CLOSERS,
    DENSE,
    MAX_DEPTH,
    MAX_DIGITS,
    SPARSE,
    Kind,
    Token,
    skip_between_rules,
    tokens,
)

_NEWLINES = re.compile(r"\r\n|[\r\f]")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A decoded style sheet. ``encoding`` is the WHATWG name of the encoding of its bytes."""

    text: str
    encoding: str


def decode_sheet(content: bytes, environment: str) -> Sheet:
    """Decode a style sheet by byte order mark, ``@charset``, ``environment`` (the encoding of the page), or UTF-8.

    See CSS Syntax 3, sections 3.2 and 3.3. Invalid bytes become U+FFFD, as in browsers; an unknown ``environment``
    is ignored. Newlines are LF and NUL is U+FFFD.
    """
    from tinycss2.bytes import decode_stylesheet_bytes

    try:
        text, encoding = decode_stylesheet_bytes(content, environment_encoding=environment or None)
    except LookupError:
        text, encoding = decode_stylesheet_bytes(content)
    return Sheet(preprocess(text), encoding.name)


def preprocess(text: str) -> str:
    """Filter code points (CSS Syntax 3, section 3.3): CRLF, CR and FF become LF, NUL becomes U+FFFD."""
    if "\r" in text or "\f" in text:
        text = _NEWLINES.sub("\n", text)
    return text.replace("\0", "\ufffd")


def is_balanced(text: str) -> bool:
    """Whether nothing is open at the end of the text (comment, string, escape, block), and all closing marks match.

    Only then other text may be put after it or around it.
    """
    stack: list[str] = []
    for token in tokens(text, _last_rule_end(text), DENSE):
        if not token.is_closed or not track_nesting(stack, token):
            return False
    return not stack and not _ends_in_escape(text)


def _last_rule_end(text: str) -> int:
    ends = rule_ends(text)
    return ends[-1] if ends else 0


def rule_ends(text: str) -> Sequence[int]:
    """Return where each rule ends, up to an unmatched closing mark."""
    return (_remembered_rule_ends if len(text) <= _REMEMBERED else _find_rule_ends)(text)


def _find_rule_ends(text: str) -> Sequence[int]:
    ends: list[int] = []
    while (end := _rule_end(text, ends[-1] if ends else 0)) >= 0:
        ends.append(end)
    return ends


# The passes of a level ask for the same text one after the other
_remembered_rule_ends = lru_cache(maxsize=8)(_find_rule_ends)
_REMEMBERED = 1 << 19  # code points


def _rule_end(text: str, position: int) -> int:
    end = plain_rule_end(text, position)
    return end if end >= 0 else scanned_rule_end(text, position)


def scanned_rule_end(text: str, position: int) -> int:
    """Return where the rule ends that starts at ``position``; -1 if it has no end, or an unmatched closing mark."""
    stack: list[str] = []
    for token in tokens(text, position, DENSE):
        if not track_nesting(stack, token):
            return -1
        if not stack and token.kind is Kind.MARK and token.value == "}":
            return token.end
    return -1


def track_nesting(stack: list[str], token: Token) -> bool:
    """Push or pop the closing mark of a token on ``stack``; return ``False`` for one that does not match.

    Such a mark closes nothing (CSS Syntax 3, section 5.4.7).
    """
    if token.kind is Kind.FUNCTION:
        stack.append(")")
    elif token.kind is Kind.MARK and token.value in CLOSERS:
        stack.append(CLOSERS[token.value])
    elif token.kind is Kind.MARK and token.value != ";":
        return bool(stack) and stack[-1] == token.value and bool(stack.pop())
    return True


_LONG_NUMBER = re.compile(rf"(?<![0-9])[0-9]{{{MAX_DIGITS + 1}}}")


@lru_cache(maxsize=64)
def beyond_limits(text: str) -> str | None:
    """Return what is too much in a sheet, as ``blocks are nested more than 100 deep``: it is not taken apart."""
    if _LONG_NUMBER.search(text):
        return f"a number has more than {MAX_DIGITS} digits"
    if sum(map(text.count, CLOSERS)) > MAX_DEPTH and any(map(_is_part_too_deep, split_rules(text))):
        return f"blocks are nested more than {MAX_DEPTH} deep"
    return None


def _is_part_too_deep(part: str) -> bool:
    if sum(map(part.count, CLOSERS)) <= MAX_DEPTH or is_plain(part):
        return False
    stack: list[str] = []
    return any(track_nesting(stack, token) and len(stack) > MAX_DEPTH for token in tokens(part, 0, DENSE))


def split_rules(text: str) -> Iterator[str]:
    """Split a sheet after each of its rules; the joined parts are the sheet.

    Each part is balanced, so parsing it alone gives the same rules. From an unmatched closing mark on, the rest of
    the sheet is one part.
    """
    start = 0
    for end in rule_ends(text):
        yield text[start:end]
        start = end
    yield text[start:]


def comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the comments of a sheet."""
    position = 0
    for rule in split_rules(text) if "/*" in text else ():
        if "/*" in rule:
            spans = plain_comments(rule) if is_plain(rule) else _scanned_comments(rule)
            yield from ((position + start, position + end) for start, end in spans)
        position += len(rule)


def _scanned_comments(text: str) -> Iterator[tuple[int, int]]:
    return ((token.start, token.end) for token in tokens(text, 0, DENSE) if token.kind is Kind.COMMENT)


def _ends_in_escape(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def ends_between_rules(text: str) -> bool:
    """Whether a balanced sheet ends with a complete rule, so that text after it starts a new one."""
    stack: list[str] = []
    is_at_rule, end = False, _last_rule_end(text)
    for token in tokens(text, end, DENSE):
        if not stack and token.kind is Kind.AT_KEYWORD and skip_between_rules(text, end) == token.start:
            is_at_rule = True
        track_nesting(stack, token)
        if not stack and token.kind is Kind.MARK and (token.value == "}" or (token.value == ";" and is_at_rule)):
            is_at_rule, end = False, token.end
    return skip_between_rules(text, end) == len(text)


def at_keywords(text: str) -> set[str]:
    """Return the names of all at-keywords of a sheet, in lower case without ``@``."""
    return {token.value for token in tokens(text, 0, SPARSE) if token.kind is Kind.AT_KEYWORD}


_END_TAG = re.compile(r"</(?=style)", re.IGNORECASE | re.ASCII)
_ESCAPED_END_TAG = {Kind.STRING: r"<\\/", Kind.URL: r"<\\/", Kind.COMMENT: "< /"}


def escape_for_style_element(text: str) -> str | None:
    r"""Return an equivalent text for a ``<style>`` element, whose raw text ends at ``</style``, or ``None``.

    See WHATWG HTML, section 13.2.5.14. ``</style`` becomes ``<\/style`` in strings and URLs and ``< /style`` in
    comments; elsewhere it is malformed and the result is ``None``. ``<!--`` needs no escape: raw text has no
    comments, and the CSS parser ignores the mark as it does in a file. The end of the element closes what is open,
    as the end of a file does.
    """
    if not _END_TAG.search(text):
        return text
    pieces, position = [], 0
    for token in tokens(text, 0, SPARSE):
        if token.kind in _ESCAPED_END_TAG and _END_TAG.search(text, token.start, token.end + 5):
            pieces += [
                text[position : token.start],
                _END_TAG.sub(_ESCAPED_END_TAG[token.kind], text[token.start : token.end]),
            ]
            position = token.end
    escaped = "".join([*pieces, text[position:]])
    return None if _END_TAG.search(escaped) else escaped


# ---- Rules that no browser applies: a closing brace too many makes the rule after it invalid (CSS Syntax 3, 5.4.1)
# ``a{} } @media screen{b{}} c{}`` has two valid rules: what follows the brace, up to the end of the next block, is the
# selector and the block of a rule whose selector cannot be read. Without it the sheet means the same and is balanced.


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
