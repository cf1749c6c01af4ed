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
from collections.abc import Callable
from functools import cache
from itertools import accumulate

from adaptc.core.quantities import sent_size
from adaptc.core.values import pattern
from adaptc.formats.script.lexer import OPERATOR_WORDS, STATEMENT_WORDS, Kind, unescape
from adaptc.formats.script.local_names import with_short_names
from adaptc.formats.script.script import Script

_MODULE_WORDS = frozenset(["import", "export"])
_AFTER_MODULE_WORD = frozenset([".", "{", "*"])
_PRESERVED_COMMENT = pattern(r"\A/\*!|@license|@preserve")
_LICENCE = pattern(r"@licen[cs]e|copyright|\(c\)\s|licen[cs]ed\s+under|SPDX-License", re.IGNORECASE)


def minify_script(text: str, *, short_names: bool = False) -> str | None:
    """Return a smaller equivalent script, or ``None`` if there is none or equivalence cannot be verified.

    With ``short_names`` local variables may have other names.

    Modules lose comments and needless space. The result is ``None`` for malformed scripts, scripts with conditional
    compilation, and those that read a comment in their own text (``function(){/* text */}.toString()``). Licence
    comments are kept and moved to the front; the URL of a source map is dropped, since the map no longer fits.
    """
    body = _turbohtml(text)
    if _is_minified(text, body) and not (short_names and _has_long_names(text)):
        return None
    source = Script(text)
    if not source.lexes or _reads_comments(source):
        return None
    is_module = _is_module(source)
    # Of a module ``<!--`` is no comment, and what ``await`` has before it an expression
    if _NOT_OF_MODULES.search(text) if is_module else body is None:
        return None
    known = None if is_module else body
    is_proven = cache(lambda: known is not None and _is_equivalent(source, known))
    bodies = [known, with_short_names(known) if short_names and is_proven() else None] if known is not None else []
    dense = _dense(source)
    candidates: list[tuple[str, Callable[[], bool]]] = [
        *((_prepend_licences(source, each), is_proven) for each in bodies if each is not None),
        (dense, lambda: _has_same_tokens(source, dense)),
    ]
    # a proof takes longer than all else: the one that is sent with the fewest bytes comes first
    ordered = sorted(candidates, key=lambda candidate: sent_size(candidate[0]))
    smallest = next((shorter for shorter, is_same in ordered if is_same()), text)
    return smallest if len(smallest) < len(text) and sent_size(smallest) < sent_size(text) else None


# Proofs run at 0.15 to 0.8 MB/s. Of 12 scripts by minifiers turbohtml left 98.5 % and more, compressed, of 12 others
# 86 % and less; it reads no modules, whose lines are then long
_WORTH_PROVING, _SMALL, _LONG_LINE = 0.97, 4096, 100


def _is_minified(text: str, shorter: str | None) -> bool:
    """Whether a large script is hardly smaller as turbohtml writes it."""
    if len(text) < _SMALL:
        return False
    if shorter is None:
        return text.count("\n") * _LONG_LINE < len(text)
    return sent_size(shorter)[0] > _WORTH_PROVING * sent_size(text)[0]


# What minifiers that keep names leave: of most functions the first parameter has more than three letters
_PARAMETER = pattern(r"\bfunction\b[ \w$]*\([ \n]*([\w$]+)")


def _has_long_names(text: str) -> bool:
    lengths = [len(name) for name in _PARAMETER.findall(text)]
    return 2 * sum(length > 3 for length in lengths) > len(lengths)


_NOT_OF_MODULES = pattern(r"<!--|-->|\bawait\s*/")


# Between these characters space keeps two tokens, and a comment of HTML, apart; a line end does nothing after or before
# those of the last two
_TOUCHING = pattern(r"(?:[\w$\\#@.]|[^\x00-\x7f]){2}|[+\-/<>!]{2}|/\w", re.ASCII)
_BEFORE_LINE_END = frozenset("{;,([?:=&|")
_AFTER_LINE_END = frozenset("}),];")


def _dense(source: Script) -> str:
    """Return licences, and the tokens without comments and needless space; line ends that end statements stay."""
    tokens = list(source.tokens)
    for place, gap in source.gaps.items():
        if 0 < place < len(tokens):
            tokens[place] = _space(source.tokens[place - 1], gap, tokens[place]) + tokens[place]
    return "\n".join([*filter(_is_licence, source.comments), "".join(tokens)])


def _has_same_tokens(source: Script, dense: str) -> bool:
    result = Script(dense)
    return result.tokens == source.tokens and [*result.comments] == [*filter(_is_licence, source.comments)]


def _is_licence(comment: str) -> bool:
    return _PRESERVED_COMMENT.search(comment) is not None or _LICENCE.search(comment) is not None


def _space(first: str, gap: str, second: str) -> str:
    if _LINE_END.search(gap) and not (first in _BEFORE_LINE_END or second in _AFTER_LINE_END):
        return "\n"
    return " " if _TOUCHING.match(first[-1] + second[0]) else ""


