"""What a daemon reports: lines for people, the audit of its decisions, its status, metrics for Prometheus.

The audit, ``audit-NAME.jsonl`` in the run directory, holds each decision with its rule and inputs, as lines of JSON. It
grows to 8 MiB, about 40,000 decisions, then becomes ``.1`` and a new one begins. The metrics have the text format 0.0.4
and are served on the loopback address only.

None of it may stop the daemon: a full disk costs records, not the control of the server. What could not be written is
counted, and the count is a figure.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

from adaptc.core.fs import package_file
from adaptc.core.values import dataclass
from adaptc.daemons.run_directory import RunDirectory

STATUS_EVERY = 0.9  # seconds between two writes of the status: samples of a second come a little early, too


class Reporter:
    """Reports of the daemon ``name``. ``say`` prints a line for people.

    The status goes to each of ``runs``, the audit to the first; without any no file is written.
    """

    def __init__(self, name: str, runs: Sequence[RunDirectory], say: Callable[[str], None]) -> None:
        self.name, self._runs, self._say = name, runs, say
        self._audit = Audit(runs[0].path / f"audit-{name}.jsonl" if runs else None)
        self._figures: Figures = {}
        self._written = 0.0
        self.failures = 0
        self.lost: frozenset[str] = frozenset()  # sensors that cannot be read
        self._remarks: set[str] = set()
        self._refused: dict[Path, str] = {}  # why what the server obeys cannot be written, by run directory

    def serve(self, port: int) -> int:
        """Serve the figures on the loopback address; return the port. Raises ``OSError``."""
        return serve_metrics(port, lambda: render_metrics(self.name, self._figures)).server_address[1]

    def decision(self, epoch: float, event: str, rule: str, **inputs: Any) -> None:
        """Report a decision: what was decided, by which rule, from which inputs."""
        words = ((name, f"{value:.3g}" if isinstance(value, float) else value) for name, value in inputs.items())
        text = ", ".join(f"{name} {word}" for name, word in words if word is not None)
        moment = time.strftime("%H:%M:%S", time.localtime(epoch))
        self._say(f"{moment} {event}: {rule}" + (f" ({text})" if text else ""))
        self.record(epoch, event, rule=rule, inputs=rounded(inputs))

    def remark_once(self, epoch: float, sentences: Iterable[str]) -> None:
        """Report what people should know, each sentence once; "" is none."""
        for sentence in sentences:
            if sentence and sentence not in self._remarks:
                self._remarks.add(sentence)
                self.decision(epoch, "remark", sentence)

    def sensors(self, epoch: float, failures: Mapping[str, str]) -> None:
        """Report sensors that fail, by name: each once, until it works again."""
        for name in sorted(failures.keys() - self.lost):
            self.decision(epoch, "sensor-lost", f"{name}: {failures[name]}")
        for name in sorted(self.lost - failures.keys()):
            self.decision(epoch, "sensor-back", name)
        self.lost = frozenset(failures)

    def record(self, epoch: float, event: str, **record: Any) -> None:
        """Write a line of the audit only."""
        self.record_all(epoch, event, [record])

    def record_all(self, epoch: float, event: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Write a line of the audit for each record."""
        self.attempt(lambda: self._audit.write(epoch, event, records))

    def status(self, epoch: float, interval: float, figures: Figures, **status: Any) -> None:
        """Publish the figures, and write the status when the last one is old."""
        self._figures = {**figures, **figures_of(self.name, {"write_failures_total": float(self.failures)})}
        if abs(epoch - self._written) < STATUS_EVERY:
            return
        self._written = epoch
        head = {"daemon": self.name, "pid": os.getpid(), "at": round(epoch, 3), "interval": interval}
        for run in self._runs:
            self.attempt(partial(run.write_json, f"{self.name}.json", {**head, **rounded(status)}))

    def last(self, epoch: float, **status: Any) -> None:
        """Write the status of a daemon that ends."""
        self._written = 0.0
        self.status(epoch, 0.0, {}, stopped=True, **status)

    def attempt(self, write: Callable[[], None]) -> None:
        """Write a record; a failure is reported once and counted."""
        try:
            write()
        except OSError as error:
            self.failures += 1
            if self.failures == 1:
                self._say(f"cannot write {self.name}'s records, control goes on: {error}")

    def applied(self, epoch: float, run: RunDirectory, write: Callable[[], None]) -> bool:
        """Write what the server obeys, in a run directory; return whether that could be done.

        A disk that is full, or a directory that is gone, must not end a daemon in a crowd: the failure is reported when
        it begins and when it ends, and counted, and the caller tries again at its next step.
        """
        refused, reason = self._refused.get(run.path, ""), ""
        try:
            run.make("")
            write()
        except OSError as error:
            reason = f"{error.strerror}: {error.filename or run.path}"
            self.failures += 1
        self._refused[run.path] = reason
        if reason and reason != refused:
            self.decision(
                epoch, "write-failed", f"levels stay as they are, and are written as soon as can be: {reason}"
            )
        elif refused and not reason:
            self.decision(epoch, "written", f"levels can be written again in {run.path}")
        return not reason


