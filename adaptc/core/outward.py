"""Symbolic links that lead out of a directory in which adaptc writes: it writes and removes nothing through them."""

from __future__ import annotations

import errno
import os

from adaptc.core.fs import is_inside


class OutwardLink(OSError):
    """A part of a path is a symbolic link that leads out of the directory, or nowhere; ``filename`` is that part."""


def outward_part(path: str, root: str) -> str | None:
    """Return the existing part of ``path`` if links lead from it out of ``root``, or nowhere; else ``None``.

    Both are absolute; ``root`` itself may be a link.
    """
    part = path
    while not os.path.lexists(part):
        part = os.path.dirname(part)
    is_own = is_inside(os.path.realpath(part), os.path.realpath(root)) or is_inside(root, part)
    return None if is_own and os.path.exists(part) else part


def refuse_outward(path: str, root: str) -> None:
    """Raise ``OutwardLink`` if links lead from ``path`` out of ``root``, or nowhere."""
    part = outward_part(path, root)
    if part is not None:
        raise OutwardLink(errno.ELOOP, f"it is, or is below, a symbolic link that leads out of {root}", part)
