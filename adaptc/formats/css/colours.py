"""Colours of CSS: which a value may have, and their contrast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinycss2.color3 import parse_color

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
    parts = [token for token in value if token.type not in ("whitespace", "comment")]
    colour = parse_color(parts[0]) if len(parts) == 1 else None
    if colour is None or isinstance(colour, str) or colour.alpha < 1:
        return None
    return round(colour.red * 255), round(colour.green * 255), round(colour.blue * 255)


def as_hex(colour: Sequence[int]) -> str:
    """Return a colour, or one with an opacity of 0 to 255, in its shortest hexadecimal form."""
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
