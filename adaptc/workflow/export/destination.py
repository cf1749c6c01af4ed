"""The directory of an export: new ones appear at once, those that are there are changed file by file.

A web server may be reading. So a file is replaced by a rename; the encodings of a file go before it changes and come
after it; what pages embed comes before the pages; and what has no source any more goes last.

The output remembers what was exported where. Only that is ever removed or overwritten: a file that somebody else put
into the directory stays, and a directory of which nothing is remembered is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from adaptc.compile.engine.reporting import Progress
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose, printable
from adaptc.core.digest import digest_parts
from adaptc.core.fs import TEMPORARY, remove, remove_empty_directories, write_atomic
from adaptc.workflow.export.items import LISTED, Item

SECOND = 10**9


@dataclass(slots=True)
class Tally:
    """What an export did: files written, kept as they were, and removed; bytes that the export holds."""

    written: int = 0
    kept: int = 0
    removed: int = 0
    size: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Memory:
    """Which files an export wrote, kept in the private directory of the output."""

    file: Path

    @classmethod
    def of(cls, private: Path, destination: Path) -> Memory:
        """Return the memory of the export to ``destination``, an absolute path."""
        return cls(private / "exports" / f"{digest_parts(os.fspath(destination))}.json")

    def read(self) -> frozenset[str] | None:
        """Return the names below the destination; None when nothing is remembered."""
        try:
            return frozenset(json.loads(self.file.read_bytes()))
        except FileNotFoundError:
            return None

    def write(self, names: Iterable[str]) -> None:
        """Remember names."""
        self.file.parent.mkdir(exist_ok=True)
        write_atomic(os.fspath(self.file), json.dumps(sorted(names)).encode("ascii"))


def put_items(items: list[Item], destination: Path, memory: Memory, progress: Progress) -> Tally:
    """Make ``destination``, an absolute path, hold ``items``. Raises ``UsageError`` when it is somebody else's."""
    known = memory.read()
    is_new = not destination.exists()
    if not is_new:
        _refuse_strangers(items, destination, known)
    progress.begin("exporting", len(items), 0)
    names = {name for item in items for name, _ in item.files}
    if is_new:
        memory.write(names)
        tally = _put_new(items, destination, progress)
    else:
        # old and new names, so that an export that is killed here can be done again
        memory.write(names | (known or frozenset()))
        tally = _put_over(items, destination, (known or frozenset()) - names, progress)
        memory.write(names)
    progress.end()
    return tally


def _refuse_strangers(items: list[Item], destination: Path, known: frozenset[str] | None) -> None:
    if not destination.is_dir():
        raise UsageError(f"{destination} is not a directory")
    if known is None and any(destination.iterdir()):
        raise UsageError(f"{destination} is not empty and was not made by adaptc export from here: choose another")
    foreign = [
        name
        for item in items
        for name, _ in item.files
        if name not in (known or ()) and os.path.lexists(destination / name) and not (destination / name).is_dir()
    ]
    if foreign:
        listed = ", ".join(map(printable, foreign[:LISTED]))
        raise UsageError(f"{destination} holds files of this name that adaptc export did not write: {listed}")


def _put_new(items: list[Item], destination: Path, progress: Progress) -> Tally:
    destination.parent.mkdir(parents=True, exist_ok=True)
    draft = destination.parent / f"{TEMPORARY}export-{os.getpid()}-{os.urandom(6).hex()}"
    draft.mkdir(mode=0o755)
    try:
        tally = _put_all(items, draft, progress)
        os.rename(draft, destination)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return tally


def _put_over(items: list[Item], destination: Path, obsolete: frozenset[str], progress: Progress) -> Tally:
    """Change an export. A file that becomes a directory, or the other way round, goes first."""
    wanted = {name for item in items for name, _ in item.files}
    parents = {os.fspath(parent) for name in wanted for parent in Path(name).parents}
    in_the_way = {name for name in obsolete if name in parents or not wanted.isdisjoint(map(str, Path(name).parents))}
    removed = _remove(in_the_way, destination)
    tally = _put_all(items, destination, progress)
    tally.removed += removed + _remove(obsolete - in_the_way, destination)
    return tally


def _put_all(items: list[Item], root: Path, progress: Progress) -> Tally:
    tally = Tally()
    for item in items:
        try:
            _put_item(item, root, tally)
        except OSError as error:
            if error.filename is not None and os.fspath(root) in os.fsdecode(error.filename):
                raise  # the destination cannot be written: that is no fault of one file
            reason = error.strerror or str(error)
            tally.diagnostics.append(diagnose("export-failed", Location(item.path), reason=reason))
        progress.advance(1, 0, 0)
    return tally


def _put_item(item: Item, root: Path, tally: Tally) -> None:
    """Put a file and its encodings; they share one time."""
    moment = item.moment()
    target = root / item.plain[0]
    before = _status(target)
    is_same = before is not None and _equal(item.plain[1], target)
    if before is not None:
        # A client that asks whether something changed since then must not hear no (RFC 9110, section 13.1.3).
        moment = before.st_mtime_ns if is_same else max(moment, before.st_mtime_ns + SECOND)
        for name, source in item.encoded:
            if not is_same or not _equal(source, root / name):
                remove(os.fspath(root / name))
    for name, source in item.files:
        _put_file(source, root / name, moment, tally)


def _put_file(source: Path, target: Path, moment: int, tally: Tally) -> None:
    size = os.stat(source).st_size
    if _equal(source, target):
        tally.kept += 1
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(source, target, moment)
        tally.written += 1
    tally.size += size


def _copy(source: Path, target: Path, moment: int) -> None:
    """Copy into a file of its own: those of the trees are shared by hard links and read-only."""
    draft = target.parent / f"{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
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


def _equal(one: Path, other: Path) -> bool:
    """Compare byte by byte: a level may differ from another in content and not in size or time."""
    there = _status(other)
    if there is None or there.st_size != os.stat(one).st_size:
        return False
    with open(one, "rb") as left, open(other, "rb") as right:
        return all(a == b for a, b in zip(_blocks(left), _blocks(right), strict=True))


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(1 << 18), b"")
