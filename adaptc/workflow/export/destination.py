"""The directory of an export: a new one appears at once, an existing one is changed file by file.

A web server may be reading it. So a file is replaced by a rename; the encodings of a file are removed before it changes
and written after it; what pages embed is written before the pages; files without a source are removed last.

The output records which files were exported where. Only those are ever removed or overwritten: foreign files in the
directory stay, and a directory without a record is refused.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from adaptc.compile.engine.reporting import Progress
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose, printable
from adaptc.core.digest import digest_parts
from adaptc.core.fs import TEMPORARY, is_inside, remove, remove_empty_directories, write_atomic
from adaptc.core.values import dataclass, field

LISTED = 5  # names in an error
SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Item:
    """One file of the site: ``plain`` and then its encodings, each as (name in the export, file to copy).

    All get one time, as nginx asks of files for ``gzip_static``. ``origin`` is the docroot's file where the level has
    the same bytes. Items with ``is_page`` are written after those that pages embed.
    """

    path: str
    plain: tuple[str, Path]
    encoded: tuple[tuple[str, Path], ...]
    origin: Path | None
    is_page: bool

    @property
    def files(self) -> tuple[tuple[str, Path], ...]:
        """All files, the plain one first."""
        return (self.plain, *self.encoded)

    def moment(self) -> int:
        """Return the time of the content in nanoseconds: that of the original, or when the level was built.

        Modification times in trees are made for entity tags, so the time of the last link counts. Raises ``OSError``.
        """
        return os.stat(self.plain[1]).st_ctime_ns if self.origin is None else os.stat(self.origin).st_mtime_ns


@dataclass(slots=True)
class Tally:
    """What an export did: files written, kept as they were, and removed; bytes that the export holds.

    ``encoded`` are those of the encodings.
    """

    written: int = 0
    kept: int = 0
    removed: int = 0
    size: int = 0
    encoded: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """The files that an export wrote, recorded in the private directory of the output."""

    file: Path

    @classmethod
    def of(cls, private: Path, destination: Path) -> ExportRecord:
        """Return the record of the export to ``destination``, an absolute path."""
        return cls(private / "exports" / f"{digest_parts(os.fspath(destination))}.json")

    @staticmethod
    def are_in(private: Path) -> bool:
        """Whether anything was exported."""
        return any((private / "exports").glob("*.json"))

    def read(self) -> frozenset[str] | None:
        """Return the names below the destination; None when there is no record."""
        try:
            return frozenset(json.loads(self.file.read_bytes()))
        except FileNotFoundError:
            return None

    def write(self, names: Iterable[str]) -> None:
        """Record the names below the destination."""
        self.file.parent.mkdir(exist_ok=True)
        write_atomic(os.fspath(self.file), json.dumps(sorted(names)).encode("ascii"))


def write_items(items: list[Item], destination: Path, record: ExportRecord, progress: Progress) -> Tally:
    """Write ``items`` to ``destination``, an absolute path. Raises ``UsageError`` when it holds foreign files."""
    refuse_foreign_directory(destination, record)
    known = record.read()
    is_new = not destination.exists()
    if not is_new:
        _refuse_foreign_files(items, destination, known)
    progress.begin("exporting", len(items), 0)
    names = {name for item in items for name, _ in item.files}
    _remove_drafts(destination, known or frozenset())
    if is_new:
        record.write(names)
        tally = _write_new(items, destination, progress)
    else:
        # old and new names, so that an interrupted export can be repeated
        record.write(names | (known or frozenset()))
        tally = _update(items, destination, (known or frozenset()) - names, progress)
        record.write(names)
    progress.end()
    return tally


# Temporary names are always the same: the next export removes what a killed one left
_DRAFT = f"{TEMPORARY}export"


def _draft_of(destination: Path) -> Path:
    return destination.with_name(f"{_DRAFT}-{digest_parts(destination.name)[:16]}")


def _remove_drafts(destination: Path, known: Iterable[str]) -> None:
    """Remove what a killed export left: a draft of the whole, and one of a file in any directory."""
    shutil.rmtree(_draft_of(destination), ignore_errors=True)
    for directory in {os.path.dirname(name) for name in known}:
        remove(os.fspath(destination / directory / _DRAFT))


def refuse_foreign_directory(destination: Path, record: ExportRecord) -> None:
    """Raise ``UsageError`` for a destination that is no directory, or was filled by somebody else."""
    if destination.exists() and not destination.is_dir():
        raise UsageError(f"{destination} is not a directory")
    if destination.exists() and record.read() is None and any(destination.iterdir()):
        raise UsageError(f"{destination} is not empty and was not made by adaptc export from here: choose another")


def _refuse_foreign_files(items: list[Item], destination: Path, known: frozenset[str] | None) -> None:
    _refuse_outward_directories({*(name for item in items for name, _ in item.files), *(known or ())}, destination)
    foreign = [
        name
        for item in items
        for name, _ in item.files
        if name not in (known or ()) and os.path.lexists(destination / name) and not (destination / name).is_dir()
    ]
    if foreign:
        listed = ", ".join(map(printable, foreign[:LISTED]))
        raise UsageError(f"{destination} holds files of this name that adaptc export did not write: {listed}")


def _refuse_outward_directories(names: set[str], destination: Path) -> None:
    """Refuse directories that another program replaced by links to elsewhere: files there are not the export's."""
    directories = {os.path.dirname(name) for name in names}
    outward = [
        directory
        for directory in sorted(directories)
        if not is_inside(os.path.realpath(destination / directory), os.fspath(destination))
    ]
    if outward:
        listed = ", ".join(map(printable, outward[:LISTED]))
        raise UsageError(f"{destination} holds symbolic links that lead out of it: {listed}")


