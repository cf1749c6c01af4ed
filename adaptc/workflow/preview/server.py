"""The server of the preview: answers for the panes, and for the page that shows them.

``Board`` counts the requests of each pane since its page was opened, which the preview shows.
"""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import threading
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.fs import package_file
from adaptc.core.model import FORMATS, TOKENS
from adaptc.core.urls import SiteAddress, quote_path, unquote_path
from adaptc.core.values import dataclass, field, replace
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.site.selection import Selection
from adaptc.workflow.preview.panes import Choice, FileSource, Pane, is_own_host, pane_of

_ASSETS = {"/": "preview.html", "/preview.css": "preview.css", "/preview.js": "preview.js"}
_HEARTBEAT = 15.0  # seconds; a reader that closed the connection is noticed when something is written to it
_CALM = 0.1  # seconds between two events, so that a page of a thousand images does not send a thousand
# The panes are other origins, which the page must be allowed to frame.
_POLICY = "default-src 'self'; img-src data:; frame-src http://*.localhost:*; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Subject:
    """The subject of a preview: an output, its docroot, and where the site is published."""

    config: Config
    docroot: Path
    board: Board

    @cached_property
    def prefix(self) -> str:
        """The path of the docroot in URLs, with slashes at both ends."""
        return SiteAddress(self.config.site.base_url).prefix

    @cached_property
    def _excluded(self) -> Any:
        return Selection(self.config.site.exclude, self.config.site.include_hidden).matcher()

    def manifest(self) -> Manifest:
        """Return the last build, which may be newer than this server."""
        return last_manifest(self.config.output)

    def files(self, levels: tuple[str, ...]) -> FileSource:
        """Return the files to choose from."""
        return FileSource(self.config.output, self.docroot, levels, self.is_private)

    def is_private(self, path: str) -> bool:
        """Whether a path of the docroot is excluded or hidden, or below such a directory."""
        parts = path.split("/")
        return any(self._excluded.fullmatch("/".join(parts[: end + 1])) for end in range(len(parts)))


class PreviewServer(http.server.ThreadingHTTPServer):
    """Serves one output on loopback until it is shut down. Raises ``OSError`` when the port is taken."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, config: Config, port: int) -> None:
        if config.docroot is None:
            raise UsageError(
                "no docroot: name the published directory on the command line, or as docroot in adaptc.toml"
            )
        if not config.docroot.is_dir():
            raise UsageError(f"docroot {config.docroot} is not a directory")
        self.subject = Subject(config, config.docroot, Board())
        self.levels = self.subject.manifest().level_names
        super().__init__(("127.0.0.1", port), _RequestHandler)

    @property
    def url(self) -> str:
        """The address of the page that shows the panes."""
        return f"http://localhost:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore readers that closed the connection; anything else is a bug and is shown."""
        import sys

        if not isinstance(sys.exception(), ConnectionError | socket.timeout):
            super().handle_error(request, client_address)


