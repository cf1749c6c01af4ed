"""Files that a server is asked for while it is calibrated: of every kind, in two sizes."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path

from adaptc.core.model import CODINGS, IDENTITY, TOKENS, name_in_tree
from adaptc.core.urls import quote_path
from adaptc.serve.policy import Policy
from adaptc.serve.verify.scenario import BEST

# Bytes; from two sizes follow the costs of a request and of a kilobyte. The large ones are as large as those of the
# site: of 290 kB nginx sent a kilobyte for three quarters of what it takes of 50 kB.
SMALL, LARGE = 1_000, 50_000
MOST_BYTES = 16_000_000  # of the large files of a kind
# Of each, as many as a site has: one of 64 files of 100 kB cost nginx half more than one of 8, which stay in a
# processor's cache.
FEWEST, MOST = 8, 64
ORIGINAL = "original"  # the kind of files that are in no tree


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """The files of each kind and size, and the bytes of ``large`` ones."""

    count: int = FEWEST
    large: int = LARGE


FEW_FILES = SampleFiles()


class Samples:
    """A docroot of its own with a tree, below ``root``; servers share them by links."""

    def __init__(self, root: Path, files: SampleFiles) -> None:
        self.docroot, self._tree, self._times, self.files = root / "docroot", root / "tree", root / "times", files

    def link(self, policy: Policy, level: str) -> None:
        """Make the files the tree of a level in the output of ``policy``; they are written if need be."""
        if not self.docroot.exists():
            self._write_all(policy)
        Path(policy.output).mkdir()
        Path(policy.output, level).symlink_to(self._tree)
        Path(policy.times).symlink_to(self._times)

    def _write_all(self, policy: Policy) -> None:
        generator = random.Random(0)
        for kind in kinds(policy):
            for size in (SMALL, self.files.large):
                for number in range(self.files.count):
                    path = _path(kind, size, number)
                    self._write(self.docroot / path, generator.randbytes(size) if kind == ORIGINAL else b"")
                    if kind != ORIGINAL:
                        self._write(self._tree / kind / name_in_tree(kind, path), generator.randbytes(size))
                    if policy.is_strict:
                        self._record_time(self._times / path, self.docroot / path)

    @staticmethod
    def _write(file: Path, content: bytes) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def _record_time(self, record: Path, source: Path) -> None:
        self._write(record, b"")
        time = source.stat().st_mtime_ns
        os.utime(record, ns=(time, time))


def kinds(policy: Policy) -> tuple[str, ...]:
    """Return what a server sends: codings of texts, formats of images, images as they are, and originals."""
    return (*policy.codings, *policy.formats, IDENTITY, ORIGINAL)


def accepted(kind: str) -> str:
    """Return the Accept-Encoding of a client that gets a kind: that of browsers but for the other codings."""
    return TOKENS.get(kind, BEST)


def urls(policy: Policy, kind: str, size: int, count: int) -> tuple[str, ...]:
    """Return the paths of the URLs of the first ``count`` files of a kind and a size."""
    paths = (_path(kind, size, number) for number in range(count))
    return tuple(quote_path(f"{policy.prefix}/{path}") for path in paths)


def _path(kind: str, size: int, number: int) -> str:
    """Return a path as sites have them: pages at the top, images in a directory."""
    is_page = kind in CODINGS
    return f"calibrate-{kind}-{size}-{number}.html" if is_page else f"calibrate/images/{kind}-{size}-{number}.png"
