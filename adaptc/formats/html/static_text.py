"""The text of a page as those read it who run no scripts.

Parts that a script moves are in their places, counters have arrived at their numbers, e-mail addresses are decoded, and
literals that a script writes are written. The year of today is left out, and values that a script would fetch. For
readers of text alone shadow roots and tab panels are opened, and lines that a style sheet keeps are written as
such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from turbohtml import Comment, Document, Element

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.document import parse
from adaptc.formats.html.syntax import attribute_markup, split_tokens, text_markup
from adaptc.formats.script.lexer import Kind, Token, tokenize, unescape

__all__ = [
    "has_streamed_parts",
    "keep_lines",
    "open_shadow_roots",
    "place_streamed_parts",
    "show_panels",
    "static_text",
]


# A script element -> its source, ``""`` where that is unknown
SourceOf = Callable[[Element], str]


def static_text(text: str, *, source_of: SourceOf = lambda script: script.text, names: Collection[str] = ()) -> str:
    """Return the page's text with streamed parts in their places, numbers counted up and addresses readable, no years.

    Literals that a script writes as soon as it runs are there, too; ``source_of`` returns the source of a script.
    ``names`` are the names of elements in its scripts: of these, values that wait for a script are left out.
    """
    static = write_counted_numbers(leave_out_written_years(decode_addresses(place_streamed_parts(text))))
    return leave_out_waiting_values(insert_literals(static, source_of), names)


# ---- The year of today that a script writes into a text, mostly after a copyright sign

_WRITES_YEAR = re.compile(r"\s*document\.write\(\s*\(?\s*new\s+Date(?:\(\))?\s*\)?\s*\.getFullYear\(\)\s*\)\s*;?\s*")
# The sign that joins the year to one before it (2015-2026), and the one between it and what follows
_BEFORE = re.compile(r"(?:\s*(?:[-\u2013\u2014]|&[nm]dash;))?\s*\Z")
_AFTER = re.compile(r"(?:\s*,)?")
_LONGEST_SIGN = 20


def leave_out_written_years(text: str) -> str:
    """Return the page's text without scripts that write the year of today, and without the punctuation around them.

    Without scripts "\u00a9 <script>\u2026</script>, made by" would read "\u00a9 , made by". The year itself cannot be
    written: equal sites have equal trees, whenever they are built.
    """
    if "getFullYear" not in text:
        return text
    pieces, position = [], 0
    for start, end in _spans(text):
        pieces.append(text[position:start])
        position = end
    return "".join([*pieces, text[position:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for script in parse(text).iter_elements("script"):
        location = script.source_location
        if location is None or location.end_tag is None or not _WRITES_YEAR.fullmatch(script.text):
            continue
        start, end = location.start_tag.start_offset, location.end_tag.end_offset
        before, after = _BEFORE.search(text, max(0, start - _LONGEST_SIGN), start), _AFTER.match(text, end)
        yield before.start() if before else start, after.end() if after else end


# ---- Numbers up to which a script counts once they are scrolled into view: the markup holds a zero and the number

# Attributes of CountUp, PureCounter and their kind
_NUMBERS = (
    "countto", "data-count", "data-count-to", "data-counter", "data-countto", "data-countup", "data-end", "data-final",
    "data-number", "data-purecounter-end", "data-target", "data-to",
)  # fmt: skip
_NAMED = re.compile("|".join(_NUMBERS), re.IGNORECASE)
_SHOWS = "span, div, p, h1, h2, h3, h4, h5, h6, strong, b, em, i, li, dt, dd, td, small, data"
_ZERO = re.compile(r"\s*(0(?:\.0+)?)\s*")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,4})?")


def write_counted_numbers(text: str) -> str:
    """Return the page's text with the numbers at which its scripts arrive, in place of the zeros that they begin with.

    Without scripts "0+ users" would stay what it says.
    """
    if _NAMED.search(text) is None or "<script" not in text.lower():
        return text
    pieces, position = [], 0
    for start, end, number in _counters(text):
        pieces += [text[position:start], number]
        position = end
    return "".join([*pieces, text[position:]])


def _counters(text: str) -> Iterator[tuple[int, int, str]]:
    for element in parse(text).select(_SHOWS):
        location = element.source_location
        if location is None or location.end_tag is None:
            continue
        zero = _ZERO.fullmatch(text, location.start_tag.end_offset, location.end_tag.start_offset)
        numbers = {value for name in _NUMBERS if _NUMBER.fullmatch(value := element.attr(name) or "")}
        if zero and len(numbers) == 1:
            yield zero.start(1), zero.end(1), numbers.pop()


# ---- Values that a script fetches: until it has them, the markup holds a zero, or says that they come

_PLACES = "span, div, p, strong, b, em, i, li, td, dd, small, data, output, ul, tbody, h1, h2, h3, h4"
_WAITING = re.compile(
    r"\s*(?:[^\d<>]{0,4}0(?:[.,]0+)?\s*[^\d<>]{0,12}|[-\u2013\u2014?]{1,3}"
    r"|[^<>]{1,50}(?:\.\.\.|\u2026|&hellip;)|(?:loading|fetching|please wait)[^<>]{0,40})\s*",
    re.IGNORECASE,
)
_ELLIPSIS = "&hellip;"


def leave_out_waiting_values(text: str, names: Collection[str]) -> str:
    """Return the page's text without values that its scripts replace, in elements of whose ids ``names`` has some.

    "0 euros by 0 donors" would be a false statement; an ellipsis takes the place of a number.
    """
    if not names or "<script" not in text.lower():
        return text
    pieces, position = [], 0
    for element in parse(text).select(_PLACES):
        location = element.source_location if element.attr("id") in names else None
        if location is None or location.end_tag is None or location.start_tag.end_offset < position:
            continue
        start, end = location.start_tag.end_offset, location.end_tag.start_offset
        if _WAITING.fullmatch(text, start, end):
            pieces += [text[position:start], _ELLIPSIS if "0" in text[start:end] else ""]
            position = end
    return "".join([*pieces, text[position:]])


# ---- Literals that a script writes at once: headers and menus that the pages of a site share

_WRITES = "document.write"
_JOINTS = frozenset({";", "}"})
_INERT = re.compile(r"<\s*/?\s*(?:script|iframe|object|embed|frame)\b", re.IGNORECASE)
_SCRIPTS = re.compile(r"<script\b.*?</script", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<[^>]*>")


def insert_literals(text: str, source_of: SourceOf) -> str:
    """Return the page's text with what its scripts write by ``document.write`` of literals, each after its script.

    A script counts if all that it writes it writes at once and as it stands; one that writes scripts or frames does
    not, and neither does one in the head.
    """
    if "<script" not in text.lower():
        return text
    pieces, position = [], 0
    for script in parse(text).iter_elements("script"):
        location = script.source_location
        if location is None or location.end_tag is None or location.end_tag.end_offset < position:
            continue
        source = source_of(script)
        literal = written_literal(source) if _WRITES in source else None
        if (
            literal
            and script.closest("body") is not None
            and _INERT.search(literal) is None
            and not _holds(text, literal)
        ):
            pieces += [text[position : location.end_tag.end_offset], literal]
            position = location.end_tag.end_offset
    return "".join([*pieces, text[position:]])


def _holds(text: str, literal: str) -> bool:
    """Whether a page holds what its script writes: it is what a browser made of it."""
    words = _MARKUP.sub(" ", literal).split()
    return bool(words) and " ".join(words) in " ".join(_MARKUP.sub(" ", _SCRIPTS.sub(" ", text)).split())


def written_literal(source: str) -> str | None:
    """Return the markup that a script writes at once, ``None`` if some of it depends on anything."""
    tokens = [token for token in tokenize(source) or () if token.kind is not Kind.COMMENT]
    pieces: list[str] = []
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.text in "({[") - (token.text in ")}]") if token.kind is Kind.PUNCTUATOR else 0
        if token.text in ("write", "writeln") and [each.text for each in tokens[max(0, place - 2) : place]] == [
            "document",
            ".",
        ]:
            literal = _argument(tokens[place + 1 :])
            is_first = place == 2 or tokens[place - 3].text in _JOINTS
            if depth or literal is None or not is_first:
                return None
            pieces.append(literal)
    markup = "".join(pieces)
    return markup if _MARKUP.sub("", markup).strip() or "<a " in markup or "<input" in markup else None


def _argument(tokens: Sequence[Token]) -> str | None:
    """Return the argument of a call, if it is strings that are joined, and nothing is done with the result."""
    pieces: list[str] = []
    for place, token in enumerate(tokens[1:], 1):
        if token.text == ")" and pieces and place % 2 == 0:
            after = tokens[place + 1].text if place + 1 < len(tokens) else ";"
            return "".join(pieces) if after in (*_JOINTS, "document") else None
        is_plain = token.kind is Kind.STRING or (token.kind is Kind.TEMPLATE and "${" not in token.text)
        if place % 2 and is_plain and len(token.text) > 1:
            pieces.append(unescape(token.text[1:-1]))
        elif place % 2 or token.text not in ("+", ","):
            return None
    return None


# ---- Parts of a page that React streams after the rest: at its end, with a script that moves each to its place
# A part that comes late has a placeholder (``<template id="B:0">``) with a fallback after it, up to the comment ``/$``.
# The part itself follows as ``<div hidden id="S:0">``, and ``$RC("B:0","S:0")`` moves it. Pages that are rendered when
# a site is built have such parts, too (Next.js).

_MOVES = re.compile(r"""\$R[CRS]\(\s*["']([^"']+)["']\s*,\s*["']([^"']+)["']""")
_OPENING, _CLOSING = ("$", "$?", "$!", "$~"), "/$"


def has_streamed_parts(text: str) -> bool:
    """Whether scripts of a page move parts of it to their places."""
    return "$RC(" in text or "$RS(" in text


def place_streamed_parts(text: str) -> str:
    """Return the page's text with each streamed part in its place; what was shown until it came is hidden."""
    if not has_streamed_parts(text):
        return text
    tree = parse(text)
    splices = sorted(_splices(tree), key=lambda splice: splice.start)
    return _Splicer(text, splices).render(0, len(text))


@dataclass(frozen=True, slots=True)
class _Splice:
    """The text from ``start`` to ``end`` becomes ``insert``, and the text between ``content``, spliced too."""

    start: int
    end: int
    insert: str = ""
    content: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Splicer:
    text: str
    splices: list[_Splice]

    def render(self, start: int, end: int) -> str:
        pieces, position = [], start
        for splice in self.splices:
            if position <= splice.start and splice.end <= end:
                part = self.render(*splice.content) if splice.content is not None else ""
                pieces += [self.text[position : splice.start], splice.insert, part]
                position = splice.end
        return "".join([*pieces, self.text[position:end]])


def _moves(tree: Document) -> Iterator[tuple[Element, Element]]:
    """Yield each placeholder with the element that holds its part."""
    by_id = {each.attr("id"): each for each in tree.select("[id]")}
    for pair in dict.fromkeys(move for script in tree.iter_elements("script") for move in _MOVES.findall(script.text)):
        first, second = (by_id.get(name) for name in pair)
        if first is None or second is None:
            continue
        place, part = (first, second) if first.tag == "template" else (second, first)
        if place.tag == "template" and "hidden" in part.attrs:
            yield place, part


def _splices(tree: Document) -> Iterator[_Splice]:
    for place, part in _moves(tree):
        span, part_span, content = _span(place), _span(part), _content(part)
        if span and part_span and content:
            yield _Splice(*span, content=content)
            yield _Splice(*part_span)
            yield from map(_hiding, _fallback(place))


def _span(element: Element) -> tuple[int, int] | None:
    location = element.source_location
    if location is None or location.end_tag is None:
        return None
    return location.start_tag.start_offset, location.end_tag.end_offset


def _content(element: Element) -> tuple[int, int] | None:
    location = element.source_location
    if location is None or location.end_tag is None:
        return None
    return location.start_tag.end_offset, location.end_tag.start_offset


def _fallback(place: Element) -> Iterator[Element]:
    """Yield the elements between a placeholder and the end of its boundary."""
    depth = 0
    for node in place.next_siblings:
        if isinstance(node, Comment):
            if node.data == _CLOSING and depth == 0:
                return
            depth += (node.data in _OPENING) - (node.data == _CLOSING)
        elif isinstance(node, Element) and node.source_location is not None and "hidden" not in node.attrs:
            yield node


def _hiding(element: Element) -> _Splice:
    location = element.source_location
    assert location is not None
    start = location.start_tag.start_offset + 1 + len(element.tag)
    return _Splice(start, start, " hidden")


# ---- Declarative shadow roots (WHATWG HTML, ``<template shadowrootmode>``), which a parser keeps apart from the page

_TAG = re.compile(r"""<(?P<end>/?)template\b(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*)>""", re.IGNORECASE)


def open_shadow_roots(text: str) -> str:
    """Return the page's text with the content of each shadow root in a ``<div>``, in front of its host's own content.

    That is for those who read the text: style sheets of a shadow root would apply to the whole page.
    """
    if "shadowrootmode" not in text:
        return text
    opened: list[bool] = []

    def replace(tag: re.Match[str]) -> str:
        if not tag["end"]:
            opened.append("shadowrootmode" in tag["attributes"].lower())
            return "<div>" if opened[-1] else tag[0]
        return "</div>" if opened and opened.pop() else tag[0]

    return _TAG.sub(replace, text)


# ---- E-mail addresses that Cloudflare hides from robots: a key, and the address by exclusive or, in hexadecimal digits

_HIDDEN_ADDRESSES = "data-cfemail", "/cdn-cgi/l/email-protection#"
_HEX = re.compile(r"(?:[0-9a-f]{2}){2,400}", re.IGNORECASE)


def decode_addresses(text: str) -> str:
    """Return the page's text with the addresses that a script of Cloudflare would decode, as links to write to them."""
    attribute, path = _HIDDEN_ADDRESSES
    if attribute not in text and path not in text:
        return text
    splices: list[_Splice] = []
    for element in parse(text).select(f'[{attribute}], a[href*="{path}"]'):
        encoded = element.attr(attribute)
        address = _decoded(encoded or (element.attr("href") or "").partition(path)[2])
        span = _span(element) if encoded else _attribute_span(element, "href")
        if address and span:
            splices.append(_Splice(*span, insert=_written_address(element, address, whole=bool(encoded))))
    return _spliced(text, splices)


def _decoded(encoded: str) -> str:
    match = _HEX.match(encoded)
    if match is None:
        return ""
    key, *characters = bytes.fromhex(match[0])
    address = bytes(key ^ each for each in characters).decode("utf-8", "replace")
    return address if "@" in address and address.isprintable() else ""


def _written_address(element: Element, address: str, *, whole: bool) -> str:
    link = attribute_markup("href", f"mailto:{address}")
    if not whole:
        return link
    return f"<a {link}>{text_markup(address)}</a>" if element.tag == "a" else text_markup(address)


# ---- Tab panels: without scripts nothing would show those that are closed

_TABS = "[role=tab]"
_TARGETS = ("aria-controls", "href", "data-target", "data-bs-target")
_CLOSING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)[^;]*", re.IGNORECASE)


