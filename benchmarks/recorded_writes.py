"""Records what a program writes below a directory, and constructs what a disk may hold after a power loss.

``record`` runs a command under strace (Linux) and returns its writes, changes of names and syncs in order.
``lose_power`` takes a moment of that record and returns a possible disk: everything that was synced, and of the rest
what chance leaves, in one of two models.

``journal`` is ext4 and XFS: changes of names and times reach the disk in order, so that some of the last ones are
missing, and the sync of any file writes all of them before it. The contents of files are not ordered with them: a file
that was not synced may be empty, have its size but zeros, or have some of its writes.

``loose`` is what POSIX promises: changes of names are lost each by itself, and the sync of a file or directory is that
of its own content or names.
"""

from __future__ import annotations

import os
import random
import re
import stat
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MODELS = ("journal", "loose")
_CALLS = (
    "open,openat,creat,write,pwrite64,ftruncate,truncate,rename,renameat,renameat2,link,linkat,symlink,symlinkat,"
    "unlink,unlinkat,mkdir,mkdirat,rmdir,utimensat,fsync,fdatasync,syncfs,sync"
)
_UNTRACED = "copy_file_range,sendfile,fallocate,pwritev,pwritev2,writev"


class UnknownCall(Exception):
    """A program made a call that ``record`` cannot replay: the text names it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One change: ``kind`` and its values, and when it began and ended, in lines of the record.

    Contents: ``write`` (number of the file, offset, bytes), ``truncate`` (file, size). Names: ``enter`` (path, file),
    ``rename`` (path, new path, file), ``leave`` (path), ``mkdir``, ``rmdir`` (path), ``symlink`` (path, target).
    ``time`` (file, ns). Syncs: ``sync-file`` (file), ``sync-directory`` (path), ``sync-all`` ().
    """

    kind: str
    values: tuple[object, ...]
    begin: int
    end: int

    @property
    def is_sync(self) -> bool:
        return self.kind.startswith("sync")

    @property
    def is_content(self) -> bool:
        return self.kind in ("write", "truncate")


@dataclass
class Disk:
    """The files below a directory: names, and contents and times by the number of the file."""

    names: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    contents: dict[int, bytearray] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)

    @staticmethod
    def read(root: Path) -> Disk:
        """Read a directory."""
        disk, numbers = Disk(), dict[int, int]()
        for directory, inner, names in os.walk(root):
            disk.directories.add(os.path.relpath(directory, root))
            for name in (*names, *inner):
                file = os.path.join(directory, name)
                path, status = os.path.relpath(file, root), os.lstat(file)
                if stat.S_ISLNK(status.st_mode):
                    disk.links[path] = os.readlink(file)
                elif stat.S_ISREG(status.st_mode):
                    number = numbers.setdefault(status.st_ino, len(numbers))
                    disk.names[path] = number
                    disk.contents[number], disk.times[number] = bytearray(Path(file).read_bytes()), status.st_mtime_ns
        return disk

    def copy(self) -> Disk:
        contents = {number: bytearray(content) for number, content in self.contents.items()}
        return Disk(dict(self.names), dict(self.links), set(self.directories), contents, dict(self.times))

    def write(self, root: Path) -> None:
        """Write the files below ``root``, with their hard links; files without a name in a directory are lost."""
        root.mkdir(parents=True)
        for directory in sorted(self.directories - {"."}, key=lambda path: path.count("/")):
            if (root / directory).parent.is_dir():
                (root / directory).mkdir(exist_ok=True)
        written: dict[int, Path] = {}
        for path, number in self.names.items():
            file = root / path
            if not file.parent.is_dir():
                continue
            if number in written:
                os.link(written[number], file)
            else:
                file.write_bytes(self.contents.get(number, b""))
                written[number] = file
        for number, file in written.items():
            if number in self.times:
                os.utime(file, ns=(self.times[number], self.times[number]))
        for path, target in self.links.items():
            if (root / path).parent.is_dir():
                os.symlink(target, root / path)

    def apply(self, operation: Operation, hole: bool = False) -> None:
        """Make a change; with ``hole`` the bytes of a write are zeros."""
        kind, values = operation.kind, operation.values
        if kind == "write":
            number, offset, content = values
            file = self.contents.setdefault(number, bytearray())
            file.extend(bytes(max(offset - len(file), 0)))
            file[offset : offset + len(content)] = bytes(len(content)) if hole else content
        elif kind == "truncate":
            number, size = values
            file = self.contents.setdefault(number, bytearray())
            file.extend(bytes(max(size - len(file), 0)))
            del file[size:]
        elif kind == "time":
            self.times[values[0]] = values[1]
        elif kind in ("mkdir", "rmdir"):
            (self.directories.add if kind == "mkdir" else self.directories.discard)(values[0])
        elif kind == "leave":
            self._leave(values[0])
        elif kind == "rename":
            self._rename(*values)
        else:
            self._leave(values[0])
            self._enter(*values)

    def _leave(self, path: str) -> None:
        self.names.pop(path, None)
        self.links.pop(path, None)

    def _rename(self, path: str, new_path: str, number: int | str) -> None:
        if self.names.get(new_path) == number:
            return  # two links of one file (POSIX)
        self._leave(path)
        self._leave(new_path)
        self._enter(new_path, number)

    def _enter(self, path: str, number: int | str) -> None:
        if isinstance(number, str):
            self.links[path] = number
        else:
            self.names[path] = number
            self.contents.setdefault(number, bytearray())


