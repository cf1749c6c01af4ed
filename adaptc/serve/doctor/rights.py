"""Whether a user of the machine may read a file, by owner, group and mode; access control lists are not looked at."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.serve.doctor.setup import Account

READ, SEARCH = stat.S_IROTH, stat.S_IXOTH


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file or directory that keeps an account out, its mode, and the letters that it lacks."""

    path: str
    mode: int
    lacks: str


def refusals(root: Path, account: Account) -> Iterator[Refusal]:
    """Yield what keeps ``account`` from reading ``root`` and all below it; the way to it comes first.

    Links are followed to where they lead. Raises ``OSError`` where this process itself may not look.
    """
    real = os.path.realpath(root)
    for parent in reversed(Path(real).parents):
        yield from _refused(os.fspath(parent), account)
    yield from _below(real, account)


def _below(path: str, account: Account) -> Iterator[Refusal]:
    found = list(_refused(path, account))
    yield from found
    if found or not os.path.isdir(path):
        return
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if not entry.is_symlink():
                yield from _below(entry.path, account)


def _refused(path: str, account: Account) -> Iterator[Refusal]:
    status = os.stat(path)
    needed = SEARCH if stat.S_ISDIR(status.st_mode) else READ
    if not _grants(status, account, needed):
        yield Refusal(path, stat.S_IMODE(status.st_mode), "x" if needed == SEARCH else "r")


def _grants(status: os.stat_result, account: Account, needed: int) -> bool:
    """Whether the bits that count for an account hold ``needed``: those of the owner, or of a group, or of others."""
    if account.uid == 0:
        return True
    if status.st_uid == account.uid:
        return bool(status.st_mode & (needed << 6))
    return bool(status.st_mode & (needed << 3 if status.st_gid in account.gids else needed))
