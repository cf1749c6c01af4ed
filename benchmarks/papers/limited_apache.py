"""A real Apache with a share of a CPU, in a control group of its own, and requests to it over asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.papers.experiment import Unavailable

GROUPS = Path("/sys/fs/cgroup")
NAME = f"adaptc-bench-{os.getpid()}"
WEIGHT = 8192  # against the 1024 of other groups: what is limited is the share, not by who else works meanwhile
PERIOD = 20_000  # microseconds in which the share is used; the kernel's 100 ms would add to what visitors wait
MODULES = ("mpm_event", "authz_core", "rewrite", "status", "mime", "dir")

CONFIGURATION = """
ServerName localhost
ServerRoot {folder}
PidFile {folder}/pid
Listen 127.0.0.1:{port}
{modules}
User www-data
Group www-data
ErrorLog {folder}/error.log
TypesConfig /etc/mime.types
DocumentRoot {folder}/site
KeepAlive On
KeepAliveTimeout 10
MaxKeepAliveRequests 1000
StartServers 4
ServerLimit 30
ThreadsPerChild 50
MaxRequestWorkers 1500
<Directory {folder}>
    Require all granted
</Directory>
<Location /server-status>
    SetHandler server-status
</Location>
"""


@dataclass(frozen=True, slots=True)
class LimitedApache:
    """An Apache that runs, and the files of its control group."""

    port: int
    cpu: Path
    accounting: Path

    def cpu_seconds(self) -> float:
        """Return the CPU time that it used."""
        return int((self.accounting / "cpuacct.usage").read_text()) / 1e9

    def limit(self, share: float) -> None:
        """Give it another share of a CPU."""
        (self.cpu / "cpu.cfs_quota_us").write_text(str(max(1000, round(share * PERIOD))))


@contextlib.contextmanager
def limited_apache(
    folder: Path, text: str = "", modules: tuple[str, ...] = MODULES, share: float = 1.0
) -> Iterator[LimitedApache]:
    """Run Apache with ``share`` of a CPU; ``text`` is more of its configuration. Raises ``Unavailable``."""
    require_apache()
    port = free_port()
    lines = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules)
    configuration = (CONFIGURATION + text).format(folder=folder, port=port, modules=lines)
    (folder / "httpd.conf").write_text(configuration)
    server = LimitedApache(port, GROUPS / "cpu" / NAME, GROUPS / "cpuacct" / NAME)
    groups = {server.cpu, server.accounting}
    for group in groups:
        group.mkdir(exist_ok=True)
    (server.cpu / "cpu.shares").write_text(str(WEIGHT))
    (server.cpu / "cpu.cfs_period_us").write_text(str(PERIOD))
    server.limit(share)

    def enter() -> None:
        for group in groups:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    process = subprocess.Popen(["apache2", "-f", str(folder / "httpd.conf"), "-DFOREGROUND"], preexec_fn=enter)
    try:
        _wait(port, process)
        yield server
    finally:
        server.limit(1.0)
        process.terminate()
        process.wait()
        time.sleep(0.5)
        for group in groups:
            with contextlib.suppress(OSError):
                group.rmdir()


def require_apache() -> None:
    """Raise ``Unavailable`` where Apache cannot be run with a share of a CPU."""
    require_programs("apache2")
    for name in ("cpu", "cpuacct"):
        if not os.access(GROUPS / name, os.W_OK) or not (GROUPS / name / "cgroup.procs").exists():
            raise Unavailable(f"{GROUPS / name} is no control group (version 1) that may be written")


def require_programs(*names: str) -> None:
    """Raise ``Unavailable`` where a program is not installed."""
    for name in names:
        if shutil.which(name) is None:
            raise Unavailable(f"{name} is not installed")


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """Yield a directory that Apache's user may read."""
    with tempfile.TemporaryDirectory(prefix="adaptc-bench-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def open_to_all(folder: Path) -> None:
    """Let every user read a directory."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        if process.poll() is not None:
            raise Unavailable(f"apache2 ended with {process.returncode}; it must be started by root")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise Unavailable("apache2 does not answer")


async def fetch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> bytes:
    """Request a file over an open connection and return its bytes. Raises ``ValueError`` for other answers than 200."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head[:20]:
        raise ValueError(head[:40])
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r", 1)[0])
    return await reader.readexactly(length)
