"""Minify style sheets with turbohtml, and verify that the result is equivalent to the source.

The verification compares outlines (``outline``): selectors, preludes, declarations with their values, strings,
URLs and custom properties, and, for each family of properties that override each other, their order. It is
independent of the minifier: it uses tinycss2 and the equivalences of ``values`` only. It does not cover comments,
nor values that only some browsers accept. A sheet that fails is minified rule by rule, and in a rule that fails
only white space and comments are removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

from adaptc.formats.css.outline import Entry, Outlines, OutlineTooLargeError
from adaptc.formats.css.scanner import DENSE, Kind, Token, tokens
from adaptc.formats.css.sheet_text import at_keywords, is_too_deep, split_rules
from adaptc.formats.css.values import INDEPENDENT

_LICENCE = re.compile(r"@licen[cs]e|@preserve|@cc_on", re.IGNORECASE)


def minify_sheet(text: str) -> str | None:
    """Return a smaller equivalent sheet, or ``None`` if there is none or equivalence cannot be verified."""
    from turbohtml.clean import minify_css

    if is_too_deep(text):
        return None
    try:
        return _compact_sheet(text) if _has_late_import(text) else _minify_sheet(text, minify_css)
    except OutlineTooLargeError:
        return None


def _minify_sheet(text: str, minify_css: Callable[[str], str]) -> str | None:
    shorter = _match_charset(text, _minify(_mark_licences(text), minify_css))
    return shorter if len(shorter) < len(text) and _count_licences(shorter) == _count_licences(text) else None


def _match_charset(text: str, shorter: str) -> str:
    """Keep an ASCII sheet ASCII: the minifier resolves escapes, and the sheet may be served without a charset."""
    return escape_non_ascii(shorter) if text.isascii() and not shorter.isascii() else shorter


def escape_non_ascii(text: str) -> str:
    """Return the sheet with escapes for non-ASCII characters, which only strings, names and comments have."""
    return _NON_ASCII.sub(_escape, text)


# CSS Syntax 3, section 4.3.7: a space ends an escape, and is needed where a hexadecimal digit or white space follows
_NON_ASCII = re.compile(r"([^\x00-\x7f])([0-9a-fA-F\s]?)")


def _escape(match: re.Match[str]) -> str:
    return f"\\{ord(match[1]):x}{' ' if match[2] else ''}{match[2]}"


def _compact_sheet(text: str) -> str | None:
    shorter = _compact(text)
    return shorter if len(shorter) < len(text) and _is_equivalent(text, shorter, Outlines()) else None


def _minify(text: str, minify_css: Callable[[str], str]) -> str:
    outlines = Outlines()
    shorter = minify_css(text)
    if _is_equivalent(text, shorter, outlines):
        return shorter
    # Equivalent parts in the same order are an equivalent sheet.
    return "".join(_minify_rule(rule, minify_css, outlines) for rule in split_rules(text))


def _is_equivalent(text: str, shorter: str, outlines: Outlines) -> bool:
    if _count_licences(shorter) != _count_licences(text):
        return False
    return families(outlines.of(shorter)) == families(outlines.of(text))


def _minify_rule(rule: str, minify_css: Callable[[str], str], outlines: Outlines) -> str:
    """Minify one rule with the comments before it: fully, by white space and comments only, or not at all."""
    for candidate in (minify_css(rule), _compact(rule)):
        if len(candidate) < len(rule) and _is_equivalent(rule, candidate, outlines):
            return candidate
    return rule


def _has_late_import(text: str) -> bool:
    """Whether an ``@import`` or ``@namespace`` follows a rule.

    Browsers ignore it there, but would honour it if minification dropped an empty rule before it.
    """
    first_rule = text.find("}")
    if first_rule < 0 or not _LATE.search(text, first_rule):
        return False
    rules = split_rules(text)
    next(rules)
    return any({"import", "namespace"} & at_keywords(rule) for rule in rules)


_LATE = re.compile(r"@(?:[iInN]|\\)")


def families(entries: list[Entry]) -> dict[str, list[Entry]]:
    """Group the entries of an outline by families of properties that override each other.

    Order matters within a family only. A repeated declaration has no effect, nor has the order of a box's sides.
    """
    by_family: dict[str, list[Entry]] = {}
    is_split = not any(entry[1] == "all" for entry in entries)
    guards = {(context, value) for context, name, value, _ in entries if name == "with"}
    for entry in entries:
        if entry[1] != "with":
            by_family.setdefault(_family(entry[1]) if is_split else "", []).append(entry)
    result = {family: _normalise_order(members) for family, members in by_family.items()}
    return result | {"with": sorted(guards, key=repr)} if guards else result


# Families whose properties override each other without the same first word in their names
_FAMILY_OF_WORD = {
    "top": "inset", "right": "inset", "bottom": "inset", "left": "inset", "line": "font", "row": "gap",
    "column": "gap", "columns": "gap", "grid": "gap", "justify": "place", "align": "place", "width": "size",
    "height": "size", "inline": "size", "block": "size", "min": "size", "max": "size", "word": "overflow",
    "text": "white",
}  # fmt: skip
_FIRST_WORD = re.compile(r"[^a-z-]*(?:-[a-z]+-)?([a-z]*)")


def _family(name: str) -> str:
    if name.startswith("--") or name == "@":
        return name
    match = _FIRST_WORD.match(name)
    word = match[1] if match else name
    return _FAMILY_OF_WORD.get(word, word)


def _normalise_order(entries: list[Entry]) -> list[Entry]:
    """Sort adjacent sides of one box under one selector, and drop repetitions."""
    result: list[Entry] = []
    for (_, is_side), run in groupby(entries, key=lambda entry: (entry[0], entry[1] in INDEPENDENT)):
        members = list(run)
        result += sorted(members, key=lambda entry: str(entry[1])) if is_side else members
    return [entry for index, entry in enumerate(result) if index == 0 or entry != result[index - 1]]


def _is_licence(comment: str) -> bool:
    return comment.startswith("/*!") or _LICENCE.search(comment) is not None


def _count_licences(text: str) -> int:
    if "/*!" not in text and not _LICENCE.search(text):
        return 0
    comments = (text[token.start : token.end] for token in tokens(text, 0, DENSE) if token.kind is Kind.COMMENT)
    return sum(map(_is_licence, comments))


def _mark_licences(text: str) -> str:
    """Return ``text`` with ``/*!`` at every licence comment, so that the minifier keeps it."""
    if not _LICENCE.search(text):
        return text
    pieces, position = [], 0
    for token in tokens(text, 0, DENSE):
        comment = text[token.start : token.end] if token.kind is Kind.COMMENT else ""
        if comment and _is_licence(comment) and not comment.startswith("/*!"):
            pieces += [text[position : token.start], "/*!"]
            position = token.start + 2
    return "".join([*pieces, text[position:]])


_SPACES = re.compile(r"[ \t\n\r\f]+")


def _compact(text: str) -> str:
    """Drop insignificant white space and comments; strings, URLs and escapes are not changed."""
    pieces: list[str] = []
    position = 0
    for token in tokens(text, 0, DENSE):
        _append(pieces, _SPACES.sub(" ", text[position : token.start]))
        _append(pieces, _shorter_token(text, token))
        position = token.end
    _append(pieces, _SPACES.sub(" ", text[position:]))
    return "".join(pieces).strip()


def _append(pieces: list[str], piece: str) -> None:
    """Append a piece, without white space next to a brace or semicolon."""
    if pieces and pieces[-1] in ("{", "}", ";"):
        piece = piece.lstrip(" ")
    elif piece in ("{", "}", ";") and pieces:
        pieces[-1] = pieces[-1] if _ends_in_escape(pieces[-1]) else pieces[-1].rstrip(" ")
    if piece:
        pieces.append(piece)


_LAST_ESCAPE = re.compile(r"\\[0-9a-fA-F]{0,6} \Z")


def _ends_in_escape(piece: str) -> bool:
    return _LAST_ESCAPE.search(piece) is not None


def _shorter_token(text: str, token: Token) -> str:
    source = text[token.start : token.end]
    if token.kind is not Kind.COMMENT or _is_licence(source):
        return source
    around = text[max(0, token.start - 1) : token.start] + text[token.end : token.end + 1]
    return "" if set(around) & set(" \n\t{};,") or len(around) < 2 else "/**/"
