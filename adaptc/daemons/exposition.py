"""Figures for Prometheus: the text format 0.0.4, served on the loopback address only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOOPBACK = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# By name without the prefix "adaptc_DAEMON_", labels included (``m{site="shop"}``): (value, help). Names that end in
# _total are counters.
Figures = Mapping[str, tuple[float | None, str]]


def render(daemon: str, figures: Figures) -> str:
    """Return the exposition of some figures; those without a value are left out."""
    families: dict[str, list[str]] = {}
    for name, (value, meaning) in figures.items():
        if value is not None:
            family = f"adaptc_{daemon}_{name.partition('{')[0]}"
            kind = "counter" if family.endswith("_total") else "gauge"
            head = [f"# HELP {family} {meaning}", f"# TYPE {family} {kind}"]
            families.setdefault(family, head).append(f"adaptc_{daemon}_{name} {value:g}")
    return "".join(f"{line}\n" for lines in families.values() for line in lines)


def serve(port: int, text: Callable[[], str]) -> ThreadingHTTPServer:
    """Serve ``text()`` at ``http://127.0.0.1:PORT/metrics`` in a thread; 0 takes a free port. Raises ``OSError``."""

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            body = text().encode("utf-8")
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: a scrape every few seconds is no news."""

    server = ThreadingHTTPServer((LOOPBACK, port), Endpoint)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
