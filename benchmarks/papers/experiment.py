"""What a paper's experiments are, and where their results are kept.

An experiment yields rows, which become a CSV file. A JSON file next to it has what the rows depend on, version and
parameters (seeds among them), so that what was measured with the same is not measured again. The version of an
experiment goes up when its code would give other rows.
"""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.papers.blocks import Block, Published, Value

Row = Mapping[str, Any]
Parameters = Mapping[str, Any]


class Unavailable(Exception):
    """This machine lacks what an experiment needs."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A function of parameters that yields rows, all with the same columns.

    ``quick`` replaces parameters for a run of seconds; None means that the experiment needs a real server and the
    time of the wall, and is left out of quick runs.
    """

    name: str
    run: Callable[[Parameters], Iterable[Row]]
    parameters: Parameters
    quick: Parameters | None = None
    version: int = 1


@dataclass(frozen=True, slots=True)
class Section:
    """An experiment on the page: ``present`` makes of its rows, and of what the paper printed, what is shown."""

    experiment: Experiment
    present: Callable[[Sequence[Row], Published], Sequence[Block]]


@dataclass(frozen=True, slots=True)
class Part:
    """A paper: its name on the command line, and its sections in the order of the page.

    ``NAME.toml`` has its texts (title, citation, what is missing; for each experiment a title, and why it differs), and
    what the paper printed.
    """

    name: str
    sections: Sequence[Section]


@dataclass(frozen=True, slots=True)
class Results:
    """The directory with the CSV files of all parts."""

    place: Path

    def csv(self, part: str, experiment: Experiment) -> Path:
        """Return the file with the rows of an experiment."""
        return self.place / f"{part}-{experiment.name}.csv"

    def is_current(self, part: str, experiment: Experiment, parameters: Parameters) -> bool:
        """Return whether the rows were made by this version with these parameters."""
        origin = self.origin(part, experiment)
        wanted = json.loads(json.dumps(_recipe(experiment, parameters)))
        return self.csv(part, experiment).exists() and {key: origin.get(key) for key in wanted} == wanted

    def origin(self, part: str, experiment: Experiment) -> dict[str, Any]:
        """Return what is known of the rows: version, parameters, date, load of the machine; empty without rows."""
        path = self.csv(part, experiment).with_suffix(".json")
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    def measure(self, part: str, experiment: Experiment, parameters: Parameters) -> None:
        """Run an experiment and store its rows; a run that is killed leaves those of before. Raises ``Unavailable``."""
        before, started = os.getloadavg()[0], time.monotonic()
        rows = list(experiment.run(parameters))
        if not rows:
            raise Unavailable("the experiment yielded no rows")
        origin = {
            **_recipe(experiment, parameters),
            "date": time.strftime("%Y-%m-%d"),
            "seconds": round(time.monotonic() - started),
            "cores": os.cpu_count(),
            "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        }
        self.place.mkdir(parents=True, exist_ok=True)
        path = self.csv(part, experiment)
        path.with_suffix(".json").unlink(missing_ok=True)
        with _unfinished(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: _written(value) for key, value in row.items()} for row in rows)
        _unfinished(path).replace(path)
        path.with_suffix(".json").write_text(json.dumps(origin, indent=1) + "\n", "utf-8")

    def rows(self, part: str, experiment: Experiment) -> list[Row]:
        """Return the stored rows, with numbers where there are numbers; empty without."""
        path = self.csv(part, experiment)
        if not path.exists():
            return []
        with path.open(encoding="utf-8", newline="") as file:
            return [{key: _read(text) for key, text in row.items()} for row in csv.DictReader(file)]


def _recipe(experiment: Experiment, parameters: Parameters) -> dict[str, Any]:
    return {"version": experiment.version, "parameters": dict(parameters)}


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}")


def _written(value: Value) -> Value:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _read(text: str) -> Value:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text
