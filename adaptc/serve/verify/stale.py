"""Sources that changed behind the back of a build: a strict server sends what is in the docroot, at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.engine.output import TIMES
from adaptc.serve.verify.judge import Case
from adaptc.serve.verify.matrix import BEST, Scene, headers_of
from adaptc.serve.verify.targets import Target
from adaptc.serve.verify.wire import Request

# Seconds by which the time of a source moves: an edit, or an older copy that kept its time, is as stale
MOVES = (0, 3600, -3600)


@dataclass(frozen=True, slots=True)
class Sources:
    """Copies of a few sources, whose times may be moved; ``root`` is the docroot that they make."""

    root: Path
    docroot: Path

    def fill(self, targets: list[Target], output: Path, copies: Path) -> None:
        """Copy the sources of targets, and beside the ``copies`` of their trees the times that were noted of them."""
        for target in targets:
            path = target.resource.path
            for source, copy in ((self.docroot / path, self.root / path), _times(output, copies, path)):
                if source.exists():
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, copy)
                    os.chmod(copy, 0o644)

    def move(self, targets: list[Target], seconds: int) -> None:
        """Give sources the time of the docroot's files, moved by ``seconds``."""
        for target in targets:
            found = os.stat(self.docroot / target.resource.path)
            moved = found.st_mtime_ns + seconds * 10**9
            os.utime(self.root / target.resource.path, ns=(moved, moved))

    def remove(self, targets: list[Target]) -> None:
        """Take sources away."""
        for target in targets:
            (self.root / target.resource.path).unlink()


def _times(output: Path, copies: Path, path: str) -> tuple[Path, Path]:
    return output / TIMES / path, copies / TIMES / path


def stale_cases(scene: Scene, target: Target) -> Iterator[Case]:
    """Yield requests for a target whose source may have moved."""
    scene = scene.around(target)
    for accept in (None, BEST, "gzip"):
        request = Request(target.url, headers_of(accept))
        if scene.mode.rejects:
            yield Case("stale", "rejected", target.resource.path, request, asked=scene.asked)
        else:
            wanted = scene.wanted(target, accept)
            yield Case("stale", "full", target.resource.path, request, wanted, scene.asked)


def gone_cases(targets: list[Target]) -> Iterator[Case]:
    """Yield requests for targets without a source."""
    for target in targets:
        yield Case("stale", "gone", target.resource.path, Request(target.url, headers_of(BEST)))
