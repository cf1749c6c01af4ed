"""A page's content as plain markup: blocks of text, lists, tables and forms, one behind the other.

The writer walks the tree once. What only lays out (``div``, ``span``, ``font``, layout tables) is unwrapped: its runs
of text become paragraphs. Nothing readable is left out but what ``landmarks.is_hidden`` names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from turbohtml import Element, Namespace, Node, Text

from adaptc.formats.html.forms import Forms, control_markup, form_attributes, option_markup, works_without_script
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, text_markup
from adaptc.formats.html.tables import is_layout_table, rows_of
from adaptc.formats.html.visible_text import (
    UNSEEN,
    content_length,
    fold_space,
    image_text,
    is_followable,
    is_hidden,
    link_label,
    math_text,
    media_target,
)

__all__ = ["FlowWriter"]

# Elements that are a block of their own or force their content into blocks.
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr",
    "legend", "li", "listing", "main", "menu", "nav", "ol", "p", "plaintext", "pre", "search", "section", "summary",
    "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "xmp", "caption", "noscript", "map", "iframe", "video",
    "audio", "object", "marquee",
})  # fmt: skip
# Element -> the element that is written for it.
_INLINE = {name: name for name in (
    "em", "strong", "b", "i", "s", "del", "ins", "code", "kbd", "samp", "var", "sub", "sup", "q", "cite", "dfn", "abbr",
    "mark", "small", "u", "bdi", "bdo", "ruby", "rt", "rp", "rb", "rtc",
)} | {"tt": "code", "strike": "s", "acronym": "abbr"}  # fmt: skip
_PRE = frozenset({"pre", "listing", "xmp", "plaintext"})
_CONTROL = frozenset({"input", "select", "textarea", "button"})
_KEEPS_ID = frozenset({
    "h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "li", "a", "p", "pre", "table", "tr", "td", "th", "section",
    "article", "figure", "dl", "ol", "ul", "span", "blockquote", "details", "code", "caption", "fieldset", "nav",
})  # fmt: skip
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_SPACE = re.compile(r"[ \t\n\r\f]+")
_EDGES = re.compile(r"^(?:\s|<br>)+|(?:\s|<br>)+$")
_BR = "<br>"
_SCRIPT_NOTICE = re.compile(r"java\s?script|scripting", re.IGNORECASE)
_NOTICE_LENGTH = 300
_SHORT = 60  # characters of a cell that needs no line of its own
_TEX = "math/tex"


class _Blocks:
    """Blocks in the making. In an item (``li``, ``td``) the first run of text needs no paragraph around it."""

    def __init__(self, is_item: bool) -> None:
        self.done: list[str] = []
        self.run: list[str] = []
        self.is_item = is_item
        self.has_content = False

    def inline(self, markup: str, *, is_content: bool = True) -> None:
        """Add to the run of text; links that touch each other are told apart by a space."""
        if not markup:
            return
        if markup.startswith("<a ") and self.run and self.run[-1].endswith("</a>"):
            self.run.append(" ")
        self.run.append(markup)
        self.has_content = self.has_content or is_content

    def end_run(self, identity: Callable[[], str]) -> None:
        """Close the run of text; ``identity`` gives the id attribute that waits for a place."""
        if self.has_content:
            for part in map(_trimmed, _paragraphs(self.run)):
                if part:
                    name = identity()
                    is_bare = self.is_item and not self.done and not name
                    self.done.append(part if is_bare else f"<p{name}>{part}</p>")
            self.run, self.has_content = [], False
        elif not any("<a id" in piece for piece in self.run):
            self.run = []


def _paragraphs(run: list[str]) -> Iterator[list[str]]:
    """Split a run where two line breaks follow each other: old pages part their paragraphs so."""
    part: list[str] = []
    breaks = 0
    for piece in run:
        if piece == _BR:
            breaks += 1
        elif piece.strip():
            if breaks > 1:
                yield part
                part = []
            breaks = 0
        part.append(piece)
    yield part


def _trimmed(pieces: list[str]) -> str:
    return _EDGES.sub("", "".join(pieces))


class FlowWriter:
    """Writes parts of one page. ``keeps_id`` says whether an id on a given element has to stay.

    ``linked`` are ids that the page's own links lead to, which stay in any case; ``left_out`` are elements that are
    written elsewhere, or not at all. Ids are written once, in order.
    """

    def __init__(
        self,
        forms: Forms,
        keeps_id: Callable[[str, Element], bool],
        left_out: Iterable[Element],
        linked: frozenset[str] = frozenset(),
    ) -> None:
        self.forms = forms
        self.keeps_id = keeps_id
        self.linked = linked
        self.left_out = set(left_out)
        self.waiting: list[str] = []
        self.ids: set[str] = set()
        self.last_link = ""

    def flow(self, nodes: Iterable[Node], *, is_item: bool = False) -> str:
        """Return nodes as blocks; with ``is_item`` the first run of text is not a paragraph."""
        blocks = _Blocks(is_item)
        self._walk(nodes, blocks)
        self._end_run(blocks)
        return "".join([*blocks.done, *blocks.run])

    def rest(self) -> str:
        """Return the anchors for which there was no place."""
        waiting, self.waiting = self.waiting, []
        return _anchors(waiting)

    # ---- the walk

    def _walk(self, nodes: Iterable[Node], blocks: _Blocks) -> None:
        for node in nodes:
            if isinstance(node, Text):
                blocks.inline(text_markup(_SPACE.sub(" ", node.data)), is_content=bool(node.data.strip(" \t\n\r\f")))
            elif isinstance(node, Element):
                self._element(node, blocks)

    def _element(self, element: Element, blocks: _Blocks) -> None:
        if self._skips(element):
            return
        tag = element.tag if element.namespace is Namespace.HTML else _FOREIGN.get(element.tag, "")
        if tag in UNSEEN:
            self._unseen(element, tag, blocks)
            return
        writer = _WRITERS.get(tag)
        if writer is not None:
            writer(self, element, blocks)
        elif tag in BLOCKS:
            self._container(element, blocks)
        else:
            self._transparent(element, blocks)

    def _end_run(self, blocks: _Blocks) -> None:
        blocks.end_run(lambda: self._waiting_id() if blocks.has_content else "")

    def _block(self, markup: str, blocks: _Blocks) -> None:
        self._end_run(blocks)
        if markup:
            blocks.done += (*blocks.run, markup)
            blocks.run = []

    def _skips(self, element: Element) -> bool:
        """Whether an element is left out; links to it, and permanent links, which name themselves, keep their ids."""
        if element not in self.left_out and not is_hidden(element):
            return False
        if element.tag == "a":
            self._note_id(element)
        for target in [element, *element.select("[id], a[name]")] if self.linked else ():
            if not self.linked.isdisjoint((target.attr("id"), target.attr("name"))):
                self._note_id(target)
        return True

    def _unseen(self, element: Element, tag: str, blocks: _Blocks) -> None:
        if tag == "script" and (element.attr("type") or "").lower().startswith(_TEX):
            blocks.inline(f"<code>{text_markup(fold_space(element.text))}</code>")
        elif tag == "datalist" and "id" in element.attrs:
            blocks.inline(f"<datalist{self._own_id(element)}>{option_markup(element)}</datalist>", is_content=False)
        elif tag == "area":
            self._link(element, blocks)

    # ---- ids

    def _note_id(self, element: Element) -> None:
        """Let the ids of an element wait for the next tag that is written."""
        for name in (element.attr("id"), element.attr("name") if element.tag == "a" else None):
            if name and name not in self.ids and self.keeps_id(name, element):
                self.ids.add(name)
                self.waiting.append(name)

    def _waiting_id(self) -> str:
        """Return the id attribute for a tag: the last that waits; the others become anchors before it."""
        return f" {attribute_markup('id', self.waiting.pop())}" if self.waiting else ""

    def _own_id(self, element: Element) -> str:
        self._note_id(element)
        return self._waiting_id()

    # ---- containers

    def _container(self, element: Element, blocks: _Blocks) -> None:
        self._end_run(blocks)
        self._note_id(element)
        language = _language(element)
        if language:
            inner = self.flow(element.children)
            self._block(f"<div{language}>{inner}</div>" if inner else "", blocks)
        else:
            self._walk(element.children, blocks)
            self._end_run(blocks)

    def _transparent(self, element: Element, blocks: _Blocks) -> None:
        before = len(self.waiting)
        self._note_id(element)
        language = _language(element)
        if _holds_block(element):
            self._walk(element.children, blocks)
        elif language:
            self._wrapped("span", language, element, blocks)
        else:
            if blocks.has_content:
                noted, self.waiting = self.waiting[before:], self.waiting[:before]
                blocks.inline(_anchors(noted), is_content=False)
            self._walk(element.children, blocks)

    def _noscript(self, element: Element, blocks: _Blocks) -> None:
        text = fold_space(element.text)
        is_notice = len(text) <= _NOTICE_LENGTH and _SCRIPT_NOTICE.search(text)
        if not (is_notice or (not text and _repeats_image(element))):
            self._container(element, blocks)

    # ---- inline

    def _inline(self, element: Element, blocks: _Blocks) -> None:
        self._note_id(element)
        if _holds_block(element):
            self._walk(element.children, blocks)
        else:
            tag = _INLINE[element.tag]
            title = attributes_markup(element, ("title",)) if tag in ("abbr", "dfn") else ""
            self._wrapped(tag, _language(element) + title, element, blocks)

    def _wrapped(self, tag: str, written: str, element: Element, blocks: _Blocks) -> None:
        inner, has_content = self._inside(element)
        if has_content:
            blocks.inline(f"<{tag}{self._waiting_id()}{written}>{inner}</{tag}>")
        else:
            blocks.inline(" " if inner.startswith(" ") else "", is_content=False)

    def _inside(self, element: Element) -> tuple[str, bool]:
        waiting, self.waiting = self.waiting, []
        blocks = _Blocks(is_item=True)
        self._walk(element.children, blocks)
        self.waiting = waiting + self.waiting
        return "".join([*blocks.done, *blocks.run]), blocks.has_content or bool(blocks.done)

    def _link(self, element: Element, blocks: _Blocks) -> None:
        self._note_id(element)
        if not is_followable(element.attr("href")):
            self._transparent(element, blocks)
            return
        written = f" {attribute_markup('href', element.attr('href') or '')}{_link_attributes(element)}>"
        if _holds_block(element):
            self._block_link(element, written, blocks)
            return
        inner, has_content = self._inside(element)
        if not has_content:
            inner = text_markup(link_label(element) if element.tag == "a" else image_text(element) or "\u2192")
            has_content = bool(inner) and (element.attr("href") or "") != self.last_link
        self.last_link = element.attr("href") or ""
        if has_content:
            space = " " if inner.startswith(" ") else ""
            blocks.inline(f"{space}<a{self._waiting_id()}{written}{inner.strip(' ')}</a>")
            blocks.inline(" " if inner.endswith(" ") else "", is_content=False)

    def _block_link(self, element: Element, written: str, blocks: _Blocks) -> None:
        """A link around blocks: one block gives a link inside of it, several a link around them."""
        inner = self.flow(element.children, is_item=True) or text_markup(link_label(element))
        if inner and not _OPENED.search(inner):
            blocks.inline(f"<a{self._waiting_id()}{written}{inner}</a>")
        elif inner:
            self._block(f"<a{self._waiting_id()}{written}{inner}</a>", blocks)

    def _image(self, element: Element, blocks: _Blocks) -> None:
        words = text_markup(image_text(element))
        if words:
            is_linked = any(isinstance(each, Element) and each.tag in ("a", "button") for each in element.ancestors)
            blocks.inline(words if is_linked else f"<i>[{words}]</i>")

    def _drawing(self, element: Element, blocks: _Blocks) -> None:
        label = element.attr("aria-label") if (element.attr("role") or "") == "img" else None
        if label:
            blocks.inline(f"<i>[{text_markup(fold_space(label))}]</i>")

    def _math(self, element: Element, blocks: _Blocks) -> None:
        if words := math_text(element):
            blocks.inline(text_markup(words))

    def _break(self, _element: Element, blocks: _Blocks) -> None:
        blocks.inline(_BR, is_content=False)

    def _word_break(self, _element: Element, blocks: _Blocks) -> None:
        blocks.inline("<wbr>", is_content=False)

    def _media(self, element: Element, blocks: _Blocks) -> None:
        self._end_run(blocks)
        found = media_target(element)
        if found is not None:
            blocks.inline(f"<a {attribute_markup('href', found[0])}>{text_markup(found[1])}</a>")
        self._end_run(blocks)

    def _object(self, element: Element, blocks: _Blocks) -> None:
        self._walk(element.children, blocks)

    # ---- blocks

    def _heading(self, element: Element, blocks: _Blocks) -> None:
        self._line(element.tag, element, blocks)

    def _line(self, tag: str, element: Element, blocks: _Blocks) -> None:
        self._end_run(blocks)
        identity, before = self._line_ids(element)
        inner, has_content = self._one_line(element)
        if has_content:
            self._block(f"{before}<{tag}{identity}{_language(element)}>{inner}</{tag}>", blocks)
        else:
            self._block(before + _bare(identity), blocks)

    def _line_ids(self, element: Element) -> tuple[str, str]:
        """Return the id attribute of an element of one line, and the anchors of all ids in it, to stand before it."""
        identity = self._own_id(element)
        for inner in element.select("[id], a[name]"):
            self._note_id(inner)
        return identity or self._waiting_id(), self.rest()

    def _one_line(self, element: Element) -> tuple[str, bool]:
        """Return the content of an element that holds phrases only, whatever stands in it."""
        inner = self.flow(element.children, is_item=True)
        return _OPENED.sub(" ", inner).strip(), bool(inner)

    def _rule(self, _element: Element, blocks: _Blocks) -> None:
        self._end_run(blocks)
        if blocks.done and not blocks.done[-1].endswith("<hr>"):
            blocks.done.append("<hr>")

    def _list(self, element: Element, blocks: _Blocks) -> None:
        self._end_run(blocks)
        identity = self._own_id(element)
        before = self.rest()
        items = list(self._items(element))
        tag = "ol" if element.tag == "ol" else "ul"
        if len(items) == 1 and items[0].startswith("<li><ul") and items[0].endswith("</ul>"):
            self._block(items[0].removeprefix("<li>"), blocks)  # a menu that opened by script
        elif items:
            kind = attributes_markup(element, ("start", "reversed", "type")) if tag == "ol" else ""
            self._block(f"{before}<{tag}{identity}{kind}{_language(element)}>{''.join(items)}</{tag}>", blocks)
        else:
            self._block(before + _bare(identity), blocks)

    def _items(self, element: Element) -> Iterable[str]:
        """Yield the items; a list that stands between items belongs to the one before."""
        has_item = False
        for child in element.children:
            is_item = isinstance(child, Element) and child.tag == "li"
            if isinstance(child, Element) and self._skips(child):
                continue
            identity = self._own_id(child) if is_item and isinstance(child, Element) else ""
            inner = self.flow(child.children if is_item else [child], is_item=True)
            if identity and not inner:
                inner, identity = _bare(identity), ""
            if inner:
                is_inner = has_item and isinstance(child, Element) and child.tag in ("ul", "ol")
                value = attributes_markup(child, ("value",)) if is_item and isinstance(child, Element) else ""
                yield inner if is_inner else f"<li{identity}{value}>{inner}"
                has_item = True

    def _description(self, element: Element, blocks: _Blocks) -> None:
        self._end_run(blocks)
        self._note_id(element)
        before = self.rest()
        inner = "".join(self._terms(element))
        self._block(f"{before}<dl{_language(element)}>{inner}</dl>" if inner else "", blocks)

    def _terms(self, element: Element) -> Iterable[str]:
        for child in element.children:
            if not isinstance(child, Element) or self._skips(child):
                loose = self.flow([child], is_item=True) if isinstance(child, Text) else ""
                yield f"<dd>{loose}" if loose else ""
            elif child.tag == "div":
                yield from self._terms(child)
            else:
                identity = self._own_id(child) if child.tag in ("dt", "dd") else ""
                inner = self.flow(child.children if child.tag in ("dt", "dd") else [child], is_item=True)
                yield f"<{'dt' if child.tag == 'dt' else 'dd'}{identity}>{inner}" if inner or identity else ""

    def _quote(self, element: Element, blocks: _Blocks) -> None:
        self._enclosed("blockquote", element, blocks)

    def _figure(self, element: Element, blocks: _Blocks) -> None:
        self._enclosed("figure", element, blocks)

    def _enclosed(self, tag: str, element: Element, blocks: _Blocks, written: str = "") -> None:
        self._end_run(blocks)
        identity = self._own_id(element)
        before = self.rest()
        inner = self.flow(element.children)
        enclosed = f"<{tag}{identity}{written}{_language(element)}>{inner}</{tag}>"
        self._block(before + (enclosed if inner else _bare(identity)), blocks)

    def _details(self, element: Element, blocks: _Blocks) -> None:
        self._enclosed("details", element, blocks, attributes_markup(element, ("open", "name")))

    def _summary(self, element: Element, blocks: _Blocks) -> None:
        is_own = isinstance(element.parent, Element) and element.parent.tag == "details"
        self._line("summary" if is_own else "p", element, blocks)

    def _preformatted(self, element: Element, blocks: _Blocks) -> None:
        self._end_run(blocks)
        identity = self._own_id(element)
        before = self.rest()
        inner = "".join(self._lines(element.children)).strip("\n").rstrip()
        written = f"<pre{identity}{_language(element)}>{inner}</pre>"
        self._block(before + (written if inner.strip() else _bare(identity)), blocks)

    def _lines(self, nodes: Iterable[Node]) -> Iterable[str]:
        """Yield the pieces of preformatted text; links and the plain emphasis stay, colours of syntax go."""
        for node in nodes:
            if isinstance(node, Text):
                yield text_markup(node.data)
            elif isinstance(node, Element) and not self._skips(node):
                yield from self._preformatted_element(node)

    def _preformatted_element(self, element: Element) -> Iterable[str]:
        inner = "".join(self._lines(element.children))
        if element.tag == "br":
            yield "\n"
        elif element.tag == "img":
            yield text_markup(image_text(element))
        elif element.tag == "a" and is_followable(element.attr("href")):
            yield f"<a{self._own_id(element)} {attribute_markup('href', element.attr('href') or '')}>{inner}</a>"
        elif element.tag in ("b", "strong", "i", "em", "mark", "sub", "sup", "del", "ins", "u") and inner.strip():
            yield f"<{element.tag}>{inner}</{element.tag}>"
        elif element.tag not in UNSEEN:
            self._note_id(element)
            yield f"{self.rest()}{inner}"
            yield "\n" if element.tag in BLOCKS and not inner.endswith("\n") else ""

    # ---- tables

    def _table(self, element: Element, blocks: _Blocks) -> None:
        self._end_run(blocks)
        if is_layout_table(element):
            self._container(element, blocks)
            return
        identity = self._own_id(element)
        before = self.rest() + "".join(self._form_starts(element))
        inner = self._caption(element) + "".join(self._rows(element))
        written = f"<table{identity}{_language(element)}>{inner}</table>"
        self._block(before + (written if inner else _bare(identity)), blocks)

    def _row(self, element: Element, blocks: _Blocks) -> None:
        """Write a row of a layout table: short cells make one line, as in "Prev | Up | Next"."""
        cells = [child for child in element.children if isinstance(child, Element)]
        if any(_holds_block(cell) or content_length(cell) > _SHORT for cell in cells):
            self._container(element, blocks)
            return
        self._end_run(blocks)
        self._note_id(element)
        for cell in cells:
            self._transparent(cell, blocks)
            blocks.inline(" ", is_content=False)
        self._end_run(blocks)

    def _form_starts(self, table: Element) -> Iterable[str]:
        """Yield the forms that start between rows, empty: their controls refer to them."""
        for form, name in self.forms.ids.items():
            if form in self.forms.working and not len(form.children) and table in form.ancestors:
                yield f"<form {attribute_markup('id', name)}{form_attributes(form)}></form>"
        for control in table.select("table > input, tbody > input, tr > input"):
            if control.closest("table") == table and self.forms.is_working(control):
                yield control_markup(control, "", self.forms.reference(control))

    def _caption(self, table: Element) -> str:
        caption = next((c for c in table.children if isinstance(c, Element) and c.tag == "caption"), None)
        inner = self.flow(caption.children, is_item=True) if caption is not None else ""
        return f"<caption>{inner}</caption>" if inner else ""

    def _rows(self, table: Element) -> Iterable[str]:
        for cells in rows_of(table):
            row = cells[0].parent if cells else None
            if isinstance(row, Element) and self._skips(row):
                continue
            identity = self._own_id(row) if isinstance(row, Element) else ""
            written = [self._cell(cell) for cell in cells if not self._skips(cell)]
            if identity or any(has_content for _, has_content in written):
                yield f"<tr{identity}>{''.join(markup for markup, _ in written)}"

    def _cell(self, cell: Element) -> tuple[str, bool]:
        identity = self._own_id(cell)
        written = identity + attributes_markup(cell, ("colspan", "rowspan", "scope")) + _language(cell)
        inner = self.flow(cell.children, is_item=True)
        return f"<{cell.tag}{written}>{inner}", bool(inner)

    # ---- forms

    def _form(self, element: Element, blocks: _Blocks) -> None:
        if element not in self.forms.working:
            self._container(element, blocks)
            return
        self._end_run(blocks)
        name = self.forms.ids.get(element)
        identity = f" {attribute_markup('id', name)}" if name else self._own_id(element)
        inner = self.flow(element.children)
        self._block(f"<form{identity}{form_attributes(element)}>{inner}</form>", blocks)

    def _control(self, element: Element, blocks: _Blocks) -> None:
        if not self.forms.is_working(element) or not works_without_script(element):
            return
        name = element.attr("id")
        identity = ""
        if name and name not in self.ids:
            self.ids.add(name)
            identity = f" {attribute_markup('id', name)}"
        written = control_markup(element, identity, self.forms.reference(element))
        if (element.attr("type") or "").lower() == "hidden":
            blocks.done.append(written)
        else:
            blocks.inline(written)
            blocks.inline(" ", is_content=False)

    def _label(self, element: Element, blocks: _Blocks) -> None:
        if _holds_block(element):
            self._container(element, blocks)
        else:
            self._wrapped("label", attributes_markup(element, ("for",)), element, blocks)

    def _fieldset(self, element: Element, blocks: _Blocks) -> None:
        self._enclosed("fieldset", element, blocks, attributes_markup(element, ("disabled", "name")))

    def _legend(self, element: Element, blocks: _Blocks) -> None:
        self._line("legend", element, blocks)


_OPENED = re.compile(r"</?(?:p|ul|li|div|h[1-6]|table|tr|td)\b[^>]*>")
_FOREIGN = {"svg": "svg-drawing", "math": "math"}
_Writer = Callable[[FlowWriter, Element, _Blocks], None]
_WRITERS: dict[str, _Writer] = {
    **dict.fromkeys(_INLINE, FlowWriter._inline),
    **dict.fromkeys(_HEADINGS, FlowWriter._heading),
    **dict.fromkeys(_PRE, FlowWriter._preformatted),
    **dict.fromkeys(_CONTROL, FlowWriter._control),
    **dict.fromkeys(("ul", "ol", "menu", "dir"), FlowWriter._list),
    **dict.fromkeys(("iframe", "video", "audio", "embed"), FlowWriter._media),
    "a": FlowWriter._link,
    "br": FlowWriter._break,
    "wbr": FlowWriter._word_break,
    "img": FlowWriter._image,
    "svg-drawing": FlowWriter._drawing,
    "math": FlowWriter._math,
    "object": FlowWriter._object,
    "noscript": FlowWriter._noscript,
    "hr": FlowWriter._rule,
    "dl": FlowWriter._description,
    "blockquote": FlowWriter._quote,
    "figure": FlowWriter._figure,
    "details": FlowWriter._details,
    "summary": FlowWriter._summary,
    "table": FlowWriter._table,
    "tr": FlowWriter._row,
    "form": FlowWriter._form,
    "label": FlowWriter._label,
    "fieldset": FlowWriter._fieldset,
    "legend": FlowWriter._legend,
}


def _repeats_image(noscript: Element) -> bool:
    """Whether it only says again what the image before it says, as where a script loads that one later."""
    before = next((each for each in noscript.previous_siblings if isinstance(each, Element)), None)
    images = list(noscript.iter_elements("img"))
    return before is not None and before.tag == "img" and [*map(image_text, images)] == [image_text(before)]


def keeps_id_by_kind(element: Element) -> bool:
    """Whether an element is such that other pages link to its id: not what only lays the page out."""
    if element.tag in _KEEPS_ID:
        return True
    first = next((child for child in element.children if isinstance(child, Element)), None)
    return first is not None and (first.tag in _HEADINGS or first.select_one("h1, h2, h3, h4, h5, h6") is not None)


def _bare(identity: str) -> str:
    """Return the anchor that stands for an element without content, where an id belongs to it."""
    return f"<a{identity}></a>" if identity else ""


def _anchors(names: list[str]) -> str:
    return "".join(f"<a {attribute_markup('id', name)}></a>" for name in names)


def _holds_block(element: Element) -> bool:
    return any(each.tag in BLOCKS and each != element for each in element.iter_elements())


def _language(element: Element) -> str:
    return attributes_markup(element, ("lang", "dir"))


def _link_attributes(element: Element) -> str:
    return attributes_markup(element, ("hreflang", "download", "lang", "dir"))
