"""A dry run: what a build would read, decide and build, with nothing written.

``Builder.plan`` counts a file with another time as changed; a dry run reads every file that may have changed. So it is
exact for a docroot that was unpacked elsewhere, where every file has a new time.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adaptc.compile.analyse.facts import affected_targets
from adaptc.compile.engine.executor import available_cpus
from adaptc.compile.engine.outdated import (
    Changes,
    FileChanges,
    Reason,
    compare_files,
    find_changes,
    in_build_order,
    name_libraries,
    outdated_units,
)
from adaptc.compile.engine.reporting import BuildReport, Silent
from adaptc.compile.engine.scanned import ScannedDocroot
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state import State, Unit
from adaptc.compile.engine.trees import Trees
from adaptc.core.digest import digest_chunks
from adaptc.core.fs import ChangedWhileRead, DiskTree, Tree
from adaptc.core.model import Resource
from adaptc.site.source_table import as_sources

_Before = Mapping[str, tuple[Resource, str]]


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a build would do.

    ``reasons`` tells why it would build each unit; the files of the trees are not inspected. ``unwanted`` are the
    units that it would remove. ``undetected`` are the sources whose content changed but not their size and
    time: a build would not notice them.
    """

    report: BuildReport
    reasons: dict[Unit, Reason]
    unwanted: tuple[Unit, ...]
    undetected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """The docroot by names, sizes and times: its files, and which of them seem to have changed."""

    report: BuildReport
    changes: FileChanges


def scan_docroot(spec: BuildSpec, state: State) -> Scan:
    """Scan the names, sizes and times of the docroot. Raises ``UsageError`` as ``BuildSpec.begin_report`` does."""
    unchanged = ScannedDocroot.of(spec, 0).last_report(state)
    if unchanged is not None:
        return Scan(unchanged, FileChanges((), frozenset(), frozenset()))
    before = state.resources()
    report = spec.begin_report(state, before, Silent(), remember=False)
    return Scan(report, compare_files(report.resources, before))


def dry_run(trees: Trees, state: State, scan: Scan, *, every_source: bool) -> DryRun:
    """Compare the docroot with ``state``: read the files that seem changed, or with ``every_source`` all."""
    spec, report, before, touched = trees.spec, scan.report, state.resources(), scan.changes.touched
    digests = _read(spec, report, report.resources if every_source else touched)
    read = {path: digests[path] for path in digests if path in touched or digests[path] != before[path][1]}
    changes = find_changes(report.resources, read, before)
    if before and (changes.contents or changes.presence):
        with contextlib.closing(state.copy_to_memory()) as copy:
            changes = dataclasses.replace(changes, decisions=_decisions(spec, copy, report, before, read, changes))
    built = state.recipes()
    reasons = outdated_units(state, built, changes, spec.recipes, report.resources, report.restriction)
    name_libraries(state, reasons, built, spec.level_recipes)
    undetected = tuple(sorted(read.keys() - set(touched)))
    unwanted = tuple(trees.unwanted(built, report))
    return DryRun(report, in_build_order(reasons, spec.levels), unwanted, undetected)


def _read(spec: BuildSpec, report: BuildReport, paths: Iterable[str]) -> dict[str, str]:
    """Return the digests of sources; unreadable files are removed from the report's resources, as in a build."""
    digests = digests_of(DiskTree(spec.docroot), list(paths))
    for path, digest in digests.items():
        if digest is None:
            del report.resources[path]
    report.count = len(report.resources)
    return {path: digest for path, digest in digests.items() if digest is not None}


def digests_of(tree: Tree, paths: list[str]) -> dict[str, str | None]:
    """Return the digest of each file, ``None`` if unreadable. Threads suffice, because hashing releases the GIL."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2 * available_cpus()) as threads:
        return dict(zip(paths, threads.map(lambda path: _digest(tree, path), paths), strict=True))


def _digest(tree: Tree, path: str) -> str | None:
    try:
        return digest_chunks(tree.chunks(path))
    except (OSError, ChangedWhileRead):
        return None


def _decisions(
    spec: BuildSpec, copy: State, report: BuildReport, before: _Before, read: Mapping[str, str], changes: Changes
) -> frozenset[str]:
    """Return the decisions that would change; ``copy`` is a state that may be written."""
    from adaptc.compile.analyse.decisions import NO_DECISIONS, evidence_of
    from adaptc.compile.analyse.demotions import demotions_of
    from adaptc.compile.analyse.site_sums import sum_up
    from adaptc.compile.engine.outdated import record_decisions
    from adaptc.compile.engine.unit_builder import UnitBuilder, read_facts

    known = {**{path: digest for path, (_, digest) in before.items()}, **read}
    sources = as_sources((resource, known[path]) for path, resource in report.resources.items())
    affected = affected_targets(changes.presence, spec.config.site.index)
    pages = [path for path in copy.affected_by_targets(affected) if path in sources] if changes.presence else []
    unit_builder = UnitBuilder(spec.snapshot(sources, NO_DECISIONS))
    for path in dict.fromkeys((*(path for path in changes.contents if path in sources), *pages)):
        facts = read_facts(unit_builder, path)
        if not isinstance(facts, str):
            copy.set_facts(path, facts)
    for path in before.keys() - report.resources.keys():
        copy.forget_source(path)
    sums = sum_up(copy.facts(), lambda path: sources[path].media_type)
    # a dry run neither looks at pages nor proves them
    rows = copy.decisions()
    demotions = demotions_of(rows) if spec.config.browser.prove else {}
    return record_decisions(copy, spec.decide(sums, sources, evidence_of(rows), demotions))
