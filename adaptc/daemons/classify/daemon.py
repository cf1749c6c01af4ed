"""``adaptc classify`` as a daemon: follow the logs, write the tables, remember."""

from __future__ import annotations

import heapq
import ipaddress
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import Any

from adaptc.daemons.classify.classifier import Classifier, Client, Estimate, Reference, Verdict, Weights
from adaptc.daemons.classify.hits import Hit, hits, read_history
from adaptc.daemons.classify.prefixes import address_of, cluster_of
from adaptc.daemons.classify.settings import ClassifySettings
from adaptc.daemons.classify.tables import WRITERS, Table, ToolMissing, changes, table_of
from adaptc.daemons.follow import Follower, Mark
from adaptc.daemons.loop import notify
from adaptc.daemons.reporter import Reporter, figures_of
from adaptc.daemons.run_directory import RunDirectory
from adaptc.formats.accesslog.parser import compile_format

BATCH = 8 << 20  # bytes of each log that are read at a time, and
_SLICE = 200_000  # lines of history: a second's work, after which the watchdog is notified
_BATCHES = 30  # in a step: then it is time for a table, even when the log grows faster than it is read
_BUFFERED = 10.0  # seconds that a server may keep lines to itself
_FORMAT_CHECK_LINES = 100  # lines after which a wrong format is reported


class ClassifyDaemon:
    """Drives a classifier. Without ``run`` nothing is written and nothing remembered (``--dry-run``).

    In shadow, and while the kill switch is pulled, it classifies, remembers and reports, and writes no tables.
    """

    def __init__(self, settings: ClassifySettings, reporter: Reporter, run: RunDirectory | None) -> None:
        self._settings, self._reporter, self._run = settings, reporter, run
        self._classifier = settings.classifier()
        self._parser = compile_format(settings.log_format)
        self._unacted = frozenset(settings.unacted)
        state = run.read_json(STATE_FILE) if run else None
        marks = restore_state(self._classifier, state)
        self._is_new = not marks
        self._followers = [Follower(path, marks.get(str(path))) for path in settings.logs]
        self._skipped, self._lines, self._used = [0], 0, 0
        self._table: Table | None = None  # as the server has it; what was restored may not be written yet
        self._known = table_of(self._classifier)
        self._written = self._saved = float("-inf")
        self._epoch = self._changed_at = 0.0
        self._complained: set[str] = set()
        self._unwritten = False  # a table could not be written, and is tried again
        self._is_off = False

    def step(self, clock: float, epoch: float) -> None:
        """Read what is new, write the tables when they are due, report."""
        self._epoch = epoch
        if self._is_new:
            self._read_history()
        self._read_new()
        self._complain_of_format()
        self._used += sum(1 for _ in self._classifier.sweep(epoch - _BUFFERED))
        if clock - self._written >= self._settings.write_every:
            self._written = clock
            self._write(epoch)
        if clock - self._saved >= self._settings.save_every:
            self._saved = clock
            self._save()
        self._report(epoch)

    def stop(self, epoch: float) -> None:
        """Write tables and state for the last time. The tables stay: they are still correct."""
        self._write(epoch)
        self._save()
        for follower in self._followers:
            follower.close()
        self._reporter.decision(epoch, "stopped", "the tables stay")
        self._reporter.last(epoch)

    # ---- reading

    def _read_history(self) -> None:
        self._is_new = False
        if self._settings.history:
            skipped = [0]
            history = read_history(self._settings.history, self._parser, self._unacted, skipped)
            while part := list(islice(history, _SLICE)):
                self._used += sum(1 for _ in self._classifier.feed(part))
                notify("WATCHDOG=1")
            if skipped[0]:
                self._complain("history", f"{skipped[0]:,} lines of the history are not in the format")

    def _read_new(self) -> None:
        for _ in range(_BATCHES):
            self._used += sum(1 for _ in self._classifier.feed(self._new_hits()))
            if not any(follower.is_behind for follower in self._followers):
                return
            notify("WATCHDOG=1")

    def _new_hits(self) -> Iterator[Hit]:
        batches = [
            hits(self._counted(follower), self._parser, self._unacted, self._skipped) for follower in self._followers
        ]
        return batches[0] if len(batches) == 1 else heapq.merge(*batches, key=attrgetter("at"))

    def _counted(self, follower: Follower) -> Iterator[str]:
        try:
            for line in follower.lines(BATCH):
                self._lines += 1
                yield line
        except OSError as error:
            self._complain(str(follower.path), f"{follower.path} cannot be read: {error}")
            return
        if follower.mark is None:
            self._complain(str(follower.path), f"there is no log {follower.path}; it is read when it is there")

    def _complain_of_format(self) -> None:
        if self._lines >= _FORMAT_CHECK_LINES and 2 * self._skipped[0] > self._lines:
            shares = f"{self._skipped[0]:,} of {self._lines:,} log lines"
            self._complain("format", f"{shares} are not in the format that log_format names")

    # ---- writing

    def _write(self, epoch: float) -> None:
        table = table_of(self._classifier)
        is_off = self._run is not None and self._run.is_off
        if is_off is not self._is_off:
            self._is_off = is_off
            rule = "the kill switch is pulled (run/off): tables are empty" if is_off else "tables are written again"
            self._reporter.decision(epoch, "shadow" if is_off else "live", rule)
            if is_off:
                self._write_forms(Table({}, {}))
            self._table = None
        if self._run is not None and table == self._table and self._unwritten:
            self._write_forms(Table({}, {}) if is_off else table)
        if self._run is None or table == self._table:
            return
        if not (self._settings.shadow or is_off):
            self._write_forms(table)
        self._reporter.record_all(epoch, "class", changes(self._known, table, self._classifier))
        self._table, self._known, self._changed_at = table, table, epoch
        self._reporter.record(epoch, "table", **_counts(table))

    def _write_forms(self, table: Table) -> None:
        if self._run is None or self._settings.shadow:
            return
        self._unwritten = False
        for form in self._settings.write:
            try:
                WRITERS[form](self._run, table)
            except (OSError, ToolMissing) as error:
                self._unwritten = self._unwritten or isinstance(error, OSError)
                self._complain(form, f"table {form} is not written: {error}")

    def _save(self) -> None:
        if self._run is None:
            return
        marks = {str(follower.path): mark for follower in self._followers if (mark := follower.mark)}
        try:
            self._run.write_json(STATE_FILE, saved_state(self._classifier, marks))
        except OSError as error:
            self._complain("state", f"the state is not saved: {error}")

    def _complain(self, about: str, sentence: str) -> None:
        """Report a fault once; the rest goes on."""
        if about not in self._complained:
            self._complained.add(about)
            self._reporter.decision(self._epoch, "remark", sentence)

    def _report(self, epoch: float) -> None:
        counts = {**_counts(self._table), "table_age": round(epoch - self._changed_at)} if self._table else {}
        clients = float(len(self._classifier.clients))
        figures = {
            "lines_total": float(self._lines),
            "lines_skipped_total": float(self._skipped[0]),
            "retrievals_total": float(self._used),
            "shadow": float(self._settings.shadow or self._is_off),
            "clients": clients,
            "clusters": float(len(self._classifier.clusters)),
            **_table_figures(counts),
        }
        self._reporter.status(
            epoch, self._settings.interval, figures_of("classify", figures), lines=self._lines,
            skipped=self._skipped[0], retrievals=self._used, clients=int(clients), **counts,
        )  # fmt: skip


