"""Safe module search of child processes: they never import modules from the working directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

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
