"""The interpreter of Python: how often it looks for garbage, its CPUs, and where child processes search modules."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager


def collect_seldom() -> None:
    """Look seldom: little of a build or a crawl is in cycles, and looking took 5 to 20 % of the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def available_cpus() -> int:
    """Return the number of CPUs that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


_VARIABLE = "PYTHONSAFEPATH"


@contextmanager
def hide_working_directory() -> Iterator[None]:
    """Keep processes that start meanwhile from importing modules of the working directory, as ``python -P`` does.

    It may be a site, with files of any name. ``multiprocessing`` starts its servers with ``python -c``, which searches
    the working directory first.
    """
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
