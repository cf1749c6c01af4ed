"""CSS values: canonical forms in which equivalent spellings are equal, and colours with their contrast.

Canonical forms only know equivalences that hold in every browser (numbers, zero lengths, colours, quotes of
URLs, strings and family names, four-sided shorthands, a few keywords). Everything else keeps its spelling, so
an unknown equivalence makes two values differ: a comparison errs on the side of "different".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import takewhile
from typing import Any

from tinycss2 import parse_component_value_list
from tinycss2.ast import DimensionToken, FunctionBlock, HashToken, IdentToken, NumberToken, PercentageToken
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
# Properties of a single side, which do not override each other
INDEPENDENT = frozenset(form % side for form in _FOUR_SIDED.values() for side in _SIDES)


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
    else:
        yield (name, _KEYWORDS.get((name, value), value), important)


def _sides(value: Entry) -> Entry:
    top, right, bottom, left = {1: (0, 0, 0, 0), 2: (0, 1, 0, 1), 3: (0, 1, 2, 1), 4: (0, 1, 2, 3)}[len(value)]
    return (value[top], value[right], value[bottom], value[left])


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


def _number(token: Any, _name: str) -> Entry:
    return ("number", float(token.value))


def _percentage(token: Any, _name: str) -> Entry:
    return ("percentage", float(token.value))


def _dimension(token: Any, name: str) -> Entry:
    unit = token.lower_unit
    if token.value == 0 and unit in _LENGTHS and name not in _NUMBERS and "(" not in name:
        return ("number", 0.0)
    if unit == "ms":
        return ("dimension", round(token.value / 1000, 9), "s")
    return ("dimension", float(token.value), unit)


def _ident(token: Any, name: str) -> Entry:
    if name and not _NAMING.match(name):
        colour = parse_color(token) if token.lower_value != "currentcolor" else None
        if colour is not None:
            return _colour(colour)
    return ("ident", token.value)


def _hash(token: Any, name: str) -> Entry:
    colour = parse_color(token) if name else None
    return _colour(colour) if colour is not None else ("hash", token.value.lower() if name else token.value)


def _colour(colour: Any) -> Entry:
    return ("colour", *(round(part * 255) for part in colour[:3]), round(colour[3] * 255))


def _parsed_colour(token: Any) -> Any:
    """Parse ``rgb()`` and ``rgba()``, or ``hsl()`` and ``hsla()``, as aliases (CSS Color 4, section 5.1)."""
    name = token.lower_name.rstrip("a") + ("a" if sum(part == "," for part in token.arguments) == 3 else "")
    return parse_color(FunctionBlock(token.source_line, token.source_column, name, token.arguments))


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
    """Return a ``font`` shorthand without ``normal`` before the size, the initial value of what may be there."""
    words = list(takewhile(lambda token: token[0] == "ident", tokens))
    if len(words) == len(tokens):  # one keyword: inherit, or a system font
        return tokens
    lower = [(kind, word.lower()) for kind, word in words]
    forms = [_FONT_WEIGHTS.get(word[1], word) for word in lower if word[1] != "normal"]
    return forms + tokens[len(words) :]


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
    is_valid = _FAMILY.fullmatch(folded) and not _FAMILY_KEYWORDS.intersection(folded.split(" "))
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


Colour = tuple[int, int, int]  # sRGB, 0 to 255

# Functions that may be a colour
_POSSIBLE_COLOURS = frozenset({"var", "env", "hwb", "lab", "lch", "oklab", "oklch", "color", "color-mix", "light-dark"})


def has_colour(value: list[Any]) -> bool:
    """Whether a value of ``background`` has, or may have, a colour outside of its images."""
    return any(
        parse_color(token) is not None or (token.type == "function" and token.lower_name in _POSSIBLE_COLOURS)
        for token in value
        if token.type in ("ident", "hash", "function")
    )


def opaque_colour(value: list[Any]) -> Colour | None:
    """Return the colour of a value that is one opaque colour, otherwise ``None``."""
    parts = [token for token in value if token.type not in _BLANK]
    colour = parse_color(parts[0]) if len(parts) == 1 else None
    if colour is None or isinstance(colour, str) or colour.alpha < 1:
        return None
    return round(colour.red * 255), round(colour.green * 255), round(colour.blue * 255)


def as_hex(colour: Colour) -> str:
    """Return a colour in its shortest hexadecimal form."""
    digits = "".join(f"{channel:02x}" for channel in colour)
    return f"#{digits[::2]}" if digits[::2] == digits[1::2] else f"#{digits}"


def contrast(first: Colour, second: Colour) -> float:
    """Return the contrast ratio, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: Colour) -> float:
    """Return the relative luminance, 0 to 1 (WCAG 2.2, "relative luminance")."""
    red, green, blue = (_linear(channel / 255) for channel in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
