"""mozjpeg in a process of its own: ``optimize_jpeg``.

The binding ends its process, by ``exit(1)`` of the C library, for coefficients that are out of range, as damaged files
have them, and where memory is short (libjpeg's own ``error_exit``). So a process of this module gets the files by a
pipe; it is started when it is first needed, which takes 0.05 s, and ends with the one that started it.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from typing import IO

_LENGTH = 8  # bytes of the number in front of each file
_REFUSED = b"\xff" * _LENGTH
_PATIENCE = 10.0  # seconds for a process that was told to end


class JpegOptimizer:
    """A process that optimizes one file after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None

    def ask(self, content: bytes) -> bytes:
        """Return the optimized file. Raises ``ValueError`` and ``MemoryError``."""
        with self._lock:
            running = self._running = self._running or _start()
            assert running.stdin is not None and running.stdout is not None
            try:
                _write(running.stdin, content)
                answer = _read(running.stdout)
            except (BrokenPipeError, EOFError):
                self._running = None
                raise _reason(running) from None
        if answer is None:
            raise ValueError("mozjpeg refuses it")
        return answer

    def end(self) -> None:
        """End the process, if it was started."""
        if self._running is not None:
            self._running.communicate(timeout=_PATIENCE)


def _start() -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", __name__]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


def _reason(ended: subprocess.Popen[bytes]) -> ValueError | MemoryError:
    """Return why a process ended: the kernel kills, and libraries print a word about it, where memory is short."""
    _, printed = ended.communicate()
    if ended.returncode == -signal.SIGKILL or b"memory" in printed.lower():
        return MemoryError("mozjpeg has not enough memory")
    return ValueError(printed.decode("utf-8", "replace").strip().rpartition("\n")[2] or f"code {ended.returncode}")


def _write(stream: IO[bytes], content: bytes) -> None:
    stream.write(len(content).to_bytes(_LENGTH) + content)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    """Return the next file, ``None`` for one that was refused. Raises ``EOFError``."""
    length = stream.read(_LENGTH)
    if length == _REFUSED:
        return None
    size = int.from_bytes(length)
    content = stream.read(size)
    if len(length) < _LENGTH or len(content) < size:
        raise EOFError
    return content


_PROCESS = JpegOptimizer()
atexit.register(_PROCESS.end)


def optimize_jpeg(content: bytes) -> bytes:
    """Recompress a JPEG without loss; of its metadata the ICC profile is kept.

    Raises ``ValueError`` for a file that mozjpeg refuses, and ``MemoryError``.
    """
    return _PROCESS.ask(content)


def main() -> None:
    """Optimize the files of standard input until it ends."""
    from mozjpeg_lossless_optimization import COPY_MARKERS, optimize

    while (content := _next(sys.stdin.buffer)) is not None:
        try:
            _write(sys.stdout.buffer, bytes(optimize(content, copy=COPY_MARKERS.ICC)))
        except ValueError:
            sys.stdout.buffer.write(_REFUSED)
            sys.stdout.buffer.flush()


def _next(stream: IO[bytes]) -> bytes | None:
    try:
        return _read(stream)
    except EOFError:
        return None


if __name__ == "__main__":
    main()
