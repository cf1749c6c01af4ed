"""A server on loopback that misbehaves on demand, and remembers what it was asked."""

from __future__ import annotations

import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.places import DATA

TLS = DATA / "tls"

HTML, CSS, SVG = "text/html", "text/css", "image/svg+xml"
_TYPES = {
    "html": HTML, "css": CSS, "svg": SVG, "png": "image/png", "jpg": "image/jpeg", "js": "text/javascript",
    "xml": "application/xml", "txt": "text/plain", "webmanifest": "application/manifest+json", "zip": "application/zip",
    "gz": "application/gzip", "pdf": "application/pdf",
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A request as it came; names of fields are in lower case."""

    method: str
    path: str
    fields: Mapping[str, str]
    at: float
    connection: int


@dataclass(frozen=True)
class Answer:
    """What to send. ``cut`` closes the connection after so many bytes of the body; ``raw`` is sent as it is.

    ``after`` are answers to the second request for the path, the third, and so on; the last one stays.
    """

    body: str | bytes = b""
    status: int = 200
    fields: tuple[tuple[str, str], ...] = ()
    type: str | None = None
    cut: int | None = None
    raw: bytes | None = None
    delay: float = 0.0
    chunked: bool = False
    length: int | None = None
    after: tuple[Answer, ...] = field(default=())
    decide: Callable[[Asked], Answer] | None = None


def redirect(to: str, status: int = 302) -> Answer:
    return Answer(status=status, fields=(("Location", to),))


Resource = str | bytes | Answer


class Server:
    """The running server: ``base`` is its URL, ``other`` the same server under another host name."""

    def __init__(self, resources: Mapping[str, Resource], port: int, scheme: str = "http") -> None:
        self.port = port
        self.base, self.other = f"{scheme}://127.0.0.1:{port}", f"{scheme}://localhost:{port}"
        self.resources = {path: self._filled(one) for path, one in resources.items()}
        self.asked: list[Asked] = []
        self.connections = 0
        self.open = self.most_open = 0
        self.under_way = self.most_under_way = 0
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def _filled(self, resource: Resource) -> Answer:
        answer = resource if isinstance(resource, Answer) else Answer(resource)
        body = answer.body
        if isinstance(body, str):
            body = self.fill(body).encode()
        fields = tuple((name, self.fill(value)) for name, value in answer.fields)
        after = tuple(map(self._filled, answer.after))
        return Answer(**{**vars(answer), "body": body, "fields": fields, "after": after})

    def fill(self, text: str) -> str:
        return text.replace("{base}", self.base).replace("{other}", self.other).replace("{port}", str(self.port))

    def paths(self) -> list[str]:
        """What was asked for, robots.txt left out."""
        return [one.path for one in self.asked if one.path != "/robots.txt"]

    def answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            count = self._counts.get(asked.path, 0)
            self._counts[asked.path] = count + 1
        found = self.resources.get(asked.path)
        if found is None:
            return Answer(b"not here", 404, type="text/plain")
        if found.decide is not None:
            return self._filled(found.decide(asked))
        return found.after[min(count, len(found.after)) - 1] if count and found.after else found

    def entered(self, by: int) -> None:
        with self._lock:
            self.under_way += by
            self.most_under_way = max(self.most_under_way, self.under_way)


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        site: Server = self.server.site  # type: ignore[attr-defined]
        with site._lock:
            site.connections += 1
            number = site.connections
        while asked := self._read(number):
            site.entered(1)
            try:
                if not self._send(asked, site.answer(asked)):
                    return
            except OSError:
                return
            finally:
                site.entered(-1)

    def _read(self, number: int) -> Asked | None:
        try:
            first = self.rfile.readline().decode("latin-1").split()
            if len(first) != 3:
                return None
            fields = {}
            while line := self.rfile.readline().decode("latin-1").strip():
                name, _, value = line.partition(":")
                fields[name.lower()] = value.strip()
        except OSError:
            return None
        return Asked(first[0], first[1], fields, time.monotonic(), number)

    def _send(self, asked: Asked, answer: Answer) -> bool:
        if answer.delay:
            time.sleep(answer.delay)
        if answer.raw is not None:
            self.wfile.write(answer.raw)
            return False
        body = answer.body
        assert isinstance(body, bytes)
        fields = dict(answer.fields)
        names = {name.lower() for name in fields}
        if "content-type" not in names and answer.type != "":
            fields["Content-Type"] = answer.type or _type_of(asked.path)
        if answer.chunked:
            fields["Transfer-Encoding"] = "chunked"
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:3], body[3:]) if part) + b"0\r\n\r\n"
        elif "content-length" not in names:
            fields["Content-Length"] = str(len(body) if answer.length is None else answer.length)
        pairs = [*fields.items(), *(pair for pair in answer.fields if fields[pair[0]] != pair[1])]
        head = f"HTTP/1.1 {answer.status} Said\r\n" + "".join(f"{name}: {value}\r\n" for name, value in pairs)
        self.wfile.write(head.encode() + b"\r\n")
        if asked.method != "HEAD" and answer.status not in (204, 304):
            self.wfile.write(body if answer.cut is None else body[: answer.cut])
        return answer.cut is None and asked.fields.get("connection") != "close"


def _type_of(path: str) -> str:
    name = path.partition("?")[0].rpartition("/")[2]
    return _TYPES.get(name.rpartition(".")[2], HTML) if "." in name else HTML


class _Threads(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to print."""


def tls(*, asks_clients: bool = False) -> ssl.SSLContext:
    """A server's certificate for 127.0.0.1 and localhost, which only tests/data/tls/ca.pem vouches for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem")
    if asks_clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(TLS / "ca.pem")
    return context


@contextmanager
def serving(resources: Mapping[str, Resource], context: ssl.SSLContext | None = None) -> Iterator[Server]:
    with _Threads(("127.0.0.1", 0), _Handler) as threads:
        site = Server(resources, threads.server_address[1], "https" if context else "http")
        threads.site = site  # type: ignore[attr-defined]
        if context is not None:
            threads.socket = context.wrap_socket(threads.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=threads.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield site
        finally:
            threads.shutdown()
