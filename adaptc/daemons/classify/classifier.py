"""The classifier: requests in, estimates of clients and clusters out. No I/O and no clock: time comes from the log.

A retrieval begins with a page that was sent (200 or 304) and ends at the client's next page or after ``silence``
seconds without a request (the paper is silent on this; 30 s is our choice). Pages on which an action was taken are
not used, since their delays are those of the action. A retrieval without embedded objects says nothing.

Delays grow with the page. Each is scaled to what a mean retrieval carries until then, in bytes and 10 kB a request, so
that small pages do not make slow clients rich: until the first object is asked for, the page; until the last one, the
objects too, but for those that are still on their way. A retrieval of less than a tenth of the mean (all of it came
from the browser's cache) is not used. Retrievals are weighed once there are ``_REFERENCE`` of them.

The state is mutable: at 150,000 lines a second there is no time to copy it. Estimates are values (``Estimate``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from adaptc.core.values import dataclass, field
from adaptc.daemons.classify.hits import Hit, container
from adaptc.daemons.classify.prefixes import Network, Prefixes, address_of, cluster_of

# ---- what is known of a client or a cluster, and how a page retrieval changes it (section 2.1 of the paper)
#
# E <- alpha E + (1 - alpha) x for the delays from the page to its first and to its last embedded object; the first
# page sets E. Poor: E_first > 3 s or E_last > 5 s; rich: E_first <= 1 s and E_last <= 2 s; else normal.
#
# Beyond the paper: ``warm_up`` retrievals before a class is believed, ``patience`` retrievals in a row before it
# changes, and the round-trip time where the log has it.

POOR, NORMAL, RICH = "poor", "normal", "rich"
CLASSES = (POOR, NORMAL, RICH)


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds in seconds, weight of the past, and how many retrievals it takes. The paper: 1 and 1."""

    alpha: float = 0.7
    poor_first: float = 3.0
    poor_last: float = 5.0
    rich_first: float = 1.0
    rich_last: float = 2.0
    poor_rtt: float = 0.6
    rich_rtt: float = 0.2
    warm_up: int = 2
    patience: int = 2

    def verdict(self, first: float, last: float, rtt: float | None) -> str:
        """Return the class for such delays; an unknown round-trip time speaks neither for nor against.

        ``reason`` says it in words.
        """
        if first > self.poor_first or last > self.poor_last or (rtt or 0) > self.poor_rtt:
            return POOR
        if first <= self.rich_first and last <= self.rich_last and (rtt or 0) <= self.rich_rtt:
            return RICH
        return NORMAL

    def reason(self, estimate: Estimate) -> str:
        """Return the rule that an estimate falls under, in words: what makes it poor, or keeps it from being rich."""
        smoothed = {"first": estimate.first, "last": estimate.last, "rtt": estimate.rtt or 0.0}
        for believed in (POOR, RICH):
            for name, value in smoothed.items():
                limit = getattr(self, f"{believed}_{name}")
                if value > limit:
                    return f"{name} > {limit:g} s"
        return "first, last and rtt are short"


