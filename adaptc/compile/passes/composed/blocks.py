"""Writers of blocks: sections, headings, lists, tables, preformatted text, forms (WHATWG HTML, "flow content")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count, filterfalse

from turbohtml import Element, Node, Text

from adaptc.compile.passes.composed.flow import (
    BLOCK_TAGS,
    HEADING_TAGS,
    Blocks,
    Flow,
    Writer,
    bare_anchor,
    holds_block,
    language_attributes,
)
from adaptc.compile.passes.composed.phrases import BLOCK_MARKUP
from adaptc.formats.html.document import is_script_notice
from adaptc.formats.html.forms import control_markup, form_attributes
from adaptc.formats.html.idle import SIGNS
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, class_words, text_markup, vocabulary
from adaptc.formats.html.visible_text import UNSEEN, content_length, fold_space, image_text, is_followable, link_label

__all__ = ["is_layout_table"]

_PREFORMATTED = ("pre", "listing", "xmp", "plaintext")
_PREFORMATTED_EMPHASIS = ("b", "strong", "i", "em", "mark", "sub", "sup", "del", "ins", "u")


# ---- blocks of one line

_LONGEST_HEADING = 140  # characters; what is longer and has sentences is a paragraph that was to look different
_SENTENCE = re.compile(r"[.!?…]\s|[.…]\s*$|[。！？]")


def _add_heading(flow: Flow, element: Element, blocks: Blocks) -> None:
    is_prose = element.tag != "h1" and content_length(element) > _LONGEST_HEADING and _SENTENCE.search(element.text)
    _add_line(flow, "p" if is_prose else element.tag, element, blocks)


def _add_summary(flow: Flow, element: Element, blocks: Blocks) -> None:
    has_details = isinstance(element.parent, Element) and element.parent.tag == "details"
    _add_line(flow, "summary" if has_details else "p", element, blocks)


def _add_line(flow: Flow, tag: str, element: Element, blocks: Blocks) -> None:
    """Add an element that may hold phrases only: tags of blocks in it are dropped."""
    flow.end_run(blocks)
    identity, before = _line_ids(flow, element)
    inner = flow.write(element.children, is_item=True)
    if inner:
        line = BLOCK_MARKUP.sub(" ", inner).strip()
        flow.add_block(f"{before}<{tag}{identity}{language_attributes(element)}>{line}</{tag}>", blocks)
    else:
        flow.add_block(before + bare_anchor(identity), blocks)


def _line_ids(flow: Flow, element: Element) -> tuple[str, str]:
    """Return the id attribute for a line, and anchors for all other ids in it, to be written before it."""
    identity = flow.ids.attribute_of(element)
    for inner in element.select("[id], a[name]"):
        flow.ids.note(inner)
    return identity or flow.ids.next_attribute(), flow.ids.write_anchors()


def _add_rule(flow: Flow, _element: Element, blocks: Blocks) -> None:
    flow.end_run(blocks)
    if blocks.finished and not blocks.finished[-1].endswith("<hr>"):
        blocks.finished.append("<hr>")


# ---- lists


def _add_list(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.end_run(blocks)
    identity = flow.ids.attribute_of(element)
    before = flow.ids.write_anchors()
    items = list(_items(flow, element))
    tag = "ol" if element.tag == "ol" else "ul"
    if len(items) == 1 and items[0].startswith("<li><ul") and items[0].endswith("</ul>"):
        flow.add_block(items[0].removeprefix("<li>"), blocks)  # a menu that opened by script
    elif items:
        numbering = attributes_markup(element, ("start", "reversed", "type")) if tag == "ol" else ""
        attributes = f"{_list_class(flow, element)}{identity}{numbering}{language_attributes(element)}"
        flow.add_block(f"{before}<{tag}{attributes}>{''.join(items)}</{tag}>", blocks)
    else:
        flow.add_block(before + bare_anchor(identity), blocks)


# Lists of short links, which stand in a row
_ROWS = vocabulary("rows")
_LONGEST_IN_ROW = 30  # characters of an item, on average


def _list_class(flow: Flow, element: Element) -> str:
    items = [each for each in element.children if isinstance(each, Element)]
    if any(map(flow.is_card, items)):
        return " class=g"
    is_short = content_length(element) <= _LONGEST_IN_ROW * len(items) and element.select_one("ul, ol, p, pre") is None
    around = element.parent
    is_called = element.select_one("a[rel~=tag]") is not None or any(
        not _ROWS.isdisjoint(class_words(each)) for each in (element, around) if isinstance(each, Element)
    )
    return " class=r" if len(items) > 1 and is_short and (is_called or flow.layout.is_row(element)) else ""


def _items(flow: Flow, element: Element) -> Iterator[str]:
    """Yield the items; what stands between items belongs to the one before."""
    has_item = False
    for child in element.children:
        if isinstance(child, Element) and flow.skips(child):
            continue
        if isinstance(child, Element) and child.tag == "li":
            item = flow.card(child, "li") if flow.is_card(child) else _item(flow, child)
        else:
            item = flow.write([child], is_item=not has_item)
            item = item if has_item or not item else f"<li>{item}"
        if item:
            yield item
            has_item = True


def _item(flow: Flow, element: Element) -> str:
    identity = flow.ids.attribute_of(element)
    inner = flow.write(element.children, is_item=True)
    if identity and not inner:
        flow.ids.pending.append(element.attr("id") or "")  # the next element takes it
    return f"<li{identity}{attributes_markup(element, ('value',))}>{inner}" if inner else ""


def _add_description_list(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.end_run(blocks)
    flow.ids.note(element)
    before = flow.ids.write_anchors()
    terms = list(filter(None, _terms(flow, element)))
    tag = "dl" if len({each[:3] for each in terms}) > 1 else "ul"  # one of terms alone, as of contents, is a list
    start = "" if tag == "dl" else "<li"
    inner = "".join(start + each[len(start) :] for each in terms)
    flow.add_block(f"{before}<{tag}{language_attributes(element)}>{inner}</{tag}>" if inner else "", blocks)


def _terms(flow: Flow, element: Element) -> Iterator[str]:
    for child in element.children:
        if not isinstance(child, Element) or flow.skips(child):
            text = flow.write([child], is_item=True) if isinstance(child, Text) else ""
            yield f"<dd>{text}" if text else ""
        elif child.tag == "div":
            yield from _terms(flow, child)
        else:
            is_term = child.tag in ("dt", "dd")
            identity = flow.ids.attribute_of(child) if is_term else ""
            inner = flow.write(child.children if is_term else [child], is_item=True)
            tag = "dt" if child.tag == "dt" else "dd"
            yield f"<{tag}{identity}>{inner}" if inner or identity else ""


# ---- blocks that hold blocks


_ENCLOSING = {"details": ("open", "name"), "fieldset": ("disabled", "name"), "blockquote": (), "figure": ()}


def _add_enclosed(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.end_run(blocks)
    identity = flow.ids.attribute_of(element)
    before = flow.ids.write_anchors()
    inner = flow.write(element.children)
    attributes = attributes_markup(element, _ENCLOSING[element.tag]) + language_attributes(element)
    start_tag = f"<{element.tag}{identity}{attributes}>"
    flow.add_block(before + (f"{start_tag}{inner}</{element.tag}>" if inner else bare_anchor(identity)), blocks)


def _add_form(flow: Flow, element: Element, blocks: Blocks) -> None:
    if element not in flow.forms.working:
        flow.add_container(element, blocks)
        return
    flow.end_run(blocks)
    flow.written.add(element)
    name = flow.forms.ids.get(element)
    identity = f" {attribute_markup('id', name)}" if name else flow.ids.attribute_of(element)
    inner = flow.write(element.children)
    flow.add_block(f"<form{identity}{form_attributes(element)}>{inner}</form>", blocks)


def _add_noscript(flow: Flow, element: Element, blocks: Blocks) -> None:
    text = fold_space(element.text)
    if not (is_script_notice(text) or (not text and _repeats_image(element))):
        flow.add_container(element, blocks)


def _repeats_image(noscript: Element) -> bool:
    """Whether it only holds the image before it again, as where a script loads that one later."""
    before = next((each for each in noscript.previous_siblings if isinstance(each, Element)), None)
    texts = [image_text(image) for image in noscript.iter_elements("img")]
    return before is not None and before.tag == "img" and texts == [image_text(before)]


# ---- preformatted text


_WIDE = 38  # characters of a line, which a small window cannot show
_FOCUSABLE = " tabindex=0"  # keys move what is wider than the window (WCAG 2.2, 2.1.1)
_TAG = re.compile(r"<[^>]*>")


def _add_preformatted(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.end_run(blocks)
    identity = flow.ids.attribute_of(element)
    before = flow.ids.write_anchors()
    inner = "".join(_preformatted_pieces(flow, element.children)).strip("\n").rstrip()
    is_wide = any(len(_TAG.sub("", line)) > _WIDE for line in inner.splitlines())
    focusable = _FOCUSABLE if is_wide else ""
    markup = f"<pre{identity}{language_attributes(element)}{focusable}>{inner}</pre>"
    flow.add_block(before + (markup if inner.strip() else bare_anchor(identity)), blocks)


def _preformatted_pieces(flow: Flow, nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the pieces of preformatted text; links and plain emphasis stay, colours of syntax go."""
    for node in nodes:
        if isinstance(node, Text):
            yield text_markup(node.data)
        elif isinstance(node, Element) and not flow.skips(node):
            yield from _preformatted_element(flow, node)


