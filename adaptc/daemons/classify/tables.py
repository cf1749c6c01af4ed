"""The classes as the server reads them, and the keys under which it looks them up; files are replaced by rename.

===============  =======================================================================================
``classes.txt``  ``KEY CLASS`` a line, see ``class_map``: a RewriteMap of type txt, for hundreds of clients
``classes.dbm``  the same for type dbm, made by Apache's own ``httxt2dbm`` so that its library reads it
``classes.geo``  ``PREFIX CLASS;`` a line, for nginx's geo module; it takes a reload
``classes.mmdb`` networks with ``{"class": CLASS}``, for modules that read MaxMind's format
``c/CLASS/KEY``  marker files for nginx
===============  =======================================================================================
"""

from __future__ import annotations

import ipaddress
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass
from adaptc.daemons.classify.classifier import CLASSES, NORMAL, Classifier, Estimate
from adaptc.daemons.classify.prefixes import Network, address_of
from adaptc.daemons.run_directory import RunDirectory
from adaptc.serve import state_directory


@dataclass(frozen=True, slots=True)
class Table:
    """The classes by address (as logged) and by network."""

    clients: Mapping[str, str]
    networks: Mapping[Network, str]

    def keys(self) -> dict[str, str]:
        """Return the classes by the keys of ``keys``; of two networks with one key, the longer."""
        classes: dict[str, str] = {}
        for network in sorted(self.networks, key=lambda network: network.prefixlen):
            for key in network_keys(network):
                classes[key] = self.networks[network]
        return classes | dict(self.clients)

    def prefixes(self) -> Iterator[tuple[Network, str]]:
        """Yield all networks, those of single addresses included, shorter ones first."""
        classes = dict(self.networks)
        for text, believed in self.clients.items():
            classes[ipaddress.ip_network(text)] = believed
        yield from sorted(classes.items(), key=lambda item: (item[0].version, item[0].prefixlen, item[0]))


def table_of(classifier: Classifier) -> Table:
    """Return the entries that servers need: not clients whose class is that of their network, or normal in none.

    Host names and addresses with a zone have no place in a table.
    """
    networks = {
        network: estimate.believed for network, (estimate, _) in classifier.clusters.items() if estimate.believed
    }
    spelt = {network for network in networks if network_keys(network)}
    clients = {}
    for name, client in classifier.clients.items():
        believed = client.estimate.believed if client.estimate else None
        of_network = networks[client.cluster] if client.cluster in spelt else NORMAL
        if believed and believed != of_network and address_of(name) is not None:
            clients[name] = believed
    return Table(clients, networks)


class ToolMissing(UsageError):
    """A form of the table needs something that is not installed; the text says what."""


def write_text(run: RunDirectory, table: Table) -> None:
    """Write ``classes.txt``. Raises ``OSError``."""
    run.write("classes.txt", state_directory.class_map(table.keys()), keep_equal=True)


def write_dbm(run: RunDirectory, table: Table) -> None:
    """Write ``classes.dbm`` by httxt2dbm, in Apache's default format. Raises ``OSError``, ``ToolMissing``."""
    text = run.path / ".classes.txt"
    text.write_bytes(state_directory.class_map(table.keys()))
    try:
        state_directory.make_dbm(text, run.path / "classes.dbm")
    except FileNotFoundError:
        raise ToolMissing("dbm needs httxt2dbm (Debian: package apache2-utils)") from None
    except subprocess.CalledProcessError as error:
        raise ToolMissing(f"httxt2dbm failed: {error.stderr.decode('utf-8', 'replace').strip()}") from None
    finally:
        text.unlink(missing_ok=True)


def write_geo(run: RunDirectory, table: Table) -> None:
    """Write ``classes.geo``. Raises ``OSError``."""
    lines = "".join(f"{network} {believed};\n" for network, believed in table.prefixes())
    run.write("classes.geo", lines.encode("ascii"), keep_equal=True)


def write_mmdb(run: RunDirectory, table: Table) -> None:
    """Write ``classes.mmdb`` by the library mmdb-writer. Raises ``OSError``, ``ToolMissing``."""
    try:
        from mmdb_writer import MMDBWriter
        from netaddr import IPSet
    except ImportError:
        raise ToolMissing("mmdb needs the library mmdb-writer: pip install 'adaptc[mmdb]'") from None
    writer = MMDBWriter(ip_version=6, ipv4_compatible=True, database_type="adaptc-classes")
    for network, believed in table.prefixes():
        writer.insert_network(IPSet([str(network)]), {"class": believed})
    temporary = run.path / ".classes.mmdb"
    writer.to_db_file(str(temporary))
    temporary.chmod(0o644)
    os.replace(temporary, run.path / "classes.mmdb")


