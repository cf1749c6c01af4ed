"""The experiments of a calibration, and the costs that follow from their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from adaptc.core.urls import quote_path
from adaptc.serve.calibrate.costs import KindCost, fit_line, kind_cost
from adaptc.serve.calibrate.cpu_time import ServerProcesses
from adaptc.serve.calibrate.load_client import Job, View
from adaptc.serve.calibrate.measurement import Experiment, Measurements
from adaptc.serve.calibrate.page_views import PageView
from adaptc.serve.calibrate.samples import LARGE, ORIGINAL, SMALL, SampleFiles, accepted, kinds, urls
from adaptc.serve.calibrate.testbed import Site
from adaptc.serve.verify.scenario import BEST

BROWSERS = 8  # at once: one alone would measure how long the server takes to wake up
REQUESTS = {SMALL: 480, LARGE: 128}  # of a job
LENGTHS = (1, 4, 16)  # requests of a view, from which the cost of its connection follows
LENGTH = 4  # requests of a view otherwise
REJECTED = frozenset({503})
EMBEDDED = frozenset({200, 403, 404})


@dataclass(frozen=True, slots=True)
class SampleServer:
    """A server of sample files, and how it is asked: ``name`` is a protocol, or "off" or "reject" for a mode.

    ``files`` are the sample files.
    """

    name: str
    site: Site
    files: SampleFiles
    protocol: str = "http1"

    @property
    def page_kind(self) -> str:
        """The kind that browsers get of pages."""
        return next(iter(self.site.policy.codings), ORIGINAL)

    def experiment(self, kind: str, size: int, length: int, statuses: frozenset[int] = frozenset({200})) -> Experiment:
        """Return the experiment of views of ``length`` files of a kind and a size."""
        targets = [self.site.origin + path for path in urls(self.site.policy, kind, size, self.files.count)]
        requests = REQUESTS[SMALL if size == SMALL else LARGE]
        job = Job(views_of(targets, length, requests, accepted(kind)), BROWSERS, protocol=self.protocol)
        return Experiment(self.label(kind, size, length), self.site.processes, job, statuses)

    def label(self, kind: str, size: int, length: int) -> str:
        """Return the name of an experiment."""
        return f"{self.name}: {length} x {size} bytes, {kind}"

    def lengths(self) -> Iterator[Experiment]:
        """Yield views of several lengths, and of large files, of the kind of pages."""
        for length in LENGTHS:
            yield self.experiment(self.page_kind, SMALL, length)
        yield self.experiment(self.page_kind, self.files.large, LENGTH)

    def others(self) -> Iterator[Experiment]:
        """Yield views of small and large files of all other kinds."""
        for kind in kinds(self.site.policy):
            if kind != self.page_kind:
                yield self.experiment(kind, SMALL, LENGTH)
                yield self.experiment(kind, self.files.large, LENGTH)

    def connection(self, results: Measurements) -> tuple[float, KindCost]:
        """Return the seconds of a connection, and the cost of the kind of pages."""
        kind = self.page_kind
        connection, small = fit_line({n: results.view(self.label(kind, SMALL, n)) for n in LENGTHS})
        large = (results.view(self.label(kind, self.files.large, LENGTH)) - connection) / LENGTH
        return connection, kind_cost(small, large, self._sizes)

    def kinds(self, results: Measurements) -> dict[str, KindCost]:
        """Return the cost of each kind."""
        connection, page = self.connection(results)
        others = (kind for kind in kinds(self.site.policy) if kind != self.page_kind)
        return {self.page_kind: page, **{kind: self._kind(results, kind, connection) for kind in others}}

    def _kind(self, results: Measurements, kind: str, connection: float) -> KindCost:
        labels = (self.label(kind, size, LENGTH) for size in (SMALL, self.files.large))
        small, large = ((results.view(label) - connection) / LENGTH for label in labels)
        return kind_cost(small, large, self._sizes)

    @property
    def _sizes(self) -> tuple[float, float]:
        return SMALL / 1000, self.files.large / 1000

    def rejection(self) -> Experiment:
        """Return the experiment of visitors that are rejected: one request each."""
        return self.experiment(self.page_kind, SMALL, 1, REJECTED)

    def off(self) -> Experiment:
        """Return the experiment of views while nothing is adapted."""
        return self.experiment(ORIGINAL, SMALL, LENGTH)

    def off_request(self, results: Measurements, connection: float) -> float:
        """Return the seconds of a request while nothing is adapted."""
        return max(0.0, (results.view(self.off().name) - connection) / LENGTH)


def views_of(targets: Sequence[str], length: int, requests: int, accept: str) -> tuple[View, ...]:
    """Return views of ``length`` URLs each that make some ``requests`` together."""
    urls = tuple(islice(cycle(targets), requests))
    return tuple(View(urls[start : start + length], accept) for start in range(0, len(urls), length))


def views_of_pages(name: str, processes: ServerProcesses, base: str, pages: Sequence[PageView]) -> Experiment:
    """Return the experiment of page views by browsers; ``base`` is the URL of the site without the final slash.

    Pages may embed files that the server refuses, at every level alike.
    """
    views = [View(tuple(base + quote_path(f"/{path}") for path in page.paths), BEST) for page in pages]
    times = max(1, REQUESTS[SMALL] // sum(len(view.urls) for view in views))
    return Experiment(name, processes, Job(tuple(views) * times, BROWSERS), EMBEDDED)
