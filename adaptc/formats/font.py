"""Fonts reduced to the glyphs for some characters, as WOFF2 (W3C), by fontTools.

A font of icons has up to 3,000 glyphs, of which a page shows a dozen: 78 kB become 1 to 3. Some of them draw a word
("home") by a ligature. A subset of a text font gains little: a page needs most letters.
"""

from __future__ import annotations

import base64
import binascii
import io
import logging
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from adaptc.core.digest import digest_bytes
from adaptc.core.shortage import raise_shortage
from adaptc.core.values import dataclass

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont

__all__ = ["FontGlyphs", "embedded_font", "font_glyphs", "font_in_sheet", "subset_font", "woff2_font", "woff2_subset"]

_PRIVATE_USE = (range(0xE000, 0xF900), range(0xF0000, 0x110000))
_LIGATURES = 4
_NO_SUBSETTING = 0x0100  # OpenType, OS/2: fsType
# The names that hold a copyright and a licence (OpenType, name), which travel with the font
_LICENCE_NAMES = (0, 7, 13, 14)


@lru_cache(maxsize=8)
def _decoded(content: bytes) -> bytes | None:
    """Return a font without compression, ``None`` if it is broken: decoding WOFF2 takes ten times a subset's time."""
    font = _open(content)
    if font is None:
        return None
    font.flavor = None
    return _saved(font)


def _open(content: bytes) -> TTFont | None:
    from fontTools.ttLib import TTFont

    logging.getLogger("fontTools").setLevel(logging.ERROR)  # it warns of every unknown table
    try:
        return TTFont(io.BytesIO(content), recalcTimestamp=False, recalcBBoxes=False)
    except _broken() as problem:
        raise_shortage(problem)
        return None


def _saved(font: TTFont) -> bytes | None:
    output = io.BytesIO()
    try:
        font.save(output)
    except _broken() as problem:
        raise_shortage(problem)
        return None
    return output.getvalue()


