"""``--convert-links``: the links of every file of a crawl made to lead to its files, after its last response.

The spans of attribute values and of URLs in style elements are replaced; every other byte stays as it was. A link
becomes a relative path to a saved file, else an absolute URL. An encoding that only Content-Type declared is written
into the file: a file has no header.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from copy import copy
from typing import TYPE_CHECKING, NamedTuple, Self

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import Role
from adaptc.core.urls import document_base, join, quote_path, relative_url
from adaptc.crawl.body_job import UNPARSED
from adaptc.crawl.discover.content import Kind
from adaptc.crawl.discover.page_links import (
    DecodedText,
    decode_page,
    decode_sheet,
    fallback_elements,
    has_fallback,
    in_encoding,
)
from adaptc.crawl.frontier import Frontier, Row, State
from adaptc.crawl.mirror import Mirror, http_time
from adaptc.crawl.names import NameOptions, name_of
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.weburl import (
    fragment_of,
    parts_of,
    without_credentials,
    without_fragment,
    without_needless_escapes,
    without_parameters,
)
from adaptc.formats.css.references import CssReference, rewrite_urls
from adaptc.formats.html.document import parse
from adaptc.formats.html.encoding import sniff_encoding
from adaptc.formats.html.references import (
    LAZY_SRCSETS,
    attribute_references,
    base_element,
    base_href,
    referring_elements,
)
from adaptc.formats.html.syntax import parse_refresh, parse_srcset, serialise_srcset

if TYPE_CHECKING:
    from turbohtml import Document, Element

# ---- all files of a crawl

_REMEMBERED = 100_000
_CONVERTED = frozenset({Kind.PAGE.value, Kind.SHEET.value, Kind.SVG.value})
_MOST_HOPS = 30


class LinkConversion:
    """Converts the files of a mirror.

    Sources are the bytes as received, which are stored next to the converted file.
    """

    def __init__(self, options: CrawlOptions, frontier: Frontier, mirror: Mirror) -> None:
        self.options, self.frontier, self.mirror = options, frontier, mirror
        self._linker = ServedLinker if options.as_served else Linker
        self._names: dict[str, str | None] = {}

    def run(self) -> Iterator[Diagnostic]:
        """Convert what this run has stored; yield a diagnostic for each file that has to stay as it is."""
        for row in self.frontier.rows(State.STORED):
            if row.kind in _CONVERTED and row.name is not None and row.rule != UNPARSED:
                yield from self._convert(row, row.name)

    def _convert(self, row: Row, name: str) -> Iterator[Diagnostic]:
        source = self.mirror.original(row.id, name)
        decoded = decode_sheet(source, row.charset, "utf-8") if _is_sheet(row) else decode_page(source, row.charset)
        if not decoded.is_reversible:
            yield diagnose("links-unconverted", Location(name), encoding=decoded.encoding)
            return
        if self.options.as_served and row.kind != Kind.SVG.value:
            decoded = declared_sheet(decoded, source) if _is_sheet(row) else declared_page(decoded, source)
        linker = self._linker(row.url, name, row.url, self._name_of)
        if _is_sheet(row):
            text = rewrite_urls(decoded.text, lambda reference: linker(reference.url))
        else:
            text = convert_page(decoded, linker) or decoded.text
        content = decoded.encoded(text)
        if content is None:
            yield diagnose("links-unconverted", Location(name), encoding=decoded.encoding)
        else:
            self._write(row, name, source, content)

    def _write(self, row: Row, name: str, source: bytes, content: bytes) -> None:
        current = self.mirror.read(name)
        if current == content:
            return  # nothing to convert, or converted by a former crawl: the file keeps its time
        modified = http_time(row.modified) if self.options.update.use_server_timestamps else None
        if current == source:
            self.mirror.keep_original(row.id, source)
        if self.options.backup_converted:
            self.mirror.write(f"{name}.orig", source, modified)
        self.mirror.write(name, content, modified)
        with self.frontier:
            self.frontier.update(row.id, State.STORED, disk=len(content))

    def _name_of(self, url: str) -> str | None:
        """Return the name of the file that a link to ``url`` leads to, redirects followed."""
        url = without_needless_escapes(url)
        if self.options.scope.strip_query:
            url = without_parameters(url, self.options.scope.strip_query)
        if url not in self._names:
            if len(self._names) >= _REMEMBERED:
                self._names.clear()
            self._names[url] = self._looked_up(url)
        return self._names[url]

    def _looked_up(self, url: str) -> str | None:
        row = self.frontier.row(url)
        for _ in range(_MOST_HOPS):
            if row is None or row.state != State.REDIRECTED or row.target is None:
                break
            row = self.frontier.by_id(row.target)
        if row is None or row.name is None:
            return None
        is_there = row.state == State.STORED or (row.state == State.FAILED and self.mirror.size(row.name) is not None)
        return row.name if is_there else None


def _is_sheet(row: Row) -> bool:
    return row.kind == Kind.SHEET.value


# ---- one page or style sheet

_SRCSETS = LAZY_SRCSETS | {"srcset", "imagesrcset"}
# name, "=", and the quote where there is one; what is between is the value
_ATTRIBUTE = re.compile(r"[^\t\n\f\r />][^\t\n\f\r />=]*(?:[\t\n\f\r ]*=[\t\n\f\r ]*([\"']?))?")
_NEEDS_QUOTES = re.compile(r"[\t\n\f\r \"'=<>`]|/$|^$")


class _Splice(NamedTuple):
    start: int
    end: int
    written: str


def convert_page(decoded: DecodedText, linker: Linker) -> str | None:
    """Return the text of a page with its links converted, ``None`` when all of them stay as they are.

    ``decoded`` keeps the newlines of the file; so does the result. ``linker`` is that of the page's own URL; it says
    whether ``<base href>`` is emptied.
    """
    tree = parse(decoded.readable)
    converter = _Page(decoded, tree, linker.based(document_base(linker.url, base_href(tree))))
    splices = sorted(converter.splices())
    return _spliced(decoded.text, splices) if splices else None


def _spliced(text: str, splices: list[_Splice]) -> str:
    pieces: list[str] = []
    done = 0
    for splice in splices:
        pieces += (text[done : splice.start], splice.written)
        done = splice.end
    return "".join([*pieces, text[done:]])


class _Page:
    def __init__(self, decoded: DecodedText, tree: Document, linker: Linker, *, is_fallback: bool = False) -> None:
        self.text, self.encoding, self.tree, self.linker = decoded.text, decoded.encoding, tree, linker
        self.is_fallback = is_fallback
        # offsets of the parser count a CRLF as one: where they stand, in its counting
        self._pairs = [m.start() - n for n, m in enumerate(re.finditer("\r\n", self.text))]

    def _raw(self, offset: int) -> int:
        return offset + bisect_left(self._pairs, offset)

    def splices(self) -> Iterator[_Splice]:
        base = base_element(self.tree)
        if base is not None and base.attr("href") and self.linker.empties_base:
            yield from self._replaced(base, "href", "")
        for element in referring_elements(self.tree):
            if element.tag == "style":
                yield from self._style(element)
            for attribute, references in attribute_references(element):
                if references[0][0] not in self.linker.roles:
                    continue
                value = self._value(element, attribute, references[0][2])
                if value is not None:
                    yield from self._replaced(element, attribute, value)
        if not self.is_fallback and has_fallback(self.text.lower()):
            for element in fallback_elements(self.tree):
                yield from self._fallback(element)

    def _link(self, written: str) -> str | None:
        if not written.isascii() and not self.encoding.startswith("utf-"):
            written = in_encoding(written, self.encoding)
        return self.linker(written)

    def _css(self, reference: CssReference) -> str | None:
        return self._link(reference.url)

    # ---- values

    def _value(self, element: Element, attribute: str, where: str) -> str | None:
        """Return the attribute's new value, ``None`` when it stays."""
        value = element.attr(attribute) or ""
        new = self._converter(attribute, where, value)(value)
        return None if new == value else new

    def _converter(self, attribute: str, where: str, value: str) -> Callable[[str], str | None]:
        if attribute in _SRCSETS:
            return self._srcset
        if attribute == "srcdoc":
            return self._srcdoc
        if where == "meta refresh":
            return self._refresh
        if attribute == "style" or where.endswith(" style"):
            return lambda text: rewrite_urls(text, self._css, declarations=True)
        if "(" in value and _is_css(attribute, value):
            return lambda text: self._presentation(attribute, text)
        return self._link

    def _presentation(self, attribute: str, value: str) -> str:
        prefix = f"{attribute}:"
        return rewrite_urls(prefix + value, self._css, declarations=True)[len(prefix) :]

    def _refresh(self, content: str) -> str | None:
        refresh = parse_refresh(content)
        new = self._link(refresh.url) if refresh is not None and refresh.url is not None else None
        return None if new is None or refresh is None else content[: refresh.start] + new + content[refresh.end :]

    def _srcset(self, value: str) -> str | None:
        """Replace the URLs of the candidates where they stand; write the list anew when that reads otherwise."""
        candidates = parse_srcset(value)
        wanted = [
            type(candidate)(self._link(candidate.url) or candidate.url, candidate.descriptors)
            for candidate in candidates
        ]
        if wanted == candidates:
            return None
        pieces, done = [], 0
        for old, new in zip(candidates, wanted, strict=True):
            start = value.find(old.url, done)
            pieces += [value[done:start], new.url]
            done = start + len(old.url)
        new_value = "".join([*pieces, value[done:]])
        return new_value if parse_srcset(new_value) == wanted else serialise_srcset(wanted)

    def _srcdoc(self, value: str) -> str | None:
        inner = DecodedText(value, "utf-8", b"", b"")
        tree = parse(value)
        linker = self.linker.based(document_base(self.linker.base, base_href(tree)))
        splices = sorted(_Page(inner, tree, linker).splices())
        return _spliced(value, splices) if splices else None

    # ---- places

    def _replaced(self, element: Element, attribute: str, value: str) -> Iterator[_Splice]:
        location = element.source_location
        span = location.attrs.get(attribute) if location is not None else None
        if span is None:
            return
        start, end = self._raw(span.start_offset), self._raw(span.end_offset)
        match = _ATTRIBUTE.match(self.text, start, end)
        if match is None or match.end() == start or "=" not in match[0][1:]:
            return
        quote = match[1] or ""
        closing = end - len(quote)
        if quote:
            yield _Splice(match.end(), closing, _escaped(value, quote))
        else:
            needs = _NEEDS_QUOTES.search(value) is not None
            yield _Splice(match.end(), end, f'"{_escaped(value, chr(34))}"' if needs else _escaped(value, ""))

    def _content(self, element: Element) -> tuple[int, int] | None:
        """Return where the content of an element begins and ends."""
        location = element.source_location
        if location is None:
            return None
        end = self._raw(location.end_tag.start_offset) if location.end_tag is not None else len(self.text)
        return self._raw(location.start_tag.end_offset), end

    def _fallback(self, element: Element) -> Iterator[_Splice]:
        """Convert the markup that an element has as its text."""
        span = self._content(element)
        if span is None:
            return
        inner = DecodedText(self.text[slice(*span)], self.encoding, b"", b"")
        for splice in _Page(inner, parse(inner.readable), self.linker, is_fallback=True).splices():
            yield _Splice(splice.start + span[0], splice.end + span[0], splice.written)

    def _style(self, element: Element) -> Iterator[_Splice]:
        span = self._content(element)
        if span is None:
            return
        start, end = span
        css = self.text[start:end]
        if "&" in css and element.namespace.name != "HTML":
            return  # character references count in an SVG's style: its source is not the style sheet
        new = rewrite_urls(css, self._css)
        if new != css:
            yield _Splice(start, end, new)


