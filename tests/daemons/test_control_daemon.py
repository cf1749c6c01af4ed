"""``adaptc control``: logs in, bucket maps and flags out."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.samples.monitoring import unknown_metrics

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.config.toml import parse_toml
from adaptc.daemons.control.bucket_ladder import write_buckets
from adaptc.daemons.control.daemon import ControlDaemon, Environment, SiteEndpoint
from adaptc.daemons.control.load_meter import LoadUnknown, LogMeter, Meter, StatusMeter
from adaptc.daemons.control.machine import Load
from adaptc.daemons.control.settings import ControlSettings, SiteSettings, machine_of, read_control
from adaptc.daemons.reporter import Reporter, label, render_metrics
from adaptc.daemons.run_directory import Override, RunDirectory, write_override
from adaptc.daemons.sensors.cpu import CpuCount
from adaptc.daemons.sensors.status_page import ServerStatus
from adaptc.daemons.status import daemon_statuses
from adaptc.formats.accesslog.parser import compile_format
from adaptc.serve.capacity.utilization import Cost

SIZES = {"full": 64_000, "lossless": 32_000, "text": 4_000}


def mean(size: int) -> dict[str, int]:
    return {"requests": 1, "bytes": size, "transfer": size}


def build(output: Path) -> Path:
    """An output with a page of one file at each level."""
    output.mkdir(exist_ok=True)
    levels = [
        {"name": name, "number": number, "title": "", "pages": 1, "mean": mean(SIZES[name])}
        for number, name in enumerate(reversed(SIZES), 1)
    ]
    (output / "manifest.json").write_text(json.dumps({"schema": 1, "levels": levels, "resources": []}))
    return output


@dataclass
class FakeCpu:
    share: float | None = 0.0
    cpus: float = 1.0
    busy: float = 0.0

    def read(self) -> CpuCount:
        if self.share is None:
            raise OSError("gone")
        self.busy += self.share
        return CpuCount(self.busy)


def line(status: int, size: int) -> str:
    return f'10.0.0.1 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" {status} {size} "-" "-"\n'


@dataclass
class Bench:
    """A site, its controller, and a server that obeys the bucket map it finds in the files."""

    folder: Path
    settings: ControlSettings = field(default_factory=ControlSettings)
    lines: list[str] = field(default_factory=list)
    now: float = 1000.0
    record: Path | None = None

    def __post_init__(self) -> None:
        self.log = self.folder / "access.log"
        self.log.write_text(line(200, 9_000_000) * 100)  # old lines do not count
        self.output = build(self.folder / "opt")
        self.run, self.cpu = RunDirectory.of(self.output), FakeCpu()
        self.use(LogMeter([self.log], compile_format()))

    def use(self, meter: Meter) -> None:
        machine = machine_of(self.settings, {"site": SiteSettings(self.output, (self.log,))}, Cost(0.001604, 0.000063))
        place = SiteEndpoint(meter, self.run)
        reporter = Reporter("control", [self.run], self.lines.append)
        self.daemon = ControlDaemon(
            self.settings, machine, Environment({"site": place}, self.cpu, reporter=reporter, record=self.record)
        )
        self.step()

    def step(self) -> None:
        self.now += 1
        self.daemon.step(self.now, self.now)

    def shares(self) -> dict[str, int]:
        """Number of buckets by level, as Apache's map has it."""
        names = [row.split()[1] for row in (self.run.path / "buckets.txt").read_text().splitlines()]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def serve(self, requests: int, seconds: int) -> None:
        for _ in range(seconds):
            for name, count in self.shares().items():
                part = round(requests * count / 256)
                sent = line(503, 0) if name == "0" else line(200, SIZES[name])
                with self.log.open("a") as file:
                    file.write(sent * part)
            self.step()

    def status(self) -> dict:
        return json.loads((self.run.path / "control.json").read_text())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_an_easy_load_keeps_the_original(bench: Bench) -> None:
    bench.serve(20, 10)
    assert bench.shares() == {"full": 256}
    assert not bench.run.flag.exists()


def test_a_heavy_load_settles_at_the_bound_and_an_easy_one_ends_it(bench: Bench) -> None:
    bench.serve(200, 20)
    assert bench.run.flag.exists()
    assert bench.status()["sites"]["site"]["U"] == pytest.approx(0.58, abs=0.02)
    assert set(bench.shares()) <= {"text", "lossless", "full"}
    bench.serve(20, 20)
    assert bench.shares() == {"full": 256}
    assert not bench.run.flag.exists()


