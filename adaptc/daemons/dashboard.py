"""``adaptc dashboard``: a page on loopback with what the daemons report and decide; a token lets turn their knobs.

It reads the run directory, so it shows daemons of any process, and what they left when they died.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adaptc.core.diagnostics import UsageError
from adaptc.daemons.reporter import LOOPBACK
from adaptc.daemons.run_directory import OFF, ORIGINAL, RunDirectory
from adaptc.daemons.status import built_levels, force_level, let_decide, status_record
from adaptc.report.manifest import MANIFEST

DECISIONS = 40  # that are shown, the last first
_TAIL = 1 << 16  # bytes of an audit in which they are looked for
_LONGEST_BODY = 1 << 12
_OWN_NAMES = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The dashboard of the daemons that work for ``output``. Without a token it changes nothing."""

    output: Path
    token: str | None = None
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    @property
    def run(self) -> RunDirectory:
        """The run directory."""
        return RunDirectory(self.output / "run")

    def page(self) -> bytes:
        """Return the page, as UTF-8."""
        text = (resources.files("adaptc.templates") / "dashboard.html").read_text("utf-8")
        return text.replace("NONCE", self.nonce).encode("utf-8")

    @property
    def policy(self) -> str:
        """The Content-Security-Policy of the page: it runs its own script, and asks this server only."""
        own = f"'nonce-{self.nonce}'"
        return (
            f"default-src 'none'; script-src {own}; style-src {own}; connect-src 'self'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        )

    def is_token(self, text: str) -> bool:
        """Whether ``text`` is the token, in a time that tells nothing of it."""
        return self.token is not None and hmac.compare_digest(text.encode(), self.token.encode())

    def state(self, now: float) -> dict[str, Any]:
        """Return what the page shows: the status, decisions, ages, and levels that may be forced."""
        try:
            built = round(now - (self.output / MANIFEST).stat().st_mtime)
        except OSError:
            built = None
        return {
            **status_record(self.run, now),
            "built": built,
            "decisions": self._decisions(),
            "knobs": self.token is not None,
            "levels": [*built_levels(self.output), ORIGINAL, OFF],
        }

    def say(self, command: str, body: Mapping[str, Any]) -> str:
        """Do what ``adaptc force`` or ``adaptc auto`` does; return what it says. Raises ``UsageError``."""
        if command == "auto":
            return let_decide(self.run)
        level, seconds = body.get("level"), body.get("seconds")
        if not isinstance(level, str) or not isinstance(seconds, int | float):
            raise UsageError("force needs a level and seconds")
        return force_level(self.run, level, float(seconds), f"{seconds:g} s")

    def _decisions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for file in self.run.path.glob("audit-*.jsonl"):
            name = file.stem.removeprefix("audit-")
            found += [{**record, "daemon": name} for record in _last_decisions(file)]
        return sorted(found, key=lambda record: record["at"], reverse=True)[:DECISIONS]


def _last_decisions(file: Path) -> list[dict[str, Any]]:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - _TAIL))
            lines = stream.read(_TAIL).splitlines()
    except OSError:
        return []
    kept: deque[dict[str, Any]] = deque(maxlen=DECISIONS)
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:  # the first may be cut
            continue
        if isinstance(record, dict) and isinstance(record.get("at"), int | float) and "rule" in record:
            kept.append(record)
    return list(kept)


def serve_dashboard(dashboard: Dashboard, port: int) -> ThreadingHTTPServer:
    """Return a server of the dashboard at loopback, not yet running; port 0 takes a free one. Raises ``OSError``."""
    return _Server((LOOPBACK, port), dashboard)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], dashboard: Dashboard) -> None:
        self.dashboard = dashboard
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if not self._is_own():
            self._answer(403, {"error": "this is no name of this machine"})
        elif self.path == "/":
            self._send(200, "text/html; charset=utf-8", self.server.dashboard.page())
        elif self.path == "/state":
            self._answer(200, self.server.dashboard.state(time.time()))
        else:
            self._answer(404, {"error": "there is only / and /state"})

    def do_POST(self) -> None:
        command = self.path.lstrip("/")
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not self._is_own() or command not in ("force", "auto"):
            self._answer(404, {"error": "there is only /force and /auto"})
        elif not self.server.dashboard.is_token(given):
            self._answer(403, {"error": "the token is wrong"})
        else:
            self._obey(command)

    def _obey(self, command: str) -> None:
        try:
            length = max(0, min(int(self.headers.get("Content-Length") or 0), _LONGEST_BODY))
            body = json.loads(self.rfile.read(length) or b"{}")
            said = self.server.dashboard.say(command, body if isinstance(body, dict) else {})
        except (UsageError, ValueError, OSError, RecursionError) as error:
            self._answer(400, {"error": str(error)})
        else:
            self._answer(200, {"said": said})

    def _is_own(self) -> bool:
        """Whether the request names this machine: a page of elsewhere may have its own name lead here."""
        try:
            return urlsplit(f"//{self.headers.get('Host', '')}").hostname in _OWN_NAMES
        except ValueError:
            return False

    def _answer(self, status: int, value: Mapping[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(value).encode("ascii"))

    def _send(self, status: int, media_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", self.server.dashboard.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the page asks each second."""
