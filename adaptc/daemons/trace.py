"""Recorded samples of sensors and of loads: a line of JSON each, which the rules of a daemon can be replayed on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import MISSING, asdict, dataclass, fields
from adaptc.daemons.control.machine import Busy, Load, Machine, MachineState, step
from adaptc.daemons.sensors.panel import Sample, sample_of


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Append a sample to a trace. Raises ``OSError``."""
    with path.open("a", encoding="ascii") as file:
        file.write(json.dumps(record) + "\n")


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the samples of a trace, each with its file and line. Raises ``UsageError``."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{path}:{number}", _record(line, f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error


def _record(line: str, place: str) -> dict[str, Any]:
    try:
        record: Any = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{place}: not JSON: {error}") from None
    if not isinstance(record, dict) or not isinstance(record.get("at"), int | float):
        raise UsageError(f"{place}: a sample is an object with a number at")
    return record


def read_trace(path: Path) -> Iterator[Sample]:
    """Yield the samples of the sensors in a trace of ``adaptc switch``. Raises ``UsageError``."""
    for place, record in read_records(path):
        try:
            yield sample_of(record)
        except TypeError as error:
            raise UsageError(f"{place}: {error}") from None


# ---- the loads of sites

LOAD_FIELDS = tuple(field.name for field in fields(Load) if field.default is MISSING)


@dataclass(frozen=True, slots=True)
class Loads:
    """A sample: seconds on a clock that only goes forward, loads by site, and the busy share of the CPUs, if known.

    ``own`` tells whether that is the share of the server's own processes.
    """

    at: float
    sites: Mapping[str, Load]
    cpu: float | None = None
    own: bool = False

    def record(self) -> dict[str, Any]:
        """Return the sample for JSON."""
        cpu = {} if self.cpu is None else {"cpu": self.cpu, "own": self.own}
        return {"at": self.at, **cpu, "sites": {name: asdict(load) for name, load in self.sites.items()}}


def read_loads(path: Path, names: Collection[str]) -> Iterator[Loads]:
    """Yield the samples of a trace that has these sites. Raises ``UsageError`` with the line of what is no sample."""
    for place, record in read_records(path):
        sites, cpu = record.get("sites"), record.get("cpu")
        if not isinstance(sites, dict) or set(sites) != set(names):
            raise UsageError(f"{place}: the sites of a sample must be {', '.join(names)}")
        if not (cpu is None or _is_number(cpu)):
            raise UsageError(f"{place}: cpu must be a number")
        yield Loads(record["at"], {name: _load(load, f"{place}: {name}") for name, load in sites.items()}, cpu,
                    bool(record.get("own")))  # fmt: skip


def _load(record: Any, place: str) -> Load:
    if not isinstance(record, dict) or not all(_is_number(record.get(name)) for name in LOAD_FIELDS):
        raise UsageError(f"{place}: a load has the numbers {', '.join(LOAD_FIELDS)}")
    seconds: Any = record.get("seconds")
    values = {name: float(record[name]) for name in LOAD_FIELDS}
    return Load(**values, seconds=float(seconds) if _is_number(seconds) else None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and value >= 0


def replay(machine: Machine, samples: Iterator[Loads]) -> Iterator[tuple[Loads, MachineState]]:
    """Yield each sample with the state after it. The loads stay what the m of the recording made them."""
    state = machine.start()
    for sample in samples:
        latencies = [load.seconds for load in sample.sites.values() if load.seconds is not None]
        busy = Busy(sample.cpu, sample.own, latency=latencies[0] if latencies else None)
        state = step(machine, state, sample.sites, busy)
        yield sample, state
