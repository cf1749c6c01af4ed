"""What a worker does for a build with which it has no directory in common (``exchange``)."""

from __future__ import annotations

import dataclasses
import errno
import shutil
import socket
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard

from adaptc.compile.engine.cache.remote import Place, Span, pack_bundle, pack_index, spans_of, unpack_bundle
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.cache.tracing import OBJECT, RECORD, artifacts, put_artifact, record_name, trace_key
from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.workers.task import Answer, SourceLacking, Work, perform
from adaptc.core import media
from adaptc.core.diagnostics import RemoteError
from adaptc.core.digest import digest_bytes
from adaptc.core.fs import write_atomic
from adaptc.core.remote import Headers, Remote
from adaptc.core.values import dataclass

if TYPE_CHECKING:
    from adaptc.compile.engine.unit.snapshot import SharedSnapshot, Snapshot

_HEADERS = Headers("application/octet-stream")
# Requests at a time
_FETCHES = 8
# Another worker may have a disk that works, but this one would take batch after batch
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
# Builders begin together
_opening = threading.Lock()


class Parcel(NamedTuple):
    """What a batch made: its ``pack``, the index of that, and keys of bundles.

    ``shared`` are those that other batches may need, ``partial`` those without what the build had.
    """

    pack: str
    places: bytes
    shared: frozenset[str]
    partial: frozenset[str]


class RemoteSnapshot(NamedTuple):
    """Where a snapshot is: the URL of the store, the folder of the build, the names of the snapshot and its sources."""

    url: str
    folder: str
    name: str
    sources: str


@dataclass(frozen=True, slots=True)
class RemoteOrder:
    """A batch. ``digests`` are those of sources that the snapshot does not have, ``places`` where the sources are."""

    snapshot: RemoteSnapshot
    work: Work[Any, Any]
    units: tuple[Any, ...]
    digests: Mapping[str, str]
    places: tuple[tuple[str, Place], ...]

    def carry_out(self) -> Answer:
        """Do the work, or refuse to for want of disk. Raises ``ConnectionError`` where the store cannot be reached."""
        try:
            with _opening:
                bench = _bench(self.snapshot.url, self.snapshot.folder)
                snapshot = bench.snapshot(self.snapshot)
            bench.fetch(self.places)
            bench.sources.digests.update(self.digests)
            answer = perform(self.work, snapshot, self.units)
            if isinstance(answer.error, OSError):
                raise answer.error
            results = [result for result in answer.results if isinstance(result, UnitResult)]
            return dataclasses.replace(answer, parcel=bench.pack(results, snapshot.snapshot))
        except RemoteError as error:  # it has arguments of its own, and cannot be pickled
            raise ConnectionError(str(error)) from None
        except OSError as error:
            if error.errno not in _DISK_ERRORS:
                raise
            return Answer(refusal=f"the worker on {socket.gethostname()} cannot store what it needs: {error.strerror}")


class FetchedSources:
    """The contents of sources that were fetched. Raises ``SourceLacking``."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.digests: dict[str, str] = {}
        self.snapshot: Snapshot | None = None

    def read(self, path: str) -> bytes:
        """Return the content of a source."""
        assert self.snapshot is not None
        digest = self.digests.get(path) or self.snapshot.sources[path].digest
        content = self.store.content(digest)
        if content is None:
            raise SourceLacking(path)
        return content

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the content of a source."""
        yield self.read(path)


