"""A scanner for the tokens of CSS Syntax 3, section 4, that carry structure or URLs, with their spans.

Tokens are regular, so each is one regular expression; nesting is not, and callers keep a stack for it.
Idents, numbers, delimiters and white space are skipped, which makes the scanner 20 to 100 times faster than
a full tokenizer (tinycss2: 2 MB/s), against which it is tested token by token. Text may be preprocessed
(section 3.3) or not: every newline of CSS is recognised, and NUL counts as U+FFFD.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from enum import Enum

from adaptc.core.values import dataclass, pattern

NEWLINE = r"(?:\r\n|[\n\r\f])"
SPACE = r"[ \t\n\r\f]"
# Any code point from U+0080 on is a name code point for browsers and tinycss2; NUL is one as U+FFFD. Classes name what
# they leave out: one with a range beyond ASCII takes 3 ms to compile, a hundred times longer, and a pattern has dozens.
NAME_CHARACTER = r"[^\x01-,./:-@\[-^`{-\x7f]"
_NAME_START = r"[^\x01-@\[-^`{-\x7f]"
ESCAPE = rf"\\(?:[0-9a-fA-F]{{1,6}}+(?>(?:\r\n|{SPACE})?)|[^\n\r\f0-9a-fA-F]|\Z)"
NAME = rf"(?>(?:{NAME_CHARACTER}++|{ESCAPE})+)"
IDENT = rf"(?=--|-?+(?:{_NAME_START}|\\[^\n\r\f]|\\\Z)){NAME}"
GAP = rf"(?>(?:{SPACE}++|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/|\Z))*)"

# A function is recognised at its "(", and its name is read backwards: parentheses are rarer than letters. A
# name with an escape is recognised at its first backslash. A leading character class keeps ``re`` fast.
_OPENINGS = (
    r"(?<=/)\*",  # comment
    r"(?<=[\"'])",  # string or bad-string
    r"(?<=\\)(?:[^\n\r\f]|\Z)",  # name with an escape
    rf"(?<=@){IDENT}",  # at-keyword
    rf"(?<=<)!--(?>(?:{NAME})?)",  # CDO, with the name that touches it
)
_CALLS = (r"(?<=[uU][rR][lL]\()", r"(?<=[sS][rR][cC]\()", r"(?<=-[sS][eE][tT]\()")
_MARKS = (r"(?<=[(){}\[\];])",)

SPARSE = re.compile(rf"[(\"'/\\@<](?:{'|'.join(_OPENINGS + _CALLS)})")
DENSE = re.compile(rf"[(){{}}\[\];\"'/\\@<](?:{'|'.join(_OPENINGS + _MARKS)})")

# Group 2 is the closing mark, empty at the end of the text, and missing in a bad-string (section 4.3.5).
_STRING = {
    mark: re.compile(rf"{mark}([^{mark}\\\n\r\f]*+(?>(?:\\(?:\r\n|[\s\S]|\Z)[^{mark}\\\n\r\f]*+)*))(?>({mark}|\Z)?)")
    for mark in "\"'"
}
_NAME = pattern(NAME)
_NAME_END = pattern(rf"{NAME_CHARACTER}*\Z")
_ASCII_NAME_CHARACTERS = "-_\0" + string.digits + string.ascii_letters
_GAP = pattern(GAP)
_ESCAPE = pattern(rf"\\(?:([0-9a-fA-F]{{1,6}})(?:\r\n|{SPACE})?|{NEWLINE}|([\s\S])|\Z)")
_CDO_OR_CDC = pattern(r"<!--|-->")
_URL_REST = pattern(
    rf"{SPACE}*+(?:(?=[\"'])(?P<quoted>)"
    rf"|(?P<url>(?>(?:[^\"'()\\\x01-\x20\x7f]++|{ESCAPE})*)){SPACE}*+(?P<close>\)|\Z)"
    rf"|(?>(?:[^)\\]++|\\(?:[\s\S]|\Z))*)(?:\)|\Z))"
)
# The longest name of interest is "-webkit-image-set"; a longer run of name characters is not read whole.
_LOOKBEHIND = 40

CLOSERS = {"(": ")", "[": "]", "{": "}"}
# Blocks and functions deeper than any real sheet's (20 at most). Sheets are walked by recursion, tinycss2 included.
MAX_DEPTH = 100
MAX_DIGITS = 4300  # of a number: what Python converts (sys.int_info.default_max_str_digits)


class Kind(Enum):
    """The tokens that are reported (CSS Syntax 3, section 4)."""

    STRING = "string"
    BAD_STRING = "bad-string"
    URL = "url"
    BAD_URL = "bad-url"
    FUNCTION = "function"
    AT_KEYWORD = "at-keyword"
    COMMENT = "comment"
    MARK = "mark"  # one of ( ) [ ] { } ;
    OTHER = "other"


@dataclass(slots=True)
class Token:
    """A token and its span. ``value`` is a name in lower case without escapes, or the character of a mark."""

    kind: Kind
    start: int
    end: int
    value: str = ""
    is_closed: bool = True  # False when the text ends within the token


def unescape(text: str) -> str:
    """Resolve the escapes of a name, a string's content or a bare URL (section 4.3.7); NUL becomes U+FFFD."""
    text = text.replace("\0", "\ufffd")
    return _ESCAPE.sub(_code_point, text) if "\\" in text else text


