"""The time that an action on a page saves: the measurements of Krishnamurthy, Zhang, Wills and Vishwanath 2003.

Table 2 there counts popular pages by bucket, Tables 4 to 8 give the savings; here are the means of the savings,
weighted by time and by Table 2.
"""

from __future__ import annotations

from dataclasses import dataclass

SIZES = ("S", "M", "L")

# Percent of popular pages by (embedded objects, embedded bytes, container bytes): Table 2.
PAGE_SHARES: dict[tuple[str, str, str], int] = {
    (objects, embedded, container): share
    for objects, rows in (
        ("S", ((20, 6, 2), (4, 1, 0), (0, 0, 0))),
        ("M", ((2, 3, 1), (5, 7, 8), (2, 5, 3))),
        ("L", ((0, 0, 0), (1, 2, 4), (1, 8, 14))),
    )
    for embedded, row in zip(SIZES, rows, strict=True)
    for container, share in zip(SIZES, row, strict=True)
}


@dataclass(frozen=True, slots=True)
class Bucket:
    """Small, medium or large: container bytes, number of embedded objects, bytes of those, as in Tables 4 to 8."""

    container: str
    objects: str
    embedded: str

    def __str__(self) -> str:
        return f"{self.container}-{self.objects}-{self.embedded}"

    @property
    def paper_share(self) -> int:
        """Percent of the paper's popular pages that are in this bucket."""
        return PAGE_SHARES[self.objects, self.embedded, self.container]


def bucket_of(container_bytes: int, objects: int, embedded_bytes: int) -> Bucket:
    """Return the bucket of a page (section 4.1): K is 1,000 bytes."""
    return Bucket(
        "S" if container_bytes < 12_000 else "M" if container_bytes < 30_000 else "L",
        "S" if objects < 7 else "M" if objects <= 22 else "L",
        "S" if embedded_bytes < 20_000 else "M" if embedded_bytes < 55_000 else "L",
    )


ACTIONS = ("pipeline", "gzip", "bundle", "bundle.gz", "baseonly", "halfobject", "halfres")


@dataclass(frozen=True, slots=True)
class Savings:
    """A pair of client and server: seconds of an unchanged page, and the percentage that each of ``ACTIONS`` saves."""

    base: float
    percent: tuple[float, ...]


SAVINGS: dict[str, Savings] = {
    "uk-wpi": Savings(10.96, (8.5, 23.1, 12.1, 21.5, 78.1, 27.0, 10.0)),
    "uk-icir": Savings(20.49, (28.6, 14.3, 21.5, 28.4, 77.3, 29.5, 3.8)),
    "modem-att": Savings(11.73, (6.6, 5.3, 14.9, 18.0, 82.9, 35.1, 26.3)),
    "de-att": Savings(7.89, (47.4, 3.7, 69.4, 70.0, 89.9, 33.3, 9.2)),
    "cable-wpi": Savings(2.14, (53.0, 8.1, 52.6, 56.4, 84.8, 29.5, 3.9)),
}


def seconds_saved(pair: str, action: str) -> float:
    """Return the seconds per page that an action saves between a client and a server."""
    savings = SAVINGS[pair]
    return savings.base * savings.percent[ACTIONS.index(action)] / 100
