"""Files: reading a docroot, and writing outputs.

A docroot is a ``Tree``: on disk, or in memory as that of the tests. Outputs appear by rename, complete or not at all,
and never through a symbolic link that another program created.

``OutwardLink`` is a symbolic link that leads out of a directory in which adaptc writes: it writes and removes nothing
through them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import filecmp
import os
import stat
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from adaptc.core.sync import sync_each


class ChangedWhileRead(Exception):
    """The file changed between the first and the last byte that were read."""


class Entry(NamedTuple):
    """An entry of a directory: the result of ``lstat``, and the target of a symbolic link as written.

    ``kind`` is "file", "directory", "symlink", or that of a special file: "socket", "fifo", "device".
    """

    path: str
    kind: str
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    link: str = ""
    mode: int = 0o644

    @property
    def is_executable(self) -> bool:
        """Whether the owner may run the file."""
        return bool(self.mode & stat.S_IXUSR)

    @property
    def is_unreadable(self) -> bool:
        """Whether no user may read the file or directory, but for the superuser: a server does not publish it."""
        return not self.mode & 0o444

    @property
    def is_open(self) -> bool:
        """Whether every user may read the file, or search the directory."""
        return bool(self.mode & (stat.S_IXOTH if self.kind == "directory" else stat.S_IROTH))


def package_file(package: str, name: str) -> Path:
    """Return the path of a file that comes with a package (``importlib.resources`` takes 6 ms to import)."""
    return Path(import_module(package).__path__[0], name)


class Contents(Protocol):
    """The contents of files by path."""

    def read(self, path: str) -> bytes:
        """Return a file's content. Raises ``OSError``, or ``ChangedWhileRead``."""

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield a file's content piece by piece, for files too large to hold in memory. Raises as ``read`` does."""


class Tree(Contents, Protocol):
    """A docroot to read. Paths are relative to it, with ``/`` between segments."""

    def list_directory(self, path: str) -> list[Entry]:
        """Return the entries of a directory, sorted by path; "" is the root. Raises ``OSError``."""

    def status(self, path: str) -> Entry:
        """Return the entry of a path; symbolic links are followed. Raises ``OSError``."""

    def real_path(self, path: str) -> str | None:
        """Return the path that symbolic links lead to, or ``None`` if it is outside the root. Raises ``OSError``."""

    def read_start(self, path: str, size: int) -> bytes:
        """Return the first ``size`` bytes of a file. Raises ``OSError``."""


_SPECIAL = ((stat.S_ISSOCK, "socket"), (stat.S_ISFIFO, "fifo"), (stat.S_ISBLK, "device"), (stat.S_ISCHR, "device"))


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISLNK(mode):
        return "symlink"
    return next((kind for is_kind, kind in _SPECIAL if is_kind(mode)), "special file")


