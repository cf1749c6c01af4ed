"""Clusters of clients: networks, by longest prefix match.

A cluster is the longest prefix of the routing table that a client's address has, or else its fixed prefix: /24 and
for IPv6 /64. ``Prefixes`` maps networks to values, for clusters as for classes.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from adaptc.core.diagnostics import UsageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
FIXED = {4: 24, 6: 64}

T = TypeVar("T")


@lru_cache(maxsize=1 << 16)
def address_of(text: str) -> Address | None:
    """Return the address that a log names; None for a host name. An IPv4 address in IPv6 is the IPv4 address.

    A zone (``fe80::1%eth0``) may hold any character, and no table can name such an address.
    """
    if "%" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


class Prefixes(Generic[T]):
    """Networks with values. A lookup costs as many tries as there are prefix lengths."""

    def __init__(self) -> None:
        self._values: dict[tuple[int, int], dict[int, tuple[Network, T]]] = {}

    def add(self, network: Network, value: T) -> None:
        """Set the value of a network."""
        length = (network.version, network.prefixlen)
        if length not in self._values:
            self._values[length] = {}
            self._values = dict(sorted(self._values.items(), reverse=True))  # longest first
        self._values[length][int(network.network_address)] = (network, value)

    def find(self, address: Address) -> tuple[Network, T] | None:
        """Return the longest prefix of an address, and its value."""
        bits, whole = address.max_prefixlen, int(address)
        for (version, length), networks in self._values.items():
            if version == address.version:
                entry = networks.get(whole >> (bits - length) << (bits - length))
                if entry is not None:
                    return entry
        return None


def read_routes(path: Path) -> Prefixes[None]:
    """Read a routing table: a prefix a line, the rest of the line is ignored; ``#`` begins a comment.

    Raises ``UsageError`` with the line that has no prefix.
    """
    routes: Prefixes[None] = Prefixes()
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    for number, network in _networks(text, path):
        if network.prefixlen == 0:
            raise UsageError(f"{path}:{number}: a default route is no cluster")
        routes.add(network, None)
    return routes


def _networks(text: str, path: Path) -> Iterator[tuple[int, Network]]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            try:
                yield number, ipaddress.ip_network(words[0], strict=False)
            except ValueError as error:
                raise UsageError(f"{path}:{number}: {error}") from None


def cluster_of(address: Address, routes: Prefixes[None]) -> Network:
    """Return the cluster of an address."""
    match = routes.find(address)
    if match is not None:
        return match[0]
    length = FIXED[address.version]
    return _network(address.version, int(address) >> (address.max_prefixlen - length))


@lru_cache(maxsize=1 << 16)
def _network(version: int, prefix: int) -> Network:
    """Neighbours share a network; to construct it takes as long as three lines of a log."""
    length = FIXED[version]
    if version == 4:
        return ipaddress.IPv4Network((prefix << (32 - length), length))
    return ipaddress.IPv6Network((prefix << (128 - length), length))
