"""Declarations and at-rules with prefixes that no browser of today needs: it does not know them, or knows what follows.

Browsers ignore what they do not know: a declaration with such a property, or with such a value where a property takes
no free words, and an at-rule with its block (CSS Syntax 3, sections 2.2 and 5.4). Without them a sheet means the same.
What engines know decides:

- Chromium 156 lists no property with ``-o-``, ``-ms-``, ``-khtml-`` or ``-moz-`` on a style object, and
  ``CSS.supports`` denies the values below; a test asks the browser that is installed.
- MDN's browser-compat-data 8.1.9 has no property with ``-o-``, ``-ms-`` or ``-khtml-`` in today's Firefox and Safari,
  and ``-ms-high-contrast-adjust`` in Edge, so that this one stays. ``_DROPPED`` are those with ``-moz-`` that Firefox
  dropped up to version 115; all others with ``-moz-`` stay.
- What has ``-webkit-`` goes where the same stands after it without: ``-webkit-transform:none;transform:none``. Engines
  that know both words take the first for another name of the second, or for a property of the same effect
  (Compatibility Standard, 3.2), so that the second wins; others ignore it. ``_UNPREFIXED`` are properties that all
  engines have known without a prefix for eight years (Safari since version 11): not ``user-select`` or ``mask``.
- A declaration goes where the next has the same property and a value that all of them know: old flexible boxes before
  ``display:flex``, other images before a linear gradient of plain colours.

Selectors and conditions stay: there an unknown word decides about whole rules, and is written for that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from adaptc.formats.css.outline import TOGETHER, Entry, Outlines, OutlineTooLargeError
from adaptc.formats.css.scanner import DENSE, Kind, Token, skip_gap, tokens
from adaptc.formats.css.sheet_text import at_keywords, beyond_limits, comments, track_nesting

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
_DEAD_AT_RULES = frozenset({"-ms-viewport", "-o-viewport", "-ms-keyframes", "-o-keyframes", "-khtml-keyframes"})
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
_FALLING_BACK = frozenset({"display", "background", "background-image"})
_DISPLAYS = frozenset({"flex", "inline-flex", "grid", "inline-grid"})
_NUMBER, _SIDE = r"-?\d*\.?\d+", r"(?:(?:top|bottom)(?: (?:left|right))?|left|right)"
_LINEAR = re.compile(rf"(?:repeating-)?linear-gradient\((?:(?:{_NUMBER}deg|to {_SIDE}),)?(.*)\)")
_STOP = re.compile(rf"(#[0-9a-f]+|[a-z]+|rgba?\([^()]*\))(?: {_NUMBER}(?:%|px|r?em)| 0){{0,2}}")
_STOPS_END = re.compile(r",(?![^(]*\))")
_WEBKIT, _WEBKIT_KEYFRAMES = "-webkit-", "-webkit-keyframes"
_KEYFRAMES = re.compile(r"@keyframes\s+([\w-]+)\s*(?=\{)", re.IGNORECASE)
_IMPORTANT = re.compile(r"\s*!\s*important\Z")
_DECLARATION = re.compile(r"([a-z-]+)\s*:\s*(.*)", re.ASCII | re.DOTALL)
_TEXTUAL = re.compile(r"[\"'\\]")  # strings and escapes
# What a sheet without anything to drop has not
_MAY_HAVE = re.compile(rf"-(?:o|ms|khtml|webkit)-|-moz-(?:{'|'.join(_DROPPED)})", re.IGNORECASE)


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
    """Whether all browsers know a value, without ``!important``, of ``display`` or of a background."""
    from tinycss2.color3 import parse_color

    value = re.sub(r"\s*([,()])\s*", r"\1", " ".join(value.lower().split()))
    gradient = _LINEAR.fullmatch(value) if name in _FALLING_BACK else None
    if gradient is None:
        return name == "display" and value in _DISPLAYS
    stops = [_STOP.fullmatch(stop) for stop in _STOPS_END.split(gradient[1])]
    return len(stops) > 1 and all(stop is not None and parse_color(stop[1]) is not None for stop in stops)


# ---- dropping them

# At-rules whose blocks hold rules; what other at-rules hold is not read
_GROUPS = frozenset({
    "media", "supports", "container", "layer", "scope", "document", "-moz-document", "keyframes", "-webkit-keyframes",
    "-moz-keyframes",
})  # fmt: skip
_EMPTIED = frozenset({"media", "supports"})  # without effect if they are empty


class _UnusualError(Exception):
    """The sheet has something between its rules that this does not read."""


@dataclass(slots=True)
class _Block:
    """An open block: ``start`` is the number of pieces before its prelude; ``dropped`` counts what was in it.

    ``prefixed`` are the declarations with ``-webkit-`` that end the pieces, by their text without it, and where;
    ``places`` those of the property and importance ``last``.
    """

    start: int
    is_style: bool = False
    is_group: bool = False
    is_dead: bool = False
    may_vanish: bool = False
    dropped: int = 0
    prefixed: dict[str, int] = field(default_factory=dict)
    last: tuple[str, bool] | None = None
    places: list[int] = field(default_factory=list)


def drop_dead_prefixes(text: str) -> str:
    """Return a balanced sheet without what no browser of today knows, nor rules that are empty then.

    The outlines of both are compared. The sheet itself, if they differ or if it has an ``@import`` after a rule, which
    browsers ignore there.
    """
    if not _MAY_HAVE.search(text) or beyond_limits(text) is not None or _has_markup(text):
        return text
    try:
        shorter = _Dropping(text).result()
        is_same = shorter != text and _living(shorter) == _living(text)
    except (_UnusualError, OutlineTooLargeError):
        return text
    has_import = "{" in text and {"import", "namespace"} & at_keywords(text[text.index("{") :])
    return shorter if is_same and not has_import else text


def _has_markup(text: str) -> bool:
    """Whether a sheet has ``<!--`` or ``-->`` outside of its comments."""
    if "<!--" not in text and "-->" not in text:
        return False
    pieces, position = [], 0
    for start, end in comments(text):
        pieces.append(text[position:start])
        position = end
    bare = "/**/".join([*pieces, text[position:]])
    return "<!--" in bare or "-->" in bare


def _living(text: str) -> list[Entry]:
    entries = [entry for entry in Outlines().of(text) if not _is_dead_entry(entry)]
    last = {(context, name, important): place for place, (context, (name, _, important)) in enumerate(entries)}
    frames = {context[1]: place for place, (context, _) in enumerate(entries) if context[:1] == ("@keyframes",)}

    def is_overridden(place: int, entry: Entry) -> bool:
        context, (name, _, important) = entry
        if context[:1] == (f"@{_WEBKIT_KEYFRAMES}",) and frames.get(context[1], -1) > place:
            return True
        if name in _FALLING_BACK:
            return last[context, name, important] > place
        own = name.removeprefix(_WEBKIT)  # its value has other canonical forms than the one without a prefix
        return own != name and own in _UNPREFIXED and last.get((context, own, important), -1) > place

    return [entry for place, entry in enumerate(entries) if not is_overridden(place, entry)]


def _is_dead_entry(entry: Entry) -> bool:
    context, (name, value, _) = entry
    if name == TOGETHER or _NAME.fullmatch(name):
        return True
    if any(isinstance(part, str) and part[1:] in _DEAD_AT_RULES for part in context):
        return True
    is_listed = name in _KEYWORD_PROPERTIES or name.startswith(("background", "border-image", "list-style"))
    return is_listed and re.search(r"'-(?:o|ms|khtml)-", repr(value).lower()) is not None


class _Dropping:
    """A walk over the statements of a sheet; ``pieces`` is what stays."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str] = []
        self.blocks: list[_Block] = []
        self.start = 0
        self._keyframes = {match[1]: match.start() for match in _KEYFRAMES.finditer(text)}

    def result(self) -> str:
        """Return what stays. Raises ``_UnusualError``."""
        nesting: list[str] = []
        for token in tokens(self.text, 0, DENSE):
            is_in_value = any(closer != "}" for closer in nesting)
            if not track_nesting(nesting, token):
                raise _UnusualError
            if token.kind is Kind.MARK and token.value in "{};" and not is_in_value:
                self._read(token)
                self.start = token.end
        return "".join([*self.pieces, self.text[self.start :]])

    def _read(self, token: Token) -> None:
        first = min(skip_gap(self.text, self.start), token.start)
        gap, statement = self.text[self.start : first], self.text[first : token.start]
        if token.value == "{":
            self._open(gap, statement)
            return
        block = self.blocks[-1] if self.blocks else None
        if not (statement.startswith(("@", "\\")) or (block and not block.is_group) or not statement):
            raise _UnusualError  # it is part of the next prelude
        if block and block.is_style and is_dead_declaration(statement):
            block.dropped += 1
            self.pieces.append(gap if "/*" in gap else "")
            if token.value == "}":
                self.pieces.append("}")
        else:
            if block and block.is_style and statement:
                self._replace_prefixed(block, statement)
            self.pieces += [gap + statement, token.value]
        if token.value == "}" and self.blocks:
            self._close(self.blocks.pop())

    def _replace_prefixed(self, block: _Block, statement: str) -> None:
        """Drop what the next statement of a block says without a prefix, or note that it has one."""
        declaration = _DECLARATION.fullmatch(statement)
        if declaration is None or "/*" in statement:
            block.prefixed.clear()
            block.last = None
            return
        self._replace_overridden(block, declaration[1], declaration[2])
        name, plain = declaration[1], f"{declaration[1].removeprefix(_WEBKIT)}:{declaration[2].strip()}"
        if name.startswith(_WEBKIT):
            if name.removeprefix(_WEBKIT) in _UNPREFIXED:
                block.prefixed[plain] = len(self.pieces)
        elif not name.startswith("-"):
            place = block.prefixed.get(plain)
            if place is not None and "/*" not in self.pieces[place]:
                self.pieces[place : place + 2] = ["", ""]
                block.dropped += 1
            block.prefixed.clear()

    def _replace_overridden(self, block: _Block, name: str, value: str) -> None:
        """Drop the declarations just before one of the same property whose value all browsers know, or note it."""
        shown, key = _IMPORTANT.sub("", value.lower()), (name, _IMPORTANT.search(value.lower()) is not None)
        if block.last != key:
            block.last, block.places = key, []
        elif _is_known_everywhere(name, shown) and not any("/*" in self.pieces[place] for place in block.places):
            for place in block.places:
                self.pieces[place : place + 2] = ["", ""]
            block.dropped += len(block.places)
            block.places = []
        block.places.append(len(self.pieces))

    def _open(self, gap: str, prelude: str) -> None:
        around = self.blocks[-1] if self.blocks else None
        is_read = around is None or around.is_style or around.is_group
        name = re.match(r"@([-\w]+)", prelude)
        keyword = name[1].lower() if name else ""
        is_style = is_read and not prelude.startswith(("@", "--")) and "\\" not in prelude
        is_outer = around is None or around.is_group
        self.pieces.append(gap)
        self.blocks.append(
            _Block(
                len(self.pieces),
                is_style,
                is_outer and keyword in _GROUPS,
                (is_outer and keyword in _DEAD_AT_RULES)
                or (around is None and keyword == _WEBKIT_KEYFRAMES and self._is_repeated(prelude)),
                is_outer and (is_style or keyword in _EMPTIED),
            )
        )
        self.pieces.append(prelude + "{")

    def _is_repeated(self, prelude: str) -> bool:
        """Whether keyframes of the same name follow without a prefix."""
        _, *name = prelude.split()
        return len(name) == 1 and self._keyframes.get(name[0], -1) > self.start

    def _close(self, block: _Block) -> None:
        inside = "".join(self.pieces[block.start + 1 : -1])
        if (block.is_dead and "/*" not in inside) or (block.may_vanish and block.dropped and not inside.strip()):
            del self.pieces[block.start :]
            if self.blocks:
                self.blocks[-1].dropped += 1
