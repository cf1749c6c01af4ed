"""Damage of the files in which builds remember things: the state and the ledger (SQLite).

Whatever is wrong with such a file, a build discards it and builds everything anew; only errors of the system, such as a
full disk, end the build. A file may be damaged as a whole (``is_damage``), something else may be in its place
(``discard_foreign``), or it may be sound and hold values that adaptc never wrote: ``check_values`` finds those that
would not raise an error where they are used, and ``MALFORMED`` are the errors that the others raise.

The values of a file that is as adaptc left it need not be checked once more. Such a file gets a time that is also
written in it, and that lies in the past, so that whoever writes to it later gives it another one, even within the same
tick of the clock. After a restart of the machine, which may follow a loss of power, no file counts as left.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sqlite3
import stat
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

from adaptc.core.sync import boot_id

MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, zlib.error)
"""What malformed values raise where they are used. A bug of adaptc may raise the same; then the next try does, too."""

# SQLite's errors that are of the system; all others come of a damaged file
_ERRNO = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
    sqlite3.SQLITE_BUSY: errno.EAGAIN,
    sqlite3.SQLITE_LOCKED: errno.EAGAIN,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_PROTOCOL: errno.EIO,
    sqlite3.SQLITE_INTERRUPT: errno.EINTR,
}
_SUFFIXES = ("", "-wal", "-shm")


class DamagedState(sqlite3.DatabaseError):
    """The state holds values that adaptc never wrote."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is damaged, so that it must be discarded and everything built anew."""
    return _code(error) not in _ERRNO


def has_schema(db: sqlite3.Connection, schema: int) -> bool:
    """Whether a database is of this version of its tables; a damaged one is not. Raises errors of the system."""
    try:
        return bool(db.execute("PRAGMA user_version").fetchone()[0] == schema)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            db.close()
            raise
        return False


def system_error(error: sqlite3.Error, path: Path) -> OSError:
    """Return an error of the system as ``OSError``."""
    number = _ERRNO.get(_code(error), errno.EIO)
    if number == errno.EIO and _is_disk_full(path.parent):
        number = errno.ENOSPC  # SQLite says that it could not write, and not why
    return OSError(number, f"{os.strerror(number)} ({error})", os.fspath(path))


def _is_disk_full(directory: Path) -> bool:
    try:
        return os.statvfs(directory).f_bavail == 0
    except OSError:
        return False


def reason_of_damage(error: Exception, path: Path) -> str:
    """Return what is wrong with the file, by an error of SQLite or of ``MALFORMED``.

    Raises ``OSError`` for an error of the system.
    """
    if isinstance(error, sqlite3.Error) and not is_damage(error):
        raise system_error(error, path) from None
    return str(error) if isinstance(error, sqlite3.Error) else f"{type(error).__name__}: {error}"


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF  # without the extended part


def discard(path: Path) -> None:
    """Remove a file of SQLite with its log, or what is in their place. Raises ``OSError``."""
    for suffix in _SUFFIXES:
        with contextlib.suppress(FileNotFoundError):
            _remove(f"{path}{suffix}")


def _remove(path: str) -> None:
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def discard_foreign(path: Path) -> str | None:
    """Remove what SQLite could never open: a directory, a link, a file that this user may not write.

    Returns what was there, or ``None``. Raises ``OSError`` when it cannot be removed.
    """
    for suffix in _SUFFIXES:
        with contextlib.suppress(FileNotFoundError):
            reason = _why_foreign(f"{path}{suffix}")
            if reason is not None:
                discard(path)
                return reason
    return None


def _why_foreign(path: str) -> str | None:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return f"{os.path.basename(path)} is not a regular file"
    if not os.access(path, os.R_OK | os.W_OK):
        return f"{os.path.basename(path)} cannot be read and written"
    return None


# ---- values

# The trees have files of these names; a name that leads out of them would have a build remove something else
_CONDITIONS = {
    "path": "typeof({0}) = 'blob' AND '/' || CAST({0} AS TEXT) || '/' NOT GLOB '*/../*' AND {0} NOT GLOB '/*'",
    "path?": "({0} IS NULL OR typeof({0}) = 'blob')",
    "row": "typeof({0}) = 'text' AND {0} GLOB '[[]\"*]'",
    "level": "typeof({0}) = 'text' AND {0} NOT GLOB '*/*' AND {0} NOT IN ('', '.', '..')",
}


def check_values(db: sqlite3.Connection, types: Mapping[str, str]) -> None:
    """Raise ``DamagedState`` for a value of another type than adaptc gave it; ``types`` are the columns of tables.

    A type may be the texts that there are, with ``|`` in between.
    """
    for table, columns in types.items():
        conditions = " AND ".join(_condition(*column.split()) for column in columns.split(", "))
        if db.execute(f"SELECT 1 FROM {table} WHERE NOT ({conditions}) LIMIT 1").fetchone() is not None:
            raise DamagedState(f"the table {table} has values that adaptc did not write")


def _condition(column: str, kind: str) -> str:
    if "|" in kind:
        return f"{column} IN ({', '.join(map(repr, kind.split('|')))})"
    if kind in _CONDITIONS:
        return _CONDITIONS[kind].format(column)
    types = f"'{kind[:-1]}', 'null'" if kind.endswith("?") else f"'{kind}'"
    return f"typeof({column}) IN ({types})"


# ---- files that are as adaptc left them

_LEFT = "left"
# How far in the past, in ns: longer than any tick
_PAST = 1_000_000_000


def is_as_left(db: sqlite3.Connection, path: Path) -> bool:
    """Whether nobody wrote to the file ``path`` since ``leave``; ``db`` is what opened it, and has read nothing yet."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_LEFT,)).fetchone()
    if row is None or _has_log(path):
        return False
    boot = boot_id()
    return boot is not None and row[0] == json.dumps([os.stat(path).st_mtime_ns, boot])


def leave(db: sqlite3.Connection, path: Path) -> None:
    """Close the file ``path``, of which all values are known to be right."""
    stamp = time.time_ns() - _PAST
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_LEFT, json.dumps([stamp, boot_id()])))
    db.close()
    with contextlib.suppress(PermissionError):  # it belongs to somebody else, and is checked next time
        os.utime(path, ns=(stamp, stamp))


def _has_log(path: Path) -> bool:
    """Whether what was written last is still in the log: whoever wrote it did not end well."""
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except FileNotFoundError:
        return False