def _table_figures(counts: Mapping[str, Any]) -> dict[str, float | None]:
    figures: dict[str, float | None] = {"table_age": counts.get("table_age")}
    for name in ("addresses", "networks"):
        for believed, count in counts.get(name, {}).items():
            figures[f'{name}{{class="{believed}"}}'] = float(count)
    return figures


def _counts(table: Table) -> dict[str, Any]:
    return {
        "addresses": dict(sorted(Counter(table.clients.values()).items())),
        "networks": dict(sorted(Counter(table.networks.values()).items())),
    }


def replay(classifier: Classifier, hits: Iterable[Hit]) -> dict[str, Counter[str]]:
    """Feed a complete log; return how often each client was believed to be of each class (Table 3 of the paper)."""
    shares: dict[str, Counter[str]] = {}
    for client, _, believed in _verdicts(classifier, hits):
        if believed:
            shares.setdefault(client, Counter())[believed] += 1
    return shares


def _verdicts(classifier: Classifier, hits: Iterable[Hit]) -> Iterator[Verdict]:
    yield from classifier.feed(hits)
    yield from classifier.finish()


# ---- the state between two runs

SCHEMA = 2
STATE_FILE = "classify-state.json"


def saved_state(classifier: Classifier, marks: Mapping[str, Mark]) -> dict[str, Any]:
    """Return the state for JSON. Retrievals under way are not part of it: they end with the daemon."""
    return {
        "schema": SCHEMA,
        "now": classifier.now,
        "reference": [classifier.reference.count, *classifier.reference.mean],
        "logs": {path: [mark.device, mark.inode, mark.offset] for path, mark in marks.items()},
        "clients": {
            name: [*_row(client.estimate), client.seen]
            for name, client in classifier.clients.items()
            if client.estimate is not None
        },
        "clusters": {
            str(network): [*_row(estimate), seen] for network, (estimate, seen) in classifier.clusters.items()
        },
    }


def restore_state(classifier: Classifier, state: Any) -> dict[str, Mark]:
    """Restore a new classifier's estimates, and return how far the logs were read.

    A state of another version is ignored. Clients get the cluster of the current routes.
    """
    if not isinstance(state, dict) or state.get("schema") != SCHEMA:
        return {}
    classifier.now = state["now"]
    count, *means = state["reference"]
    classifier.reference = Reference(count, Weights(*means))
    for name, (*row, seen) in state["clients"].items():
        address = address_of(name)
        cluster = cluster_of(address, classifier.routes) if address else None
        classifier.clients[name] = Client(cluster, Estimate(*row), None, seen)
    for text, (*row, seen) in state["clusters"].items():
        classifier.clusters[ipaddress.ip_network(text)] = (Estimate(*row), seen)
    return {path: Mark(*mark) for path, mark in state["logs"].items()}


def _row(estimate: Estimate) -> list[Any]:
    return [
        estimate.first,
        estimate.last,
        estimate.rtt,
        estimate.pages,
        estimate.believed,
        estimate.against,
        estimate.times,
    ]