def _is_css(attribute: str, value: str) -> bool:
    """Whether a value is a declaration's: a presentation attribute of SVG, or ``url(...)`` for a lazy background."""
    return value.lstrip()[:4].lower() == "url(" or not attribute.startswith("data-")


def _escaped(value: str, quote: str) -> str:
    value = value.replace("&", "&amp;")
    return value.replace(quote, f"&#{ord(quote)};") if quote else value


_MARKS = {"utf-16be": b"\xfe\xff", "utf-16le": b"\xff\xfe"}  # what no meta element can declare


def declared_page(decoded: DecodedText, source: bytes) -> DecodedText:
    """Return a page whose bytes say the encoding that it has; ``source`` are the received bytes."""
    if decoded.bom or source.isascii() or sniff_encoding(source).name == decoded.encoding:
        return decoded
    if decoded.encoding in _MARKS:
        return decoded._replace(bom=_MARKS[decoded.encoding])
    place = _first_in_head(decoded)
    return decoded._replace(text=f'{decoded.text[:place]}<meta charset="{decoded.encoding}">{decoded.text[place:]}')


def _first_in_head(decoded: DecodedText) -> int:
    """Return the offset after doctype, html and head tags: the first declaration is the one that counts."""
    tree = parse(decoded.readable)
    places = [0]
    for tag in ("html", "head"):
        element = tree.find(tag)
        location = element.source_location if element is not None else None
        if location is not None:
            places.append(location.start_tag.end_offset)
    if len(places) == 1:
        return _after_doctype(decoded.text)
    offset = max(places)
    return offset + decoded.text.count("\r\n", 0, offset)