def test_what_cannot_be_carried_is_rejected(bench: Bench) -> None:
    bench.serve(500, 30)
    assert "0" in bench.shares()
    assert bench.status()["sites"]["site"]["U"] == pytest.approx(0.58, abs=0.02)
    assert bench.status()["sites"]["site"]["rejected"] > 50


def test_nobody_is_rejected_where_that_saves_nothing(tmp_path: Path) -> None:
    """Else U stays above the bound at m = 0, and the way back is barred by rejections that cost more than pages."""
    bench = Bench(tmp_path, ControlSettings(rejection_ms=2.0))
    assert any("a rejection costs no less than level text: nobody is rejected" in line for line in bench.lines)
    bench.serve(500, 30)
    assert bench.shares() == {"text": 256}
    bench.serve(20, 20)
    assert bench.shares() == {"full": 256}


def test_markers_say_the_same_as_the_map(bench: Bench) -> None:
    bench.serve(200, 5)
    rows = [row.split() for row in (bench.run.path / "buckets.txt").read_text().splitlines()]
    markers = {path.name for path in (bench.run.path / "m").iterdir()}
    assert markers == {f"{bucket}.{level}" for bucket, level in rows}
    assert [bucket for bucket, _ in rows] == [f"{number:02x}" for number in range(256)]


def test_a_bucket_is_never_without_a_marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = RunDirectory.of(tmp_path)
    write_buckets(directory, ["full"] * 256)
    least = 256
    unlink = Path.unlink

    def counted(path: str) -> bool:
        nonlocal least
        least = min(least, len({marker.name[:2] for marker in (directory.path / "m").iterdir()}))
        unlink(Path(path))
        return True

    monkeypatch.setattr("adaptc.serve.state_directory.remove", counted)
    write_buckets(directory, ["text"] * 256)
    assert least == 256


def test_every_change_of_levels_stands_in_the_audit(bench: Bench) -> None:
    bench.serve(200, 3)
    entries = [json.loads(row) for row in (bench.run.path / "audit-control.jsonl").read_text().splitlines()]
    assert [entry["event"] for entry in entries] == ["levels"] * len(entries)
    assert entries[-1]["inputs"]["site"] == "site"
    assert entries[-1]["inputs"]["R"] == pytest.approx(200, abs=2)
    assert entries[-1]["rule"].startswith("m = ")


def test_a_forced_level_goes_to_all_clients(bench: Bench) -> None:
    write_override(bench.run, Override("text", bench.now + 3))
    bench.serve(20, 1)
    assert (bench.shares(), bench.run.flag.exists()) == ({"text": 256}, True)
    bench.serve(20, 3)
    assert (bench.shares(), bench.run.flag.exists()) == ({"full": 256}, False)


def test_a_level_beside_the_ladder_can_be_forced(bench: Bench) -> None:
    write_override(bench.run, Override("halfres", bench.now + 3))
    bench.step()
    assert bench.shares() == {"halfres": 256}


def test_an_override_leaves_m_where_it_was(bench: Bench) -> None:
    bench.serve(200, 20)
    before = bench.status()["sites"]["site"]["m"]
    write_override(bench.run, Override("text", bench.now + 10))
    bench.serve(200, 9)
    assert bench.status()["sites"]["site"]["m"] == before


def test_the_original_and_rejection_by_force(bench: Bench) -> None:
    write_override(bench.run, Override("reject", bench.now + 5))
    bench.serve(20, 1)
    assert (bench.shares(), bench.run.flag.exists()) == ({"0": 256}, True)
    bench.serve(300, 5)
    write_override(bench.run, Override("original", bench.now + 5))
    bench.serve(300, 1)
    assert not bench.run.flag.exists()


def test_a_log_that_is_gone_changes_nothing(bench: Bench) -> None:
    bench.serve(200, 10)
    before = bench.shares()
    bench.log.unlink()
    for _ in range(5):
        bench.step()
    assert bench.shares() == before
    assert [text for text in bench.lines if "there is no log" in text] == [
        text for text in bench.lines if "remark" in text
    ]
    bench.log.write_text("")
    bench.step()
    assert "the load is known again" in bench.lines[-2] + bench.lines[-1]


def test_a_silent_log_and_a_busy_server_change_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ControlSettings(cgroup="web"))
    bench.serve(200, 10)
    before = bench.shares()
    bench.cpu.share = 0.9
    for _ in range(5):
        bench.step()
    assert bench.shares() == before
    assert sum("the logs are silent; m stays" in text for text in bench.lines) == 1


def test_a_host_that_is_busy_with_other_work_is_no_reason_to_stay(bench: Bench) -> None:
    bench.serve(200, 10)
    bench.cpu.share = 0.9
    bench.serve(0, 20)
    assert bench.shares() == {"full": 256}