def _preformatted_element(flow: Flow, element: Element) -> Iterator[str]:
    inner = "".join(_preformatted_pieces(flow, element.children))
    if element.tag == "br":
        yield "\n"
    elif element.tag == "img":
        yield text_markup(image_text(element))
    elif element.tag == "a" and is_followable(element.attr("href")):
        href = attribute_markup("href", element.attr("href") or "")
        inner = inner if inner.strip() else text_markup(link_label(element))
        yield f"<a{flow.ids.attribute_of(element)} {href}>{inner}</a>"
    elif element.tag in _PREFORMATTED_EMPHASIS and inner.strip():
        yield f"<{element.tag}>{inner}</{element.tag}>"
    elif element.tag not in UNSEEN:
        flow.ids.note(element)
        yield f"{flow.ids.write_anchors()}{inner}"
        yield "\n" if element.tag in BLOCK_TAGS and not inner.endswith("\n") else ""


# ---- Tables: data stays in tables, tables for layout become blocks (WAI-ARIA "presentation")

_LONG = 600  # characters: no cell in a table of data is longer, those of page layouts are
_FEW = 2  # rows or columns
_SHORT = 60  # characters: shorter cells of a layout table need no line of their own
_LONG_WORD = re.compile(r"\S{20}")
_SECTIONS = ("thead", "tbody", "tfoot")