@dataclass(frozen=True)
class Recording:
    """What a command did to ``before``, and the result of its process."""

    before: Disk
    operations: Sequence[Operation]
    process: subprocess.CompletedProcess[str]


def record(command: Sequence[str], root: Path, log: Path) -> Recording:
    """Run ``command``, and record what it does below ``root``."""
    before = Disk.read(root)
    traced = ["strace", "-f", "-y", "-qq", "-xx", "-s", "100000000", "-e", "signal=none", "-o", os.fspath(log)]
    traced += ["-e", f"trace={_CALLS},{_UNTRACED}", *command]
    process = subprocess.run(traced, capture_output=True, text=True, check=False)
    calls = sorted(_calls(log), key=lambda call: call.end)
    return Recording(before, tuple(_Resolver(before, os.fspath(root)).resolve(calls)), process)


# ---- reading what strace wrote


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: tuple[str, ...]
    result: str
    begin: int
    end: int


_WHOLE = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+.*|\?.*)")
_ARGUMENT = re.compile(r'"[^"]*"|\[[^\]]*\]|[^,\s"\[][^,]*')
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")


def _calls(log: Path) -> Iterator[_Call]:
    """Yield the calls that succeeded."""
    begun: dict[str, tuple[str, int]] = {}
    with log.open(encoding="ascii") as lines:
        for number, line in enumerate(lines):
            process, _, text = line.rstrip("\n").partition(" ")
            text, begin = text.strip(), number
            if text.endswith("<unfinished ...>"):
                begun[process] = text.removesuffix("<unfinished ...>").rstrip(), number
                continue
            resumed = _RESUMED.match(text)
            if resumed:
                head, begin = begun.pop(process)
                text = head + text[resumed.end() :]
            whole = _WHOLE.fullmatch(text)
            if whole and not whole[3].startswith(("-1", "?")):
                yield _Call(whole[1], tuple(_ARGUMENT.findall(whole[2])), whole[3], begin, number)


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.strip('"').replace("\\x", ""))


def _path_of(descriptor: str) -> str:
    """Return the path of ``5<path>``."""
    return os.fsdecode(_bytes(descriptor[descriptor.index("<") + 1 : descriptor.index(">")]))