def show_panels(text: str) -> str:
    """Return the page's text with the panels of tabs open, each under the words of its tab unless those are a link.

    What style sheets hide is for others to find: this is about the attributes of panels.
    """
    if "tab" not in text.lower():
        return text
    tree = parse(text)
    labels: dict[str, str] = {}
    for tab in tree.select(_TABS):
        names = (name.removeprefix("#") for each in _TARGETS for name in split_tokens(tab.attr(each) or ""))
        is_link = (tab.attr("href") or "").startswith("#")
        labels.update(dict.fromkeys(names, "" if is_link else " ".join(tab.text.split())))
    splices = [
        splice
        for panel in tree.select("[role=tabpanel], [id]")
        if panel.attr("id") in labels or panel.attr("role") == "tabpanel"
        for splice in _opening(panel, labels.get(panel.attr("id") or "", ""))
    ]
    return _spliced(text, splices)


def _opening(panel: Element, label: str) -> Iterator[_Splice]:
    style = panel.attr("style") or ""
    closing = [name for name in ("hidden", "aria-hidden") if name in panel.attrs]
    for name in closing:
        if span := _attribute_span(panel, name):
            yield _Splice(*span)
    shown = _CLOSING_STYLE.sub("", style)
    if shown != style and (span := _attribute_span(panel, "style")):
        yield _Splice(*span, insert=attribute_markup("style", shown) if shown else "")
    content = _content(panel)
    if label and content and not " ".join(panel.text.split()).startswith(label):
        yield _Splice(content[0], content[0], insert=f"<p><strong>{text_markup(label)}</strong></p>")