# ---- the audit

_LARGEST = 8 << 20
_BATCH = 1000  # lines that are written at once


@dataclass(frozen=True, slots=True)
class Audit:
    """The file of one daemon; None writes nothing (``--dry-run``)."""

    path: Path | None

    def write(self, at: float, event: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Append a line for each record: ``at`` in seconds since the epoch, what happened, and what it came from.

        Raises ``OSError``.
        """
        if self.path is None:
            return
        head = {"at": round(at, 3), "event": event}
        lines = (json.dumps({**head, **record}, ensure_ascii=True) + "\n" for record in records)
        while part := "".join(islice(lines, _BATCH)):
            self._append(self.path, part)

    @staticmethod
    def _append(path: Path, lines: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        try:
            os.write(descriptor, lines.encode("ascii"))
            is_full = os.fstat(descriptor).st_size > _LARGEST
        finally:
            os.close(descriptor)
        if is_full:
            os.replace(path, f"{path}.1")


def rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with numbers cut to what is worth reading."""
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in values.items()}


# ---- metrics

LOOPBACK = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# By name without the prefix "adaptc_DAEMON_", labels included (``m{site="shop"}``): (value, help). Names that end in
# _total are counters.
Figures = Mapping[str, tuple[float | None, str]]


@cache
def metrics() -> Mapping[str, Any]:
    """Return the list of all figures, with their panels and alerts: ``metric`` and ``alert`` of its file."""
    import tomllib

    return tomllib.loads(package_file("adaptc.templates", "metrics.toml").read_text("utf-8"))


@cache
def _meanings(daemon: str) -> Mapping[str, str]:
    return {row["name"]: row["help"] for row in metrics()["metric"] if row["daemon"] == daemon}


def figures_of(daemon: str, values: Mapping[str, float | None]) -> dict[str, tuple[float | None, str]]:
    """Return values of a daemon by name, labels included, with what each means. Raises ``KeyError`` for others."""
    return {name: (value, _meanings(daemon)[name.partition("{")[0]]) for name, value in values.items()}


def render_metrics(daemon: str, figures: Figures) -> str:
    """Return the exposition of some figures; those without a value are left out."""
    families: dict[str, list[str]] = {}
    for name, (value, meaning) in figures.items():
        if value is not None:
            family = f"adaptc_{daemon}_{name.partition('{')[0]}"
            kind = "counter" if family.endswith("_total") else "gauge"
            head = [f"# HELP {family} {meaning}", f"# TYPE {family} {kind}"]
            families.setdefault(family, head).append(f"adaptc_{daemon}_{name} {exact(value)}")
    return "".join(f"{line}\n" for lines in families.values() for line in lines)


def exact(value: float) -> str:
    """Return a value for Prometheus: counters above a million keep all their digits."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def label(text: str) -> str:
    """Return the value of a label, in quotes (Prometheus, exposition formats)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def serve_metrics(port: int, text: Callable[[], str]) -> ThreadingHTTPServer:
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
            """Print nothing: scrapes come every few seconds."""

    server = ThreadingHTTPServer((LOOPBACK, port), Endpoint)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
