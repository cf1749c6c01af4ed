"""Python processes that look for modules where this one does, and not in the working directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "PYTHONSAFEPATH"


@contextmanager
def working_directory_hidden() -> Iterator[None]:
    """Keep processes that are started now from importing modules of the working directory, as ``python -P`` does.

    It may be a site's, with files of any name. ``multiprocessing`` starts its servers by ``python -c``, which looks
    there first.
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
