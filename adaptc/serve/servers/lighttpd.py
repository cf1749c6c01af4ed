"""lighttpd: a line for its configuration and a script for mod_magnet, which chooses."""

from __future__ import annotations

import os
import re
from pathlib import Path

from adaptc.core.media import BY_EXTENSION
from adaptc.serve.launch import unprivileged_user
from adaptc.serve.server import EmittedFile, Instance, Launcher, Server, always


def argument(text: str) -> str:
    """Return ``text`` as a string of lighttpd's configuration.

    Raises ``ValueError`` for a character without an escape.
    """
    if match := re.search(r'[\x00-\x1f"\\]', text):
        raise ValueError(f"{match[0]!r}, which lighttpd.conf cannot express")
    return f'"{text}"'


# ---- how it is started


def _configuration(instance: Instance, port: int) -> str:
    root = instance.docroot if not instance.prefix else instance.root / "empty"
    root.mkdir(exist_ok=True)
    types = ", ".join(f'".{name}" => "{media_type}"' for name, media_type in BY_EXTENSION.items())
    fields = ", ".join(f"{argument(name)} => {argument(value)}" for name, value in instance.headers)
    aliases = f"{argument(instance.prefix + '/')} => {argument(os.fspath(instance.docroot) + '/')}"
    lines = [
        'server.modules = ( "mod_alias", "mod_setenv" )',
        f"server.document-root = {argument(os.fspath(root))}",
        'server.bind = "127.0.0.1"',
        f"server.port = {port}",
        *([f'server.username = "{unprivileged_user()}"'] if os.geteuid() == 0 else []),
        f"index-file.names = ( {', '.join(map(argument, instance.index))} )",
        f'mimetype.assign = ( {types}, "" => "application/octet-stream" )',
        *([f"setenv.add-response-header = ( {fields} )"] if fields else []),
        *([f"alias.url = ( {aliases} )"] if instance.prefix else []),
        *(f"include {argument(os.fspath(file))}" for file in instance.includes if file.suffix == ".conf"),
    ]
    return "\n".join(lines) + "\n"


def _command(program: str, _root: Path, file: Path, _port: int) -> list[str]:
    return [program, "-D", "-f", os.fspath(file)]


SERVER = Server(
    name="lighttpd",
    title="lighttpd",
    files=(EmittedFile("lighttpd.conf", is_included=always), EmittedFile("lighttpd.lua")),
    filters=lambda _policy: {"arg": argument},
    lacks=("freshness",),
    ignores=("formats", "dictionaries"),
    programs=("lighttpd",),
    packages="lighttpd and lighttpd-modules-lua (Debian, Ubuntu)",
    launcher=Launcher(
        configuration=_configuration,
        command=_command,
        settling=lambda _policy: 2.2,  # server.stat-cache-engine = "simple", as it is unless told otherwise
        ignores_if_match=True,
    ),
)
