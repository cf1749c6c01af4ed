"""Losses of power, by the simulator of ``benchmarks.power_loss``."""

from __future__ import annotations

import random
import subprocess
import sys

from .bench import Bench
from .ledger import Trial

_COUNT = 10  # losses of a recording
_LISTED = 10


def try_losses(bench: Bench, number: int, chosen: random.Random) -> Trial:
    """Record builds, and judge what losses of power at moments by lot leave of them."""
    strict = ["--strict"] if number % 2 else []
    command = ["-m", "benchmarks.power_loss", "--losses", _COUNT, "--seed", chosen.randrange(1 << 30), *strict]
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
    faults = [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()[-_LISTED:]
    return Trial("losses", number, "strict" if strict else "watched", _COUNT, faults)
