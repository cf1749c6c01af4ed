"""CSS values: canonical forms in which equivalent spellings are equal.

Canonical forms only know equivalences that hold in every browser (numbers, zero lengths, colours, quotes of
URLs, strings and family names, four-sided shorthands, a few keywords). Everything else keeps its spelling, so
an unknown equivalence makes two values differ: a comparison errs on the side of "different".
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import takewhile
from typing import Any

from tinycss2 import parse_component_value_list
from tinycss2.ast import (
    DimensionToken,
    FunctionBlock,
    HashToken,
    IdentToken,
    LiteralToken,
    NumberToken,
    PercentageToken,
)
from tinycss2.color3 import parse_color

Entry = tuple[Any, ...]
# Property, canonical value, whether it is important
Declaration = tuple[str, Any, bool]

_BLANK = frozenset({"whitespace", "comment"})
_LENGTHS = frozenset({
    "px", "em", "rem", "ex", "ch", "vw", "vh", "vmin", "vmax", "cm", "mm", "in", "pt", "pc", "q",
    "lh", "rlh", "svw", "svh", "lvw", "lvh", "dvw", "dvh", "cqw", "cqh",
})  # fmt: skip
_MATH = frozenset({
    "calc", "min", "max", "clamp", "-webkit-calc", "-moz-calc", "round", "mod", "rem", "abs",
    "sign", "hypot", "pow", "sqrt", "log", "exp",
})  # fmt: skip
_COLOUR_FUNCTIONS = frozenset({"rgb", "rgba", "hsl", "hsla"})
# An unquoted family name must not be one of these keywords.
_FAMILY_KEYWORDS = frozenset({
    "serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui", "ui-serif",
    "ui-sans-serif", "ui-monospace", "ui-rounded", "math", "emoji", "fangsong", "inherit",
    "initial", "unset", "revert", "revert-layer", "default",
})  # fmt: skip
# Those that a name of several words must not have either (CSS Values 4, section 3.2)
_ANYWHERE = frozenset({"inherit", "initial", "unset", "revert", "revert-layer", "default"})
_FAMILY_WORD = r"-?[^\x00-^`{-\x7f][^\x00-,./:-@\[-^`{-\x7f]*"
_FAMILY = re.compile(rf"{_FAMILY_WORD}(?: {_FAMILY_WORD})*")
# Properties in which a name may look like a colour.
_NAMING = re.compile(r"font|animation|grid|counter|content|transition|will-change|list-style|quotes|view-|container|--")
# Properties that take a number and no length: "0px" is invalid in them, "0" is not.
_NUMBERS = frozenset({
    "opacity", "z-index", "order", "flex-grow", "flex-shrink", "orphans", "widows", "font-weight",
    "scale", "zoom", "column-count", "line-height", "tab-size", "animation-iteration-count",
    "stroke-miterlimit", "fill-opacity", "stroke-opacity", "aspect-ratio",
})  # fmt: skip
_SIDES = ("top", "right", "bottom", "left")
_FOUR_SIDED = {
    "margin": "margin-%s",
    "padding": "padding-%s",
    "border-width": "border-%s-width",
    "border-style": "border-%s-style",
    "border-color": "border-%s-color",
}
_CORNERS = tuple(f"border-{corner}-radius" for corner in ("top-left", "top-right", "bottom-right", "bottom-left"))
# Shorthands of two words, with what each stands for
_PAIRS = {"place-content": ("align-content", "justify-content"), "flex-flow": ("flex-direction", "flex-wrap")}
# Shorthands that are declared as what they stand for, but for values that are not understood
PARTS = {"border-radius": _CORNERS, **_PAIRS}
# Properties of a single side and of such words, which do not override each other
INDEPENDENT = frozenset(form % side for form in _FOUR_SIDED.values() for side in _SIDES).union(*PARTS.values())
_WRAPS = frozenset({"nowrap", "wrap", "wrap-reverse"})
_DIRECTIONS = frozenset({"row", "row-reverse", "column", "column-reverse"})
_PLACES = frozenset({"center", "flex-start", "flex-end", "start", "end", "space-between", "space-around", "stretch"})


def canonical_declaration(node: Any) -> Iterator[Declaration]:
    """Yield the canonical forms of a declaration; a four-sided shorthand has four."""
    if node.name.startswith("--"):
        yield (node.name, exact_tokens(node.value), node.important)
    else:
        yield from declare(node.lower_name, canonical_tokens(node.value, node.lower_name), node.important)


def declare(name: str, value: Entry, important: bool) -> Iterator[Declaration]:
    """Yield the canonical forms of a declaration with a canonical value."""
    if name in _FOUR_SIDED and 0 < len(value) <= 4 and all(_is_plain(token) for token in value):
        for side, token in zip(_SIDES, _sides(value), strict=True):
            yield (_FOUR_SIDED[name] % side, (token,), important)
    elif name in _PAIRS and (words := _pair(name, value)):
        yield from ((each, (word,), important) for each, word in zip(_PAIRS[name], words, strict=True))
    elif name == "border-radius" and (radii := _radius(value)) is not value:
        yield from ((each, radii[place::4], important) for place, each in enumerate(_CORNERS))
    elif name in _CORNERS and len(value) == 1 and value[0][0] in _SIZES:
        yield (name, value * 2, important)
    else:
        yield (name, _canonical_value(name, _KEYWORDS.get((name, value), value)), important)


def _sides(value: Entry) -> Entry:
    top, right, bottom, left = {1: (0, 0, 0, 0), 2: (0, 1, 0, 1), 3: (0, 1, 2, 1), 4: (0, 1, 2, 3)}[len(value)]
    return (value[top], value[right], value[bottom], value[left])


def _pair(name: str, value: Entry) -> Entry | None:
    """Return the two words that a shorthand stands for, ``None`` if it has others than keywords that do."""
    words = [token[1] if token[0] == "ident" else "" for token in value]
    if name == "place-content":
        return (value[0], value[-1]) if len(words) in (1, 2) and _PLACES.issuperset(words) else None
    if len(words) != 2:
        return None
    ordered = value if words[0] in _DIRECTIONS else value[::-1]
    return ordered if ordered[0][1] in _DIRECTIONS and ordered[1][1] in _WRAPS else None


def _is_plain(token: Any) -> bool:
    return token[0] in ("number", "dimension", "percentage", "ident", "colour") and token[1] not in _FAMILY_KEYWORDS


def canonical_tokens(tokens: list[Any], name: str = "") -> Entry:
    """Return the canonical form of component values of the property ``name``, or of a prelude if it is empty."""
    return _join([_token(token, name) for token in tokens if token.type not in _BLANK], name)


def canonical_words(words: list[str], name: str) -> Entry:
    """Return the canonical form of a value from texts of some component values each, whose tokens do not touch."""
    kind = name if _is_font(name) else _KINDS[name in _NUMBERS, _NAMING.match(name) is not None]
    return _join([form for word in words for form in _word_forms(word, kind)], name)


# A property of each kind: whether it takes a number and no length, and whether a name in it may look like a colour
_KINDS = {(True, True): "font-weight", (True, False): "opacity", (False, True): "content", (False, False): "color"}


_SIMPLE_WORD = re.compile(
    r"([-+]?(?:\d*\.)?\d++)(?:(%)|([A-Za-z]++))?|#([-\w]++)|([A-Za-z][-\w]*+)",
    re.ASCII,
)


@lru_cache(maxsize=1 << 13)
def _word_forms(word: str, name: str) -> Entry:
    if match := _SIMPLE_WORD.fullmatch(word):
        return (_token(_simple_token(*match.groups()), name),)
    tokens = parse_component_value_list(word, skip_comments=True)
    return tuple(_token(token, name) for token in tokens if token.type not in _BLANK)


def _simple_token(number: str, percent: str, unit: str, digits: str, ident: str) -> Any:
    """Return the token that tinycss2 would, in a tenth of the time."""
    if ident:
        return IdentToken(0, 0, ident)
    if digits:
        return HashToken(0, 0, digits, True)
    if unit:
        return DimensionToken(0, 0, float(number), None, number, unit)
    return (PercentageToken if percent else NumberToken)(0, 0, float(number), None, number)


def _is_font(name: str) -> bool:
    return "font-family" in name or name == "font"


def _join(forms: list[Entry], name: str) -> Entry:
    if not _is_font(name):
        return tuple(forms)
    return tuple(_join_families(_drop_initial_words(forms) if name == "font" else forms))


def exact_tokens(tokens: list[Any]) -> str:
    """Return the text of a custom property, without white space and comments at the ends."""
    stripped = list(tokens)
    for end in (0, -1):
        while stripped and stripped[end].type in _BLANK:
            stripped.pop(end)
    return "".join(token.serialize() for token in stripped)


def _token(token: Any, name: str) -> Entry:
    return _CANONICAL_FORMS.get(token.type, _verbatim)(token, name)


def _verbatim(token: Any, _name: str) -> Entry:
    return (token.type, token.serialize())


def _number(token: Any, name: str) -> Entry:
    return ("number", as_held(token.value) if name else float(token.value))


def _percentage(token: Any, name: str) -> Entry:
    return ("percentage", as_held(token.value) if name else float(token.value))


def _dimension(token: Any, name: str) -> Entry:
    unit = token.lower_unit
    if token.value == 0 and unit in _LENGTHS and name not in _NUMBERS and "(" not in name:
        return ("number", 0.0)
    if unit == "ms":
        return ("dimension", as_held(round(token.value / 1000, 9)), "s")
    return ("dimension", as_held(token.value) if name else float(token.value), unit)


# Beyond it are numbers that no property takes, and some that single precision does not have
_LARGE = 1e30


def as_held(value: float) -> float:
    """Return a number of a declaration as browsers hold it: fractions in single precision, whole numbers exactly.

    Firefox parses numbers so, and Chromium and WebKit compute lengths so. The numbers of media queries they compare in
    double precision.
    """
    if value.is_integer() or not abs(value) < _LARGE:
        return float(value)
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _ident(token: Any, name: str) -> Entry:
    if name and not _NAMING.match(name):
        colour = parse_color(token) if token.lower_value != "currentcolor" else None
        if colour is not None:
            return _colour(colour)
    return ("ident", "currentcolor" if token.lower_value == "currentcolor" else token.value)


def _hash(token: Any, name: str) -> Entry:
    colour = parse_color(token) if name else None
    return _colour(colour) if colour is not None else ("hash", token.value.lower() if name else token.value)


def _colour(colour: Any) -> Entry:
    return ("colour", *(round(part * 255) for part in colour[:3]), opacity_step(colour[3]))


def opacity_step(alpha: float) -> int:
    """Return an opacity of 0 to 1 as the number of 0 to 255 that browsers take for it, half of one upwards."""
    return math.floor(as_held(as_held(float(alpha)) * 255) + 0.5)


def _parsed_colour(token: Any) -> Any:
    """Parse ``rgb()`` and ``rgba()``, or ``hsl()`` and ``hsla()``, as aliases (CSS Color 4, section 5.1)."""
    parts = list(token.arguments)
    if not any(part == "," for part in parts):
        parts = _with_commas([part for part in parts if part.type not in _BLANK])
    commas = [place for place, part in enumerate(parts) if part == ","]
    if len(commas) == 3:  # tinycss2 knows Color 3, in which the fourth is a number
        parts[commas[2] :] = map(_as_number, parts[commas[2] :])
    name = token.lower_name.rstrip("a") + ("a" if len(commas) == 3 else "")
    return parse_color(FunctionBlock(token.source_line, token.source_column, name, parts))


def _with_commas(parts: list[Any]) -> list[Any]:
    """Return the parts of a colour in the form without commas, ``R G B / A``, with these."""
    if [part == "/" for part in parts] not in ([False] * 3, [False, False, False, True, False]):
        return parts
    comma = LiteralToken(0, 0, ",")
    return [each for part in parts[:3] + parts[4:] for each in (part, comma)][:-1]


def _as_number(token: Any) -> Any:
    if token.type != "percentage":
        return token
    return NumberToken(token.source_line, token.source_column, token.value / 100, None, token.representation)


def _function(token: Any, name: str) -> Entry:
    if name and token.lower_name in _COLOUR_FUNCTIONS and (colour := _parsed_colour(token)) is not None:
        return _colour(colour)
    inner = name + "(" if token.lower_name in _MATH or "(" in name else name
    arguments = canonical_tokens(token.arguments, inner)
    if token.lower_name == "url" and len(arguments) == 1 and arguments[0][0] == "string":
        return ("url", arguments[0][1])
    if token.lower_name == "local" and arguments and arguments[0][0] == "string":
        return ("function", "local", tuple(("ident", word) for word in arguments[0][1].split(" ")))
    return ("function", "rgb" if token.lower_name == "rgba" else token.lower_name, arguments)


def _block(token: Any, name: str) -> Entry:
    return (token.type, canonical_tokens(token.content, name))


def _string(token: Any, _name: str) -> Entry:
    return ("string", token.value)


def _url(token: Any, _name: str) -> Entry:
    return ("url", token.value)


_CANONICAL_FORMS: dict[str, Callable[[Any, str], Entry]] = {
    "number": _number,
    "percentage": _percentage,
    "dimension": _dimension,
    "ident": _ident,
    "hash": _hash,
    "function": _function,
    "string": _string,
    "url": _url,
    "() block": _block,
    "[] block": _block,
    "{} block": _block,
}


def _drop_initial_words(tokens: list[Entry]) -> list[Entry]:
    """Return a ``font`` shorthand without ``normal`` and 400 before the size, initial values of what may be there."""
    words = list(takewhile(lambda token: token[0] == "ident", tokens))
    if len(words) == len(tokens):  # one keyword: inherit, or a system font
        return tokens
    lower = [(kind, word.lower()) for kind, word in words]
    forms = [_FONT_WEIGHTS.get(word[1], word) for word in lower if word[1] != "normal"]
    rest = tokens[len(words) :]
    return forms + (rest[1:] if rest[0] == ("number", 400.0) else rest)


_FONT_WEIGHTS: dict[str, Entry] = {"bold": ("number", 700.0)}


def _join_families(tokens: list[Entry]) -> Iterator[Entry]:
    """Join the words of a family name; quotes do not matter where a name is valid without them.

    Its case does: Chromium finds a font by a name in any case, but knows by "Lucida Grande" and "Helvetica" in theirs
    how wide a text field is.
    """
    words: list[str] = []
    for token in tokens:
        if token[0] == "ident":
            words.append(token[1])
            continue
        if words:
            yield _family(words)
            words = []
        yield _unquoted_family(token)
    if words:
        yield _family(words)


def _family(words: list[str]) -> Entry:
    name = " ".join(words)
    return ("family", name.lower() if name.lower() in _FAMILY_KEYWORDS else name)


def _unquoted_family(token: Entry) -> Entry:
    if token[0] != "string":
        return token
    folded = token[1].lower()
    words = folded.split(" ")
    is_valid = _FAMILY.fullmatch(folded) and not (_FAMILY_KEYWORDS if len(words) == 1 else _ANYWHERE).intersection(
        words
    )
    return ("family", token[1]) if is_valid else token


def _words(*words: str | int) -> Entry:
    return tuple(("ident", word) if isinstance(word, str) else ("number", float(word)) for word in words)


_KEYWORDS: dict[tuple[str, Entry], Entry] = {
    ("font-weight", _words("bold")): _words(700),
    ("font-weight", _words("normal")): _words(400),
    ("background", _words("none")): _words(0, 0),
    ("background", (("colour", 0, 0, 0, 0),)): _words(0, 0),
    ("flex", _words(0, 0, "auto")): _words("none"),
    ("flex", _words(1, 1, "auto")): _words("auto"),
}


# ---- values of which parts may be left out, by property

_ZERO, _HALF, _COMMA, _SLASH = ("number", 0.0), ("percentage", 50.0), ("literal", ","), ("literal", "/")
_AUTO, _NONE, _CURRENT = ("ident", "auto"), ("ident", "none"), ("ident", "currentcolor")
_MEDIUM = ("ident", "medium")
# Names with a prefix that mean the same: "-webkit-border-radius: 1px 2px" and "-webkit-background-size: 1px" do not
_PREFIXED = {f"-webkit-{name}": name for name in ("box-shadow", "flex", "transform")}
_SIZES = ("number", "dimension", "percentage")


def _canonical_value(name: str, value: Entry) -> Entry:
    """Return a value with the parts that its property adds (CSS Backgrounds 3, Flexbox 1, Transforms 1)."""
    form = _FORMS.get(name) or _FORMS.get(_PREFIXED.get(name, ""))
    if form is None or any(token[0] == "function" and token[1] in ("var", "env") for token in value):
        return _folded(name, value)
    return form(_folded(name, value))


def _layers(form: Callable[[Entry], Entry]) -> Callable[[Entry], Entry]:
    """Return what applies a form to each part of a list with commas."""

    def apply(value: Entry) -> Entry:
        layers: list[list[Any]] = [[]]
        for token in value:
            if token == _COMMA:
                layers.append([])
            else:
                layers[-1].append(token)
        return tuple(form(tuple(layer)) for layer in layers)

    return apply


_ACROSS = {"left": _ZERO, "center": _HALF, "right": ("percentage", 100.0)}
_DOWN = {"top": _ZERO, "center": _HALF, "bottom": ("percentage", 100.0)}


def _is_place(token: Entry) -> bool:
    return token[0] in _SIZES or (token[0] == "ident" and token[1].lower() in _ACROSS | _DOWN)


def _position(value: Entry) -> Entry:
    """Return two distances in place of one or two words or distances."""
    if not 0 < len(value) <= 2 or not all(map(_is_place, value)):
        return value
    words = [token[1].lower() if token[0] == "ident" else None for token in value]
    places = [token if token != ("percentage", 0.0) else _ZERO for token in value]
    if len(value) == 1:
        places, words = [*places, _HALF], [*words, None]
        if words[0] in ("top", "bottom"):
            places, words = places[::-1], words[::-1]
    elif words[0] in ("top", "bottom") or words[1] in ("left", "right"):
        places, words = places[::-1], words[::-1]
    across, down = (table.get(word or "") for table, word in zip((_ACROSS, _DOWN), words, strict=True))
    return (across or places[0], down or places[1])


def _size(value: Entry) -> Entry:
    return value[:1] if value[1:] == (_AUTO,) else value


_REPEAT = ("ident", "repeat")
_REPEATS = frozenset({"repeat", "repeat-x", "repeat-y", "no-repeat", "space", "round"})
_BACKGROUND_INITIAL: Entry = (_NONE, ("colour", 0, 0, 0, 0), ("ident", "scroll"))


def _background(value: Entry) -> Entry:
    """Return a layer of ``background`` without what it has anyway, its position as two distances."""
    first = next((place for place, token in enumerate(value) if _is_place(token)), len(value))
    last = first + len(list(takewhile(_is_place, value[first:])))
    if any(map(_is_place, value[last:])) and value[last : last + 1] != (_SLASH,):
        return value
    position, rest = _position(value[first:last]) if first < last else (), value[last:]
    if rest[:1] == (_SLASH,):
        size = tuple(takewhile(lambda token: _is_place(token) or token == _AUTO, rest[1:]))
        rest = (_SLASH, *_size(size), *rest[1 + len(size) :])
    elif position == (_ZERO, _ZERO):
        position = ()
    repeats = [token for token in value if token[0] == "ident" and token[1] in _REPEATS]
    initial = (*_BACKGROUND_INITIAL, *(repeats if repeats == [_REPEAT] else ()))
    others, after = ([token for token in part if token not in initial] for part in (value[:first], rest))
    return (*others, *position, *after)


def _shadow(most: int) -> Callable[[Entry], Entry]:
    """Return the form of shadows of so many lengths, of which those after the second are zero if they are left out."""

    def form(value: Entry) -> Entry:
        first = next((place for place, token in enumerate(value) if token[0] in _SIZES), len(value))
        lengths = tuple(takewhile(lambda token: token[0] in _SIZES, value[first:]))
        rest = value[first + len(lengths) :]
        if not 2 <= len(lengths) <= most or any(token[0] in _SIZES for token in rest):
            return value
        kept = len(lengths)
        while kept > 2 and lengths[kept - 1] == _ZERO:
            kept -= 1
        return (*value[:first], *lengths[:kept], *rest)

    return form


def _border(value: Entry) -> Entry:
    """Return a border without the colour of its text, and without the style of none that its width has anyway."""
    left = tuple(token for token in value if token not in (_CURRENT, _MEDIUM))
    shorter = tuple(token for token in left if token != _NONE)
    return shorter if any(token[0] in _SIZES for token in shorter) and len(shorter) == 1 else left or value


def _radius(value: Entry) -> Entry:
    """Return eight radii, across and down."""
    place = value.index(_SLASH) if _SLASH in value else len(value)
    across, down = value[:place], value[place + 1 :] or value[:place]
    if not all(0 < len(part) <= 4 and all(token[0] in _SIZES for token in part) for part in (across, down)):
        return value
    return (*_sides(across), *_sides(down))


def _flex(value: Entry) -> Entry:
    """Return growth, shrinkage and basis."""
    if len(value) == 1 and value[0][0] == "ident":
        return _FLEX_WORDS.get(value[0][1].lower(), value)
    numbers = tuple(takewhile(lambda token: token[0] == "number", value))
    rest = value[len(numbers) :]
    if not 0 < len(numbers) <= 3 or len(rest) > 1 or len(value) > 3:
        return value
    one, basis = ("number", 1.0), rest or ((numbers[2],) if len(numbers) == 3 else (("percentage", 0.0),))
    return (numbers[0], numbers[1] if len(numbers) > 1 else one, *basis)


_FLEX_WORDS: dict[str, Entry] = {
    "none": (_ZERO, _ZERO, _AUTO),
    "auto": (("number", 1.0), ("number", 1.0), _AUTO),
    "initial": (_ZERO, ("number", 1.0), _AUTO),
}


def _transform(value: Entry) -> Entry:
    return tuple(map(_transform_function, value))


def _transform_function(token: Entry) -> Entry:
    if token[0] == "function" and token[1] in ("scale", "translate") and len(token[2]) == 3:
        first, _, second = token[2]
        if second == (first if token[1] == "scale" else _ZERO):
            return ("function", token[1], (first,))
    return token


def _border_colour(value: Entry) -> Entry:
    return (("ident", "initial"),) if value == (_CURRENT,) else value


_FORMS: dict[str, Callable[[Entry], Entry]] = {
    "background": _layers(_background),
    "background-position": _layers(_position),
    "background-size": _layers(_size),
    "mask-position": _layers(_position),
    "object-position": _position,
    "perspective-origin": _position,
    "box-shadow": _layers(_shadow(4)),
    "text-shadow": _layers(_shadow(3)),
    "flex": _flex,
    "transform": _transform,
    "border": _border,
    "outline": lambda value: tuple(token for token in value if token != _MEDIUM) or value,
    **{f"border-{side}": _border for side in _SIDES},
    **{f"border-{side}-color": _border_colour for side in _SIDES},
}

# Properties that may be negative: in others calc() is cut at zero, and a negative length is a mistake
_SIGNED = re.compile(r"margin|top|right|bottom|left|inset|text-indent|letter-spacing|word-spacing|background-position")


def _folded(name: str, value: Entry) -> Entry:
    """Return a value whose sums of one unit in ``calc()`` are computed."""
    if not any(token[0] == "function" and token[1] == "calc" for token in value):
        return value
    is_signed = _SIGNED.match(name) is not None
    return tuple(_computed(token, is_signed) if token[:2] == ("function", "calc") else token for token in value)


def _computed(token: Entry, is_signed: bool) -> Entry:
    """Return a sum of products as the sum of each unit, in order of units; what is not understood stays."""
    terms: dict[str, float] = {}
    amount, unit, sign, operator = 1.0, "", 1.0, "*"
    for part in (*token[2], ("literal", "+")):
        if part[0] == "literal" and part[1] in ("+", "-") and operator == "":
            terms[unit] = terms.get(unit, 0.0) + sign * amount
            amount, unit, sign, operator = 1.0, "", 1.0 if part[1] == "+" else -1.0, "*"
        elif part[0] == "literal" and part[1] in ("*", "/") and operator == "":
            operator = part[1]
        elif part[0] in _SIZES and operator:
            own = {"number": "", "percentage": "%"}.get(part[0]) or (part[2] if part[0] == "dimension" else "")
            if (own and (unit or operator == "/")) or (operator == "/" and not part[1]):
                return token
            amount, unit = amount * part[1] if operator == "*" else amount / part[1], unit or own
            operator = ""
        else:
            return token
    if operator != "*" or "" in terms:
        return token
    sums = {unit: as_held(round(amount, 9)) for unit, amount in sorted(terms.items())}
    if len(sums) > 1:
        return ("function", "calc", tuple(sums.items()))
    ((unit, amount),) = sums.items()
    if amount < 0 and not is_signed:
        return token
    return ("percentage", amount) if unit == "%" else ("dimension", amount, unit) if amount else token
