"""What levels would send if passes were dropped: units that are built into the cache and not published.

Units are built one at a time, by the workers of the build where these must do all the work.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from types import TracebackType
from typing import NamedTuple

from adaptc.browser.answers import Headers, Server, candidate_server
from adaptc.compile.analyse.demotions import NO_DEMOTIONS, Demotion, Demotions, changed_paths
from adaptc.compile.analyse.popularity import Restriction
from adaptc.compile.engine.cache.store import ObjectGone, Store
from adaptc.compile.engine.state.results import UnitResult, unpublished
from adaptc.compile.engine.state.state import Unit
from adaptc.compile.engine.unit.snapshot import SharedSnapshot
from adaptc.compile.engine.unit.unit_builder import UnitBuilder
from adaptc.compile.engine.workers.executor import Workers
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import IDENTITY, OWN_DIRECTORY
from adaptc.core.values import dataclass, field
from adaptc.site.site import Site

# Seconds between two checks of whether a build is to stop
_PATIENCE = 0.5
# Builders that a process keeps, each with the assets that it made
_KEPT = 4


class Terms(NamedTuple):
    """What units are built under: the items of ``Demotions``.

    With ``alone`` pages are neither compared with the level above nor refused where they grow.
    """

    dropped: tuple[tuple[Unit, tuple[Demotion, ...]], ...] = ()
    alone: bool = False

    @classmethod
    def of(cls, demotions: Demotions, *, alone: bool = False) -> Terms:
        """Return the terms of demotions."""
        return cls(tuple(demotions.items()), alone)


Request = tuple[Terms, Unit]


class _Builders:
    """The builders of one snapshot."""

    def __init__(self, shared: SharedSnapshot) -> None:
        self.snapshot = shared.snapshot
        self.site: Site | None = None
        self._builders: OrderedDict[Terms, UnitBuilder] = OrderedDict()

    def builder(self, terms: Terms) -> UnitBuilder:
        """Return the builder of units under terms; it has the assets of others where they are the same."""
        known = self._builders.get(terms)
        if known is None:
            known = self._builders[terms] = self._new(terms)
            if len(self._builders) > _KEPT:
                self._builders.popitem(last=False)
        self._builders.move_to_end(terms)
        return known

    def _new(self, terms: Terms) -> UnitBuilder:
        decisions, demotions = self.snapshot.decisions, dict(terms.dropped)
        snapshot = dataclasses.replace(self.snapshot, decisions=dataclasses.replace(decisions, demotions=demotions))
        # what the state has was built under the demotions of the snapshot
        hidden = changed_paths(decisions.demotions, demotions)
        builder = UnitBuilder(snapshot, self.site, hidden, alone=terms.alone)
        self.site = builder.site
        for other_terms, other in self._builders.items():
            if other_terms.alone == terms.alone:
                builder.assets.take_over(other.assets, changed_paths(dict(other_terms.dropped), demotions))
        return builder


@lru_cache(maxsize=1)
def _builders(shared: SharedSnapshot) -> _Builders:
    return _Builders(shared)


def build_candidates(shared: SharedSnapshot, requests: Sequence[Request]) -> Iterator[UnitResult]:
    """Yield units under their terms, built into the cache unless the state has them."""
    builders = _builders(shared)
    for terms, (level, path) in requests:
        builder = builders.builder(terms)
        known = None if terms.alone else builder.built.get(level, path, notes=True)
        yield known or builder.build(level, path)


@dataclass(eq=False)
class Candidates:
    """Builds candidates, as a context manager. ``restriction`` leaves units out, which are served as originals."""

    shared: SharedSnapshot
    workers: Workers
    restriction: Restriction
    built: dict[Request, UnitResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._is_closed = False
        self.store = Store(self.shared.snapshot.cache)
        # one at a time, and always in the same thread: SQLite and the caches of a builder ask for that
        self._thread = ThreadPoolExecutor(1, "candidates")

    def __enter__(self) -> Candidates:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._is_closed = True
        self._thread.shutdown(cancel_futures=True)

    def prepare(self, units: Iterable[tuple[Unit, int]], check: Callable[[], None]) -> None:
        """Build units without demotions, by all workers; each has a weight (``Workers.run``).

        ``check`` is called now and then, and may raise.
        """
        wanted: list[tuple[Request, int]] = [
            ((Terms(), unit), weight) for unit, weight in units if not self.restriction.excludes(unit)
        ]
        running = self._thread.submit(self._run, wanted)
        while not wait((running,), _PATIENCE).done:
            check()
        running.result()

    def _run(self, requests: Sequence[tuple[Request, int]]) -> None:
        for result in self.workers.run(build_candidates, self.shared, requests, _lose):
            self.built[Terms(), (result.level, result.path)] = result
            if self._is_closed:
                return

    def result(self, terms: Terms, unit: Unit) -> UnitResult:
        """Return a unit under terms."""
        return self._thread.submit(self._result, terms, unit).result()

    def _result(self, terms: Terms, unit: Unit) -> UnitResult:
        if (terms, unit) not in self.built:
            plain = self._result(Terms(alone=terms.alone), unit) if terms.dropped else None
            changed = changed_paths(NO_DEMOTIONS, dict(terms.dropped))
            if plain is None or not changed.isdisjoint(plain.dependencies):
                (plain,) = self.workers.run(build_candidates, self.shared, [((terms, unit), 1)], _lose)
            self.built[terms, unit] = plain
        return self.built[terms, unit]

    def unaffected(self, demotions: Demotions) -> dict[Unit, UnitResult]:
        """Return the units that were built without demotions and are the same under these."""
        changed = changed_paths(NO_DEMOTIONS, demotions)
        return {
            unit: result
            for (terms, unit), result in self.built.items()
            if terms == Terms() and result.published and changed.isdisjoint(result.dependencies)
        }


def _lose(request: Request, reason: str) -> UnitResult:
    """Return the unit of a request that was not built: its original is served."""
    _, (level, path) = request
    return unpublished(level, path, "", diagnose("not-built", Location(path), name=level, reason=reason))


class CandidateLevel:
    """A level under terms."""

    def __init__(self, candidates: Candidates, terms: Terms, level: str, site: Site) -> None:
        self.candidates, self.terms, self.level, self.site = candidates, terms, level, site
        self.demotions: Demotions = dict(terms.dropped)
        self._extras: dict[str, str] = {}

    def server(self, headers: Headers) -> Server:
        """Return what answers for the level; ``headers`` go with pages."""
        docroot = self.candidates.shared.snapshot.docroot
        return candidate_server(self.content, self.in_format, docroot, self.site, headers)

    def unit(self, path: str) -> UnitResult | None:
        """Return the unit of a file, ``None`` where the level has none."""
        unit = (self.level, path)
        if path not in self.site.sources or self.candidates.restriction.excludes(unit):
            return None
        result = self.candidates.result(self.terms, unit)
        self._extras.update((extra.path, extra.outputs[0].digest) for extra in result.extras)
        return result

    def content(self, path: str) -> bytes | None:
        """Return a file of the level, ``None`` where the original is served."""
        if path.startswith(OWN_DIRECTORY) or path in self._extras:
            digest = self._extras.get(path)
        else:
            digest = self._digest(IDENTITY, path)
        return None if digest is None else self._object(digest, path)

    def in_format(self, name: str, path: str) -> bytes | None:
        """Return an image of the level in the format ``name``, ``None`` where it has none."""
        digest = self._digest(name, path)
        return None if digest is None else self._object(digest, path)

    def _digest(self, coding: str, path: str) -> str | None:
        result = self.unit(path)
        outputs = result.outputs if result is not None else ()
        return next((output.digest for output in outputs if output.coding == coding), None)

    def _object(self, digest: str, path: str) -> bytes:
        content = self.candidates.store.content(digest)
        if content is None:
            raise ObjectGone(path)
        return content
