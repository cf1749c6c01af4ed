"""``--convert-links``: the links of every file of a crawl, after its last response."""

from __future__ import annotations

from collections.abc import Iterator

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.crawl.body_job import UNPARSED
from adaptc.crawl.convert.page import Linker, ServedLinker, convert_page, declared_page, declared_sheet
from adaptc.crawl.discover.content import Kind
from adaptc.crawl.discover.page import decode_page, decode_sheet
from adaptc.crawl.frontier import Frontier, Row, State
from adaptc.crawl.mirror import Mirror, http_time
from adaptc.crawl.options import CrawlOptions
from adaptc.crawl.weburl import without_needless_escapes, without_parameters
from adaptc.formats.css.references import rewrite_urls

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
