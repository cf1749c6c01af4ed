"""Tables that hold data, and tables that only lay out a page (WAI-ARIA "presentation")."""

from __future__ import annotations

from collections.abc import Iterator

from turbohtml import Element

from adaptc.formats.html.landmarks import class_words
from adaptc.formats.html.visible_text import content_length

__all__ = ["is_layout_table", "rows_of"]

_LONG = 600  # characters in one cell that no table of data has, seen in layouts of whole pages
_FEW = 2
_SECTIONS = ("thead", "tbody", "tfoot")


def rows_of(table: Element) -> Iterator[list[Element]]:
    """Yield the cells of each row, without those of tables inside."""
    for child in _elements(table):
        if child.tag in _SECTIONS:
            yield from (_cells(row) for row in _elements(child) if row.tag == "tr")
        elif child.tag == "tr":
            yield _cells(child)


def is_layout_table(table: Element) -> bool:
    """Whether a table only places its content: one column or row, tables or headings or long text inside."""
    role = (table.attr("role") or "").lower()
    if _is_navigation(table):
        return True
    if role in ("presentation", "none", "grid", "table", "treegrid"):
        return role in ("presentation", "none")
    rows = [cells for cells in rows_of(table) if cells]
    if _says_data(table, rows):
        return False
    if max(map(len, rows), default=0) < _FEW:
        return True
    if any(cell.select_one("table, h1, h2, h3, form, hr, nav, main, article") for cells in rows for cell in cells):
        return True
    return not _has_border(table) and (len(rows) < _FEW or _has_long_cell(rows))


def _is_navigation(table: Element) -> bool:
    """Whether it is called ``navheader`` and the like, as in DocBook's pages, or stands in what is."""
    around = [table, *([table.parent] if isinstance(table.parent, Element) else [])]
    return any(word.startswith("nav") for each in around for word in class_words(each))


def _says_data(table: Element, rows: list[list[Element]]) -> bool:
    """Whether the author wrote what only tables of data have."""
    if table.attr("summary") and len(rows) > 1:
        return max(map(len, rows), default=0) >= _FEW and not _has_nested(rows)
    if any(child.tag in ("caption", "thead") for child in _elements(table)):
        return True
    heads = sum(cell.tag == "th" or "scope" in cell.attrs for cells in rows for cell in cells)
    return heads >= _FEW and not _has_nested(rows)


def _has_nested(rows: list[list[Element]]) -> bool:
    return any(cell.select_one("table h1, table h2, nav, main") is not None for cells in rows for cell in cells)


def _has_border(table: Element) -> bool:
    return (table.attr("border") or "0").strip() not in ("0", "0px", "none")


def _has_long_cell(rows: list[list[Element]]) -> bool:
    return any(content_length(cell) > _LONG for cells in rows for cell in cells)


def _cells(row: Element) -> list[Element]:
    return [cell for cell in _elements(row) if cell.tag in ("td", "th")]


def _elements(parent: Element) -> list[Element]:
    return [child for child in parent.children if isinstance(child, Element)]
