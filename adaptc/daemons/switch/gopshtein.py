"""The switching rule exactly as published (Gopshtein and Feitelson, section 4.4.3), for comparison.

Every five seconds: in normal mode the highest rate of new TCP connections is kept as safe, and a CPU above 85 %
switches. Back when three times in a row the CPU is below 85 %, a worker is idle and the rate is below safe; then safe
is reduced by 30 %. Rates are normalised by the connections that a page takes.

Its faults, which ``steady`` does not have: a first sample above the threshold, which has no rate yet, leaves safe at
0 and the rule never returns; nothing keeps it from switching to and fro; and both counters are those of the host.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adaptc.daemons.sensors.panel import Sample
from adaptc.daemons.switch.policy import Decision, Mode, ModeChange


@dataclass(frozen=True, slots=True)
class GopshteinState:
    """Mode, highest rate seen in normal mode (pages a second), and calm samples in a row."""

    mode: Mode = Mode.NORMAL
    safe: float = 0.0
    calm: int = 0


@dataclass(frozen=True, slots=True)
class Gopshtein:
    """The published rule. ``connections`` are those of a page in normal and in optimized mode."""

    threshold: float = 0.85
    times: int = 3
    reduction: float = 0.7
    connections: tuple[float, float] = (2.0, 1.0)

    def start(self) -> GopshteinState:
        """Return the state before the first sample."""
        return GopshteinState()

    def step(self, state: GopshteinState, sample: Sample) -> tuple[GopshteinState, tuple[Decision, ...]]:
        """Return the state after a sample, and what was decided."""
        if sample.cpu is None:
            return state, ()
        return self._normal(state, sample) if state.mode is Mode.NORMAL else self._optimized(state, sample)

    def _normal(self, state: GopshteinState, sample: Sample) -> tuple[GopshteinState, tuple[Decision, ...]]:
        state = replace(state, safe=max(state.safe, (sample.rate or 0.0) / self.connections[0]))
        if (sample.cpu or 0) <= self.threshold:
            return state, ()
        return replace(state, mode=Mode.OPTIMIZED, calm=0), (ModeChange(Mode.OPTIMIZED, "cpu above threshold"),)

    def _optimized(self, state: GopshteinState, sample: Sample) -> tuple[GopshteinState, tuple[Decision, ...]]:
        calm = state.calm + 1 if self._is_calm(state, sample) else 0
        if calm < self.times:
            return replace(state, calm=calm), ()
        after = GopshteinState(Mode.NORMAL, state.safe * self.reduction)
        return after, (ModeChange(Mode.NORMAL, f"calm {self.times} times in a row"),)

    def _is_calm(self, state: GopshteinState, sample: Sample) -> bool:
        rate = (sample.rate or 0.0) / self.connections[1]
        return (sample.cpu or 0) < self.threshold and sample.idle != 0 and rate < state.safe
