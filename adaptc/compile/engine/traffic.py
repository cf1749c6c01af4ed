"""The traffic of the site from the configured logs, and what it leaves out of a build.

A log is read once: its counts are kept in the state for as long as the file has the same size, time and inode, so that
rotated logs cost nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adaptc.compile.analyse.popularity import Traffic, count_paths, page_hits, site_finder, site_traffic
from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.results import pack_diagnostics, unpack_diagnostics
from adaptc.compile.engine.state import State
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.model import Resource
from adaptc.site.docroot import site_of

if TYPE_CHECKING:
    from adaptc.formats.accesslog.parser import LineParser

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


# ---- counting


def _count_views(
    config: Config, state: State, progress: Progress, remember: bool
) -> tuple[Counter[str], list[Diagnostic]]:
    from adaptc.formats.accesslog.parser import compile_format
    from adaptc.formats.accesslog.reader import log_files

    parser = compile_format(config.select.format)
    known = state.meta(_LOGS) or {}
    logs = {name: _key(name, parser) for name in log_files(config.select.logs)}
    records = {name: known[name] for name, key in logs.items() if name in known and known[name]["key"] == key}
    new = [name for name in logs if name not in records]
    if new:
        progress.begin("logs", len(new), 0)
        for name in new:
            records[name] = _record(name, logs[name], parser)
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


def _key(name: str, parser: LineParser) -> list[Any]:
    """Return the key of a log: another log, or one that was written to, has another key."""
    try:
        status = os.stat(name)
    except OSError as error:  # rotated meanwhile
        raise UsageError(f"log {name} cannot be read ({error.strerror})") from error
    return [parser.format, status.st_size, status.st_mtime_ns, status.st_ino]


def _record(name: str, key: list[Any], parser: LineParser) -> dict[str, Any]:
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
