"""Trials: a candidate is built, next to the output and with its cache, and what its pages cost and lost is measured."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.labels import SiteReader, count_uses, label_page, sample, site_pages
from adaptc.compile.analyse.decorations.rules import configured_rules
from adaptc.compile.engine.cache.derived import remember_in
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.loading import last_traffic
from adaptc.compile.engine.state.state import State
from adaptc.compile.page.page_harm import (
    HarmOfPages,
    Matcher,
    OriginalPage,
    PageContent,
    ShownFiles,
    largest_boxes,
    page_tree,
)
from adaptc.config.toml import TomlSource
from adaptc.core.model import IDENTITY, PRIVATE
from adaptc.core.values import dataclass, replace
from adaptc.site.docroot import load_site
from adaptc.workflow.api import build, build_spec
from adaptc.workflow.planning.goals import PageMean

if TYPE_CHECKING:
    from adaptc.compile.analyse.harm import ShownImage
    from adaptc.compile.engine.reporting import Progress
    from adaptc.config.config import Config
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.workflow.planning.candidates import Candidate

# The directory of trials below the private one of the output, and the level that is tried there
_FOLDER, _LEVEL = "plan", "planned"
# Up to so many files and directories, candidates are built in this process: it keeps decoded images and what it
# compared, and workers that were started anew for each candidate would import and decode it all again
_FEW = 128


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate that was built: its mean page view, and the mean harm of one (``adaptc.compile.analyse.harm``)."""

    candidate: Candidate
    mean: PageMean
    harm: float


class Trials:
    """Builds candidates for one site, each once. ``close`` removes its directory."""

    def __init__(self, config: Config, progress: Progress) -> None:
        private = config.output / PRIVATE
        self.output = private / _FOLDER
        cache = config.build.cache or private / "cache"
        self.config = replace(
            config,
            output=self.output,
            build=replace(config.build, cache=cache, identity="complete"),
            browser=replace(config.browser, prove=0),
            serve=replace(config.serve, emit=()),
        )
        self.progress = progress
        self.full = PageMean(0.0, 0.0)
        self.diagnostics: dict[Diagnostic, None] = {}
        self._meter: HarmMeter | None = None
        self._known: dict[Candidate, Trial] = {}

    def close(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self.output, ignore_errors=True)

    @property
    def all(self) -> tuple[Trial, ...]:
        """What was tried."""
        return tuple(self._known.values())

    def of(self, candidate: Candidate) -> Trial:
        """Build and measure a candidate. Raises what ``adaptc.workflow.api.build`` raises."""
        if candidate not in self._known:
            self._known[candidate] = self._run(candidate)
        return self._known[candidate]

    def _run(self, candidate: Candidate) -> Trial:
        levels = self.config.levels
        own = TomlSource(levels.name, {**levels.values, _LEVEL: candidate.values}, levels.lines)
        chosen = replace(self.config.build, levels=("full", _LEVEL), jobs=self._jobs)
        config = replace(self.config, build=chosen, levels=own)
        result = build(config, self.progress, requires_pages=True, isolated=False)
        self.diagnostics |= dict.fromkeys(each for each in result.diagnostics if each.id == "log-without-pages")
        means = {each.level: PageMean(each.requests_per_page, each.transfer_per_page) for each in result.figures.levels}
        self.full = means["full"]
        if self._meter is None:
            self._meter = HarmMeter(config, self._views(config))
        return Trial(candidate, means[_LEVEL], self._meter.of_level(self.output / _LEVEL / IDENTITY))

    @property
    def _jobs(self) -> int:
        """The processes that build a candidate; 0 for as many as there are CPUs."""
        files = (self.config.docroot or Path()).rglob("*")
        is_large = next(islice(files, _FEW, None), None) is not None
        return self.config.build.jobs if is_large else 1

    def _views(self, config: Config) -> dict[str, int] | None:
        """Return the views of pages that the build counted in the logs, ``None`` without any."""
        with contextlib.closing(State(build_spec(config).state_path, read_only=True)) as state:
            traffic = last_traffic(state)
        return dict(traffic.hits) if traffic is not None and traffic.hits else None


# ---- the harm of a level, measured on what was built: pages are compared with their sources, image by image
#
# Measured are up to ``SAMPLE`` pages, evenly spread over those that have files at degraded levels, each weighted by its
# views where there are logs. No browser is needed, and nothing that passes report is believed. What it cannot see:
# fonts, motion, what scripts draw, and images of other sites.

SAMPLE = 60


class HarmMeter:
    """Measures levels of one site; ``views`` are those of its pages by path, ``None`` without logs."""

    def __init__(self, config: Config, views: Mapping[str, int] | None) -> None:
        self.tree, self.site = load_site(config)
        self.rules = configured_rules(config).rules
        self.reader = SiteReader(self.tree, self.site, self.rules)
        self.matcher = Matcher(remember_in(Store(build_spec(config).cache)))
        self.sources = ShownFiles(self.site.address, self._source)
        every = site_pages(self.site)
        self.counts = count_uses(self.reader.uses, sample(every, ()))
        viewed = [path for path in every if views.get(path)] if views else every
        self.pages = viewed[:: max(1, -(-len(viewed) // SAMPLE))]
        self.views = views or dict.fromkeys(every, 1)
        self._originals: dict[str, OriginalPage] = {}

    def of_level(self, tree: Path) -> float:
        """Return the mean harm of a page view at a level; ``tree`` is its directory of files without a coding."""
        files = _BuiltFiles(self, tree)
        pages = HarmOfPages(self.site.address, files, self.matcher)
        weights = {path: self.views[path] for path in self.pages}
        harm = sum(weight * self.of_page(path, files, pages) for path, weight in weights.items())
        return harm / sum(weights.values()) if weights else 0.0

    def of_page(self, path: str, files: _BuiltFiles, pages: HarmOfPages) -> float:
        """Return the harm of a page; one that has no file at the level is sent as it is."""
        content = files.built(path)
        if content is None or content == self.tree.read(path):
            return 0.0
        return pages.of(path, self._original(path), content)

    def _source(self, path: str) -> bytes | None:
        file = self.site.find(path)
        return None if file is None else self.tree.read(file)

    def _original(self, path: str) -> OriginalPage:
        if path not in self._originals:
            tree = page_tree(self.tree.read(path))
            content = PageContent.of(tree, has_styles=self.sources.has_styles(path, tree))
            self._originals[path] = OriginalPage(content, self._images(path))
        return self._originals[path]

    def _images(self, path: str) -> dict[str, ShownImage]:
        uses = self.reader.uses(path)
        evidence = self.reader.images(uses)
        labels = label_page(path, uses, evidence, self.counts, self.rules)
        return largest_boxes(uses, evidence, labels, self.counts, self.rules)


class _BuiltFiles:
    """The files of a level as a visitor gets them; what is not in its tree comes from the docroot."""

    def __init__(self, meter: HarmMeter, tree: Path) -> None:
        self.meter, self.tree = meter, tree

    def built(self, path: str) -> bytes | None:
        """Return a file of the level, ``None`` where it has none."""
        file = self.tree / path
        return file.read_bytes() if file.is_file() else None

    def read(self, path: str) -> bytes | None:
        """Return the file that a path of the site leads to."""
        found = self.meter.site.find(path) or path
        built = self.built(found)
        if built is not None or found not in self.meter.site.sources:
            return built
        return self.source(found)

    def source(self, path: str) -> bytes:
        """Return a file of the docroot."""
        return self.meter.tree.read(path)

    def media_type(self, path: str) -> str:
        """Return the media type of a file of the docroot."""
        return self.meter.site.sources[path].media_type
