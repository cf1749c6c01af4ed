"""Copies of trees and sources that a verification may alter: missing files, and sources that changed after the build.

Where files are missing, a server falls back step by step to the original, and never fails. Where a source changed, a
strict server sends what is in the docroot.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.compile.engine.trees.output import TIMES
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, MEDIA_TYPES, TOKENS, is_negotiable, name_in_tree
from adaptc.report.manifest import BuiltResource
from adaptc.serve.verify.http_client import Request
from adaptc.serve.verify.scenario import BEST, Case, Scenario, Target, headers_of

SAMPLE, SAMPLE_IMAGES = 12, 3
TYPES = ",".join([*MEDIA_TYPES.values(), "*/*"])
# The codings and formats that are removed, one step after the other
STEPS = ((CODINGS[0], FORMATS[0]), (*CODINGS, *FORMATS), (*CODINGS, *FORMATS, IDENTITY))
# Seconds by which the time of a source moves: an older copy that kept its time is as stale as an edit
MOVES = (0, 3600, -3600)


def sample(targets: Sequence[Target], output: Path) -> list[Target]:
    """Return targets that have all their files, those with the most encodings first, and images with formats."""
    complete = [target for target in targets if _is_complete(target.resource, output)]
    chosen = sorted(complete, key=lambda target: -sum(1 for _ in _versions(target.resource)))[:SAMPLE]
    images = [target for target in complete if target not in chosen and _has_formats(target.resource)]
    return [*chosen, *images[:SAMPLE_IMAGES]]


def _is_complete(resource: BuiltResource, output: Path) -> bool:
    names = ((level, coding, name_in_tree(coding, resource.path)) for level, coding in _versions(resource))
    return all((output / level / coding / name).is_file() for level, coding, name in names)


def _has_formats(resource: BuiltResource) -> bool:
    return any(coding in FORMATS for _, coding in _versions(resource))


def _versions(resource: BuiltResource) -> Iterator[tuple[str, str]]:
    return ((level, coding) for level, files in resource.files.items() for coding in files)


def _copy(source: Path, copy: Path) -> None:
    """Copy a file that servers can read, with its time, from which entity tags are made."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, copy)
    os.chmod(copy, 0o644)


# ---- missing files


@dataclass(frozen=True, slots=True)
class TreeCopies:
    """Copies of all versions of a few resources, in trees of their own below ``root``; ``source`` is the output."""

    root: Path
    source: Path

    def fill(self, targets: list[Target]) -> None:
        """Copy all versions of targets."""
        for target in targets:
            for level, coding in _versions(target.resource):
                source = self.source / level / coding / name_in_tree(coding, target.resource.path)
                _copy(source, self.file(level, coding, target))

    def file(self, level: str, coding: str, target: Target) -> Path:
        """Return the path of a version."""
        return self.root / level / coding / name_in_tree(coding, target.resource.path)

    def without(self, codings: tuple[str, ...], target: Target) -> Target:
        """Remove the files of codings; return the target with the remaining ones."""
        for level, coding in _versions(target.resource):
            if coding in codings:
                self.file(level, coding, target).unlink(missing_ok=True)
        remaining = {
            level: {coding: file for coding, file in files.items() if coding not in codings}
            for level, files in target.resource.files.items()
        }
        return replace(target, resource=replace(target.resource, files=remaining))


def missing_cases(scenario: Scenario, target: Target) -> Iterator[Case]:
    """Yield requests for a target with missing files: any remaining version that the client accepts may answer.

    A server may try fewer steps than possible: in a build, a file without Brotli has no Zstandard either.
    """
    scenario = scenario.of_target(target)
    if scenario.is_refused(target):
        return
    for accept in (None, BEST, "gzip", "br", "zstd"):
        versions = [*scenario.wanted(target, accept), *scenario.wanted(target, "identity")]
        if accept == BEST:
            versions += [version for coding in CODINGS for version in scenario.wanted(target, TOKENS[coding])]
        request = Request(target.url, headers_of(accept))
        yield Case("missing", "full", target.resource.path, request, tuple(versions), scenario.requested)
    if is_negotiable(target.resource.path):
        request = Request(target.url, headers_of(BEST, Accept=TYPES))
        wanted = scenario.wanted(target, BEST, types=TYPES)
        yield Case("missing", "full", target.resource.path, request, wanted, scenario.requested)


# ---- changed sources


@dataclass(frozen=True, slots=True)
class SourceCopies:
    """Copies of a few sources, whose times can be moved, in a docroot of their own: ``root``."""

    root: Path
    docroot: Path

    def fill(self, targets: list[Target], output: Path, trees: Path) -> None:
        """Copy the sources of targets, and their recorded times from ``output`` to the copies of trees in ``trees``."""
        for target in targets:
            path = target.resource.path
            for source, copy in (
                (self.docroot / path, self.root / path),
                (output / TIMES / path, trees / TIMES / path),
            ):
                if source.exists():
                    _copy(source, copy)

    def move(self, targets: list[Target], seconds: int) -> None:
        """Give sources the time of the docroot's files, moved by ``seconds``."""
        for target in targets:
            time = os.stat(self.docroot / target.resource.path).st_mtime_ns + seconds * 10**9
            os.utime(self.root / target.resource.path, ns=(time, time))

    def remove(self, targets: list[Target]) -> None:
        """Remove the sources."""
        for target in targets:
            (self.root / target.resource.path).unlink()


def stale_cases(scenario: Scenario, target: Target) -> Iterator[Case]:
    """Yield requests for a target whose source may have moved."""
    scenario = scenario.of_target(target)
    for accept in (None, BEST, "gzip"):
        request = Request(target.url, headers_of(accept))
        if scenario.mode.rejects:
            yield Case("stale", "rejected", target.resource.path, request, requested=scenario.requested)
        else:
            wanted = scenario.wanted(target, accept)
            yield Case("stale", "full", target.resource.path, request, wanted, scenario.requested)


def removed_cases(targets: list[Target]) -> Iterator[Case]:
    """Yield requests for targets without a source."""
    for target in targets:
        yield Case("stale", "not-found", target.resource.path, Request(target.url, headers_of(BEST)))