# ---- Lines that a style sheet keeps (CSS Text, 3): code in elements of other names than <pre>

_KEEPS, _BREAKS = ("pre", "pre-wrap", "break-spaces"), "pre-line"
_WHITE_SPACE = frozenset({"white-space"})
_HOLDS_LINES = frozenset({"div", "p", "section", "article", "li", "dd", "td", "blockquote", "figure", "code", "samp"})
_HOLDS_MORE = "pre, textarea, p, h1, h2, h3, h4, h5, h6, ul, ol, dl, table, form, img, video, iframe, svg"
_LINES = re.compile(r"\n|\s{2}")
_WIDE = 1280.0


def keep_lines(text: str, sheets: Sequence[str]) -> str:
    """Return the page's text with ``<pre>`` where the style ``sheets`` keep white space that shows.

    Only elements that hold nothing but a piece of text with lines: a whole page may keep its white space.
    """
    tree = parse(text)
    if not any("white-space" in each for each in (text, *sheets)):
        return text
    cascade = Cascade(tree, sheets, _WHITE_SPACE)
    found = {each: None for value in (*_KEEPS, _BREAKS) for each in cascade.elements_with("white-space", value)}
    outermost = (each for each in found if found.keys().isdisjoint(each.ancestors))
    splices = [splice for each in outermost if _shows_lines(each) for splice in _kept_lines(text, each, cascade)]
    return _spliced(text, splices)


