"""Minify style sheets with turbohtml, and take the result only when it says the same as the source.

The proof compares outlines (``outline``): selectors, preludes, declarations with their values, strings,
URLs and custom properties, and, for each family of properties that override each other, their order. It
is independent of the minifier: it is made with tinycss2 and knows only the respellings of ``values``.
What it does not cover: comments, and values for which browsers differ in what they accept. Where the
proof fails for the sheet, it is tried rule by rule, and where it fails for a rule, white space and
comments are all that goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

from adaptc.formats.css.outline import Entry, Outlines, declarations_outline
from adaptc.formats.css.scanner import CLOSERS, DENSE, Kind, Token, tokens
from adaptc.formats.css.sheet_text import at_keywords, split_rules
from adaptc.formats.css.values import INDEPENDENT

_LICENCE = re.compile(r"@licen[cs]e|@preserve|@cc_on", re.IGNORECASE)
# Blocks deeper than any real sheet's; tinycss2 serialises by recursion.
_MAX_DEPTH = 100


def minify_sheet(text: str) -> str | None:
    """Return a smaller sheet that says the same, or ``None`` when there is none or that cannot be proven."""
    from turbohtml.clean import minify_css

    if _is_too_deep(text):
        return None
    if _has_late_import(text):
        return _compacted_sheet(text)
    shorter = _like(text, _minified(_marked_licences(text), minify_css))
    return shorter if len(shorter) < len(text) and _licences(shorter) == _licences(text) else None


def _like(text: str, shorter: str) -> str:
    """Keep a sheet that is ASCII so: the minifier writes escapes out, and without a charset nobody knows which."""
    return escape_non_ascii(shorter) if text.isascii() and not shorter.isascii() else shorter


def escape_non_ascii(text: str) -> str:
    """Return the sheet with escapes for what is not ASCII; a string, a name or a comment holds such characters."""
    return _BEYOND_ASCII.sub(_escape, text)


# CSS Syntax 3, section 4.3.7: a space ends an escape, and is needed where a hexadecimal digit or white space follows
_BEYOND_ASCII = re.compile(r"([^\x00-\x7f])([0-9a-fA-F\s]?)")


def _escape(found: re.Match[str]) -> str:
    return f"\\{ord(found[1]):x}{' ' if found[2] else ''}{found[2]}"


def _compacted_sheet(text: str) -> str | None:
    shorter = _compacted(text)
    return shorter if len(shorter) < len(text) and _is_faithful(text, shorter, Outlines()) else None


def _minified(text: str, minify_css: Callable[[str], str]) -> str:
    outlines = Outlines()
    shorter = minify_css(text)
    if _is_faithful(text, shorter, outlines):
        return shorter
    # The proof of the parts is one of the whole: their order is kept.
    return "".join(_minified_rule(rule, minify_css, outlines) for rule in split_rules(text))


def _is_faithful(text: str, shorter: str, outlines: Outlines) -> bool:
    if _licences(shorter) != _licences(text):
        return False
    return families(outlines.of(shorter)) == families(outlines.of(text))


def _minified_rule(rule: str, minify_css: Callable[[str], str], outlines: Outlines) -> str:
    """Minify one rule with the comments before it: by all means, by white space only, or not at all."""
    for candidate in (minify_css(rule), _compacted(rule)):
        if len(candidate) < len(rule) and _is_faithful(rule, candidate, outlines):
            return candidate
    return rule


def _has_late_import(text: str) -> bool:
    """Whether an ``@import`` or ``@namespace`` stands behind a rule.

    It is ignored there; if that rule were dropped because it is empty, the import would come to life.
    """
    first_rule = text.find("}")
    if first_rule < 0 or not _LATE.search(text, first_rule):
        return False
    rules = split_rules(text)
    next(rules)
    return any({"import", "namespace"} & at_keywords(rule) for rule in rules)


_LATE = re.compile(r"@(?:[iInN]|\\)")


def minify_declarations(text: str) -> str | None:
    """Return a smaller style attribute that says the same, or ``None``."""
    from turbohtml.clean import minify_css_inline

    if _is_too_deep(text):
        return None
    shorter = _like(text, minify_css_inline(text))
    same = len(shorter) < len(text) and families(declarations_outline(shorter)) == families(declarations_outline(text))
    return shorter if same else None


def families(entries: list[Entry]) -> dict[str, list[Entry]]:
    """Sort the entries of an outline by what can override what; within a family their order counts.

    A declaration that follows its equal says nothing new, and neither does the order of the sides of one box.
    """
    sorted_by_family: dict[str, list[Entry]] = {}
    is_split = not any(entry[1] == "all" for entry in entries)
    guards = {(context, value) for context, name, value, _ in entries if name == "with"}
    for entry in entries:
        if entry[1] != "with":
            sorted_by_family.setdefault(_family(entry[1]) if is_split else "", []).append(entry)
    result = {family: _settled(members) for family, members in sorted_by_family.items()}
    return result | {"with": sorted(guards, key=repr)} if guards else result


# Properties that set or override each other, and are not told by the first word of their names.
_KIN = {
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
    return _KIN.get(word, word)


def _settled(entries: list[Entry]) -> list[Entry]:
    """Sort the sides of one box where they stand together under one selector, and drop repetitions."""
    result: list[Entry] = []
    for (_, is_side), run in groupby(entries, key=lambda entry: (entry[0], entry[1] in INDEPENDENT)):
        members = list(run)
        result += sorted(members, key=lambda entry: str(entry[1])) if is_side else members
    return [entry for index, entry in enumerate(result) if index == 0 or entry != result[index - 1]]


def _is_too_deep(text: str) -> bool:
    depth = 0
    for token in tokens(text, 0, DENSE):
        if token.kind is Kind.FUNCTION or (token.kind is Kind.MARK and token.value in CLOSERS):
            depth += 1
        elif token.kind is Kind.MARK and token.value != ";":
            depth -= 1
        if depth > _MAX_DEPTH:
            return True
    return False


def _is_licence(comment: str) -> bool:
    return comment.startswith("/*!") or _LICENCE.search(comment) is not None


def _licences(text: str) -> int:
    if "/*!" not in text and not _LICENCE.search(text):
        return 0
    found = (text[token.start : token.end] for token in tokens(text, 0, DENSE) if token.kind is Kind.COMMENT)
    return sum(map(_is_licence, found))


def _marked_licences(text: str) -> str:
    """Return ``text`` with every licence comment written so that the minifier keeps it: ``/*!``."""
    if not _LICENCE.search(text):
        return text
    pieces, done = [], 0
    for token in tokens(text, 0, DENSE):
        comment = text[token.start : token.end] if token.kind is Kind.COMMENT else ""
        if comment and _is_licence(comment) and not comment.startswith("/*!"):
            pieces += [text[done : token.start], "/*!"]
            done = token.start + 2
    return "".join([*pieces, text[done:]])


_SPACES = re.compile(r"[ \t\n\r\f]+")


def _compacted(text: str) -> str:
    """Drop white space and comments where that cannot matter; strings, URLs and escapes stay as they are."""
    pieces: list[str] = []
    position = 0
    for token in tokens(text, 0, DENSE):
        _append(pieces, _SPACES.sub(" ", text[position : token.start]))
        _append(pieces, _shorter_token(text, token))
        position = token.end
    _append(pieces, _SPACES.sub(" ", text[position:]))
    return "".join(pieces).strip()


def _append(pieces: list[str], piece: str) -> None:
    """Append, without white space beside a brace or semicolon."""
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
    written = text[token.start : token.end]
    if token.kind is not Kind.COMMENT or _is_licence(written):
        return written
    around = text[max(0, token.start - 1) : token.start] + text[token.end : token.end + 1]
    return "" if set(around) & set(" \n\t{};,") or len(around) < 2 else "/**/"
