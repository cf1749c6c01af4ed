"""Brings the ledger and the rows of the manifest up to date with the state: from what was touched, or from everything.

Both give the same ledger and the same rows.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import IO

from adaptc.compile.engine.state.results import UnitResult
from adaptc.config.config import CostConfig
from adaptc.core.media import CSS
from adaptc.report.collector import Collector
from adaptc.report.ledger import Ledger
from adaptc.report.manifest_text import ManifestText
from adaptc.report.manifest_writer import RowWriter
from adaptc.site.source_table import in_order_of_bytes

# From this share and number of files on, reading all units at once is faster than one after the other
_MOST, _FEW = 0.25, 16
# Numbers of rows that are kept in memory
_REMEMBERED = 1 << 16


class Entries:
    """The rows of a manifest whose figures are in the ``ledger``; ``every`` is a file for the rows of a whole site."""

    def __init__(self, collector: Collector, ledger: Ledger, cost: CostConfig, every: IO[bytes]) -> None:
        self.collector, self.ledger = collector, ledger
        self.paths = in_order_of_bytes(collector.resources)
        self.writer = RowWriter(collector, lru_cache(_REMEMBERED)(self._number_of), cost, bool(collector.hits))
        self._last: ManifestText | None = None
        self._changed: dict[str, bytes] = {}
        self._every = every

    def update(self, last: ManifestText | None) -> None:
        """Bring the ledger up to date: from what was touched since the manifest of ``last`` was written, if any."""
        changed = None if last is None else self._changed_since(last)
        if last is None or changed is None:
            self._enter_all()
        else:
            self._last = last
            self._enter_changed(changed)

    def _changed_since(self, last: ManifestText) -> list[str] | None:
        """Return the paths with other figures than in the ledger; ``None`` for most of the site."""
        most = max(_FEW, _MOST * len(self.paths))
        touched = self.collector.state.touched_paths()
        if len(touched) > most:
            return None
        embedded = [path for path in touched if self._weighs_other(path) and self.ledger.may_embed(path)]
        referring = last.referring(embedded) if embedded else ()
        changed = dict.fromkeys((*touched, *sorted(referring)))
        return list(changed) if len(changed) <= most else None

    def _number_of(self, path: str) -> int | None:
        # a table of a million numbers takes 100 MB, and files refer to few others
        number = bisect_left(self.paths, os.fsencode(path), key=os.fsencode)
        return number if number < len(self.paths) and self.paths[number] == path else None

    def rows(self) -> Iterator[bytes]:
        """Yield the rows of the manifest in order; after ``update``."""
        if self._last is not None:
            return self._last.updated(self.paths, self._changed)
        self._every.seek(0)
        return (line[:-1] for line in self._every)

    def _weighs_other(self, path: str) -> bool:
        """Whether a file has another weight than in the ledger: the pages that embed it have other figures, too."""
        before, resource = self.ledger.weights(path), self.collector.resources.get(path)
        if resource is None or resource.media_type == CSS:
            return True
        weights = {level: self.collector.weights.at(level, path) for level in self.collector.levels}
        return before != {level: (resource.size, *weight) for level, weight in weights.items() if weight}

    def _enter_all(self) -> None:
        self.ledger.clear()
        self.collector.weights.read_all()
        for path, results in self._results():
            self._every.write(self._enter(path, results) + b"\n")

    def _results(self) -> Iterator[tuple[str, list[UnitResult]]]:
        """Yield every path with its results, in order."""
        groups = groupby(self.collector.state.results(), key=lambda result: result.path)
        place, results = next(groups, (None, ()))
        for path in self.paths:
            yield path, list(results) if path == place else []
            if path == place:
                place, results = next(groups, (None, ()))

    def _enter_changed(self, changed: Iterable[str]) -> None:
        state, ledger = self.collector.state, self.ledger
        for path in changed:
            ledger.remove(path)
            if path in self.collector.resources:
                self._changed[path] = self._enter(path, list(state.results(path)))
        for path, _, level, _ in list(ledger.extras()):
            if not state.has_extra(level, path):
                ledger.remove_extra(level, path)

    def _enter(self, path: str, results: list[UnitResult]) -> bytes:
        self.collector.enter(self.ledger, path, results)
        return self.writer.row(path, results)
