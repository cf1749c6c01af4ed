"""Variants that are missing: a server falls back step by step, down to the original, and never fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.core.model import CODINGS, FORMATS, IDENTITY, MEDIA_TYPES, TOKENS, is_negotiable, name_in_tree
from adaptc.report.manifest import BuiltResource
from adaptc.serve.verify.judge import Case
from adaptc.serve.verify.matrix import BEST, Scene, headers_of
from adaptc.serve.verify.targets import Target
from adaptc.serve.verify.wire import Request

SAMPLE, SAMPLE_IMAGES = 12, 3
TYPES = ",".join([*MEDIA_TYPES.values(), "*/*"])


@dataclass(frozen=True, slots=True)
class Copy:
    """A few resources in trees of their own, from which files may be taken away."""

    root: Path
    source: Path

    def fill(self, targets: list[Target]) -> None:
        """Copy all versions of targets."""
        for target in targets:
            for level, coding in _pairs(target.resource):
                there = self.file(level, coding, target)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(
                    self.source / level / coding / name_in_tree(coding, target.resource.path), there
                )  # times make entity tags
                os.chmod(there, 0o644)

    def file(self, level: str, coding: str, target: Target) -> Path:
        """Return the place of a version."""
        return self.root / level / coding / name_in_tree(coding, target.resource.path)

    def without(self, codings: tuple[str, ...], target: Target) -> Target:
        """Take the files of codings away; return the target as it is then."""
        for level, coding in _pairs(target.resource):
            if coding in codings:
                self.file(level, coding, target).unlink(missing_ok=True)
        left = {
            level: {coding: file for coding, file in files.items() if coding not in codings}
            for level, files in target.resource.files.items()
        }
        return replace(target, resource=replace(target.resource, files=left))


# What is taken away, one after the other.
STEPS = ((CODINGS[0], FORMATS[0]), (*CODINGS, *FORMATS), (*CODINGS, *FORMATS, IDENTITY))


def _pairs(resource: BuiltResource) -> Iterator[tuple[str, str]]:
    return ((level, coding) for level, files in resource.files.items() for coding in files)


def sample(found: Sequence[Target], output: Path) -> list[Target]:
    """Return targets that have all their files, those with the most encodings first, and images with formats."""
    whole = [
        one
        for one in found
        if all(
            (output / level / coding / name_in_tree(coding, one.resource.path)).is_file()
            for level, coding in _pairs(one.resource)
        )
    ]
    chosen = sorted(whole, key=lambda one: -sum(1 for _ in _pairs(one.resource)))[:SAMPLE]
    images = [one for one in whole if one not in chosen and any(kind in FORMATS for _, kind in _pairs(one.resource))]
    return [*chosen, *images[:SAMPLE_IMAGES]]


def missing_cases(scene: Scene, target: Target) -> Iterator[Case]:
    """Yield requests for a target of which files are missing: what is left may answer, as far as the client takes it.

    A server may look for fewer steps than there are: in a build, what has no Brotli has no Zstandard either.
    """
    scene = scene.around(target)
    if scene.is_refused(target):
        return
    for accept in (None, BEST, "gzip", "br", "zstd"):
        wanted = scene.wanted(target, accept)
        plain = scene.wanted(target, "identity")
        left = tuple(one for coding in CODINGS for one in scene.wanted(target, TOKENS[coding]) if accept == BEST)
        request = Request(target.url, headers_of(accept))
        yield Case("missing", "full", target.resource.path, request, (*wanted, *plain, *left), scene.asked)
    if is_negotiable(target.resource.path):
        request = Request(target.url, headers_of(BEST, Accept=TYPES))
        wanted = scene.wanted(target, BEST, types=TYPES)
        yield Case("missing", "full", target.resource.path, request, wanted, scene.asked)
