"""The directory that a crawl writes, and ``mirror.json``, the table that a build reads about it.

Files appear by rename, complete or not at all, and never outside the directory. The table has, for each docroot, its
base URL, its Content-Security-Policy, and the media types that file names do not tell.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from adaptc.core import media
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import TEMPORARY, is_inside, keep_private, outward_part, write_all, write_atomic
from adaptc.crawl.frontier import Frontier
from adaptc.crawl.names import NameOptions, docroot_of

STATE = ".adaptc"  # hidden, so that a build of the mirror does not take it for a part of the site
_REMEMBERED = 20_000
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class OutsideMirror(Exception):
    """A directory of the mirror is a symbolic link that leads out of it, or nowhere."""


class Mirror:
    """The output directory. ``root`` is made when it is missing. Raises ``UsageError`` when it cannot be made."""

    def __init__(self, root: Path) -> None:
        if root.exists() and not root.is_dir():
            raise UsageError(f"output {root} is not a directory")
        self.state = root / STATE
        self.spool = str(self.state / "partial")
        try:
            os.makedirs(root, exist_ok=True)
            keep_private(self.state)
            os.makedirs(self.spool, exist_ok=True)
        except OSError as error:
            raise UsageError(f"output {root} cannot be made: {error.strerror}") from None
        self.root = os.path.realpath(root)
        self._own: set[str] = set()  # directories that are known to be inside

    def path(self, name: str) -> str:
        """Return the absolute path of a name."""
        return f"{self.root}/{name}"

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes, ``None`` when there is none, or behind a link that leads elsewhere."""
        status = self._status(name)
        return status.st_size if status is not None else None

    def modified(self, name: str) -> float | None:
        """Return a file's time of change, ``None`` as for ``size``."""
        status = self._status(name)
        return status.st_mtime if status is not None else None

    def _status(self, name: str) -> os.stat_result | None:
        path = self.path(name)
        try:
            status = os.stat(path)
        except OSError:
            return None
        return status if self._is_own(path.rpartition("/")[0]) else None

    def read(self, name: str) -> bytes:
        """Return a file's content. Raises ``OSError``."""
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name: str, content: bytes, modified: float | None) -> None:
        """Write a file. Raises ``OSError`` and ``OutsideMirror``."""
        target = self.path(name)
        directory = self._directory(name)
        # one crawl under the lock: what a killed one left under this name is overwritten
        temporary = f"{directory}/{TEMPORARY}new"
        try:
            descriptor = os.open(temporary, _CREATE, 0o644)
            try:
                write_all(descriptor, content)
            finally:
                os.close(descriptor)
            self._finish(temporary, target, modified)
        except BaseException:
            _forget(temporary)
            raise

    def take(self, name: str, source: Path, modified: float | None) -> None:
        """Move a complete file of the spool to its name. Raises ``OSError`` and ``OutsideMirror``."""
        self._directory(name)
        os.chmod(source, 0o644)
        self._finish(str(source), self.path(name), modified)

    def _finish(self, temporary: str, target: str, modified: float | None) -> None:
        if modified is not None:
            os.utime(temporary, (modified, modified))
        os.replace(temporary, target)

    # ---- the received bytes of files whose links were converted

    def original(self, number: int, name: str) -> bytes:
        """Return the bytes received for a URL: the original of a converted file, else the file. Raises ``OSError``."""
        try:
            return (self._originals / str(number)).read_bytes()
        except FileNotFoundError:
            return self.read(name)

    def keep_original(self, number: int, content: bytes) -> None:
        """Keep the bytes received for a URL before its file is converted. Raises ``OSError``."""
        self._originals.mkdir(exist_ok=True)
        write_atomic(str(self._originals / str(number)), content)

    def forget_original(self, number: int) -> None:
        """Forget the bytes received for a URL, before others replace them."""
        _forget(str(self._originals / str(number)))

    @property
    def _originals(self) -> Path:
        return self.state / "originals"

    def remove(self, name: str) -> None:
        """Remove a file, if it is there; behind a directory that leads elsewhere nothing is removed."""
        path = self.path(name)
        if is_inside(os.path.realpath(path.rpartition("/")[0]), self.root):
            _forget(path)

    def move(self, name: str, new: str) -> None:
        """Give a file another name; directories that it leaves empty go. Raises ``OSError`` and ``OutsideMirror``."""
        self._directory(new)
        os.replace(self.path(name), self.path(new))
        directory = name.rpartition("/")[0]
        while directory and self._remove_empty(directory):
            directory = directory.rpartition("/")[0]

    def _remove_empty(self, directory: str) -> bool:
        path = self.path(directory)
        try:
            os.rmdir(path)
        except OSError:  # it holds more
            return False
        self._own.discard(path)
        return True

    def _directory(self, name: str) -> str:
        """Make the directory of a name and return it; one that leads elsewhere is refused."""
        directory = self.path(name).rpartition("/")[0]
        if directory not in self._own:
            self._refuse_outward(directory)
            os.makedirs(directory, exist_ok=True)
            self._remember(directory)
        return directory

    def _is_own(self, directory: str) -> bool:
        """Whether a directory that exists is inside the mirror, links followed."""
        if directory not in self._own:
            if not is_inside(os.path.realpath(directory), self.root):
                return False
            self._remember(directory)
        return True

    def _remember(self, directory: str) -> None:
        if len(self._own) >= _REMEMBERED:
            self._own.clear()
        self._own.add(directory)

    def _refuse_outward(self, directory: str) -> None:
        """Refuse a directory behind a link that leads out of the mirror, before anything is made there."""
        part = outward_part(directory, self.root)
        if part is not None:
            raise OutsideMirror(f"{part} leads out of {self.root}" if os.path.exists(part) else f"{part} leads nowhere")

    def folds_case(self) -> bool:
        """Whether the file system ignores letter case in names."""
        probe = self.state / "Case"
        probe.touch()
        return (self.state / "cASE").exists()


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return


