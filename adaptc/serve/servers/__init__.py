"""The servers that adaptc knows.

``SERVERS`` in ``adaptc/config/config.py`` lists their names; each name is a module of this folder with a value
``SERVER``.
"""

from __future__ import annotations

from importlib import import_module

from adaptc.config.config import SERVERS
from adaptc.serve.server import Server


def server_named(name: str) -> Server:
    """Return a server by its name in ``SERVERS``."""
    server: Server = import_module(f"{__name__}.{name}").SERVER
    return server


def all_servers() -> tuple[Server, ...]:
    """Return the servers in the order of ``SERVERS``."""
    return tuple(map(server_named, SERVERS))


def startable() -> tuple[Server, ...]:
    """Return the servers that ``adaptc verify-server`` can start, reverse proxies too."""
    return tuple(server for server in all_servers() if server.launcher is not None)


def launchable() -> tuple[Server, ...]:
    """Return the origin servers that adaptc can start."""
    return tuple(server for server in startable() if not server.is_reverse_proxy)


def examinable() -> tuple[Server, ...]:
    """Return the servers that ``adaptc doctor`` can examine."""
    return tuple(server for server in all_servers() if server.examination is not None)
