"""Writers of tables: data stays in tables, tables for layout become blocks (WAI-ARIA "presentation")."""

from __future__ import annotations

from collections.abc import Iterator

from turbohtml import Element

from adaptc.formats.html.class_names import class_words
from adaptc.formats.html.forms import control_markup, form_attributes
from adaptc.formats.html.syntax import attribute_markup, attributes_markup
from adaptc.formats.html.text_only.flow import Blocks, Flow, Writer, bare_anchor, holds_block, language_attributes
from adaptc.formats.html.visible_text import content_length

__all__ = ["WRITERS", "is_layout_table"]

_LONG = 600  # characters: no cell in a table of data is longer, those of page layouts are
_FEW = 2  # rows or columns
_SHORT = 60  # characters: shorter cells of a layout table need no line of their own
_SECTIONS = ("thead", "tbody", "tfoot")


def _add_table(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.end_run(blocks)
    if is_layout_table(element):
        flow.add_container(element, blocks)
        return
    identity = flow.ids.attribute_of(element)
    before = flow.ids.write_anchors() + "".join(_outside_forms(flow, element))
    inner = _caption(flow, element) + "".join(_rows(flow, element))
    markup = f"<table{identity}{language_attributes(element)}>{inner}</table>"
    flow.add_block(before + (markup if inner else bare_anchor(identity)), blocks)


def _add_layout_row(flow: Flow, element: Element, blocks: Blocks) -> None:
    """Add a row of a layout table: short cells make one line, as in "Prev | Up | Next"."""
    cells = _child_elements(element)
    if any(holds_block(cell) or content_length(cell) > _SHORT for cell in cells):
        flow.add_container(element, blocks)
        return
    flow.end_run(blocks)
    flow.ids.note(element)
    for cell in cells:
        flow.add_transparent(cell, blocks)
        blocks.add_inline(" ", is_content=False)
    flow.end_run(blocks)


def _outside_forms(flow: Flow, table: Element) -> Iterator[str]:
    """Yield the forms that start between rows, empty: their controls refer to them."""
    forms = flow.forms
    for form, name in forms.ids.items():
        if form in forms.working and not len(form.children) and table in form.ancestors:
            yield f"<form {attribute_markup('id', name)}{form_attributes(form)}></form>"
    for control in table.select("table > input, tbody > input, tr > input"):
        if control.closest("table") == table and forms.is_working(control):
            yield control_markup(control, "", forms.reference(control))


def _caption(flow: Flow, table: Element) -> str:
    caption = next((child for child in _child_elements(table) if child.tag == "caption"), None)
    inner = flow.write(caption.children, is_item=True) if caption is not None else ""
    return f"<caption>{inner}</caption>" if inner else ""


def _rows(flow: Flow, table: Element) -> Iterator[str]:
    for cells in table_rows(table):
        row = cells[0].parent if cells else None
        if isinstance(row, Element) and flow.skips(row):
            continue
        identity = flow.ids.attribute_of(row) if isinstance(row, Element) else ""
        written = [_cell(flow, cell) for cell in cells if not flow.skips(cell)]
        if identity or any(has_content for _, has_content in written):
            yield f"<tr{identity}>{''.join(markup for markup, _ in written)}"


def _cell(flow: Flow, cell: Element) -> tuple[str, bool]:
    identity = flow.ids.attribute_of(cell)
    attributes = attributes_markup(cell, ("colspan", "rowspan", "scope")) + language_attributes(cell)
    inner = flow.write(cell.children, is_item=True)
    return f"<{cell.tag}{identity}{attributes}>{inner}", bool(inner)


def table_rows(table: Element) -> Iterator[list[Element]]:
    """Yield the cells of each row, without those of tables inside."""
    for child in _child_elements(table):
        if child.tag in _SECTIONS:
            yield from (_cells(row) for row in _child_elements(child) if row.tag == "tr")
        elif child.tag == "tr":
            yield _cells(child)


def _cells(row: Element) -> list[Element]:
    return [cell for cell in _child_elements(row) if cell.tag in ("td", "th")]


def _child_elements(parent: Element) -> list[Element]:
    return [child for child in parent.children if isinstance(child, Element)]


def is_layout_table(table: Element) -> bool:
    """Whether a table only places its content: one column or row, tables or headings or long text inside."""
    role = (table.attr("role") or "").lower()
    if _is_navigation_table(table):
        return True
    if role in ("presentation", "none", "grid", "table", "treegrid"):
        return role in ("presentation", "none")
    rows = [cells for cells in table_rows(table) if cells]
    if _is_marked_as_data(table, rows):
        return False
    if max(map(len, rows), default=0) < _FEW:
        return True
    if any(cell.select_one("table, h1, h2, h3, form, hr, nav, main, article") for cells in rows for cell in cells):
        return True
    return not _has_border(table) and (len(rows) < _FEW or _has_long_cell(rows))


def _is_navigation_table(table: Element) -> bool:
    """Whether it or its parent has a name like ``navheader``, as in DocBook's pages."""
    elements = [table, *([table.parent] if isinstance(table.parent, Element) else [])]
    return any(word.startswith("nav") for each in elements for word in class_words(each))


def _is_marked_as_data(table: Element, rows: list[list[Element]]) -> bool:
    """Whether it has elements or attributes that only tables of data have."""
    if table.attr("summary") and len(rows) > 1:
        return max(map(len, rows), default=0) >= _FEW and not _has_nested(rows)
    if any(child.tag in ("caption", "thead") for child in _child_elements(table)):
        return True
    heads = sum(cell.tag == "th" or "scope" in cell.attrs for cells in rows for cell in cells)
    return heads >= _FEW and not _has_nested(rows)


def _has_nested(rows: list[list[Element]]) -> bool:
    return any(cell.select_one("table h1, table h2, nav, main") is not None for cells in rows for cell in cells)


def _has_border(table: Element) -> bool:
    return (table.attr("border") or "0").strip() not in ("0", "0px", "none")


def _has_long_cell(rows: list[list[Element]]) -> bool:
    return any(content_length(cell) > _LONG for cells in rows for cell in cells)


WRITERS: dict[str, Writer] = {"table": _add_table, "tr": _add_layout_row}
