"""The versions of servers, as their programs print them."""

from __future__ import annotations

import os
import re

from adaptc.core.diagnostics import UsageError
from adaptc.serve.launch import program_of, run_quietly
from adaptc.serve.server import Server
from adaptc.serve.servers import launchable

UNKNOWN = "unknown"
_VERSION = re.compile(r"(?i)\b(apache|nginx)/([\w.]+)")


def named_version(text: str) -> str | None:
    """Return the server and version that a text names, such as ``nginx/1.22.1``; None where it names none."""
    match = _VERSION.search(text)
    return f"{match[1].lower()}/{match[2]}" if match else None


def installed_version(server: Server) -> str:
    """Return name and version of the program of a server. Raises ``UsageError`` when it is not installed."""
    answer = run_quietly([program_of(server), "-v"])
    return named_version(answer.stdout + answer.stderr) or server.name


def process_version(process: int) -> str:
    """Return name and version of the server that a process runs, as its program prints them; else ``UNKNOWN``."""
    try:
        program = os.readlink(f"/proc/{process}/exe")
    except OSError:
        return UNKNOWN
    if not any(os.path.basename(program) in server.programs for server in launchable()):
        return UNKNOWN
    answer = run_quietly([program, "-v"])
    return named_version(answer.stdout + answer.stderr) or UNKNOWN


def version_in_use(name: str) -> str | None:
    """Return name and version of the installed program of that name; None where there is none."""
    for server in launchable():
        if server.name == name.partition("/")[0]:
            try:
                return installed_version(server)
            except UsageError:
                return None
    return None
