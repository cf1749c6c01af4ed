"""What page views cost a real Apache, level by level, and what the load model predicts of it.

A site is built, and the best coding of each file put into a docroot of its own for each level. A view opens a
connection, requests the page and what a browser loads with it, and closes the connection, as a visitor with an empty
cache does. The cost is the CPU time of all threads of the server (/proc/PID/task/*/schedstat). Levels are measured in
turn, and of each page the least of several rounds counts. Least squares over pages and levels give the
coefficients: a for a request and b for a kilobyte, with and without p for a view. Needs Apache, and numpy.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
from serving import cpu_ns

from tests.servers import web

import adaptc
from adaptc.report.manifest import read_manifest

LEVELS = ("full", "lossless", "moderate", "extreme", "text")
VIEWS = 20


@dataclass(frozen=True)
class View:
    """A page at a level: its files, the page first, and their kilobytes as sent."""

    level: str
    files: tuple[str, ...]
    kilobytes: float


def publish(output: Path, docroot: Path, target: Path) -> None:
    """Put the smallest representation of each file at each level into ``target/LEVEL``."""
    for path, resource in read_manifest(output).resources.items():
        for level, files in resource.files.items():
            coding = min(files, key=lambda coding: files[coding].size, default="id")
            suffix = f".{coding}" if coding in ("webp", "avif") else ""
            source = output / level / coding / f"{path}{suffix}"
            copy = target / level / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source if source.exists() else docroot / path, copy)


def views(output: Path, target: Path, count: int) -> list[View]:
    """Return views of up to ``count`` pages, spread over the site, at all levels."""
    rows = read_manifest(output).values["resources"]
    pages = [row for row in rows if all("page" in row["levels"].get(level, {}) for level in LEVELS)]
    chosen = pages[:: max(1, len(pages) // count)][:count]
    return [_view(row, level, rows, target) for row in chosen for level in LEVELS]


def _view(row: Mapping[str, object], level: str, rows: Sequence[Mapping[str, object]], target: Path) -> View:
    files, pending = dict[str, None](), [row]
    while pending:
        item = pending.pop()
        path = str(item["path"])
        if path in files or not (target / level / path).exists():
            continue
        files[path] = None
        if item is row or item["media_type"] == "text/css":
            at_level = item["levels"][level]  # type: ignore[index]
            pending += [rows[number] for number in at_level.get("references", item.get("references", ()))]
    sizes = sum((target / level / path).stat().st_size for path in files)
    return View(level, tuple(files), sizes / 1000)


def cost(server: web.Server, view: View) -> float:
    """Return microseconds of CPU a view."""
    paths = [quote(f"/{view.level}/{path}") for path in view.files]
    before = cpu_ns(server.pid)
    for _ in range(VIEWS):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        for path in paths:
            connection.request("GET", path)
            connection.getresponse().read()
        connection.close()
    return (cpu_ns(server.pid) - before) / VIEWS / 1000


def measure(site: Path, count: int, rounds: int) -> list[tuple[View, float]]:
    """Return views of a site and their costs."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        output, target = Path(scratch) / "opt", Path(scratch) / "docroot"
        settings = {"docroot": site.absolute(), "output": output, "build.effort": "fast", "build.levels": LEVELS}
        adaptc.build(adaptc.load_config(None, settings))
        publish(output, site, target)
        Path(scratch).chmod(0o755)
        chosen = views(output, target, count)
        server = stack.enter_context(web.apache(Path(scratch) / "server", target, "", override="None"))
        costs = [min(times) for times in zip(*([cost(server, v) for v in chosen] for _ in range(rounds)), strict=True)]
        return list(zip(chosen, costs, strict=True))


def fit(measured: Sequence[tuple[View, float]], *, fixed: bool) -> tuple[float, float, float]:
    """Return p, a and b in microseconds; without ``fixed`` p is 0. Each view weighs by its cost."""
    rows = np.array([[float(fixed), len(view.files), view.kilobytes] for view, _ in measured])
    weights = 1 / np.array([taken for _, taken in measured])
    solution = np.linalg.lstsq(rows * weights[:, None], np.ones(len(rows)), rcond=None)[0]
    return tuple(float(value) for value in solution)  # type: ignore[return-value]


def factors(measured: Sequence[tuple[View, float]], model: tuple[float, float, float]) -> dict[str, float]:
    """Return the capacity of each level by a model, against the first level."""
    p, a, b = model
    means = {
        level: statistics.mean(
            p + a * len(view.files) + b * view.kilobytes for view, _ in measured if view.level == level
        )
        for level in LEVELS
    }
    return {level: means["full"] / mean for level, mean in means.items()}


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for site in given.sites:
        measured = measure(site, given.pages, given.rounds)
        both, plain = fit(measured, fixed=True), fit(measured, fixed=False)
        print(f"{site.name}: p, a, b = {both[0]:.1f}, {both[1]:.1f}, {both[2]:.3f} us; without p {plain}")
        means = {level: statistics.mean(us for view, us in measured if view.level == level) for level in LEVELS}
        models = {"fit": both, "fit without p": plain, "cost.*": DEFAULTS, "cost.* without p": (0.0, *DEFAULTS[1:])}
        table = {name: factors(measured, model) for name, model in models.items()}
        for level in LEVELS:
            cells = "  ".join(f"{name} {of[level]:.2f}" for name, of in table.items())
            print(f"  {level:9} {means[level]:8.1f} us  measured {means['full'] / means[level]:.2f}  {cells}")


COST = adaptc.load_config(None).cost
DEFAULTS = (1000 * COST.view_ms, 1000 * COST.request_ms, 1000 * COST.kilobyte_ms)

if __name__ == "__main__":
    main()
