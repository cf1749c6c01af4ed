"""What pages cost, read from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.report.catalogue import MANIFEST, read_manifest
from adaptc.report.quantities import written_bytes, written_count

MEASURES = ("requests", "bytes")


@dataclass(frozen=True, slots=True)
class Weight:
    """Requests, and bytes in the best coding, of a page with all that a browser loads with it; or means of them."""

    requests: float
    bytes: float


@dataclass(frozen=True, slots=True)
class LevelWeights:
    """The mean of a level as the manifest has it (over page views, where there are logs), and each page by path."""

    mean: Weight
    pages: Mapping[str, Weight]


def in_words(measure: str, path: str | None) -> str:
    """Return what is measured: of a page, or the mean of a level."""
    return f"the mean of {measure} a page" if path is None else f"the {measure} of this page with all it loads"


def written(measure: str, amount: float) -> str:
    """Return an amount for people."""
    if measure == "bytes":
        return written_bytes(amount)
    return written_count(int(amount) if amount == int(amount) else amount)


def read_weights(path: Path) -> dict[str, LevelWeights]:
    """Return the weights by level of a manifest, or of the output directory ``path``. Raises ``UsageError``."""
    file = path / MANIFEST if path.is_dir() else path
    try:
        written = read_manifest(file)
    except OSError as error:
        raise UsageError(f"manifest {file} cannot be read ({error.strerror})") from None
    return {level["name"]: LevelWeights(_weight(level["mean"]), _pages(written, level)) for level in written["levels"]}


def _pages(written: Mapping[str, Any], level: Mapping[str, Any]) -> dict[str, Weight]:
    rows = ((row["path"], row["levels"].get(level["name"], {}).get("page")) for row in written["resources"])
    return {path: _weight(page) for path, page in rows if page is not None}


def _weight(written: Mapping[str, float]) -> Weight:
    return Weight(written["requests"], written["transfer"])
