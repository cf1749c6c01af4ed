"""How quantities are written for people: bytes in SI units, counts with separators, savings in per cent; sizes as sent.

The script of the report's template writes numbers by the same rules.
"""

from __future__ import annotations

import zlib

UNITS = ("kB", "MB", "GB", "TB")
NONE = "–"  # where there is nothing to compare with


def written_bytes(octets: float) -> str:
    """Return bytes in three significant digits or so: ``812 B``, ``1.2 kB``, ``84 kB``, ``1.9 MB``."""
    if octets < 999.5:
        return f"{octets:.0f} B"
    amount, unit = octets / 1000, UNITS[0]
    for unit in UNITS:  # noqa: B007 (the unit that the loop ends with is the result)
        if amount < 999.5:
            break
        amount /= 1000
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def written_count(number: float) -> str:
    """Return a count with separators of thousands; a mean with one decimal."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.1f}"


def written_saving(after: float, before: float) -> str:
    """Return by how much ``after`` is less than ``before``; negative where it is more."""
    return f"{100 * (1 - after / before):.1f} %".replace("-", "−") if before > 0 else NONE


def written_share(share: float) -> str:
    """Return a share of a whole that is not nothing: ``12.3 %``, ``less than 0.1 %``."""
    return f"{100 * share:.1f} %" if share >= 0.0005 else "less than 0.1 %"


def written_factor(factor: float) -> str:
    """Return a factor as ``2.7 ×``."""
    return f"{factor:.1f} ×"


def written_milliseconds(milliseconds: float) -> str:
    """Return ms as seconds, ``1.25 s``; negative ones are times at which nothing happened."""
    return f"{milliseconds / 1000:.2f} s" if milliseconds >= 0 else NONE


def written_plural(number: int, noun: str) -> str:
    """Return ``1 page``, ``2 pages``: for nouns that take an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def sent_size(text: str) -> tuple[int, int]:
    """Return how long a text is as it is sent, compressed, close enough to compare, and how long it is."""
    return len(zlib.compress(text.encode("utf-8", "surrogatepass"), 6)), len(text)
