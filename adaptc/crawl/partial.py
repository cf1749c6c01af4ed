"""Files that were cut off: kept with their validators, and gone on with by a range request (RFC 9110, section 14).

A part is only gone on with under ``If-Range``, so that a file that changed meanwhile is had anew; a file that another
program left (``--continue``) has no validator and is trusted, as wget does.
"""

from __future__ import annotations

import re

from adaptc.crawl.bodies import is_coded
from adaptc.crawl.head import Head

_RANGE = re.compile(r"bytes\s+(\d+)-(\d+)/(\d+|\*)\s*$", re.IGNORECASE)


def part_of(spool: str, number: int) -> str:
    """Return where the part of a URL's file is, if there is one; ``number`` is the URL's id."""
    return f"{spool}/{number}.part"


def validator(head: Head) -> str | None:
    """Return what ``If-Range`` may carry: a strong ETag, else Last-Modified; ``None`` where a part is worth nothing."""
    if is_coded(head):
        return None
    etag = head.get("etag")
    return etag if etag is not None and not etag.startswith("W/") else head.get("last-modified")


def range_fields(size: int, condition: str | None) -> tuple[str, ...]:
    """Return the fields that ask for the rest behind ``size`` bytes."""
    fields = (f"Range: bytes={size}-", "Accept-Encoding: identity")
    return (*fields, f"If-Range: {condition}") if condition else fields


def continues(head: Head, size: int) -> bool:
    """Whether a 206 is the rest behind ``size`` bytes."""
    found = _RANGE.match(head.get("content-range") or "")
    return found is not None and int(found[1]) == size


def total(head: Head) -> int | None:
    """Return the size of the whole file that a 206 is a part of."""
    found = _RANGE.match(head.get("content-range") or "")
    return int(found[3]) if found is not None and found[3] != "*" else None
