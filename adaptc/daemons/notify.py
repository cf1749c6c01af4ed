"""systemd's notification protocol: sd_notify(3), without its library."""

from __future__ import annotations

import os
import socket


def notify(message: str) -> None:
    """Send ``READY=1``, ``WATCHDOG=1`` or ``STOPPING=1`` to systemd; nothing happens outside of it.

    A socket that is gone is systemd's affair: it restarts what it does not hear from.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # the abstract namespace (unix(7))
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.setblocking(False)
        try:
            channel.sendto(message.encode("ascii"), address)
        except OSError:
            return
