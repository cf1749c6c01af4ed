"""What browsers may hold of earlier builds: style sheets, scripts and dictionaries, which others are encoded against.

The state has the versions of each, the newest first. Their contents are links to objects of the cache, in a private
directory of the output: what the cache removes stays there.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adaptc.core.digest import digest_bytes
from adaptc.core.model import IDENTITY, OWN_DIRECTORY, dictionary_coding
from adaptc.formats.codings import CodingError, decode

if TYPE_CHECKING:
    from adaptc.compile.engine.state.state import State

# The name of the dictionaries of a level; those of files are patterns of their paths (``core.urls``)
DICTIONARIES = f"{OWN_DIRECTORY}*.dict"


class Version(NamedTuple):
    """A content by its SHA-256, and the object of the cache that holds it, in a content coding."""

    digest: str
    coding: str
    key: str


def coding_of(version: Version) -> str:
    """Return the directory of a level's tree for what is encoded with a version."""
    return dictionary_coding(base64.b64encode(bytes.fromhex(version.digest)).rstrip(b"=").decode("ascii"))


# Versions by level and name, the newest first
Versions = Mapping[tuple[str, str], Sequence[Version]]


def stored_versions(state: State) -> dict[tuple[str, str], Sequence[Version]]:
    """Return the versions of the last build and of those before it."""
    return {unit: tuple(map(Version._make, rows)) for unit, rows in state.versions().items()}


def with_version(versions: Sequence[Version], newest: Version, back: int) -> Sequence[Version]:
    """Return versions with the ``newest`` before them, and ``back`` older ones at most."""
    older = [version for version in versions if version.digest != newest.digest]
    return (newest, *older[:back])


class EarlierContents:
    """The contents of versions, in a directory that is made when something is kept."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def keep(self, version: Version, source: str) -> None:
        """Keep the content of a version, which the file ``source`` holds, if it exists. Raises ``OSError``."""
        target = self.directory / version.key
        if target.exists() or not os.path.exists(source):
            return
        self.directory.mkdir(exist_ok=True)
        try:
            os.link(source, target)
        except OSError:  # the cache is on another file system
            shutil.copyfile(source, target)

    def keep_only(self, versions: Versions) -> None:
        """Remove the contents of all other versions."""
        kept = {version.key for of in versions.values() for version in of}
        for file in self.directory.iterdir() if self.directory.exists() else ():
            if file.name not in kept:
                file.unlink()

    def content(self, version: Version, limit: int) -> bytes | None:
        """Return the content of a version; ``None`` if it is gone, damaged, or has more than ``limit`` bytes."""
        try:
            stored = (self.directory / version.key).read_bytes()
            content = stored if version.coding == IDENTITY else decode(stored, version.coding, limit)
        except (OSError, CodingError):
            return None
        return content if len(content) <= limit and digest_bytes(content) == version.digest else None
