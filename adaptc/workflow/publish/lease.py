"""The lock of a target: an object that its holder renews, so that publishers exclude each other.

A publisher first writes an object of its own name and then lists those of all. Of two that do so at once, the one that
lists last sees both, whatever the order; one that sees another gives way. That needs a store whose listings show what
was written before, as those of S3 (since 2020), Google, Azure and file systems do, and nothing else: conditional
writes, which stores and their clients have in different forms, would make a new lock safe but not the replacing of an
expired one. Ages are differences of times that the store gave, so the clocks of publishers do not matter.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator

from adaptc.core.diagnostics import Busy, Fault, RemoteError
from adaptc.core.remote import Headers, Remote
from adaptc.workflow.publish.record import PRIVATE

LOCKS = f"{PRIVATE}locks"
# Seconds: a lock that was not renewed for so long is that of a publisher that was killed
EXPIRY = 600.0
_RENEWAL = EXPIRY / 10
_HEADERS = Headers("text/plain", None, "no-store")


class Lease:
    """The lock of ``remote``, held; ``require`` says whether it still is."""

    def __init__(self, remote: Remote, name: str, holder: bytes) -> None:
        self.remote, self.name, self.holder = remote, name, holder
        self._is_lost = False
        self._ended = threading.Event()

    def require(self) -> None:
        """Raise ``Busy`` when another publisher took the lock over, since this one was suspended for long."""
        if self._is_lost:
            raise Busy(f"{self.remote.url}: another publisher took the lock over; publish again")

    def renew(self) -> None:
        """Renew the lock, or note that it is lost."""
        if self.remote.read(self.name) is None:
            self._is_lost = True
        else:
            self.remote.write(self.name, self.holder, _HEADERS)

    def keep(self) -> None:
        """Renew the lock until ``end`` is called."""
        while not self._ended.wait(_RENEWAL):
            with contextlib.suppress(RemoteError):  # sending fails as well, or it works the next time
                self.renew()

    def end(self) -> None:
        """Stop renewing."""
        self._ended.set()


@contextlib.contextmanager
def hold_lease(remote: Remote) -> Iterator[Lease]:
    """Hold the lock of ``remote``. Raises ``Busy`` when another publisher has it, and ``RemoteError``."""
    holder = f"{socket.gethostname()}, process {os.getpid()}"
    lease = Lease(remote, f"{LOCKS}/{os.urandom(8).hex()}", holder.encode("utf-8", "replace"))
    thread = threading.Thread(target=lease.keep, daemon=True)
    remote.write(lease.name, lease.holder, _HEADERS)
    try:
        _refuse_others(lease)
        thread.start()
        yield lease
    finally:
        lease.end()
        if thread.is_alive():
            thread.join()  # it must not write the lock once it is removed
        _remove(lease)


def _remove(lease: Lease) -> None:
    try:
        lease.remote.remove(lease.name)
    except RemoteError as error:
        if error.fault is Fault.ACCESS:
            reason = "the lock stays until it expires, for want of the right to remove objects"
            raise RemoteError(error.fault, f"{error}; what was sent is published, but {reason}") from error
        # otherwise it just expires: the connection is lost


def _refuse_others(lease: Lease) -> None:
    locks = lease.remote.files(LOCKS)
    own = locks.pop(lease.name, None)
    for name, lock in locks.items():
        if own is None or own.modified - lock.modified < EXPIRY:
            holder = (lease.remote.read(name) or b"").decode("utf-8", "replace")
            raise Busy(
                f"{lease.remote.url}: another publisher holds the lock ({holder}); "
                f"if that was killed, the lock expires {EXPIRY / 60:.0f} minutes after its last renewal"
            )
        lease.remote.remove(name)
