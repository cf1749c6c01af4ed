"""The conditions of an ``@import`` and the blocks that say the same (CSS Cascade 5, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tinycss2

_BLANK = ("whitespace", "comment")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What stands behind the URL of an ``@import``; ``layer`` is empty for an anonymous one, ``None`` for
    none."""

    layer: str | None = None
    supports: str | None = None
    media: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the import is unconditional and in no layer of its own."""
        return self == Conditions()

    def wrap(self, body: str) -> str:
        """Return ``body`` in the blocks that mean these conditions.

        The layer is innermost: where a condition is false, browsers do not add the layer to the order.
        """
        if self.layer is not None:
            body = f"@layer {self.layer}{{{body}}}" if self.layer else f"@layer{{{body}}}"
        if self.supports is not None:
            body = f"@supports ({self.supports}){{{body}}}"
        return f"@media {self.media}{{{body}}}" if self.media else body


def parse_conditions(prelude: str) -> Conditions | None:
    """Parse what stands between the URL and the semicolon; ``None`` for what is not known to mean
    anything."""
    parts = [part for part in tinycss2.parse_component_value_list(prelude) if part.type != "comment"]
    if any(part.type == "error" for part in parts):
        return None
    layer = _take_layer(parts)
    supports = _take_supports(parts)
    media = tinycss2.serialize(parts).strip()
    first = next((part for part in parts if part.type != "whitespace"), None)
    if layer is _UNKNOWN or (first is not None and first.type not in ("ident", "() block")):
        return None
    return Conditions(layer, supports, media)


_UNKNOWN = "?"


def _take(parts: list[Any], kind: str, name: str) -> Any:
    """Remove and return the first part that is not white space, if it is a ``kind`` called ``name``."""
    for index, part in enumerate(parts):
        if part.type != "whitespace":
            found = part.type == kind and (part.lower_value if kind == "ident" else part.lower_name) == name
            return parts.pop(index) if found else None
    return None


def _take_layer(parts: list[Any]) -> str | None:
    if _take(parts, "ident", "layer"):
        return ""
    function = _take(parts, "function", "layer")
    return None if function is None else _layer_name(function.arguments)


def _layer_name(arguments: list[Any]) -> str:
    """Return the dotted name; white space may stand at its ends only, and CSS-wide keywords are no names."""
    name: str = tinycss2.serialize([part for part in arguments if part.type != "comment"]).strip()
    pieces = [part for part in arguments if part.type not in _BLANK]
    is_dotted = all((part.type == "ident") if index % 2 == 0 else part == "." for index, part in enumerate(pieces))
    if not is_dotted or len(pieces) % 2 == 0 or " " in name or "\n" in name or "\t" in name:
        return _UNKNOWN
    reserved = {"initial", "inherit", "unset", "revert", "revert-layer", "default"}
    return _UNKNOWN if any(part.type == "ident" and part.lower_value in reserved for part in pieces) else name


def _take_supports(parts: list[Any]) -> str | None:
    function = _take(parts, "function", "supports")
    return None if function is None else str(tinycss2.serialize(function.arguments)).strip()
