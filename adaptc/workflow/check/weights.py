"""What pages cost, read from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.core.quantities import written_bytes, written_count
from adaptc.report.manifest import Manifest, PageCost, read_manifest

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
    try:
        manifest = read_manifest(path)
    except OSError as error:
        raise UsageError(f"manifest {path} cannot be read ({error.strerror})") from None
    return {level.name: LevelWeights(_weight(level.mean), _pages(manifest, level.name)) for level in manifest.levels}


def _pages(manifest: Manifest, level: str) -> dict[str, Weight]:
    resources = manifest.resources.items()
    return {path: _weight(resource.pages[level]) for path, resource in resources if level in resource.pages}


def _weight(cost: PageCost) -> Weight:
    return Weight(cost.requests, cost.transfer)
