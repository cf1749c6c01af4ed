"""Responses out of a WARC file, for a crawl that goes to no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from adaptc.core.diagnostics import UsageError
from adaptc.crawl.fetch import Request, Response
from adaptc.crawl.head import Head
from adaptc.crawl.weburl import resolved

_CODED = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_ERRORS = 400  # statuses from here on are nothing to begin with


class WarcFetcher:
    """Answers with the last response that the file has for a URL, 404 where it has none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: IO[bytes] = open(path, "rb")  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
        self._offsets: dict[str, int] = {}
        self._urls: dict[str, int] = {}
        self._ended: list[Response] = []
        for url, status, offset in self._indexed():
            self._offsets[url] = offset
            self._urls[url] = status

    @property
    def active(self) -> int:
        """How many requests have an answer that was not taken."""
        return len(self._ended)

    def found(self) -> tuple[str, ...]:
        """Return the URLs that were answered with a file or a redirect, in the order of the file."""
        return tuple(url for url, status in self._urls.items() if 200 <= status < _ERRORS)

    def start(self, request: Request) -> None:
        """Begin a request."""
        offset = self._offsets.get(request.url)
        head, body = (Head(404), b"") if offset is None else self._read(offset)
        self._ended.append(Response(request, head, body, size=len(body), refused=request.admit(head)))

    def poll(self, _timeout: float) -> list[Response]:
        """Return what has been read."""
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _indexed(self) -> Iterator[tuple[str, int, int]]:
        """Yield URL, status and offset of each response. Raises ``UsageError``."""
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed

        records = ArchiveIterator(self._file)
        try:
            for record in records:
                url = resolved("http://invalid/", record.rec_headers.get_header("WARC-Target-URI") or "")
                if record.rec_type == "response" and record.http_headers is not None and url is not None:
                    status = record.http_headers.get_statuscode() or ""
                    yield url, int(status) if status.isdigit() else 0, records.get_record_offset()
        except ArchiveLoadFailed as error:
            raise UsageError(f"{self.path} is no WARC file: {' '.join(str(error).split())}") from None

    def _read(self, offset: int) -> tuple[Head, bytes]:
        """Return head and content of a response, whose codings are undone."""
        from warcio.archiveiterator import ArchiveIterator

        self._file.seek(offset)
        record: Any = next(iter(ArchiveIterator(self._file)))
        body: bytes = record.content_stream().read()
        pairs = ((name.lower(), value) for name, value in record.http_headers.headers)
        fields = tuple(pair for pair in pairs if pair[0] not in _CODED)
        return Head(int(record.http_headers.get_statuscode() or 0), fields), body
