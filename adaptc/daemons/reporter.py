"""What a daemon tells the world: lines for people, the audit, its last status, figures for Prometheus.

None of it may stop the daemon: a full disk costs records, not the control of the server. What could not be written is
counted, and the count is a figure.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from adaptc.daemons import exposition
from adaptc.daemons.audit import Audit, rounded
from adaptc.daemons.run_directory import RunDirectory

STATUS_EVERY = 1.0  # seconds between two writes of the status


class Reporter:
    """Reports of the daemon ``name``. ``say`` prints a line for people.

    The status goes to each of ``runs``, the audit to the first; without any no file is written.
    """

    def __init__(self, name: str, runs: Sequence[RunDirectory], say: Callable[[str], None]) -> None:
        self.name, self._runs, self._say = name, runs, say
        self._audit = Audit(runs[0].path / f"audit-{name}.jsonl" if runs else None)
        self._figures: exposition.Figures = {}
        self._written = 0.0
        self.failures = 0

    def serve(self, port: int) -> int:
        """Serve the figures on the loopback address; return the port. Raises ``OSError``."""
        return exposition.serve(port, lambda: exposition.render(self.name, self._figures)).server_address[1]

    def decision(self, epoch: float, event: str, rule: str, **inputs: Any) -> None:
        """Tell a decision: what was decided, by which rule, from what."""
        shown = ", ".join(f"{name} {_short(value)}" for name, value in inputs.items() if value is not None)
        moment = time.strftime("%H:%M:%S", time.localtime(epoch))
        self._say(f"{moment} {event}: {rule}" + (f" ({shown})" if shown else ""))
        self.record(epoch, event, rule=rule, inputs=rounded(inputs))

    def record(self, epoch: float, event: str, **record: Any) -> None:
        """Write a line of the audit only."""
        self.attempt(lambda: self._audit.write(epoch, event, **record))

    def record_all(self, epoch: float, event: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Write a line of the audit for each record."""
        self.attempt(lambda: self._audit.write_all(epoch, event, records))

    def status(self, epoch: float, interval: float, figures: exposition.Figures, **status: Any) -> None:
        """Publish the figures, and write the status when the last one is old."""
        self._figures = {**figures, "write_failures_total": (float(self.failures), "Records that were not written.")}
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
        """Write a record; that it cannot be written is told once and counted."""
        try:
            write()
        except OSError as error:
            self.failures += 1
            if self.failures == 1:
                self._say(f"cannot write {self.name}'s records, control goes on: {error}")


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
