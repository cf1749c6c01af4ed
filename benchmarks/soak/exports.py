"""Exports that are killed."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path

import adaptc
from adaptc.compile.engine.reporting import Silent
from adaptc.workflow.export.export import export_site

from .bench import Bench
from .ledger import Trial
from .site import Version, draw

_LEVEL = "lossless"


def kill_export(bench: Bench, chosen: random.Random, trial: Trial) -> None:
    """Export a site that may have been exported in an older version, kill that, judge, and repeat the export."""
    before, now = draw(chosen), draw(chosen)
    now = Version(now.pages, now.assets, before.settings)
    bench.truth.copy(before, bench.place)
    target, is_new = bench.place.root / "exported", chosen.random() < 0.4
    if not is_new:
        export_site(bench.place.config(), _LEVEL, target, "suffix", Silent())
    bench.place.write(now)
    adaptc.build(bench.place.config())
    bench.kill(bench.words("export", _LEVEL, target, "--docroot", bench.place.docroot), chosen, trial)
    old, new = (_clean(bench, version) for version in (before, now))
    trial.faults += _judge(_digests(target), {} if is_new else old, new)
    export_site(bench.place.config(), _LEVEL, target, "suffix", Silent())
    if _digests(target) != new:
        names = sorted(name for name, _ in _digests(target).items() ^ new.items())
        trial.faults.append(f"the next export differs from a clean one: {names[:5]}")
    drafts = [name for name in os.listdir(bench.place.root) if name.startswith(".adaptc-")]
    trial.faults += [f"the next export leaves {name}" for name in drafts]


def _judge(found: dict[str, str], old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Files under their names are whole; a new directory appears at once."""
    if not old and found and found != new:
        return ["a new export appeared before it was complete"]
    names = [name for name in found if not name.rpartition("/")[2].startswith(".adaptc-")]
    torn = [name for name in names if found[name] not in (old.get(name), new.get(name))]
    return [f"{name} is torn" for name in torn[:5]]


def _clean(bench: Bench, version: Version) -> dict[str, str]:
    """Return what a clean export of a version gives."""
    place = bench.truth.place(version)
    target = bench.root / "exports" / version.name
    if not target.exists():
        export_site(place.config(), _LEVEL, target, "suffix", Silent())
    return _digests(target)


def _digests(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
