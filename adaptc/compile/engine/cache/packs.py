"""Packs: the artifacts of many units in one file of a remote cache, with an index.

A request to an object store takes some 20 ms, whatever its size, and a build asks for thousands of small artifacts. So
those of a unit are a bundle, bundles of many units a pack, and neighbours in a pack come with one request. An index has
the place and the digest of each bundle. It is named by its own digest, so that whatever was damaged is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import zstandard

from adaptc.core.digest import digest_bytes

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
