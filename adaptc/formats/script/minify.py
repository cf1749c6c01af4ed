"""Minify scripts and JSON: remove white space, comments and redundant punctuation; keep all names and values.

turbohtml minifies scripts, with ``mangle`` and ``fold`` off. ``fold`` rewrites statements into expressions and
drops dead code for 1 % more (0.25 % after gzip; 3.7 MB of libraries). Without it the result can be verified: it
must have the words, values and operators of the source in their order. The same tokens without the space between them
are another candidate, and on request the same script with shorter names of local variables (``local_names``): what is
sent with fewer bytes wins, and a script that fails is not changed.
"""

from __future__ import annotations

import json
import re
import zlib
from itertools import accumulate, pairwise, zip_longest

from adaptc.formats.script.lexer import OPERATOR_WORDS, STATEMENT_WORDS, Kind, Token, tokenize, unescape
from adaptc.formats.script.local_names import with_short_names

_MODULE_WORDS = frozenset(["import", "export"])
_AFTER_MODULE_WORD = frozenset([".", "{", "*"])
_PRESERVED_COMMENT = re.compile(r"\A/\*!|@license|@preserve")
_LICENCE = re.compile(r"@licen[cs]e|copyright|\(c\)\s|licen[cs]ed\s+under|SPDX-License", re.IGNORECASE)


def minify_script(text: str, *, short_names: bool = False) -> str | None:
    """Return a smaller equivalent script, or ``None`` if there is none or equivalence cannot be verified.

    With ``short_names`` local variables may have other names.

    The result is ``None`` for modules, malformed scripts, scripts with conditional compilation, and those that read
    a comment in their own text (``function(){/* text */}.toString()``). Licence comments are kept and moved to the
    front; the URL of a source map is dropped, since the map no longer fits.
    """
    tokens = tokenize(text)
    if tokens is None or _is_module(tokens) or _reads_comments(tokens):
        return None
    body = _turbohtml(text)
    if body is None:
        return None
    proven = [body] if _is_equivalent(text, tokens, body) else []
    renamed = [shorter for each in proven if short_names and (shorter := with_short_names(each)) is not None]
    candidates = [*(_prepend_licences(tokens, each) for each in [*proven, *renamed]), _dense(text, tokens)]
    smallest = min((each for each in candidates if each is not None), key=_sent, default=text)
    return smallest if len(smallest) < len(text) and _sent(smallest) < _sent(text) else None


def _sent(text: str) -> tuple[int, int]:
    """Return how long a script is as it is sent, compressed, and how long it is."""
    return len(zlib.compress(text.encode("utf-8", "surrogatepass"), 6)), len(text)


# Between these characters space keeps two tokens, and a comment of HTML, apart; a line end does nothing after or before
# those of the last two
_TOUCHING = re.compile(r"(?:[\w$\\#@.]|[^\x00-\x7f]){2}|[+\-/<>!]{2}|/\w", re.ASCII)
_BEFORE_LINE_END = frozenset("{;,([?:=&|")
_AFTER_LINE_END = frozenset("}),];")


def _dense(text: str, tokens: list[Token]) -> str | None:
    """Return the tokens without comments and needless space, ``None`` if unsure; line ends that end statements stay."""
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    pieces = [piece for first, second in pairwise(code) for piece in (first.text, _space(text, first, second))]
    dense = "".join([*pieces, *(token.text for token in code[-1:])])
    result = tokenize(dense)
    if result is None or [token.text for token in result] != [token.text for token in code]:
        return None
    kept = (token.text for token in tokens if token.kind is Kind.COMMENT and _is_licence(token.text))
    return "\n".join([*kept, dense])


def _is_licence(comment: str) -> bool:
    return _PRESERVED_COMMENT.search(comment) is not None or _LICENCE.search(comment) is not None


def _space(text: str, first: Token, second: Token) -> str:
    if _has_line_end(text, first, second) and not (first.text in _BEFORE_LINE_END or second.text in _AFTER_LINE_END):
        return "\n"
    is_apart = first.end < second.start and _TOUCHING.match(first.text[-1] + second.text[0])
    return " " if is_apart else ""


def _is_module(tokens: list[Token]) -> bool:
    """Whether a script can only be a module: it has an ``import`` or ``export`` declaration or ``import.meta``."""
    # Both are reserved words; as names of properties they follow a point or precede ``:`` or ``(``.
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    return any(
        word.text in _MODULE_WORDS
        and word.kind is Kind.WORD
        and (previous is None or previous.text not in (".", "?."))
        and (following.kind in (Kind.WORD, Kind.STRING) or following.text in _AFTER_MODULE_WORD)
        for previous, (word, following) in zip([None, *code], pairwise(code), strict=False)
    )


def _reads_comments(tokens: list[Token]) -> bool:
    """Whether a comment has an effect: a function's whole body with ``toString``, or conditional compilation."""
    comments = [token.text for token in tokens if token.kind is Kind.COMMENT]
    if any("@cc_on" in comment for comment in comments):
        return True
    lone = any(
        (first.text, middle.kind, last.text) == ("{", Kind.COMMENT, "}") and middle.text.startswith("/*")
        for first, middle, last in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )
    return lone and any(token.text == "toString" for token in tokens)


def _turbohtml(text: str) -> str | None:
    from turbohtml.clean import JSMinify, minify_js

    try:
        return minify_js(text, JSMinify(mangle=False, fold=False))
    except ValueError:  # its parse error, the only one it documents for text
        return None


