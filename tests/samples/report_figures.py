"""Made-up figures of a small site, for the tests of the report and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import KINDS, Location, diagnose
from adaptc.core.model import Action
from adaptc.core.values import dataclass
from adaptc.report.figures import (
    CodingFigures,
    DiagnosticFigures,
    LevelFigures,
    PageFigures,
    SiteFigures,
    TypeFigures,
    capacity_factor,
)
from adaptc.report.html_report import stream_report
from adaptc.report.ledger import Ledger

PATHS = tuple(f"news/page-{number}.html" for number in range(12))


@dataclass(frozen=True, slots=True)
class ReportedSite(SiteFigures):
    """The figures of a site with those of its pages, which a build has in its ledger."""

    pages: tuple[PageFigures, ...] = ()


def ledger_of(pages: Iterable[PageFigures], levels: Sequence[str] = ("full",)) -> Ledger:
    """Return a ledger in memory that has these pages; what a level lacks is served as it is at another."""
    ledger, known = Ledger(Path(":memory:")), {(page.path, page.level): page for page in pages}
    for page in known.values():
        ledger.add_page(page, (), is_built=True)
    for path, served in {page.path: page for page in known.values()}.items():
        for missing in (name for name in levels if (path, name) not in known):
            ledger.add_page(served._replace(level=missing), (), is_built=False)
        ledger.add_row(path, levels)
    return ledger


def render_report(figures: ReportedSite, templates: Path | None = None, **options: Any) -> str:
    """Return the report of a site."""
    ledger = ledger_of(figures.pages, [each.level for each in figures.levels])
    return "".join(stream_report(figures, ledger, templates, **options))


def level(name: str, number: int | None, share: float) -> LevelFigures:
    """Return a level that costs ``share`` of a full one of 10 requests and 100 kB sent a page."""
    kinds = (TypeFigures("pages", 12, 400_000, int(400_000 * share), int(100_000 * share)),)
    codings = (CodingFigures("id", 12, int(400_000 * share)), CodingFigures("br", 12, int(90_000 * share)))
    means = (10.0 * share, 300_000 * share, 100_000 * share)
    factor = capacity_factor(means[0], means[2], 10, 100_000)
    return LevelFigures(name, number, 12, int(400_000 * share), codings, kinds, *means, factor, 12)


def pages_of(paths: Sequence[str], levels: Sequence[str]) -> list[PageFigures]:
    """Return pages that get heavier one by one, halved from level to level."""
    return [
        PageFigures(
            path,
            name,
            max(1, 10 >> step),
            (order + 1) * 30_000 >> step,
            (order + 1) * 10_000 >> step,
            20_000,
            5_000,
            (Action("inline-styles", "inlined", "css/site.css", "small", 2),) if step else (),
            ("markup",) if step and order == 3 else (),
        )
        for order, path in enumerate(paths)
        for step, name in enumerate(levels)
    ]


def found(kind: str, count: int, path: str, **fields: object) -> DiagnosticFigures:
    """Return ``count`` diagnostics of a kind, of which two are kept as samples."""
    samples = tuple(diagnose(kind, Location(path, line, 5), **fields) for line in (7, 8))[:count]
    return DiagnosticFigures(kind, KINDS[kind].severity, count, samples)


def site(
    pages: Iterable[PageFigures] | None = None,
    diagnostics: tuple[DiagnosticFigures, ...] | None = None,
    name: str = "newsroom",
) -> ReportedSite:
    """Return a site of 12 pages at two levels, or with other pages and diagnostics."""
    if diagnostics is None:
        missing = found("missing-target", 6_961, PATHS[11], where="a href", url="gone.html")
        diagnostics = (missing, found("pass-failed", 1, PATHS[0], name="images", reason="no memory"))
    levels = (level("full", 4, 1.0), level("lossless", 3, 0.5))
    if pages is None:
        pages = pages_of(PATHS, ("full", "lossless"))
    return ReportedSite(name, 48, 12, 1_900_000, levels, diagnostics, "9.8.7", "default", pages=tuple(pages))
