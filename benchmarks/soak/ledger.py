"""The ledger of a soak test: a line of JSON for each trial, so that it can be resumed, and the table at the end."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from adaptc.core.diagnostics import Busy, UsageError


@dataclass
class Trial:
    """What a trial did: ``count`` kills, limits or documents; ``faults`` are sentences."""

    part: str
    number: int
    kind: str
    count: int
    faults: list[str] = field(default_factory=list)
    notes: dict[str, object] = field(default_factory=dict)


@dataclass
class Ledger:
    """The trials so far, of a seed."""

    file: Path
    seed: int

    def trials(self) -> list[Trial]:
        """Return all trials of the file."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [Trial(**json.loads(line)) for line in lines if line.endswith("}")]

    def run(self, part: str, wanted: int, trial: Callable[[int, random.Random], Trial], until: float) -> None:
        """Run trials of a part until they count ``wanted``, or the time is over; those of the file count."""
        known = [one for one in self.trials() if one.part == part]
        count, number = sum(one.count for one in known), 1 + max((one.number for one in known), default=-1)
        while count < wanted and time.monotonic() < until:
            try:
                result = trial(number, random.Random(f"{self.seed} {part} {number}"))
            except (UsageError, Busy, OSError, sqlite3.Error) as error:
                result = Trial(part, number, "raised", 1, [repr(error)])
            with self.file.open("a") as lines:
                lines.write(json.dumps(asdict(result)) + "\n")
            count, number = count + result.count, number + 1
            print(f"{part} {count}/{wanted} {result.kind}", *result.faults, sep="\n  ", flush=True)

    def table(self) -> str:
        """Return the summary, by part and kind."""
        rows: dict[tuple[str, str], list[Trial]] = {}
        for one in self.trials():
            rows.setdefault((one.part, one.kind), []).append(one)
        lines = ["| part | kind | trials | count | trials with faults |", "| --- | --- | ---: | ---: | ---: |"]
        for (part, kind), trials in sorted(rows.items()):
            faulty = sum(bool(one.faults) for one in trials)
            lines.append(f"| {part} | {kind} | {len(trials)} | {sum(one.count for one in trials)} | {faulty} |")
        return "\n".join(lines)
