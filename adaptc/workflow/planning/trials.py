"""Trials: a candidate is built, next to the output and with its cache, and what its pages cost and lost is measured."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING

from adaptc.compile.engine.loading import last_traffic
from adaptc.compile.engine.state.state import State
from adaptc.config.toml import TomlSource
from adaptc.core.model import IDENTITY, PRIVATE
from adaptc.workflow.api import build, build_spec
from adaptc.workflow.planning.goals import PageMean
from adaptc.workflow.planning.meter import HarmMeter

if TYPE_CHECKING:
    from adaptc.compile.engine.reporting import Progress
    from adaptc.config.config import Config
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.report.figures import LevelFigures
    from adaptc.workflow.planning.candidates import Candidate

# The directory of trials below the private one of the output, and the level that is tried there
_FOLDER, _LEVEL = "plan", "planned"


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate that was built: its mean page view, and the mean harm of one (``adaptc.compile.analyse.harm``)."""

    candidate: Candidate
    mean: PageMean
    harm: float


class Trials:
    """Builds candidates for one site, each once. Its directory is removed at the end."""

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

    def __enter__(self) -> Trials:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
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
        chosen = replace(self.config.build, levels=("full", _LEVEL))
        config = replace(self.config, build=chosen, levels=own)
        result = build(config, self.progress, requires_pages=True)
        self.diagnostics |= dict.fromkeys(each for each in result.diagnostics if each.id == "log-without-pages")
        means = {level.level: _mean(level) for level in result.figures.levels}
        self.full = means["full"]
        if self._meter is None:
            self._meter = HarmMeter(config, self._views(config))
        return Trial(candidate, means[_LEVEL], self._meter.of_level(self.output / _LEVEL / IDENTITY))

    def _views(self, config: Config) -> dict[str, int] | None:
        """Return the views of pages that the build counted in the logs, ``None`` without any."""
        with contextlib.closing(State(build_spec(config).state_path, read_only=True)) as state:
            traffic = last_traffic(state)
        return dict(traffic.hits) if traffic is not None and traffic.hits else None


def _mean(level: LevelFigures) -> PageMean:
    return PageMean(level.requests_per_page, level.transfer_per_page)