def _shows_lines(element: Element) -> bool:
    if element.tag not in _HOLDS_LINES or element.closest("pre, textarea") is not None:
        return False
    return _LINES.search(element.text.strip()) is not None and element.select_one(_HOLDS_MORE) is None


def _kept_lines(text: str, element: Element, cascade: Cascade) -> Iterator[_Splice]:
    value, content, span = cascade.value(element, "white-space", _WIDE), _content(element), _span(element)
    if content is None or span is None:
        return
    if value == _BREAKS:
        lines = text[slice(*content)].strip()
        if "<" not in lines:
            yield _Splice(*content, insert="<br>".join(lines.split("\n")))
    elif value in _KEEPS and element.tag == "p":  # which no <pre> may be in
        yield _Splice(span[0], span[0] + 2, insert="<pre")
        yield _Splice(content[1], span[1], insert="</pre>")
    elif value in _KEEPS:
        yield _Splice(content[0], content[0], insert="<pre>" + "\n" * text.startswith("\n", content[0]))
        yield _Splice(content[1], content[1], insert="</pre>")


# ---- splices


def _attribute_span(element: Element, name: str) -> tuple[int, int] | None:
    location = element.source_location
    span = location.attrs.get(name) if location is not None else None
    return None if span is None else (span.start_offset, span.end_offset)


def _spliced(text: str, splices: Iterable[_Splice]) -> str:
    ordered = sorted(splices, key=lambda splice: (splice.start, splice.end))
    return _Splicer(text, ordered).render(0, len(text)) if ordered else text
