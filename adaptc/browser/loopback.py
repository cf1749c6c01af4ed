"""A web server on loopback that sends what a ``Server`` answers, as static hosts do: HTTP/1.1, with Brotli for text."""

from __future__ import annotations

import contextlib
import http.server
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from adaptc.browser.answers import Answer, Server
from adaptc.core import media
from adaptc.formats.codings import encode

_MISSING = Answer(b"", "", status=404)


@contextlib.contextmanager
def loopback_host(server: Server, origin: str) -> Iterator[str]:
    """Serve what ``server`` answers for URLs of ``origin``; yield the origin on loopback that stands for it."""
    with _Host(server, origin) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{host.server_address[1]}"
        finally:
            host.shutdown()


class _Host(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, server: Server, origin: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._server, self._origin = server, origin

    def answer(self, path: str) -> Answer:
        """Return the answer for a path, with its query."""
        return self._server(self._origin + path) or _MISSING

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, but for connections that the browser closed: it may do so at any time."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # the header and the body are two packets: neither waits for the other to be acknowledged
    disable_nagle_algorithm = True
    server: _Host

    def do_GET(self) -> None:
        """Send the answer, encoded where that is usual."""
        answer = self.server.answer(self.path).for_client(self.headers.get("Accept", ""))
        body, headers = answer.body, dict(answer.headers)
        if answer.media_type:
            headers["Content-Type"] = answer.media_type
        if body and media.is_compressible(answer.media_type):
            body, headers["Content-Encoding"] = _encoded(body), "br"
        # fonts ask for it where a page names the origin that the loopback stands for
        headers.update({"Content-Length": str(len(body)), "Access-Control-Allow-Origin": "*"})
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write no log."""


@lru_cache(maxsize=256)
def _encoded(content: bytes) -> bytes:
    return encode(content, "br", "fast")