def _broken() -> tuple[type[Exception], ...]:
    """Return what fontTools raises on broken input. A bug of ours would be a TypeError or NameError."""
    import brotli
    from fontTools.ttLib import TTLibError

    decoders = (TTLibError, brotli.error, zlib.error, struct.error)
    return (*decoders, AssertionError, AttributeError, EOFError, LookupError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class FontGlyphs:
    """What a font draws: characters by code point, and ``words`` by ligatures of their letters."""

    characters: frozenset[int]
    words: frozenset[str]

    @property
    def are_icons(self) -> bool:
        """Whether most characters, but for ASCII, are of the private use areas."""
        characters = [code for code in self.characters if code > 0x7F]
        return 2 * sum(any(code in area for area in _PRIVATE_USE) for code in characters) > len(characters)


@lru_cache(maxsize=32)
def font_glyphs(content: bytes) -> FontGlyphs | None:
    """Return what a font draws, ``None`` if it is broken or its licence bits forbid subsets."""
    decoded = _decoded(content)
    font = None if decoded is None else _open(decoded)
    if font is None:
        return None
    try:
        if "OS/2" in font and font["OS/2"].fsType & _NO_SUBSETTING:
            return None
        words = {word for table in _ligature_tables(font) for word in _spellings(table.ligatures, font).values()}
        return FontGlyphs(frozenset(font.getBestCmap() or ()), frozenset(words))
    except _broken() as problem:
        raise_shortage(problem)
        return None


@lru_cache(maxsize=256)
def subset_font(content: bytes, glyphs: FontGlyphs) -> bytes | None:
    """Return a font with these glyphs of it alone, without hints; ``None`` if it is broken.

    Hints align the stems of letters. Icons have none to speak of.
    """
    decoded = _decoded(content)
    font = None if decoded is None else _open(decoded)
    if font is None:
        return None
    try:
        for table in _ligature_tables(font):  # all letters together would keep every ligature
            spellings = _spellings(table.ligatures, font)
            table.ligatures = {
                first: [each for each in followers if spellings[id(each)] in glyphs.words]
                for first, followers in table.ligatures.items()
            }
        _reduce(font, glyphs.characters, hinting=False, name_IDs=_LICENCE_NAMES)
    except _broken() as problem:
        raise_shortage(problem)
        return None
    font.flavor = "woff2"
    return _saved(font)


# Tables that hold the same in other bytes: outlines and where they are (WOFF2, 5.1), and what depends on their bytes
_OUTLINES = frozenset({"glyf", "loca"})
_OF_BYTES = frozenset({"head", "DSIG", "GlyphOrder"})
# Fonts above this size take seconds: those of Chinese, Japanese and Korean
_LARGEST = 2_000_000


_DATA_URI = re.compile(r"data:[\w./+-]*(?:;charset=[\w-]+)?;base64,([\w+/]+={0,2})", re.IGNORECASE | re.ASCII)
_WOFF2 = b"wOF2"


def embedded_font(url: str) -> bytes | None:
    """Return the content of a data URI in base64, ``None`` for another URL."""
    match = _DATA_URI.fullmatch(url)
    try:
        return None if match is None else base64.b64decode(match[1], validate=True)
    except binascii.Error:
        return None


def font_in_sheet(sheet: bytes, digest: str) -> bytes | None:
    """Return the content with this digest of a data URI in a style sheet, ``None`` if there is none."""
    contents = (embedded_font(match[0]) for match in _DATA_URI.finditer(sheet.decode("utf-8", "replace")))
    return next((each for each in contents if each is not None and digest_bytes(each) == digest), None)


def woff2_file(content: bytes) -> bytes | None:
    """Return a font as WOFF2, itself if it is one already; ``None`` as ``woff2_font``."""
    return content if content.startswith(_WOFF2) and font_glyphs(content) is not None else woff2_font(content)


def woff2_font(content: bytes) -> bytes | None:
    """Return a font as WOFF2 with all its glyphs, hints and tables; ``None`` if it is broken, large, or may differ.

    The outlines of the result are compared with those of the source, the other tables byte by byte. A signature is
    dropped, which no browser reads.
    """
    font = _open(content) if len(content) <= _LARGEST else None
    if font is None or font.flavor == "woff2":
        return None
    try:
        if "DSIG" in font:
            del font["DSIG"]
        font.flavor, font.flavorData = "woff2", None
        converted = _saved(font)
        return converted if converted is not None and _draws_the_same(content, converted) else None
    except _broken() as problem:
        raise_shortage(problem)
        return None


# Tables of which fontTools drops a part, or all, and in which a glyph may look otherwise than in its outline
_UNCERTAIN = frozenset({"EBDT", "EBLC", "EBSC", "CBDT", "CBLC", "sbix", "SVG ", "JSTF", "Silf", "Feat", "Sill", "morx"})


def woff2_subset(content: bytes, characters: Set[int], *, every_feature: bool = True) -> bytes | None:
    """Return a font as WOFF2 with its glyphs of ``characters``, hints, copyright and layout rules.

    These are the rules of features that browsers use by themselves, or with ``every_feature`` of all. ``None`` if it is
    broken, large, forbids subsets or may differ: widths and outlines of the result are compared with the source's.
    """
    glyphs = font_glyphs(content) if len(content) <= _LARGEST else None
    source = None if glyphs is None else _decoded(content)
    font = None if source is None else _open(source)
    if glyphs is None or source is None or font is None or not _UNCERTAIN.isdisjoint(font.keys()):
        return None
    try:
        features = ["*"] if every_feature or "MATH" in font else _used_features()
        kept = {"name_IDs": _LICENCE_NAMES, "name_languages": ["*"], "layout_features": features}
        _reduce(font, characters & glyphs.characters, hinting=True, **kept)
        font.flavor, font.flavorData = "woff2", None
        subset = _saved(font)
        return subset if subset is not None and _draws_as(source, subset, characters & glyphs.characters) else None
    except _broken() as problem:
        raise_shortage(problem)
        return None


# text-spacing-trim, which is on unless a sheet says otherwise
_SPACING = ["chws", "vchw", "halt", "vhal"]


def _used_features() -> list[str]:
    """Return the features that browsers use for a text unless a sheet says otherwise, those of all scripts included."""
    from fontTools import subset

    return [*subset.Options().layout_features, *_SPACING]


def _draws_as(source: bytes, subset: bytes, characters: Set[int]) -> bool:
    before, after = _open(source), _open(subset)
    if before is None or after is None:
        return False
    drawn = _drawings(before, characters)
    metrics = ("hhea", "ascent"), ("hhea", "descent"), ("hhea", "lineGap"), ("head", "unitsPerEm"), ("OS/2", "sxHeight")
    are_equal = all(_metric(before, *each) == _metric(after, *each) for each in metrics)
    return are_equal and len(drawn) == len(characters) and drawn == _drawings(after, characters)


def _metric(font: TTFont, table: str, name: str) -> Any:
    return getattr(font[table], name, None) if table in font else None


def _drawings(font: TTFont, characters: Set[int]) -> dict[int, Any]:
    """Return the width and the outline of each character that a font has."""
    from fontTools.pens.recordingPen import DecomposingRecordingPen

    glyphs, drawings = font.getGlyphSet(), {}
    for code, name in (font.getBestCmap() or {}).items():
        if code in characters:
            pen = DecomposingRecordingPen(glyphs)
            glyphs[name].draw(pen)
            drawings[code] = glyphs[name].width, pen.value
    return drawings


def _draws_the_same(source: bytes, converted: bytes) -> bool:
    before, after = _open(source), _open(converted)
    if before is None or after is None or {*before.keys()} - _OF_BYTES != {*after.keys()} - _OF_BYTES:
        return False
    tables = {*before.keys()} - _OF_BYTES - _OUTLINES
    if any(before.getTableData(tag) != after.getTableData(tag) for tag in tables):
        return False
    return "glyf" not in before or _outlines(before) == _outlines(after)


def _outlines(font: TTFont) -> list[Any]:
    glyphs = font["glyf"]
    return [_outline(glyphs, name) for name in font.getGlyphOrder()]


def _outline(glyphs: Any, name: str) -> Any:
    glyph = glyphs[name]
    program = getattr(glyph, "program", None)
    instructions = b"" if program is None else program.getBytecode()
    if glyph.isComposite():
        parts = [(part.glyphName, part.flags, part.getComponentInfo()) for part in glyph.components]
        return parts, instructions
    coordinates, ends, flags = glyph.getCoordinates(glyphs)
    return list(coordinates), list(ends), [flag & 1 for flag in flags], instructions


def _reduce(font: TTFont, characters: Set[int], **kept: Any) -> None:
    from fontTools import subset

    options = subset.Options(**{"layout_features": ["*"], **kept}, notdef_outline=True)
    options.drop_tables += ["FFTM", "webf"]  # of FontForge and Font Squirrel, of which browsers know nothing
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)


def _ligature_tables(font: TTFont) -> Iterator[Any]:
    """Yield the tables of ligatures (OpenType, GSUB, type 4), those in extensions (type 7) as well."""
    lookups = font["GSUB"].table.LookupList.Lookup if "GSUB" in font and font["GSUB"].table.LookupList else ()
    for lookup in lookups:
        for subtable in lookup.SubTable:
            table = getattr(subtable, "ExtSubTable", subtable)
            if table.LookupType == _LIGATURES:
                yield table


def _spellings(ligatures: Mapping[str, Sequence[Any]], font: TTFont) -> dict[int, str]:
    """Return the words that ligatures draw, by the ``id`` of the ligature."""
    letters = {glyph: chr(code) for code, glyph in sorted((font.getBestCmap() or {}).items(), reverse=True)}
    return {
        id(each): "".join(letters.get(glyph, "\0") for glyph in (first, *each.Component))
        for first, followers in ligatures.items()
        for each in followers
    }
