"""Read what changed in the docroot, and note in the state what is found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.analyse.facts import Facts, affected_targets
from adaptc.compile.engine.blueprint import Blueprint
from adaptc.compile.engine.changes import FileChanges, racily_clean
from adaptc.compile.engine.executor import Workers
from adaptc.compile.engine.progress import Progress
from adaptc.compile.engine.report import Report
from adaptc.compile.engine.snapshot import Snapshot
from adaptc.compile.engine.state import State, as_sources
from adaptc.compile.engine.view import EVERYTHING
from adaptc.compile.engine.worker import gather_batch
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import Resource

Before = Mapping[str, tuple[Resource, str]]


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of a build that ``started`` at this time, in ns since 1970; ``before`` are the known files."""

    blueprint: Blueprint
    state: State
    report: Report
    before: Before
    started: int

    def gather(self, touched: FileChanges, workers: Workers, progress: Progress) -> dict[str, str]:
        """Read files, note what is found in the state, and return their digests.

        What cannot be read is taken out of the report's resources.
        """
        report = self.report
        # a link comes right after what it leads to: equal pages are read once
        paths = sorted(self._to_read(touched), key=lambda path: (report.resources[path].alias_of or path, path))
        sizes = [(path, report.resources[path].size) for path in paths]
        progress.begin("reading", len(sizes), sum(size for _, size in sizes))
        digests: dict[str, str] = {}
        for path, facts in workers.run(gather_batch, self._snapshot(), sizes):
            progress.advance(1, report.resources[path].size, 0)
            if isinstance(facts, str):
                report.unread.append(diagnose("unreadable-file", Location(path), reason=facts))
            else:
                digests[path] = facts.digest
                self._note(path, facts)
        progress.end()
        for said in report.unread:
            assert said.location is not None
            del report.resources[said.location.path]
        return digests

    def _to_read(self, touched: FileChanges) -> dict[str, None]:
        """Return what was touched, and what refers to files that came or went."""
        wanted = dict.fromkeys(touched.touched)
        if touched.came or touched.went:
            affected = affected_targets(touched.came | touched.went, self.blueprint.config.site.index)
            referring = self.state.affected_by_targets(affected)
            wanted.update((path, None) for path in referring if path in self.report.resources)
        return wanted

    def _snapshot(self) -> str:
        before = self.before
        known = ((one, before[path][1] if path in before else "") for path, one in self.report.resources.items())
        return written(self.blueprint, "read", self.blueprint.snapshot(as_sources(known), EVERYTHING))

    def _note(self, path: str, facts: Facts) -> None:
        self.state.set_source(racily_clean(self.report.resources[path], self.started), facts.digest)
        self.state.set_facts(path, facts)


def written(blueprint: Blueprint, name: str, snapshot: Snapshot) -> str:
    """Write a snapshot for the workers, and return the name of the file."""
    path: Path = blueprint.private / "tmp" / f"{name}-{os.getpid()}-{os.urandom(4).hex()}"
    snapshot.write(path)
    return os.fspath(path)
