"""The exit codes of every command, in one table (documented in docs/exit-codes.md)."""

from __future__ import annotations

import errno
from enum import IntEnum


class ExitCode(IntEnum):
    """What a command tells the shell."""

    DONE = 0
    WITH_ERRORS = 1  # done, but something could not be built: there are diagnostics of severity error
    USAGE = 2  # wrong option, path or configuration: nothing was done
    INTERNAL = 3  # a bug, or the output cannot be written
    BUSY = 4  # another build holds the output; crawl: a network failure (wget's code)
    TLS = 5  # crawl: a certificate that is not trusted
    CREDENTIALS = 6  # crawl: user and password are missing or wrong; publish: the store refuses access
    PROTOCOL = 7  # crawl: what a server sent is not HTTP, or a redirect leads nowhere
    SERVER = 8  # crawl: a server answered with an error, for example 404; publish: a request to the store failed
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it


# Errors of the system that are no bug: the disk, its quota, rights, or files open at once.
SYSTEM_ERRORS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.EIO,
        errno.EFBIG,
        errno.EMFILE,
        errno.ENFILE,
        errno.ELOOP,  # a link that leads out of the output
    }
)
