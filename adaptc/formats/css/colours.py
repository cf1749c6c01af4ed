"""Colours of style sheets: where a value has one, and whether text can be read on it."""

from __future__ import annotations

from typing import Any

from tinycss2.color3 import parse_color

Colour = tuple[int, int, int]  # sRGB, 0 to 255

# Functions and words that hold a colour, or may
_UNSURE = frozenset({"var", "env", "hwb", "lab", "lch", "oklab", "oklch", "color", "color-mix", "light-dark"})


def has_colour(value: list[Any]) -> bool:
    """Whether a value of ``background`` names a colour outside of images, or may."""
    return any(
        parse_color(token) is not None or (token.type == "function" and token.lower_name in _UNSURE)
        for token in value
        if token.type in ("ident", "hash", "function")
    )


def colour_of(value: list[Any]) -> Colour | None:
    """Return the opaque colour that a value is, ``None`` for anything else."""
    parts = [token for token in value if token.type not in ("whitespace", "comment")]
    found = parse_color(parts[0]) if len(parts) == 1 else None
    if found is None or isinstance(found, str) or found.alpha < 1:
        return None
    return round(found.red * 255), round(found.green * 255), round(found.blue * 255)


def as_hex(colour: Colour) -> str:
    """Return a colour in its shortest hexadecimal form."""
    written = "".join(f"{channel:02x}" for channel in colour)
    return f"#{written[::2]}" if written[::2] == written[1::2] else f"#{written}"


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: Colour) -> float:
    """Return the relative luminance, 0 to 1 (WCAG 2.2, "relative luminance")."""
    red, green, blue = (_linear(channel / 255) for channel in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
