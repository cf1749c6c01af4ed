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
from functools import cached_property
from itertools import accumulate, compress

from adaptc.formats.script.lexer import OPERATOR_WORDS, STATEMENT_WORDS, Kind, kind_of, scan, unescape
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
    source = _Source.of(text)
    if source is None or _is_module(source) or _reads_comments(source):
        return None
    body = _turbohtml(text)
    if body is None:
        return None
    proven = [body] if _is_equivalent(source, body) else []
    renamed = [shorter for each in proven if short_names and (shorter := with_short_names(each)) is not None]
    candidates = [*(_prepend_licences(source, each) for each in [*proven, *renamed]), _dense(source)]
    smallest = min((each for each in candidates if each is not None), key=_sent, default=text)
    return smallest if len(smallest) < len(text) and _sent(smallest) < _sent(text) else None


class _Source:
    """A script that was split once: all its pieces, and its ``code``, which has no white space and no comments."""

    def __init__(self, text: str, pieces: list[str]) -> None:
        self.text, self.pieces = text, pieces
        self.kinds = {piece: kind_of(piece) for piece in set(pieces)}
        is_code = {piece: kind not in _NO_CODE for piece, kind in self.kinds.items()}
        self._is_code = list(map(is_code.__getitem__, pieces))
        self.code = list(compress(pieces, self._is_code))

    @classmethod
    def of(cls, text: str) -> _Source | None:
        """Split a script; ``None`` if it does not lex."""
        pieces = scan(text)
        return None if pieces is None else cls(text, pieces)

    @property
    def comments(self) -> list[str]:
        """The comments, in order."""
        return [piece for piece in self.pieces if self.kinds[piece] is Kind.COMMENT]

    @cached_property
    def gaps(self) -> list[tuple[int, int, int]]:
        """What is between tokens: where its pieces begin and end, and how many tokens are before it."""
        before = list(accumulate(self._is_code))
        gaps: list[tuple[int, int, int]] = []
        for place in (place for place, is_code in enumerate(self._is_code) if not is_code):
            if gaps and gaps[-1][1] == place:
                gaps[-1] = (gaps[-1][0], place + 1, before[place])
            else:
                gaps.append((place, place + 1, before[place]))
        return gaps

    def has_line_end(self, gap: tuple[int, int, int]) -> bool:
        """Whether a line ends in a gap."""
        return any(map(_LINE_END.search, self.pieces[gap[0] : gap[1]]))

    @cached_property
    def line_ends(self) -> frozenset[int]:
        """The tokens after which a line ends."""
        return frozenset(gap[2] - 1 for gap in self.gaps if self.has_line_end(gap))


_NO_CODE = (None, Kind.COMMENT)


def _sent(text: str) -> tuple[int, int]:
    """Return how long a script is as it is sent, compressed, and how long it is."""
    return len(zlib.compress(text.encode("utf-8", "surrogatepass"), 6)), len(text)


# Between these characters space keeps two tokens, and a comment of HTML, apart; a line end does nothing after or before
# those of the last two
_TOUCHING = re.compile(r"(?:[\w$\\#@.]|[^\x00-\x7f]){2}|[+\-/<>!]{2}|/\w", re.ASCII)
_BEFORE_LINE_END = frozenset("{;,([?:=&|")
_AFTER_LINE_END = frozenset("}),];")


def _dense(source: _Source) -> str | None:
    """Return the tokens without comments and needless space, ``None`` if unsure; line ends that end statements stay."""
    pieces, code = list(source.pieces), source.code
    for gap in source.gaps:
        start, end, number = gap
        pieces[start:end] = [""] * (end - start)
        if 0 < number < len(code):
            pieces[start] = _space(code[number - 1], code[number], has_line_end=source.has_line_end(gap))
    dense = "".join(pieces)
    result = _Source.of(dense)
    if result is None or result.code != code or result.comments:
        return None
    return "\n".join([*filter(_is_licence, source.comments), dense])


def _is_licence(comment: str) -> bool:
    return _PRESERVED_COMMENT.search(comment) is not None or _LICENCE.search(comment) is not None


