"""What is known of a URL: the values that the frontier holds."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class State(IntEnum):
    """What is known of a URL."""

    FOUND = 0  # waits for its level
    QUEUED = 1  # of the level that is being fetched
    STORED = 2  # its file is complete
    REDIRECTED = 3  # leads to another URL (column ``target``)
    FAILED = 4  # was wanted and could not be had
    REFUSED = 5  # is out of scope, or forbidden
    CHECKED = 6  # is there; not kept (``--spider``, or deleted after loading)
    GONE = 7  # a former crawl stored it and this one did not meet it, or met an error


class Row(NamedTuple):
    """A URL and what is known of it. Sizes are bytes; ``modified`` is the Last-Modified field as it came."""

    id: int
    url: str
    state: int
    depth: int
    rank: int | None
    parent: int | None
    requisite: int
    place: str | None
    line: int | None
    name: str | None
    status: int | None
    type: str | None
    charset: str | None
    size: int | None
    etag: str | None
    modified: str | None
    target: int | None
    disk: int | None
    kind: str | None
    rule: str | None
    reason: str | None


class Unnamed(NamedTuple):
    """What of a queued URL without a name gives it one."""

    id: int
    url: str
    place: str | None
    parent: int | None
    rank: int


class Found(NamedTuple):
    """A link that was met and decided on. ``place`` is as ``Reference.where``; a refused one says why."""

    url: str
    depth: int
    requisite: bool
    place: str = ""
    line: int = 0
    rule: str = ""
    reason: str = ""
