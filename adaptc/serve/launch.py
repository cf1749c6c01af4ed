"""Start a server on loopback, in a directory of its own, for one site and its emitted configuration."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass
from adaptc.serve.policy import Policy
from adaptc.serve.server import Instance, Launcher, Server

SEARCH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"])
UNPRIVILEGED = ("www-data", "apache", "http", "nginx", "_www", "nobody")
STARTING = 60.0  # seconds that a server may take; Varnish starts a compiler


def program_of(server: Server) -> str:
    """Return the path of a server's program. Raises ``UsageError`` when it is not installed."""
    path = next(filter(None, (shutil.which(name, path=SEARCH) for name in server.programs)), None)
    if path is None:
        raise UsageError(f"{server.name} is not installed; packages: {server.packages}")
    return path


def launcher_of(server: Server) -> Launcher:
    """Return how a server is started. Raises ``UsageError`` when adaptc cannot start it."""
    if server.launcher is None:
        raise UsageError(f"adaptc cannot start {server.title}")
    return server.launcher


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs: its port on loopback, and its first process."""

    port: int
    process: int


@contextlib.contextmanager
def running(server: Server, instance: Instance) -> Iterator[Running]:
    """Run a server. Raises ``UsageError`` with the server's output when it does not start."""
    launcher = launcher_of(server)
    instance.root.mkdir(parents=True, exist_ok=True)
    port, file = free_port(), instance.root / f"{server.name}.conf"
    program = program_of(server)
    file.write_bytes(os.fsencode(launcher.configuration(instance, port)))
    command = launcher.command(program, instance.root, file, port)
    with (instance.root / "out.log").open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            _await(server, process, port, instance.root)
            yield Running(port, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STARTING)


def free_port() -> int:
    """Return a port of loopback on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _await(server: Server, process: subprocess.Popen[bytes], port: int, root: Path) -> None:
    end = time.monotonic() + STARTING
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    output = "".join(file.read_text("utf-8", "replace") for file in sorted(root.glob("*.log")))
    raise UsageError(f"{server.name} did not start: {output.strip() or 'it printed nothing'}")


def unprivileged_user() -> str:
    """Return a user without rights: servers should not serve as root. Raises ``UsageError`` when there is none."""
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise UsageError(f"this system has none of the users {', '.join(UNPRIVILEGED)}; run it as another user than root")


def settle(server: Server, policy: Policy) -> None:
    """Wait until a change of the state directory has effect."""
    time.sleep(launcher_of(server).settling(policy))


def run_quietly(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command and return its output; bytes that are not UTF-8 become surrogates."""
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="surrogateescape", check=False)