class _Bench:
    """What this process has for one build: a store of its own, and what it fetched."""

    def __init__(self, url: str, folder: str) -> None:
        self.remote, self.folder = Remote(url), folder
        self.directory = Path(tempfile.mkdtemp(prefix="adaptc-", dir=_scratch()))
        weakref.finalize(self, shutil.rmtree, self.directory, ignore_errors=True)
        self.store = Store(self.directory / "cache")
        self.sources = FetchedSources(self.store)
        self.snapshot = lru_cache(maxsize=1)(self._snapshot)
        self._fetched: set[str] = set()  # digests of bundles
        self._known: set[str] = set()  # artifacts that the build has
        self._threads = ThreadPoolExecutor(_FETCHES, "fetch")

    def _snapshot(self, remote: RemoteSnapshot) -> SharedSnapshot:
        from adaptc.compile.engine.unit.snapshot import SOURCES, SharedSnapshot, read_snapshot

        file = f"{self.directory}/snapshot"
        content = self._unpacked(remote.name)
        write_atomic(file, content)
        write_atomic(file + SOURCES, self._unpacked(remote.sources))
        snapshot = read_snapshot(file, digest_bytes(content))
        self.sources.snapshot = snapshot
        self.sources.digests.clear()
        nowhere = self.directory / "none"
        cache = Path(self.store.root)
        own = dataclasses.replace(snapshot, docroot=nowhere, output=nowhere, cache=cache, contents=self.sources)
        return SharedSnapshot(own, self.directory)

    def _unpacked(self, name: str) -> bytes:
        """Return a file of our build, which its digest proves: it is unpickled."""
        packed = self._read(name)
        if not name.endswith(f"/{digest_bytes(packed)}"):
            raise ConnectionError(f"{name} is damaged")
        return zstandard.ZstdDecompressor().decompress(packed)

    def _read(self, name: str, start: int | None = None, end: int | None = None) -> bytes:
        content = self.remote.read(name, start, end)
        if content is None:
            raise ConnectionError(f"{name} is gone")
        return content

    def fetch(self, places: Iterable[tuple[str, Place]]) -> None:
        """Fetch bundles, but for those that were fetched before."""
        wanted: dict[str, list[Place]] = {}
        for pack, place in set(places):
            if place.digest not in self._fetched:
                wanted.setdefault(pack, []).append(place)
        spans = [
            (pack, span) for pack, found in wanted.items() for span in spans_of((each.digest, each) for each in found)
        ]
        for _ in self._threads.map(lambda part: self._fetch_span(*part), spans):
            pass

    def _fetch_span(self, pack: str, span: Span) -> None:
        content = self._read(pack, span.start, span.end)
        for _, place in span.bundles:
            bundle = unpack_bundle(content[place.start - span.start : place.end - span.start], place.digest)
            if bundle is None:
                raise ConnectionError(f"{pack} is damaged")
            for name, artifact in bundle.items():
                put_artifact(self.store, name, artifact)
            self._known.update(bundle)
            self._fetched.add(place.digest)

    def pack(self, results: Iterable[UnitResult], snapshot: Snapshot) -> Parcel | None:
        """Write what the build does not have of the artifacts of units."""
        bundles, packed = dict[str, dict[str, bytes]](), set[str]()
        shared, partial = set[str](), set[str]()
        for result in results:
            source = snapshot.sources[result.path]
            key = trace_key(snapshot.recipes[result.level], source.media_type, source.digest)
            names = {RECORD + key, *(self.store.record(key) or ())}
            names.add(record_name(result.level, result.path, snapshot.recipes[result.level], source.digest))
            names.update(OBJECT + output.key for _, output in result.files())
            # equal files have one key: what the first of them brought is packed
            bundle = bundles.setdefault(key, {})
            bundle.update(artifacts(self.store, sorted(names - self._known - packed)))
            packed |= names
            if not names - {OBJECT + source.digest} <= bundle.keys():
                partial.add(key)
            if source.media_type != media.HTML:
                shared.add(key)
        if not bundles:
            return None
        content, index = pack_index((key, pack_bundle(bundle)) for key, bundle in bundles.items())
        name = f"{self.folder}/{digest_bytes(content)}"
        self.remote.write(name, content, _HEADERS)
        return Parcel(name, index, frozenset(shared), frozenset(partial))


@lru_cache(maxsize=1)
def _bench(url: str, folder: str) -> _Bench:
    return _Bench(url, folder)


def _scratch() -> str | None:
    """Return the directory of a worker of Dask for such files, which it removes after a kill; ``None`` elsewhere."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return str(distributed.get_worker().local_directory)
    except ValueError:  # no worker
        return None
