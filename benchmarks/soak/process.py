"""Commands of adaptc in groups of their own, which are killed at a moment by lot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ADAPTC = [sys.executable, "-P", "-m", "adaptc"]
PATIENCE = 600.0  # seconds after which a command hangs


def start(words: Sequence[object], log: Path, **options: object) -> subprocess.Popen[bytes]:
    """Start a command as the leader of a group; what it prints goes to ``log``."""
    with log.open("wb") as stream:
        command = [*ADAPTC, *map(str, words)]
        return subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True, **options)  # type: ignore[call-overload,no-any-return]


def finish(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit code, None of a command that hangs; nothing of its group runs afterwards."""
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _kill_group(process)


def kill_at(process: subprocess.Popen[bytes], seconds: float, who: str) -> str:
    """Kill a command after ``seconds``: its group, its first process alone, or one of its workers."""
    time.sleep(seconds)
    if process.poll() is not None:
        return "over before"
    if who == "worker":
        workers = [pid for pid in group(process.pid) if pid != process.pid]
        if workers:
            _kill(max(workers, key=_resident))  # the kernel takes the largest, too
            return "hangs" if finish(process) is None else who
    if who == "parent":
        _kill(process.pid)
        process.wait()
        return who
    _kill_group(process)
    process.wait()
    return "group"


def group(leader: int) -> list[int]:
    """Return the processes of a group that run."""
    members = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader and fields[0] != "Z":
            members.append(int(entry))
    return sorted(members)


def _resident(pid: int) -> int:
    """Return pages of resident memory, 0 of a process that ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
