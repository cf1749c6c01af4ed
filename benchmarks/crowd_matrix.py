"""Live: does ``adaptc control`` leave an idle server alone, and does it help one in a crowd?

A real nginx or Apache with the emitted configuration runs in a control group (version 1, as root) with a share of a
CPU, and a crowd of visitors views pages of the site: arrivals at random (Poisson), each from an address of 127/8 that
stays its own, with all that the page embeds at the level that it was sent. Every row starts a server and a daemon of
its own. ``flash20-door`` needs nft(8).

    python -m benchmarks.crowd_matrix                                # all rows, with nginx
    python -m benchmarks.crowd_matrix --server apache step4 flash20  # some rows
    python -m benchmarks.crowd_matrix --plain                        # the same crowds without a daemon
    python -m benchmarks.crowd_matrix --table benchmarks/crowd_matrix.jsonl

Prints for each row what was served: views a second, failed and rejected ones, the measured share of the quota after
five seconds of a phase, the 95th percentile of the views' times (``p95_late_s``: of those after five seconds), and the
least and greatest m of the controller from fifteen seconds after the begin of the last phase.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import adaptc
from adaptc.config.config import Config
from adaptc.core.urls import quote_path
from adaptc.daemons.run_directory import RunDirectory
from adaptc.report.manifest import last_manifest
from adaptc.serve.calibrate.page_views import sampled_pages, views_by_level
from adaptc.serve.emitter import emit
from adaptc.serve.launch import launcher_of, running
from adaptc.serve.policy import OFF
from adaptc.serve.server import Instance, Server
from adaptc.serve.servers import server_named
from adaptc.workflow.configuration import load_config

SITE = Path(__file__).parent.parent / "examples/newsroom/site"
LEVELS = ("full", "lossless", "moderate", "extreme", "text")
GROUPS = Path("/sys/fs/cgroup")
GROUP = f"adaptc-crowd-{os.getpid()}"
PERIOD = 40_000  # microseconds of the quota
SHARES = 262_144  # the server's, against those of other work of the machine: it gets what its quota allows
USUAL_SHARES, NEIGHBOURS = 1024, 8  # the server's where it has neighbours, and how many they are
VISITORS = 200  # addresses
PATIENCE = 8.0  # seconds after which a visitor gives up: the view has failed
MOST_WAITING = 600  # views at once; more visitors find the door closed
PACE = 1.2  # times the views of the full site: about twice what ``adaptc capacity`` says of it at the bound
DOOR = (
    3.5  # times the views of the full site: those of ``text`` at the bound (0.58), which Apache answered here 6 times
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row: title, share of a CPU, phases of (seconds, load as a multiple of the capacity at the full site), settings.

    A negative load is one in views a second. ``pages`` limits the pages that are viewed, 0 all of them.
    """

    title: str
    share: float
    phases: tuple[tuple[float, float], ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    serve: Mapping[str, object] = field(default_factory=dict)
    calibrated: float = 1.0  # what the daemon is told of the costs, as a multiple of the truth; 0: nothing
    pages: int = 0
    flush: str = ""
    restarts: bool = False  # the daemon is killed and started again, eight seconds into the last phase
    daemon: str = "control"
    accepts_all: bool = True  # nginx accepts all connections that wait before it answers: multi_accept
    starved: int = 0  # in the last phase other work of the machine comes before the server, which has this weight
    is_noisy: bool = False  # other work of the machine comes and goes, and has the same right to its CPUs
    is_mute: bool = False  # the status page takes connections and does not answer
    door: float = 0.0  # more new connections a second, as a multiple of the capacity, are refused; 0: none
    come_once: bool = False  # visitors leave after a view
    is_paced: bool = False  # nginx limits the pages of the full site by itself: serve.nginx_page_rate


STEP = ((10.0, 0.3), (20.0, 4.0))
FLASH = ((8.0, 0.3), (20.0, 20.0), (35.0, 0.3))
ROWS = {
    "idle1200": Row(
        "1,200 requests/s of one page, nothing calibrated, a whole CPU", 1.0, ((75.0, -1200.0),), calibrated=0, pages=-1
    ),
    "steady3": Row("0.3 times for 30 s", 0.05, ((30.0, 0.3),)),
    "steady8": Row("0.8 times for 30 s", 0.05, ((30.0, 0.8),)),
    "constant10": Row("1.5 times for 10 minutes", 0.05, ((600.0, 1.5),)),
    "starved": Row(
        "1.5 times, after 40 s other work comes before the server", 0.05, ((40.0, 1.5), (40.0, 1.5)), starved=2
    ),
    "starved-part": Row(
        "1.5 times, after 30 s other work leaves the server a part", 0.05, ((30.0, 1.5), (75.0, 1.5)), starved=40
    ),
    "noisy8": Row("0.8 times for 90 s, other work of the machine comes and goes", 0.05, ((90.0, 0.8),), is_noisy=True),
    "step4": Row("4 times", 0.05, STEP),
    "step4-tenth": Row("4 times, costs a tenth of the truth", 0.05, STEP, calibrated=0.1),
    "step4-tenfold": Row("4 times, costs ten times the truth", 0.05, STEP, calibrated=10),
    "step4-noreject": Row("4 times, `reject = false`", 0.05, STEP, serve={"reject": False}),
    "step4-uncalibrated": Row(
        "4 times, nothing calibrated, after a minute", 0.05, ((70.0, 0.3), STEP[1]), calibrated=0
    ),
    "step4-buffered": Row("4 times, log with `flush=5s`", 0.05, STEP, flush="buffer=256k flush=5s"),
    "step4-gradient": Row(
        '4 times, `policy = "gradient"` with `serve.status`', 0.05, STEP,
        settings={"policy": "gradient"}, serve={"status": "127.0.0.1:18902"},
    ),
    "step4-classes": Row(
        "4 times, classes that need no flag", 0.05, STEP,
        serve={"classes": True, "classes_need_flag": False, "poor_level": "extreme"},
    ),
    "step4-restart": Row("4 times, the daemon killed after 8 s, and started again", 0.05, STEP, restarts=True),
    "switch-step4": Row("4 times, to `extreme`", 0.05, STEP, daemon="switch", serve={"level": "extreme"}),
    "switch-step4-mute": Row(
        "4 times, to `extreme`, the status page never answers", 0.05, STEP,
        daemon="switch", serve={"level": "extreme"}, is_mute=True,
    ),
    "flash20": Row("20 times", 0.03, FLASH),
    "flash20-paced": Row("20 times, `serve.nginx_page_rate`", 0.03, FLASH, is_paced=True),
    "steady8-paced": Row("0.8 times for 30 s, `serve.nginx_page_rate`", 0.05, ((30.0, 0.8),), is_paced=True),
    "step4-paced": Row("4 times, `serve.nginx_page_rate`", 0.05, STEP, is_paced=True),
    "flash20-accept": Row("20 times, `multi_accept off`", 0.03, FLASH, accepts_all=False),
    "flash20-door": Row(
        "20 times, visitors view one page each, more connections than `text` carries at the bound are refused",
        0.03, FLASH, door=DOOR, come_once=True,
    ),
    "flash20-once": Row("20 times, visitors view one page each", 0.03, FLASH, come_once=True),
    "flash20-moderate": Row("20 times, ladder to `moderate`", 0.03, FLASH[:2], serve={"ladder": LEVELS[:3]}),
}  # fmt: skip


# ---- the server


@dataclass(frozen=True, slots=True)
class Limited:
    """A server that runs with a share of a CPU."""

    port: int
    share: float
    process: int

    def limit(self) -> None:
        """Give it no more than its share from now on."""
        (GROUPS / "cpu" / GROUP / "cpu.cfs_quota_us").write_text(str(round(self.share * PERIOD)))

    @contextlib.contextmanager
    def starved(self, weight: int) -> Iterator[None]:
        """Let busy loops of the machine, one for each CPU and of the usual weight, come before it."""
        shares = GROUPS / "cpu" / GROUP / "cpu.shares"
        command = [sys.executable, "-c", "while True: pass"]
        loops = [subprocess.Popen(command, preexec_fn=_leave_priority) for _ in range(os.cpu_count() or 1)]
        shares.write_text(str(weight))
        try:
            yield
        finally:
            shares.write_text(str(SHARES))
            for loop in loops:
                loop.kill()
                loop.wait()

    @contextlib.asynccontextmanager
    async def neighbours(self) -> AsyncIterator[None]:
        """Let busy loops of the machine, of the same weight, run and pause for up to four seconds each."""
        shares = GROUPS / "cpu" / GROUP / "cpu.shares"
        command = [sys.executable, "-c", "while True: pass"]
        loops = [subprocess.Popen(command, preexec_fn=_leave_priority) for _ in range(NEIGHBOURS)]
        shares.write_text(str(USUAL_SHARES))
        tasks = [asyncio.create_task(_come_and_go(loop, random.Random(number))) for number, loop in enumerate(loops)]
        try:
            yield
        finally:
            shares.write_text(str(SHARES))
            for task, loop in zip(tasks, loops, strict=True):
                task.cancel()
                loop.kill()
                loop.wait()

    @contextlib.contextmanager
    def door(self, rate: float) -> Iterator[None]:
        """Let the kernel refuse what opens connections beyond a rate, as docs/crowd.md has it; 0: nothing."""
        rule = f"tcp dport {self.port} tcp flags & (syn|ack) == syn limit rate over {rate:.0f}/second burst 20 packets"
        chain = f"chain input {{\ntype filter hook input priority filter;\n{rule} reject with tcp reset\n}}"
        table = f"table inet {GROUP} {{\n{chain}\n}}\n"
        if rate:
            subprocess.run(["nft", "-f", "-"], input=table, text=True, check=True)
        try:
            yield
        finally:
            if rate:
                subprocess.run(["nft", "delete", "table", "inet", GROUP], check=True)

    def cpu(self) -> float:
        """Return the CPU seconds that it used."""
        return int((GROUPS / "cpuacct" / GROUP / "cpuacct.usage").read_text()) / 1e9


def _leave_priority() -> None:
    os.setpriority(os.PRIO_PROCESS, 0, 0)


async def _come_and_go(loop: subprocess.Popen[bytes], chance: random.Random) -> None:
    while True:
        loop.send_signal(signal.SIGCONT if chance.random() < 0.5 else signal.SIGSTOP)
        await asyncio.sleep(chance.uniform(0.2, 4))


@contextlib.contextmanager
def limited(server: Server, instance: Instance, row: Row, policy_name: str) -> Iterator[Limited]:
    """Run a server in a control group of its own."""
    launcher = launcher_of(server)

    def configuration(given: Instance, port: int) -> str:
        events = f"worker_connections 4096; multi_accept {'on' if row.accepts_all else 'off'}"
        text = launcher.configuration(given, port).replace("worker_connections 256", events)
        if server.name == "apache":  # connections that are kept open need no worker, but Apache bounds them by workers
            text = text.replace('"16"', '"64"') + "AsyncRequestWorkerFactor 30\n"
        return (
            text.replace(f'access.log" {policy_name};', f'access.log" {policy_name} {row.flush};')
            if row.flush
            else text
        )

    groups = [GROUPS / name / GROUP for name in ("cpu", "cpuacct")]
    for group in groups:
        group.mkdir(exist_ok=True)
    (groups[0] / "cpu.cfs_period_us").write_text(str(PERIOD))
    (groups[0] / "cpu.cfs_quota_us").write_text("-1")
    (groups[0] / "cpu.shares").write_text(str(SHARES))
    try:
        with running(replace(server, launcher=replace(launcher, configuration=configuration)), instance) as started:
            _enter([started.process], groups)
            _enter(children(started.process), groups)  # those that it starts from now on are there from the begin
            yield Limited(started.port, row.share, started.process)
            (groups[0] / "cpu.cfs_quota_us").write_text("-1")
    finally:
        time.sleep(0.3)
        for group in groups:
            with contextlib.suppress(OSError):
                group.rmdir()


def _enter(processes: Sequence[int], groups: Sequence[Path]) -> None:
    for process in processes:
        for group in groups:
            (group / "cgroup.procs").write_text(str(process))


def children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(word) for word in text.split()]


