"""What browsers request of the pages of a build, level by level, as the build itself counts it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import State, last_build
from adaptc.compile.pipeline import KNOWN_PASSES
from adaptc.config.config import Config
from adaptc.config.rulebook import load_levels
from adaptc.core import media
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import CODINGS, FORMATS, IDENTITY
from adaptc.core.values import dataclass
from adaptc.report.collector import Collector
from adaptc.report.manifest import Manifest
from adaptc.serve.calibrate.testbed import FEWEST, LARGE, MOST, MOST_BYTES, ORIGINAL, SampleFiles
from adaptc.serve.verify.scenario import spread

MOST_PAGES = 60  # of a site, that are viewed


@dataclass(frozen=True, slots=True)
class PageView:
    """A page with all that a browser loads with it: paths, the page first, kB in the best coding, kinds of the files.

    A kind is the coding or image format that a browser gets, "id", or ``ORIGINAL``.
    """

    paths: tuple[str, ...]
    kilobytes: float
    kinds: tuple[str, ...]


def page_weights(manifest: Manifest) -> dict[str, float]:
    """Return the views of each page, where the build knew access logs."""
    return {row["path"]: row["views"] for row in manifest.values["resources"] if row.get("views")}


def sampled_pages(manifest: Manifest, views: Mapping[str, float] | None = None) -> list[str]:
    """Return the pages to view: drawn by their ``views``, or at even distances. Raises ``UsageError`` without pages.

    Pages are drawn with repetition, always the same of the same site: what is viewed more is measured more.
    """
    pages = [path for path, resource in manifest.resources.items() if resource.pages]
    if not pages:
        raise UsageError(f"{manifest.file} has no pages")
    weights = [(views or {}).get(path, 0.0) for path in pages]
    if any(weights):
        return random.Random(0).choices(pages, weights, k=MOST_PAGES)
    return spread(pages, MOST_PAGES)


def views_by_level(config: Config, manifest: Manifest, pages: Sequence[str]) -> dict[str, tuple[PageView, ...]]:
    """Return the views of ``pages`` at each level of the last build."""
    known = load_levels(config.levels, KNOWN_PASSES)
    with last_build(config.output) as state:
        resources = {path: resource for path, (resource, _) in state.resources().items()}
        collector = Collector(state, resources, [known[name] for name in manifest.level_names], {})
        results = {path: _results(state, path) for path in dict.fromkeys(pages)}
        return {
            level: tuple(_view(collector, manifest, results[path], level, path) for path in pages)
            for level in manifest.level_names
        }


def sample_files(views: Mapping[str, Sequence[PageView]]) -> SampleFiles:
    """Return sample files like those of the views: as many as the level with the most has, within bounds, and as large.

    The size of the large ones is that of the mean file of a page, weighed by bytes.
    """
    count = max(len({path for page in pages for path in page.paths}) for pages in views.values())
    count = max(FEWEST, min(MOST, count))
    viewed = [page for pages in views.values() for page in pages]
    squares = sum(page.kilobytes**2 / len(page.paths) for page in viewed)
    size = 1000 * squares / (sum(page.kilobytes for page in viewed) or 1)
    return SampleFiles(count, round(max(LARGE, min(size, MOST_BYTES / count))))


def _results(state: State, path: str) -> dict[str, UnitResult]:
    return {result.level: result for result in state.results(path)}


def _view(
    collector: Collector, manifest: Manifest, results: Mapping[str, UnitResult], level: str, path: str
) -> PageView:
    """Return a view; of a page that a level does not have, of that of the first level, which is sent instead."""
    result = results.get(level) or results.get(collector.first) or UnitResult(level, path, media.HTML)
    objects = sorted(collector.objects(result, level))
    paths = (path, *objects)
    kinds = tuple(_kind(manifest, level, each) for each in paths)
    return PageView(paths, collector.page(result, level).transfer_bytes / 1000, kinds)


def _kind(manifest: Manifest, level: str, path: str) -> str:
    resource = manifest.resources.get(path)
    if resource is None:  # a file that comes of no file of the docroot, such as a bundle
        return CODINGS[0] if path.endswith((".css", ".js", ".html", ".svg")) else IDENTITY
    files = resource.files.get(level, {})
    return next((name for name in (*FORMATS, *CODINGS) if name in files), ORIGINAL)
