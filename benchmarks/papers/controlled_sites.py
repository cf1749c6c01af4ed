"""Sites of a real Apache under ``adaptc control``, with the costs that the server of Abdelzaher and others 2002 had.

Apache runs in a control group of its own, with virtual hosts whose levels come from buckets of client addresses, as
``adaptc emit`` has it. It compresses what it sends, which makes a kB cost something on a modern machine. First the
costs of a request, a kB and a rejection are measured. Then sizes are scaled so that a kB costs against a request what
it cost there, and the share of the CPU so that a request costs 1.604 ms as there. Guarantees and bound are
theirs, and rates too but for those that are rejected: a rejection costs Apache today as much as a small file. Each site
has 250 visitors, with addresses and connections of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from adaptc.serve.state_directory import KNOBS, Knobs
from benchmarks.papers.control_loads import Scenario
from benchmarks.papers.crowd import Crowd
from benchmarks.papers.limited_apache import MODULES, NAME, LimitedApache, limited_apache, open_to_all, shared_folder

PAPER_REQUEST, PAPER_KILOBYTE = 1.604, 0.063  # ms (section 7.2)
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


@dataclass(frozen=True)
class Costs:
    """CPU milliseconds of a request, a kB, a rejection."""

    request: float
    kilobyte: float
    rejection: float


@dataclass
class Run:
    """What a scenario came to: its costs and sizes, the controller's samples, and for each second answers and CPU.

    ``seconds`` has answers by site and status, and the ``octets`` of pages; ``cpu`` is the share that Apache used by
    the kernel's count.
    """

    scenario: Scenario
    costs: Costs
    scale: float
    share: float
    started: float = 0.0
    samples: list[dict[str, Any]] = field(default_factory=list)
    seconds: list[dict[str, Counter[str]]] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def second(self, sample: Mapping[str, Any]) -> int:
        """Return the second of the load that a sample is about; a sample ends where it is taken."""
        return int(sample["at"] - self.started - 0.5)


def run(scenario: Scenario) -> Run:
    """Run a scenario, and return what the controller saw. Raises ``Unavailable``."""
    with shared_folder() as folder:
        _write_sites(folder, scenario, 1.0)
        hosts = "".join(HOST.format(name=site) for site in scenario.sites)
        modules = (*MODULES, "filter", "deflate")
        with limited_apache(folder, f"KeepAliveTimeout 60\n{hosts}", modules) as server:
            first = next(iter(scenario.sites))
            found = asyncio.run(_measured(server, folder, first))
            scale = found.request / found.kilobyte / (PAPER_REQUEST / PAPER_KILOBYTE)
            share = found.request / PAPER_REQUEST
            _write_sites(folder, scenario, scale)
            server.limit(share)
            costs = Costs(found.request / share, found.kilobyte / share, found.rejection / share)
            text = _configuration(scenario, costs, scale, folder)
            with _controlled(folder, text) if scenario.is_controlled else contextlib.nullcontext():
                result = Run(scenario, costs, scale, share, time.time())
                result.seconds, result.cpu = asyncio.run(_offer(server, scenario))
            audit = folder / first / "run/audit-control.jsonl"
            lines = audit.read_text().splitlines() if scenario.is_controlled else []
        entries = [json.loads(line) for line in lines]
        result.samples = [one for one in entries if one["event"] == "sample" and one["at"] > result.started]
        return result


def _write_sites(folder: Path, scenario: Scenario, scale: float) -> None:
    (folder / "site").mkdir(exist_ok=True)
    for name in scenario.sites:
        levels = []
        for number, (level, size) in enumerate((("text", DEGRADED), ("full", PAGE)), 1):
            octets = round(size * scale * 1000)
            root = folder / name / level
            root.mkdir(parents=True, exist_ok=True)
            (root / "a.bin").write_bytes(random.Random(number).randbytes(octets))
            (root / "small.bin").write_bytes(b"x")
            mean = {"requests": 1, "bytes": octets, "transfer": octets}
            levels.append({"name": level, "number": number, "title": "", "pages": 1, "mean": mean})
        (folder / name / "manifest.json").write_text(json.dumps({"schema": 1, "levels": levels, "resources": []}))
        (folder / name / "run").mkdir(exist_ok=True)
        (folder / name / "serve").mkdir(exist_ok=True)
        (folder / name / KNOBS).write_bytes(_knobs(folder / name).json())
        (folder / name / "run/buckets.txt").touch()
        (folder / f"{name}.log").touch()
    open_to_all(folder)


def _knobs(output: Path) -> Knobs:
    """Return what the Apache of ``limited_apache`` obeys: buckets with two levels and level 0."""
    names = ("full", "text")
    return Knobs(("apache",), output.name, "", True, True, True, False, True, False, "text", names, names, ("full",),
                 str(output / "run"))  # fmt: skip


async def _measured(server: LimitedApache, folder: Path, site: str) -> Costs:
    """Measure the costs at 200 requests a second, for each kind the median of five seconds."""
    crowd, state = Crowd(server.port, [site]), folder / site / "run"
    kilobytes = (folder / site / "full/a.bin").stat().st_size / 1000

    async def cost(path: str) -> float:
        await crowd.second({site: 250}, path)
        found = []
        for _ in range(5):
            before = server.cpu_seconds()
            await crowd.second({site: 200}, path)
            found.append((server.cpu_seconds() - before) / 200 * 1000)
        return statistics.median(found)

    small, large = await cost("/small.bin"), await cost("/a.bin")
    (state / "buckets.txt").write_text("".join(f"{number:02x} 0\n" for number in range(256)))
    (state / "opt.do").touch()
    rejection = await cost("/a.bin")
    (state / "opt.do").unlink()
    return Costs(small, (large - small) / kilobytes, rejection)


def _configuration(scenario: Scenario, costs: Costs, scale: float, folder: Path) -> str:
    """Return an adaptc.toml for the scenario; the costs are those of the share of the CPU."""
    lines = [
        "[daemons.control]", f'cgroup = "{NAME}"', f"bound = {BOUND}", "audit_all = true", "throughput_only = false",
        f"request_ms = {costs.request}", f"kilobyte_ms = {costs.kilobyte}", f"rejection_ms = {costs.rejection}",
        f"learn = {str(scenario.learn).lower()}", "reject_most = 1", "slack = 0",
    ]  # fmt: skip
    for name, keys in scenario.sites.items():
        lines += [f"[daemons.control.sites.{name}]", f'output = "{folder}/{name}"', f'logs = ["{folder}/{name}.log"]']
        lines += [f"{key} = {value * scale if key == 'kilobytes' else value}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def _controlled(folder: Path, text: str) -> Iterator[None]:
    (folder / "adaptc.toml").write_text(text)
    command = [sys.executable, "-m", "adaptc", "control", "--config", str(folder / "adaptc.toml"), "-q"]
    daemon = subprocess.Popen(command)
    try:
        time.sleep(2)
        yield
    finally:
        daemon.terminate()
        daemon.wait(10)


async def _offer(server: LimitedApache, scenario: Scenario) -> tuple[list[dict[str, Counter[str]]], list[float]]:
    crowd, used = Crowd(server.port, list(scenario.sites)), [(time.monotonic(), server.cpu_seconds())]
    for second in range(scenario.seconds):
        await crowd.second(scenario.rates(second))
        used.append((time.monotonic(), server.cpu_seconds()))
    await crowd.finish()
    return crowd.seconds, [(after - before) / (end - begun) for (begun, before), (end, after) in pairwise(used)]
