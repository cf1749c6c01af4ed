"""A warm engine: what a build of a whole site would read again, kept in memory, so that a small change costs little.

It does what ``Builder`` does, in the same order and by the same functions, for a few plain files that changed, came
or went. Whatever is not that small and plain it refuses (``Unusual``), and a build of the whole site follows.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adaptc.compile.analyse.decisions import EVERYTHING, Decisions, Row, changed_decisions, decision_rows
from adaptc.compile.analyse.facts import Facts, affected_targets
from adaptc.compile.engine.assets import Assets
from adaptc.compile.engine.builder import Builder, note_begun
from adaptc.compile.engine.gate import Owed
from adaptc.compile.engine.outdated import (
    Changes,
    NeverBuilt,
    OutputMissing,
    Reason,
    aliases_of,
    ordered,
    racily_clean,
    units_of_changes,
    what_changed,
)
from adaptc.compile.engine.reporting import Report
from adaptc.compile.engine.stages import phase_of
from adaptc.compile.engine.state import State, Unit, as_sources
from adaptc.compile.engine.unit_builder import Workshop, gathered
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.model import Resource
from adaptc.site.docroot import load_file
from adaptc.site.mirror import types_of
from adaptc.site.site import Source

# Above so many units the workers of a whole build are faster
MOST_UNITS = 48


class Unusual(Exception):
    """This takes a build of the whole site; the text says why. Nothing was done."""


@dataclass(slots=True)
class Step:
    """What a step did: why each unit was built, which ones went, and how many the gate refused."""

    reasons: dict[Unit, Reason] = field(default_factory=dict)
    removed: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class _Draft:
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

    def __init__(self, builder: Builder, state: State, report: Report) -> None:
        self.builder, self.state, self.restriction = builder, state, report.restriction
        self.tree, self.types = DiskTree(builder.blueprint.docroot), types_of(builder.blueprint.docroot)
        self.known = state.resources()
        self.aliases = aliases_of(one for one, _ in self.known.values())
        self._facts = dict(state.facts())
        self._rows = state.decisions()
        self._assets: Assets | None = None

    def step(self, owed: Owed) -> Step:
        """Bring the trees up to date with the files ``owed.paths``, and build ``owed.units``.

        Raises ``Unusual`` before anything was done.
        """
        started = time.time_ns()
        draft = self._draft(owed.paths)
        decisions = self.builder.blueprint.decide(draft.facts.items(), draft.sources)
        rows = decision_rows(decisions)
        changes = dataclasses.replace(draft.changes, decisions=frozenset(changed_decisions(self._rows, rows)))
        reasons = self._reasons(owed, changes, draft)
        if len(reasons) > MOST_UNITS:
            raise Unusual(f"{len(reasons):,} files are to be built")
        done = Step(reasons)
        extras = self._begun(draft, rows, done, started)
        self._build(draft, changes, decisions, done)
        self.builder.trees.withdraw_extras(self.state, extras)
        return done

    # ---- reading

    def _draft(self, paths: Iterable[str]) -> _Draft:
        now, went = self._looked_at(paths)
        before = {path: self.known[path] for path in (*now, *went) if path in self.known}
        moved = frozenset((*went, *(path for path in now if path not in before)))
        if moved and self.restriction.levels:
            raise Unusual("pages came or went, and access logs say which of them are popular")
        known = {**self.known, **{path: (one, before.get(path, (one, ""))[1]) for path, one in now.items()}}
        for path in went:
            del known[path]
        read = self._read(now, moved, as_sources(known.values()))
        digests = {path: facts.digest for path, facts in read.items() if path in now}
        known.update({path: (one, digests[path]) for path, one in now.items()})
        facts = {path: one for path, one in {**self._facts, **read}.items() if path in known}
        changes = what_changed(now, digests, before)
        return _Draft(now, went, changes, known, read, facts, as_sources(known.values()))

    def _looked_at(self, paths: Iterable[str]) -> tuple[dict[str, Resource], tuple[str, ...]]:
        """Return the files that are there, with the links to them, and those known that are not any more."""
        now: dict[str, Resource] = {}
        went = []
        for path in sorted(set(paths)):
            if path in self.known and self.known[path][0].alias_of is not None:
                continue  # it comes with the file that it leads to
            try:
                found = load_file(self.tree, path, self.types)
            except FileNotFoundError:
                went.append(path)
                continue
            except (OSError, ChangedWhileRead) as error:
                raise Unusual(f"{path} cannot be read ({error})") from None
            if found is None:
                raise Unusual(f"{path} is no plain file")
            now[path] = found
            now.update((alias, self._behind(alias, found)) for alias in self.aliases.get(path, ()))
        if any(path in self.aliases for path in went):
            raise Unusual("a file went that symbolic links lead to")
        return now, tuple(path for path in went if path in self.known)

    def _behind(self, alias: str, found: Resource) -> Resource:
        """Return the link ``alias`` with the file that it leads to as it is now."""
        media_type = self.known[alias][0].media_type
        return dataclasses.replace(found, path=alias, alias_of=found.path, media_type=media_type)

    def _read(self, now: Mapping[str, Resource], moved: frozenset[str], sources: dict[str, Source]) -> dict[str, Facts]:
        """Return the facts of files that are there, and of those that refer to files that came or went."""
        wanted = dict.fromkeys(now)
        if moved:
            affected = affected_targets(moved, self.builder.blueprint.config.site.index)
            wanted.update((path, None) for path in self.state.affected_by_targets(affected) if path in sources)
        workshop = Workshop(self.builder.blueprint.snapshot(sources, EVERYTHING))
        found: dict[str, Facts] = {}
        for path in wanted:
            facts = gathered(workshop, path)
            if isinstance(facts, str):
                raise Unusual(f"{path} cannot be read ({facts})")
            found[path] = facts
        return found

    # ---- deciding

    def _reasons(self, owed: Owed, changes: Changes, draft: _Draft) -> dict[Unit, Reason]:
        """Return the units to build: those that changes make stale, those of new files, and those that are owed."""
        levels = self.builder.blueprint.recipes
        found: dict[Unit, Reason] = {unit: OutputMissing("/".join(unit)) for unit in owed.units}
        found.update(units_of_changes(self.state, changes, levels))
        for path in draft.now.keys() - self.known.keys():
            found.update(dict.fromkeys(((level, path) for level in levels), NeverBuilt()))
        wanted = {
            unit: reason
            for unit, reason in found.items()
            if unit[0] in levels and unit[1] in draft.sources and not self.restriction.forbids(unit)
        }
        return ordered(wanted, self.builder.blueprint.levels)

    def _begun(self, draft: _Draft, rows: dict[str, Row], done: Step, started: int) -> dict[Unit, None]:
        """Note what was read, and take what is untrue out of the trees; return the extra files of that."""
        state = self.state
        state.begin()
        for path in draft.went:
            state.forget_source(path)
        for path, one in draft.now.items():
            state.set_source(racily_clean(one, started), draft.known[path][1])
        for path, facts in draft.read.items():
            state.set_facts(path, facts)
        if rows != self._rows:
            state.set_decisions(rows)
        gone = [(one.level, path) for path in draft.went for one in state.results(path, notes=False)]
        extras = self.builder.trees.withdraw(state, gone, done.reasons)
        self.builder.note_times(draft.went, (racily_clean(one, started) for one in draft.now.values()))
        note_begun(state, True)
        state.commit()
        done.removed = len(gone)
        self.known, self._facts, self._rows = draft.known, draft.facts, rows
        return extras

    # ---- building

    def _build(self, draft: _Draft, changes: Changes, decisions: Decisions, done: Step) -> None:
        """Build the units, and publish each as soon as it is built."""
        workshop = Workshop(self.builder.blueprint.snapshot(draft.sources, decisions))
        if self._assets is not None:
            workshop.assets.take_over(self._assets, changes.keys())
        self._assets = workshop.assets
        admission = self.builder.admission
        self.state.begin()
        for level, path in sorted(done.reasons, key=lambda unit: phase_of(draft.sources[unit[1]])):
            result = admission.admitted(workshop.make(level, path), draft.sources[path].alias_of)
            if result.published:
                self.state.set_unit(result, self.builder.blueprint.recipes[level])
            else:
                done.refused += 1
        admission.commit(self.state)
