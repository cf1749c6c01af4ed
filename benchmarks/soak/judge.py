"""What must hold of an output after any interruption, as sentences about what does not."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator

import adaptc
from adaptc.core.diagnostics import UsageError
from adaptc.workflow.api import plan
from adaptc.workflow.check.check import check

from .site import Place, Truth, Version, below, decoded_digests

_MOST = 5  # faults of a kind that are listed


def judge_trees(place: Place, truth: Truth, seen: Collection[Version], now: Version | None) -> list[str]:
    """Return faults of the trees: files that no clean build of ``seen`` gives, and an unreadable manifest.

    ``now`` is the version of a build that was under way, None where sources changed as it ran: as soon as a file
    appears that only the new version has, none may be there that only an older one has.
    """
    found, allowed = decoded_digests(place.output), truth.allowed(seen)
    faults = [
        f"{name} is torn or of no version" for name, digests in found.items() if digests - allowed.get(name, set())
    ]
    if now is not None:
        faults += _disorder(found, truth, seen, now)
    faults += _freshness_faults(place, truth, now)
    return [*faults[:_MOST], *_manifest_faults(place)]


def _disorder(found: dict[str, set[str]], truth: Truth, seen: Collection[Version], now: Version) -> Iterator[str]:
    new, old = truth.contents(now), truth.allowed(version for version in seen if version != now)
    changed = {name: digests for name, digests in found.items() if "/_adaptc/" not in name}  # others never change
    stale = [name for name, digests in changed.items() if digests - new.get(name, set())]
    fresh = [name for name, digests in changed.items() if digests - old.get(name, set())]
    if stale and fresh and len(seen) > 1:
        yield f"{fresh[0]} is new while {stale[0]} is stale"


def _freshness_faults(place: Place, truth: Truth, now: Version | None) -> Iterator[str]:
    """With ``serve.freshness = "strict"``: what counts as built from the current source is."""
    times = place.output / "times"
    if now is None or not times.is_dir():
        return
    current = truth.allowed(Version(now.pages, assets, now.settings) for assets in range(3))
    found = decoded_digests(place.output)
    for path in filter(lambda path: path.endswith(".html"), below(times)):
        source, name = place.docroot / path, f"lossless/id/{path}"
        is_current = source.exists() and os.stat(source).st_mtime_ns == os.stat(times / path).st_mtime_ns
        if is_current and found.get(name, set()) - current.get(name, set()):
            yield f"{name} is stale, and its time says that it is not"


def _manifest_faults(place: Place) -> Iterator[str]:
    try:
        json.loads((place.output / "manifest.json").read_bytes())
    except FileNotFoundError:
        return
    except ValueError:
        yield "manifest.json is torn"


def judge_check(place: Place, truth: Truth, now: Version, *, every_file: bool) -> list[str]:
    """Return a fault where ``adaptc check`` calls an output fresh that differs from a clean build."""
    try:
        verdict = check(place.config(), every_file=every_file)
    except UsageError as error:
        return [] if not (place.output / "manifest.json").exists() else [f"check says: {error}"]
    is_empty = not any(True for _ in below(place.output)) if place.output.exists() else True
    if verdict.findings or is_empty or place.trees() == truth.trees(now):
        return []
    return [f"check {'--content' if every_file else '--quick'} calls it fresh: {difference(place, truth, now)}"]


def judge_completion(place: Place, truth: Truth, now: Version) -> list[str]:
    """Build; return faults where the result differs from a clean build, or is not complete."""
    adaptc.build(place.config())
    faults = []
    if place.trees() != truth.trees(now):
        faults.append(f"the next build differs from a clean one: {difference(place, truth, now)}")
    if plan(place.config()).reasons:
        faults.append("after the next build there is work left")
    return faults


def difference(place: Place, truth: Truth, now: Version) -> str:
    """Return the names of some files in which an output differs from a clean build."""
    found, wanted = place.trees(), truth.trees(now)
    names = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
