"""An engine that stays in memory between builds, so that a small change costs little.

It does what ``Builder`` does, in the same order and by the same functions, for a few regular files that changed,
appeared or disappeared. Any other change it refuses (``NeedsFullBuild``), and a build of the whole site follows.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping

from adaptc.compile.analyse.decisions import (
    NO_DECISIONS,
    Decisions,
    Row,
    changed_decisions,
    decision_rows,
    evidence_of,
    withheld_of,
)
from adaptc.compile.analyse.demotions import demotions_of
from adaptc.compile.analyse.facts import Facts, affected_targets
from adaptc.compile.analyse.site_sums import sum_up
from adaptc.compile.engine.builder import Builder
from adaptc.compile.engine.building import phase_of
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
from adaptc.compile.engine.state.state import State, Unit
from adaptc.compile.engine.trees.gate import Pending
from adaptc.compile.engine.trees.trees import mark_incomplete
from adaptc.compile.engine.unit.assets import Assets
from adaptc.compile.engine.unit.unit_builder import UnitBuilder, read_facts
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.model import Resource
from adaptc.core.values import dataclass, field
from adaptc.site.docroot import load_file
from adaptc.site.header_rules import HostRules
from adaptc.site.host_files import HostTypes, host_rules
from adaptc.site.site import Source
from adaptc.site.source_table import as_sources

# Above this many units the workers of a full build are faster
MOST_UNITS = 48


class NeedsFullBuild(Exception):
    """The change needs a build of the whole site; the message says why. Nothing was done."""


@dataclass(slots=True)
class UpdateReport:
    """What an update did: why each unit was built, and how many units were removed and refused by the gate."""

    reasons: dict[Unit, Reason] = field(default_factory=dict)
    removed: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class _ChangedSite:
    """The site after a change: ``now`` are the changed files that exist, ``gone`` those that do not."""

    now: dict[str, Resource]
    gone: tuple[str, ...]
    changes: Changes
    known: dict[str, tuple[Resource, str]]
    read: dict[str, Facts]
    facts: dict[str, Facts]
    sources: dict[str, Source]


class Session:
    """A site in memory after a full build with the report ``report``; ``builder`` makes further builds."""

    def __init__(self, builder: Builder, state: State, report: BuildReport) -> None:
        self.builder, self.state, self.restriction = builder, state, report.restriction
        self.tree = DiskTree(builder.spec.docroot)
        self.types = HostTypes(builder.spec.docroot)
        self.known = state.resources()
        self.aliases = aliases_of(resource for resource, _ in self.known.values())
        self._facts = dict(state.facts())
        self._rows = state.decisions()
        self._hosts = self._host_rules(())
        self._assets: Assets | None = None

    def update(self, pending: Pending) -> UpdateReport:
        """Bring the trees up to date with the files ``pending.paths``, and build ``pending.units``.

        Raises ``NeedsFullBuild`` before anything is done.
        """
        started = time.time_ns()
        if self._host_rules(pending.paths).binding() != self._hosts.binding():
            raise NeedsFullBuild("hosts send other header fields with pages")
        site = self._read_changes(pending.paths)
        sums = sum_up(site.facts.items(), lambda path: site.sources[path].media_type)
        # what was seen of a page that changed is outdated; a full build looks and proves again
        evidence = {path: key for path, key in evidence_of(self._rows).items() if path not in pending.paths}
        known = (evidence, demotions_of(self._rows), withheld_of(self._rows))
        digests = ((path, facts.checks.digests) for path, facts in sorted(site.facts.items()))
        decisions = self.builder.spec.decide(sums, site.sources, *known, lambda: digests, self._hosts)
        rows = decision_rows(decisions)
        changes = dataclasses.replace(site.changes, decisions=frozenset(changed_decisions(self._rows, rows)))
        reasons = self._reasons(pending, changes, site)
        if len(reasons) > MOST_UNITS:
            raise NeedsFullBuild(f"{len(reasons):,} files must be built")
        update = UpdateReport(reasons)
        extras = self._record_and_remove(site, rows, update, started)
        self._build(site, changes, decisions, update)
        self.builder.trees.remove_unused_extras(self.state, extras)
        return update

    # ---- reading

    def _host_rules(self, paths: Iterable[str]) -> HostRules:
        """Return the rules of the site's hosts, which are read again, with those for new ``paths``."""
        spec = self.builder.spec
        return host_rules(spec.config, spec.docroot, (*self.known, *paths))

    def _read_changes(self, paths: Iterable[str]) -> _ChangedSite:
        now, gone = self._current_files(paths)
        before = {path: self.known[path] for path in (*now, *gone) if path in self.known}
        appeared_or_gone = frozenset((*gone, *(path for path in now if path not in before)))
        if appeared_or_gone and self.restriction.levels:
            raise NeedsFullBuild("files appeared or disappeared, and access logs decide which pages are popular")
        known = {
            **self.known,
            **{path: (resource, before.get(path, (resource, ""))[1]) for path, resource in now.items()},
        }
        for path in gone:
            del known[path]
        read = self._read(now, appeared_or_gone, as_sources(known.values()))
        digests = {path: facts.digest for path, facts in read.items() if path in now}
        known.update({path: (resource, digests[path]) for path, resource in now.items()})
        facts = {path: facts for path, facts in {**self._facts, **read}.items() if path in known}
        changes = find_changes(now, digests, before)
        return _ChangedSite(now, gone, changes, known, read, facts, as_sources(known.values()))

    def _current_files(self, paths: Iterable[str]) -> tuple[dict[str, Resource], tuple[str, ...]]:
        """Return the files that exist, with the links to them, and known files that no longer exist."""
        now: dict[str, Resource] = {}
        gone = []
        rules = self.builder.spec.server_rules(self.tree)
        for path in sorted(set(paths)):
            if path in self.known and self.known[path][0].alias_of is not None:
                continue  # it is handled with the file that it leads to
            try:
                resource = load_file(self.tree, path, self.builder.spec.selection, self.types, rules)
            except FileNotFoundError:
                gone.append(path)
                continue
            except (OSError, ChangedWhileRead) as error:
                raise NeedsFullBuild(f"{path} cannot be read ({error})") from None
            if resource is None:
                raise NeedsFullBuild(f"{path} is not a file that is sent as it is")
            now[path] = resource
            now.update((alias, self._alias_of(alias, resource)) for alias in self.aliases.get(path, ()))
        if any(path in self.aliases for path in gone):
            raise NeedsFullBuild("a file is gone that symbolic links lead to")
        return now, tuple(path for path in gone if path in self.known)

    def _alias_of(self, alias: str, resource: Resource) -> Resource:
        """Return the link ``alias`` with the current size and time of the file that it leads to."""
        media_type = self.known[alias][0].media_type
        return resource._replace(path=alias, alias_of=resource.path, media_type=media_type)

    def _read(
        self, now: Mapping[str, Resource], appeared_or_gone: frozenset[str], sources: dict[str, Source]
    ) -> dict[str, Facts]:
        """Return the facts of files that exist, and of files that refer to those that appeared or disappeared."""
        wanted = dict.fromkeys(now)
        if appeared_or_gone:
            affected = affected_targets(appeared_or_gone, self.builder.spec.config.site.index)
            wanted.update((path, None) for path in self.state.affected_by_targets(affected) if path in sources)
        unit_builder = UnitBuilder(
            self.builder.spec.snapshot(sources, dataclasses.replace(NO_DECISIONS, withheld=withheld_of(self._rows)))
        )
        facts_by_path: dict[str, Facts] = {}
        for path in wanted:
            facts = read_facts(unit_builder, path)
            if isinstance(facts, str):
                raise NeedsFullBuild(f"{path} cannot be read ({facts})")
            facts_by_path[path] = facts
        return facts_by_path

    # ---- deciding

    def _reasons(self, pending: Pending, changes: Changes, site: _ChangedSite) -> dict[Unit, Reason]:
        """Return the units to build: outdated units, units of new files, and pending units."""
        levels = self.builder.spec.recipes
        reasons: dict[Unit, Reason] = {unit: OutputMissing("/".join(unit)) for unit in pending.units}
        reasons.update(affected_units(self.state, changes, levels))
        for path in site.now.keys() - self.known.keys():
            reasons.update(dict.fromkeys(((level, path) for level in levels), NeverBuilt()))
        wanted = {
            unit: reason
            for unit, reason in reasons.items()
            if unit[0] in levels and unit[1] in site.sources and not self.restriction.excludes(unit)
        }
        return in_build_order(wanted, self.builder.spec.levels)

    def _record_and_remove(
        self, site: _ChangedSite, rows: dict[str, Row], update: UpdateReport, started: int
    ) -> dict[Unit, None]:
        """Record what was read, and remove outdated files from the trees; return the extra files of those units."""
        state = self.state
        state.begin()
        for path in site.gone:
            state.forget_source(path)
        for path, resource in site.now.items():
            state.set_source(racily_clean(resource, started), site.known[path][1])
        for path, facts in site.read.items():
            state.set_facts(path, facts)
        if rows != self._rows:
            state.set_decisions(rows)
        units = [(result.level, path) for path in site.gone for result in state.results(path, notes=False)]
        extras = self.builder.trees.remove_outdated(state, units, update.reasons)
        self.builder.record_times(site.gone, (racily_clean(resource, started) for resource in site.now.values()))
        mark_incomplete(state, True)
        state.commit()
        update.removed = len(units)
        self.known, self._facts, self._rows = site.known, site.facts, rows
        return extras

    # ---- building

    def _build(self, site: _ChangedSite, changes: Changes, decisions: Decisions, update: UpdateReport) -> None:
        """Build the units and publish them."""
        unit_builder = UnitBuilder(self.builder.spec.snapshot(site.sources, decisions))
        if self._assets is not None:
            unit_builder.assets.take_over(self._assets, changes.keys())
        self._assets = unit_builder.assets
        gated_publisher = self.builder.gated_publisher
        units = sorted(update.reasons, key=lambda unit: phase_of(site.sources[unit[1]]))
        results = [unit_builder.build(*unit) for unit in units]
        self.builder.trees.publisher.sync(results)
        self.state.begin()
        for built in results:
            result = gated_publisher.publish(built, site.sources[built.path].alias_of)
            if result.published:
                self.state.set_unit(result, self.builder.spec.recipes[result.level])
            else:
                update.refused += 1
        gated_publisher.commit(self.state)
