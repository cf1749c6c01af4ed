"""Stand-ins for images that go: nothing to see, the same natural size, and no request.

An empty SVG has the size that it says, so that the box stays whatever style sheets make of it: with both dimensions
set, with one, with none, with ``max-width`` (checked in Chromium). A transparent pixel with ``width`` and ``height``
attributes would lose its ratio under ``height: auto``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

# What sizes an SVG image (SVG 2, section 8.12)
_SIZING = ("width", "height", "viewBox")
_ESCAPED = str.maketrans({character: f"%{ord(character):02X}" for character in '\t\n\r"#%&'})


def stand_in(width: float, height: float) -> str:
    """Return the address of an empty image of this size in CSS pixels."""
    return _data_uri({"width": f"{width:g}", "height": f"{height:g}"})


@lru_cache(maxsize=256)
def svg_stand_in(content: bytes) -> str | None:
    """Return the address of an empty image that is sized as an SVG file is; ``None`` where the file is broken."""
    from adaptc.formats.svg.parse import SvgMalformedError, parse_svg

    try:
        root = parse_svg(content, recover=True)
    except SvgMalformedError:
        return None
    return _data_uri({name: value for name in _SIZING if (value := root.get(name)) and not set(value) & set("'<>")})


def _data_uri(attributes: Mapping[str, str]) -> str:
    written = "".join(f" {name}='{value}'" for name, value in attributes.items())
    return "data:image/svg+xml," + f"<svg xmlns='http://www.w3.org/2000/svg'{written}/>".translate(_ESCAPED)
