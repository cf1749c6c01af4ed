"""The directory of a soak test: a place to try things in, the truth, and the time that commands take."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .ledger import Trial
from .process import kill_at, start
from .site import Place, Truth

_WHO = ("group", "group", "parent", "worker")
_FIRST = 1.5  # seconds that a command may take before it was timed
_LEAST = 0.1  # seconds in which nothing but imports happens


@dataclass
class Bench:
    """``seconds`` are the times that commands took, by kind: kills come at any moment before."""

    root: Path
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.truth = Truth(self.root / "truth")
        self.place = Place(self.root / "trial")
        self.log = self.root / "trial.log"

    def clear(self) -> None:
        """Make the place an empty docroot."""
        shutil.rmtree(self.place.root, ignore_errors=True)
        self.place.docroot.mkdir(parents=True)

    def build_words(self) -> list[object]:
        """Return the command that builds the place in two processes."""
        return self.words("build", self.place.docroot, "-j", 2)

    def words(self, command: str, *more: object) -> list[object]:
        """Return a command about the place."""
        return [command, "-q", "--config", self.place.settings, "-o", self.place.output, *more]

    def kill(self, words: Sequence[object], chosen: random.Random, trial: Trial) -> None:
        """Run a command and kill it at a moment by lot."""
        most, began = self.seconds.get(trial.kind, _FIRST), time.monotonic()
        process = start(words, self.log)
        who = kill_at(process, chosen.uniform(_LEAST, most), chosen.choice(_WHO))
        self.seconds[trial.kind] = time.monotonic() - began if who == "over before" else most * 1.05
        trial.count += 1
        self.read_log(who, process.returncode, trial)

    def read_log(self, who: str, code: int | None, trial: Trial) -> None:
        """Note how a command ended; a traceback is a fault, and so is one that hangs."""
        trial.notes[f"kill {trial.count}"] = f"{who} {code}"
        printed = self.log.read_text(errors="replace")
        if who == "hangs":
            trial.faults.append("it hangs after a worker was killed")
        if "Traceback" in printed or "this is a bug" in printed.lower():
            trial.faults.append(f"it printed {printed[-600:]!r}")

    def keep(self, trial: Trial) -> None:
        """Keep the place of a trial with faults."""
        if trial.faults:
            target = self.root / "faults" / f"{trial.part}-{trial.number}"
            shutil.copytree(self.place.root, target, symlinks=True, dirs_exist_ok=True)
            shutil.copy(self.log, target)
