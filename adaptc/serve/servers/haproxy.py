"""HAProxy 2.6, as reverse proxy of servers that send from the trees: a script in Lua, which chooses the level."""

from __future__ import annotations

import os
import re
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.serve.policy import Policy
from adaptc.serve.server import EmittedFile, Instance, Launcher, Server, always


def _variables(policy: Policy) -> dict[str, Any]:
    if policy.serve.reverse_proxy != SERVER.name:
        raise UsageError(
            'serve.reverse_proxy: write reverse_proxy = "haproxy", so that origin servers do as they are asked'
        )
    return {"proxies": [ip_network(text, strict=False) for text in policy.serve.trusted_proxies]}


# ---- how it is started


def _configuration(instance: Instance, port: int) -> str:
    loads = "\n".join(f"    lua-load-per-thread {_word(file)}" for file in instance.includes)
    name = instance.log_format
    actions = f"    http-request lua.{name}\n    http-response lua.{name}_answer\n" if instance.includes else ""
    return f"""global
    nbthread 1
{loads}
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
frontend site
    bind 127.0.0.1:{port}
    option accept-invalid-http-request
    default_backend origin
backend origin
{actions}    server origin 127.0.0.1:{instance.origin}
"""


def _word(file: Path) -> str:
    """Return a path as a word of the configuration, each special character after a backslash."""
    return re.sub(r"([\\ \"'#$])", r"\\\1", os.fspath(file))


def _command(program: str, _root: Path, file: Path, _port: int) -> list[str]:
    return [program, "-db", "-f", os.fspath(file)]


SERVER = Server(
    name="haproxy",
    title="HAProxy 2.6",
    files=(EmittedFile("haproxy.lua", is_included=always),),
    variables=_variables,
    filters=lambda _policy: {},
    is_reverse_proxy=True,
    programs=("haproxy",),
    packages="haproxy (Debian, Ubuntu, Fedora), which is built with Lua",
    launcher=Launcher(
        configuration=_configuration,
        command=_command,
    ),
)
