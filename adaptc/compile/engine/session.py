"""A warm engine: what a build of a whole site would read again, kept in memory, so that a small change costs little.

It does what ``Builder`` does, in the same order and by the same functions, for a few plain files that changed, came
or went. Whatever is not that small and plain it refuses (``NeedsFullBuild``), and a build of the whole site follows.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adaptc.compile.analyse.decisions import NO_DECISIONS, Decisions, Row, changed_decisions, decision_rows
from adaptc.compile.analyse.facts import Facts, affected_targets
from adaptc.compile.engine.assets import Assets
from adaptc.compile.engine.builder import Builder, mark_incomplete
from adaptc.compile.engine.gate import Pending
from adaptc.compile.engine.outdated import (
    Changes,
    NeverBuilt,
    OutputMissing,
    Reason,
    affected_units,
    aliases_of,
    find_changes,
    in_build_order,
    racily_clean,
)
from adaptc.compile.engine.reporting import BuildReport
from adaptc.compile.engine.stages import phase_of
from adaptc.compile.engine.state import State, Unit, as_sources
from adaptc.compile.engine.unit_builder import UnitBuilder, read_facts
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.model import Resource
from adaptc.site.docroot import load_file
from adaptc.site.mirror import types_of
from adaptc.site.site import Source

# Above so many units the workers of a whole build are faster
MOST_UNITS = 48


class NeedsFullBuild(Exception):
    """This takes a build of the whole site; the text says why. Nothing was done."""


@dataclass(slots=True)
class UpdateReport:
    """What a step did: why each unit was built, which ones went, and how many the gate refused."""

    reasons: dict[Unit, Reason] = field(default_factory=dict)
    removed: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class _SiteUpdate:
    """The site with the files that were looked at: ``now`` are those that are there, ``went`` those that are not."""

    now: dict[str, Resource]
    went: tuple[str, ...]
    changes: Changes
    known: dict[str, tuple[Resource, str]]
    read: dict[str, Facts]
    facts: dict[str, Facts]
    sources: dict[str, Source]


class Session:
    """What is known after a build of the whole site; ``report`` is its report. ``builder`` builds from now on."""

    def __init__(self, builder: Builder, state: State, report: BuildReport) -> None:
        self.builder, self.state, self.restriction = builder, state, report.restriction
        self.tree, self.types = DiskTree(builder.spec.docroot), types_of(builder.spec.docroot)
        self.known = state.resources()
        self.aliases = aliases_of(resource for resource, _ in self.known.values())
        self._facts = dict(state.facts())
        self._rows = state.decisions()
        self._assets: Assets | None = None

    def update(self, pending: Pending) -> UpdateReport:
        """Bring the trees up to date with the files ``pending.paths``, and build ``pending.units``.

        Raises ``NeedsFullBuild`` before anything was done.
        """
        started = time.time_ns()
        draft = self._draft(pending.paths)
        decisions = self.builder.spec.decide(draft.facts.items(), draft.sources)
        rows = decision_rows(decisions)
        changes = dataclasses.replace(draft.changes, decisions=frozenset(changed_decisions(self._rows, rows)))
        reasons = self._reasons(pending, changes, draft)
        if len(reasons) > MOST_UNITS:
            raise NeedsFullBuild(f"{len(reasons):,} files are to be built")
        done = UpdateReport(reasons)
        extras = self._begun(draft, rows, done, started)
        self._build(draft, changes, decisions, done)
        self.builder.trees.remove_unused_extras(self.state, extras)
        return done

    # ---- reading

    def _draft(self, paths: Iterable[str]) -> _SiteUpdate:
        now, went = self._looked_at(paths)
        before = {path: self.known[path] for path in (*now, *went) if path in self.known}
        moved = frozenset((*went, *(path for path in now if path not in before)))
        if moved and self.restriction.levels:
            raise NeedsFullBuild("pages came or went, and access logs say which of them are popular")
        known = {
            **self.known,
            **{path: (resource, before.get(path, (resource, ""))[1]) for path, resource in now.items()},
        }
        for path in went:
            del known[path]
        read = self._read(now, moved, as_sources(known.values()))
        digests = {path: facts.digest for path, facts in read.items() if path in now}
        known.update({path: (resource, digests[path]) for path, resource in now.items()})
        facts = {path: resource for path, resource in {**self._facts, **read}.items() if path in known}
        changes = find_changes(now, digests, before)
        return _SiteUpdate(now, went, changes, known, read, facts, as_sources(known.values()))

    def _looked_at(self, paths: Iterable[str]) -> tuple[dict[str, Resource], tuple[str, ...]]:
        """Return the files that are there, with the links to them, and those known that are not any more."""
        now: dict[str, Resource] = {}
        went = []
        for path in sorted(set(paths)):
            if path in self.known and self.known[path][0].alias_of is not None:
                continue  # it comes with the file that it leads to
            try:
                resource = load_file(self.tree, path, self.types)
            except FileNotFoundError:
                went.append(path)
                continue
            except (OSError, ChangedWhileRead) as error:
                raise NeedsFullBuild(f"{path} cannot be read ({error})") from None
            if resource is None:
                raise NeedsFullBuild(f"{path} is no plain file")
            now[path] = resource
            now.update((alias, self._behind(alias, resource)) for alias in self.aliases.get(path, ()))
        if any(path in self.aliases for path in went):
            raise NeedsFullBuild("a file went that symbolic links lead to")
        return now, tuple(path for path in went if path in self.known)

    def _behind(self, alias: str, resource: Resource) -> Resource:
        """Return the link ``alias`` with the file that it leads to as it is now."""
        media_type = self.known[alias][0].media_type
        return dataclasses.replace(resource, path=alias, alias_of=resource.path, media_type=media_type)

    def _read(self, now: Mapping[str, Resource], moved: frozenset[str], sources: dict[str, Source]) -> dict[str, Facts]:
        """Return the facts of files that are there, and of those that refer to files that came or went."""
        wanted = dict.fromkeys(now)
        if moved:
            affected = affected_targets(moved, self.builder.spec.config.site.index)
            wanted.update((path, None) for path in self.state.affected_by_targets(affected) if path in sources)
        unit_builder = UnitBuilder(self.builder.spec.snapshot(sources, NO_DECISIONS))
        facts_by_path: dict[str, Facts] = {}
        for path in wanted:
            facts = read_facts(unit_builder, path)
            if isinstance(facts, str):
                raise NeedsFullBuild(f"{path} cannot be read ({facts})")
            facts_by_path[path] = facts
        return facts_by_path

    # ---- deciding

    def _reasons(self, pending: Pending, changes: Changes, draft: _SiteUpdate) -> dict[Unit, Reason]:
        """Return the units to build: those that changes make stale, those of new files, and those that are owed."""
        levels = self.builder.spec.recipes
        reasons: dict[Unit, Reason] = {unit: OutputMissing("/".join(unit)) for unit in pending.units}
        reasons.update(affected_units(self.state, changes, levels))
        for path in draft.now.keys() - self.known.keys():
            reasons.update(dict.fromkeys(((level, path) for level in levels), NeverBuilt()))
        wanted = {
            unit: reason
            for unit, reason in reasons.items()
            if unit[0] in levels and unit[1] in draft.sources and not self.restriction.excludes(unit)
        }
        return in_build_order(wanted, self.builder.spec.levels)

    def _begun(self, draft: _SiteUpdate, rows: dict[str, Row], done: UpdateReport, started: int) -> dict[Unit, None]:
        """Note what was read, and take what is untrue out of the trees; return the extra files of that."""
        state = self.state
        state.begin()
        for path in draft.went:
            state.forget_source(path)
        for path, resource in draft.now.items():
            state.set_source(racily_clean(resource, started), draft.known[path][1])
        for path, facts in draft.read.items():
            state.set_facts(path, facts)
        if rows != self._rows:
            state.set_decisions(rows)
        gone = [(resource.level, path) for path in draft.went for resource in state.results(path, notes=False)]
        extras = self.builder.trees.remove_outdated(state, gone, done.reasons)
        self.builder.record_times(draft.went, (racily_clean(resource, started) for resource in draft.now.values()))
        mark_incomplete(state, True)
        state.commit()
        done.removed = len(gone)
        self.known, self._facts, self._rows = draft.known, draft.facts, rows
        return extras

    # ---- building

    def _build(self, draft: _SiteUpdate, changes: Changes, decisions: Decisions, done: UpdateReport) -> None:
        """Build the units, and publish each as soon as it is built."""
        unit_builder = UnitBuilder(self.builder.spec.snapshot(draft.sources, decisions))
        if self._assets is not None:
            unit_builder.assets.take_over(self._assets, changes.keys())
        self._assets = unit_builder.assets
        gated_publisher = self.builder.gated_publisher
        self.state.begin()
        for level, path in sorted(done.reasons, key=lambda unit: phase_of(draft.sources[unit[1]])):
            result = gated_publisher.publish(unit_builder.build(level, path), draft.sources[path].alias_of)
            if result.published:
                self.state.set_unit(result, self.builder.spec.recipes[level])
            else:
                done.refused += 1
        gated_publisher.commit(self.state)
