"""Records of sources in a remote cache: facts that one machine found, and no other has to read and parse a file for.

Facts follow from the content of a file and from where the paths lead to which it refers (``Facts.targets``). A record
has a digest of the latter, so that it counts until one of them leads elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adaptc.compile.analyse.facts import Facts
from adaptc.compile.engine.packed_facts import source_facts, source_values
from adaptc.compile.engine.remote_cache import RemoteCache
from adaptc.compile.engine.spec import Snapshot
from adaptc.compile.engine.tracing_store import RECORD
from adaptc.compile.pipeline import facts_recipe
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.urls import SiteAddress
from adaptc.site.site import Site


class SourceRecords:
    """The records of the sources of a ``snapshot`` in the ``remote`` cache, and in the store in front of it."""

    def __init__(self, remote: RemoteCache, snapshot: Snapshot) -> None:
        self.remote, self.snapshot = remote, snapshot
        self.site = Site.of(snapshot.sources, SiteAddress(snapshot.base_url), snapshot.index_names)

    def find(self, paths: Iterable[str]) -> Iterator[tuple[str, Facts]]:
        """Yield the facts of those sources of which there is a record. Raises ``OSError`` for the store."""
        keys = {path: self._key(path, digest) for path, digest in self._digests(paths)}
        missing = (key for key in keys.values() if self.remote.store.record(key) is None)
        self.remote.fetch(map(_trace, missing))
        for path, key in keys.items():
            record = self.remote.store.record(key)
            if record is not None and record[0] == self._leads(record[1]):
                yield path, source_facts(record[2], tuple(record[1]))

    def put(self, path: str, facts: Facts) -> None:
        """Store a record, and have the remote cache share it. Raises ``OSError``."""
        key = self._key(path, facts.digest)
        self.remote.share_later(_trace(key), RECORD + key)
        self.remote.store.put_record(key, [self._leads(facts.targets), facts.targets, source_values(facts)])

    def _digests(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        tree = DiskTree(self.snapshot.docroot)
        for path in paths:
            if self.site.sources[path].size <= self.snapshot.max_file_bytes:
                try:
                    content = tree.read(path)
                except (OSError, ChangedWhileRead):  # a worker reports it
                    continue
                yield path, digest_bytes(content)

    def _key(self, path: str, digest: str) -> str:
        settings = (self.snapshot.base_url, self.snapshot.index_names, self.site.sources[path].media_type)
        return digest_parts("source", facts_recipe(), repr(settings), path, digest)

    def _leads(self, targets: Iterable[str]) -> str:
        """Return a digest of where URL paths lead."""
        return digest_parts(*(part for target in targets for part in (target, self._answer(target))))

    def _answer(self, target: str) -> str:
        file = self.site.find(target)
        kind = self.site.leads_somewhere(target) if file is None else self.site.sources[file].media_type
        return f"{kind} {file}"


def _trace(key: str) -> str:
    """Return the key of the trace that names just the record of ``key``."""
    return digest_parts("trace", key)
