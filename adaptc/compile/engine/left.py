"""Files of SQLite that are as adaptc left them: their values need not be checked once more.

Such a file gets a time that is also written in it, and that lies in the past, so that whoever writes to it later gives
it another one, even within the same tick of the clock. After a restart of the machine, which may follow a loss of
power, no file counts as left.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from pathlib import Path

from adaptc.core.sync import boot_id

_KEY = "left"
# How far in the past, in ns: longer than any tick
_PAST = 1_000_000_000


def is_as_left(db: sqlite3.Connection, path: Path) -> bool:
    """Whether nobody wrote to the file ``path`` since ``leave``; ``db`` is what opened it, and has read nothing yet."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    if row is None or _has_log(path):
        return False
    boot = boot_id()
    return boot is not None and row[0] == json.dumps([os.stat(path).st_mtime_ns, boot])


def leave(db: sqlite3.Connection, path: Path) -> None:
    """Close the file ``path``, of which all values are known to be right."""
    stamp = time.time_ns() - _PAST
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, json.dumps([stamp, boot_id()])))
    db.close()
    with contextlib.suppress(PermissionError):  # it belongs to somebody else, and is checked next time
        os.utime(path, ns=(stamp, stamp))


def _has_log(path: Path) -> bool:
    """Whether what was written last is still in the log: whoever wrote it did not end well."""
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except FileNotFoundError:
        return False
