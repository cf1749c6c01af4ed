"""What the last build found in a docroot, for as long as a scan gives the same digest."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from adaptc.compile.engine.outdated import is_recent
from adaptc.compile.engine.reporting import BuildReport
from adaptc.compile.engine.results import pack_diagnostics, unpack_diagnostics
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state import SCANNED, State
from adaptc.core import media
from adaptc.core.digest import digest_parts
from adaptc.core.model import Resource
from adaptc.core.version import VERSION
from adaptc.site.crawled import types_of
from adaptc.site.docroot_digest import DocrootScan, PlainDirectory, scan_directory


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
        depends_on_others = bool(spec.config.select.logs or spec.config.site.server_config)
        scan = None if depends_on_others else scan_directory(os.fspath(spec.docroot), spec.selection)
        return cls(spec, scan, started)

    def last_report(self, state: State) -> BuildReport | None:
        """Return the report of a build that finds what the last one found; ``None`` if it may find something else."""
        last = state.meta("scan") if self.scan is not None else None
        if last is None or last["key"] != self._key() or state.meta("traffic") is not None:
            return None
        diagnostics = [*unpack_diagnostics(last["diagnostics"]), *self.spec.rule_diagnostics]
        unbuilt = tuple(last["unbuilt"])
        return BuildReport(lambda: _resources(state), last["count"], load_diagnostics=diagnostics, unbuilt=unbuilt)

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
        has_pages = any(resource.media_type in media.PAGES for resource in report.resources.values())
        is_final = self.scan is not None and not any(is_recent(time, self.started) for time in self.scan.times)
        if self.scan is None or report.failures or not (has_pages and is_final):
            state.set_meta(SCANNED, None)
            return state.set_meta("scan", None)
        directories = {path: plain.digest for path, plain in self.scan.plain.items()}
        state.set_meta(SCANNED, {"key": self._settings(), "directories": directories})
        own = len(report.load_diagnostics) - len(self.spec.rule_diagnostics)
        found = tuple(report.load_diagnostics[:own])
        return state.set_meta("scan", self._record(report.count, pack_diagnostics(found), report.unbuilt))

    def _record(self, count: int, diagnostics: list[Any], unbuilt: tuple[str, ...]) -> dict[str, Any]:
        return {"key": self._key(), "count": count, "diagnostics": diagnostics, "unbuilt": unbuilt}

    def _key(self) -> str:
        assert self.scan is not None
        return digest_parts(self.scan.digest, *self._conditions())

    def _settings(self) -> str:
        return digest_parts(VERSION, repr(self.spec.recipes), *self._conditions())

    def _conditions(self) -> tuple[str, str]:
        """Everything but the files that decides what is found."""
        spec, site = self.spec, self.spec.config.site
        settings = (os.fspath(spec.docroot), spec.selection, site.ignore_directives, spec.config.url_prefix)
        return repr(sorted(types_of(spec.docroot).items())), repr(settings)


def _resources(state: State) -> dict[str, Resource]:
    return {path: resource for path, (resource, _) in state.resources().items()}
