"""Declarations and at-rules with prefixes that no browser of today needs: it does not know them, or knows what follows.

Browsers ignore what they do not know: a declaration with such a property, or with such a value where a property takes
no free words, and an at-rule with its block (CSS Syntax 3, sections 2.2 and 5.4). Without them a sheet means the same.
What engines know decides:

- Chromium 156 lists no property with ``-o-``, ``-ms-``, ``-khtml-`` or ``-moz-`` on a style object, and
  ``CSS.supports`` denies the values below; a test asks the browser that is installed.
- MDN's browser-compat-data 8.1.9 has no property with ``-o-``, ``-ms-`` or ``-khtml-`` in today's Firefox and Safari,
  and ``-ms-high-contrast-adjust`` in Edge, so that this one stays. ``_DROPPED`` are those with ``-moz-`` that Firefox
  dropped up to version 115; all others with ``-moz-`` stay.
- What has ``-webkit-`` or ``-moz-`` goes where the same stands after it without: ``-webkit-transform:none;
  transform:none``, and ``-moz-transition:-moz-transform 1s;transition:transform 1s``. Engines that know both words take
  the first for another name of the second, or for a property of the same effect (Compatibility Standard, 3.2), so that
  the second wins; others ignore it. ``_UNPREFIXED`` are properties that all engines have known without a prefix for
  eight years (Safari since version 11): not ``user-select`` or ``mask``.
- A declaration goes where the next has the same property and a value that all of them know: old flexible boxes before
  ``display:flex``, other images before a linear gradient of plain colours, a colour before another, one transition
  before another.

Selectors and conditions stay: there an unknown word decides about whole rules, and is written for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from adaptc.core.values import dataclass, field
from adaptc.formats.css.outline import TOGETHER, Context, Entry, Outlines, OutlineTooLargeError
from adaptc.formats.css.rules import Item, sheet_items
from adaptc.formats.css.sheet_text import at_keywords, beyond_limits
from adaptc.formats.css.values import PARTS

_DROPPED = (
    "background-clip", "background-origin", "background-size", "border-radius", "border-radius-bottomleft",
    "border-radius-bottomright", "border-radius-topleft", "border-radius-topright", "box-shadow", "column-count",
    "column-fill", "opacity", "outline", "outline-color", "outline-style", "outline-width", "text-align-last",
    "text-decoration-color", "text-decoration-line", "text-decoration-style",
)  # fmt: skip
_NAME = re.compile(rf"-(?:o|khtml)-[a-z-]+|-ms-(?!high-contrast)[a-z-]+|-moz-(?:{'|'.join(_DROPPED)})")
# Properties whose values are none of the author's names: "will-change: -ms-transform" is valid
_KEYWORD_PROPERTIES = frozenset({"display", "position", "white-space", "image-rendering", "cursor"})
_KEYWORD = re.compile(r"-(?:o|ms|khtml)-[a-z-]+")
_IMAGE_PROPERTIES = frozenset({"background", "background-image", "border-image", "list-style-image"})
_GRADIENT = re.compile(r"-(?:o|ms)-(?:repeating-)?(?:linear|radial)-gradient")
# Other functions next to it; with var() any value is valid as it is read
_FUNCTIONS = frozenset({"url", "rgb", "rgba", "hsl", "hsla"})
_FUNCTION = re.compile(r"([-\w]*)\(")
_DEAD_AT_RULES = frozenset({"@-ms-viewport", "@-o-viewport", "@-ms-keyframes", "@-o-keyframes", "@-khtml-keyframes"})
_UNPREFIXED = frozenset({
    "transform", "transform-origin", "transform-style", "perspective", "perspective-origin", "transition",
    "transition-delay", "transition-duration", "transition-property", "transition-timing-function", "animation",
    "animation-delay", "animation-direction", "animation-duration", "animation-fill-mode", "animation-iteration-count",
    "animation-name", "animation-play-state", "animation-timing-function", "box-shadow", "box-sizing",
    "border-radius", "border-top-left-radius", "border-top-right-radius", "border-bottom-left-radius",
    "border-bottom-right-radius", "background-size", "opacity", "filter", "order", "flex", "flex-basis",
    "flex-direction", "flex-flow", "flex-grow", "flex-shrink", "flex-wrap", "align-content", "align-items",
    "align-self", "justify-content", "column-count", "column-gap", "column-width", "columns",
})  # fmt: skip
_COLOURED = frozenset({"color", "background", "background-color"})
_FALLING_BACK = _COLOURED | {"display", "background-image", "transition"}
_DISPLAYS = frozenset({"flex", "inline-flex", "grid", "inline-grid"})
_NUMBER, _SIDE = r"-?\d*\.?\d+", r"(?:(?:top|bottom)(?: (?:left|right))?|left|right)"
_LINEAR = re.compile(rf"(?:repeating-)?linear-gradient\((?:(?:{_NUMBER}deg|to {_SIDE}),)?(.*)\)")
_STOPS_END = re.compile(r",(?![^(]*\))")
_COLOUR = re.compile(r"#[0-9a-f]+|rgba?\([^()]*\)|[a-z]+")
_STOP = re.compile(rf"({_COLOUR.pattern})(?: {_NUMBER}(?:%|px|r?em)| 0){{0,2}}")
_TIME, _EASING = r"(?: \d*\.?\d+m?s)", r"(?: (?:linear|ease(?:-in)?(?:-out)?))"
_NO_PROPERTY = "none|inherit|initial|unset|revert|default"
_TRANSITION = re.compile(rf"none|(?:(?!{_NO_PROPERTY})-?[a-z][a-z-]*{_TIME}{_EASING}?{_TIME}?(?:,(?!$)|$))+")
_PREFIX = re.compile(r"(?<![\w-])-(?:webkit|moz)-")
_KEYFRAMES_OF_ENGINES = frozenset({"@-webkit-keyframes", "@-moz-keyframes"})
_KEYFRAMES = re.compile(r"@keyframes\s+([\w-]+)\s*(?=\{)", re.IGNORECASE)
_IMPORTANT = re.compile(r"\s*!\s*important\Z")
_DECLARATION = re.compile(r"([a-z-]+)\s*:\s*(.*)", re.ASCII | re.DOTALL)
_TEXTUAL = re.compile(r"[\"'\\]")  # strings and escapes
# What a sheet without anything to drop has not
_MAY_HAVE = re.compile(r"-(?:o|ms|khtml|webkit|moz)-", re.IGNORECASE)


def is_dead_declaration(text: str) -> bool:
    """Whether no browser of today knows a declaration, ``NAME: VALUE`` without comments."""
    match = _DECLARATION.fullmatch(text.strip().lower())
    if match is None or "/*" in text:
        return False
    return _NAME.fullmatch(match[1]) is not None or _is_dead_value(match[1], _IMPORTANT.sub("", match[2]).strip())


def _is_dead_value(name: str, value: str) -> bool:
    if name in _KEYWORD_PROPERTIES:
        return _KEYWORD.fullmatch(value) is not None
    if name not in _IMAGE_PROPERTIES or _TEXTUAL.search(value):
        return False
    others = {function for function in _FUNCTION.findall(value) if not _GRADIENT.fullmatch(function)}
    return _GRADIENT.search(value) is not None and others <= _FUNCTIONS


def _is_known_everywhere(name: str, value: str) -> bool:
    """Whether all browsers know a value, without ``!important``, of a property of ``_FALLING_BACK``."""
    value = re.sub(r"\s*([,()])\s*", r"\1", " ".join(value.lower().split()))
    if name in ("display", "transition"):
        return value in _DISPLAYS if name == "display" else _TRANSITION.fullmatch(value) is not None
    gradient = _LINEAR.fullmatch(value) if name.startswith("background") else None
    if gradient is None:
        return name in _COLOURED and _is_colour(_COLOUR.fullmatch(value))
    stops = [_STOP.fullmatch(stop) for stop in _STOPS_END.split(gradient[1])]
    return len(stops) > 1 and all(_is_colour(stop and _COLOUR.match(stop[1])) for stop in stops)


def _is_colour(match: re.Match[str] | None) -> bool:
    from tinycss2.color3 import parse_color

    return match is not None and parse_color(match[0]) is not None


# ---- dropping them

# At-rules whose blocks hold rules; what other at-rules hold is not read
_FRAMES = frozenset({"@keyframes", "@-webkit-keyframes", "@-moz-keyframes"})
_GROUPS = frozenset({"@media", "@supports", "@container", "@layer", "@scope"})
_EMPTIED = frozenset({"@media", "@supports"})  # without effect if they are empty


def _without_prefix(name: str) -> str:
    prefix = _PREFIX.match(name)
    return name[prefix.end() :] if prefix else name


class _UnusualError(Exception):
    """The sheet has something between its rules that this does not read."""


def drop_dead_prefixes(text: str) -> str:
    """Return a balanced sheet without what no browser of today knows, nor rules that are empty then.

    The outlines of both are compared. The sheet itself, if they differ or if it has an ``@import`` after a rule, which
    browsers ignore there.
    """
    if not _MAY_HAVE.search(text) or beyond_limits(text) is not None:
        return text
    try:
        outlines, shorter = Outlines(), _Dropping(text).result()
        is_same = shorter != text and _living(shorter, outlines) == _living(text, outlines)
    except (_UnusualError, OutlineTooLargeError):
        return text
    has_import = "{" in text and {"import", "namespace"} & at_keywords(text[text.index("{") :])
    return shorter if is_same and not has_import else text


def _living(text: str, outlines: Outlines) -> list[Entry]:
    entries = [entry for entry in outlines.of(text) if not _is_dead_entry(entry)]
    last = {(context, name, important): place for place, (context, (name, _, important)) in enumerate(entries)}
    frames = {context[1]: place for place, (context, _) in enumerate(entries) if context[:1] == ("@keyframes",)}

    def last_of(context: Context, name: str, important: bool) -> int:
        parts = [last.get((context, part, important), -1) for part in PARTS.get(name, ())]
        return max(last.get((context, name, important), -1), min(parts, default=-1))

    def is_overridden(place: int, entry: Entry) -> bool:
        context, (name, _, important) = entry
        if context and context[0] in _KEYFRAMES_OF_ENGINES and frames.get(context[1], -1) > place:
            return True
        if name in _FALLING_BACK:
            return last[context, name, important] > place
        own = _without_prefix(name)  # its value has other canonical forms than the one without a prefix
        return own != name and own in _UNPREFIXED and last_of(context, own, important) > place

    return [entry for place, entry in enumerate(entries) if not is_overridden(place, entry)]


def _is_dead_entry(entry: Entry) -> bool:
    context, (name, value, _) = entry
    if name == TOGETHER or _NAME.fullmatch(name):
        return True
    if any(isinstance(part, str) and part in _DEAD_AT_RULES for part in context):
        return True
    is_listed = name in _KEYWORD_PROPERTIES or name.startswith(("background", "border-image", "list-style"))
    return is_listed and re.search(r"'-(?:o|ms|khtml)-", repr(value).lower()) is not None


_COMMENT, _ODD = re.compile(r"/\*.*?\*/", re.DOTALL), re.compile(r";|<!--|-->")


def _between_rules(gap: str) -> str:
    """Return white space and comments. Raises ``_UnusualError`` for marks of HTML."""
    if _ODD.search(gap) and _ODD.search(_COMMENT.sub("", gap)):
        raise _UnusualError
    return gap


class _Dropping:
    """What stays of a sheet."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._keyframes = {match[1]: match.start() for match in _KEYFRAMES.finditer(text)}

    def result(self) -> str:
        """Return what stays. Raises ``_UnusualError``."""
        return self._rules(self.text, 0, len(self.text), sheet_items(self.text), is_outer=True)

    def _rules(self, text: str, start: int, stop: int, items: Iterable[Item], *, is_outer: bool = False) -> str:
        """Return what stays of the rules in ``text[start:stop]``; ``is_outer`` if nothing is around them."""
        pieces = []
        for item in items:
            is_odd = item.is_rule and _ODD.search(text, item.start, item.prelude)
            if item.name == "?" or item.is_declaration or is_odd:
                raise _UnusualError  # it is part of the next prelude
            pieces += [_between_rules(text[start : item.start]), self._rule(text, item, is_outer)]
            start = item.end
        return "".join([*pieces, _between_rules(text[start:stop])])

    def _rule(self, text: str, item: Item, is_outer: bool) -> str:
        """Return what stays of a rule that is in no style rule."""
        if item.body < 0:
            return text[item.start : item.end]
        inside = text[item.body : item.close]
        is_dead = item.name in _DEAD_AT_RULES or (is_outer and self._is_repeated(text, item))
        if is_dead and "/*" not in inside:
            return ""
        if item.name in _GROUPS:
            shorter = self._rules(text, item.body, item.close, item.items)
        elif item.name in _FRAMES:
            frames = sheet_items(inside)
            shorter = inside if any(each.name for each in frames) else self._rules(inside, 0, len(inside), frames)
        else:
            shorter = inside if item.name else self._block(text, item)
        if (item.is_rule or item.name in _EMPTIED) and shorter != inside and not shorter.strip():
            return ""
        return text[item.start : item.body] + shorter + text[item.close : item.end]

    def _is_repeated(self, text: str, item: Item) -> bool:
        """Whether keyframes of the same name follow without a prefix."""
        name = text[item.start : item.prelude].split()[1:]
        return item.name in _KEYFRAMES_OF_ENGINES and len(name) == 1 and self._keyframes.get(name[0], -1) > item.start

    def _block(self, text: str, rule: Item) -> str:
        """Return what stays of the block of a style rule."""
        prelude, block, start = text[rule.start : rule.prelude], _Block(), rule.body
        if prelude.startswith("--") or "\\" in prelude:
            return text[rule.body : rule.close]
        for item in rule.items:
            statement = text[item.start : item.close]
            gap, start = text[start : item.start], item.end
            if item.is_rule:
                inside = self._block(text, item)
                block.pieces += [gap, text[item.start : item.body], inside, text[item.close : item.end]]
            elif item.name.startswith("@") and item.body >= 0:
                block.pieces.append(gap + text[item.start : item.end])
            elif is_dead_declaration(statement):
                block.pieces.append(gap if "/*" in gap else "")
            else:
                block.add(statement, gap + text[item.start : item.end])
        return "".join([*block.pieces, text[start : rule.close]])


