"""The record of what was published: an object at the target, by which the next publication finds what changed.

It says of each object what it was meant to be (its fingerprint) and what the store listed then. Both must still hold:
an object which somebody else replaced is sent again. An object that is being sent has an entry without a
fingerprint: after an interruption it is known to be ours, and to be in an unknown state.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from adaptc.core.diagnostics import UsageError
from adaptc.core.remote import Headers, Remote, RemoteFile

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