class _Resolver:
    """Turns calls into operations on numbered files, by following the names as they change."""

    def __init__(self, before: Disk, root: str) -> None:
        self.live, self.root = before.copy(), root
        self.next = len(before.contents)

    def resolve(self, calls: Iterator[_Call] | Sequence[_Call]) -> Iterator[Operation]:
        for call in calls:
            for kind, values in self._operations(call):
                operation = Operation(kind, values, call.begin, call.end)
                if not operation.is_sync:
                    self.live.apply(operation)
                yield operation

    def _below(self, path: str) -> str | None:
        if path != self.root and not path.startswith(self.root + "/"):
            return None
        return os.path.relpath(path, self.root)

    def _named(self, call: _Call, directory: int | None, name: int) -> str | None:
        """Return the path below the root that two arguments name."""
        path = os.fsdecode(_bytes(call.arguments[name]))
        base = _path_of(call.arguments[directory]) if directory is not None else os.getcwd()
        return self._below(os.path.normpath(os.path.join(base, path)))

    def _file(self, call: _Call) -> tuple[str | None, int | None]:
        path = self._below(_path_of(call.arguments[0]))
        return path, None if path is None else self.live.names.get(path)

    def _operations(self, call: _Call) -> Iterator[tuple[str, tuple[object, ...]]]:
        name = call.name
        if name in _UNTRACED.split(","):
            if self._below(_path_of(call.arguments[0])) is not None:
                raise UnknownCall(name)
        elif name in ("open", "openat", "creat"):
            yield from self._opened(call)
        elif name in ("write", "pwrite64", "ftruncate"):
            yield from self._written(call)
        elif name in ("fsync", "fdatasync", "syncfs", "sync"):
            yield from self._synced(call)
        elif name == "utimensat":
            yield from self._timed(call)
        else:
            yield from self._renamed(call)

    def _opened(self, call: _Call) -> Iterator[tuple[str, tuple[object, ...]]]:
        at = 1 if call.name == "openat" else 0
        path = self._named(call, 0 if at else None, at)
        flags = call.arguments[at + 1]
        if path is None or ("O_CREAT" not in flags and "O_TRUNC" not in flags):
            return
        if path not in self.live.names:
            yield "enter", (path, self.next)
            self.next += 1
        elif "O_TRUNC" in flags:
            yield "truncate", (self.live.names[path], 0)

    def _written(self, call: _Call) -> Iterator[tuple[str, tuple[object, ...]]]:
        _, file = self._file(call)
        if file is None:
            return
        if call.name == "ftruncate":
            yield "truncate", (file, int(call.arguments[1]))
        else:
            content = _bytes(call.arguments[1])[: int(call.result.split()[0])]
            end = len(self.live.contents.get(file, b""))
            yield "write", (file, int(call.arguments[3]) if call.name == "pwrite64" else end, content)

    def _synced(self, call: _Call) -> Iterator[tuple[str, tuple[object, ...]]]:
        if call.name == "sync":
            yield "sync-all", ()
            return
        path, file = self._file(call)
        if path is not None and call.name == "syncfs":
            yield "sync-all", ()
        elif file is not None:
            yield "sync-file", (file,)
        elif path is not None and path in self.live.directories:
            yield "sync-directory", (path,)

    def _timed(self, call: _Call) -> Iterator[tuple[str, tuple[object, ...]]]:
        if call.arguments[1] == "NULL":
            file = self._file(call)[1]
        else:
            file = self.live.names.get(self._named(call, 0, 1) or "")
        times = re.findall(r"tv_sec=(\d+), tv_nsec=(\d+)", call.arguments[2])
        if file is not None and times:
            yield "time", (file, int(times[-1][0]) * 10**9 + int(times[-1][1]))

    def _renamed(self, call: _Call) -> Iterator[tuple[str, tuple[object, ...]]]:
        name = call.name.removesuffix("2")
        is_at = name.endswith("at")
        kind = name.removesuffix("at")
        if kind == "symlink":
            path = self._named(call, 1 if is_at else None, 2 if is_at else 1)
            if path is not None:
                yield "symlink", (path, os.fsdecode(_bytes(call.arguments[0])))
            return
        path = self._named(call, 0 if is_at else None, 1 if is_at else 0)
        if kind in ("rename", "link"):
            other = self._named(call, 2 if is_at else None, 3 if is_at else 1)
            yield from self._moved(kind, path, other)
        elif path is not None:
            is_directory = kind == "rmdir" or "AT_REMOVEDIR" in call.arguments[-1]
            yield "mkdir" if kind == "mkdir" else "rmdir" if is_directory else "leave", (path,)

    def _moved(self, kind: str, path: str | None, other: str | None) -> Iterator[tuple[str, tuple[object, ...]]]:
        if path is None or other is None:
            return
        file: int | str | None = self.live.names.get(path, self.live.links.get(path))
        if file is None:
            raise UnknownCall(f"{kind} of the directory {path}")
        yield ("enter", (other, file)) if kind == "link" else ("rename", (path, other, file))


# ---- losing power


def lose_power(recording: Recording, moment: int, model: str, chance: random.Random) -> Disk:
    """Return what the disk holds when the power fails after the first ``moment`` operations.

    The command may have ended: then what it did not sync may be lost all the same.
    """
    happened = recording.operations[:moment]
    durable = _durable(happened, model)
    last = _last_name(happened, durable, chance) if model == "journal" else None
    fates: dict[object, str] = defaultdict(lambda: chance.choice(("nothing", "some", "zeros", "all")))
    disk = recording.before.copy()
    for number, operation in enumerate(happened):
        if operation.is_sync:
            continue
        if number in durable:
            disk.apply(operation)
        elif operation.is_content:
            fate = fates[operation.values[0]]
            if fate in ("all", "zeros") or (fate == "some" and chance.random() < 0.5):
                disk.apply(operation, hole=fate == "zeros")
        elif number <= last if last is not None else chance.random() < 0.5:
            disk.apply(operation)
    return disk


def _last_name(happened: Sequence[Operation], durable: set[int], chance: random.Random) -> int:
    """Return up to which operation names and times were written to the journal."""
    end = len(happened) - 1
    start = max((number for number in durable if not happened[number].is_content), default=-1)
    return chance.choice((start, end, chance.randint(min(start, end), end)))


def _durable(happened: Sequence[Operation], model: str) -> set[int]:
    """Return the numbers of the operations that a sync covers."""
    durable: set[int] = set()
    for sync in happened:
        if sync.is_sync:
            covers = _covered_by(sync, model)
            durable.update(
                number
                for number, operation in enumerate(happened)
                if operation.end < sync.begin and not operation.is_sync and covers(operation)
            )
    return durable


def _covered_by(sync: Operation, model: str) -> Callable[[Operation], bool]:
    if sync.kind == "sync-all":
        return lambda _operation: True
    if sync.kind == "sync-file":
        file = sync.values[0]
        own = ("write", "truncate", "time")
        return lambda operation: operation.values[0] == file if operation.kind in own else model == "journal"
    directory = sync.values[0]
    return lambda operation: (
        not operation.is_content
        and (model == "journal" or (operation.kind != "time" and _touches(operation, str(directory))))
    )


def _touches(operation: Operation, directory: str) -> bool:
    """Whether a change of names is one of this directory. A rename is one of both: file systems keep it whole."""
    return any(
        (os.path.dirname(value) or ".") == directory
        for value in operation.values[: 2 if operation.kind == "rename" else 1]
        if isinstance(value, str)
    )
