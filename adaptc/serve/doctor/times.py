"""Whether a file system keeps the times of files: entity tags are made from them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MOMENT = 1_700_000_001  # odd: FAT keeps even seconds only


def kept_time(folder: Path, moment: int = MOMENT) -> int:
    """Give a file in ``folder`` a time and return the one that it has then, both in seconds. Raises ``OSError``."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".adaptc-") as file:
        os.utime(file.name, (moment, moment))
        return int(os.stat(file.name).st_mtime)