# ---- times of HTTP


@lru_cache(maxsize=1024)  # the files of a site mostly share a few times
def http_time(written: str | None) -> float | None:
    """Return a field's date (RFC 9110, section 5.6.7) in seconds since 1970, ``None`` when it is none."""
    if written is None:
        return None
    import calendar
    import email.utils

    try:
        return float(calendar.timegm(email.utils.parsedate_to_datetime(written).utctimetuple()))
    except (ValueError, OverflowError):
        return None


def http_date(seconds: float) -> str:
    """Return a time as HTTP writes it."""
    import email.utils

    return email.utils.formatdate(seconds, usegmt=True)


# ---- the table of docroots

NAME = "mirror.json"
_SCHEMA = 1
_SCRIPTS = frozenset(
    {"application/javascript", "application/x-javascript", "text/ecmascript", "application/ecmascript"}
)
_KNOWN = frozenset(media.BY_EXTENSION.values()) - {media.BINARY}


def policy_key(origin: str) -> str:
    """Return the key under which the frontier keeps the Content-Security-Policy of an origin's start page."""
    return f"csp {origin}"


def write_table(frontier: Frontier, mirror: Mirror, options: NameOptions) -> None:
    """Write the table of every docroot that this crawl met; files that stay from former crawls are in it."""
    docroots: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for url, name, media_type, is_met in frontier.file_types():
        origin = "/".join(url.split("/", 3)[:3])
        if origin not in names:
            if not is_met:
                continue  # a site that was crawled into the same mirror before
            names[origin] = docroot_of(url, options)
            docroots.setdefault(names[origin], _entry(origin, frontier, options))
        docroot = names[origin]
        declared = _declared_type(media_type, name)
        if declared is not None:
            docroots[docroot]["types"][name.removeprefix(f"{docroot}/") if docroot else name] = declared
    content = json.dumps({"schema": _SCHEMA, "docroots": docroots}, indent=1, sort_keys=True)
    write_atomic(str(mirror.state / NAME), f"{content}\n".encode())


def _entry(origin: str, frontier: Frontier, options: NameOptions) -> dict[str, Any]:
    keeps_paths = options.directories and not options.cut_dirs
    return {"base_url": f"{origin}/" if keeps_paths else None, "csp": frontier.meta(policy_key(origin)), "types": {}}


def _declared_type(media_type: str | None, name: str) -> str | None:
    """Return the media type of the response, where the name of the file tells another one."""
    declared = media.JS if media_type in _SCRIPTS else media_type
    return declared if declared in _KNOWN and declared != media.by_name(name) else None
