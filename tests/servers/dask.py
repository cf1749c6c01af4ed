"""A Dask cluster on this machine for tests: a scheduler, and workers as programs of their own that a test may kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.waiting import wait_until


@dataclass
class Cluster:
    """A scheduler at ``address`` and its workers, whose directories are below ``root``."""

    root: Path
    address: str = ""
    programs: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _made: int = 0

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a program of Dask."""
        self._made += 1
        with (self.root / f"{self._made}.log").open("wb") as log:
            command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.root, start_new_session=True)
        self.programs.append(process)
        return process

    def add_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a worker without a nanny: nobody starts it again."""
        common = ("--no-nanny", "--nthreads", "1", "--local-directory", str(self.root), "--host", "127.0.0.1")
        return self.start("worker", self.address, *common, *options)

    def await_workers(self) -> None:
        """Wait until all workers that run have joined the scheduler."""
        logs = [self.root / f"{number}.log" for number in range(2, self._made + 1)]
        wait_until(
            lambda: all("Registered to" in log.read_text() for log in logs), lambda: [log.read_text() for log in logs]
        )

    def end(self) -> None:
        """Kill what was started."""
        for process in self.programs:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def dask_cluster(root: Path, workers: int = 2) -> Iterator[Cluster]:
    """Provide a cluster; workers may still be on their way."""
    pytest.importorskip("distributed")
    root.mkdir(exist_ok=True)
    cluster, file = Cluster(root), root / "address"
    try:
        cluster.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        cluster.address = _address(file)
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.end()


def _address(file: Path) -> str:
    import json

    wait_until(lambda: file.exists() and file.stat().st_size, lambda: "the scheduler does not start")
    return str(json.loads(file.read_text())["address"])
