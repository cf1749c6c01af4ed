"""Checks an output: what a build would build, and whether the files of the trees are those that were built."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from adaptc.compile.engine.builder import DryRun, Scan, dry_run, scan_docroot
from adaptc.compile.engine.dictionaries.records import are_as_asked
from adaptc.compile.engine.reporting import BuildReport, Progress
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.damage import MALFORMED, reason_of_damage
from adaptc.compile.engine.state.state import State, Unit
from adaptc.compile.engine.trees.trees import Trees
from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.core.digest import digest_file
from adaptc.report.manifest import MANIFEST, last_manifest
from adaptc.workflow.api import build, build_spec, engine_of
from adaptc.workflow.check.trees import Finding, Status, TreeCheck, of_reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check. ``fresh`` counts units without findings by level, ``files`` the checked files.

    ``undetected`` are sources that changed without a change of size and time: a build must be told to read them.
    """

    findings: tuple[Finding, ...]
    fresh: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    undetected: tuple[str, ...] = ()


def check(config: Config, *, every_file: bool) -> Verdict:
    """Compare the output with the docroot and with its manifest; nothing is written.

    With ``every_file`` all contents are compared; else those of files whose size or time changed. Raises
    ``UsageError`` for a wrong configuration.
    """
    spec = build_spec(config)
    try:
        with contextlib.closing(State(spec.state_path, read_only=True)) as state:
            return _check(Trees(spec), state, every_file) if state.discarded is None else _unusable(state.discarded)
    except (sqlite3.DatabaseError, *MALFORMED) as error:
        return _unusable(f"it is damaged ({reason_of_damage(error, spec.state_path)})")


def _unusable(reason: str) -> Verdict:
    detail = f"{reason}; a build throws it away and builds everything anew"
    return Verdict((Finding(Status.CORRUPT, None, None, ".adaptc/state.sqlite", detail),))


def repair(config: Config, verdict: Verdict, progress: Progress) -> None:
    """Remove foreign and corrupt files from the trees, and build what is needed.

    Raises as ``adaptc.workflow.api.build`` does.
    """
    builder = engine_of(config, progress)
    with builder.lock():
        for finding in verdict.findings:
            if finding.file is not None and finding.status in (Status.CORRUPT, Status.FOREIGN) and "/" in finding.file:
                builder.trees.publisher.remove_file(f"{builder.spec.output}/{finding.file}")
        path = builder.spec.state_path
        with contextlib.suppress(sqlite3.DatabaseError, *MALFORMED), contextlib.closing(State(path)) as state:
            state.begin()
            for source in verdict.undetected:
                state.invalidate_source(source)
            state.set_meta("build", None)
            state.commit()
    build(config, progress, isolated=False)


def _check(trees: Trees, state: State, every_file: bool) -> Verdict:
    inspection = scan_docroot(trees.spec, state)
    verdict = None if every_file else _quick_check(trees, state, inspection)
    return verdict or _full_check(trees, state, inspection, every_file)


def _quick_check(trees: Trees, state: State, inspection: Scan) -> Verdict | None:
    """Return the verdict if names, sizes and times show that all is fresh; ``None`` where files must be compared."""
    files = None if inspection.changes else trees.count_if_unchanged(state, inspection.report)
    if files is None:
        return None
    findings = tuple(_manifest_findings(trees.spec, state, False, False))
    return Verdict(findings, _fresh(trees.spec, inspection.report, findings), files)


def _full_check(trees: Trees, state: State, inspection: Scan, every_file: bool) -> Verdict:
    state.check()
    done = dry_run(trees, state, inspection, every_source=every_file)
    gone = dict.fromkeys(done.unwanted)
    units = _unit_findings(done)
    check = TreeCheck(trees, every_file)
    files = list(check.findings(state, done.report.resources, {**done.reasons, **gone}))
    dictionaries = tuple(_dictionary_findings(trees.spec, state))
    documents = _manifest_findings(trees.spec, state, every_file, bool(units or dictionaries))
    findings = (*units, *files, *dictionaries, *documents)
    return Verdict(findings, _fresh(trees.spec, done.report, findings), check.files, done.undetected)


def _unit_findings(done: DryRun) -> list[Finding]:
    stale = [of_reason(level, path, reason) for (level, path), reason in done.reasons.items()]
    return [*stale, *(_orphan(unit, done) for unit in done.unwanted)]


def _orphan(unit: Unit, done: DryRun) -> Finding:
    level, path = unit
    if path not in done.report.resources:
        reason = "its source is gone"
    elif done.report.restriction.excludes(unit):
        reason = "its page is not a popular one any more"
    else:
        reason = "its level is not built any more"
    return Finding(Status.ORPHANED, level, path, None, reason)


def _fresh(spec: BuildSpec, report: BuildReport, findings: tuple[Finding, ...]) -> dict[str, int]:
    """Count by level the wanted units without findings."""
    wanted = dict.fromkeys(spec.recipes, report.count)
    for level in report.restriction.levels & spec.recipes.keys():
        wanted[level] -= len(report.restriction.pages)
    for unit in {(finding.level, finding.path) for finding in findings if finding.path in report.resources}:
        if unit[0] in wanted:
            wanted[unit[0]] -= 1
    return wanted


def _dictionary_findings(spec: BuildSpec, state: State) -> Iterator[Finding]:
    """Yield a finding where a build would choose dictionaries anew, or add or remove what they encode."""
    if state.has_units and not are_as_asked(state, spec):
        reason = "the settings of dictionaries are not those of the build"
        yield Finding(Status.RECIPE, None, None, MANIFEST, reason)


def _manifest_findings(spec: BuildSpec, state: State, every_file: bool, is_stale: bool) -> Iterator[Finding]:
    """Yield what is wrong with the manifest; its content is not compared where the next build writes another."""
    if not state.has_units:
        return
    if not (spec.output / MANIFEST).is_file():
        yield Finding(Status.MISSING, None, None, MANIFEST, "it is not there")
    elif state.meta("build") is None:
        yield Finding(Status.STALE, None, None, MANIFEST, "it is older than the trees: a build was interrupted")
    elif every_file and not is_stale:
        problem = _manifest_problem(spec, state)
        if problem is not None:
            yield Finding(Status.CORRUPT, None, None, MANIFEST, problem)


def _manifest_problem(spec: BuildSpec, state: State) -> str | None:
    try:
        last_manifest(spec.output)
    except UsageError as error:
        return str(error)
    last = state.meta("documents")
    is_last = last is not None and digest_file(os.fspath(spec.output / MANIFEST)) == last["manifest"]
    return None if is_last else "it is not the manifest that the last build wrote"
