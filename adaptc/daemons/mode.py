"""What the daemons that set the mode of a server, ``adaptc switch`` and ``adaptc control``, share.

These are settings of the same names, and what their drivers do alike: heartbeats for the guard, the trace of
``--record``, and the end.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptc.config.schema import Schema, duration, flag, http_url, one_of, text, texts
from adaptc.core.values import dataclass

if TYPE_CHECKING:
    from adaptc.daemons.guard import Guard
    from adaptc.daemons.reporter import Reporter
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.serve.purge import Purges

EXPIRIES = ("normal", "static")
# A guard waits for three intervals and at least ten seconds, and must be done within fifteen.
LONGEST_INTERVAL = 5.0


@dataclass(frozen=True, slots=True)
class ModeSettings:
    """``interval`` is the seconds from step to step.

    ``cgroup`` names the control group of the server, ``processes`` its programs, () those of the servers for which
    configuration was emitted; where neither is found the whole host is measured. ``status_url`` is a page of mod_status
    or stub_status, "" the one that was emitted. ``url`` is where the server answers for the site: at the start a daemon
    asks it for every level, to prove that it obeys. With ``shadow`` everything is measured and written but the flag and
    the levels. ``expire`` says what becomes of the flag when the daemon ends or dies: ``normal`` removes it,
    ``static`` leaves it. ``audit_all`` writes every sample to the audit.
    """

    interval: float = 1.0
    cgroup: str = ""
    processes: tuple[str, ...] = ()
    status_url: str = ""
    url: str = ""
    shadow: bool = False
    expire: str = "normal"
    audit_all: bool = False

    @property
    def is_temporary(self) -> bool:
        """Whether the flag ends with the daemon."""
        return self.expire == "normal"


MODE_CHECKS: Schema = {
    "interval": duration(0.1, LONGEST_INTERVAL),
    "cgroup": text,
    "processes": texts,
    "status_url": http_url,
    "url": http_url,
    "shadow": flag,
    "expire": one_of(*EXPIRIES),
    "audit_all": flag,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeEnvironment:
    """What such a daemon works with. ``record`` is the trace that samples go to. Without a guard nothing is written.

    ``purges`` are for caches that are to forget a level that nobody gets any more.
    """

    reporter: Reporter
    guard: Guard | None = None
    record: Path | None = None
    purges: Purges | None = None

    def beat(self) -> None:
        """Tell the guard that the daemon is alive, and people which caches could not be purged."""
        while self.purges and self.purges.problems:
            self.reporter.decision(time.time(), "purge-failed", self.purges.problems.popleft())
        if self.guard:
            self.guard.beat()

    def forget(self, levels: Collection[str]) -> None:
        """Purge the levels from the caches in front, without waiting for them."""
        if self.purges:
            self.purges.forget(levels)

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


# ---- what is kept over a restart

SAVE_EVERY = 5.0  # seconds
FRESH = 120.0  # seconds for which the m and the mode of an earlier run are those of the load now
_OLDEST = 30 * 86400.0  # seconds; what an older run has learnt is of another machine


def keep(run: RunDirectory, name: str, epoch: float, **values: Any) -> None:
    """Keep what the daemon ``name`` has learnt, with the time. Raises ``OSError``."""
    run.write_json(f"{name}-state.json", {"at": round(epoch, 3), **values})


def kept(run: RunDirectory | None, name: str, epoch: float) -> tuple[dict[str, Any], float] | None:
    """Return what an earlier run of a daemon has kept, and its age in seconds; None for nothing, or nothing sound.

    What was kept at a time that is still to come is from before the clock was set back: its age is not known.
    """
    record = run.read_json(f"{name}-state.json") if run else None
    if not isinstance(record, dict) or not isinstance(record.get("at"), int | float):
        return None
    age = epoch - record["at"]
    return (record, age if age >= 0 else FRESH) if age < _OLDEST else None


def guard_of(runs: Sequence[RunDirectory], settings: ModeSettings) -> Guard | None:
    """Start the guard of the run directories; none where nothing is written, and none for a static flag."""
    from adaptc.daemons.guard import SILENCE, Guard

    return Guard(runs, SILENCE) if runs and settings.is_temporary else None
