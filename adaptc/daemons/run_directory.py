"""``OUT/run``: the files by which the daemons and the server speak to each other.

==================  ===============================================================================
``opt.do``          the flag: while it exists the server sends levels, else the original (G10)
``m/BB.LEVEL``      markers for nginx: the clients of bucket BB (2 hexadecimal digits) get LEVEL
``buckets.txt``     the same for Apache's RewriteMap: ``BB LEVEL`` a line
``classes.*``       the classes of clients, see ``classify.tables``
``override.json``   what a person asked for, see ``override``
``NAME.json``       what the daemon NAME said last, or ``adaptc watch``: see ``status``
``NAME.lock``       held while a daemon works; ``mode`` is that of switch and control, which share the flag
==================  ===============================================================================

Every file appears by rename. The server must be able to read them, whatever the umask of the daemon.
"""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptc.core import fs
from adaptc.core.diagnostics import Busy
from adaptc.core.fs import lock_file

FLAG = "opt.do"
_READABLE_DIRECTORY, _READABLE_FILE = 0o755, 0o644


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The directory ``run`` of an output."""

    path: Path

    @classmethod
    def of(cls, output: Path) -> RunDirectory:
        """Return the run directory of an output, made if need be. Raises ``OSError``."""
        found = cls(output / "run")
        found.make("")
        return found

    def make(self, name: str) -> Path:
        """Make a directory below this one. Raises ``OSError``."""
        folder = self.path / name
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(_READABLE_DIRECTORY)
        return folder

    @property
    def flag(self) -> Path:
        """The flag file."""
        return self.path / FLAG

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

        What a controller said last must not hold for the flag of somebody else. Raises ``OSError``.
        """
        if (self.path / "buckets.txt").exists():  # Apache's configuration wants the file
            self.write("buckets.txt", b"")
        if (self.path / "m").is_dir():
            for name in os.listdir(self.path / "m"):
                fs.remove(str(self.path / "m" / name))

    def write(self, name: str, content: bytes, keep_equal: bool = False) -> None:
        """Write a file by rename. Raises ``OSError``."""
        fs.write_atomic(str(self.path / name), content, _READABLE_FILE, keep_equal=keep_equal)

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON document by rename. Raises ``OSError``."""
        self.write(name, json.dumps(value, ensure_ascii=True).encode("ascii") + b"\n")

    def read_json(self, name: str) -> Any:
        """Return a JSON document; None when there is none, or no sound one."""
        try:
            return json.loads((self.path / name).read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def locked(self, name: str, work: str) -> AbstractContextManager[None]:
        """Hold ``NAME.lock``. Raises ``Busy``."""
        busy = Busy(f"another daemon {work} in {self.path}")
        return lock_file(self.path / f"{name}.lock", busy, _READABLE_FILE)


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
