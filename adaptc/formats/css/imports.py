"""The head of a style sheet: ``@charset``, ``@layer`` statements and ``@import`` (CSS Cascade 5, section 2).

And how much of each other sheets may import.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from adaptc.core.values import dataclass
from adaptc.formats.css.rules import each_item
from adaptc.formats.css.scanner import DENSE, IDENT, Kind, Token, next_token, skip_between_rules, skip_gap

_NAME = re.compile(IDENT)


@dataclass(frozen=True, slots=True)
class Statement:
    """An at-rule of the head. ``name`` is in lower case; the span includes its ``;`` or block.

    ``prelude`` is the position after the name, ``close`` that of the ``;`` or ``{``, or the end of the text.
    """

    name: str
    start: int
    prelude: int
    close: int
    end: int
    has_block: bool


@dataclass(frozen=True, slots=True)
class ImportStatement:
    """A valid ``@import`` of the head; ``target`` is the token of its string, URL, or quoted ``url()`` or ``src()``."""

    target: Token
    start: int
    end: int


def head_statements(text: str) -> Iterator[Statement]:
    """Yield the at-rules before the first qualified rule."""
    items, position = each_item(text), 0
    while text.startswith("@", skip_between_rules(text, position)):
        item = next(items)
        name = _NAME.match(text, item.start + 1)
        if not item.name.startswith("@") or name is None:
            return
        yield Statement(item.name[1:], item.start, name.end(), item.prelude, item.end, item.body >= 0)
        position = item.end


# Browsers ignore an @import after one of these at-rules. Unknown at-rules do not count.
_RULES = frozenset({
    "media", "font-face", "keyframes", "-webkit-keyframes", "supports", "page", "namespace", "container",
    "property", "scope", "counter-style", "font-feature-values", "font-palette-values", "starting-style",
    "view-transition", "position-try",
})  # fmt: skip


def head_imports(text: str) -> Iterator[ImportStatement]:
    """Yield the ``@import`` rules that browsers honour: those before all rules except ``@layer`` statements."""
    for statement in head_statements(text):
        if statement.name in _RULES or (statement.name == "layer" and statement.has_block):
            return
        if statement.name == "import" and (target := import_target(text, statement)):
            yield ImportStatement(target, statement.start, statement.end)


def import_target(text: str, statement: Statement) -> Token | None:
    """Return the target of an ``@import``: a string, a URL token, or the function token of a quoted ``url()``."""
    start = skip_gap(text, statement.prelude)
    token = next_token(text, start, DENSE)
    if statement.has_block or token is None or token.end > statement.close:
        return None
    if token.kind is Kind.STRING:
        return token if token.start == start else None
    return _call_target(text, token, start)


def _call_target(text: str, token: Token, start: int) -> Token | None:
    if token.start != start or token.value not in ("url", "src"):
        return None
    if token.kind is Kind.URL:
        return token
    argument = skip_gap(text, token.end)
    string = next_token(text, argument, DENSE) if token.kind is Kind.FUNCTION else None
    is_string = string is not None and string.start == argument and string.kind is Kind.STRING
    return token if is_string else None


_BLANK = ("whitespace", "comment")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What follows the URL of an ``@import``. ``layer`` is ``""`` for an anonymous layer, ``None`` for none."""

    layer: str | None = None
    supports: str | None = None
    media: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the import is unconditional and in no layer of its own."""
        return self == Conditions()

    def wrap(self, body: str) -> str:
        """Return ``body`` in blocks with the same conditions.

        The layer is innermost: where a condition is false, browsers do not add the layer to the order.
        """
        if self.layer is not None:
            body = f"@layer {self.layer}{{{body}}}" if self.layer else f"@layer{{{body}}}"
        if self.supports is not None:
            body = f"@supports ({self.supports}){{{body}}}"
        return f"@media {self.media}{{{body}}}" if self.media else body


def parse_conditions(prelude: str) -> Conditions | None:
    """Parse what is between the URL and the semicolon; return ``None`` for unknown syntax."""
    from tinycss2 import parse_component_value_list

    parts = [part for part in parse_component_value_list(prelude) if part.type != "comment"]
    if any(part.type == "error" for part in parts):
        return None
    layer = _take_layer(parts)
    supports = _take_supports(parts)
    media = _serialize(parts)
    first = next((part for part in parts if part.type != "whitespace"), None)
    if layer is _UNKNOWN or (first is not None and first.type not in ("ident", "() block")):
        return None
    return Conditions(layer, supports, media)


_UNKNOWN = "?"


def _take(parts: list[Any], kind: str, name: str) -> Any:
    """Remove and return the first part, white space aside, if it is of type ``kind`` and named ``name``."""
    for index, part in enumerate(parts):
        if part.type != "whitespace":
            is_match = part.type == kind and (part.lower_value if kind == "ident" else part.lower_name) == name
            return parts.pop(index) if is_match else None
    return None


def _take_layer(parts: list[Any]) -> str | None:
    if _take(parts, "ident", "layer"):
        return ""
    function = _take(parts, "function", "layer")
    return None if function is None else _layer_name(function.arguments)


def _layer_name(arguments: list[Any]) -> str:
    """Return the dotted name, or ``_UNKNOWN`` for white space within it or a CSS-wide keyword as a part."""
    name = _serialize([part for part in arguments if part.type != "comment"])
    pieces = [part for part in arguments if part.type not in _BLANK]
    is_dotted = all((part.type == "ident") if index % 2 == 0 else part == "." for index, part in enumerate(pieces))
    if not is_dotted or len(pieces) % 2 == 0 or " " in name or "\n" in name or "\t" in name:
        return _UNKNOWN
    reserved = {"initial", "inherit", "unset", "revert", "revert-layer", "default"}
    return _UNKNOWN if any(part.type == "ident" and part.lower_value in reserved for part in pieces) else name


def _take_supports(parts: list[Any]) -> str | None:
    function = _take(parts, "function", "supports")
    return None if function is None else _serialize(function.arguments)


def _serialize(parts: list[Any]) -> str:
    from tinycss2 import serialize

    return str(serialize(parts)).strip()


# ---- the budget of a build for flattening imports
# Each sheet with imports gets the text of all sheets that it imports, directly or through others, so that a site whose
# sheets all import each other would need the square of their size. The sheets that pages load come first.

# Bytes that sheets may take from others in a build. Of 19 real sites the largest sum was 1.6 MB.
BUDGET = 128_000_000
# What an import costs in time, in bytes
_IMPORT = 1000

Imports = Mapping[str, Sequence[str]]


def sheets_over_budget(
    imports: Imports, sizes: Mapping[str, int], loaded: Container[str], budget: int = BUDGET
) -> frozenset[str]:
    """Return the sheets whose imports stay, since all sheets together would exceed ``budget``.

    ``imports`` are the sheets that each sheet imports, ``sizes`` their bytes, ``loaded`` those that pages load.
    """
    excess = set()
    importing = [path for path, targets in imports.items() if targets]
    for path in sorted(importing, key=lambda path: (path not in loaded, path)):
        cost = _cost(path, imports, sizes, budget)
        if cost > budget:
            excess.add(path)
        else:
            budget -= cost
    return frozenset(excess)


def _cost(path: str, imports: Imports, sizes: Mapping[str, int], budget: int) -> int:
    """Return the cost of flattening one sheet; no more is counted once it is over ``budget``."""
    cost, seen, pending = 0, {path}, [path]
    while pending and cost <= budget:
        for imported in imports.get(pending.pop(), ()):
            cost += _IMPORT
            if imported not in seen:
                seen.add(imported)
                pending.append(imported)
                cost += sizes.get(imported, 0)
    return cost
