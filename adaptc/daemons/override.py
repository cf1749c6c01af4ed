"""What a person asked the daemons for: a level for some time, after which they decide again.

``override.json`` holds the level and the second (since the epoch) at which it ends. The daemons read it at every
step, so that an override needs no connection to them and ends without anybody's doing.
"""

from __future__ import annotations

from dataclasses import dataclass

from adaptc.daemons.run_directory import RunDirectory

FILE = "override.json"
ORIGINAL = "original"  # no level at all: the flag goes away
REJECT = "reject"  # level 0


@dataclass(frozen=True, slots=True)
class Override:
    """A level (or ``original``, or ``reject``) until a time in seconds since the epoch."""

    level: str
    until: float


def write_override(run: RunDirectory, override: Override) -> None:
    """Ask for a level. Raises ``OSError``."""
    run.write_json(FILE, {"level": override.level, "until": override.until})


def clear_override(run: RunDirectory) -> bool:
    """Leave it to the daemons again; return whether there was an override. Raises ``OSError``."""
    from adaptc.core import fs

    return fs.remove(str(run.path / FILE))


def read_override(run: RunDirectory, now: float) -> Override | None:
    """Return the override that holds at ``now``, in seconds since the epoch."""
    found = run.read_json(FILE)
    if not isinstance(found, dict) or not isinstance(found.get("level"), str):
        return None
    until = found.get("until")
    if not isinstance(until, int | float) or until <= now:
        return None
    return Override(found["level"], float(until))
