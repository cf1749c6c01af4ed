"""Errors that say nothing about the content: memory is short, a library cannot be loaded, or native code crashed.

A build with enough memory would give another result, so nothing that follows from such an error may be stored.

Libraries report a lack of memory in many ways. Python and most extensions raise ``MemoryError``; libvips, brotli, zstd
and Pillow's decoders raise the error that damaged content raises, with a text that says it; the loader raises
``ImportError`` ("failed to map segment from shared object"); Rust panics where it cannot start a thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import signal
import threading
from collections.abc import Callable, Iterator

from adaptc.core.diagnostics import UsageError


class Shortage(Exception):
    """The system lacks what the work needs; the text says what, in words."""


_NUMBERS = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOBUFS)
_TEXT = re.compile(
    r"(?:out.of|not enough|insufficient|no|allocate) memory|memory allocation|allocation (?:error|fail)"
    r"|(?:failed|unable) to alloc|start new thread|creat\w* thread|spawn thread|resource temporarily unavailable",
    re.IGNORECASE,
)
# SQLite's errors of the disk, and of what others do to it
_DATABASE = re.compile(r"database (?:is|table is|schema is) locked|disk I/O error|disk is full|unable to open database")
# libheif refuses images of a size that no machine should decode: that is a property of the image
_BOUND = "security limit"
_PANIC = "PanicException"  # of pyo3; each extension has a type of its own, which derives from BaseException
# Bytes that the largest image takes (100 million pixels), with those that it is made of
_MARGIN = 1 << 30


class OutOfTime(BaseException):
    """A unit used more CPU time than it may. Handlers of damaged content, which catch ``Exception``, let it pass."""


_ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit, OutOfTime)


def explain_shortage(error: BaseException) -> str | None:
    """Return what is short, in words, if that caused ``error``; ``None`` if the content may be the cause."""
    return _first_reason(error, _explain) or _first_reason(error, _explain_database)


def _first_reason(error: BaseException, explain: Callable[[BaseException], str | None]) -> str | None:
    if isinstance(error, _ENDS):
        return None
    seen: BaseException | None = error
    while seen is not None:
        reason = explain(seen)
        if reason is not None:
            return reason
        seen = seen.__cause__ or seen.__context__
    return None


def _explain(error: BaseException) -> str | None:
    text = _last_line(error)
    if isinstance(error, Shortage):
        return text
    if isinstance(error, ImportError):
        return f"a library cannot be loaded: {_last_line(error.__cause__ or error)}"
    if type(error).__name__ == _PANIC:
        return f"a library crashed: {text}"
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno in _NUMBERS else None
    if isinstance(error, MemoryError) or (_TEXT.search(text) and _BOUND not in text.lower()):
        return f"not enough memory: {text}" if text else "not enough memory"
    return None


def _explain_database(error: BaseException) -> str | None:
    text = _last_line(error)
    return f"a database cannot be used: {text}" if _DATABASE.search(text) else None


def _last_line(error: BaseException) -> str:
    """Return the last line of the text of an error: libvips' first line only names the call that failed."""
    return str(error).strip().rpartition("\n")[2].strip()


def raise_shortage(error: Exception) -> None:
    """Raise ``Shortage`` if that caused ``error``, or may have. A handler of damaged content calls this first.

    Close to a limit of memory the content cannot be blamed: a decoder of JPEG that lacks memory says "broken data
    stream", and a library that was loaded in part fails in any way.
    """
    reason = explain_shortage(error)
    if reason is None and _is_close_to_limit():
        reason = f"memory is nearly used up, so that this may be no fault of the content: {_last_line(error)}"
    if reason is not None:
        raise Shortage(reason) from error


def has_memory_limit() -> bool:
    """Whether the memory of this process is limited, as by ``ulimit -v``.

    Several libraries then end the process (GLib, OpenBLAS, libjpeg) where others raise an error.
    """
    limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return any(limit != resource.RLIM_INFINITY for limit in limits)


def _is_close_to_limit() -> bool:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return False
    with contextlib.suppress(FileNotFoundError), open("/proc/self/status") as file:
        return any(limit - 1024 * int(line.split()[1]) < _MARGIN for line in file if line.startswith("VmPeak:"))
    return False


@contextlib.contextmanager
def recognizing_shortage() -> Iterator[None]:
    """Raise ``Shortage`` in place of each error that it caused; a mistake of the user has a text of its own.

    Errors of databases pass, since those who open one say which it is.
    """
    try:
        yield
    except (Shortage, UsageError):
        raise
    except BaseException as error:  # a panic is no Exception
        reason = _first_reason(error, _explain)
        if reason is None:
            raise
        raise Shortage(reason) from error


# ---- a bound of CPU time

# Seconds of CPU time after which ``OutOfTime`` is raised again, where the code of a library lost it
_AGAIN = 1.0
_is_bounded = False


@contextlib.contextmanager
def bounding_cpu_time(seconds: float) -> Iterator[None]:
    """Raise ``OutOfTime`` once this process has used so many seconds of CPU time in the block.

    Wall time says nothing on a busy machine. The signal of a timer does it, between two steps of Python: code of a
    library that does not return is ended by the pool (``workers.worker``). Only the main thread takes signals; in
    others, and where a profiler has the signal, there is no bound.
    """
    global _is_bounded
    if threading.current_thread() is not threading.main_thread() or not _takes_signal():
        yield
        return
    _is_bounded = True
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        _is_bounded = False
        signal.setitimer(signal.ITIMER_PROF, 0)


def _takes_signal() -> bool:
    if signal.getsignal(signal.SIGPROF) is signal.SIG_DFL:
        signal.signal(signal.SIGPROF, _end_unit)
    return signal.getsignal(signal.SIGPROF) is _end_unit


def _end_unit(_number: int, _frame: object) -> None:
    if _is_bounded:  # a signal may come after the block
        raise OutOfTime