def _after_doctype(text: str) -> int:
    is_first = text.lstrip()[:9].lower() == "<!doctype"
    return text.index(">") + 1 if is_first and ">" in text else 0


def declared_sheet(decoded: DecodedText, source: bytes) -> DecodedText:
    """Return a sheet that says its encoding where that is not UTF-8, which it has without saying so."""
    if decoded.bom or decoded.encoding == "utf-8" or source.isascii() or source[:10].lower() == b'@charset "':
        return decoded
    if decoded.encoding in _MARKS:
        return decoded._replace(bom=_MARKS[decoded.encoding])
    return decoded._replace(text=f'@charset "{decoded.encoding}";{decoded.text}')


# Returns the name of the file that holds a URL, or None.
Names = Callable[[str], str | None]


class Linker:
    """Converts the links of the file ``name``, fetched from ``url``; ``base`` is what they are resolved against."""

    empties_base = True  # what is left relative is relative to the file
    roles = frozenset(Role)  # those of the attributes that are converted

    def __init__(self, url: str, name: str, base: str, names: Names) -> None:
        self.url, self.name, self.base, self._names = url, name, base, names

    def based(self, base: str) -> Self:
        """Return the linker of a part of the file that has another base URL."""
        linker = copy(self)
        linker.base = base
        return linker

    def __call__(self, written: str) -> str | None:
        """Return what a reference becomes, ``None`` when it stays: it is right already, or nothing for a crawler."""
        absolute = join(self.base, written)
        if absolute is None or not absolute.startswith(("http:", "https:")):
            return None
        target, fragment = without_fragment(without_credentials(absolute)), fragment_of(absolute)
        trimmed = written.strip()
        if target == self.url and self.base == self.url and trimmed[:1] in ("", "#"):
            return None
        converted = self._convert(target, fragment)
        return None if converted == trimmed else converted

    def _convert(self, target: str, fragment: str) -> str | None:
        name = self._names(target)
        return target + fragment if name is None else relative_url(self.name, name) + fragment


_AS_SERVED = NameOptions(host_directories=False)


class ServedLinker(Linker):
    """Converts only the links whose file a server would not find: a query in the name, a redirect, a taken name.

    Names are those of a mirror without directories for hosts; what was not saved stays as it is written.
    """

    empties_base = False

    def _convert(self, target: str, fragment: str) -> str | None:
        name = self._names(target)
        if name is None or (name == name_of(target, _AS_SERVED) and parts_of(target).query is None):
            return None
        return self._reachable(f"/{quote_path(_without_index(name))}") + fragment

    def _reachable(self, path: str) -> str:
        """Return a path of the site as a reference that ``<base href>`` of another host does not lead astray."""
        absolute = parts_of(self.url).origin + path
        return path if join(self.base, path) == absolute else absolute


def _without_index(name: str) -> str:
    """Return the path by which a directory's page is asked for."""
    index = _AS_SERVED.default_page
    return name.removesuffix(index) if name == index or name.endswith(f"/{index}") else name