def _space(first: str, second: str, *, has_line_end: bool) -> str:
    if has_line_end and not (first in _BEFORE_LINE_END or second in _AFTER_LINE_END):
        return "\n"
    return " " if _TOUCHING.match(first[-1] + second[0]) else ""


def _is_module(source: _Source) -> bool:
    """Whether a script can only be a module: it has an ``import`` or ``export`` declaration or ``import.meta``."""
    # Both are reserved words; as names of properties they follow a point or precede ``:`` or ``(``.
    places = [place for place, word in enumerate(source.code[:-1]) if word in _MODULE_WORDS]
    following = [source.code[place + 1] for place in places]
    return any(
        (not place or source.code[place - 1] not in (".", "?."))
        and (after in _AFTER_MODULE_WORD or source.kinds[after] in (Kind.WORD, Kind.STRING))
        for place, after in zip(places, following, strict=True)
    )


def _reads_comments(source: _Source) -> bool:
    """Whether a comment has an effect: a function's whole body with ``toString``, or conditional compilation."""
    if any("@cc_on" in comment for comment in source.comments):
        return True
    if "toString" not in source.kinds:
        return False
    pieces = [piece for piece in source.pieces if source.kinds[piece] is not None]
    return any(
        (first, source.kinds[middle], last) == ("{", Kind.COMMENT, "}") and middle.startswith("/*")
        for first, middle, last in zip(pieces, pieces[1:], pieces[2:], strict=False)
    )


def _turbohtml(text: str) -> str | None:
    from turbohtml.clean import JSMinify, minify_js

    try:
        return minify_js(text, JSMinify(mangle=False, fold=False))
    except ValueError:  # its parse error, the only one it documents for text
        return None


def _is_equivalent(source: _Source, smaller: str) -> bool:
    result = _Source.of(smaller)
    return result is not None and _significant(source) == _significant(result)


def _prepend_licences(source: _Source, body: str) -> str:
    """Prepend the licence notices that turbohtml does not keep (without ``!`` and ``@license``), each once."""
    dropped = [
        _notice(comment)
        for comment in source.comments
        if comment.startswith("/*") and _LICENCE.search(comment) and not _PRESERVED_COMMENT.search(comment)
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
_IN_CONTEXT = _GROUPING | _RESTRICTED_WORDS | _RESTRICTED_OPERATORS | {","}


def significant_tokens(text: str) -> list[object] | None:
    """Return all tokens but comments and grouping punctuation, with normalised spelling of names and values.

    Two scripts with the same significant tokens only differ in brackets and semicolons. ``None`` if it does not lex.
    """
    source = _Source.of(text)
    return None if source is None else _significant(source)


def _significant(source: _Source) -> list[object]:
    code = source.code
    values = {text: _value(kind, text) for text, kind in source.kinds.items() if kind is not None}
    parts: list[object] = list(map(values.__getitem__, code))
    dropped = set()
    for place in (place for place, text in enumerate(code) if text in _IN_CONTEXT):
        text, following = code[place], code[place + 1] if place + 1 < len(code) else None
        if text in _GROUPING or (text == "," and following in _CLOSING):
            dropped.add(place)
        elif text in _RESTRICTED_WORDS:
            parts[place] = text, following is None or following in ";}" or place in source.line_ends
        elif text != ",":
            is_postfix = place > 0 and _is_operand(code[place - 1], source.kinds[code[place - 1]])
            parts[place] = text, (place - 1 in source.line_ends or "postfix") if is_postfix else True
    return [part for place, part in enumerate(parts) if place not in dropped]


def _is_operand(text: str, kind: Kind | None) -> bool:
    return text == "]" or (kind is Kind.WORD and text not in OPERATOR_WORDS | STATEMENT_WORDS)


def _value(kind: Kind, text: str) -> object:
    if kind is Kind.STRING:
        value = unescape(text[1:-1])
        return value if _NAME.fullmatch(value) else _number(value)
    if kind is Kind.NUMBER:
        return _number(text)
    return unescape(text) if kind is Kind.WORD else text


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
