"""A docroot and its output in a directory of their own, for tests of whole builds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import adaptc
from adaptc.compile.engine.state.state import LONGEST_PATH, state_path
from adaptc.config.config import Config
from adaptc.core.model import CODINGS
from adaptc.formats.codings import decode
from adaptc.workflow.api import BuildResult
from adaptc.workflow.configuration import load_config

LEVELS = ("full", "lossless")
_CLOCK = count(1_600_000_000)


@dataclass(frozen=True)
class BuiltSite:
    """``root`` holds the docroot ``site`` and the output ``opt``; work is done in this process unless told otherwise.

    Each file that is written is a second younger than the one before: no two look the same by their times.
    """

    root: Path

    @property
    def docroot(self) -> Path:
        return self.root / "site"

    @property
    def output(self) -> Path:
        return self.root / "opt"

    def write(self, files: Mapping[str, str | bytes]) -> BuiltSite:
        """Write files of the docroot."""
        for path, content in files.items():
            file = self.docroot / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
            now = next(_CLOCK) * 10**9
            os.utime(file, ns=(now, now))
        return self

    def remove(self, path: str) -> None:
        """Remove a file or directory of the docroot, and the directories that it leaves empty."""
        file = self.docroot / path
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        else:
            file.unlink()
        for parent in file.parents:
            if parent == self.docroot or any(parent.iterdir()):
                return
            parent.rmdir()

    def config(self, **overrides: Any) -> Config:
        """Return the configuration; ``build__jobs=2`` sets ``build.jobs``."""
        chosen = {"docroot": self.docroot, "output": self.output, "build.effort": "fast", "build.jobs": 1}
        return load_config(overrides=chosen | {key.replace("__", "."): value for key, value in overrides.items()})

    def build(self, **overrides: Any) -> BuildResult:
        """Build the site."""
        return adaptc.build(self.config(**overrides), isolated=False)

    def built(self, **overrides: Any) -> dict[str, str]:
        """Build the site; return the reason's name for each unit ("lossless/a.html")."""
        return {
            f"{level}/{path}": type(reason).__name__ for (level, path), reason in self.build(**overrides).built.items()
        }

    def trees(self) -> dict[str, bytes]:
        """Return what the output holds, but for the private directory: content by path, links as "-> target"."""
        return {path: _content(self.output / path) for path in files_below(self.output)}

    def stamps(self) -> dict[str, tuple[int, int]]:
        """Return (mtime, inode) of every file of the output by path."""
        found = {path: os.lstat(self.output / path) for path in files_below(self.output)}
        return {path: (status.st_mtime_ns, status.st_ino) for path, status in found.items()}

    def read(self, path: str, level: str = "lossless", coding: str = "id") -> bytes:
        """Return a representation."""
        return (self.output / level / coding / path).read_bytes()

    def clean(self, where: str = "clean") -> BuiltSite:
        """Return a site with the same docroot that was built in another place, with a cache of its own."""
        other = BuiltSite(self.root / where)
        shutil.rmtree(other.root, ignore_errors=True)
        shutil.copytree(self.docroot, other.docroot, symlinks=True)
        return other


def far_output(root: Path, length: int = LONGEST_PATH) -> Path:
    """Return an output directory whose state has a path of ``length`` bytes."""
    rest = length - len(os.fsencode(state_path(root))) - 1
    return root / ("o" * (rest // 2 - 1) + "/" + "o" * (rest - rest // 2))


def files_below(root: Path) -> Iterator[str]:
    """Yield the paths of files and links below ``root``, in order, but for the private directory."""
    for directory, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name != ".adaptc")
        links = [name for name in inner if os.path.islink(os.path.join(directory, name))]
        yield from (os.path.relpath(os.path.join(directory, name), root) for name in sorted([*names, *links]))


def _content(file: Path) -> bytes:
    return f"-> {os.readlink(file)}".encode() if file.is_symlink() else file.read_bytes()


def decoded(path: str, content: bytes) -> bytes:
    """Return what a file of the trees stands for; ``path`` is LEVEL/CODING/..."""
    coding = path.split("/")[1]
    return decode(content, coding, None) if coding in CODINGS else content