def write_markers(run: RunDirectory, table: Table) -> None:
    """Make ``c/CLASS/KEY`` what the table says: new markers first, so that no client is without. Raises ``OSError``."""
    keys = table.keys()
    state_directory.write_markers(
        {run.make(f"c/{name}"): {key for key, believed in keys.items() if believed == name} for name in CLASSES}
    )


WRITERS: dict[str, Callable[[RunDirectory, Table], None]] = {
    "txt": write_text,
    "dbm": write_dbm,
    "geo": write_geo,
    "mmdb": write_mmdb,
    "markers": write_markers,
}


def empty(run: RunDirectory) -> None:
    """Empty the tables that servers read at every request. Raises ``OSError``, ``ToolMissing``."""
    for form, name in (("txt", "classes.txt"), ("markers", "c"), ("dbm", "classes.dbm")):
        if (run.path / name).exists():
            WRITERS[form](run, Table({}, {}))


_MOST = 256


@lru_cache(maxsize=1 << 18)
def network_keys(network: Network) -> tuple[str, ...]:
    """Return the keys of a network; none for one that is longer than the longest key, or far shorter."""
    lengths = (16, 24) if network.version == 4 else (48, 64)
    longer = [length for length in lengths if length >= network.prefixlen]
    if not longer or 2 ** (longer[0] - network.prefixlen) > _MOST:
        return ()
    return tuple(key for subnet in network.subnets(new_prefix=longer[0]) for key in _spellings(subnet))


def _spellings(network: Network) -> Iterator[str]:
    if isinstance(network, ipaddress.IPv4Network):
        groups = str(network.network_address).split(".")
        yield ".".join(groups[: network.prefixlen // 8])
        return
    groups = [f"{int(group, 16):x}" for group in network.network_address.exploded.split(":")]
    groups = groups[: network.prefixlen // 16]
    yield "".join(f"{group}:" for group in groups)
    # RFC 5952 writes the longest run of zeros as "::": an address may have it where the network ends
    shortened = list(groups)
    while shortened and shortened[-1] == "0":
        shortened.pop()
    if len(shortened) < len(groups):
        yield "".join(f"{group}:" for group in shortened) + ":"


def changes(before: Table, after: Table, classifier: Classifier) -> Iterator[dict[str, Any]]:
    """Yield a record for each client and network whose class is another one: ``rule`` and ``inputs``.

    A client without a class of its own (``now`` is None) has that of its network, or was forgotten.
    """
    clients = {name: client.estimate for name, client in classifier.clients.items()}
    yield from _changes(before.clients, after.clients, clients, classifier)
    networks = {str(network): estimate for network, (estimate, _) in classifier.clusters.items()}
    yield from _changes(_spelt(before), _spelt(after), networks, classifier)


def _spelt(table: Table) -> dict[str, str]:
    return {str(network): believed for network, believed in table.networks.items()}


def _changes(
    before: Mapping[str, str],
    after: Mapping[str, str],
    estimates: Mapping[str, Estimate | None],
    classifier: Classifier,
) -> Iterator[dict[str, Any]]:
    for name in [*after, *(before.keys() - after.keys())]:
        was, now, estimate = before.get(name), after.get(name), estimates.get(name)
        if was != now:
            seen = _seen(estimate) if estimate else {}
            yield {"rule": _rule(now, estimate, classifier), "inputs": {"who": name, "was": was, "now": now, **seen}}


def _rule(now: str | None, estimate: Estimate | None, classifier: Classifier) -> str:
    if estimate is None:
        return "forgotten"
    if now is None:
        return "as its network"
    rules = classifier.rules
    if rules.verdict(estimate.first, estimate.last, estimate.rtt) != now:
        return f"stays until {rules.patience} retrievals in a row say otherwise"
    return rules.reason(estimate)


def _seen(estimate: Estimate) -> dict[str, Any]:
    smoothed = {"first": estimate.first, "last": estimate.last, "rtt": estimate.rtt}
    rounded = {name: round(value, 3) for name, value in smoothed.items() if value is not None}
    return {**rounded, "pages": estimate.pages}
