"""The utilization controller on a real Apache: a step of load, and Figures 12, 14, 15 and 16 of its paper.

Apache runs in a control group of its own (see mode_switch.py), with virtual hosts whose levels come from buckets of
client addresses, as `adaptc emit` has it. It compresses what it sends, which makes a kB cost something on a modern
machine. First the costs of a request, a kB and a rejection are measured. Then sizes are scaled so that a kB costs
against a request what it cost on the server of Abdelzaher, Shin and Bhatti 2002, and the share of the CPU so that a
request costs 1.604 ms as there. Guarantees and bound are theirs, and rates too but for those that are rejected: a
rejection costs Apache today as much as a small file. Each site has 250 visitors, with addresses and connections of
their own. Needs what mode_switch.py needs; on a busy machine start it with `nice -n -10`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from control_scenarios import SCENARIOS, Scenario
from crowd import Crowd
from mode_switch import CONFIGURATION, GROUPS, MODULES, NAME, apache

PAPER_REQUEST, PAPER_KILOBYTE = 1.604, 0.063  # ms (section 7.2 there)
PAGE, DEGRADED = 32, 4  # kB
BOUND = 0.58

HOST = """
<VirtualHost 127.0.0.1:{{port}}>
    ServerName {name}
    RewriteEngine On
    RewriteMap buckets txt:{{folder}}/{name}/run/buckets.txt
    RewriteCond {{folder}}/{name}/run/opt.do !-f
    RewriteRule ^ {{folder}}/{name}/full%{{{{REQUEST_URI}}}} [L]
    RewriteCond expr "md5(%{{{{REMOTE_ADDR}}}}) =~ /^(..)/"
    RewriteRule ^ - [E=level:${{{{buckets:%1|full}}}}]
    RewriteCond %{{{{ENV:level}}}} =0
    RewriteRule ^ - [R=503,L]
    RewriteRule ^ {{folder}}/{name}/%{{{{ENV:level}}}}%{{{{REQUEST_URI}}}} [L]
    LogFormat "%h %l %u %t \\"%r\\" %>s %O" common
    CustomLog {{folder}}/{name}.log common
    SetOutputFilter DEFLATE
</VirtualHost>
"""


# ---- the server


@dataclass(frozen=True)
class Costs:
    """CPU milliseconds of a request, a kB, a rejection."""

    request: float
    kilobyte: float
    rejection: float


def write_sites(folder: Path, scenario: Scenario, scale: float) -> None:
    (folder / "site").mkdir(exist_ok=True)
    for name in scenario.sites:
        levels = []
        for number, (level, size) in enumerate((("text", DEGRADED), ("full", PAGE)), 1):
            octets = round(size * scale * 1000)
            root = folder / name / level
            root.mkdir(parents=True, exist_ok=True)
            (root / "a.bin").write_bytes(os.urandom(octets))
            (root / "small.bin").write_bytes(b"x")
            mean = {"requests": 1, "bytes": octets, "transfer": octets}
            levels.append({"name": level, "number": number, "title": "", "pages": 1, "mean": mean})
        (folder / name / "manifest.json").write_text(json.dumps({"schema": 1, "levels": levels, "resources": []}))
        (folder / name / "run").mkdir(exist_ok=True)
        (folder / name / "run/buckets.txt").touch()
        (folder / f"{name}.log").touch()
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


def cpu_seconds() -> float:
    return int((GROUPS / "cpuacct" / NAME / "cpuacct.usage").read_text()) / 1e9


async def measured(port: int, folder: Path, site: str) -> Costs:
    """Measure the costs at 200 requests a second, for each kind the median of five seconds."""
    crowd, run = Crowd(port, [site]), folder / site / "run"
    kilobytes = (folder / site / "full/a.bin").stat().st_size / 1000

    async def cost(path: str) -> float:
        await crowd.second({site: 250}, path)
        found = []
        for _ in range(5):
            before = cpu_seconds()
            await crowd.second({site: 200}, path)
            found.append((cpu_seconds() - before) / 200 * 1000)
        return statistics.median(found)

    small, large = await cost("/small.bin"), await cost("/a.bin")
    (run / "buckets.txt").write_text("".join(f"{number:02x} 0\n" for number in range(256)))
    (run / "opt.do").touch()
    rejection = await cost("/a.bin")
    (run / "opt.do").unlink()
    return Costs(small, (large - small) / kilobytes, rejection)


def configuration(scenario: Scenario, costs: Costs, scale: float, folder: Path) -> str:
    """Return an adaptc.toml for the scenario; the costs are those of the share of the CPU."""
    lines = [
        "[daemons.control]", f'cgroup = "{NAME}"', f"bound = {BOUND}", "audit_all = true", "throughput_only = false",
        f"request_ms = {costs.request}", f"kilobyte_ms = {costs.kilobyte}", f"rejection_ms = {costs.rejection}",
        f"learn = {str(scenario.learn).lower()}",
    ]  # fmt: skip
    for name, keys in scenario.sites.items():
        lines += [f"[daemons.control.sites.{name}]", f'output = "{folder}/{name}"', f'logs = ["{folder}/{name}.log"]']
        lines += [f"{key} = {value * scale if key == 'kilobytes' else value}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def controlled(folder: Path, text: str) -> Iterator[None]:
    (folder / "adaptc.toml").write_text(text)
    command = [sys.executable, "-m", "adaptc.cli", "control", "--config", str(folder / "adaptc.toml"), "-q"]
    daemon = subprocess.Popen(command)
    try:
        time.sleep(2)
        yield
    finally:
        daemon.terminate()
        daemon.wait(10)


# ---- a run


@dataclass
class Run:
    """What a scenario came to: the controller's samples, and the offered rates by second."""

    scenario: Scenario
    scale: float
    started: float = 0.0
    samples: list[dict[str, Any]] = field(default_factory=list)
    seen: dict[str, Counter[str]] = field(default_factory=dict)

    def second(self, sample: Mapping[str, Any]) -> int:
        """The second of the load that a sample is about; a sample ends where it is taken."""
        return int(sample["at"] - self.started - 0.5)


