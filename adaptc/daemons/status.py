"""The last status of each daemon, and whether it is alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.daemons.run_directory import MODE_DAEMONS, RunDirectory
from adaptc.report.manifest import MANIFEST, read_manifest

DAEMONS = ("switch", "control", "classify")
WATCHER = "watch"
"""It works on the trees, not on what the server sends, and has no settings below ``[daemons]``."""
# A status this old, beyond two intervals, is that of a daemon that died.
_GRACE = 3.0


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """The last status of a daemon: its record, the record's age in seconds, and whether the daemon is alive."""

    name: str
    age: float
    is_alive: bool
    record: Mapping[str, Any]


def daemon_statuses(run: RunDirectory, now: float) -> list[DaemonStatus]:
    """Return the status of each daemon that ever worked here, the watcher among them; ``now`` is seconds since 1970."""
    statuses = []
    for name in (*DAEMONS, WATCHER):
        record = run.read_json(f"{name}.json")
        if isinstance(record, dict) and isinstance(record.get("at"), int | float):
            age = max(0.0, now - record["at"])
            is_alive = not record.get("stopped") and age < 2 * float(record.get("interval", 1)) + _GRACE
            statuses.append(DaemonStatus(name, age, is_alive, record))
    return statuses


def has_mode_daemon(statuses: Iterable[DaemonStatus]) -> bool:
    """Whether a daemon that obeys an override is alive; ``classify`` sets no level, nor does one in shadow."""
    acting = (status for status in statuses if status.name in MODE_DAEMONS and status.record.get("shadow") is not True)
    return any(status.is_alive for status in acting)


def has_died(statuses: Iterable[DaemonStatus]) -> bool:
    """Whether a daemon that sets levels ended without a farewell, and none works now."""
    mode = [status for status in statuses if status.name in MODE_DAEMONS]
    return any(not status.record.get("stopped") for status in mode) and not has_mode_daemon(mode)


def built_levels(output: Path) -> list[str]:
    """Return the names of the levels of a build, lowest first; none without a manifest.

    Levels that are not on the ladder have no number and come last.
    """
    try:
        levels = read_manifest(output / MANIFEST).levels
    except (OSError, UsageError):
        return []
    ranked = sorted(levels, key=lambda level: (level.number is None, level.number or 0))
    return [level.name for level in ranked]
