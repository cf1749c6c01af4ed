"""Classes of clients by key, as Apache looks them up: mostly once.

A client's class may stand under its address, its network or its wide network (/16, /48). Each look-up in a RewriteMap
costs a test of the file's time; for an address of which nothing is known three of them were 1.6 of 10 us. So the wide
network is asked first, and says whether it holds anything narrower.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NARROWER = "+"  # the class of a wide network that holds narrower ones
OWN = "="  # the end of the key that has the wide network's own class then
# What the rules cut the wide network out of an address by (templates/apache.conf.j2).
_WIDE = re.compile(r"\d+\.\d+(?=\.|$)|(?:[0-9a-f]+:){0,2}(?::|[0-9a-f]+:)")


def indexed(classes: Mapping[str, str]) -> dict[str, str]:
    """Return ``classes`` (10.1.2.3, 10.1.2, 10.1, 2001:db8:1: and so on) with what tells where to go on looking."""
    found = dict(classes)
    for key in classes:
        wide = _wide(key)
        if wide != key and found.get(wide) != NARROWER:
            if wide in found:
                found[wide + OWN] = found[wide]
            found[wide] = NARROWER
    return found


def _wide(key: str) -> str:
    found = _WIDE.match(key)
    return found[0] if found else key