# ---- the crowd


@dataclass(slots=True)
class Phase:
    """What came of a phase: times of views that were served, and the others."""

    seconds: float
    load: float
    views: int = 0
    served: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    rejected: int = 0
    failed: int = 0
    levels: dict[str, int] = field(default_factory=dict)
    causes: dict[str, int] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)

    def fail(self, cause: str) -> None:
        """Count a view that failed."""
        self.failed += 1
        self.causes[cause] = self.causes.get(cause, 0) + 1

    def record(self) -> dict[str, object]:
        """Return the figures of the phase."""
        late = self.shares[5:] or self.shares
        return {
            "load": self.load,
            "views/s": round(self.views / self.seconds, 1),
            "served/s": round(len(self.served) / self.seconds, 1),
            "rejected": self.rejected,
            "failed": self.failed,
            "causes": self.causes,
            "p95_s": _slow(self.served),
            "p95_late_s": _slow(self.late),
            "share": round(statistics.mean(late), 3) if late else None,
            "share_most": round(max(late), 3) if late else None,
            "levels": dict(sorted(self.levels.items())),
        }


def _slow(times: Sequence[float]) -> float | None:
    return round(statistics.quantiles(times, n=20)[18], 3) if len(times) > 1 else None


class Crowd:
    """Visitors with addresses of their own, who send ``fields``. ``objects`` are the URLs of a page by its level."""

    def __init__(
        self, port: int, pages: Sequence[str], objects: Mapping[tuple[str, str], Sequence[str]], fields: str = "",
        most_free: int = 20,
    ) -> None:  # fmt: skip
        self._port, self._pages, self._objects, self._fields = port, pages, objects, fields
        self._most_free = most_free  # connections that an address keeps for its next view
        self._free: dict[str, list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = {}
        self._random, self._waiting, self._begun = random.Random(1), 0, 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    async def phase(self, phase: Phase, rate: float, server: Limited) -> None:
        """View pages at a rate, and measure the server's share each second."""
        begun = self._begun = time.monotonic()
        due, mark, used = begun, begun + 1, server.cpu()
        while due < begun + phase.seconds:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if time.monotonic() >= mark:
                now = server.cpu()
                phase.shares.append((now - used) / server.share / (time.monotonic() - mark + 1))
                used, mark = now, time.monotonic() + 1
            phase.views += 1
            if self._waiting >= MOST_WAITING:
                phase.fail("too many wait")
            else:
                task = asyncio.create_task(self._visit(phase))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            due += self._random.expovariate(rate)

    async def finish(self) -> None:
        """Wait for the last views."""
        await asyncio.gather(*self._tasks)

    async def _visit(self, phase: Phase) -> None:
        self._waiting += 1
        begun = time.monotonic()
        number = self._random.randrange(VISITORS)
        address, page = f"127.0.{1 + number // 100}.{1 + number % 100}", self._random.choice(self._pages)
        try:
            await asyncio.wait_for(self._view(phase, address, page, begun), PATIENCE)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, ValueError) as error:
            phase.fail(type(error).__name__)
        finally:
            self._waiting -= 1

    async def _view(self, phase: Phase, address: str, page: str, begun: float) -> None:
        free = self._free.setdefault(address, [])
        reader, writer, (status, level) = await self._begin(free, address, page)
        is_done = False
        try:
            name = "rejected" if status == 503 else level
            phase.levels[name] = phase.levels.get(name, 0) + 1
            if status != 200:
                phase.rejected += status == 503
                if status != 503:
                    phase.fail(str(status))
            else:
                for path in self._objects.get((level, page), ()):
                    await self._fetch(reader, writer, path)
                phase.served.append(time.monotonic() - begun)
                if begun > self._begun + 5:
                    phase.late.append(time.monotonic() - begun)
            is_done = True
        finally:
            if is_done and not reader.at_eof() and len(free) < self._most_free:
                free.append((reader, writer))
            else:
                writer.close()

    async def _begin(
        self, free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]], address: str, page: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, tuple[int, str]]:
        """Ask for a page. A connection that the server has closed meanwhile is no failure (RFC 9112, section 9.3.1)."""
        while free:
            reader, writer = free.pop()
            try:
                return reader, writer, await self._fetch(reader, writer, page)
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                writer.close()
                if getattr(error, "partial", b""):
                    raise
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(address, 0))
        try:
            return reader, writer, await self._fetch(reader, writer, page)
        except BaseException:
            writer.close()
            raise

    async def _fetch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> tuple[int, str]:
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br\r\n{self._fields}\r\n"
        writer.write(head.encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length:")[2].split("\r", 1)[0] or 0)
        await reader.readexactly(length)
        return int(head[9:12]), head.partition("x-adapt:")[2].split("\r", 1)[0].strip().partition("/")[0] or OFF


# ---- a row


def run_row(name: str, row: Row, server: Server, config: Config, root: Path, is_plain: bool) -> dict[str, object]:
    """Run a row and return its figures."""
    output = Path(config.output)
    serve = {"buckets": True, "reject": True, "name": "crowd", "ladder": LEVELS, **row.serve}
    config = replace(config, serve=replace(config.serve, **serve))
    policy = emit(config, [server.name]).policy
    for path in [output, output / "run"]:
        path.chmod(0o755)
    manifest = last_manifest(output)
    views = views_by_level(config, manifest, sampled_pages(manifest))
    paths = [view.paths for view in views["full"]]
    if row.pages:
        paths = sorted(paths, key=len)[:1]
    pages = [quote_path(f"/{each[0]}") for each in paths]
    objects = {
        (level, quote_path(f"/{view.paths[0]}")): [quote_path(f"/{path}") for path in view.paths[1:]] * (row.pages >= 0)
        for level in (*manifest.level_names, OFF)
        for view in views.get(level, views["full"])
    }
    folder = root / f"{server.name}-{name}"
    included = tuple(output / "serve" / file.name for file in server.files if file.is_included(policy))
    modules = launcher_of(server).modules(policy)
    instance = Instance(
        folder, Path(policy.docroot), "", config.site.index, included, modules=modules, log_format=policy.name
    )
    with limited(server, instance, row, policy.name) as started:
        crowd = Crowd(started.port, pages, objects, most_free=0 if row.come_once else 20)
        return asyncio.run(_measured(name, row, crowd, started, config, folder / "access.log", is_plain))


async def _measured(
    name: str, row: Row, crowd: Crowd, server: Limited, config: Config, log: Path, is_plain: bool
) -> dict[str, object]:
    warm = Phase(4, -60)
    await crowd.phase(Phase(2, -60), 60, server)
    used = server.cpu()
    await crowd.phase(warm, 60, server)
    await crowd.finish()
    if len(warm.served) < warm.views / 2:  # or the crowd would be one for a server that costs nothing
        raise SystemExit(f"the server answered {len(warm.served)} of {warm.views} views before the crowd")
    cost = (server.cpu() - used) / warm.views  # CPU seconds of a view of the full site
    server.limit()
    capacity = server.share / cost
    if row.is_paced:
        emit(replace(config, serve=replace(config.serve, nginx_page_rate=max(1, round(PACE * capacity)))), ["nginx"])
        os.kill(server.process, signal.SIGHUP)
        await asyncio.sleep(2)
    phases = [Phase(seconds, load) for seconds, load in row.phases]
    daemons = [] if is_plain else [start_daemon(row, config, log, cost)]
    try:
        if daemons:
            status = Path(config.output) / f"run/{row.daemon}.json"
            while not status.exists() and daemons[0].poll() is None:
                await asyncio.sleep(0.1)
            await asyncio.sleep(2)
        for phase in phases:
            if row.restarts and daemons and phase is phases[-1]:
                loop = asyncio.get_running_loop()
                loop.call_later(8, daemons[0].kill)
                loop.call_later(9, lambda: daemons.append(start_daemon(row, config, log, cost, is_new=False)))
            last = time.time()
            weight = row.starved if phase is phases[-1] else 0
            rate = -phase.load if phase.load < 0 else phase.load * capacity
            async with server.neighbours() if row.is_noisy else contextlib.nullcontext():
                with server.starved(weight) if weight else server.door(row.door * capacity):
                    await crowd.phase(phase, rate, server)
        state = json.loads((Path(config.output) / f"run/{row.daemon}.json").read_text()) if daemons else {}
    finally:
        for daemon in daemons:
            daemon.terminate()
            daemon.wait(10)
    await crowd.finish()
    known = {key: state[key] for key in ("by", "shadow", "costs", "mode", "lost") if key in state}
    if daemons and row.daemon == "control":
        known["m"] = _range_of_m(Path(config.output) / "run/audit-control.jsonl", last + 15)
    return {
        "row": name, "daemon": not is_plain, "ms_a_view": round(1000 * cost, 3), "capacity": round(capacity, 1),
        "phases": [phase.record() for phase in phases], "state": known,
    }  # fmt: skip


def _range_of_m(audit: Path, since: float) -> tuple[float, float] | None:
    samples = (json.loads(line) for line in audit.read_text().splitlines())
    found = [one["sites"]["site"]["m"] for one in samples if one["event"] == "sample" and one["at"] > since]
    return (min(found), max(found)) if found else None


def start_daemon(row: Row, config: Config, log: Path, cost: float, is_new: bool = True) -> subprocess.Popen[bytes]:
    """Start a daemon; ``adaptc control`` is told what a view costs, or nothing. A new one has no memory."""
    run = Path(config.output) / "run"
    if is_new:
        RunDirectory(run).reset()
        for name in ("control", "switch"):
            for file in (f"{name}-state.json", f"{name}.json"):
                (run / file).unlink(missing_ok=True)
            (run / f"audit-{name}.jsonl").unlink(missing_ok=True)
    settings = {"cgroup": json.dumps(GROUP), "audit_all": "true", **row.settings}
    if row.is_mute:
        settings["status_url"] = json.dumps(f"http://127.0.0.1:{mute().getsockname()[1]}/")
    if row.calibrated and row.daemon == "control":
        milliseconds = 1000 * cost / row.share * row.calibrated
        requests = 8 if row.pages >= 0 else 1
        settings |= {"request_ms": f"{0.9 * milliseconds / requests:.6f}", "kilobyte_ms": f"{milliseconds / 3000:.6f}"}
    logs = [str(log)] if row.daemon == "control" else []
    command = [sys.executable, "-m", "adaptc", row.daemon, *logs, "-o", str(config.output)]
    command += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return subprocess.Popen(command, stderr=(run / f"{row.daemon}.err").open("wb"))


@functools.cache
def mute() -> socket.socket:
    """Return a socket that takes connections, as the kernel does for it, and never answers."""
    return socket.create_server(("127.0.0.1", 0))


def main() -> None:
    """Run the rows that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", nargs="*", choices=[[], *ROWS], default=[])
    parser.add_argument("--server", default="nginx", choices=("nginx", "apache"))
    parser.add_argument("--plain", action="store_true", help="without a daemon")
    parser.add_argument("--work", type=Path, help="where to build; by default a temporary directory")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the rows of the table for such records")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table(options.table.read_text().splitlines())))
        return
    with tempfile.TemporaryDirectory(prefix="adaptc-crowd-") as temporary:
        root = options.work or Path(temporary)
        root.mkdir(exist_ok=True)
        root.chmod(0o755)
        settings = {"docroot": SITE, "output": root / "opt", "build.levels": LEVELS, "build.effort": "fast"}
        config = load_config(None, settings)
        adaptc.build(config)
        for name in options.row or ROWS:
            record = run_row(name, ROWS[name], server_named(options.server), config, root, options.plain)
            print(json.dumps({"server": options.server, **record}), flush=True)


def table(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rows of docs/daemons.md for records of this program: of each its busiest phase, of several the median.

    Of a row with one load it is the last phase, with the range of m from fifteen seconds after its begin on.
    """
    found: dict[tuple[str, int, bool], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    names = list(ROWS)
    for record in map(json.loads, lines):
        is_constant = len({phase["load"] for phase in record["phases"]}) == 1
        busiest = record["phases"][-1] if is_constant else max(record["phases"], key=lambda phase: phase["views/s"])
        key = (record["server"] == "apache", names.index(record["row"]), record["daemon"])
        found.setdefault(key, []).append((busiest, record))
    for (_, number, is_controlled), runs in sorted(found.items()):
        phase, record = sorted(runs, key=lambda run: run[0]["served/s"])[len(runs) // 2]
        row, ms = ROWS[names[number]], record["state"].get("m")
        ms = ms if len({load for _, load in row.phases}) == 1 else None
        seconds = row.phases[record["phases"].index(phase)][0]
        cells = (
            f"{record['server']}, {row.title}", row.daemon if is_controlled else "none", str(len(runs)),
            f"{phase['views/s']:,.0f}", f"{phase['served/s']:,.0f}", f"{phase['rejected'] / seconds:.0f}",
            f"{phase['failed'] / seconds:.1f}", f"{phase['p95_s']:.2f} s", f"{phase['p95_late_s']:.2f} s",
            f"{phase['share']:.2f}", f"{ms[0]:.2f} to {ms[1]:.2f}" if ms else "",
        )  # fmt: skip
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