def _write_new(items: list[Item], destination: Path, progress: Progress) -> Tally:
    draft = _draft_of(destination)
    draft.mkdir(mode=0o755, parents=True)
    try:
        tally = _write_all(items, draft, progress)
        os.rename(draft, destination)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return tally


def _update(items: list[Item], destination: Path, obsolete: frozenset[str], progress: Progress) -> Tally:
    """Update an export. A file that becomes a directory, or the other way round, is removed first."""
    wanted = {name for item in items for name, _ in item.files}
    parents = {os.fspath(parent) for name in wanted for parent in Path(name).parents}
    obstacles = {name for name in obsolete if name in parents or not wanted.isdisjoint(map(str, Path(name).parents))}
    removed = _remove(obstacles, destination)
    tally = _write_all(items, destination, progress)
    tally.removed += removed + _remove(obsolete - obstacles, destination)
    return tally


def _write_all(items: list[Item], root: Path, progress: Progress) -> Tally:
    tally = Tally()
    for item in items:
        try:
            _write_item(item, root, tally)
        except OSError as error:
            if _concerns(error, os.fspath(root)):
                raise  # the destination cannot be written: no other file would do better
            reason = error.strerror or str(error)
            tally.diagnostics.append(diagnose("export-failed", Location(item.path), reason=reason))
        progress.advance(1, 0, 0)
    return tally


_FULL = (errno.ENOSPC, errno.EDQUOT)


def _concerns(error: OSError, root: str) -> bool:
    """Whether the destination is at fault: for a full disk, ``shutil`` names the source."""
    name = os.fsdecode(error.filename) if error.filename is not None else ""
    return error.errno in _FULL or is_inside(name, root)


def _write_item(item: Item, root: Path, tally: Tally) -> None:
    """Write a file and its encodings, all with the same time."""
    moment = item.moment()
    target = root / item.plain[0]
    before = _status(target)
    is_same = before is not None and _equal(item.plain[1], target)
    if before is not None:
        # If-Modified-Since with the old time must not give 304 (RFC 9110, section 13.1.3).
        moment = before.st_mtime_ns if is_same else max(moment, before.st_mtime_ns + SECOND)
        for name, source in item.encoded:
            if not is_same or not _equal(source, root / name):
                remove(os.fspath(root / name))
    _write_file(item.plain[1], target, moment, tally)
    for name, source in item.encoded:
        tally.encoded += _write_file(source, root / name, moment, tally)


def _write_file(source: Path, target: Path, moment: int, tally: Tally) -> int:
    """Write a file if it is not there, and return its size."""
    size = os.stat(source).st_size
    if _equal(source, target):
        tally.kept += 1
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(source, target, moment)
        tally.written += 1
    tally.size += size
    return size


def _copy(source: Path, target: Path, moment: int) -> None:
    """Copy to a new file: those of the trees are shared by hard links and read-only."""
    draft = target.with_name(_DRAFT)
    remove(os.fspath(draft))  # a link of this name is not followed
    try:
        shutil.copyfile(source, draft)
        os.chmod(draft, 0o644)
        os.utime(draft, ns=(moment, moment))
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise


def _remove(names: Iterable[str], root: Path) -> int:
    removed = 0
    for name in sorted(names):
        if remove(os.fspath(root / name)):
            removed += 1
            remove_empty_directories(os.fspath((root / name).parent), os.fspath(root))
    return removed


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _equal(source: Path, target: Path) -> bool:
    """Compare byte by byte: files of two levels may have the same size and time, and other content."""
    status = _status(target)
    if status is None or status.st_size != os.stat(source).st_size:
        return False
    with open(source, "rb") as left, open(target, "rb") as right:
        return all(a == b for a, b in zip(_blocks(left), _blocks(right), strict=True))


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(1 << 18), b"")