class _RequestHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PreviewServer

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        pane = pane_of(host, self.server.levels)
        if pane is not None:
            self._answer_pane(pane)
        elif is_own_host(host):
            self._answer_own(urlsplit(self.path).path)
        else:
            self._send_text(421, "no pane of this preview has that name")

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    # ---- the page that shows the panes

    def _answer_own(self, path: str) -> None:
        if path in _ASSETS:
            name = _ASSETS[path]
            content = package_file("adaptc.templates", name).read_bytes()
            self._send(200, media.by_name(name) or media.BINARY, content)
        elif path == "/site.json":
            self._send(200, "application/json", json.dumps(self._site()).encode())
        elif path == "/events":
            self._stream()
        else:
            self._send_text(404, "not found")

    def _site(self) -> dict[str, Any]:
        subject = self.server.subject
        built = subject.manifest()
        self.server.levels = built.level_names
        pages = [file.path for file in built.resources.values() if file.media_type in (media.HTML, media.XHTML)]
        return {
            "name": printable(built.base_url or subject.docroot.resolve().name),
            "prefix": subject.prefix,
            "levels": [{"name": level.name, "title": level.title} for level in built.levels],
            "pages": [subject.prefix + quote_path(path) for path in pages],
        }

    def _stream(self) -> None:
        """Send the counts as they change (server-sent events, WHATWG HTML section 9.2)."""
        self._head(200, "text/event-stream", None)
        self.close_connection = True
        version = -1
        while True:
            seen, counts = self.server.subject.board.newer(version, _HEARTBEAT)
            sides = {side: record(count) for side, count in counts.items()}
            self.wfile.write(b": still here\n\n" if seen == version else f"data: {json.dumps(sides)}\n\n".encode())
            self.wfile.flush()
            version = seen
            time.sleep(_CALM)

    # ---- panes

    def _answer_pane(self, pane: Pane) -> None:
        subject = self.server.subject
        shown = urlsplit(self.path).path
        if opens_page(dict(self.headers)):
            subject.board.open_page(pane.side, shown)
        if not shown.startswith(subject.prefix):
            return self._redirect(subject.prefix)
        path = unquote_path(shown[len(subject.prefix) :])
        files = subject.files(self.server.levels)
        if path and not path.endswith("/") and files.is_directory(path):
            return self._redirect(shown + "/")
        return self._answer_file(pane, shown, self._choose(files, pane, path))

    def _choose(self, files: FileSource, pane: Pane, path: str) -> Choice | None:
        accepted = (self.headers.get("Accept-Encoding", ""), self.headers.get("Accept", ""))
        is_directory = not path or path.endswith("/")
        names = [path + name for name in self.server.subject.config.site.index] if is_directory else [path]
        return next(filter(None, (files.choose(pane, name, *accepted) for name in names)), None)

    def _answer_file(self, pane: Pane, shown: str, choice: Choice | None) -> None:
        board = self.server.subject.board
        if choice is None:
            board.add(pane.side, Request(shown, 404, "", "", 0, 0))
            return self._send_text(404, "neither the level nor the docroot has this file")
        board.add(pane.side, Request(shown, 200, choice.level, choice.coding, choice.size, choice.plain_size))
        with choice.file.open("rb") as file:
            shown_as = choice.file if choice.coding in FORMATS else choice.plain
            self._head(200, _media_type(shown_as), choice.size, TOKENS.get(choice.coding))
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)
        return None

    # ---- answers

    def _redirect(self, target: str) -> None:
        self.send_response(302)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send_text(self, status: int, sentence: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{sentence}\n".encode())

    def _send(self, status: int, media_type: str, content: bytes) -> None:
        self._head(status, media_type, len(content), policy=_POLICY)
        if self.command != "HEAD":
            self.wfile.write(content)

    def _head(
        self, status: int, media_type: str, size: int | None, coding: str | None = None, policy: str | None = None
    ) -> None:
        self.send_response(status)
        optional = {
            "Content-Length": size,
            "Content-Encoding": coding,
            "Content-Security-Policy": policy,
        }
        # nothing is cached, so that each view of a page counts all its requests
        for name, value in {"Content-Type": media_type, "Cache-Control": "no-store", **optional}.items():
            if value is not None:
                self.send_header(name, str(value))
        self.end_headers()


def _media_type(file: Path) -> str:
    named = media.by_name(file.name)
    if named is not None:
        return named
    with file.open("rb") as content:
        return media.by_content(content.read(media.SNIFF_BYTES)) or media.BINARY


# ---- counts of requests

ROWS = 250  # rows that are shown; all are counted


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its answer: path, status, the level and coding of the file, and its sizes."""

    path: str
    status: int
    level: str
    coding: str
    sent: int
    decoded: int


@dataclass(frozen=True, slots=True)
class Count:
    """A page and its requests: ``opened`` counts the pages of this side, ``sent`` and ``decoded`` are body bytes."""

    opened: int = 0
    page: str = ""
    requests: int = 0
    missing: int = 0
    sent: int = 0
    decoded: int = 0
    rows: tuple[Request, ...] = ()

    def with_page(self, page: str) -> Count:
        """Return the count of a page that is just opened."""
        return Count(opened=self.opened + 1, page=page)

    def with_request(self, request: Request) -> Count:
        """Return the count with one more request."""
        return replace(
            self,
            requests=self.requests + 1,
            missing=self.missing + (request.status >= 400),
            sent=self.sent + request.sent,
            decoded=self.decoded + request.decoded,
            rows=(*self.rows, request)[-ROWS:],
        )


def opens_page(headers: Mapping[str, str]) -> bool:
    """Whether a request opens a page in a pane (Fetch Metadata): frames inside the page are a part of it.

    A frame of the page and a link that was followed look alike but for the mark of a click, ``Sec-Fetch-User``.
    """
    if headers.get("Sec-Fetch-Dest") == "document":
        return True
    is_frame = headers.get("Sec-Fetch-Dest") == "iframe"
    return is_frame and (headers.get("Sec-Fetch-Site") != "same-origin" or headers.get("Sec-Fetch-User") == "?1")


@dataclass(slots=True)
class Board:
    """The counts of both sides. Threads that answer requests write them, threads that show them wait for changes."""

    counts: dict[str, Count] = field(default_factory=dict)
    version: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def open_page(self, side: str, page: str) -> None:
        """Start a new count."""
        self._put(side, self.counts.get(side, Count()).with_page(page))

    def add(self, side: str, request: Request) -> None:
        """Count a request."""
        with self.changed:
            self._put(side, self.counts.get(side, Count()).with_request(request))

    def newer(self, version: int, patience: float) -> tuple[int, Mapping[str, Count]]:
        """Return the version and the counts when they are newer than ``version``, or after ``patience`` seconds."""
        with self.changed:
            self.changed.wait_for(lambda: self.version > version, patience)
            return self.version, dict(self.counts)

    def _put(self, side: str, count: Count) -> None:
        with self.changed:
            self.counts[side] = count
            self.version += 1
            self.changed.notify_all()


def record(count: Count) -> dict[str, Any]:
    """Return a count for JSON."""
    rows = [[row.path, row.status, row.level, row.coding, row.sent, row.decoded] for row in count.rows]
    return {
        "opened": count.opened,
        "page": count.page,
        "requests": count.requests,
        "missing": count.missing,
        "sent": count.sent,
        "decoded": count.decoded,
        "rows": rows,
    }
