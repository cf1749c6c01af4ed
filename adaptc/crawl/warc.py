"""WARC 1.1 files (ISO 28500:2017): written with a CDX index, and read instead of the network."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import open_private
from adaptc.core.version import VERSION
from adaptc.crawl.http import Head, Request, Response
from adaptc.crawl.options import RecordOptions
from adaptc.crawl.weburl import resolved

_CDX_HEAD = " CDX N b a m s k r M S V g\n"
_HTTP = "application/http; msgtype="


def _opened(path: Path) -> int:
    """Open a file to append to: requests hold credentials and cookies, and only the owner reads them."""
    return open_private(path, os.O_WRONLY | os.O_APPEND)


class WarcFile:
    """Writes requests and responses as they come. ``close`` must be called; the index is sorted there."""

    def __init__(self, options: RecordOptions) -> None:
        from warcio.warcwriter import WARCWriter

        assert options.warc is not None
        self.path = options.warc.with_name(options.warc.name + (".warc.gz" if options.warc_compression else ".warc"))
        self.cdx_path = options.warc.with_name(options.warc.name + ".cdx") if options.warc_cdx else None
        fields = {"software": f"adaptc/{VERSION}", "format": "WARC File Format 1.1"}
        fields |= dict(_field(line) for line in options.warc_headers)
        try:
            self._file: IO[bytes] = open(_opened(self.path), "ab")  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"--warc-file {self.path}: {error.strerror}") from None
        self._writer: Any = WARCWriter(self._file, gzip=options.warc_compression, warc_version="WARC/1.1")
        self._lines: list[str] = []
        self._writer.write_record(self._writer.create_warcinfo_record(self.path.name, fields))

    def record(self, response: Response) -> None:
        """Record a request and its response."""
        body = response.body if response.file is None else response.file.read_bytes()
        url, raw = response.request.url, response.head.raw
        response_record = self._record(url, "response", raw + body, {
            "WARC-IP-Address": response.address, "WARC-Payload-Digest": _digest(body),
        })  # fmt: skip
        start = self._file.tell()
        self._writer.write_record(response_record)
        self._index(response, response_record, body, start)
        if response.sent:
            concurrent = {
                "WARC-Concurrent-To": response_record.rec_headers.get_header("WARC-Record-ID"),
                "WARC-Payload-Digest": _digest(b""),
            }
            self._writer.write_record(self._record(url, "request", response.sent, concurrent))

    def _record(self, url: str, kind: str, content: bytes, fields: dict[str, str]) -> Any:
        """Return a record of bytes of the wire. warcio's own constructor would parse and rewrite the header fields."""
        from warcio.recordloader import ArcWarcRecord
        from warcio.statusandheaders import StatusAndHeaders

        own = {
            "WARC-Type": kind, "WARC-Record-ID": f"<urn:uuid:{uuid4()}>", "WARC-Target-URI": url,
            "WARC-Date": self._writer.curr_warc_date(), "WARC-Block-Digest": _digest(content),
        }  # fmt: skip
        headers = StatusAndHeaders(
            "", [(name, value) for name, value in {**own, **fields}.items() if value], "WARC/1.1"
        )
        return ArcWarcRecord("warc", kind, headers, BytesIO(content), None, _HTTP + kind, len(content))

    def _index(self, response: Response, record: Any, body: bytes, start: int) -> None:
        if self.cdx_path is None:
            return
        date = "".join(filter(str.isdigit, record.rec_headers.get_header("WARC-Date")))[:14]
        head, url = response.head, response.request.url
        digest = _digest(body).partition(":")[2]
        location = head.get("location") or "-"
        self._lines.append(
            f"{_surt(url)} {date} {url} {head.media_type or '-'} {head.status} {digest} {location} - "
            f"{self._file.tell() - start} {start} {self.path.name}\n"
        )

    def close(self) -> None:
        """Complete the files."""
        self._file.close()
        if self.cdx_path is None:
            return
        is_new = not self.cdx_path.exists()
        with open(_opened(self.cdx_path), "a", encoding="utf-8") as index:
            index.write((_CDX_HEAD if is_new else "") + "".join(sorted(self._lines)))


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise UsageError(f"--warc-header {line!r} is not a field: Name: value")
    return name.strip(), value.strip()


def _digest(content: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(content, usedforsecurity=False).digest()).decode()


def _surt(url: str) -> str:
    """Return the key that indexes sort by: ``org,example)/path`` (Sort-friendly URI Reordering Transform)."""
    from adaptc.crawl.weburl import parts_of

    parts = parts_of(url)
    port = "" if parts.port in (80, 443) else f":{parts.port}"
    host = parts.host if parts.host.replace(".", "").isdigit() else ",".join(reversed(parts.host.split(".")))
    query = "" if parts.query is None else f"?{parts.query}"
    return f"{host}{port}){parts.path}{query}".lower()


# ---- reading

_CODED = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_ERRORS = 400  # statuses from here on are no start URLs


class WarcFetcher:
    """Answers with the last response that the file has for a URL, 404 where it has none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: IO[bytes] = open(path, "rb")  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
        self._offsets: dict[str, int] = {}
        self._statuses: dict[str, int] = {}
        self._ended: list[Response] = []
        for url, status, offset in self._indexed():
            self._offsets[url] = offset
            self._statuses[url] = status

    @property
    def active(self) -> int:
        """How many responses ``poll`` has not returned yet."""
        return len(self._ended)

    def page_urls(self) -> tuple[str, ...]:
        """Return the URLs that were answered with a file or a redirect, in the order of the file."""
        return tuple(url for url, status in self._statuses.items() if 200 <= status < _ERRORS)

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