AS_PUBLISHED = Rules(warm_up=1, patience=1, poor_rtt=float("inf"), rich_rtt=float("inf"))


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One page: seconds to its first and last embedded object, and the round-trip time if known."""

    first: float
    last: float
    rtt: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """Smoothed delays (s), number of retrievals, the class that is believed (None: not yet), and what speaks against.

    ``against`` is the class of the last ``times`` retrievals in a row where that is another one.
    """

    first: float
    last: float
    rtt: float | None
    pages: int
    believed: str | None
    against: str = ""
    times: int = 0


def step(before: Estimate | None, seen: Retrieval, rules: Rules) -> Estimate:
    """Return the estimate after a retrieval."""
    if before is None:
        first, last, rtt, pages = seen.first, seen.last, seen.rtt, 1
    else:
        first = _mixed(rules.alpha, before.first, seen.first)
        last = _mixed(rules.alpha, before.last, seen.last)
        rtt = _mixed_rtt(rules.alpha, before.rtt, seen.rtt)
        pages = before.pages + 1
    verdict = rules.verdict(first, last, rtt)
    if before is None or before.believed is None:
        return Estimate(first, last, rtt, pages, verdict if pages >= rules.warm_up else None)
    if verdict == before.believed:
        return Estimate(first, last, rtt, pages, verdict)
    times = before.times + 1 if verdict == before.against else 1
    if times >= rules.patience:
        return Estimate(first, last, rtt, pages, verdict)
    return Estimate(first, last, rtt, pages, before.believed, verdict, times)


def _mixed(alpha: float, before: float, now: float) -> float:
    return alpha * before + (1 - alpha) * now


def _mixed_rtt(alpha: float, before: float | None, now: float | None) -> float | None:
    if before is None or now is None:
        return before if now is None else now
    return _mixed(alpha, before, now)


# ---- retrievals

OBJECT_WEIGHT = 10_000  # bytes that a request is worth
_IN_FLIGHT = 4  # objects that browsers ask for at once, at least
_LIGHT = 0.1
_SCALES = (1 / 3, 3.0)  # the delay of a fast line is round trips, and does not grow with the page
_REFERENCE = 50
_SENT = (200, 304)


@dataclass(slots=True)
class Page:
    """A retrieval that goes on: times in seconds (epoch), bytes of the page itself and of its objects."""

    base: float
    first: float
    last: float
    container: int
    embedded: int = 0
    objects: int = 0
    rtt: float | None = None

    def embed(self, at: float, size: int, rtt: float | None) -> None:
        """Count an object that was asked for."""
        if not self.objects:
            self.first = at
        if at > self.last:
            self.last = at
        self.objects += 1
        self.embedded += size
        if rtt is not None and (self.rtt is None or rtt < self.rtt):
            self.rtt = rtt  # the least has the least queueing in it

    @property
    def weights(self) -> Weights:
        """What was carried, a request being ``OBJECT_WEIGHT``."""
        first = self.container + OBJECT_WEIGHT
        embedded = self.embedded + OBJECT_WEIGHT * self.objects
        arrived = 1 - min(_IN_FLIGHT, self.objects) / self.objects
        return Weights(first, first + arrived * embedded, self.container + embedded)


class Weights(NamedTuple):
    """Bytes carried until the first object was asked for, until the last one was, and in all."""

    first: float
    last: float
    whole: float


NOTHING = Weights(0.0, 0.0, 0.0)


@dataclass(slots=True)
class Client:
    """A client: its estimate, its cluster, the page that it is loading, and when it was seen last."""

    cluster: Network | None
    estimate: Estimate | None = None
    page: Page | None = None
    seen: float = 0.0


class Verdict(NamedTuple):
    """A retrieval that counted: the client, when it began, and the class after it."""

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
    """The mean weights of all retrievals so far."""

    count: int = 0
    mean: Weights = NOTHING

    def scales(self, weights: Weights) -> tuple[float, float] | None:
        """Count a retrieval and return the factors for its delays; None when it is too light to tell anything."""
        known = self.count >= _REFERENCE
        self.count += 1
        share = 1 / min(self.count, 10_000)
        self.mean = Weights(*(before + share * (now - before) for before, now in zip(self.mean, weights, strict=True)))
        if not known:
            return 1.0, 1.0
        if weights.whole < _LIGHT * self.mean.whole:
            return None
        return _clipped(self.mean.first / weights.first), _clipped(self.mean.last / weights.last)


def _clipped(scale: float) -> float:
    return min(max(scale, _SCALES[0]), _SCALES[1])


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
    swept: float = 0.0

    def feed(self, hits: Iterable[Hit]) -> Iterator[Verdict]:
        """Take requests in the order of the log, and yield the verdicts of the retrievals that ended."""
        known, silence, now = self.clients.get, self.limits.silence, self.now
        for name, at, path, status, size, acted, rtt in hits:
            if at > now:
                now = self.now = at
            client = known(name)
            kind = container(path)
            if kind is None:
                if client is None or (page := client.page) is None:
                    continue
                if -silence <= at - page.last <= silence:  # a clock that was set ends a retrieval
                    page.embed(at, size, rtt)
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
        """End the retrievals that are silent at ``now``, and forget clients that were not seen for long.

        ``now`` is the last request's time unless the log is known to be read to its end. It may be set back.
        """
        if now is not None:
            if now < self.swept - self.limits.silence:
                self.now -= self.swept - now
            self.swept = now
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
        scales = self.reference.scales(page.weights) if self.normalise else (1.0, 1.0)
        if scales is None:
            return None
        first, last = max(0.0, page.first - page.base) * scales[0], max(0.0, page.last - page.base) * scales[1]
        seen = Retrieval(first, last, page.rtt)
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
            recent = sorted(self.clients.items(), key=lambda item: item[1].seen)
            self.clients = dict(recent[len(recent) - self.limits.clients * 9 // 10 :])
        if len(self.clusters) > self.limits.clients:
            known = sorted(self.clusters.items(), key=lambda item: item[1][1])
            self.clusters = dict(known[len(known) - self.limits.clients * 9 // 10 :])
