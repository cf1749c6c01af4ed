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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import package_file
from adaptc.core.values import dataclass, field
from adaptc.daemons.reporter import LOOPBACK, metrics
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
        text = package_file("adaptc.templates", "dashboard.html").read_text("utf-8")
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
            "decisions": self.decisions(),
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

    def decisions(self) -> list[dict[str, Any]]:
        """Return the last decisions of all daemons, the last first."""
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


# ---- Grafana and Prometheus, from the list of figures

_WIDTH, _HEIGHT, _COLUMNS = 8, 8, 3
_SOURCE = {"type": "prometheus", "uid": "${source}"}


def grafana_board() -> dict[str, Any]:
    """Return a board of Grafana (schema 39) with a panel for the figures that share one."""
    panels: list[dict[str, Any]] = []
    shown = [row for row in metrics()["metric"] if "panel" in row]
    top = 0
    for title, rows in groupby(shown, key=itemgetter("row")):
        grid = {"h": 1, "w": 24, "x": 0, "y": top}
        panels.append({"type": "row", "title": title, "gridPos": grid, "collapsed": False, "panels": []})
        number = -1
        for number, (panel, of_panel) in enumerate(groupby(rows, key=itemgetter("panel"))):
            panels.append(_panel(panel, list(of_panel), number, top + 1))
        top += 1 + _HEIGHT * (number // _COLUMNS + 1)
    source = {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return {
        "title": "adaptc", "uid": "adaptc", "schemaVersion": 39, "tags": ["adaptc"], "refresh": "10s",
        "time": {"from": "now-6h", "to": "now"}, "templating": {"list": [source]},
        "panels": [{**panel, "id": number} for number, panel in enumerate(panels, 1)],
    }  # fmt: skip


def _panel(title: str, rows: list[dict[str, Any]], number: int, top: int) -> dict[str, Any]:
    targets = []
    for letter, row in zip("ABCDEFGH", rows, strict=False):
        name, (function, _, span) = f"adaptc_{row['daemon']}_{row['name']}", row.get("function", "").partition(" ")
        expression = f"{function}({name}[{span}])" if function else name
        targets.append({"refId": letter, "expr": expression, "legendFormat": row["legend"]})
    about = next((row["description"] for row in rows if "description" in row), "")
    place = {"x": _WIDTH * (number % _COLUMNS), "y": top + _HEIGHT * (number // _COLUMNS)}
    return {
        "type": "timeseries", "title": title, "gridPos": {"h": _HEIGHT, "w": _WIDTH, **place}, "datasource": _SOURCE,
        "targets": targets, "fieldConfig": {"defaults": {"unit": rows[0]["unit"]}, "overrides": []},
        **({"description": about} if about else {}),
    }  # fmt: skip


def alert_rules() -> str:
    """Return alert rules of Prometheus, as YAML."""
    found = metrics()
    alerts = [*found["alert"], *(alert for row in found["metric"] for alert in row.get("alert", ()))]
    lines = [*_ALERTS_HEAD, "groups:", "  - name: adaptc", "    rules:"]
    for alert in alerts:
        lines += [f"      - alert: {alert['name']}", f"        expr: {json.dumps(alert['expr'])}"]
        lines += [f"        for: {alert['for']}"] if "for" in alert else []
        lines += [f"        labels: {{severity: {alert['severity']}}}", "        annotations:"]
        lines.append(f"          summary: {json.dumps(alert['summary'], ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


_ALERTS_HEAD = (
    "# Alert rules of Prometheus for the daemons of adaptc, as adaptc dashboard --alerts prints them:",
    "# rule_files: [alerts.yml]. The daemons run with --metrics PORT:",
    "# scrape_configs:",
    "#   - job_name: adaptc",
    '#     static_configs: [{targets: ["127.0.0.1:9501", "127.0.0.1:9502"]}]',
)


# ---- the server


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