def _add_table(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.end_run(blocks)
    if is_layout_table(element):
        flow.add_container(element, blocks)
        return
    identity = flow.ids.attribute_of(element)
    before = flow.ids.write_anchors() + "".join(_outside_forms(flow, element))
    inner = _caption(flow, element) + "".join(_rows(flow, element))
    columns = max(map(len, table_rows(element)), default=0)
    is_wide = "<a " not in inner and (columns > _FEW or _LONG_WORD.search(_TAG.sub(" ", inner)) is not None)
    markup = f"<table{identity}{language_attributes(element)}{_FOCUSABLE if is_wide else ''}>{inner}</table>"
    flow.add_block(before + (markup if inner else bare_anchor(identity)), blocks)


def _add_layout_row(flow: Flow, element: Element, blocks: Blocks) -> None:
    """Add a row of a layout table: short cells make one line with what follows them, as in "Prev | Up | Next"."""
    cells = [cell for cell in _child_elements(element) if not flow.skips(cell)]
    if any(map(holds_block, cells)) or any(content_length(cell) > _SHORT for cell in cells[:-1]):
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
            flow.written.add(form)
            yield f"<form {attribute_markup('id', name)}{form_attributes(form)}></form>"
    for control in table.select("table > input, tbody > input, tr > input"):
        if control.closest("table") == table and forms.is_working(control):
            flow.written.add(control)
            yield control_markup(control, "", forms.reference(control))


def _caption(flow: Flow, table: Element) -> str:
    caption = next((child for child in _child_elements(table) if child.tag == "caption"), None)
    inner = flow.write(caption.children, is_item=True) if caption is not None else ""
    return f"<caption>{inner}</caption>" if inner else ""


def _rows(flow: Flow, table: Element) -> Iterator[str]:
    """Yield the rows, without the columns in which no cell says anything: those of pictures, controls and dashes."""
    rows: list[tuple[str, list[tuple[str, bool]], list[Element]]] = []
    for cells in table_rows(table):
        row = cells[0].parent if cells else None
        if isinstance(row, Element) and flow.skips(row):
            continue
        identity = flow.ids.attribute_of(row) if isinstance(row, Element) else ""
        shown = [cell for cell in cells if not flow.skips(cell)]
        written = [_cell(flow, cell) for cell in shown]
        if identity or any(has_content for _, has_content in written):
            rows.append((identity, written, shown))
    places = _places([shown for _, _, shown in rows])
    said = {
        place
        for (_, written, _), columns in zip(rows, places, strict=True)
        for place, (markup, has_content) in zip(columns, written, strict=True)
        if has_content or " id=" in markup
    }
    for (identity, written, _), columns in zip(rows, places, strict=True):
        kept = (markup for place, (markup, _) in zip(columns, written, strict=True) if place in said or not said)
        yield f"<tr{identity}>{''.join(kept)}"


_MOST_COLUMNS = 60


def _places(rows: list[list[Element]]) -> list[list[int]]:
    """Return the column of each cell (WHATWG HTML, "forming a table"); 0 for all in a table that joins columns."""
    is_wide = any(len(cells) > _MOST_COLUMNS or any("colspan" in cell.attrs for cell in cells) for cells in rows)
    places: list[list[int]] = []
    below: dict[int, int] = {}  # how many more rows a cell above reaches into, by column
    for cells in rows:
        free = filterfalse(below.__contains__, count())
        columns = [0 if is_wide else next(free) for _ in cells]
        below = {column: left - 1 for column, left in below.items() if left > 1}
        spans = ((column, cell.attr("rowspan") or "") for column, cell in zip(columns, cells, strict=True))
        below |= {column: int(span) - 1 for column, span in spans if _SPAN.fullmatch(span) and not is_wide}
        places.append(columns)
    return places


_SPAN = re.compile(r"[2-9]|[1-9][0-9]{1,4}")


def _cell(flow: Flow, cell: Element) -> tuple[str, bool]:
    identity = flow.ids.attribute_of(cell)
    attributes = attributes_markup(cell, ("colspan", "rowspan", "scope")) + language_attributes(cell)
    inner = flow.write(cell.children, is_item=True)
    tag = cell.tag if inner else "td"  # a header that says nothing is none
    return f"<{tag}{identity}{attributes}>{inner}", inner not in ("", *SIGNS)


def table_rows(table: Element) -> Iterator[list[Element]]:
    """Yield the cells of each row, without those of tables inside."""
    # a foot is shown below, wherever it is written
    for child in sorted(_child_elements(table), key=lambda each: each.tag == "tfoot"):
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
    has_long_cell = any(content_length(cell) > _LONG for cells in rows for cell in cells)
    has_border = (table.attr("border") or "0").strip() not in ("0", "0px", "none")
    return not has_border and (len(rows) < _FEW or has_long_cell)


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


WRITERS: dict[str, Writer] = {
    **dict.fromkeys(HEADING_TAGS, _add_heading),
    "summary": _add_summary,
    "legend": lambda flow, element, blocks: _add_line(flow, "legend", element, blocks),
    "hr": _add_rule,
    **dict.fromkeys(("ul", "ol", "menu", "dir"), _add_list),
    "dl": _add_description_list,
    **dict.fromkeys(_ENCLOSING, _add_enclosed),
    "form": _add_form,
    "noscript": _add_noscript,
    "table": _add_table,
    "tr": _add_layout_row,
    **dict.fromkeys(_PREFORMATTED, _add_preformatted),
}
