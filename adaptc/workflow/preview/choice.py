"""Which file answers a request: the rules of the server configuration, for the preview."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.core.fs import DiskTree
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, MEDIA_TYPES, OWN_DIRECTORY, TOKENS, name_in_tree
from adaptc.workflow.preview.panes import AUTOMATIC, ORIGINAL, Pane


@dataclass(frozen=True, slots=True)
class Chosen:
    """The file that is sent, the level it came from, its coding or format, and the plain file; sizes in bytes."""

    file: Path
    level: str
    coding: str
    size: int
    plain: Path
    plain_size: int


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where files come from: the trees of ``levels`` in ``output``, and the docroot, of which some is not the site."""

    output: Path
    docroot: Path
    levels: tuple[str, ...]
    is_private: Callable[[str], bool]

    def choose(self, pane: Pane, path: str, accept_encoding: str, accept: str = "") -> Chosen | None:
        """Return what is sent for a decoded path of the docroot, or None: the page is missing."""
        if not is_plain(path):
            return None
        formats = _formats(accept) if pane.coding == AUTOMATIC else ()
        codings = (*formats, *_wanted(pane.coding, accept_encoding), IDENTITY)
        for level in self._levels(pane.level, path):
            for coding in codings:
                size = _size(self.output / level / coding / name_in_tree(coding, path))
                if size is not None:
                    return self._encoded(level, coding, path, size)
        return self._original(path)

    def is_directory(self, path: str) -> bool:
        """Whether the docroot has a directory of this name."""
        return is_plain(path) and (self.docroot / path).is_dir()

    def _levels(self, level: str, path: str) -> Iterator[str]:
        if level != ORIGINAL:
            yield level
        if path.startswith(OWN_DIRECTORY):  # named by content, so any level's will do
            yield from self.levels

    def _encoded(self, level: str, coding: str, path: str, size: int) -> Chosen:
        """Return a file of a tree; where the level did not change the content, only the docroot may have it plain."""
        file = self.output / level / coding / name_in_tree(coding, path)
        for plain in (self.output / level / IDENTITY / path, self.docroot / path):
            plain_size = _size(plain)
            if plain_size is not None:
                return Chosen(file, level, coding, size, plain, plain_size)
        return Chosen(file, level, coding, size, file, size)

    def _original(self, path: str) -> Chosen | None:
        if self.is_private(path):
            return None
        try:
            inside = DiskTree(self.docroot).real_path(path)
        except OSError:
            return None
        size = _size(self.docroot / path)
        if inside is None or size is None:
            return None
        return Chosen(self.docroot / path, ORIGINAL, IDENTITY, size, self.docroot / path, size)


def is_plain(path: str) -> bool:
    """Whether a path stays where it begins: no empty, ``.`` or ``..`` segment, no NUL."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.rstrip("/").split("/"))


def _wanted(coding: str, accept_encoding: str) -> tuple[str, ...]:
    accepted = acceptable(accept_encoding)
    return tuple(one for one in CODINGS if one in accepted and coding in (AUTOMATIC, one))


def _formats(accept: str) -> tuple[str, ...]:
    """Return the image formats that an Accept header names (RFC 9110, section 12.5.1), as servers are told."""
    weights = dict(_weights(accept))
    return tuple(one for one in FORMATS if weights.get(MEDIA_TYPES[one], 0.0) > 0)


def acceptable(accept_encoding: str) -> frozenset[str]:
    """Return the codings that an Accept-Encoding header takes (RFC 9110, section 12.5.3), by directory name."""
    weights = dict(_weights(accept_encoding))
    rest = weights.get("*", 0.0)
    return frozenset(name for name, token in TOKENS.items() if weights.get(token, rest) > 0)


def _weights(header: str) -> Iterator[tuple[str, float]]:
    for member in header.lower().split(","):
        token, _, parameters = member.partition(";")
        weight = next((part.strip()[2:] for part in parameters.split(";") if part.strip().startswith("q=")), "1")
        try:
            yield token.strip(), float(weight)
        except ValueError:
            yield token.strip(), 0.0


def _size(file: Path) -> int | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
