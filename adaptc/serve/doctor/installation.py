"""An installed server, as the checks see it: its setup, the policy that was emitted for it, and what was built."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.report.manifest import Manifest
from adaptc.serve.policy import CONF_DIRECTORY, Policy
from adaptc.serve.server import Examination, Server


@dataclass(frozen=True, slots=True)
class Section:
    """A section (Apache) or block (nginx). ``line`` distinguishes sections of one name."""

    name: str
    args: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive of ``file``. Apache's names are in lower case; ``within`` has the outermost section first."""

    name: str
    args: tuple[str, ...]
    file: str
    line: int
    within: tuple[Section, ...]


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


@dataclass(frozen=True, slots=True)
class Setup:
    """What a server on this machine reports about itself.

    ``refusal`` is its error message when it refuses its configuration, else None; then modules, account and directives
    are known as far as the files can be read. ``file`` is the main file.
    """

    file: str
    refusal: str | None
    account: Account
    modules: frozenset[str]
    directives: tuple[Directive, ...]


@dataclass(frozen=True, slots=True)
class Installation:
    """A server with its setup.

    ``rendered`` has the servers whose files it reads, each with the texts that ``adaptc emit`` would write now by file
    name; the first are its own, and those to be pasted into the site come last.
    """

    server: Server
    examination: Examination
    setup: Setup
    policy: Policy
    manifest: Manifest
    rendered: tuple[tuple[Server, Mapping[str, str]], ...]

    @property
    def folder(self) -> Path:
        """Where the emitted files are."""
        return Path(self.policy.output) / CONF_DIRECTORY

    @property
    def docroot(self) -> Path:
        """The source of the build, with links in its path unresolved, as in a server's configuration."""
        return Path(self.policy.docroot)

    @property
    def docroots(self) -> tuple[str, ...]:
        """The paths of the docroot, with links unresolved and resolved."""
        return tuple(dict.fromkeys((self.policy.docroot, os.path.realpath(self.policy.docroot))))

    def is_own(self, file: str) -> bool:
        """Whether a file of the server's configuration was written by ``adaptc emit``."""
        return os.path.dirname(os.path.realpath(file)) == os.path.realpath(self.folder)

    def target(self, server: Server, name: str) -> Path:
        """Return the file of the server that has the emitted file ``name`` as its content, or in it."""
        return server.paste.file(self.policy) if server.paste is not None else self.folder / name

    def is_pasted(self, server: Server) -> bool:
        """Whether the file into which people paste the emitted text contains it, in this version or an older one."""
        if server.paste is None:
            return False
        try:
            text = server.paste.file(self.policy).read_text("utf-8", "surrogateescape")
        except OSError:
            return False
        return server.paste.marker(self.policy) in text

    @property
    def has_pasted(self) -> bool:
        """Whether the site itself contains the rules of adaptc."""
        return any(self.is_pasted(server) for server, _ in self.rendered)


# ---- permissions

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
