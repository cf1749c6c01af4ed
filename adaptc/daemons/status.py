"""What the daemons said last, as values: for ``adaptc status`` and for those who ask whether a daemon lives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.daemons.run_directory import RunDirectory
from adaptc.report.manifest import MANIFEST, read_manifest

DAEMONS = ("switch", "control", "classify")
WATCHER = "watch"
"""It works on the trees, not beside the server: it has no settings below ``[daemons]``."""
# A status this old, beyond two intervals, is that of a daemon that died.
_GRACE = 3.0


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """The last words of a daemon, their age in seconds, and whether it lives."""

    name: str
    age: float
    lives: bool
    said: Mapping[str, Any]


def live(run: RunDirectory, now: float) -> list[DaemonStatus]:
    """Return the status of each daemon that ever worked here, the watcher among them; ``now`` is seconds since 1970."""
    found = []
    for name in (*DAEMONS, WATCHER):
        said = run.read_json(f"{name}.json")
        if isinstance(said, dict) and isinstance(said.get("at"), int | float):
            age = max(0.0, now - said["at"])
            lives = not said.get("stopped") and age < 2 * float(said.get("interval", 1)) + _GRACE
            found.append(DaemonStatus(name, age, lives, said))
    return found


def is_obeyed(found: Iterable[DaemonStatus]) -> bool:
    """Whether a daemon lives that follows a person's word; ``classify`` has no level to set."""
    return any(one.lives for one in found if one.name in ("switch", "control"))


def built_levels(output: Path) -> list[str]:
    """Return the names of the levels of a build, cheapest first; none without a manifest.

    Levels beside the ladder have no number and come last.
    """
    try:
        levels = read_manifest(output / MANIFEST).levels
    except (OSError, UsageError):
        return []
    ranked = sorted(levels, key=lambda level: (level.number is None, level.number or 0))
    return [level.name for level in ranked]