def test_a_lost_cpu_sensor_costs_learning_only(bench: Bench) -> None:
    bench.cpu.share = None
    bench.serve(200, 20)
    assert bench.status()["sites"]["site"]["U"] == pytest.approx(0.58, abs=0.02)
    assert bench.status()["costs"]["learnt"] is False


def test_the_end_removes_the_flag_or_leaves_it(tmp_path: Path) -> None:
    for expire, left in (("normal", False), ("static", True)):
        (tmp_path / expire).mkdir()
        bench = Bench(tmp_path / expire, ControlSettings(expire=expire))
        bench.serve(200, 5)
        bench.daemon.stop(bench.now)
        assert bench.run.flag.exists() is left
        assert bool(bench.shares()) is left
        assert bool(list((bench.run.path / "m").iterdir())) is left
        assert not any(one.is_alive for one in daemon_statuses(bench.run, bench.now))


def test_figures_have_the_name_of_the_site(bench: Bench) -> None:
    bench.serve(20, 2)
    text = render_metrics("control", bench.daemon._environment.reporter._figures)
    assert '# TYPE adaptc_control_m gauge\nadaptc_control_m{site="site"} 3\n' in text
    assert unknown_metrics("control", bench.daemon._environment.reporter._figures) == set()


def test_buckets_come_back_with_the_flag_after_the_guard_reset_them(bench: Bench) -> None:
    bench.serve(200, 20)
    bench.run.reset()
    assert not bench.shares()
    bench.serve(200, 1)
    assert (sum(bench.shares().values()), bench.run.flag.exists()) == (256, True)


def test_counters_keep_their_digits() -> None:
    text = render_metrics("switch", {"lines_total": (12345678.0, "x"), "cpu": (0.25, "y"), "m": (3, "z")})
    values = [line.split()[1] for line in text.splitlines() if not line.startswith("#")]
    assert values == ["12345678", "0.25", "3"]
    assert label('a"b\\c') == r'"a\"b\\c"'


def test_a_meter_knows_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(LoadUnknown, match="there is no log"):
        LogMeter([tmp_path / "gone.log"], compile_format()).read(1)


def test_a_log_in_another_format_changes_nothing(bench: Bench) -> None:
    bench.serve(200, 20)
    before = bench.shares()
    with bench.log.open("a") as file:
        file.write("garbage\n" * 100)
    bench.step()
    assert any("is in the format that log_format names; m stays" in line for line in bench.lines)
    assert bench.shares() == before


@dataclass
class FakePage:
    """mod_status: what it says next, or that it is gone."""

    found: list[ServerStatus | OSError]
    url: str = "http://127.0.0.1/server-status?auto"

    def read(self) -> ServerStatus:
        found = self.found.pop(0)
        if isinstance(found, OSError):
            raise found
        return found


def test_a_status_page_tells_the_load() -> None:
    meter = StatusMeter(FakePage([ServerStatus(100, 5_000), ServerStatus(300, 9_000)]))
    assert meter.read(2) == Load(100, 0, 2000)


def test_what_a_status_page_does_not_see_is_rejected_by_the_share_of_clients(tmp_path: Path) -> None:
    bench, forever = Bench(tmp_path), time.time() + 1e9
    pages = [ServerStatus(100 * number, 100 * number) for number in range(4)]
    bench.use(StatusMeter(FakePage(pages)))
    bench.step()
    write_override(bench.run, Override("reject", forever))
    bench.step()
    assert bench.status()["sites"]["site"]["rejected"] == 0  # those of the second before
    bench.step()
    assert bench.status()["sites"]["site"]["rejected"] == 100


def test_a_status_page_that_begins_anew_or_is_gone() -> None:
    pages = [OSError("refused"), ServerStatus(5, 5), ServerStatus(3, 1), OSError("refused"), ServerStatus(9, 9)]
    meter = StatusMeter(FakePage(pages))
    for complaint in ("counts from here", "counts from here", r"cannot be read \(refused\)", "counts from here"):
        with pytest.raises(LoadUnknown, match=complaint):
            meter.read(1)


@pytest.mark.parametrize("status", [ServerStatus(requests=7, connections=7), ServerStatus(idle=3)])
def test_a_status_page_without_bytes_is_none_for_the_controller(status: ServerStatus) -> None:
    with pytest.raises(LoadUnknown, match="has no numbers of requests and kB"):
        StatusMeter(FakePage([status, status])).read(1)


# ---- traces


