"""Minify style sheets with turbohtml, and verify that the result is equivalent to the source.

The verification compares outlines (``outline``): selectors, preludes, declarations with their values, strings,
URLs and custom properties, and, for each family of properties that override each other, their order. It is
independent of the minifier: it uses tinycss2 and the equivalences of ``values`` only. It does not cover comments,
nor values that only some browsers accept. In a sheet that fails, rules that can be proven are minified together as far
as that can be proven too, and in a rule that fails only white space and comments are removed. What is sent with fewer
bytes wins.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import groupby

from adaptc.core.quantities import sent_size
from adaptc.formats.css.colours import as_hex
from adaptc.formats.css.outline import AT_RULE, TOGETHER, Entry, Outlines, OutlineTooLargeError
from adaptc.formats.css.plain import STRING
from adaptc.formats.css.scanner import DENSE, Kind, Token, tokens
from adaptc.formats.css.sheet_text import at_keywords, beyond_limits, comments, split_rules
from adaptc.formats.css.values import INDEPENDENT, as_held, opacity_step

# A result is proven at 0.6 MB/s. A large sheet of which the minifier leaves more than this share, compressed, is not
# worth that: of 309 sheets of 140 kB by a minifier it left 99 % and more
_WORTH_PROVING, _SMALL = 0.99, 4096

OutlineOf = Callable[[str], list[Entry]]

_LICENCE = re.compile(r"@licen[cs]e|@preserve|@cc_on", re.IGNORECASE)


def minify_sheet(text: str) -> str | None:
    """Return a smaller equivalent sheet, or ``None`` if there is none or equivalence cannot be verified."""
    from turbohtml.clean import minify_css

    if beyond_limits(text):
        return None
    names = _families(text)

    def minify(part: str) -> str:
        return _with_families(minify_css(part), names)

    try:
        held = _with_proven_values(text)
        if held == text and len(text) >= _SMALL and sent_size(minify(text))[0] > _WORTH_PROVING * sent_size(text)[0]:
            return None
        shorter = _compact_sheet(held) if _has_late_import(held) else _minify_sheet(held, minify)
        return held if shorter is None and sent_size(held) < sent_size(text) else shorter
    except OutlineTooLargeError:
        return None


# ---- Numbers with more digits than browsers hold: 0.8571396097540855em, as tools compute and export them

_LONG = re.compile(r"(?<![\w.#\\])(\d*\.\d{4,})(?![\w.]|[eE][-+])|(?<![\w.#\\])(\d*\.\d{4,})(?=[a-df-zA-DF-Z]|e[mx])")
_MOST_DIGITS = 9  # that tell numbers of single precision apart (IEEE 754)


def _with_proven_values(text: str) -> str:
    if not (_LONG.search(text) or _COLOUR.search(text)):
        return text
    outline = Outlines().of_part
    rules = ((rule, _with_digits_of_opacity(with_held_numbers(rule))) for rule in split_rules(text))
    return "".join(held if held == rule or _is_equivalent(rule, held, outline) else rule for rule, held in rules)


def with_held_numbers(text: str) -> str:
    """Return the sheet with the fewest digits by which browsers hold the same numbers in declarations.

    Preludes, custom properties, strings and URLs keep theirs.
    """
    if not _LONG.search(text):
        return text
    done, statement, position = list[str](), list[str](), 0
    for token in tokens(text, 0, DENSE):
        source = text[token.start : token.end]
        statement += [text[position : token.start], source]
        position = token.end
        if source in ("{", "}", ";"):
            done += statement if source == "{" or _is_custom(statement[0]) else _shorter_numbers(statement)
            statement = []
    return "".join([*done, *statement, text[position:]])


def _is_custom(start: str) -> bool:
    return start.lstrip().startswith(("--", "@"))


def _shorter_numbers(statement: list[str]) -> Iterator[str]:
    """Yield what stands between tokens with shorter numbers, and the tokens as they are."""
    for place, part in enumerate(statement):
        yield part if place % 2 else _LONG.sub(lambda match: _fewest_digits(match[0]), part)


@lru_cache(maxsize=4096)
def _fewest_digits(number: str) -> str:
    held = as_held(float(number))
    forms = (f"{held:.{digits}g}" for digits in range(1, _MOST_DIGITS + 1))
    shortest = format(Decimal(next(form for form in forms if as_held(float(form)) == held)), "f").removeprefix("0")
    return shortest if 0 < len(shortest) < len(number) else number


# ---- Colours with an opacity, in the eight digits that every browser knows since 2018

_FUNCTION = r"(?<![\w-])(rgb|hsl)a?\(([^()]*)\)"
_COLOUR = re.compile(_FUNCTION, re.IGNORECASE)
# Or what may hold the text of a colour that is read as it is written
_COLOUR_OR_TEXT = re.compile(
    rf"--[-\w]++\s*+:[^;}}]*+|@[^{{;]*+|{STRING}|/\*.*?\*/|color-mix\([^;}}]*+|{_FUNCTION}",
    re.IGNORECASE | re.DOTALL,
)
_PARTS_END, _PART = re.compile(r"\s*[\s,/]\s*"), re.compile(r"(\d*\.?\d+)(%?)")


def _with_digits_of_opacity(rule: str) -> str:
    return _COLOUR_OR_TEXT.sub(_as_digits, rule) if _COLOUR.search(rule) else rule


def _as_digits(match: re.Match[str]) -> str:
    """Return red, green, blue, or a grey by its lightness, and opacity in digits; other colours as they are."""
    parts = [_PART.fullmatch(part) for part in _PARTS_END.split((match[2] or "").strip())]
    if len(parts) != 4 or None in parts:
        return match[0]
    values = [(float(part[1]), part[2]) for part in parts if part is not None]
    steps = [value * 2.55 if unit else value for value, unit in values[:3]]
    if match[1].lower() == "hsl":
        steps = [steps[2]] * 3 if steps[1] == 0 else [math.inf]
    if max(steps) > 255 or any(abs(step % 1 - 0.5) < 0.01 for step in steps):  # engines round a half up or down
        return match[0]
    opacity, unit = values[3]
    step = opacity_step(min(1.0, opacity / 100 if unit else opacity))
    return as_hex([*map(round, steps), *([step] if step < 255 else ())])


# A declaration of a font
_FONT = re.compile(r"(?<![\w-])(?:font|font-family)\s*:([^;}]*)", re.IGNORECASE)


def _families(text: str) -> dict[str, str]:
    """Return the families that the sheet names with capitals, by their names in lower case."""
    names = {_last_family(part.strip()) for value in _FONT.finditer(text) for part in value[1].split(",")}
    return {name.lower(): name for name in sorted(names) if name != name.lower()}


def _last_family(part: str) -> str:
    """Return the family at the end of a part of a value: what is quoted, or the words after a size."""
    if part[-1:] in ("'", '"'):
        return part[part.rfind(part[-1], 0, -1) + 1 : -1]
    words = part.split()
    first = max((number for number, word in enumerate(words, 1) if not word[0].isalpha()), default=0)
    return " ".join(words[first:])


def _with_families(shorter: str, names: dict[str, str]) -> str:
    """Return a sheet with the families as they were: the minifier writes them in lower case."""
    if not names:
        return shorter
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![\w-])(?:{known})(?![\w-])")
    return _FONT.sub(lambda value: pattern.sub(lambda name: names[name[0]], value[0]), shorter)


def _minify_sheet(text: str, minify_css: Callable[[str], str]) -> str | None:
    shorter = _match_charset(text, _minify(_mark_licences(text), minify_css))
    return shorter if len(shorter) < len(text) and sent_size(shorter) < sent_size(text) else None


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
    return shorter if len(shorter) < len(text) and _is_equivalent(text, shorter, Outlines().of) else None


def _minify(text: str, minify_css: Callable[[str], str]) -> str:
    outlines = Outlines()
    shorter, compact = _minify_proven(text, minify_css, outlines), _compact(text)
    # the minifier joins and parts rules, which sometimes costs more than it saves
    is_better = sent_size(compact) < sent_size(shorter) and _is_equivalent(text, compact, outlines.of)
    return compact if is_better else shorter


def _minify_proven(text: str, minify_css: Callable[[str], str], outlines: Outlines) -> str:
    shorter = minify_css(text)
    if _is_equivalent(text, shorter, outlines.of):
        return shorter
    # Equivalent parts in the same order are an equivalent sheet.
    rules = list(split_rules(text))
    apart = zip(rules, _minify_apart(rules, minify_css), strict=True)
    proven = [_shorter_rule(rule, each, outlines.of_part) for rule, each in apart]
    return min(
        "".join(_join_proven(rules, proven, minify_css, outlines.of)),
        "".join(each for each, _ in proven),
        key=sent_size,
    )


def _join_proven(
    rules: list[str], proven: list[tuple[str, bool]], minify_css: Callable[[str], str], outline: OutlineOf
) -> Iterator[str]:
    """Yield rules that the minifier's were proven of, as it writes them together, and the others as they are."""
    for is_proven, run in groupby(zip(rules, proven, strict=True), key=lambda pair: pair[1][1]):
        pairs = [(rule, shorter) for rule, (shorter, _) in run]
        yield _joined(pairs, minify_css, outline) if is_proven else "".join(shorter for _, shorter in pairs)


