"""The medium of workers that have no directory in common with the build: a folder of the remote cache.

Sources go there by their digests, in packs (``cache.remote``), with the artifacts that are known of them. A worker
fetches what a batch needs into a store of its own, and packs what it made; this process unpacks that into the cache. A
batch comes with its own sources and what these embed; a worker that needs more says so, and gets the batch once more.

Everything is below ``work/`` and a random name, and is removed at the end; what a killed build left is, after a week.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zstandard

from adaptc.compile.engine.cache.remote import Place, pack_bundle, pack_index, read_index, unpack_bundle
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.cache.tracing import OBJECT, artifacts, put_artifact, trace_key
from adaptc.compile.engine.unit.snapshot import SOURCES
from adaptc.compile.engine.workers.exchange_worker import Parcel, RemoteOrder, RemoteSnapshot
from adaptc.compile.engine.workers.task import Answer, Work, build_batch, gather_batch
from adaptc.core import media
from adaptc.core.diagnostics import RemoteError
from adaptc.core.digest import digest_bytes
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.remote import CONNECTIONS, Headers, Remote, RemoteFile
from adaptc.core.shortage import Shortage

if TYPE_CHECKING:
    from adaptc.compile.engine.unit.snapshot import SharedSnapshot, Snapshot
    from adaptc.compile.engine.workers.executor_pool import Job

WORK = "work"
_HEADERS = Headers("application/octet-stream")
_WEEK = 7 * 24 * 3600.0
# Sources whose embedded files are remembered, and the largest file that is sent before a worker asks for it
_REMEMBERED, _LARGEST_AHEAD = 4096, 8 << 20
# Files of a site whose pages are sent once, to be read and to be built: 0.5 kB of memory for each
_FEW = 1 << 17

# The work that is done by such workers: the path of a unit of it
PATHS: dict[Work[Any, Any], Callable[[Any], str]] = {gather_batch: lambda unit: unit, build_batch: lambda unit: unit[1]}


class Exchange:
    """The folder for one build below ``url``; ``store`` is the cache, ``embeds`` returns what a source embeds.

    ``share`` takes the key of a trace and the packed bundle of all that is known by it.

    Raises ``Shortage`` where the folder cannot be reached or written, here and in every method.
    """

    def __init__(
        self, url: str, store: Store, embeds: Callable[[str], Iterable[str]], share: Callable[[str, bytes], None]
    ) -> None:
        self.url, self.store, self.share = url, store, share
        self.embeds = lru_cache(_REMEMBERED)(lambda path: tuple(embeds(path)))
        self.folder = f"{WORK}/{os.urandom(8).hex()}"
        self._located: dict[str, tuple[str, Place]] = {}  # bundles that later batches need, too
        self._begun: tuple[SharedSnapshot, RemoteSnapshot] | None = None
        try:
            self.remote = Remote(url)
            self._remove(lambda file: file[1].modified < time.time() - _WEEK)
        except RemoteError as error:
            raise _unreachable(error) from error

    def begin(self, snapshot: SharedSnapshot) -> None:
        if self._begun is None or self._begun[0] is not snapshot:
            files = (Path(snapshot.file), Path(snapshot.file + SOURCES))
            names = [self._write(zstandard.ZstdCompressor().compress(file.read_bytes())) for file in files]
            self._begun = snapshot, RemoteSnapshot(self.url, self.folder, *names)

    # ---- to workers

    def related(self, work: Work[Any, Any], units: Iterable[Any], /) -> frozenset[str]:
        pending, found = [PATHS[work](unit) for unit in units], set[str]()
        while work is build_batch and pending:
            added = set(self.embeds(pending.pop())) - found
            found |= added
            pending += added
        return frozenset(found)

    def order(self, work: Work[Any, Any], snapshot: SharedSnapshot, job: Job[Any]) -> RemoteOrder | None:
        assert self._begun is not None
        own = dict.fromkeys(PATHS[work](unit) for unit in job.units)
        loading = _Loading(snapshot.snapshot, self.store, self._located, reads_only=work is gather_batch)
        try:
            for path in (*own, *job.lacking):
                loading.add(path)
        except (OSError, ChangedWhileRead):  # this process finds out what is wrong, and reports it
            return None
        for path in job.related.difference(own):
            loading.add_if_possible(path)
        places = self._send(loading)
        return RemoteOrder(self._begun[1], work, job.units, loading.digests, tuple(places))

    def _send(self, loading: _Loading) -> Iterator[tuple[str, Place]]:
        """Write what is not there yet; yield where everything is."""
        yield from loading.located.values()
        if loading.bundles:
            pack, index = pack_index((key, pack_bundle(bundle)) for key, bundle in loading.bundles.items())
            name = self._write(pack)
            for key, place in read_index(index).items():
                yield name, place
                if key in loading.shared:
                    self._located[key] = name, place

    def _write(self, content: bytes) -> str:
        name = f"{self.folder}/{digest_bytes(content)}"
        try:
            self.remote.write(name, content, _HEADERS)
        except RemoteError as error:
            raise _unreachable(error) from error
        return name

    # ---- from workers

    def receive(self, answer: Answer) -> None:
        parcel: Parcel | None = answer.parcel
        if parcel is None:
            return
        try:
            content = self.remote.read(parcel.pack)
        except RemoteError as error:
            raise _unreachable(error) from error
        for key, place in read_index(parcel.places).items():
            packed = (content or b"")[place.start : place.end]
            bundle = unpack_bundle(packed, place.digest)
            if bundle is None:
                raise Shortage(f"{self.url}/{parcel.pack} is damaged")
            for name, artifact in bundle.items():
                put_artifact(self.store, name, artifact)
            if key not in parcel.partial:
                self.share(key, packed)
            if key in parcel.shared:
                self._located[key] = parcel.pack, place

    def close(self) -> None:
        with contextlib.suppress(RemoteError):  # the build is done; a later one removes what is left
            self._remove(lambda file: file[0].startswith(self.folder))

    def _remove(self, is_old: Callable[[tuple[str, RemoteFile]], bool]) -> None:
        old = filter(is_old, self.remote.files(WORK).items())
        with ThreadPoolExecutor(CONNECTIONS, "remove") as threads:
            for _ in threads.map(self.remote.remove, [name for name, _ in old]):
                pass


class _Loading:
    """What goes with a batch: ``bundles`` to send, those that are ``located``, and the keys that other batches need.

    With ``reads_only`` the digests of the snapshot are those of the last build, or empty.
    """

    def __init__(
        self, snapshot: Snapshot, store: Store, known: Mapping[str, tuple[str, Place]], *, reads_only: bool
    ) -> None:
        self.snapshot, self.store, self.known, self.reads_only = snapshot, store, known, reads_only
        self.tree = DiskTree(snapshot.docroot)
        self.digests: dict[str, str] = {}
        self.bundles: dict[str, Mapping[str, bytes]] = {}
        self.located: dict[str, tuple[str, Place]] = {}
        self.shared: set[str] = set()

    def add(self, path: str) -> None:
        """Add a source and the artifacts of its units. Raises ``OSError`` and ``ChangedWhileRead``."""
        source = self.snapshot.sources[path]
        if source.size > self.snapshot.max_file_bytes:
            raise ChangedWhileRead(path)
        if self.reads_only:
            content = self.tree.read(path)
            digest = self.digests[path] = digest_bytes(content)
            self._add(digest, source.media_type, lambda: self._kept(content, digest))
            if len(self.snapshot.sources) <= _FEW:
                self.shared.add(digest)
            return
        self._add(source.digest, source.media_type, partial(self._source, path))
        for recipe in self.snapshot.recipes.values():
            key = trace_key(recipe, source.media_type, source.digest)
            self._add(key, source.media_type, partial(self._artifacts, key))

    def add_if_possible(self, path: str) -> None:
        """Add what a unit may need; what is left out is asked for."""
        source = self.snapshot.sources.get(path)
        if source is not None and source.size <= _LARGEST_AHEAD and source.alias_of is None:
            try:
                self.add(path)
            except (OSError, ChangedWhileRead):
                return

    def _add(self, key: str, media_type: str, load: Callable[[], Mapping[str, bytes]]) -> None:
        known = self.known.get(key)
        if known is not None:
            self.located[key] = known
        elif key not in self.bundles and (bundle := load()):
            self.bundles[key] = bundle
            if media_type != media.HTML:
                self.shared.add(key)

    def _source(self, path: str) -> Mapping[str, bytes]:
        content, digest = self.tree.read(path), self.snapshot.sources[path].digest
        if digest_bytes(content) != digest:
            raise ChangedWhileRead(path)
        return self._kept(content, digest)

    def _kept(self, content: bytes, digest: str) -> Mapping[str, bytes]:
        if self.snapshot.complete:  # a level that leaves it as it is has it as its file: no worker sends it back
            self.store.put(content, digest)
        return {OBJECT + digest: content}

    def _artifacts(self, key: str) -> Mapping[str, bytes]:
        return dict(artifacts(self.store, self.store.record(key) or ()))


def _unreachable(error: RemoteError) -> Shortage:
    return Shortage(f"workers cannot be sent what they need: {error}")
