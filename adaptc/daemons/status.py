"""The last status of each daemon, and whether it is alive; what operators tell them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from adaptc.config.toml import nearest
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import remove
from adaptc.core.values import dataclass
from adaptc.daemons.run_directory import (
    MODE_DAEMONS,
    OFF,
    ORIGINAL,
    REJECT,
    Override,
    RunDirectory,
    clear_override,
    read_override,
    write_override,
)
from adaptc.report.manifest import MANIFEST, read_manifest
from adaptc.serve.state_directory import read_knobs

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


def status_record(run: RunDirectory, now: float) -> dict[str, Any]:
    """Return the status for JSON."""
    override = read_override(run, now)
    return {
        "flag": run.flag.exists(),
        "off": run.is_off,
        "server": obeyed(run),
        "override": {"level": override.level, "seconds": round(override.until - now)} if override else None,
        "daemons": [
            {**daemon.record, "daemon": daemon.name, "age": round(daemon.age, 1), "lives": daemon.is_alive}
            for daemon in daemon_statuses(run, now)
        ],
    }


def obeyed(run: RunDirectory) -> str:
    """Return what daemons can set in the emitted configuration."""
    knobs = read_knobs(run.path.parent)
    if knobs is None:
        return "nothing is known; run adaptc emit"
    parts = [f"the flag ({knobs.level})"] if knobs.flag else []
    parts += [f"levels of buckets ({', '.join(knobs.ladder)})"] if knobs.buckets else ["no buckets for adaptc control"]
    parts += ["level 0, which rejects"] if knobs.reject else []
    classes = "classes while the flag is set" if knobs.classes_need_flag else "classes"
    return ", ".join([*parts, *([classes] if knobs.classes else [])])


# ---- what operators tell the daemons

LONGEST = 30 * 86400.0  # seconds


def force_level(run: RunDirectory, level: str, span: float, written: str) -> str:
    """Have the daemons serve ``level`` for ``span`` seconds, or pull the kill switch; return what was done.

    ``written`` is the span for people. Raises ``UsageError`` for a level that there is not, or where no daemon would
    obey.
    """
    from adaptc.daemons.classify.tables import empty

    if level == OFF:
        run.write(OFF, b"")
        run.reset()
        empty(run)
        return "off: the server sends the original, until adaptc auto"
    if not 1 <= span <= LONGEST:
        raise UsageError("a level may be forced for a second to 30 days")
    _refuse_unknown(run, level)
    if not has_mode_daemon(daemon_statuses(run, time.time())):
        raise UsageError(f"no daemon works in {run.path}: start adaptc switch or adaptc control first")
    write_override(run, Override(level, time.time() + span))
    return f"{level} for {written}; adaptc auto ends it"


def _refuse_unknown(run: RunDirectory, level: str) -> None:
    output = run.path.parent
    knobs, levels = read_knobs(output), built_levels(output)
    if knobs is not None and level == REJECT and not knobs.reject:
        raise UsageError("the emitted configuration rejects nobody: say reject = true and buckets = true in [serve]")
    if knobs is not None and level in levels and level not in knobs.levels:
        raise UsageError(f"the emitted configuration does not know level {level}: run adaptc emit, reload the server")
    known = [ORIGINAL, REJECT, OFF, *levels]
    if level not in known:
        raise UsageError(f"{output} has no level {level}{nearest(level, known)}; there are {', '.join(known)}")


def let_decide(run: RunDirectory) -> str:
    """End what was forced, and reset what a daemon that died has left; return what was done. Raises ``OSError``."""
    was_off = remove(str(run.path / OFF))
    was_forced = clear_override(run) or was_off
    if has_died(daemon_statuses(run, time.time())):
        run.reset()
        return "the daemon died: flag and buckets were reset"
    return "automatic again" if was_forced else "nothing was forced"
