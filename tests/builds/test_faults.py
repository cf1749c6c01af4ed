"""Builds on systems that fail: full disks, read errors, larger programs around them."""

from __future__ import annotations

import decimal
import errno
import gc
import locale
import logging
import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from PIL import ImageFile

from tests.sites.built import BuiltSite
from tests.sites.plain import FILES, page

import adaptc
from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.compile.engine.state import damage
from adaptc.compile.engine.state import tables as state_file
from adaptc.core.fs import DiskTree, write_atomic
from adaptc.core.shortage import Shortage


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path).write(FILES)
    site.build()
    return site


def assert_as_built_clean(site: BuiltSite) -> None:
    clean = site.clean()
    clean.build()
    assert site.trees() == clean.trees()


# ---- full disks

# A page whose facts need more space in the state
LARGE = page("home, changed", "".join(f'<a href="{number}.html">{number}</a>' for number in range(2000)))


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/opt/x")


def refuse_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = state_file._connect

    def refuse(path: Path) -> sqlite3.Connection:
        if path.name == ":memory:":
            return connect(path)
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
        raise error

    monkeypatch.setattr(state_file, "_connect", refuse)


def refuse_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    tune = state_file._tune

    def full(db: sqlite3.Connection) -> sqlite3.Connection:
        if db.execute("PRAGMA database_list").fetchone()[2]:  # not of a copy in memory
            db.execute("PRAGMA max_page_count = 1")
        return tune(db)

    monkeypatch.setattr(state_file, "_tune", full)


FULL: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "snapshot": lambda patch: patch.setattr("adaptc.compile.engine.spec.BuildSpec.shared_snapshot", no_space),
    "state": refuse_pages,
    "open": refuse_to_open,
}