def _is_equivalent(text: str, tokens: list[Token], smaller: str) -> bool:
    result = tokenize(smaller)
    return result is not None and significant_tokens(text, tokens) == significant_tokens(smaller, result)


def _prepend_licences(tokens: list[Token], body: str) -> str:
    """Prepend the licence notices that turbohtml does not keep (without ``!`` and ``@license``), each once."""
    dropped = [
        _notice(token.text)
        for token in tokens
        if token.kind is Kind.COMMENT
        and token.text.startswith("/*")
        and _LICENCE.search(token.text)
        and not _PRESERVED_COMMENT.search(token.text)
    ]
    return "\n".join([*dict.fromkeys(dropped), body])


# What the text of a licence says, and a mere notice does not
_TERMS = re.compile(
    r"\bpermission|redistribut|\bwarrant|\bliab|\bas is\b|following conditions|general public|apache", re.I
)
_MARGIN = re.compile(r"^[ \t]*\*?[ \t]*", re.MULTILINE)


def _notice(comment: str) -> str:
    """Return the paragraphs of a comment that name a licence or a copyright; one with terms stays as it is."""
    if _TERMS.search(comment):
        return comment
    paragraphs = re.split(r"\n\s*\n", _MARGIN.sub("", comment[2:-2].strip("* \t\r\n").replace("\r\n", "\n")))
    notice = "\n".join(each.strip() for each in paragraphs if _LICENCE.search(each))
    return f"/* {notice} */" if notice and len(notice) + 6 < len(comment) else comment


_NAME = re.compile(r"[^\W\d][\w$]*|[$_][\w$]*")
_LEGACY_OCTAL = re.compile(r"0\d")
_LINE_END = re.compile("[\n\r\u2028\u2029]")
_GROUPING = frozenset(";(){}[].")
_CLOSING = frozenset(")}]")

# ECMA-262 12.10: a line end after these words ends the statement; one before these operators makes them prefixes.
_RESTRICTED_WORDS = frozenset(["return", "break", "continue", "throw", "yield"])
_RESTRICTED_OPERATORS = frozenset(["++", "--"])


def significant_tokens(text: str, tokens: list[Token]) -> list[object]:
    """Return all tokens but comments and grouping punctuation, with normalised spelling of names and values.

    Two scripts with the same significant tokens only differ in brackets and semicolons. ``tokens`` are the text's.
    """
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    return [
        _significant_part(text, previous, token, following)
        for previous, token, following in zip_longest([None, *code[:-1]], code, code[1:])
        if token and token.text not in _GROUPING and not _is_trailing_comma(token, following)
    ]


def _is_trailing_comma(token: Token, following: Token | None) -> bool:
    return token.text == "," and following is not None and following.text in _CLOSING


def _significant_part(text: str, previous: Token | None, token: Token, following: Token | None) -> object:
    if token.text in _RESTRICTED_WORDS:
        return token.text, following is None or following.text in ";}" or _has_line_end(text, token, following)
    if token.text in _RESTRICTED_OPERATORS and previous and _is_operand(previous):
        return token.text, _has_line_end(text, previous, token) or "postfix"
    return (token.text, True) if token.text in _RESTRICTED_OPERATORS else _value(token)


def _has_line_end(text: str, first: Token, second: Token) -> bool:
    return _LINE_END.search(text, first.end, second.start) is not None


def _is_operand(token: Token) -> bool:
    return token.text == "]" or (token.kind is Kind.WORD and token.text not in OPERATOR_WORDS | STATEMENT_WORDS)


def _value(token: Token) -> object:
    if token.kind is Kind.STRING:
        value = unescape(token.text[1:-1])
        return value if _NAME.fullmatch(value) else _number(value)
    if token.kind is Kind.NUMBER:
        return _number(token.text)
    return unescape(token.text) if token.kind is Kind.WORD else token.text


def _number(digits: str) -> float | str:
    """Return the value of a decimal literal; other literals (0x1f, 017, 1n) and texts are returned as they are."""
    try:
        return digits if _LEGACY_OCTAL.match(digits) else float(digits)
    except ValueError:
        return digits


_STRING_OR_SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\n\r]+', re.DOTALL)


def minify_json(text: str) -> str | None:
    """Return a JSON text (RFC 8259) without insignificant white space, or ``None`` if it is invalid or not smaller.

    Spelling of numbers and strings, order of members and repeated names are kept. The result is parsed and compared
    with the source. ``NaN`` and ``Infinity``, which RFC 8259 does not have, make a text invalid.
    """
    smaller = _STRING_OR_SPACE.sub(r"\1", text)
    if len(smaller) >= len(text) or _is_too_deep(text):
        return None
    value = _parse_exactly(text)
    return smaller if value is not None and _parse_exactly(smaller) == value else None


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_MAX_DEPTH = 100  # values are compared by recursion


def _is_too_deep(text: str) -> bool:
    depths = accumulate(1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(_STRING.sub("", text)))
    return any(depth > _MAX_DEPTH for depth in depths)


def _parse_exactly(text: str) -> tuple[object] | None:
    """Return the value in a tuple (``null`` is a value), or ``None`` if the text is invalid."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=lambda members: ("object", members),
            parse_float=lambda digits: ("number", digits),
            parse_int=lambda digits: ("number", digits),
            parse_constant=_refuse,
        )
    except ValueError:
        return None
    return (value,)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
