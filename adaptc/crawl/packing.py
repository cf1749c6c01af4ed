"""The links of a file as the frontier keeps them: one blob a file, since a row each would cost as much as fetching."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from adaptc.crawl.discover.link import Link

_WORTHWHILE = 1000  # bytes from which on compressing pays
_ZLIB = b"\x78"  # how a zlib stream begins (RFC 1950); no URL does


def pack(links: Iterable[Link]) -> bytes:
    """Return links as lines of URL, place, line and flags, compressed where there are many."""
    text = "\n".join(map(_written, links)).encode("utf-8", "surrogatepass")
    return zlib.compress(text, 1) if len(text) > _WORTHWHILE else text


def unpack(blob: bytes) -> Iterator[Link]:
    """Yield what ``pack`` was given."""
    lines = zlib.decompress(blob) if blob.startswith(_ZLIB) else blob
    text = lines.decode("utf-8", "surrogatepass")
    for line in text.split("\n") if text else ():
        url, place, number, flags = line.split("\t")
        yield Link(url, flags[0] == "1", place, int(number), flags[1] == "1", flags[2] == "1")


def _written(link: Link) -> str:
    return f"{link.url}\t{link.place}\t{link.line}\t{link.requisite:d}{link.is_relative:d}{link.nofollow:d}"
