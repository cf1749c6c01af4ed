"""What a server on this machine says of itself."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from adaptc.core.diagnostics import UsageError
from adaptc.serve.doctor.directives import Directive


@dataclass(frozen=True, slots=True)
class Account:
    """Who a server's workers run as: user id, and all group ids."""

    name: str
    uid: int
    gids: frozenset[int]


@dataclass(frozen=True, slots=True)
class Setup:
    """A server and its configuration.

    ``refusal`` is what the server says when it does not take its configuration, None when it does; then modules,
    account and directives are known as far as the files could be read. ``file`` is the main file.
    """

    server: str
    file: str
    refusal: str | None
    account: Account
    modules: frozenset[str]
    directives: tuple[Directive, ...]


def account_of(name: str) -> Account:
    """Return the account of a user name, or of a number behind ``#``. Raises ``UsageError`` when there is none."""
    try:
        found = pwd.getpwuid(int(name[1:])) if name.startswith("#") else pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"there is no user {name} on this machine") from None
    return Account(found.pw_name, found.pw_uid, frozenset(os.getgrouplist(found.pw_name, found.pw_gid)))