@contextlib.contextmanager
def open_directory(path: str) -> Iterator[int]:
    """Yield a descriptor of a directory: calls with ``dir_fd`` take half the time. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Give an ``OSError`` of a call that takes a descriptor the name of its file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


class DiskTree:
    """A docroot on disk. Each ``OSError`` has the name of the file."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.realpath(root)

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def list_directory(self, path: str) -> list[Entry]:
        prefix = path + "/" if path else ""
        entries = []
        with open_directory(self._full(path)) as descriptor, os.scandir(descriptor) as items:
            for item in items:
                try:
                    link = os.readlink(item.name, dir_fd=descriptor) if item.is_symlink() else ""
                    entries.append(_entry(prefix + item.name, item.stat(follow_symlinks=False), link))
                except FileNotFoundError:  # removed while the directory was read
                    continue
        entries.sort()
        return entries

    def status(self, path: str) -> Entry:
        return _entry(path, os.stat(self._full(path)))

    def real_path(self, path: str) -> str | None:
        real = os.path.realpath(self._full(path), strict=True)
        if real == self.root:
            return ""
        return real[len(self.root) + 1 :] if real.startswith(self.root + "/") else None

    def read(self, path: str) -> bytes:
        with _naming(self._full(path)), self._open(path) as file:
            before = os.fstat(file.fileno())
            content = file.read()
            after = os.fstat(file.fileno())
        _refuse_change(path, before, after, len(content))
        return content

    def chunks(self, path: str) -> Iterator[bytes]:
        size = 0
        with self._open(path) as file:
            before = os.fstat(file.fileno())
            while chunk := self._read_chunk(path, file):
                size += len(chunk)
                yield chunk
            after = os.fstat(file.fileno())
        _refuse_change(path, before, after, size)

    def read_start(self, path: str, size: int) -> bytes:
        with _naming(self._full(path)), self._open(path) as file:
            return file.read(size)

    def _read_chunk(self, path: str, file: BinaryIO) -> bytes:
        with _naming(self._full(path)):
            return file.read(_CHUNK)

    def _open(self, path: str) -> BinaryIO:
        """Open a regular file; a pipe that replaced it meanwhile would block an ordinary ``open`` for ever."""
        descriptor = os.open(self._full(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
        raise ChangedWhileRead(path)


_CHUNK = 1 << 20


def _refuse_change(path: str, before: os.stat_result, after: os.stat_result, size: int) -> None:
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size) or after.st_size != size:
        raise ChangedWhileRead(path)


def _entry(path: str, status: os.stat_result, link: str = "") -> Entry:
    mode = stat.S_IMODE(status.st_mode)
    return Entry(path, _kind(status.st_mode), status.st_size, status.st_mtime_ns, status.st_ino, link, mode)


@contextlib.contextmanager
def lock_file(path: str | os.PathLike[str], busy: Exception, mode: int = 0o644) -> Iterator[Callable[[], None]]:
    """Hold a lock file; the kernel releases it however this process ends.

    Raises ``busy`` if another process holds it. Yields a function that locks the file anew where somebody has removed
    it, and raises ``busy`` where another process has locked it since.
    """
    descriptor = _open_lock(path, mode)

    def keep() -> None:
        nonlocal descriptor
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                return
        try:
            again = _open_lock(path, mode)
        except OSError:  # where it cannot be made nobody else can make it either
            return
        if not _lock(again):
            os.close(again)
            raise busy
        os.close(descriptor)
        descriptor = again

    try:
        if not _lock(descriptor):
            raise busy
        yield keep
    finally:
        os.close(descriptor)


def _open_lock(path: str | os.PathLike[str], mode: int) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    except PermissionError:  # another user has made it, who may be gone; to lock a file takes no right to write it
        if not (os.path.exists(path) and os.access(os.path.dirname(path) or ".", os.W_OK)):
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _lock(descriptor: int) -> bool:
    """Lock a file for this process; return False if another one holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# ---- what only its owner reads: states and records of crawls, which may hold credentials

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PASSAGE = stat.S_IXGRP | stat.S_IXOTH


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open or create a file that nobody but its owner reads, and return its descriptor. Raises ``OSError``."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(OSError):  # a file of another user is left as it is
        mode = os.fstat(descriptor).st_mode
        if mode & _OTHERS and stat.S_ISREG(mode):
            os.fchmod(descriptor, stat.S_IMODE(mode) & ~_OTHERS)
    return descriptor


def keep_private(directory: str | os.PathLike[str], public: tuple[str, ...] = ()) -> None:
    """Make a directory that nobody but its owner reads, or keep others from reading it.

    If it has one of the entries ``public``, others may pass to that, and read no other.
    """
    os.makedirs(directory, 0o700, exist_ok=True)
    has_public = any(os.path.isdir(os.path.join(directory, name)) for name in public)
    with contextlib.suppress(PermissionError):  # a directory of another user is left as it is
        mode = stat.S_IMODE(os.stat(directory).st_mode)
        wanted = mode & ~_OTHERS | (_PASSAGE if has_public else 0)
        if mode != wanted:
            os.chmod(directory, wanted)
        for entry in os.scandir(directory) if has_public else ():
            if entry.name not in public and not entry.is_symlink():
                os.chmod(entry.path, stat.S_IMODE(entry.stat().st_mode) & ~_OTHERS)


# Trees share artifacts by hard links: a write in place would change them all.
READ_ONLY = 0o444
# The start of the names of temporary files; a killed build may leave one.
TEMPORARY = ".adaptc-"


def write_atomic(
    path: str,
    chunks: Iterator[bytes] | bytes,
    mode: int = 0o644,
    *,
    keep_equal: bool = False,
    mtime: int | None = None,
    durable: bool = False,
    is_exact: bool = False,
    drafts: str | None = None,
) -> None:
    """Write a file so that a reader sees the old content, or the new, or none. Raises ``OSError``.

    The temporary file is in ``drafts``, by default the directory of the target, and is removed on failure. With
    ``keep_equal``, a file that already has this content keeps its time. ``mtime`` is the file's time in seconds since
    the epoch, by default now. ``durable`` is for files that must be complete after a power loss, too. With ``is_exact``
    the file has this ``mode`` whatever the umask.
    """
    place = os.path.dirname(path) if drafts is None else drafts
    temporary = os.path.join(place, f"{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        try:
            if is_exact:
                os.fchmod(descriptor, mode)
            for chunk in (chunks,) if isinstance(chunks, bytes) else chunks:
                with _naming(path):
                    write_all(descriptor, chunk)
        finally:
            os.close(descriptor)
        if mtime is not None:
            os.utime(temporary, (time.time(), mtime))
        if keep_equal and _have_same_content(temporary, path):
            os.unlink(temporary)
        else:
            if durable:
                sync_each((temporary,))
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def remove_drafts(directory: str) -> None:
    """Remove the temporary files of ``write_atomic`` whose process ended, as a killed one did. Raises ``OSError``."""
    for name in os.listdir(directory):
        process = name.removeprefix(TEMPORARY).partition("-")[0]
        if name.startswith(TEMPORARY) and process.isdecimal() and not _runs(int(process)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of ``content``, of which a system call writes at most 2 GiB. Raises ``OSError``.

    A file object would take 1.5 times as long for a small file.
    """
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _have_same_content(path: str, other_path: str) -> bool:
    try:
        return filecmp.cmp(path, other_path, shallow=False)
    except FileNotFoundError:
        return False


def place(source: str, target: str, temporary: str) -> None:
    """Put the complete file ``source`` at ``target`` by a hard link, or a copy where links are not possible.

    ``temporary`` is a free name on the target's file system: a file that replaces another gets it first, and is then
    renamed. A target that is a link of ``source`` already stays. Raises ``OSError``.
    """
    try:
        if _link(source, target):
            return
    except FileExistsError:
        if os.path.samestat(os.stat(source), os.lstat(target)):
            return
    if not _link(source, temporary):
        _copy(source, temporary)
    os.replace(temporary, target)
    # rename() between two links of one file does nothing and leaves both (POSIX).
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)


