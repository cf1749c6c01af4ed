"""What a proof found: requests and faults by mode and group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from adaptc.core.diagnostics import Diagnostic

KEPT = 1_000  # diagnostics of one id that are kept; all are counted


@dataclass(slots=True)
class Tally:
    """Counts by (mode, group), and the diagnostics."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    ids: Counter[str] = field(default_factory=Counter)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, mode: str, group: str, found: Iterable[Diagnostic], requests: int = 1) -> None:
        """Count requests and what was wrong with their answers."""
        self.requests[mode, group] += requests
        for one in found:
            self.faults[mode, group] += 1
            self.ids[one.id] += 1
            if self.ids[one.id] <= KEPT:
                self.diagnostics.append(one)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes in the order in which they came."""
        return tuple(dict.fromkeys(mode for mode, _ in self.requests))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups in the order in which they came."""
        return tuple(dict.fromkeys(group for _, group in self.requests))

    def of_mode(self, mode: str) -> tuple[int, int]:
        """Return the requests and faults of a mode."""
        return (
            sum(count for (name, _), count in self.requests.items() if name == mode),
            sum(count for (name, _), count in self.faults.items() if name == mode),
        )

    @property
    def total(self) -> tuple[int, int]:
        """All requests and all faults."""
        return self.requests.total(), self.faults.total()
