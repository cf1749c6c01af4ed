"""The weights of pages, requests and bytes: read from a manifest, compared with an older one and with budgets.

Budgets limit what a browser measures of pages, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptc.config.budgets import Budget
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.quantities import written_bytes, written_count
from adaptc.core.values import dataclass, field
from adaptc.report.collector import group_of
from adaptc.report.manifest import BuiltResource, Manifest, PageCost, read_manifest
from adaptc.site.selection import translated

if TYPE_CHECKING:
    from adaptc.compile.engine.proof.paints import PagePaint

MEASURES = ("requests", "bytes")


@dataclass(frozen=True, slots=True)
class Weight:
    """Requests, and bytes in the best coding, of a page with all that a browser loads with it; or their means."""

    requests: float
    bytes: float


@dataclass(frozen=True, slots=True)
class LevelWeights:
    """The mean of a level as the manifest has it (over page views, where there are logs), and each page by path.

    ``types`` has the bytes of each page by group of media types, where they were asked for.
    """

    mean: Weight
    pages: Mapping[str, Weight]
    types: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def measure_name(measure: str, path: str | None) -> str:
    """Return the name of a measure of a page, or of the mean of a level."""
    return f"the mean of {measure} a page" if path is None else f"the {measure} of this page with all it loads"


def written_amount(measure: str, amount: float) -> str:
    """Return an amount for people."""
    if measure == "bytes":
        return written_bytes(amount)
    return written_count(int(amount) if amount == int(amount) else amount)


def read_weights(path: Path, *, typed: bool = False) -> dict[str, LevelWeights]:
    """Return the weights by level of a manifest, or of the output directory ``path``, ``typed`` with those of types.

    Raises ``UsageError``.
    """
    try:
        manifest = read_manifest(path)
    except OSError as error:
        raise UsageError(f"manifest {path} cannot be read ({error.strerror})") from None
    return {
        level.name: LevelWeights(
            _weight(level.mean), _pages(manifest, level.name), _types(manifest, level.name) if typed else {}
        )
        for level in manifest.levels
    }


def _pages(manifest: Manifest, level: str) -> dict[str, Weight]:
    resources = manifest.resources.items()
    return {path: _weight(resource.pages[level]) for path, resource in resources if level in resource.pages}


def _types(manifest: Manifest, level: str) -> dict[str, Counter[str]]:
    """Return the bytes that each page loads at a level, by group of media types."""
    rows = manifest.values["resources"]
    pages = ((number, row) for number, row in enumerate(rows) if "page" in row["levels"].get(level, ()))
    return {row["path"]: _loaded(rows, level, number) for number, row in pages}


def _loaded(rows: Sequence[Mapping[str, Any]], level: str, page: int) -> Counter[str]:
    found, waiting, seen = Counter[str](), [page], {page}
    while waiting:
        row = rows[waiting.pop()]
        built = row["levels"].get(level, {})
        sizes = [file["size"] for file in built.get("files", {}).values()]
        found[group_of(row["media_type"])] += min(sizes, default=row["source"]["size"])
        others = set(built.get("references", row.get("references", ()))) - seen
        seen |= others
        waiting += others
    return found


def _weight(cost: PageCost) -> Weight:
    return Weight(cost.requests, cost.transfer)


# ---- what changed since a baseline: an older manifest


def changed_pages(before: Path, now: Path) -> list[str]:
    """Return the pages that changed in the docroot since the manifest ``before``, then those that load what changed.

    Raises ``UsageError``.
    """
    old, rows = read_manifest(before).resources, read_manifest(now).values["resources"]
    own = {number for number, row in enumerate(rows) if _differs(row, old.get(row["path"]))}
    loaders: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        for other in row.get("references", ()):
            loaders.setdefault(other, []).append(number)
    touched, waiting = set(own), list(own)
    while waiting:
        others = set(loaders.get(waiting.pop(), ())) - touched
        touched |= others
        waiting += others
    pages = [number for number in touched if any("page" in each for each in rows[number]["levels"].values())]
    return [rows[number]["path"] for number in sorted(pages, key=lambda number: (number not in own, number))]


def _differs(row: Mapping[str, Any], old: BuiltResource | None) -> bool:
    source = row["source"]
    return old is None or (old.size, old.sha256) != (source["size"], source["sha256"])


# ---- growth


@dataclass(frozen=True, slots=True)
class Growth:
    """A measure ("requests" or "bytes") that grew: of a page, or the mean of a level (``path`` None)."""

    level: str
    path: str | None
    measure: str
    before: float
    now: float

    @property
    def percent(self) -> float:
        """By how much it grew; infinite for growth from 0."""
        return 100 * (self.now / self.before - 1) if self.before else float("inf")


def growth(before: Mapping[str, LevelWeights], now: Mapping[str, LevelWeights]) -> list[Growth]:
    """Return what grew at levels and pages that both have: means first, then the pages that grew most."""
    shared = [level for level in now if level in before]
    means = [row for level in shared for row in _grown_measures(level, None, before[level].mean, now[level].mean)]
    pages = [
        row
        for level in shared
        for path, page in now[level].pages.items()
        if path in before[level].pages
        for row in _grown_measures(level, path, before[level].pages[path], page)
    ]
    return [*means, *sorted(pages, key=lambda row: (-row.percent, row.path, row.level, row.measure))]


def _grown_measures(level: str, path: str | None, before: Weight, now: Weight) -> Iterator[Growth]:
    for measure in MEASURES:
        old, new = getattr(before, measure), getattr(now, measure)
        if new > old:
            yield Growth(level, path, measure, old, new)


# ---- budgets


def exceeded(budget: Budget, weights: LevelWeights) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each weight of a level that is above its budget."""
    for measure in MEASURES:
        name, limit = measure_name(measure, None), getattr(budget, f"mean_{measure}")
        written = partial(written_amount, measure)
        yield from _over(budget, None, written, name, getattr(weights.mean, measure), limit)
        for path, page in weights.pages.items():
            limit = _limit(budget, path, f"page_{measure}")
            yield from _over(budget, path, written, measure_name(measure, path), getattr(page, measure), limit)
    for path, types in weights.types.items():
        for group, limit in {**dict(budget.types), **dict(_of_path(budget, path).types)}.items():
            what = f"what this page loads of {group}"
            yield from _over(budget, path, written_bytes, what, types.get(group, 0), limit)


