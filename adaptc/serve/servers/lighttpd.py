"""lighttpd: a line for its configuration and a script for mod_magnet, which chooses."""

from __future__ import annotations

import re

from adaptc.serve.server import EmittedFile, Server, always


def argument(text: str) -> str:
    """Return ``text`` as a string of lighttpd's configuration.

    Raises ``ValueError`` for a character without an escape.
    """
    if match := re.search(r'[\x00-\x1f"\\]', text):
        raise ValueError(f"{match[0]!r}, which lighttpd.conf cannot express")
    return f'"{text}"'


SERVER = Server(
    name="lighttpd",
    title="lighttpd",
    files=(EmittedFile("lighttpd.conf", is_included=always), EmittedFile("lighttpd.lua")),
    filters=lambda _policy: {"arg": argument},
    lacks=("freshness",),
    programs=("lighttpd",),
)