@dataclass(slots=True)
class _Block:
    """What stays of a block: its declarations, with what is before each and the semicolon after it.

    ``prefixed`` says where the declarations with ``-webkit-`` or ``-moz-`` at the end of the pieces are, by their text
    without it; ``places`` those of the property and importance ``last``.
    """

    pieces: list[str] = field(default_factory=list)
    prefixed: dict[str, list[int]] = field(default_factory=dict)
    last: tuple[str, bool] | None = None
    places: list[int] = field(default_factory=list)

    def add(self, statement: str, piece: str) -> None:
        """Add a declaration, and drop what it says without a prefix, or overrides."""
        declaration = _DECLARATION.fullmatch(statement)
        if declaration is None or "/*" in statement:
            self.prefixed.clear()
            self.last = None
        else:
            self._drop_overridden(declaration[1], declaration[2])
            self._drop_prefixed(declaration[1], declaration[2].strip())
        self.pieces.append(piece)

    def _drop_prefixed(self, name: str, value: str) -> None:
        """Drop a declaration of this block that says the same with a prefix, or note that this one has it."""
        own = _without_prefix(name)
        plain = f"{own}:{_PREFIX.sub('', value) if own.startswith('transition') else value}"
        if name != own and own in _UNPREFIXED:
            self.prefixed.setdefault(plain, []).append(len(self.pieces))
        elif not name.startswith("-"):
            for place in self.prefixed.get(plain, ()):
                if "/*" not in self.pieces[place]:
                    self.pieces[place] = ""
            self.prefixed.clear()

    def _drop_overridden(self, name: str, value: str) -> None:
        """Drop the declarations just before one of the same property whose value all browsers know, or note it."""
        shown, key = _IMPORTANT.sub("", value.lower()), (name, _IMPORTANT.search(value.lower()) is not None)
        if self.last != key:
            self.last, self.places = key, []
        elif _is_known_everywhere(name, shown) and not any("/*" in self.pieces[place] for place in self.places):
            for place in self.places:
                self.pieces[place] = ""
            self.places = []
        self.places.append(len(self.pieces))