def _of_path(budget: Budget, path: str) -> Budget:
    """Return the limits of the first pattern that matches a page."""
    matching = (limits for pattern, limits in budget.paths if re.fullmatch(translated(pattern), path))
    return next(matching, Budget(budget.level))


def _limit(budget: Budget, path: str, key: str) -> float | None:
    """Return a limit of a page: that of its pattern counts instead of that of the level."""
    own: float | None = getattr(_of_path(budget, path), key) if budget.paths else None
    whole: float | None = getattr(budget, key)
    return whole if own is None else own


def _over(
    budget: Budget, path: str | None, written: Callable[[float], str], what: str, amount: float, limit: float | None
) -> Iterator[Diagnostic]:
    if limit is not None and amount > limit:
        yield diagnose(
            "budget-exceeded",
            Location(path) if path else None,
            level=f"level {budget.level}",
            what=what,
            got=written(amount),
            limit=written(limit),
        )


def slow(budget: Budget, line: str, paints: Iterable[PagePaint]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each figure of a page on ``line`` that is above the budget of its level."""
    for each in paints:
        if each.level != budget.level or each.paint is None:
            continue
        figures = {
            "largest_paint": (f"the largest paint of this page on {line}", each.paint.largest, "{:,.0f} ms".format),
            "layout_shift": ("the layout shift of this page", each.paint.shift, "{:.3f}".format),
            "blocking_time": (f"the blocking time of this page on {line}", each.paint.blocking, "{:,.0f} ms".format),
        }
        for key, (what, amount, written) in figures.items():
            yield from _over(budget, each.page, written, what, amount, _limit(budget, each.page, key))


def unmeasured(budget: Budget, reason: str) -> Diagnostic:
    """Return a diagnostic for limits of what only a browser can measure, where none did."""
    what = "how soon pages are shown"
    return diagnose("budget-unchecked", level=f"level {budget.level}", what=what, done="measured", reason=reason)


def unlimited(budget: Budget, before: Mapping[str, LevelWeights] | None) -> Iterator[Diagnostic]:
    """Yield a diagnostic where growth has a limit, and nothing to be compared with."""
    if budget.limits_growth and (before is None or budget.level not in before):
        missing = "there is no --baseline" if before is None else "the baseline lacks the level"
        level = f"level {budget.level}"
        yield diagnose("budget-unchecked", level=level, what="growth", done="compared", reason=missing)


def outgrown(budget: Budget, rows: Iterable[Growth]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each growth of a level or a page beyond its budget."""
    for row in rows:
        limit = budget.growth if row.path is None else _limit(budget, row.path, "page_growth")
        if row.level == budget.level and limit is not None and row.percent > limit:
            yield diagnose(
                "budget-growth",
                Location(row.path) if row.path else None,
                level=f"level {row.level}",
                what=measure_name(row.measure, row.path),
                growth=f"{row.percent:.1f} %",
                before=written_amount(row.measure, row.before),
                now=written_amount(row.measure, row.now),
                limit=f"{limit:g} %",
            )
