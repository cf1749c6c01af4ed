"""Checks an output: what a build would build, and whether the files of the trees are those that were built.

The files are compared with the records of the last build (``TreeCheck``).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from enum import Enum

from adaptc.compile.engine.builder import DryRun, Scan, dry_run, scan_docroot
from adaptc.compile.engine.cache.store import time_of
from adaptc.compile.engine.dictionaries.records import are_as_asked
from adaptc.compile.engine.outdated import LibrariesChanged, NeverBuilt, OutputMissing, Reason, RecipeChanged
from adaptc.compile.engine.reporting import BuildReport, Progress
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.damage import MALFORMED, reason_of_damage
from adaptc.compile.engine.state.results import StoredFile
from adaptc.compile.engine.state.state import State, Unit
from adaptc.compile.engine.trees.trees import Trees
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.digest import digest_file
from adaptc.core.model import Resource
from adaptc.core.values import dataclass, field
from adaptc.report.manifest import MANIFEST, last_manifest
from adaptc.workflow.api import build, build_spec, engine_of


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


# ---- the files of the trees

_SECOND = 10**9


class Status(Enum):
    """The state of a representation, compared with the docroot, the configuration and the manifest."""

    STALE = "stale"
    MISSING = "missing"
    ORPHANED = "orphaned"
    CORRUPT = "corrupt"
    FOREIGN = "foreign"
    RECIPE = "recipe"


_OF_REASONS: dict[type, Status] = {
    NeverBuilt: Status.MISSING,
    OutputMissing: Status.MISSING,
    RecipeChanged: Status.RECIPE,
    LibrariesChanged: Status.RECIPE,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A representation that is not fresh: ``path`` in the docroot at ``level``, or a file of the trees.

    ``file`` is the path of a checked file below the output, ``None`` where the whole unit is meant; ``path`` is
    ``None`` for a file that comes of no file of the docroot.
    """

    status: Status
    level: str | None
    path: str | None
    file: str | None
    reason: str

    @property
    def place(self) -> str:
        """The path to show: below the output for a file of the trees, else below the docroot."""
        return self.file or self.path or ""

    def diagnostic(self) -> Diagnostic:
        """Return the finding as a diagnostic."""
        level = f"level {self.level}: " if self.level and not self.file else ""
        return diagnose(f"tree-{self.status.value}", Location(self.place), because=f"{level}{self.reason}")


def of_reason(level: str, path: str, reason: Reason) -> Finding:
    """Return the finding for a unit that a build would build."""
    return Finding(_OF_REASONS.get(type(reason), Status.STALE), level, path, None, str(reason))


@dataclass(slots=True)
class TreeCheck:
    """Compares trees. ``every_file`` reads each file; else only those with another size or time than the build gave."""

    trees: Trees
    every_file: bool
    files: int = 0
    _digests: dict[tuple[int, int], str | None] = field(default_factory=dict)

    def findings(self, state: State, resources: Mapping[str, Resource], skipped: Container[Unit]) -> Iterator[Finding]:
        """Yield what is missing, corrupt or foreign; units that are ``skipped`` have findings of their own."""
        foreign, _ = self.trees.publisher.list_files(sorted({*self.trees.spec.recipes, *state.levels()}))
        aliases = {path for path, resource in resources.items() if resource.alias_of is not None}
        seen: set[str] = set()
        for unit, files in state.files():
            level, path = unit
            stat_file = os.stat if path in aliases else os.lstat  # an alias may be published as a link
            for stored in files:
                file = self.trees.publisher.file(level, stored[1], stored[0])
                foreign.pop(file, None)
                if unit in skipped or (stored[0] != path and file in seen):
                    continue
                if stored[0] != path:  # an extra file, which other units may have as well
                    seen.add(file)
                problem = self._examine(file, stored, stat_file)
                if problem is not None:
                    yield Finding(problem[0], level, path, self._below(file), problem[1])
        for file in foreign:
            yield Finding(Status.FOREIGN, None, None, self._below(file), "adaptc did not put it there")

    def _below(self, file: str) -> str:
        return os.path.relpath(file, self.trees.spec.output)

    def _examine(
        self, file: str, stored: StoredFile, stat_file: Callable[[str], os.stat_result]
    ) -> tuple[Status, str] | None:
        """Return what is wrong with a file, ``None`` when it is as it was built."""
        _, _, key, digest, size = stored
        self.files += 1
        try:
            status = stat_file(file)
        except OSError as error:
            return Status.MISSING, f"it is not there ({error.strerror})"
        is_ours = status.st_mtime_ns == time_of(key) * _SECOND
        if is_ours and status.st_size == size and not self.every_file:
            return None
        if not stat.S_ISREG(status.st_mode):
            return Status.FOREIGN, "something else than a file is in its place"
        if status.st_size == size and self._digest(file, status) == digest:
            return None
        if is_ours:
            return Status.CORRUPT, "its content is not what was built, and its time is: a disk or a copy failed"
        return Status.FOREIGN, "it was changed by hand or by another program"

    def _digest(self, file: str, status: os.stat_result) -> str | None:
        """Return the digest of a file; one with several names, as in two levels, is read once."""
        if status.st_nlink == 1:
            return digest_file(file)
        key = (status.st_dev, status.st_ino)
        if key not in self._digests:
            self._digests[key] = digest_file(file)
        return self._digests[key]
