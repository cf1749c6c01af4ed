"""Load: the docroot as a build finds it, and the traffic of the site, which may leave pages out.

What the last build found counts for as long as a scan of the docroot gives the same digest. A log is read once: its
counts are kept in the state for as long as the file has the same size, time and inode, so that rotated logs cost
nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adaptc.compile.analyse.popularity import (
    Traffic,
    count_paths,
    page_hits,
    restrict_to_popular,
    site_finder,
    site_traffic,
)
from adaptc.compile.engine.outdated import has_recent
from adaptc.compile.engine.reporting import BuildReport, Progress
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.results import pack_diagnostics, unpack_diagnostics
from adaptc.compile.engine.state.state import SCANNED, State
from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.digest import digest_file, digest_parts
from adaptc.core.interpreter import available_cpus
from adaptc.core.model import Resource
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION
from adaptc.site.apache_configuration import access_files_above
from adaptc.site.docroot import DocrootScan, PlainDirectory, scan_directory, site_of
from adaptc.site.host_files import HostTypes, host_rules, outer_files
from adaptc.site.source_table import LoadedFiles, paths_of, read_files

if TYPE_CHECKING:
    from adaptc.formats.accesslog.parser import LineParser


def begin_report(
    spec: BuildSpec,
    state: State,
    known: Mapping[str, tuple[Resource, str]],
    progress: Progress,
    *,
    remember: bool,
    unchanged: Mapping[str, PlainDirectory] | None = None,
) -> BuildReport:
    """Load the docroot and return the report of a build that begins: its files, and what traffic leaves out.

    ``known`` are the files of the last build, ``unchanged`` the directories that are as it found them. With
    ``remember`` the state keeps what was counted in the logs. Raises ``UsageError`` for missing logs.
    """
    docroot = spec.load(known, unchanged)
    traffic, problems = measure_traffic(spec.config, state, docroot.resources, progress, remember=remember)
    left_out = restrict_to_popular(traffic, docroot.resources, spec.levels)
    diagnostics = [*docroot.diagnostics, *spec.rule_diagnostics, *problems]
    return BuildReport(
        lambda: docroot.resources,
        len(docroot.resources),
        load_diagnostics=diagnostics,
        traffic=traffic,
        restriction=left_out,
        unbuilt=docroot.unbuilt(),
        withheld=docroot.withheld_places(),
        hosts=host_rules(spec.config, spec.docroot, docroot.resources),
    )


@dataclass(frozen=True, slots=True)
class ScannedDocroot:
    """The docroot of ``spec`` as a scan that ``started`` at this time, in ns since 1970, found it.

    ``scan`` is ``None`` where it does not tell all: with logs, with rules in the server's own configuration.
    """

    spec: BuildSpec
    scan: DocrootScan | None
    started: int

    @classmethod
    def of(cls, spec: BuildSpec, started: int) -> ScannedDocroot:
        """Scan the docroot."""
        depends_on_others = bool(
            spec.config.select.logs or spec.config.site.server_config or any(access_files_above(spec.docroot))
        )
        processes = spec.config.build.jobs or available_cpus()
        scan = None if depends_on_others else scan_directory(os.fspath(spec.docroot), spec.selection, processes)
        return cls(spec, scan, started)

    def last_report(self, state: State) -> BuildReport | None:
        """Return the report of a build that finds what the last one found; ``None`` if it may find something else."""
        last = state.meta("scan") if self.scan is not None else None
        if last is None or "withheld" not in last or last["key"] != self._key() or state.meta("traffic") is not None:
            return None
        diagnostics = [*unpack_diagnostics(last["diagnostics"]), *self.spec.rule_diagnostics]
        unbuilt, withheld = tuple(last["unbuilt"]), tuple(last["withheld"])
        return BuildReport(
            lambda: _resources(state), last["count"], load_diagnostics=diagnostics, unbuilt=unbuilt, withheld=withheld
        )

    def unchanged(self, state: State) -> dict[str, PlainDirectory]:
        """Return the directories that are as they were when the last build recorded them.

        The state forgets what was recorded when a source of it changes.
        """
        last = state.meta(SCANNED) if self.scan is not None else None
        if last is None or self.scan is None or last["key"] != self._settings():
            return {}
        known = last["directories"]
        return {path: found for path, found in self.scan.plain.items() if known.get(path) == found.digest}

    def record(self, state: State, report: BuildReport) -> None:
        """Record what was found, unless a file could not be read, or may change again in the same tick of the clock."""
        is_final = self.scan is not None and not has_recent(self.scan.times, self.started)
        if self.scan is None or report.failures or not (has_pages(report.resources) and is_final):
            state.set_meta(SCANNED, None)
            return state.set_meta("scan", None)
        # two paths may be alike but for their case wherever they are
        is_local = all(diagnostic.id != "case-collision" for diagnostic in report.load_diagnostics)
        directories = _complete_directories(self.scan.plain, report.resources)
        state.set_meta(SCANNED, {"key": self._settings(), "directories": directories} if is_local else None)
        own = len(report.load_diagnostics) - len(self.spec.rule_diagnostics)
        found = tuple(report.load_diagnostics[:own])
        return state.set_meta("scan", self._record(report, pack_diagnostics(found)))

    def _record(self, report: BuildReport, diagnostics: list[Any]) -> dict[str, Any]:
        places = {"unbuilt": report.unbuilt, "withheld": report.withheld}
        return {"key": self._key(), "count": report.count, "diagnostics": diagnostics, **places}

    def _key(self) -> str:
        assert self.scan is not None
        return digest_parts(self.scan.digest, *self._conditions())

    def _settings(self) -> str:
        return digest_parts(repr(self.spec.recipes), *self._conditions())

    def _conditions(self) -> tuple[str, str, str]:
        """Everything but the files that decides what is found."""
        spec, site = self.spec, self.spec.config.site
        settings = (os.fspath(spec.docroot), spec.selection, site.ignore_directives, spec.config.url_prefix)
        outer = [(name, digest_file(os.fspath(file))) for name, file in outer_files(spec.docroot)]
        return VERSION, HostTypes(spec.docroot).identity, repr((settings, outer))


def _complete_directories(plain: Mapping[str, PlainDirectory], resources: Mapping[str, Resource]) -> dict[str, str]:
    """Return the digests of the directories in which every file is one of ``resources``, and none is hidden."""
    kept = frozenset(resources.kept) if isinstance(resources, LoadedFiles) else frozenset()
    files = Counter[str]()
    for path, resource in read_files(resources).items():
        directory, _, name = path.rpartition("/")
        files[directory] += resource.alias_of is None and not name.startswith(".")
    return {path: each.digest for path, each in plain.items() if path in kept or files[path] == each.files}


def has_pages(resources: Mapping[str, Resource]) -> bool:
    """Whether any of ``resources`` is a page."""
    return any(True for _ in paths_of(resources, media.PAGES))


def _resources(state: State) -> dict[str, Resource]:
    return {path: resource for path, (resource, _) in state.resources().items()}


# ---- traffic

_LOGS, _TRAFFIC = "logs", "traffic"


def measure_traffic(
    config: Config, state: State, resources: Mapping[str, Resource], progress: Progress, *, remember: bool
) -> tuple[Traffic | None, list[Diagnostic]]:
    """Return the traffic by ``[select] logs``, ``None`` without logs, and the problems of the logs.

    With ``remember`` the state keeps the counts. Raises ``UsageError`` for missing logs.
    """
    if not config.select.logs:
        if remember:
            _remember(state, None)
        return None, []
    counts, problems = _count_views(config, state, progress, remember)
    hits = page_hits(counts, site_finder(site_of(config, resources)))
    aliases = {path: resource.alias_of for path, resource in resources.items() if resource.alias_of is not None}
    traffic = site_traffic(hits, config.select.share, aliases)
    if not hits:
        problems.append(diagnose("log-without-pages"))
    if remember:
        _remember(state, traffic)
    return traffic, problems


def _count_views(
    config: Config, state: State, progress: Progress, remember: bool
) -> tuple[Counter[str], list[Diagnostic]]:
    from adaptc.formats.accesslog.parser import compile_format
    from adaptc.formats.accesslog.reader import log_files

    parser = compile_format(config.select.format)
    known = state.meta(_LOGS) or {}
    logs = {name: _log_key(name, parser) for name in log_files(config.select.logs)}
    records = {name: known[name] for name, key in logs.items() if name in known and known[name]["key"] == key}
    new = [name for name in logs if name not in records]
    if new:
        progress.begin("logs", len(new), 0)
        for name in new:
            records[name] = _log_record(name, logs[name], parser)
            progress.advance(1, 0, 0)
        progress.end()
    if remember and records != known:
        state.set_meta(_LOGS, records)
    counts: Counter[str] = Counter()
    problems: list[Diagnostic] = []
    for name in logs:
        counts.update(records[name]["counts"])
        problems.extend(unpack_diagnostics(records[name]["diagnostics"]))
    return counts, problems


def _log_key(name: str, parser: LineParser) -> list[Any]:
    """Return the key of a log: another log, or one that was written to, has another key."""
    try:
        status = os.stat(name)
    except OSError as error:  # rotated meanwhile
        raise UsageError(f"log {name} cannot be read ({error.strerror})") from error
    return [parser.format, status.st_size, status.st_mtime_ns, status.st_ino]


def _log_record(name: str, key: list[Any], parser: LineParser) -> dict[str, Any]:
    from adaptc.formats.accesslog.reader import LogTally, read_log

    tally = LogTally()
    counts = count_paths(read_log(name, parser, tally))
    return {"key": key, "counts": counts, "diagnostics": pack_diagnostics(tuple(tally.diagnostics))}


# ---- what is remembered of the last build, for adaptc explain


def _remember(state: State, traffic: Traffic | None) -> None:
    values = traffic and {"hits": traffic.hits, "popular": sorted(traffic.popular), "share": traffic.share}
    if state.meta(_TRAFFIC) != values:
        state.set_meta(_TRAFFIC, values)


def last_traffic(state: State) -> Traffic | None:
    """Return the traffic that the last build used, ``None`` when it had no logs."""
    values = state.meta(_TRAFFIC)
    return Traffic(values["hits"], frozenset(values["popular"]), values["share"]) if values else None
