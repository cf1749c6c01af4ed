"""For which widths of the window a media query list holds (Media Queries 4), as far as a plain screen is concerned."""

from __future__ import annotations

import re

__all__ = ["EVERY", "Widths", "both", "widths_of"]

# Ranges of CSS pixels, both ends included. A tuple without ranges never holds.
Widths = tuple[tuple[float, float], ...]
EVERY: Widths = ((0.0, float("inf")),)

_QUERY = re.compile(r"^(?:only\s+)?(?:(?:screen|all)(?:\s+and\s+|$))?((?:\([^()]*\)(?:\s+and\s+|$))*)$", re.IGNORECASE)
_FEATURE = re.compile(r"\(\s*([^()]*?)\s*\)")
_LIMIT = re.compile(r"(min|max)-width\s*:\s*([\d.]+)(px|em|rem)$", re.IGNORECASE)
_RANGE = re.compile(r"width\s*(<=|>=|<|>)\s*([\d.]+)(px|em|rem)$", re.IGNORECASE)
_PIXELS = {"px": 1.0, "em": 16.0, "rem": 16.0}
# What holds for a visitor with a mouse who asked for nothing
_USUAL = re.compile(
    r"(?:prefers-[a-z-]+\s*:\s*no-preference|(?:any-)?hover(?:\s*:\s*hover)?|min-(?:device-)?height.*)$"
)


def widths_of(prelude: str) -> Widths:
    """Return the widths for which a media query list holds; a query that is not understood never does."""
    return tuple(found for query in prelude.split(",") if (found := _query(query.strip())) is not None)


def both(one: Widths, other: Widths) -> Widths:
    """Return the widths that are in both."""
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return tuple((low, high) for low, high in pairs if low <= high)


def _query(query: str) -> tuple[float, float] | None:
    found = _QUERY.match(query)
    if found is None:
        return None
    low, high = EVERY[0]
    for feature in _FEATURE.findall(found[1]):
        limits = _limits(feature)
        if limits is None:
            return None
        low, high = max(low, limits[0]), min(high, limits[1])
    return (low, high) if low <= high else None


def _limits(feature: str) -> tuple[float, float] | None:
    if limit := _LIMIT.match(feature):
        at = float(limit[2]) * _PIXELS[limit[3].lower()]
        return (at, EVERY[0][1]) if limit[1].lower() == "min" else (0.0, at)
    if limit := _RANGE.match(feature):
        at = float(limit[2]) * _PIXELS[limit[3].lower()]
        return (at, EVERY[0][1]) if ">" in limit[1] else (0.0, at)
    return EVERY[0] if _USUAL.match(feature) else None
