"""What the classifier remembers over a restart: estimates, and how far each log was read."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from adaptc.daemons.classify.classifier import Classifier, Client, Reference, Weights
from adaptc.daemons.classify.estimate import Estimate
from adaptc.daemons.classify.follow import Mark
from adaptc.daemons.classify.prefixes import address_of, cluster_of

SCHEMA = 2
FILE = "classify-state.json"


def remembered(classifier: Classifier, marks: Mapping[str, Mark]) -> dict[str, Any]:
    """Return the state for JSON. Retrievals that go on are not in it: they end with the daemon."""
    return {
        "schema": SCHEMA,
        "now": classifier.now,
        "reference": [classifier.reference.count, *classifier.reference.mean],
        "logs": {path: [mark.device, mark.inode, mark.offset] for path, mark in marks.items()},
        "clients": {
            name: [*_row(client.estimate), client.seen]
            for name, client in classifier.clients.items()
            if client.estimate is not None
        },
        "clusters": {str(network): [*_row(one), seen] for network, (one, seen) in classifier.clusters.items()},
    }


def restore(classifier: Classifier, state: Any) -> dict[str, Mark]:
    """Give a new classifier what was remembered, and return how far the logs were read.

    What is no state of this version is left alone. Clients get the cluster that the routes of today say.
    """
    if not isinstance(state, dict) or state.get("schema") != SCHEMA:
        return {}
    classifier.now = state["now"]
    count, *means = state["reference"]
    classifier.reference = Reference(count, Weights(*means))
    for name, (*row, seen) in state["clients"].items():
        address = address_of(name)
        cluster = cluster_of(address, classifier.routes) if address else None
        classifier.clients[name] = Client(cluster, Estimate(*row), None, seen)
    for text, (*row, seen) in state["clusters"].items():
        classifier.clusters[ipaddress.ip_network(text)] = (Estimate(*row), seen)
    return {path: Mark(*mark) for path, mark in state["logs"].items()}


def _row(one: Estimate) -> list[Any]:
    return [one.first, one.last, one.rtt, one.pages, one.believed, one.against, one.times]
