"""The keys under which servers look up classes: an address, and the text of its network at two lengths.

Rewrite rules and nginx's maps cannot do longest prefix match; they cut the text of the address: ``a.b.c`` and ``a.b``
of IPv4, the first four and the first three groups of IPv6. A network of another length is spelt by all the keys of the
next longer one, if those are no more than ``_MOST``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from functools import lru_cache

from adaptc.daemons.classify.prefixes import Network

_MOST = 256


@lru_cache(maxsize=1 << 18)
def network_keys(network: Network) -> tuple[str, ...]:
    """Return the keys of a network; none for one that is longer than the longest key, or far shorter."""
    lengths = (16, 24) if network.version == 4 else (48, 64)
    longer = [length for length in lengths if length >= network.prefixlen]
    if not longer or 2 ** (longer[0] - network.prefixlen) > _MOST:
        return ()
    return tuple(key for one in network.subnets(new_prefix=longer[0]) for key in _spellings(one))


def _spellings(network: Network) -> Iterator[str]:
    if isinstance(network, ipaddress.IPv4Network):
        groups = str(network.network_address).split(".")
        yield ".".join(groups[: network.prefixlen // 8])
        return
    groups = [f"{int(group, 16):x}" for group in network.network_address.exploded.split(":")]
    groups = groups[: network.prefixlen // 16]
    yield "".join(f"{group}:" for group in groups)
    # RFC 5952 writes the longest run of zeros as "::": an address may have it where the network ends
    kept = list(groups)
    while kept and kept[-1] == "0":
        kept.pop()
    if len(kept) < len(groups):
        yield "".join(f"{group}:" for group in kept) + ":"
