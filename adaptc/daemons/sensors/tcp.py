"""TCP connections that were opened by others: ``Tcp: PassiveOpens`` of /proc/net/snmp.

The counter is that of the network namespace of the process that is read: all servers of the host, unless the web
server has a namespace of its own. Then name a process of it: /proc/PID/net/snmp.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


def parse_snmp(text: str) -> int:
    """Return PassiveOpens of /proc/net/snmp (RFC 1213, tcpPassiveOpens). Raises ``ValueError``."""
    rows = [line.split() for line in text.splitlines() if line.startswith("Tcp:")]
    if len(rows) < 2 or "PassiveOpens" not in rows[0]:
        raise ValueError("/proc/net/snmp has no PassiveOpens")
    return int(rows[1][rows[0].index("PassiveOpens")])


@dataclass(frozen=True, slots=True)
class PassiveOpens:
    """Connections opened so far in a network namespace."""

    path: Path = Path("/proc/net/snmp")

    def read(self) -> int:
        """Return the counter. Raises ``OSError`` and ``ValueError``."""
        return parse_snmp(self.path.read_text("ascii"))
