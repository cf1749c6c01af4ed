"""An icon font drawn by the tests: 200 icons by code points, as many by ligatures, and the letters of these."""

from __future__ import annotations

import io
import random
from functools import cache
from typing import Any

from fontTools.feaLib.builder import addOpenTypeFeaturesFromString
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

HOME, MENU = 0xF000, 0xF001
LETTERS = "abcdefghijklmnopqrstuvwxyz_"


def _glyph(generator: random.Random) -> Any:
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for _ in range(15):
        pen.lineTo((generator.randrange(1000), generator.randrange(1000)))
    pen.closePath()
    return pen.glyph()


@cache
def icon_font(flavor: str | None = "woff2", fs_type: int = 0, first: int = HOME) -> bytes:
    """Return the font; its icons are ``first`` and those that follow, and the ligatures ``home`` and ``item_aa`` on."""
    font = TTFont(io.BytesIO(_drawn()), recalcTimestamp=False)
    font["OS/2"].fsType = fs_type
    for table in font["cmap"].tables:
        table.cmap = {code - HOME + first if code >= HOME else code: name for code, name in table.cmap.items()}
    font.flavor = flavor
    output = io.BytesIO()
    font.save(output)
    return output.getvalue()


@cache
def _drawn() -> bytes:
    """Return the font as TrueType, with icons from ``HOME`` on."""
    generator = random.Random(1)  # of shapes
    words = ["home", *(f"item_{a}{b}" for a in LETTERS[:14] for b in LETTERS[:14])]
    letters = {letter: f"letter{ord(letter)}" for letter in LETTERS}
    icons = {HOME + index: f"icon{index}" for index in range(200)}
    names = [".notdef", *letters.values(), *icons.values(), *(f"word{index}" for index in range(len(words)))]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({**{ord(letter): name for letter, name in letters.items()}, **icons})
    builder.setupGlyf({name: _glyph(generator) for name in names})
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    builder.setupHorizontalHeader(ascent=1000, descent=0)
    builder.setupOS2()
    builder.setupNameTable({"familyName": "Icons", "copyright": "Us"})
    builder.setupPost()
    rules = [f"sub {' '.join(letters[c] for c in word)} by word{index};" for index, word in enumerate(words)]
    addOpenTypeFeaturesFromString(builder.font, "feature liga {\n" + "\n".join(rules) + "\n} liga;")
    builder.font["head"].created = builder.font["head"].modified = 3_600_000_000  # seconds since 1904
    output = io.BytesIO()
    builder.save(output)
    return output.getvalue()
