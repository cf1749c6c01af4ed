"""What is known of a client or a cluster, and how a page retrieval changes it (section 2.1 of the paper).

E <- alpha E + (1 - alpha) x for the delays from the page to its first and to its last embedded object; the first
page sets E. Poor: E_first > 3 s or E_last > 5 s; rich: E_first <= 1 s and E_last <= 2 s; else normal.

Beyond the paper: ``warm_up`` retrievals before a class is believed, ``patience`` retrievals in a row before it
changes, and the round-trip time where the log has it.
"""

from __future__ import annotations

from dataclasses import dataclass

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
