"""What the daemons that set the mode of a server, ``adaptc switch`` and ``adaptc control``, share.

These are settings of the same names, and what their drivers do alike: heartbeats for the guard, the trace of
``--record``, and the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptc.config.schema import Schema, duration, flag, http_url, one_of, text

if TYPE_CHECKING:
    from adaptc.daemons.guard import Guard
    from adaptc.daemons.reporter import Reporter
    from adaptc.daemons.run_directory import RunDirectory

EXPIRIES = ("normal", "static")
# A guard waits for three intervals and at least ten seconds, and must be done within fifteen.
LONGEST_INTERVAL = 5.0


@dataclass(frozen=True, slots=True)
class ModeSettings:
    """``interval`` is the seconds from step to step.

    ``cgroup`` names the control group of the server, "" the whole host; ``status_url`` is a page of mod_status or
    stub_status. ``expire`` says what becomes of the flag when the daemon ends or dies: ``normal`` removes it,
    ``static`` leaves it. ``audit_all`` writes every sample to the audit.
    """

    interval: float = 1.0
    cgroup: str = ""
    status_url: str = ""
    expire: str = "normal"
    audit_all: bool = False

    @property
    def is_temporary(self) -> bool:
        """Whether the flag ends with the daemon."""
        return self.expire == "normal"


MODE_CHECKS: Schema = {
    "interval": duration(0.1, LONGEST_INTERVAL),
    "cgroup": text,
    "status_url": http_url,
    "expire": one_of(*EXPIRIES),
    "audit_all": flag,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeEnvironment:
    """What such a daemon works with. ``record`` is the trace that samples go to. Without a guard nothing is written."""

    reporter: Reporter
    guard: Guard | None = None
    record: Path | None = None

    def beat(self) -> None:
        """Tell the guard that the daemon is alive."""
        if self.guard:
            self.guard.beat()

    def append(self, sample: Mapping[str, Any]) -> None:
        """Append a sample to the trace, if there is one."""
        from adaptc.daemons.trace import append_record

        if self.record:
            self.reporter.attempt(partial(append_record, self.record, sample))

    def close(self, epoch: float, rule: str) -> None:
        """End the guard, after the flags are as they should be, and report why they are so."""
        if self.guard:
            self.guard.close()
        self.reporter.decision(epoch, "stopped", rule)
        self.reporter.last(epoch)


def guard_of(runs: Sequence[RunDirectory], settings: ModeSettings) -> Guard | None:
    """Start the guard of the run directories; none where nothing is written, and none for a static flag."""
    from adaptc.daemons.guard import SILENCE, Guard

    return Guard(runs, SILENCE) if runs and settings.is_temporary else None
