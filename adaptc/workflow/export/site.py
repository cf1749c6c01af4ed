"""One export, from the configuration to the directory."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.compile.engine.output import PRIVATE, output_lock
from adaptc.compile.engine.reporting import Progress
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.quantities import written_plural
from adaptc.report.manifest import last_manifest
from adaptc.workflow.api import plan
from adaptc.workflow.export.destination import Memory, put_items
from adaptc.workflow.export.items import LAYOUTS, export_items


@dataclass(frozen=True, slots=True)
class Exported:
    """What was done: files written, kept and removed, and the bytes that the export holds now."""

    destination: Path
    written: int
    kept: int
    removed: int
    size: int
    diagnostics: tuple[Diagnostic, ...]


def export_site(config: Config, level: str, destination: Path, encodings: str, progress: Progress) -> Exported:
    """Make ``destination`` hold the whole site at ``level``.

    ``encodings`` is a key of ``LAYOUTS``. Raises ``UsageError``, ``Busy`` while a build runs, and ``OSError``
    when the destination cannot be written.
    """
    manifest = last_manifest(config.output)
    manifest.require_level(level)
    docroot, target = _docroot(config), Path(os.path.realpath(destination))
    _refuse_overlap(target, docroot, Path(os.path.realpath(config.output)))
    private = config.output / PRIVATE
    with output_lock(private / "lock"):
        found = _staleness(config, level)
        items = export_items(manifest, docroot, level, LAYOUTS[encodings])
        tally = put_items(items, target, Memory.of(private, target), progress)
    return Exported(destination, tally.written, tally.kept, tally.removed, tally.size, (*found, *tally.diagnostics))


def _docroot(config: Config) -> Path:
    if config.docroot is None:
        raise UsageError("no docroot: name it with --docroot or as docroot in adaptc.toml")
    if not config.docroot.is_dir():
        raise UsageError(f"docroot {config.docroot} is not a directory")
    return config.docroot


def _refuse_overlap(target: Path, docroot: Path, output: Path) -> None:
    for name, other in (("docroot", Path(os.path.realpath(docroot))), ("output", output)):
        if target == other or target in other.parents or other in target.parents:
            raise UsageError(f"{target} and the {name} {other} overlap: choose another directory to export to")


def _staleness(config: Config, level: str) -> tuple[Diagnostic, ...]:
    """Return a warning when a build would make something new of the level."""
    reasons = plan(replace(config, build=replace(config.build, levels=(level,)))).reasons
    files = written_plural(len(reasons), "file")
    return (diagnose("export-stale", level=level, files=files),) if reasons else ()