# Rules that are minified together, or else each by itself: halving them further gains little
_FEWEST_TOGETHER = 16


def _joined(pairs: list[tuple[str, str]], minify_css: Callable[[str], str], outline: OutlineOf) -> str:
    """Return pairs of a rule and what was proven of it as the minifier writes them together, if that can be proven."""
    text = "".join(rule for rule, _ in pairs)
    if len(pairs) > 1 and _is_equivalent(text, together := minify_css(text), outline):
        return together
    if len(pairs) < _FEWEST_TOGETHER:
        return "".join(shorter for _, shorter in pairs)
    halves = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
    return "".join(_joined(half, minify_css, outline) for half in halves)


# A comment that the minifier keeps, and over which it joins no rules
_SEPARATOR = "/*!,*/"


def _minify_apart(rules: list[str], minify_css: Callable[[str], str]) -> list[str]:
    """Minify each rule on its own. One call for all takes a tenth of the time."""
    shorter = minify_css(_SEPARATOR.join(rules)).split(_SEPARATOR)
    return shorter if len(shorter) == len(rules) else list(map(minify_css, rules))


def _shorter_rule(rule: str, shorter: str, outline: OutlineOf) -> tuple[str, bool]:
    """Return a rule with the comments before it, and whether it is the minifier's.

    Otherwise it is without white space and comments, or as it is.
    """
    if len(shorter) < len(rule) and _is_equivalent(rule, shorter, outline):
        return shorter, True
    compact = _compact(rule)
    return (compact if len(compact) < len(rule) and _is_equivalent(rule, compact, outline) else rule), False


