"""The encoding of pages and sheets that only the Content-Type told, written into the file: a file has no header.

Nothing is written where the bytes say the same already, or are ASCII, which every such encoding reads alike.
"""

from __future__ import annotations

from adaptc.crawl.discover.text import Decoded
from adaptc.formats.html.document import parse
from adaptc.formats.html.encoding import sniff_encoding

_MARKS = {"utf-16be": b"\xfe\xff", "utf-16le": b"\xff\xfe"}  # what no meta element can declare


def declared_page(decoded: Decoded, source: bytes) -> Decoded:
    """Return a page whose bytes say the encoding that it has; ``source`` are the bytes that came."""
    if decoded.bom or source.isascii() or sniff_encoding(source).name == decoded.encoding:
        return decoded
    if decoded.encoding in _MARKS:
        return decoded._replace(bom=_MARKS[decoded.encoding])
    place = _first_in_head(decoded)
    return decoded._replace(text=f'{decoded.text[:place]}<meta charset="{decoded.encoding}">{decoded.text[place:]}')


def _first_in_head(decoded: Decoded) -> int:
    """Return the offset behind doctype, html and head tags: the first declaration is the one that counts."""
    tree = parse(decoded.readable)
    places = [0]
    for tag in ("html", "head"):
        element = tree.find(tag)
        location = element.source_location if element is not None else None
        if location is not None:
            places.append(location.start_tag.end_offset)
    if len(places) == 1:
        return _behind_doctype(decoded.text)
    offset = max(places)
    return offset + decoded.text.count("\r\n", 0, offset)


def _behind_doctype(text: str) -> int:
    is_first = text.lstrip()[:9].lower() == "<!doctype"
    return text.index(">") + 1 if is_first and ">" in text else 0


def declared_sheet(decoded: Decoded, source: bytes) -> Decoded:
    """Return a sheet that says its encoding where that is not UTF-8, which it has without saying so."""
    if decoded.bom or decoded.encoding == "utf-8" or source.isascii() or source[:10].lower() == b'@charset "':
        return decoded
    if decoded.encoding in _MARKS:
        return decoded._replace(bom=_MARKS[decoded.encoding])
    return decoded._replace(text=f'@charset "{decoded.encoding}";{decoded.text}')