def run(scenario: Scenario, port: int, size: float) -> Run:
    with tempfile.TemporaryDirectory(prefix="adaptc-bench-") as name:
        folder = Path(name)
        write_sites(folder, scenario, size)
        hosts = "".join(HOST.format(name=site) for site in scenario.sites)
        text = CONFIGURATION.partition("RewriteEngine")[0].replace("Timeout 5", "Timeout 60") + hosts
        with apache(folder, port, 1.0, text, (*MODULES, "filter", "deflate")):
            first = next(iter(scenario.sites))
            found = asyncio.run(measured(port, folder, first))
            scale = found.request / found.kilobyte / (PAPER_REQUEST / PAPER_KILOBYTE)
            share = found.request / PAPER_REQUEST
            print(f"a request takes {found.request:.4f} ms of CPU, a kB {found.kilobyte:.5f}, a rejection "
                  f"{found.rejection:.4f}: sizes times {scale:.2f}, {share:.3f} of a CPU")  # fmt: skip
            write_sites(folder, scenario, scale)
            (GROUPS / "cpu" / NAME / "cpu.cfs_quota_us").write_text(str(round(share * 100_000)))
            costs = Costs(found.request / share, found.kilobyte / share, found.rejection / share)
            with controlled(folder, configuration(scenario, costs, scale, folder)):
                made = Run(scenario, scale, time.time())
                made.seen = asyncio.run(offered(port, scenario))
            lines = (folder / first / "run/audit-control.jsonl").read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        made.samples = [one for one in entries if one["event"] == "sample" and one["at"] > made.started]
        return made


async def offered(port: int, scenario: Scenario) -> dict[str, Counter[str]]:
    crowd = Crowd(port, list(scenario.sites))
    for second in range(scenario.seconds):
        await crowd.second(scenario.rates(second))
    await crowd.finish()
    return crowd.seen


def show(made: Run, every: int) -> None:
    """Print offered and delivered bandwidth in Mb/s of the paper's sizes, and m, by site, and U of all sites."""
    print(made.scenario.title)
    for place in range(0, len(made.samples), every):
        part = made.samples[place : place + every]
        columns = []
        for site in made.scenario.sites:
            rate = statistics.mean(made.scenario.rates(made.second(one))[site] for one in part)
            sent = statistics.mean(one["sites"][site]["W"] or 0.0 for one in part) / 125 / made.scale
            m = statistics.mean(one["sites"][site]["m"] for one in part)
            columns.append(f"{site} {rate * PAGE / 125:5.1f} -> {sent:5.1f} Mb/s, m {m:.2f}")
        total = statistics.mean(used(one) for one in part)
        cpu = statistics.mean(one["cpu"] or 0.0 for one in part)
        print(f"{made.second(part[0]):4} s: {'; '.join(columns)}; U {total:.3f}, CPU {cpu:.3f}")
    print({site: dict(counts) for site, counts in made.seen.items()})


def used(sample: Mapping[str, Any]) -> float:
    return float(sum(site["U"] for site in sample["sites"].values()))


def settled(made: Run, begin: int, end: int) -> None:
    """Print how soon after a step U came to the bound, and how near it stayed."""
    found = [used(one) for one in made.samples if begin < made.second(one) < end]
    near = [abs(one - BOUND) <= 0.02 for one in found]
    first = next((place for place in range(len(near) - 2) if all(near[place : place + 3])), len(near) - 3)
    steady = found[first:]
    print(f"U after the step: {', '.join(f'{one:.3f}' for one in found[:10])}")
    print(f"settled after {first} samples; then mean {statistics.mean(steady):.3f}, mean distance "
          f"{statistics.mean(abs(one - BOUND) for one in steady):.4f}, within 0.02 "
          f"{sum(near[first:]) / len(steady):.0%} of {len(steady)}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=SCENARIOS, help="one scenario: the step, or a figure")
    parser.add_argument("--port", type=int, default=18086)
    parser.add_argument("--size", type=float, default=1.0, help="scale of the sizes while costs are measured")
    parser.add_argument("--every", type=int, default=5, help="seconds a printed line stands for")
    arguments = parser.parse_args()
    for name in [arguments.only] if arguments.only else SCENARIOS:
        made = run(SCENARIOS[name], arguments.port, arguments.size)
        show(made, arguments.every)
        if len(made.scenario.sites) == 1:
            settled(made, 15, 55)


if __name__ == "__main__":
    main()
