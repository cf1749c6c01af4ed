"""Panes: what a frame of the preview shows, written in its host name.

Pages have absolute paths in them (``/css/site.css``), so each level needs an origin of its own; and two panes of
one level are counted apart. Browsers lead every name below ``localhost`` to loopback (RFC 6761, section 6.3), so
one port serves them all, through an SSH tunnel too: ``left.lossless.br.localhost:8000``. Ports for each level
were rejected: a tunnel would need all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adaptc.core.model import CODINGS, IDENTITY

ORIGINAL = "original"  # the docroot itself, without any level
AUTOMATIC = "auto"  # the best coding that the browser takes
SIDES = ("left", "right")
CHOICES = (AUTOMATIC, *CODINGS, IDENTITY)
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Pane:
    """A frame: which side it stands on, the level (or ``original``) and the coding that it asks for."""

    side: str
    level: str
    coding: str


def is_own_host(host: str) -> bool:
    """Whether a Host header names the preview itself, not a pane of it."""
    return without_port(host) in _OWN_HOSTS


def without_port(host: str) -> str:
    """Return a Host header without its port, in lower case."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def pane_of(host: str, levels: Iterable[str]) -> Pane | None:
    """Return the pane that a Host header names, or None: other names are refused (DNS rebinding)."""
    parts = without_port(host).split(".")
    if len(parts) != 4 or parts[3] != "localhost":
        return None
    side, level, coding = parts[:3]
    known = side in SIDES and coding in CHOICES and (level == ORIGINAL or level in levels)
    return Pane(side, level, coding) if known else None