def _is_equivalent(text: str, shorter: str, outline: OutlineOf) -> bool:
    return _count_licences(shorter) == _count_licences(text) and is_same_cascade(outline(text), outline(shorter))


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


def _is_licence(comment: str) -> bool:
    return comment.startswith("/*!") or _LICENCE.search(comment) is not None


def _count_licences(text: str) -> int:
    if "/*" not in text or not ("/*!" in text or _LICENCE.search(text)):
        return 0
    return sum(_is_licence(text[start:end]) for start, end in comments(text))


def _mark_licences(text: str) -> str:
    """Return ``text`` with ``/*!`` at every licence comment, so that the minifier keeps it."""
    if not _LICENCE.search(text):
        return text
    pieces, position = [], 0
    for start, end in comments(text):
        if _is_licence(text[start:end]) and not text.startswith("/*!", start):
            pieces += [text[position:start], "/*!"]
            position = start + 2
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


# ---- Families of properties that override each other: the order of declarations matters within a family only

# Families whose properties override each other without the same first word in their names
_FAMILY_OF_WORD = {
    "top": "inset", "right": "inset", "bottom": "inset", "left": "inset", "line": "font", "row": "gap",
    "column": "gap", "columns": "gap", "grid": "gap", "justify": "place", "align": "place", "width": "size",
    "height": "size", "inline": "size", "block": "size", "min": "size", "max": "size", "word": "overflow",
    "text": "white",
}  # fmt: skip
_FIRST_WORD = re.compile(r"[^a-z-]*(?:-[a-z]+-)?([a-z]*)")


def is_same_cascade(first: list[Entry], second: list[Entry]) -> bool:
    """Whether two outlines have the same effect: the same entries, in the same order in each family.

    A repeated declaration has no effect, nor has the order of a box's sides.
    """
    if first == second:
        return True
    members, others = _members(first), _members(second)
    return (
        members.keys() == others.keys()
        and all(own == others[name] or _normalise(own) == _normalise(others[name]) for name, own in members.items())
        and _joined_selectors(first) == _joined_selectors(second)
    )


def _members(entries: list[Entry]) -> dict[str, list[Entry]]:
    """Group entries by family; with ``all``, which overrides nearly everything, they are one family."""
    is_split = all(declaration[0] != "all" for _, declaration in entries)
    members: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        name = entry[1][0]
        if name != TOGETHER:
            members[_family(name) if is_split else ""].append(entry)
    return members


def _joined_selectors(entries: list[Entry]) -> set[Entry]:
    return {entry for entry in entries if entry[1][0] == TOGETHER}


@lru_cache(maxsize=4096)
def _family(name: str) -> str:
    if name.startswith("--") or name == AT_RULE:
        return name
    match = _FIRST_WORD.match(name)
    word = match[1] if match else name
    return _FAMILY_OF_WORD.get(word, word)


def _normalise(entries: list[Entry]) -> list[Entry]:
    """Sort adjacent sides of one box under one selector, and drop repetitions."""
    ordered = list(_order_sides(entries)) if any(entry[1][0] in INDEPENDENT for entry in entries) else entries
    return [entry for index, entry in enumerate(ordered) if index == 0 or entry != ordered[index - 1]]


def _order_sides(entries: list[Entry]) -> Iterator[Entry]:
    for (_, is_side), group in groupby(entries, key=lambda entry: (entry[0], entry[1][0] in INDEPENDENT)):
        members = list(group)
        yield from sorted(members, key=lambda entry: entry[1][0]) if is_side else members
