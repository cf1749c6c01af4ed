"""A cache by URL that machines share: what one of them made, no other makes again.

The cache of this machine stays the one that a build uses. Before units are built, what others made for them is fetched
into it; after, what was made here is packed and stored. So no worker ever waits for a store, and a store that cannot be
reached, or holds damaged files, costs time and nothing else: it is reported once, and artifacts are made here.

``packs/`` holds packs, the artifacts of many units in a file, and their indices. Neither is ever changed, so that any
number of machines may write at once. Rules of the store may remove the oldest: what is missed then is stored again.

A request to an object store takes some 20 ms, whatever its size, and a build asks for thousands of small artifacts. So
those of a unit are a bundle, bundles of many units a pack, and neighbours in a pack come with one request. An index has
the place and the digest of each bundle. It is named by its own digest, so that whatever was damaged is noticed.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import zstandard

from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.cache.tracing import artifacts, is_artifact, put_artifact
from adaptc.core.diagnostics import Diagnostic, RemoteError, diagnose
from adaptc.core.digest import digest_bytes
from adaptc.core.remote import CONNECTIONS, Headers, Remote
from adaptc.core.values import dataclass

# Names of artifacts, and their contents
Bundle = Mapping[str, bytes]

# Most artifacts are encoded already; records shrink to a third, in no time
_LEVEL = 3
# Bundles nearer to each other than this are fetched with one request, and at most so many bytes at a time
_GAP, _MOST = 1 << 16, 8 << 20
# A bundle that claims to be larger than this when unpacked is taken for damaged
_LARGEST = 1 << 30


class Place(NamedTuple):
    """Where a bundle is in a pack, and the SHA-256 of its bytes there."""

    start: int
    end: int
    digest: str


def pack_bundle(bundle: Bundle) -> bytes:
    """Return a bundle as bytes."""
    header = json.dumps([[name, len(content)] for name, content in bundle.items()], separators=(",", ":"))
    return zstandard.ZstdCompressor(_LEVEL).compress(b"\n".join((header.encode("ascii"), b"".join(bundle.values()))))


def unpack_bundle(packed: bytes, digest: str) -> dict[str, bytes] | None:
    """Return the bundle that ``pack_bundle`` packed; None where its bytes do not have this digest."""
    if digest_bytes(packed) != digest:
        return None
    header, _, contents = zstandard.ZstdDecompressor().decompress(packed, _LARGEST).partition(b"\n")
    bundle, start = {}, 0
    for name, size in json.loads(header):
        bundle[name] = contents[start : start + size]
        start += size
    return bundle


def pack_index(bundles: Iterable[tuple[str, bytes]]) -> tuple[bytes, bytes]:
    """Return a pack of (id, packed bundle), and its index."""
    places: dict[str, Place] = {}
    contents = []
    end = 0
    for key, packed in bundles:
        start, end = end, end + len(packed)
        places[key] = Place(start, end, digest_bytes(packed))
        contents.append(packed)
    index = json.dumps(places, separators=(",", ":")).encode("ascii")
    return b"".join(contents), zstandard.ZstdCompressor(_LEVEL).compress(index)


def read_index(index: bytes) -> dict[str, Place]:
    """Return the places of bundles by id."""
    rows = json.loads(zstandard.ZstdDecompressor().decompress(index, _LARGEST))
    return {key: Place(*row) for key, row in rows.items()}


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a pack that is fetched with one request, and the ids of the bundles in it that are wanted."""

    start: int
    end: int
    bundles: tuple[tuple[str, Place], ...]


def spans_of(wanted: Iterable[tuple[str, Place]]) -> Iterator[Span]:
    """Yield the parts of one pack that hold the bundles."""
    group: list[tuple[str, Place]] = []
    for key, place in sorted(wanted, key=lambda item: item[1]):
        if group and (place.start - group[-1][1].end > _GAP or place.end - group[0][1].start > _MOST):
            yield Span(group[0][1].start, group[-1][1].end, tuple(group))
            group = []
        group.append((key, place))
    if group:
        yield Span(group[0][1].start, group[-1][1].end, tuple(group))


_PACKS = "packs"
_PACK, _INDEX = ".pack", ".index"
# Names become paths on this machine
_IS_INDEX = re.compile(rf"{_PACKS}/([0-9a-f]{{64}}){re.escape(_INDEX)}").fullmatch
_HEADERS = Headers("application/octet-stream")
# Bytes of a pack, about, and how many are stored at a time
_PACK_SIZE, _UPLOADS = 8 << 20, 4
# What a file that is damaged, or of another version, raises when it is read
_DAMAGED = (ValueError, TypeError, LookupError, AttributeError, zstandard.ZstdError, OverflowError)


