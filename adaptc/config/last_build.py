"""The docroot and the options of the last build of an output, so that later commands need not be given them again.

They are kept in the output's private directory, as settings by dotted key. A damaged file counts as none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptc.core.fs import write_atomic

LAST_BUILD = ".adaptc/last-build.json"
# Options that say what is built; those that say how (as jobs) are for one build only.
_KEYS = ("build.levels", "build.effort", "build.cache", "site.base_url", "browser.pages", "browser.prove")


def store_last_build(output: Path, docroot: Path, options: Mapping[str, Any]) -> None:
    """Store the docroot of a build and its options. Raises ``OSError`` when the file cannot be written.

    The docroot is relative to the output, so that both may be moved.
    """
    settings = {key: _plain(options[key]) for key in _KEYS if key in options}
    record = {"docroot": os.path.relpath(os.path.realpath(docroot), os.path.realpath(output)), "options": settings}
    write_atomic(str(output / LAST_BUILD), json.dumps(record, indent=1).encode(), keep_equal=True)


def _plain(value: Any) -> Any:
    return os.path.abspath(value) if isinstance(value, Path) else value


def read_last_build(output: Path) -> tuple[Path, Mapping[str, Any]] | None:
    """Return the docroot of the last build and its options, which are not checked; ``None`` when they are not known."""
    try:
        record = json.loads((output / LAST_BUILD).read_bytes())
        docroot, options = record["docroot"], record["options"]
        path = Path(os.path.normpath(os.path.join(os.path.realpath(output), docroot)))
        return path, {key: options[key] for key in _KEYS if key in options}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