def _link(source: str, target: str) -> bool:
    """Create a hard link; return False if the file system does not allow it. Raises ``OSError`` for other reasons."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.ENOTSUP, errno.EACCES):
            raise
        return False
    return True


def place_link(written: str, target: str, temporary: str) -> None:
    """Put a symbolic link with the text ``written`` at ``target``. Raises ``OSError``."""
    os.symlink(written, temporary)
    os.replace(temporary, target)


def _copy(source: str, target: str) -> None:
    with (
        _naming(target),
        open(source, "rb") as reader,
        open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, READ_ONLY), "wb") as writer,
    ):
        while block := reader.read(1 << 20):
            writer.write(block)
        writer.flush()
        os.fsync(writer.fileno())
        os.utime(writer.fileno(), ns=(time.time_ns(), os.fstat(reader.fileno()).st_mtime_ns))


def is_inside(path: str, directory: str) -> bool:
    """Whether an absolute path is ``directory``, or below it. Both are taken as they are: links are not followed."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EISDIR)


def remove(path: str) -> bool:
    """Remove a file or link; return whether it existed. Raises ``OSError`` for other reasons."""
    try:
        os.unlink(path)
    except OSError as error:
        if error.errno not in _MISSING:
            raise
        return False
    return True


def remove_empty_directories(path: str, stop: str) -> None:
    """Remove ``path`` and the directories above it while they are empty, up to ``stop``, which stays."""
    while path.startswith(stop + "/"):
        try:
            os.rmdir(path)
        except OSError as error:
            if error.errno not in _MISSING:
                return
        path = os.path.dirname(path)


class OutwardLink(OSError):
    """A part of a path is a symbolic link that leads out of the directory, or nowhere; ``filename`` is that part."""


def outward_part(path: str, root: str) -> str | None:
    """Return the existing part of ``path`` if links lead from it out of ``root``, or nowhere; else ``None``.

    Both are absolute; ``root`` itself may be a link.
    """
    part = path
    while not os.path.lexists(part):
        part = os.path.dirname(part)
    is_own = is_inside(os.path.realpath(part), os.path.realpath(root)) or is_inside(root, part)
    return None if is_own and os.path.exists(part) else part


def refuse_outward(path: str, root: str) -> None:
    """Raise ``OutwardLink`` if links lead from ``path`` out of ``root``, or nowhere."""
    part = outward_part(path, root)
    if part is not None:
        raise OutwardLink(errno.ELOOP, f"it is, or is below, a symbolic link that leads out of {root}", part)
