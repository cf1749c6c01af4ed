"""What changed between two tables, and why: for the audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adaptc.daemons.classify.classifier import Classifier
from adaptc.daemons.classify.estimate import Estimate
from adaptc.daemons.classify.tables import Table


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