def test_a_recorded_trace_replays_to_the_same_m(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "loads.jsonl"
    bench = Bench(tmp_path, record=trace)
    bench.serve(400, 6)
    command = ["control", "--replay", str(trace), "-o", str(bench.output)]
    command += ["--set", "request_ms=1.604", "--set", "kilobyte_ms=0.063"]  # as the bench has them
    assert run([*command, "--format", "json"]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert [one["site"] for one in found] == ["site"] * 6
    assert round(found[-1]["m"], 4) == bench.status()["sites"]["site"]["m"] < 3
    assert run(command) == ExitCode.DONE
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["at", "site", "R", "W", "U", "m"]
    assert rows[0].split()[:3] == ["1002.0", "site", "400"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{}", "a sample is an object with a number at"),
        ('{"at": 1, "sites": {"other": {}}}', "the sites of a sample must be site"),
        ('{"at": 1, "sites": {"site": {"requests": 1}}}', "site: a load has the numbers requests, rejected, kilobytes"),
        ('{"at": 1, "cpu": "x", "sites": {"site": {}}}', "cpu must be a number"),
    ],
)
def test_a_trace_that_is_none(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, complaint: str
) -> None:
    (tmp_path / "trace").write_text(line)
    assert run(["control", "--replay", str(tmp_path / "trace"), "-o", str(bench.output)]) == ExitCode.USAGE
    assert f"trace:1: {complaint}" in capsys.readouterr().err


# ---- settings

SITES = """
bound = 0.58
[sites.V1]
output = "opt"
logs = ["a.log"]
requests = 100
kilobytes = {kilobytes}
[sites.V2]
output = "opt2"
logs = "b.log"
priority = 2
"""


def test_virtual_servers_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(tmp_path / "opt")
    build(tmp_path / "opt2")
    settings, sites = read_control(parse_toml(SITES.format(kilobytes=1000), "adaptc.toml"), ["margin=10"])
    machine = machine_of(settings, sites, Cost())
    assert [(site.name, site.priority, site.guarantee is None) for site in machine.sites] == [
        ("V1", 1, False),
        ("V2", 2, True),
    ]
    assert machine.tuning.margin == 10
    assert machine.sites[0].ladder.names == ("text", "lossless", "full")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (SITES.format(kilobytes=100_000), r"the guarantees need a utilization of 3\.3830 .*promise less"),
        ("[sites.V1]\nlogs = ['a']\n", "adaptc.toml:1: the site V1 needs output, and logs or status_url"),
        ("[sites.V1]\nlogs = ['a']\noutput = 'opt'\nrequests = 3\n", "a guarantee needs both requests and kilobytes"),
        ("[sites.V1]\nlog = ['a']\n", "adaptc.toml:2: unknown key log, did you mean logs?"),
        (
            "[sites.V1]\noutput='opt'\nlogs='a'\n[sites.V2]\noutput='opt'\nlogs='b'\n",
            "adaptc.toml:4: the sites V1 and V2 have one output",
        ),
        ("[sites.'a b']\nlogs = ['a']\n", "adaptc.toml:1: 'a b' is no name of a site"),
        ("bound = 2\n", "adaptc.toml:1: bound must be a number from 0.01 to 1, not 2"),
        ("[sites.V1]\noutput = 'gone'\nlogs = 'a'\n", "gone/manifest.json cannot be read"),
    ],
)
def test_configurations_that_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, complaint: str
) -> None:
    from adaptc.core.diagnostics import UsageError

    monkeypatch.chdir(tmp_path)
    build(tmp_path / "opt")
    build(tmp_path / "opt2")
    with pytest.raises(UsageError, match=complaint):
        settings, sites = read_control(parse_toml(table, "adaptc.toml"), [])
        machine_of(settings, sites, Cost())


def test_the_command_wants_a_log_and_the_flag_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = build(tmp_path / "opt")
    assert run(["control", "-o", str(output)]) == ExitCode.USAGE
    assert "name a LOG, or logs or status_url in [daemons.control]" in capsys.readouterr().err
    with RunDirectory.of(output).locked("mode", "sets the mode"):
        assert run(["control", str(tmp_path / "a.log"), "-o", str(output)]) == ExitCode.BUSY


def test_the_command_runs_until_it_is_told_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = build(tmp_path / "opt")
    (tmp_path / "a.log").write_text("")
    steps: list[float] = []

    def once(daemon: ControlDaemon, interval: float) -> None:
        steps.append(interval)
        daemon.step(1, time.time())
        daemon.stop(time.time())

    monkeypatch.setattr("adaptc.daemons.loop.run", once)
    assert run(["control", str(tmp_path / "a.log"), "-o", str(output), "--set", "interval=2s"]) == ExitCode.DONE
    assert steps == [2.0]
    assert "stopped: the flags expire by policy normal" in capsys.readouterr().err
