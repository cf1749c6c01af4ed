"""The links of a file as the frontier keeps them: one blob a file, since a row for each would cost as much as fetching."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from adaptc.crawl.discover.link import Link



def pack(links: Iterable[Link]) -> bytes:
    """Return links as compressed lines of URL, place, line and flags."""
    return zlib.compress("\n".join(map(_written, links)).encode("utf-8", "surrogatepass"), 1)


def unpack(blob: bytes) -> Iterator[Link]:
    """Yield what ``pack`` was given."""
    text = zlib.decompress(blob).decode("utf-8", "surrogatepass")
    for line in text.split("\n") if text else ():
        url, place, number, flags = line.split("\t")
        yield Link(url, flags[0] == "1", place, int(number), flags[1] == "1", flags[2] == "1")


def _written(link: Link) -> str:
    place = " ".join(link.place.split())
    return f"{link.url}\t{place}\t{link.line}\t{link.requisite:d}{link.is_relative:d}{link.nofollow:d}"
