"""What a target holds besides the site: the record of what was published, and the lock of its publishers."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import threading
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from adaptc.core.diagnostics import Busy, Fault, RemoteError, UsageError
from adaptc.core.remote import Headers, Remote, RemoteFile
from adaptc.core.values import dataclass, field

# ---- the record: an object by which the next publication finds what changed
#
# It says of each object what it was meant to be (its fingerprint) and what the store listed then. Both must still hold:
# an object which somebody else replaced is sent again. An object that is being sent has an entry without a
# fingerprint: after an interruption it is known to be ours, and to be in an unknown state.

PRIVATE = ".adaptc/"
RECORD = f"{PRIVATE}published.json.gz"
_SCHEMA = 1
_HEADERS = Headers("application/gzip", None, "no-store")


class Entry(NamedTuple):
    """An object as it was sent; ``version`` is "" until the store has listed it.

    ``encodes`` is the path of the file of which the object is an encoding under a name of its own, else "".
    """

    fingerprint: str
    size: int = 0
    version: str = ""
    encodes: str = ""

    def is_current(self, fingerprint: str, listed: RemoteFile | None) -> bool:
        """Whether the object is what it should be, by its ``fingerprint`` and what the store lists of it."""
        if listed is None or self.fingerprint != fingerprint or self.size != listed.size:
            return False
        return self.version in ("", listed.version)


@dataclass(slots=True)
class Record:
    """Objects by name, and the names of those whose old content caches may hold until a publication is complete."""

    entries: dict[str, Entry] = field(default_factory=dict)
    outdated: set[str] = field(default_factory=set)

    def write(self, remote: Remote) -> None:
        """Store the record. Raises ``RemoteError``."""
        values = {"schema": _SCHEMA, "files": self.entries, "outdated": sorted(self.outdated)}
        text = json.dumps(values, separators=(",", ":"), sort_keys=True).encode("ascii")
        remote.write(RECORD, gzip.compress(text, 6, mtime=0), _HEADERS)

    def settle(self, listing: Mapping[str, RemoteFile]) -> None:
        """Take over the versions of what was sent since the record was read."""
        for name, entry in self.entries.items():
            if not entry.version and name in listing:
                self.entries[name] = entry._replace(version=listing[name].version)


def read_record(remote: Remote) -> Record | None:
    """Return the record at the target, None when there is none. Raises ``UsageError`` if it is damaged."""
    content = remote.read(RECORD)
    if content is None:
        return None
    try:
        values = json.loads(gzip.decompress(content))
        if values["schema"] != _SCHEMA:
            raise ValueError(f"it has schema {values['schema']}, not {_SCHEMA}")
        entries = {name: Entry(*row) for name, row in values["files"].items()}
        return Record(entries, set(values["outdated"]))
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, zlib.error) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"{remote.url}/{RECORD} is not a record of this version of adaptc ({reason}): "
            "remove it, and publish with --adopt"
        ) from None


# ---- the lock: an object that its holder renews, so that publishers exclude each other
#
# A publisher first writes an object of its own name and then lists those of all. Of two that do so at once, the one
# that lists last sees both, whatever the order; one that sees another gives way. That needs a store whose listings show
# what was written before, as those of S3 (since 2020), Google, Azure and file systems do, and nothing else: conditional
# writes, which stores and their clients have in different forms, would make a new lock safe but not the replacing of an
# expired one. Ages are differences of times that the store gave, so the clocks of publishers do not matter.

LOCKS = f"{PRIVATE}locks"
# Seconds: a lock that was not renewed for so long is that of a publisher that was killed
EXPIRY = 600.0
_RENEWAL = EXPIRY / 10
_LOCK_HEADERS = Headers("text/plain", None, "no-store")


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
            self.remote.write(self.name, self.holder, _LOCK_HEADERS)

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
    remote.write(lease.name, lease.holder, _LOCK_HEADERS)
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
