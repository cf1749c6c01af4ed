"""The classifier: requests in, estimates of clients and clusters out. No I/O and no clock: time comes from the log.

A retrieval begins with a page that was sent (200 or 304) and ends at the client's next page or after ``silence``
seconds without a request (the paper is silent on this; 30 s is our choice). Pages on which an action was taken are
not used, since their delays are those of the action. A retrieval without embedded objects says nothing.

The delay to the last object grows with the page. It is scaled to the mean weight of all retrievals, weight being bytes
and 10 kB an object, so that small pages do not make slow clients rich; a retrieval of less than a tenth of the mean
(all of it came from the browser's cache) is not used. Retrievals are weighed once there are ``_REFERENCE`` of them.

The state is mutable: at 150,000 lines a second there is no time to copy it. Estimates are values (``estimate``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from adaptc.runtime.classify.estimate import Estimate, Retrieval, Rules, step
from adaptc.runtime.classify.hits import Hit, container
from adaptc.runtime.classify.prefixes import Network, Prefixes, address_of, cluster_of

OBJECT_WEIGHT = 10_000  # bytes that a request is worth
_LIGHT = 0.1
_SCALES = (0.5, 2.0)
_REFERENCE = 50
_SENT = (200, 304)


@dataclass(slots=True)
class Page:
    """A retrieval that goes on: times in seconds (epoch), weight in bytes."""

    base: float
    first: float
    last: float
    weight: int
    objects: int = 0
    rtt: float | None = None


@dataclass(slots=True)
class Client:
    """A client: its estimate, its cluster, the page that it is loading, and when it was seen last."""

    cluster: Network | None
    estimate: Estimate | None = None
    page: Page | None = None
    seen: float = 0.0


class Verdict(NamedTuple):
    """A retrieval that was used: who, when it began, and the class that is believed after it."""

    client: str
    at: float
    believed: str | None


@dataclass(slots=True)
class Limits:
    """How much is kept: clients, seconds since they were seen last, seconds of silence that end a retrieval."""

    clients: int = 200_000
    expire: float = 86_400.0
    silence: float = 30.0


@dataclass(slots=True)
class Reference:
    """The mean weight of all retrievals so far."""

    weight: float = 0.0
    count: int = 0

    def scale(self, weight: int) -> float | None:
        """Count a retrieval and return the factor for its delay; None when it is too light to tell anything."""
        known = self.count >= _REFERENCE
        self.count += 1
        self.weight += (weight - self.weight) / min(self.count, 10_000)
        if not known:
            return 1.0
        if weight < _LIGHT * self.weight:
            return None
        return min(max(self.weight / weight, _SCALES[0]), _SCALES[1])


@dataclass(slots=True)
class Classifier:
    """Estimates by client and by cluster. ``pages`` restricts the pages that are used; empty means all."""

    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)
    routes: Prefixes[None] = field(default_factory=Prefixes)
    normalise: bool = True
    pages: frozenset[str] = frozenset()
    clients: dict[str, Client] = field(default_factory=dict)
    clusters: dict[Network, tuple[Estimate, float]] = field(default_factory=dict)
    reference: Reference = field(default_factory=Reference)
    now: float = 0.0

    def feed(self, hits: Iterable[Hit]) -> Iterator[Verdict]:
        """Take requests in the order of the log, and yield what the retrievals that ended tell."""
        clients, silence, now = self.clients, self.limits.silence, self.now
        for name, at, path, status, size, acted, rtt in hits:
            if at > now:
                now = self.now = at
            client = clients.get(name)
            kind = container(path)
            if kind is None:
                if client is None or (page := client.page) is None:
                    continue
                if at - max(client.seen, page.last) <= silence:
                    _embed(page, at, size, rtt)
                    client.seen = at
                    continue
            if client is not None and client.page is not None and (ended := self._end(name, client)):
                yield ended
            if kind is not None and status in _SENT:
                client = client or self._new(name)
                client.seen = at
                if kind and not acted and (not self.pages or path in self.pages):
                    client.page = Page(at, at, at, size, rtt=rtt)

    def sweep(self, now: float | None = None) -> Iterator[Verdict]:
        """End the retrievals that are silent at ``now``, and forget who was not seen for long; as often as one likes.

        ``now`` is the last request's time unless the log is known to be read to its end.
        """
        self.now = max(self.now, now or 0.0)
        for name, client in list(self.clients.items()):
            if client.page and self.now - client.seen > self.limits.silence and (ended := self._end(name, client)):
                yield ended
        self._forget()

    def finish(self) -> Iterator[Verdict]:
        """End all retrievals: the log is complete."""
        for name, client in self.clients.items():
            if client.page and (ended := self._end(name, client)):
                yield ended

    def _new(self, name: str) -> Client:
        address = address_of(name)
        client = self.clients[name] = Client(cluster_of(address, self.routes) if address else None)
        return client

    def _end(self, name: str, client: Client) -> Verdict | None:
        page, client.page = client.page, None
        assert page is not None
        if not page.objects:
            return None
        scale = self.reference.scale(page.weight + OBJECT_WEIGHT * page.objects) if self.normalise else 1.0
        if scale is None:
            return None
        seen = Retrieval(max(0.0, page.first - page.base), max(0.0, page.last - page.base) * scale, page.rtt)
        client.estimate = step(client.estimate, seen, self.rules)
        if client.cluster is not None:
            before = self.clusters.get(client.cluster)
            self.clusters[client.cluster] = (step(before[0] if before else None, seen, self.rules), self.now)
        return Verdict(name, page.base, client.estimate.believed)

    def _forget(self) -> None:
        oldest = self.now - self.limits.expire
        for name in [name for name, client in self.clients.items() if client.seen < oldest]:
            del self.clients[name]
        for network in [network for network, (_, seen) in self.clusters.items() if seen < oldest]:
            del self.clusters[network]
        if len(self.clients) > self.limits.clients:  # a tenth more than need be, not to sort at every sweep
            kept = sorted(self.clients.items(), key=lambda item: item[1].seen)
            self.clients = dict(kept[len(kept) - self.limits.clients * 9 // 10 :])
        if len(self.clusters) > self.limits.clients:
            known = sorted(self.clusters.items(), key=lambda item: item[1][1])
            self.clusters = dict(known[len(known) - self.limits.clients * 9 // 10 :])


def _embed(page: Page, at: float, size: int, rtt: float | None) -> None:
    if not page.objects:
        page.first = at
    page.objects += 1
    page.weight += size
    if at > page.last:
        page.last = at
    if rtt is not None:
        page.rtt = rtt if page.rtt is None else min(page.rtt, rtt)  # the least has the least queueing in it