@pytest.mark.parametrize("place", FULL)
def test_outdated_files_leave_the_trees_of_a_full_disk(
    site: BuiltSite, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.write({"index.html": LARGE}).remove("sub/b.html")
    with monkeypatch.context() as patch:
        FULL[place](patch)
        with pytest.raises(OSError):  # which one it is depends on the place
            site.build()
    for level in ("full", "lossless"):
        assert not (site.output / level / "id/index.html").exists()
        assert not (site.output / level / "id/sub/b.html").exists()
    assert (site.output / "lossless/id/one.css").exists()
    site.build()
    assert_as_built_clean(site)


def test_what_was_built_before_a_fault_stays(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write({"a.html": page("A, changed")})
    with monkeypatch.context() as patch:
        patch.setattr("adaptc.report.documents.DocumentWriter.write", no_space)
        with pytest.raises(OSError, match="No space left"):
            site.build()
    assert b"A, changed" in site.read("a.html")
    assert not site.build().built


def test_lack_of_memory_leaves_no_outdated_file(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write({"a.html": page("A, changed")})
    with monkeypatch.context() as patch:
        patch.setattr("adaptc.compile.engine.spec.BuildSpec.decide", lambda *_: bytearray(1 << 62))
        with pytest.raises(Shortage):
            site.build()
    assert not (site.output / "lossless/id/a.html").exists()
    site.build()
    assert_as_built_clean(site)


@pytest.mark.parametrize(
    ("code", "free", "number"),
    [
        (sqlite3.SQLITE_FULL, 1, errno.ENOSPC),
        (sqlite3.SQLITE_IOERR_WRITE, 0, errno.ENOSPC),
        (sqlite3.SQLITE_IOERR_READ, 1, errno.EIO),
        (sqlite3.SQLITE_CANTOPEN, 1, errno.EACCES),
    ],
)
def test_errors_of_the_state_name_their_cause(
    tmp_path: Path, code: int, free: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.statvfs", lambda _: type("Free", (), {"f_bavail": free}))
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    raised = damage.system_error(error, tmp_path / "state.sqlite")
    assert (raised.errno, raised.filename) == (number, str(tmp_path / "state.sqlite"))


def test_a_full_disk_is_one_line(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site.write({"a.html": LARGE})
    refuse_pages(monkeypatch)
    code = run(["build", str(site.docroot), "-o", str(site.output), "--effort", "fast", "-j", "1", "-q"])
    line = f"adaptc: {site.output}/.adaptc/state.sqlite: No space left on device (database or disk is full)\n"
    assert (code, capsys.readouterr().err) == (ExitCode.INTERNAL, line)


def test_an_error_of_writing_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.core.fs.write_all", lambda *_: os.write(-1, b"x"))
    with pytest.raises(OSError, match=r"x\.css"):
        write_atomic(str(tmp_path / "x.css"), b"x")


# ---- read errors of one source


class _Unreadable:
    """A file whose medium fails, as ``open`` returns it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __enter__(self) -> _Unreadable:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fileno(self) -> int:
        return self._file.fileno()

    def read(self, _size: int = -1) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def break_medium(monkeypatch: pytest.MonkeyPatch, name: str, after: int = 0) -> None:
    """Let reads of the file ``name`` fail, after some that succeed."""
    opened, reads = DiskTree._open, list(range(after))

    def open_file(tree: DiskTree, path: str) -> Any:
        file = opened(tree, path)
        if path != name or (reads and reads.pop() >= 0):
            return file
        return _Unreadable(file)

    monkeypatch.setattr(DiskTree, "_open", open_file)


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize(("name", "limit"), [("a.html", 10**6), ("deep/er/still.bin", 100)])
def test_a_source_that_cannot_be_read_is_left_out(
    site: BuiltSite, name: str, limit: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While facts are gathered, and while it is built; as a whole, and in chunks."""
    site.write({name: FILES[name] * 2})  # type: ignore[operator]
    with monkeypatch.context() as patch:
        break_medium(patch, name, after)
        result = site.build(site__max_file_bytes=limit)
    reported = [str(diagnostic) for diagnostic in result.diagnostics if diagnostic.id == "unreadable-file"]
    assert reported
    assert reported[0].startswith(f"{name}: error: cannot be read (Input/output error)")
    assert not (site.output / "lossless/id" / name).exists()
    assert (site.output / "lossless/id/index.html").exists()
    site.build()
    assert_as_built_clean(site)


def test_a_source_that_vanishes_is_left_out(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = DiskTree._open

    def vanish(tree: DiskTree, path: str) -> BinaryIO:
        if path == "a.html":
            (site.docroot / path).unlink()
        return opened(tree, path)

    site.write({"a.html": page("A, changed")})
    with monkeypatch.context() as patch:
        patch.setattr(DiskTree, "_open", vanish)
        result = site.build()
    assert [item.id for item in result.diagnostics if item.severity is adaptc.Severity.ERROR] == ["unreadable-file"]
    site.build()
    assert_as_built_clean(site)


# ---- in a larger program


def process_settings() -> dict[str, object]:
    """Return what a build could change in the process around it."""
    import pyvips
    from PIL import Image

    return {
        "environment": dict(os.environ),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "locale": locale.setlocale(locale.LC_ALL),
        "decimal": str(decimal.getcontext()),
        "directory": os.getcwd(),
        "main": {name: vars(sys.modules["__main__"]).get(name) for name in ("__file__", "__spec__", "__name__")},
        "limits": (sys.getrecursionlimit(), gc.get_threshold(), gc.isenabled(), sys.getswitchinterval()),
        "random": random.getstate(),
        "warnings": list(warnings.filters),
        "start method": multiprocessing.get_start_method(allow_none=True),
        "pixels": (Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES),
        "vips": (pyvips.cache_get_max(), pyvips.concurrency_get()),
        "loggers": {name: logging.getLogger(name).level for name in ("", "fontTools", "PIL", "pyvips")},
        "streams": (sys.stdin, sys.stdout, sys.stderr, sys.excepthook, threading.excepthook),
    }


def test_builds_in_threads_of_a_larger_program_leave_its_settings_alone(tmp_path: Path) -> None:
    first, second = (BuiltSite(tmp_path / name).write(FILES) for name in ("first", "second"))
    mask = os.umask(0o027)
    try:
        before = process_settings()
        with ThreadPoolExecutor(2) as threads:
            done = [threads.submit(adaptc.build, site.config()) for site in (first, second)]
            during = process_settings()
            results = [each.result() for each in done]
        assert process_settings() == during == before
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)
    assert [len(result.built) for result in results] == [2 * len(FILES)] * 2
    assert first.trees() == second.trees()
    assert_as_built_clean(first)
