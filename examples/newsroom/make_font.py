"""Cut the headline font out of Playfair Display (SIL Open Font License 1.1) and draw the logo from it.

The source is `PlayfairDisplay[wght].ttf` of the PyPI package fontpkg-playfair-display 1.203. The cut keeps
one weight (800) and the Latin letters; it bears another family name since "Playfair Display" is a reserved
font name. Needs `pip install fonttools brotli`; the results are committed, so the example needs
neither.

    python make_font.py 'PlayfairDisplay[wght].ttf'
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools.pens.svgPathPen import SVGPathPen
from fontTools.pens.transformPen import TransformPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

SITE = Path(__file__).parent / "site"
FAMILY = "Gazette Display"
WEIGHT = 800
LETTERS = {
    *range(0x20, 0x7F),
    *range(0xA0, 0x100),
    0x152,
    0x153,
    0x2013,
    0x2014,
    0x2018,
    0x2019,
    0x201C,
    0x201D,
    0x2026,
}
NAMES_KEPT = {0, 5, 13, 14}
NAMES_SET = {1: FAMILY, 2: "Regular", 3: f"{FAMILY} 1", 4: FAMILY, 6: "GazetteDisplay-Regular"}


def cut(source: Path) -> TTFont:
    """One weight of the variable font, reduced to LETTERS with kerning and ligatures, renamed."""
    font = instantiateVariableFont(TTFont(source, recalcTimestamp=False), {"wght": WEIGHT})
    options = Options(
        layout_features=["kern", "liga", "mark"], name_IDs=["*"], hinting=False, notdef_outline=True
    )
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=LETTERS)
    subsetter.subset(font)
    rename(font)
    return font


def rename(font: TTFont) -> None:
    """Give the cut its own name; copyright, version and licence stay."""
    table = font["name"]
    table.names = [record for record in table.names if record.nameID in NAMES_KEPT]
    for number, text in NAMES_SET.items():
        table.setName(text, number, 3, 1, 0x409)


def outline(font: TTFont, text: str, size: float, x: float, baseline: float) -> str:
    """SVG path data of `text` set at `size` user units, starting at (x, baseline)."""
    glyphs, characters, scale = font.getGlyphSet(), font.getBestCmap(), size / font["head"].unitsPerEm
    pen = SVGPathPen(glyphs, ntos=lambda number: f"{number:.1f}".removesuffix(".0"))
    for letter in text:
        glyph = glyphs[characters[ord(letter)]]
        glyph.draw(TransformPen(pen, (scale, 0, 0, -scale, x, baseline)))
        x += glyph.width * scale
    return str(pen.getCommands())


LOGO = """<?xml version="1.0" encoding="UTF-8"?>
<!-- The masthead of The Harbour Gazette: letters from a cut of Playfair Display (OFL 1.1). -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 110" width="780" height="110" role="img"
     aria-labelledby="logo-title">
  <title id="logo-title">The Harbour Gazette</title>
  <g id="anchor" fill="none" stroke="#9b2d1f" stroke-width="6" stroke-linecap="round">
    <circle cx="50" cy="23" r="9"/>
    <path d="M50 32 V96 M32 45 H68 M18 68 Q24 96 50 96 Q76 96 82 68
      M18 68 l-6 10 M18 68 l10 7 M82 68 l6 10 M82 68 l-10 7"/>
  </g>
  <path id="letters" fill="#14283a" d="{letters}"/>
</svg>
"""


def main(source: str) -> None:
    """Write the font as TTF and WOFF2, and the logo."""
    font = cut(Path(source))
    (SITE / "fonts").mkdir(parents=True, exist_ok=True)
    (SITE / "images").mkdir(exist_ok=True)
    font.save(SITE / "fonts/gazette-display.ttf", reorderTables=True)
    font.flavor = "woff2"
    font.save(SITE / "fonts/gazette-display.woff2")
    letters = outline(font, "The Harbour Gazette", 67, 106, 79)
    (SITE / "images/logo.svg").write_text(LOGO.format(letters=letters), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