def _code_point(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1], 16)
        return "\ufffd" if not 0 < code < 0x110000 or 0xD800 <= code < 0xE000 else chr(code)
    if match[0] == "\\":  # the end of the text
        return "\ufffd"
    return match[2] or ""  # an escaped newline, in strings only, is nothing


def string_value(text: str, token: Token) -> str:
    """Return the value of a string token (section 4.3.5)."""
    match = _STRING[text[token.start]].match(text, token.start)
    if match is None:
        return ""
    body = match[1]
    if not match[2] and (len(body) - len(body.rstrip("\\"))) % 2:
        body = body[:-1]  # an escaped end of the text is nothing
    return unescape(body)


def url_value(text: str, token: Token) -> str:
    """Return the value of a bare URL token."""
    match = _URL_REST.match(text, text.index("(", token.start) + 1)
    return unescape(match["url"]) if match and match["url"] else ""


def skip_gap(text: str, position: int) -> int:
    """Return the position after white space and comments."""
    match = _GAP.match(text, position)
    return match.end() if match else position


def skip_between_rules(text: str, position: int) -> int:
    """Return the position after what may separate rules: white space, comments, CDO and CDC."""
    while match := _CDO_OR_CDC.match(text, position := skip_gap(text, position)):
        position = match.end()
    return position


def tokens(text: str, position: int, pattern: re.Pattern[str]) -> Iterator[Token]:
    """Yield the tokens from ``position`` on: with ``SPARSE`` those that may hold a URL, with ``DENSE`` all kinds."""
    while token := next_token(text, position, pattern):
        yield token
        position = token.end


def next_token(text: str, position: int, pattern: re.Pattern[str]) -> Token | None:
    """Return the first token at or after ``position``, or ``None``; no token may span ``position``."""
    match = pattern.search(text, position)
    if match is None:
        return None
    if match.start() == position and text[position] == "(":  # what precedes it is another token: #\"url(
        return _mark(text, position, position + 1)
    return _READERS[text[match.start()]](text, match.start(), match.end())


def _comment(text: str, start: int, end: int) -> Token:
    close = text.find("*/", end)
    return Token(Kind.COMMENT, start, len(text) if close < 0 else close + 2, is_closed=close >= 0)


def _string(text: str, start: int, end: int) -> Token:
    match = _STRING[text[start]].match(text, start)
    if match is None or match[2] is None:
        return Token(Kind.BAD_STRING, start, match.end() if match else end)
    return Token(Kind.STRING, start, match.end(), is_closed=bool(match[2]))


def _name_start(text: str, end: int) -> int:
    """Return where the run of name characters before ``end`` starts, at most ``_LOOKBEHIND`` back."""
    window = text[max(0, end - _LOOKBEHIND) : end]
    stripped = window.rstrip(_ASCII_NAME_CHARACTERS)
    if stripped and stripped[-1] >= "\x80" and (match := _NAME_END.search(window)):
        stripped = window[: match.start()]
    return end - len(window) + len(stripped)


def _escaped_name(text: str, start: int, _end: int) -> Token:
    first = _name_start(text, start)
    match = _NAME.match(text, start)
    end = match.end() if match else start + 1
    if first and text[first - 1] in "#@":
        return Token(Kind.OTHER, start, end)
    return _named(text, first, end)


def _named(text: str, start: int, end: int) -> Token:
    if text[end : end + 1] != "(":
        return Token(Kind.OTHER, start, end)
    return _function(text, start, end)


def _function(text: str, start: int, end: int) -> Token:
    name = unescape(text[start:end]).lower()
    if name == "url" and (match := _URL_REST.match(text, end + 1)) and match["quoted"] is None:
        if match["url"] is None:
            return Token(Kind.BAD_URL, start, match.end(), "url", text[match.end() - 1] == ")")
        return Token(Kind.URL, start, match.end(), "url", bool(match["close"]))
    return Token(Kind.FUNCTION, start, end + 1, name)


def _call(text: str, start: int, _end: int) -> Token:
    first = _name_start(text, start)
    if first == start or (first and text[first - 1] in "#@"):
        return Token(Kind.MARK, start, start + 1, "(")
    return _function(text, first, start)


def _at_keyword(text: str, start: int, end: int) -> Token:
    return Token(Kind.AT_KEYWORD, start, end, unescape(text[start + 1 : end]).lower())


def _cdo(text: str, start: int, end: int) -> Token:
    return _named(text, start + 4, end) if end > start + 4 else Token(Kind.OTHER, start, end)


def _mark(text: str, start: int, end: int) -> Token:
    return Token(Kind.MARK, start, end, text[start])


_READERS = {
    "/": _comment, '"': _string, "'": _string, "\\": _escaped_name, "@": _at_keyword, "<": _cdo, "(": _call,
    ")": _mark, "[": _mark, "]": _mark, "{": _mark, "}": _mark, ";": _mark,
}  # fmt: skip
