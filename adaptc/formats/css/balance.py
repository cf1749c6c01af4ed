"""Whether a style sheet ends with nothing open: a condition of putting text behind it or around it."""

from __future__ import annotations

from collections.abc import Iterator

from adaptc.formats.css.scanner import CLOSERS, DENSE, SPARSE, Kind, Token, skip_between, tokens


def is_balanced(text: str) -> bool:
    """Whether no comment, string, URL, escape, block or function is open at the end and every closing
    mark matches."""
    stack: list[str] = []
    for token in tokens(text, 0, DENSE):
        if not token.is_closed or not follow(stack, token):
            return False
    return not stack and not _ends_in_escape(text)


def follow(stack: list[str], token: Token) -> bool:
    """Push or pop for one token; ``False`` when it closes what is not open."""
    if token.kind is Kind.FUNCTION:
        stack.append(")")
    elif token.kind is Kind.MARK and token.value in CLOSERS:
        stack.append(CLOSERS[token.value])
    elif token.kind is Kind.MARK and token.value != ";":
        return bool(stack) and stack.pop() == token.value
    return True


def cut_rules(text: str) -> Iterator[str]:
    """Cut a sheet behind each of its rules; the parts joined are the sheet.

    Each ends with nothing open, so it is read alone as it is read in its place. From a closing mark that matches
    nothing on, the sheet is one part.
    """
    stack: list[str] = []
    start = 0
    for token in tokens(text, 0, DENSE):
        if not follow(stack, token):
            break
        if not stack and token.kind is Kind.MARK and token.value == "}":
            yield text[start : token.end]
            start = token.end
    yield text[start:]


def _ends_in_escape(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def ends_between_rules(text: str) -> bool:
    """Whether a balanced sheet ends behind a whole rule, so that a rule put behind it is read as one."""
    stack: list[str] = []
    is_at_rule, end = False, 0
    for token in tokens(text, 0, DENSE):
        if not stack and token.kind is Kind.AT_KEYWORD and skip_between(text, end) == token.start:
            is_at_rule = True
        follow(stack, token)
        if not stack and token.kind is Kind.MARK and (token.value == "}" or (token.value == ";" and is_at_rule)):
            is_at_rule, end = False, token.end
    return skip_between(text, end) == len(text)


def at_keywords(text: str) -> set[str]:
    """Return the names of all at-keywords of a sheet, in lower case."""
    return {token.value for token in tokens(text, 0, SPARSE) if token.kind is Kind.AT_KEYWORD}
