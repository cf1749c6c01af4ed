"""Panes, the frames of the preview: the host name of each, and which file answers its requests.

Pages have absolute paths in them (``/css/site.css``), so each level needs an origin of its own; and two panes of
one level are counted apart. Browsers resolve every name below ``localhost`` to loopback (RFC 6761, section 6.3), so
one port serves them all, through an SSH tunnel too: ``left.lossless.br.localhost:8000``. Ports for each level
were rejected: a tunnel would need all of them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from adaptc.core.fs import DiskTree
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, MEDIA_TYPES, OWN_DIRECTORY, TOKENS, name_in_tree
from adaptc.core.values import dataclass

ORIGINAL = "original"  # the docroot itself, without any level
AUTOMATIC = "auto"  # the best coding that the browser accepts
SIDES = ("left", "right")
CHOICES = (AUTOMATIC, *CODINGS, IDENTITY)
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Pane:
    """A frame: its side, the level (or ``original``) and the coding that it requests."""

    side: str
    level: str
    coding: str


def is_own_host(host: str) -> bool:
    """Whether a Host header names the preview itself and no pane."""
    return without_port(host) in _OWN_HOSTS


def without_port(host: str) -> str:
    """Return a Host header without its port, in lower case."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def pane_of(host: str, levels: Iterable[str]) -> Pane | None:
    """Return the pane that a Host header names, or None: other names are refused (DNS rebinding)."""
    parts = without_port(host).split(".")
    if len(parts) != 4 or parts[3] != "localhost":
        return None
    side, level, coding = parts[:3]
    is_known = side in SIDES and coding in CHOICES and (level == ORIGINAL or level in levels)
    return Pane(side, level, coding) if is_known else None


# ---- the file that answers a request


@dataclass(frozen=True, slots=True)
class Choice:
    """The file that is sent, its level, its coding or format, and the plain file; sizes are in bytes."""

    file: Path
    level: str
    coding: str
    size: int
    plain: Path
    plain_size: int


@dataclass(frozen=True, slots=True)
class FileSource:
    """Chooses files by the rules of the server configuration: from the trees of ``levels``, else from the docroot.

    ``is_private`` tells which paths of the docroot are not part of the site.
    """

    output: Path
    docroot: Path
    levels: tuple[str, ...]
    is_private: Callable[[str], bool]

    def choose(self, pane: Pane, path: str, accept_encoding: str, accept: str = "") -> Choice | None:
        """Return the file for a decoded path of the docroot, or None where there is none."""
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
        if path.startswith(OWN_DIRECTORY):  # named by content: equal in all levels
            yield from self.levels

    def _encoded(self, level: str, coding: str, path: str, size: int) -> Choice:
        """Return a file of a tree; its plain file is in the docroot where the level did not change the content."""
        file = self.output / level / coding / name_in_tree(coding, path)
        for plain in (self.output / level / IDENTITY / path, self.docroot / path):
            plain_size = _size(plain)
            if plain_size is not None:
                return Choice(file, level, coding, size, plain, plain_size)
        return Choice(file, level, coding, size, file, size)

    def _original(self, path: str) -> Choice | None:
        if self.is_private(path):
            return None
        try:
            inside = DiskTree(self.docroot).real_path(path)
        except OSError:
            return None
        size = _size(self.docroot / path)
        if inside is None or size is None:
            return None
        return Choice(self.docroot / path, ORIGINAL, IDENTITY, size, self.docroot / path, size)


def is_plain(path: str) -> bool:
    """Whether a path stays below its root: no empty, ``.`` or ``..`` segment, no NUL."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.rstrip("/").split("/"))


def _wanted(coding: str, accept_encoding: str) -> tuple[str, ...]:
    accepted = acceptable(accept_encoding)
    return tuple(name for name in CODINGS if name in accepted and coding in (AUTOMATIC, name))


def _formats(accept: str) -> tuple[str, ...]:
    """Return the image formats that an Accept header names (RFC 9110, section 12.5.1), as servers do."""
    weights = dict(_weights(accept))
    return tuple(name for name in FORMATS if weights.get(MEDIA_TYPES[name], 0.0) > 0)


def acceptable(accept_encoding: str) -> frozenset[str]:
    """Return the codings that an Accept-Encoding header accepts (RFC 9110, section 12.5.3), by directory name."""
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
