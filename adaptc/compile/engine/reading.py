"""Read: the digests and the facts of the files that changed, by workers, and the sums of the facts of all files.

A record in a remote cache has facts of a source that no other machine has to read and parse the file for. They follow
from the content of a file and from where the paths lead to which it refers (``Facts.targets``): a record has a digest
of the latter, so that it counts until one of them leads elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from adaptc.compile.analyse.decisions import NO_DECISIONS
from adaptc.compile.analyse.facts import Facts, affected_targets
from adaptc.compile.analyse.site_sums import SiteSums, sum_up
from adaptc.compile.engine.cache.tracing import RECORD
from adaptc.compile.engine.outdated import FileChanges, racily_clean
from adaptc.compile.engine.reporting import BuildReport, Progress
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.results import (
    source_facts,
    source_values,
)
from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.unit.snapshot import SharedSnapshot, Snapshot
from adaptc.compile.engine.workers.executor import Workers
from adaptc.compile.engine.workers.task import gather_batch
from adaptc.compile.pipeline import facts_recipe
from adaptc.core.diagnostics import Location, diagnose, printable
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.model import Resource
from adaptc.core.shortage import Shortage
from adaptc.core.urls import SiteAddress
from adaptc.core.values import dataclass, replace
from adaptc.site.site import Site
from adaptc.site.source_table import ResourceSources

if TYPE_CHECKING:
    from adaptc.compile.engine.cache.remote import RemoteCache

_SUMS = "sums"


class RunningSums:
    """The sums of the facts in ``state``, while a build replaces those of some files.

    The state forgets its sums when facts change; ``finish`` stores the new ones.
    """

    def __init__(self, state: State, before: Mapping[str, tuple[Resource, str]]) -> None:
        self.state, self.before = state, before
        last = state.meta(_SUMS)
        self._sums = None if last is None else SiteSums.unpack(last)

    def set_facts(self, resource: Resource, facts: Facts) -> None:
        """Store the facts of a file in the state, in place of those before."""
        self._remove(resource.path)
        if self._sums is not None:
            self._sums.add(resource.path, facts, resource.media_type)
        self.state.set_facts(resource.path, facts)

    def forget_source(self, path: str) -> None:
        """Remove a file and its facts from the state."""
        self._remove(path)
        self.state.forget_source(path)

    def _remove(self, path: str) -> None:
        if self._sums is not None:
            for _, facts in self.state.facts(path):
                self._sums.remove(path, facts, self.before[path][0].media_type)

    def finish(self, resources: Mapping[str, Resource]) -> SiteSums:
        """Return the sums of all files, and store them."""
        if self._sums is None:
            self._sums = sum_up(self.state.facts(), lambda path: resources[path].media_type)
        if self.state.meta(_SUMS) is None:
            self.state.set_meta(_SUMS, self._sums.pack())
        return self._sums


Before = Mapping[str, tuple[Resource, str]]
Find = Callable[[dict[str, int]], Iterator[tuple[str, Facts | str]]]


@dataclass(frozen=True, slots=True)
class ReadStage:
    """Reads files in a build that ``started`` at this time, in ns since 1970; ``before`` are the known files."""

    spec: BuildSpec
    state: State
    report: BuildReport
    before: Before
    started: int
    sums: RunningSums

    def gather(
        self, touched: FileChanges, workers: Workers, progress: Progress, remote: RemoteCache | None = None
    ) -> dict[str, str]:
        """Read files, record their facts in the state, and return their digests.

        What the ``remote`` cache knows of is not read by workers here; what those of a cluster read is not sent there.
        Unreadable files are removed from the report's resources. Files that refer to them are read again: their
        references are broken now.
        """
        digests: dict[str, str] = {}
        wanted = {*touched.touched, *self._referring(touched.appeared | touched.disappeared)}
        while wanted:
            find = partial(self._find, workers, None if workers.far else remote)
            wanted = self._referring(self._read(wanted, digests, find, progress))
        self.report.count = len(self.report.resources)
        return digests

    def _read(self, wanted: Set[str], digests: dict[str, str], find: Find, progress: Progress) -> frozenset[str]:
        """Read files and add their digests; return those that are unreadable."""
        report = self.report
        # a link comes right after what it leads to: equal pages are read once
        paths = sorted(wanted, key=lambda path: (report.resources[path].alias_of or path, path))
        sizes = [(path, report.resources[path].size) for path in paths]
        progress.begin("reading", len(sizes), sum(size for _, size in sizes))
        unreadable: dict[str, str] = {}
        for path, facts in find(dict(sizes)):
            progress.advance(1, report.resources[path].size, 0)
            if isinstance(facts, str):
                unreadable[path] = facts
            else:
                resource = report.resources[path]
                digests[resource.path] = facts.digest  # not the path that a worker sent: it is another string
                self._note(resource, facts)
        progress.end()
        for path, reason in unreadable.items():
            report.failures.append(diagnose("unreadable-file", Location(path), reason=reason))
            del report.resources[path]
            digests.pop(path, None)
        return frozenset(unreadable)

    def _find(
        self, workers: Workers, remote: RemoteCache | None, sizes: dict[str, int]
    ) -> Iterator[tuple[str, Facts | str]]:
        """Yield the facts of files of these ``sizes``, or why one cannot be read."""
        snapshot = self._snapshot()
        records = None if remote is None else SourceRecords(remote, snapshot.snapshot)
        for path, facts in () if records is None else records.find(tuple(sizes)):
            del sizes[path]
            yield path, facts
        for path, found in workers.run(gather_batch, snapshot, tuple(sizes.items()), _refuse_to_read):
            if records is not None and isinstance(found, Facts):
                records.put(path, found)
            yield path, found

    def _referring(self, paths: frozenset[str]) -> set[str]:
        """Return the files that refer to those that appeared or disappeared."""
        if not paths or not self.state.has_facts:
            return set()
        affected = affected_targets(paths, self.spec.config.site.index)
        return {path for path in self.state.affected_by_targets(affected) if path in self.report.resources}

    def _snapshot(self) -> SharedSnapshot:
        before = self.before
        sources = ResourceSources(self.report.resources, lambda path: before[path][1] if path in before else "")
        return self.spec.shared_snapshot(sources, replace(NO_DECISIONS, withheld=frozenset(self.report.withheld)))

    def _note(self, resource: Resource, facts: Facts) -> None:
        self.state.set_source(racily_clean(resource, self.started), facts.digest)
        self.sums.set_facts(resource, facts)


def _refuse_to_read(path: str, reason: str) -> NoReturn:
    """Raise ``Shortage``: what pages refer to decides how others are built, so that none can be built without it."""
    raise Shortage(f"{printable(path)} cannot be read: {reason}")


class SourceRecords:
    """The records of the sources of a ``snapshot`` in the ``remote`` cache, and in the store in front of it."""

    def __init__(self, remote: RemoteCache, snapshot: Snapshot) -> None:
        self.remote, self.snapshot = remote, snapshot
        address, withheld = SiteAddress(snapshot.base_url), snapshot.decisions.withheld
        self.site = Site.of(snapshot.sources, address, snapshot.index_names, withheld)

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
        return digest_parts("source/2", facts_recipe(), repr(settings), path, digest)

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
