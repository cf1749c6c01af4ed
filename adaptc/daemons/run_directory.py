"""``OUT/run``: the files that the daemons write for the server, and for each other.

==================  ===============================================================================
``opt.do``          the flag: while it exists the server sends levels, else the original (G10)
``m/BB.LEVEL``      markers for nginx: the clients of bucket BB (2 hexadecimal digits) get LEVEL
``buckets.txt``     the same for Apache's RewriteMap: ``BB LEVEL`` a line
``classes.*``       the classes of clients, see ``classify.tables``
``override.json``   an operator's override, see ``Override``
``off``             the kill switch: while it exists no daemon changes what the server sends
``NAME-state.json`` what switch and control keep over a restart: see ``mode``
``NAME.json``       the last status of the daemon NAME, or of ``adaptc watch``: see ``status``
``cost.json``       the profile of ``adaptc calibrate``
``NAME.lock``       held while a daemon works; ``mode`` is that of switch and control, which share the flag
==================  ===============================================================================

Every file appears by rename. The server must be able to read them, whatever the umask of the daemon. The daemons read
the override at every step: it takes no connection to them, and it ends by itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from adaptc.core import fs
from adaptc.core.diagnostics import Busy
from adaptc.core.fs import lock_file, refuse_outward
from adaptc.core.values import dataclass
from adaptc.serve import state_directory

FLAG = "opt.do"
OFF = "off"
MODE_DAEMONS = ("switch", "control")  # those that set the flag


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The directory ``run`` of an output."""

    path: Path

    @classmethod
    def of(cls, output: Path) -> RunDirectory:
        """Return the run directory of an output, made if need be. Raises ``OSError``."""
        run = cls(output / "run")
        refuse_outward(os.path.abspath(run.path), os.path.abspath(output))
        run.make("")
        return run

    def make(self, name: str) -> Path:
        """Make a directory below this one. Raises ``OSError``."""
        return state_directory.make_folder(self.path, name)

    @property
    def flag(self) -> Path:
        """The flag file."""
        return self.path / FLAG

    @property
    def is_off(self) -> bool:
        """Whether the kill switch is pulled."""
        return (self.path / OFF).exists()

    def set_flag(self, wanted: bool) -> bool:
        """Make or remove the flag; return whether that changed anything. Raises ``OSError``."""
        if not wanted:
            return fs.remove(str(self.flag))
        if self.flag.exists():
            return False
        self.write(FLAG, b"")
        return True

    def clear_buckets(self) -> None:
        """Forget the levels of buckets: the server's configuration has a level for those of which nothing is known.

        The levels of a controller that ended must not hold for another daemon's flag. Raises ``OSError``.
        """
        if (self.path / "buckets.txt").exists():  # Apache's configuration wants the file
            self.write("buckets.txt", b"")
        if (self.path / "m").is_dir():
            for name in os.listdir(self.path / "m"):
                fs.remove(str(self.path / "m" / name))

    def reset(self) -> None:
        """Serve the site as it is: remove the flag, and forget the levels of buckets with it. Raises ``OSError``.

        A flag that somebody sets later must not bring back the levels of a daemon that died.
        """
        self.set_flag(False)
        self.clear_buckets()

    def write(self, name: str, content: bytes, keep_equal: bool = False) -> None:
        """Write a file by rename. Raises ``OSError``."""
        state_directory.write(self.path / name, content, keep_equal=keep_equal)

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON document by rename. Raises ``OSError``."""
        self.write(name, json.dumps(value, ensure_ascii=True).encode("ascii") + b"\n")

    def read_json(self, name: str) -> Any:
        """Return a JSON document; None when there is no sound one, or none that this user may read."""
        try:
            return json.loads((self.path / name).read_bytes())
        except (OSError, ValueError):
            return None

    def locked(self, name: str, work: str) -> AbstractContextManager[Callable[[], None]]:
        """Hold ``NAME.lock``, also where the directory is made anew, as ``lock_file`` says. Raises ``Busy``."""
        busy = Busy(f"another daemon {work} in {self.path}")
        return lock_file(self.path / f"{name}.lock", busy)


# ---- the override of an operator

OVERRIDE_FILE = "override.json"
ORIGINAL = "original"  # no level at all: the flag goes away
REJECT = "reject"  # level 0


@dataclass(frozen=True, slots=True)
class Override:
    """A level (or ``original``, or ``reject``) until a time in seconds since the epoch."""

    level: str
    until: float


def write_override(run: RunDirectory, override: Override) -> None:
    """Write an override. Raises ``OSError``."""
    run.write_json(OVERRIDE_FILE, {"level": override.level, "until": override.until})


def clear_override(run: RunDirectory) -> bool:
    """Remove the override; return whether there was one. Raises ``OSError``."""
    return fs.remove(str(run.path / OVERRIDE_FILE))


def read_override(run: RunDirectory, now: float) -> Override | None:
    """Return the override that holds at ``now``, in seconds since the epoch."""
    record = run.read_json(OVERRIDE_FILE)
    if not isinstance(record, dict) or not isinstance(record.get("level"), str):
        return None
    until = record.get("until")
    if not isinstance(until, int | float) or until <= now:
        return None
    return Override(record["level"], float(until))
