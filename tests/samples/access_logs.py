"""Access logs made up for tests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path

_CLOCK = count(1_700_000_000)


def line(path: str, status: int = 200, method: str = "GET") -> str:
    """Return a line of the common log format."""
    return f'192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "{method} {path} HTTP/1.1" {status} 2326\n'


def write_log(file: Path, views: Mapping[str, int]) -> Path:
    """Write a log with so many views of each path, with a time that no log before it had."""
    file.write_text("".join(line(path) * number for path, number in views.items()))
    now = next(_CLOCK) * 10**9
    os.utime(file, ns=(now, now))
    return file
