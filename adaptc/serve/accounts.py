"""The accounts of servers, and what they are not permitted to read."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Account:
    """The user that a server's workers run as: user id, and all group ids."""

    name: str
    uid: int
    gids: frozenset[int]


def account_of(name: str) -> Account:
    """Return the account of a user name, or of a number after ``#``. Raises ``UsageError`` when there is none."""
    try:
        entry = pwd.getpwuid(int(name[1:])) if name.startswith("#") else pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"there is no user {name} on this machine") from None
    return Account(entry.pw_name, entry.pw_uid, frozenset(os.getgrouplist(entry.pw_name, entry.pw_gid)))


READ, SEARCH = stat.S_IROTH, stat.S_IXOTH


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file or directory that an account cannot read, its mode, and the letters that it lacks."""

    path: str
    mode: int
    lacks: str


def refusals(root: Path, account: Account) -> Iterator[Refusal]:
    """Yield what keeps ``account`` from reading ``root`` and all below it, beginning with the directories above it.

    Owner, group and mode decide; access control lists are ignored. Links are followed. Raises ``OSError`` where this
    process itself has no access.
    """
    real = os.path.realpath(root)
    for parent in reversed(Path(real).parents):
        yield from _refused(os.fspath(parent), account)
    yield from _below(real, account)


def _below(path: str, account: Account) -> Iterator[Refusal]:
    refused = list(_refused(path, account))
    yield from refused
    if refused or not os.path.isdir(path):
        return
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.is_symlink():
                yield from _below(entry.path, account)


def _refused(path: str, account: Account) -> Iterator[Refusal]:
    status = os.stat(path)
    needed = SEARCH if stat.S_ISDIR(status.st_mode) else READ
    if not _grants(status, account, needed):
        yield Refusal(path, stat.S_IMODE(status.st_mode), "x" if needed == SEARCH else "r")


def _grants(status: os.stat_result, account: Account, needed: int) -> bool:
    """Whether the bits that apply to an account contain ``needed``: those of the owner, of a group, or of others."""
    if account.uid == 0:
        return True
    if status.st_uid == account.uid:
        return bool(status.st_mode & (needed << 6))
    return bool(status.st_mode & (needed << 3 if status.st_gid in account.gids else needed))
