"""Style sheets as text: decoded from bytes, cut between rules, put after other rules or into a ``<style>`` element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from adaptc.formats.css.scanner import CLOSERS, DENSE, SPARSE, Kind, Token, skip_between, tokens


def is_balanced(text: str) -> bool:
    """Whether no comment, string, URL, escape, block or function is open at the end and every closing
    mark matches."""
    stack: list[str] = []
    for token in tokens(text, 0, DENSE):
        if not token.is_closed or not track_nesting(stack, token):
            return False
    return not stack and not _ends_in_escape(text)


def track_nesting(stack: list[str], token: Token) -> bool:
    """Push or pop for one token; ``False`` when it closes what is not open."""
    if token.kind is Kind.FUNCTION:
        stack.append(")")
    elif token.kind is Kind.MARK and token.value in CLOSERS:
        stack.append(CLOSERS[token.value])
    elif token.kind is Kind.MARK and token.value != ";":
        return bool(stack) and stack.pop() == token.value
    return True


def split_rules(text: str) -> Iterator[str]:
    """Cut a sheet behind each of its rules; the parts joined are the sheet.

    Each ends with nothing open, so it is read alone as it is read in its place. From a closing mark that matches
    nothing on, the sheet is one part.
    """
    stack: list[str] = []
    start = 0
    for token in tokens(text, 0, DENSE):
        if not track_nesting(stack, token):
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
        track_nesting(stack, token)
        if not stack and token.kind is Kind.MARK and (token.value == "}" or (token.value == ";" and is_at_rule)):
            is_at_rule, end = False, token.end
    return skip_between(text, end) == len(text)


def at_keywords(text: str) -> set[str]:
    """Return the names of all at-keywords of a sheet, in lower case."""
    return {token.value for token in tokens(text, 0, SPARSE) if token.kind is Kind.AT_KEYWORD}


_NEWLINES = re.compile(r"\r\n|[\r\f]")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A decoded style sheet. ``encoding`` is the WHATWG name of what it was decoded from."""

    text: str
    encoding: str


def decode_sheet(content: bytes, environment: str) -> Sheet:
    """Decode a style sheet: byte order mark, ``@charset``, ``environment`` (the encoding of the page), UTF-8.

    Bytes that are not of the encoding become U+FFFD, as browsers show them; an unknown ``environment``
    counts as none. Newlines are LF and NUL is U+FFFD.
    """
    from tinycss2.bytes import decode_stylesheet_bytes

    try:
        text, encoding = decode_stylesheet_bytes(content, environment_encoding=environment or None)
    except LookupError:
        text, encoding = decode_stylesheet_bytes(content)
    return Sheet(preprocess(text), encoding.name)


def preprocess(text: str) -> str:
    """Filter code points (section 3.3): CRLF, CR and FF become LF, NUL becomes U+FFFD."""
    if "\r" in text or "\f" in text:
        text = _NEWLINES.sub("\n", text)
    return text.replace("\0", "\ufffd")


_END_TAG = re.compile(r"</(?=style)", re.IGNORECASE | re.ASCII)
_HARMLESS = {Kind.STRING: r"<\\/", Kind.URL: r"<\\/", Kind.COMMENT: "< /"}


def escape_for_style_element(text: str) -> str | None:
    r"""Return ``text`` so that it can stand in a ``<style>`` element and means the same, or ``None``.

    ``</style`` becomes ``<\/style`` in strings and URLs and ``< /style`` in comments; elsewhere it is
    malformed and cannot be written. ``<!--`` needs nothing: raw text knows no comments, and the CSS
    parser ignores the mark as it does in a file. What is open at the end is closed by the end of the
    element, as by the end of a file.
    """
    if not _END_TAG.search(text):
        return text
    pieces, done = [], 0
    for token in tokens(text, 0, SPARSE):
        if token.kind in _HARMLESS and _END_TAG.search(text, token.start, token.end + 5):
            pieces += [
                text[done : token.start],
                _END_TAG.sub(_HARMLESS[token.kind], text[token.start : token.end]),
            ]
            done = token.end
    escaped = "".join([*pieces, text[done:]])
    return None if _END_TAG.search(escaped) else escaped