class RemoteCache:
    """The cache at ``url``, with ``store``, that of this machine, in front. Raises ``UsageError`` for a wrong URL.

    ``problem`` is a warning, once there was a problem.
    """

    def __init__(self, url: str, store: Store, *, is_readonly: bool) -> None:
        self.url, self.store, self.is_readonly = url, store, is_readonly
        self.problem: Diagnostic | None = None
        self._pending: dict[str, list[str]] = {}
        self._known: set[str] = set()
        self._adopted: set[str] = set()
        self._packed: list[tuple[str, bytes]] = []  # what is adopted and not stored yet, and its bytes
        self._packed_size = 0
        self._lock = threading.Lock()
        self._remote: Remote | None = None
        try:
            self._remote = Remote(url)
        except RemoteError as error:
            self._give_up(error)

    def fetch(self, keys: Iterable[str]) -> None:
        """Fetch the bundles of these traces into the store of this machine, which has none of them yet."""
        remote, wanted = self._remote, {key for key in keys if self.store.record(key) is None}
        if remote is None or not wanted:
            return
        try:
            with ThreadPoolExecutor(CONNECTIONS, "fetch") as threads:
                found = self._find(remote, wanted, threads)
                parts = [(pack, span) for pack, places in found.items() for span in spans_of(places.items())]
                for _ in threads.map(lambda part: self._fetch_span(remote, *part), parts):
                    pass
        except RemoteError as error:
            self._give_up(error)

    def _find(self, remote: Remote, wanted: set[str], threads: ThreadPoolExecutor) -> dict[str, dict[str, Place]]:
        """Return the bundles by pack; where several packs have one, the latest counts."""
        listed = sorted((file.modified, name) for name, file in remote.files(_PACKS).items() if _IS_INDEX(name))
        names = [name for _, name in listed]
        latest: dict[str, tuple[str, Place]] = {}
        for name, places in zip(names, threads.map(lambda name: self._index(remote, name), names), strict=True):
            pack = name.removesuffix(_INDEX) + _PACK
            latest.update({key: (pack, place) for key, place in places.items() if key in wanted})
        found: dict[str, dict[str, Place]] = {}
        for key, (pack, place) in latest.items():
            found.setdefault(pack, {})[key] = place
        return found

    def _index(self, remote: Remote, name: str) -> Mapping[str, Place]:
        """Return an index: from this machine, where it was read before."""
        digest = name.removeprefix(f"{_PACKS}/").removesuffix(_INDEX)
        index = self.store.content(digest)
        if index is None:
            index = remote.read(name)
            if index is None:
                return {}
            if digest_bytes(index) != digest:
                self._note(f"{self.url}/{name} is damaged")
                return {}
            self.store.put(index, digest)
        try:
            return read_index(index)
        except _DAMAGED:  # made by another version
            return {}

    def _fetch_span(self, remote: Remote, pack: str, span: Span) -> None:
        content = remote.read(pack, span.start, span.end)
        if content is None:  # removed since it was listed
            return
        for _, place in span.bundles:
            packed = content[place.start - span.start : place.end - span.start]
            try:
                bundle = unpack_bundle(packed, place.digest)
            except _DAMAGED:
                bundle = None
            if bundle is None or not all(map(is_artifact, bundle)):
                self._note(f"{self.url}/{pack} is damaged")
                continue
            for name, artifact in bundle.items():
                put_artifact(self.store, name, artifact)
            with self._lock:
                self._known.update(bundle)

    # ---- what was made here

    def share_later(self, key: str, record: str) -> None:
        """Have ``share`` store a record that was made now by the trace ``key``, even if an older one was fetched."""
        self._known.discard(record)
        self._pending[key] = [record]

    def adopt(self, key: str, packed: bytes) -> None:
        """Store the bundle of a trace that a worker packed, with others: ``share`` need not pack it. For threads."""
        with self._lock:
            self._adopted.add(key)
            self._packed.append((key, packed))
            self._packed_size += len(packed)
            if self._packed_size < _PACK_SIZE:
                return
            bundles, self._packed, self._packed_size = self._packed, [], 0
        if self._remote is not None:
            try:
                _upload(self._remote, *pack_index(bundles))
            except RemoteError as error:
                self._give_up(error)

    def share(self, traces: Mapping[str, Sequence[str]]) -> None:
        """Store the artifacts and records of these traces, where something of a unit was not fetched before."""
        remote, places = self._remote, threading.Semaphore(_UPLOADS)
        if remote is None or self.is_readonly:
            return

        def upload(pack: bytes, index: bytes) -> None:
            try:
                _upload(remote, pack, index)
            finally:
                places.release()

        with ThreadPoolExecutor(_UPLOADS, "share") as threads:
            uploads = []
            for pack, index in self._packs({**traces, **self._pending}):
                places.acquire()  # no more of them in memory than are stored at a time
                uploads.append(threads.submit(upload, pack, index))
        for each in uploads:
            try:
                each.result()
            except RemoteError as error:
                self._give_up(error)

    def _packs(self, traces: Mapping[str, Sequence[str]]) -> Iterator[tuple[bytes, bytes]]:
        bundles, size = self._packed, self._packed_size
        self._packed, self._packed_size = [], 0
        for key, records in traces.items():
            if key in self._adopted and len(records) == 1:  # equal files have one trace, and may be of two workers
                continue
            names = dict.fromkeys([*(self.store.record(key) or ()), *records])
            bundle = {} if self._known.issuperset(names) else dict(artifacts(self.store, names))
            if not bundle:
                continue
            packed = pack_bundle(bundle)
            bundles.append((key, packed))
            size += len(packed)
            if size >= _PACK_SIZE:
                yield pack_index(bundles)
                bundles, size = [], 0
        if bundles:
            yield pack_index(bundles)

    # ---- problems

    def _give_up(self, error: RemoteError) -> None:
        self._remote = None
        self._note(str(error))

    def _note(self, reason: str) -> None:
        self.problem = self.problem or diagnose("remote-cache-failed", reason=reason)


def _upload(remote: Remote, pack: bytes, index: bytes) -> None:
    name = f"{_PACKS}/{digest_bytes(index)}"
    remote.write(name + _PACK, pack, _HEADERS)
    remote.write(name + _INDEX, index, _HEADERS)
