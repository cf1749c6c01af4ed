"""The links of a file as the frontier keeps them: one blob a file, since a row each would cost as much as fetching."""

from __future__ import annotations

import zlib
from collections.abc import Container, Iterable, Iterator

from adaptc.crawl.discover.link import Link

_WORTHWHILE = 1000  # bytes from which on compressing pays
_ZLIB = b"\x78"  # how a zlib stream begins (RFC 1950); no URL does


def pack(links: Iterable[Link]) -> bytes:
    """Return links as lines of URL, place, line and flags, compressed where there are many."""
    text = "\n".join([_written(*link) for link in links]).encode("utf-8", "surrogatepass")
    return zlib.compress(text, 1) if len(text) > _WORTHWHILE else text


def unpack(blob: bytes) -> Iterator[Link]:
    """Yield what ``pack`` was given."""
    return map(_read, _lines(blob))


def unpack_to(blob: bytes, urls: Container[str]) -> Iterator[Link]:
    """Yield the links that lead to one of ``urls``."""
    return (_read(line) for line in _lines(blob) if line.partition("\t")[0] in urls)


def _lines(blob: bytes) -> list[str]:
    content = zlib.decompress(blob) if blob.startswith(_ZLIB) else blob
    return content.decode("utf-8", "surrogatepass").split("\n") if content else []


def _read(line: str) -> Link:
    url, place, number, flags = line.split("\t")
    return Link(url, flags[0] == "1", place, int(number), flags[1] == "1", flags[2] == "1")


def _written(url: str, requisite: bool, place: str, line: int, is_relative: bool, nofollow: bool) -> str:
    flags = f"{'1' if requisite else '0'}{'1' if is_relative else '0'}{'1' if nofollow else '0'}"
    return f"{url}\t{place}\t{line}\t{flags}"