def _is_module(source: Script) -> bool:
    """Whether a script can only be a module: it has an ``import`` or ``export`` declaration or ``import.meta``."""
    # Both are reserved words; as names of properties they follow a point or precede ``:`` or ``(``.
    return any(
        source.token(place - 1) not in (".", "?.")
        and (
            source.token(place + 1) in _AFTER_MODULE_WORD
            or source.kinds_of.get(source.token(place + 1)) in (Kind.WORD, Kind.STRING)
        )
        for place in source.places(_MODULE_WORDS & source.kinds_of.keys())
    )


def _reads_comments(source: Script) -> bool:
    """Whether a comment has an effect: a function's whole body with ``toString``, or conditional compilation."""
    if any("@cc_on" in comment for comment in source.comments):
        return True
    return "toString" in source.kinds_of and any(
        (source.token(place - 1), source.token(place)) == ("{", "}") and gap.lstrip().startswith("/*")
        for place, gap in source.gaps.items()
    )


def _turbohtml(text: str) -> str | None:
    from turbohtml.clean import JSMinify, minify_js

    try:
        return minify_js(text, JSMinify(mangle=False, fold=False))
    except ValueError:  # its parse error, the only one it documents for text
        return None


def _is_equivalent(source: Script, smaller: str) -> bool:
    result = Script(smaller)
    return result.lexes and significant_tokens(source) == significant_tokens(result)


def _prepend_licences(source: Script, body: str) -> str:
    """Prepend the licence notices that turbohtml does not keep (without ``!`` and ``@license``), each once."""
    dropped = [
        _notice(comment)
        for comment in source.comments
        if comment.startswith("/*") and _LICENCE.search(comment) and not _PRESERVED_COMMENT.search(comment)
    ]
    return "\n".join([*dict.fromkeys(dropped), body])


# What the text of a licence says, and a mere notice does not
_TERMS = pattern(
    r"\bpermission|redistribut|\bwarrant|\bliab|[\"'`\u201c\u2018]as.is\b|following conditions|general public|apache",
    re.I,
)
_MARGIN = pattern(r"^[ \t]*\*?[ \t]*", re.MULTILINE)


def _notice(comment: str) -> str:
    """Return the paragraphs of a comment that name a licence or a copyright; one with terms stays as it is."""
    if _TERMS.search(comment):
        return comment
    paragraphs = re.split(r"\n\s*\n", _MARGIN.sub("", comment[2:-2].strip("* \t\r\n").replace("\r\n", "\n")))
    notice = "\n".join(each.strip() for each in paragraphs if _LICENCE.search(each))
    return f"/* {notice} */" if notice and len(notice) + 6 < len(comment) else comment


_NAME = pattern(r"[^\W\d][\w$]*|[$_][\w$]*")
_LEGACY_OCTAL = pattern(r"0\d")
_LINE_END = pattern("[\n\r\u2028\u2029]")
_GROUPING = frozenset(";(){}[].")
_CLOSING = frozenset(")}]")

# ECMA-262 12.10: a line end after these words ends the statement; one before these operators makes them prefixes.
_RESTRICTED_WORDS = frozenset(["return", "break", "continue", "throw", "yield"])
_RESTRICTED_OPERATORS = frozenset(["++", "--"])
_IN_CONTEXT = _GROUPING | _RESTRICTED_WORDS | _RESTRICTED_OPERATORS | {","}


def significant_tokens(source: Script) -> list[object]:
    """Return all tokens but comments and grouping punctuation, with normalised spelling of names and values.

    Two scripts with the same significant tokens only differ in brackets and semicolons.
    """
    tokens = source.tokens
    values = {text: _value(kind, text) for text, kind in source.kinds_of.items()}
    line_ends = {place - 1 for place, gap in source.gaps.items() if _LINE_END.search(gap)}
    parts: list[object] = list(map(values.__getitem__, tokens))
    dropped = set()
    for place in source.places(_IN_CONTEXT & values.keys()):
        text, following = tokens[place], source.token(place + 1)
        if text in _GROUPING or (text == "," and following in _CLOSING):
            dropped.add(place)
        elif text in _RESTRICTED_WORDS:
            parts[place] = text, following in ("", ";", "}") or place in line_ends
        elif text != ",":
            before = source.token(place - 1)
            is_name = source.kinds_of.get(before) is Kind.WORD and before not in OPERATOR_WORDS | STATEMENT_WORDS
            is_postfix = is_name or before == "]"
            parts[place] = text, (place - 1 in line_ends or "postfix") if is_postfix else True
    return [part for place, part in enumerate(parts) if place not in dropped]


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


_STRING_OR_SPACE = pattern(r'("(?:[^"\\]|\\.)*")|[ \t\n\r]+', re.DOTALL)


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


_STRING = pattern(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = pattern(r"[\[\]{}]")
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
