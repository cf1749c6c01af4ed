"""``adaptc control``: logs in, bucket maps and flags out."""

from __future__ import annotations

import json
import random
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.samples.monitoring import unknown_metrics

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.config.toml import parse_toml
from adaptc.daemons.control.bucket_ladder import write_buckets
from adaptc.daemons.control.daemon import CHECKS, ControlDaemon, Environment, SiteEndpoint, kept_cost
from adaptc.daemons.control.load_meter import LoadUnknown, LogMeter, Meter, StatusMeter
from adaptc.daemons.control.machine import Load
from adaptc.daemons.control.settings import ControlSettings, SiteSettings, machine_of, read_control
from adaptc.daemons.mode import kept
from adaptc.daemons.reporter import Reporter, label, render_metrics, serve_metrics
from adaptc.daemons.run_directory import Override, RunDirectory, write_override
from adaptc.daemons.sensors.cpu import CpuCount
from adaptc.daemons.sensors.status_page import ServerStatus, Unanswered
from adaptc.daemons.sensors.waiting import Pressure
from adaptc.daemons.status import daemon_statuses, has_mode_daemon
from adaptc.formats.accesslog.parser import compile_format
from adaptc.serve.capacity.utilization import Cost
from adaptc.serve.state_directory import KNOBS, Knobs

SIZES = {"full": 64_000, "lossless": 32_000, "text": 4_000}


def mean(size: int) -> dict[str, int]:
    return {"requests": 1, "bytes": size, "transfer": size}


def build(output: Path, **settings: Any) -> Path:
    """An output with a page of one file at each level; ``settings`` are what was emitted."""
    output.mkdir(exist_ok=True)
    levels = [
        {"name": name, "number": number, "title": "", "pages": 1, "mean": mean(SIZES[name])}
        for number, name in enumerate(reversed(SIZES), 1)
    ]
    (output / "manifest.json").write_text(json.dumps({"schema": 1, "levels": levels, "resources": []}))
    (output / "serve").mkdir(exist_ok=True)
    (output / KNOBS).write_bytes(knobs(output, **settings).json())
    return output


def knobs(output: Path, **settings: Any) -> Knobs:
    """What was emitted for it: buckets and level 0, if nothing else is said."""
    names = tuple(SIZES)
    usual = Knobs(("nginx",), "ad_site", "", True, True, True, False, True, True, "text", names, names, names[:2],
                  str(output / "run"))  # fmt: skip
    return replace(usual, **settings)


@dataclass
class FakeCpu:
    """A CPU whose share is that of the load, or ``pinned`` to one; None is a sensor that fails."""

    share: float | None = 0.0
    pinned: bool = False
    source: str = "host"
    cpus: float = 1.0
    busy: float = 0.0

    def read(self) -> CpuCount:
        if self.share is None:
            raise OSError("gone")
        self.busy += min(1.0, self.share)
        return CpuCount(self.busy, source=self.source)

    def pin(self, share: float | None) -> None:
        self.share, self.pinned = share, True


TRUE = Cost(0.001604, 0.000063, 0.00055)


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
    emitted: dict[str, Any] = field(default_factory=dict)
    believed: Cost = TRUE  # the costs to begin with
    true: Cost = TRUE  # what the server's work takes
    costs: str = "calibrated"
    flush: int = 1  # seconds after which the server writes its log
    started: bool = True
    probe: Any = None
    pending: Any = None
    host: Any = None
    limits: dict[str, Any] = field(default_factory=dict)
    ahead: float = 0.0  # seconds by which the time of day is
    poor: float = 0.0  # share of clients of a class that has level text

    def __post_init__(self) -> None:
        self.log = self.folder / "access.log"
        self.log.write_text(line(200, 9_000_000) * 100)  # old lines do not count
        self.output = build(self.folder / "opt", **self.emitted)
        self.run, self.cpu = RunDirectory.of(self.output), FakeCpu()
        self.unwritten: list[str] = []
        if self.started:
            self.use(LogMeter([self.log], compile_format()))

    def use(self, meter: Meter, kept: Any = None) -> None:
        machine = machine_of(self.settings, {"site": SiteSettings(self.output, (self.log,))}, self.believed)
        place = SiteEndpoint(meter, self.run)
        reporter = Reporter("control", [self.run], self.lines.append)
        environment = Environment(
            {"site": place},
            self.cpu,
            self.limits,
            self.costs,
            self.probe,
            self.pending,
            self.host,
            reporter=reporter,
            record=self.record,
        )
        self.daemon = ControlDaemon(self.settings, machine, environment, kept)
        self.step()

    def step(self) -> None:
        self.now += 1
        self.daemon.step(self.now, self.now + self.ahead)

    def shares(self) -> dict[str, int]:
        """Number of buckets by level, as Apache's map has it; without it or the flag all have the full site."""
        return self.written() if self.run.flag.exists() else {"full": 256}

    def written(self) -> dict[str, int]:
        names = [row.split()[1] for row in (self.run.path / "buckets.txt").read_text().splitlines()]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def level(self, name: str) -> str:
        """What the server makes of a level: one that its configuration does not know is the usual one."""
        known = (*SIZES, "0") if self.emitted.get("reject", True) else SIZES
        return name if name in known else "lossless"

    def poor_level(self, level: str) -> str:
        """What a poor client gets: the lower of its class and its bucket; without the flag as the key says."""
        acts = self.run.flag.exists() or not self.emitted.get("classes_need_flag", True)
        return "text" if acts and level != "0" else level

    def cost_of(self, level: str) -> float:
        return self.true.rejection if level == "0" else self.true.utilization(1, SIZES[level] / 1000)

    def serve(self, requests: int, seconds: int) -> list[float]:
        """Serve for some seconds; return what each asked for, in CPU seconds. No more than one a second is done."""
        used = []
        for _ in range(seconds):
            asked: dict[str, float] = {}
            for name, count in self.shares().items():
                for share, level in ((1 - self.poor, self.level(name)), (self.poor, self.poor_level(self.level(name)))):
                    asked[level] = asked.get(level, 0.0) + share * requests * count / 256
            wanted = sum(count * self.cost_of(level) for level, count in asked.items())
            for level, count in asked.items():
                done = round(count / max(1.0, wanted))
                self.unwritten += [line(503, 0) if level == "0" else line(200, SIZES[level])] * done
            if int(self.now) % self.flush == 0:
                with self.log.open("a") as file:
                    file.writelines(self.unwritten)
                self.unwritten = []
            if not self.cpu.pinned:
                self.cpu.share = min(1.0, wanted)
            used.append(wanted)
            self.step()
        return used

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
    bench.serve(450, 30)
    assert "0" in bench.shares()
    assert bench.status()["sites"]["site"]["U"] == pytest.approx(0.58, abs=0.02)
    assert bench.status()["sites"]["site"]["rejected"] > 50


def test_nobody_is_rejected_where_that_saves_nothing(tmp_path: Path) -> None:
    """Else U stays above the bound at m = 0, and the way back is barred by rejections that cost more than pages."""
    bench = Bench(tmp_path, ControlSettings(rejection_ms=2.0), true=replace(TRUE, rejection=0.002))
    assert any("a rejection saves too little against level text: nobody is rejected" in line for line in bench.lines)
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


def test_what_the_server_uses_decides_where_the_log_is_silent(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.cpu.source = "group"
    bench.serve(200, 10)
    before = bench.status()["sites"]["site"]["m"]
    bench.cpu.pin(0.9)
    for _ in range(5):
        bench.step()
    assert bench.status()["sites"]["site"]["m"] < before
    assert sum("and the log is silent" in text for text in bench.lines) == 1


def test_what_the_server_uses_decides_where_the_log_is_lost(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.cpu.source = "group"
    bench.serve(200, 10)
    before = bench.status()["sites"]["site"]["m"]
    bench.log.unlink()
    bench.cpu.pin(0.9)
    for _ in range(5):
        bench.step()
    assert bench.status()["sites"]["site"]["m"] < before
    assert sum("there is no log" in text and "what the server uses decides" in text for text in bench.lines) == 1


def test_a_host_that_is_busy_with_other_work_is_no_reason_to_stay(bench: Bench) -> None:
    bench.serve(200, 10)
    bench.cpu.pin(0.9)
    bench.serve(0, 20)
    assert bench.shares() == {"full": 256}


def test_a_lost_cpu_sensor_costs_learning_only(bench: Bench) -> None:
    bench.cpu.pin(None)
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
        assert bool(bench.written()) is left
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
    assert not bench.written()
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


# ---- what made an outage of an idle server

TODAY = Cost(0.00002, 0.0000008, 0.00002)  # nginx on a machine of 2020


def own(folder: Path, **changes: Any) -> Bench:
    """A bench whose CPU is that of the server's own processes."""
    bench = Bench(folder, started=False, **changes)
    bench.cpu.source = "workers"
    bench.use(LogMeter([bench.log], compile_format()))
    return bench


@pytest.mark.parametrize("costs", ["calibrated", "self-test"])
def test_an_idle_server_is_left_alone_whatever_is_believed_of_its_costs(tmp_path: Path, costs: str) -> None:
    bench = own(tmp_path, believed=Cost(), true=TODAY, costs=costs)  # of 1999: 3.5 CPUs for 1,200 requests a second
    for _ in range(100):
        bench.serve(1200, 1)
        assert bench.shares() == {"full": 256}
    assert not bench.run.flag.exists()
    record = bench.status()
    assert record["costs"]["learnt"] is True  # although pages of one size tell no a from b
    assert record["costs"]["request_ms"] + 64 * record["costs"]["kilobyte_ms"] == pytest.approx(0.0712, rel=0.1)


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_costs_that_are_wrong_by_ten_times_hold_the_bound(tmp_path: Path, factor: float) -> None:
    wrong = Cost(TRUE.request * factor, TRUE.kilobyte * factor, TRUE.rejection * factor)
    bench = own(tmp_path, believed=wrong)
    used = [*bench.serve(60, 30), *bench.serve(240, 60)]
    assert max(used[:30]) < 0.4
    assert not any("0" in bench.shares() for used in used[:30])
    assert all(one <= 0.68 for one in used[36:])
    assert sum(used[60:]) / 30 == pytest.approx(0.58, abs=0.03)


def test_a_step_is_met_within_five_seconds(tmp_path: Path) -> None:
    bench = own(tmp_path)
    bench.serve(40, 20)
    used = bench.serve(320, 20)  # 4.7 times the bound
    assert used[0] > 1.7
    assert max(used[5:]) <= 0.68


def test_a_server_that_is_full_all_at_once_gets_a_sample_before_its_time(tmp_path: Path) -> None:
    bench = own(tmp_path)
    bench.serve(100, 20)
    assert bench.written() == {"full": 256}
    samples = []
    for quarter in range(1, 9):
        with bench.log.open("a") as log:
            log.write(line(200, 64_000) * 250)
        bench.cpu.share = 0.25  # all that there is in a quarter of a second
        bench.cpu.busy += bench.cpu.share
        bench.daemon.step(bench.now + quarter / 4, bench.now + quarter / 4)
        samples.append(bench.written())
    assert samples[0] != {"full": 256}  # a quarter of a second after the begin
    assert set(samples[2]) <= {"text", "0"}


def test_what_a_full_server_is_asked_for_tells_a_crowd_where_its_share_does_not(tmp_path: Path) -> None:
    """Of few visitors each second differs: chance alone explains that such a server is full for a moment."""
    found = {}
    for pages in (1, 600):
        (tmp_path / str(pages)).mkdir()
        bench = own(tmp_path / str(pages))
        for views in (3, 1, 4, 2, 1, 5, 2, 3, 1, 4) * 3:
            bench.serve(8 * views, 1)
        with bench.log.open("a") as log:
            log.write(line(200, 9_000) * pages)
        bench.cpu.busy += 0.25
        bench.daemon.step(bench.now + 0.25, bench.now + 0.25)
        found[pages] = bench.written()
    assert found[1] == {"full": 256}
    assert found[600] != {"full": 256}


def test_pages_are_compared_by_the_time_that_their_lines_are_from(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("")
    meter = LogMeter([log], compile_format())
    with log.open("a", buffering=1) as file:
        file.write(line(200, 900) * 10 + line(200, 900).replace("/ ", "/a.png ") * 40)
        assert meter.growth(1) == 0  # nothing is usual yet
        assert meter.read(1).requests == 50
        file.write(line(200, 900) * 5)
        assert meter.growth(0.5) == 1  # with those of the second before
        assert [meter.growth(0.25) for _ in range(3)] == [0.0] * 3
        file.write(line(200, 900) * 5)  # a log that is written once a second
        assert meter.growth(0.25) == 0.5
    assert meter.read(2).requests == 5  # nothing is counted twice, or lost


def test_the_first_lines_after_a_long_silence_count_for_one_sample(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("")
    meter = LogMeter([log], compile_format())
    assert [meter.read(1).requests for _ in range(40)] == [0.0] * 40
    with log.open("a") as file:
        file.write(line(200, 900) * 100)
    assert meter.read(1).requests == 100


def test_every_sample_goes_to_the_audit_on_demand(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ControlSettings(audit_all=True))
    bench.serve(20, 5)
    rows = [json.loads(row) for row in (bench.run.path / "audit-control.jsonl").read_text().splitlines()]
    samples = [row for row in rows if row["event"] == "sample"]
    assert len(samples) == 6  # one at the begin
    assert samples[-1]["sites"]["site"]["R"] == 20


def test_figures_are_served_on_loopback_alone() -> None:
    server = serve_metrics(0, lambda: "")
    assert server.server_address[0] == "127.0.0.1"
    server.shutdown()
    server.server_close()


def test_between_two_samples_nothing_is_done_where_the_server_is_not_full(tmp_path: Path) -> None:
    bench = own(tmp_path)
    bench.serve(100, 5)
    before = bench.status()
    for quarter in (1, 2, 3):
        bench.cpu.busy += 0.2
        bench.daemon.step(bench.now + quarter / 4, bench.now + quarter / 4)
    assert bench.status() == before


def test_nobody_is_rejected_while_the_measured_share_is_below_the_bound(tmp_path: Path) -> None:
    bench = own(tmp_path, believed=Cost(0.1, 0.01, 0.0001), settings=ControlSettings(learn=False))
    for _ in range(40):
        bench.serve(60, 1)
        assert "0" not in bench.shares()


def test_rejections_end_at_once_when_the_measured_share_falls(tmp_path: Path) -> None:
    bench = own(tmp_path)
    bench.serve(500, 30)
    assert bench.shares()["0"] == 128  # the ceiling: control.reject_most
    bench.serve(20, 2)
    assert "0" not in bench.shares()


def test_what_a_rejection_costs_is_learnt_and_ends_rejections_that_save_nothing(tmp_path: Path) -> None:
    bench = own(tmp_path, believed=replace(TRUE, rejection=0.0001), true=replace(TRUE, rejection=0.0019))
    bench.serve(500, 60)
    assert bench.status()["costs"]["rejection_ms"] == pytest.approx(1.9, rel=0.1)
    assert bench.shares() == {"text": 256}


def test_what_is_only_assumed_of_rejections_follows_what_is_learnt_of_requests(tmp_path: Path) -> None:
    """They are as dear as pages here: a cost of before would allow them once requests are known to cost more."""
    dear = replace(TRUE, rejection=TRUE.request)
    bench = own(tmp_path, believed=Cost(0.0001, 0.00002, 0.0001), true=dear)
    for requests in (60, 120, 240, 500):
        for _ in range(30):
            bench.serve(requests, 1)
            assert "0" not in bench.shares()


def test_level_0_is_never_written_where_the_configuration_does_not_know_it(tmp_path: Path) -> None:
    bench = own(tmp_path, emitted={"reject": False})
    assert any("the emitted configuration does not reject: nobody is rejected" in line for line in bench.lines)
    for requests in (60, 300, 1000):
        for _ in range(15):
            bench.serve(requests, 1)
            assert "0" not in bench.written()
    assert bench.shares() == {"text": 256}
    write_override(bench.run, Override("reject", bench.now + 10))
    bench.step()
    assert bench.written() == {"text": 256}


def test_without_a_calibration_the_first_minute_only_measures(tmp_path: Path) -> None:
    bench = own(tmp_path, costs="self-test")
    bench.serve(240, 58)
    assert not bench.run.flag.exists()
    assert any("would: m = " in line for line in bench.lines)
    assert bench.status()["shadow"] == "nothing was calibrated: the first 60 s only measure"
    used = bench.serve(240, 12)
    assert used[-1] == pytest.approx(0.58, abs=0.05)


def test_what_a_person_forces_is_done_in_the_first_minute_too(tmp_path: Path) -> None:
    bench = own(tmp_path, costs="self-test")
    bench.serve(20, 5)
    write_override(bench.run, Override("text", bench.now + 4))
    bench.serve(20, 2)
    assert bench.shares() == {"text": 256}
    bench.serve(20, 5)
    assert not bench.run.flag.exists()


def test_a_shadow_changes_nothing_for_the_server(tmp_path: Path) -> None:
    RunDirectory.of(tmp_path / "opt").set_flag(True)  # by another daemon, which is not in shadow
    bench = own(tmp_path, settings=ControlSettings(shadow=True))
    assert bench.run.flag.exists()
    bench.run.set_flag(False)
    bench.serve(300, 30)
    assert not bench.run.flag.exists()
    assert not (bench.run.path / "buckets.txt").exists()
    assert not has_mode_daemon(daemon_statuses(bench.run, bench.now))  # that would obey an override
    assert bench.status()["sites"]["site"]["m"] < 3
    bench.daemon.stop(bench.now)


def test_the_kill_switch(tmp_path: Path) -> None:
    bench = own(tmp_path)
    bench.serve(240, 20)
    assert bench.run.flag.exists()
    (bench.run.path / "off").touch()
    bench.serve(240, 5)
    assert not bench.run.flag.exists()
    assert any("shadow: the kill switch is pulled" in line for line in bench.lines)
    (bench.run.path / "off").unlink()
    assert bench.serve(240, 10)[-1] == pytest.approx(0.58, abs=0.05)


@pytest.mark.parametrize("source", ["host", "workers"])
def test_a_log_that_is_written_every_five_seconds(tmp_path: Path, source: str) -> None:
    bench = Bench(tmp_path, flush=5, started=False)
    bench.cpu.source = source
    bench.use(LogMeter([bench.log], compile_format()))
    for _ in range(60):  # U is 0.28
        bench.serve(50, 1)
        assert bench.shares() == {"full": 256}
    used = bench.serve(200, 120)
    assert sum(used[60:]) / 60 == pytest.approx(0.58, abs=0.06)


def test_a_load_at_the_edge_does_not_come_and_go(tmp_path: Path) -> None:
    """For ten minutes: m moves by less than a level, and the flag does not flap."""
    bench, chance = own(tmp_path), random.Random(1)
    for requests in (103, 200):
        ms, flags = [], 0
        for second in range(600):
            before = bench.run.flag.exists()
            bench.serve(round(chance.gauss(requests, requests**0.5)), 1)
            flags += bench.run.flag.exists() is not before
            if second > 60:
                ms.append(bench.status()["sites"]["site"]["m"])
        assert max(ms) - min(ms) <= 1, requests
        assert flags <= 10, requests


@pytest.mark.parametrize("needs_flag", [True, False])
def test_classes_and_control_do_not_work_against_each_other(tmp_path: Path, needs_flag: bool) -> None:
    """At 110 requests a second poor clients make the difference: without the flag U is 0.62, with it 0.45."""
    emitted = {"classes": True, "classes_need_flag": needs_flag}
    bench = own(tmp_path, emitted=emitted, poor=0.4)
    for requests in (110, 150):
        bench.serve(requests, 60)
        ms, flags = [], 0
        for _ in range(300):
            before = bench.run.flag.exists()
            bench.serve(requests, 1)
            flags += bench.run.flag.exists() is not before
            ms.append(bench.status()["sites"]["site"]["m"])
        assert max(ms) - min(ms) <= 1
        assert flags <= 8


def test_what_was_learnt_outlives_a_restart(tmp_path: Path) -> None:
    bench = own(tmp_path)
    bench.serve(240, 60)
    m = bench.status()["sites"]["site"]["m"]
    bench.daemon.stop(bench.now)
    assert not bench.run.flag.exists()
    record, age = kept(bench.run, "control", bench.now + 3)
    assert kept_cost(record).request == pytest.approx(TRUE.request, rel=0.2)
    bench.use(LogMeter([bench.log], compile_format()), (record, age))
    assert bench.run.flag.exists()
    assert bench.status()["sites"]["site"]["m"] == pytest.approx(m, abs=0.01)
    assert bench.status()["kept_seconds"] == 3


@pytest.mark.parametrize(("age", "m"), [(119.0, 1.5), (121.0, 3.0)])
def test_an_m_of_long_ago_is_that_of_another_load(tmp_path: Path, age: float, m: float) -> None:
    bench = own(tmp_path)
    bench.use(LogMeter([bench.log], compile_format()), ({"m": {"site": 1.5}}, age))
    assert bench.status()["sites"]["site"]["m"] == m


def test_answers_that_take_longer_than_usual_lower_the_limit(tmp_path: Path) -> None:
    settings = ControlSettings(policy="gradient")
    bench = own(tmp_path, settings=settings)
    bench.cpu.pin(0.9)

    def seconds(took: float, count: int) -> float:
        for _ in range(count):
            with bench.log.open("a") as file:
                file.write((line(200, 9000)[:-1] + f" at=1.0 took={took}s\n") * 20)
            bench.step()
        return bench.status()["sites"]["site"]["m"]

    assert seconds(0.010, 10) == 3
    assert seconds(0.100, 10) <= 1
    assert seconds(0.010, 40) == 3


def test_a_status_page_that_does_not_answer_in_a_busy_server_is_load(tmp_path: Path) -> None:
    @dataclass
    class Mute:
        url: str = "http://127.0.0.1/"
        waited: float = 3.0

        def read(self) -> ServerStatus:
            raise Unanswered("no answer after 3 s")

    bench = own(tmp_path, probe=Mute())
    bench.cpu.pin(0.55)  # below the bound, and nobody gets an answer
    bench.serve(20, 5)
    assert bench.status()["by"] == "the status page does not answer"
    assert bench.status()["sites"]["site"]["m"] < 3
    bench.cpu.pin(0.1)
    bench.serve(20, 20)
    assert bench.status()["by"] == "server"
    assert bench.shares() == {"full": 256}


def test_a_full_disk_in_a_crowd_is_said_once_and_the_levels_are_written_once_there_is_room(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("adaptc.serve.state_directory.write_atomic", full)
        bench.serve(200, 20)
        assert bench.shares() == {"full": 256}
    assert [line for line in bench.lines if "No space" in line and "levels stay as they are" in line] == [
        line for line in bench.lines if "write-failed" in line
    ]
    assert sum("write-failed" in line for line in bench.lines) == 1
    bench.serve(200, 20)
    assert bench.run.flag.exists()
    assert bench.status()["sites"]["site"]["U"] == pytest.approx(0.58, abs=0.02)
    assert sum("levels can be written again" in line for line in bench.lines) == 1


def test_a_run_directory_that_was_removed_in_a_crowd_is_made_again(bench: Bench) -> None:
    bench.serve(200, 20)
    shutil.rmtree(bench.run.path)
    bench.serve(200, 5)
    assert bench.run.flag.exists()
    assert set(bench.shares()) <= {"text", "lossless", "full"}
    assert len(list((bench.run.path / "m").iterdir())) == 256


def test_a_sensor_that_fails_is_reported_once_until_it_works_again(bench: Bench) -> None:
    bench.cpu.pin(None)
    bench.serve(20, 5)
    bench.cpu.pin(0.1)
    bench.serve(20, 2)
    said = [line.split(" ", 1)[1] for line in bench.lines if "sensor-" in line]
    assert said == ["sensor-lost: cpu: gone", "sensor-back: cpu"]


def test_a_host_without_pressure_is_said_and_control_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, limits={"pressure": Pressure(tmp_path / "proc/pressure/cpu")})
    bench.serve(200, 20)
    assert sum("sensor-lost: pressure: [Errno 2]" in line for line in bench.lines) == 1
    assert bench.status()["sites"]["site"]["U"] == pytest.approx(0.58, abs=0.02)


def test_samples_that_come_a_little_early_have_a_status_each(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path)
    reporter = Reporter("control", [directory], print)
    for at in (1000.0, 1000.97, 1001.95, 1002.95):
        reporter.status(at, 1.0, {})
        assert directory.read_json("control.json")["at"] == at


@pytest.mark.parametrize("jump", [-86400.0, 86400.0])
def test_a_clock_that_is_set_changes_nothing(bench: Bench, jump: float) -> None:
    bench.serve(200, 20)
    before = bench.status()["sites"]["site"]["m"]
    bench.ahead = jump
    bench.serve(200, 20)
    assert bench.status()["sites"]["site"]["m"] == pytest.approx(before, abs=0.1)
    assert bench.run.flag.exists()
    assert kept(bench.run, "control", bench.now + jump)[1] <= 5


@dataclass
class Page:
    """A status page that takes ``seconds``; None: it is not answered."""

    seconds: float | None = 0.002
    url: str = "http://127.0.0.1/"
    waited: float = 3.0

    def read(self) -> ServerStatus:
        if self.seconds is None:
            raise Unanswered("no answer after 3 s")
        return ServerStatus(seconds=self.seconds)


@pytest.mark.parametrize("late", [0.08, None])
def test_a_server_that_gets_no_cpu_is_no_idle_one(tmp_path: Path, late: float | None) -> None:
    """Other work of the host has the CPU: the server's own share is low, and its status page late."""
    bench = own(tmp_path, probe=Page())
    bench.serve(300, 20)
    before = bench.status()["sites"]["site"]["m"]
    assert before < 2
    bench.cpu.pin(0.1)
    bench.probe.seconds = late
    bench.serve(300, 30)
    assert bench.status()["sites"]["site"]["m"] <= before
    bench.probe.seconds = 0.002
    bench.serve(20, 30)
    assert bench.shares() == {"full": 256}


def test_a_server_whose_work_is_pending_all_the_time_is_no_idle_one(tmp_path: Path) -> None:
    """Without a status page: the threads of the server say how long they wait for a CPU."""

    @dataclass
    class Waiting:
        now: float = 0.5

        def share(self, _elapsed: float, _cpus: float) -> float:
            return self.now

    bench = own(tmp_path, pending=Waiting())
    bench.serve(300, 20)
    before = bench.status()["sites"]["site"]["m"]
    assert before < 2
    bench.cpu.pin(0.1)
    bench.pending.now = 1.0
    bench.serve(300, 30)
    assert bench.status()["sites"]["site"]["m"] <= before
    bench.pending.now = 0.1
    bench.serve(20, 30)
    assert bench.shares() == {"full": 256}


@pytest.mark.parametrize("idle", [True, False])
def test_threads_that_wait_for_each_other_are_not_kept_from_their_cpu(tmp_path: Path, idle: bool) -> None:
    @dataclass
    class Waiting:
        def share(self, _elapsed: float, _cpus: float) -> float:
            return 1.0

    @dataclass
    class Host:
        ticks: float = 0.0

        def read(self) -> CpuCount:
            self.ticks += 1.0
            return CpuCount(self.ticks * (0.7 if idle else 1.0), self.ticks)

    bench = own(tmp_path, pending=Waiting(), host=Host())
    bench.cpu.pin(0.2)
    bench.serve(100, 3)
    bench.cpu.pin(0.8)
    bench.serve(100, 4)
    assert (bench.shares() != {"full": 256}) is idle


def test_a_status_page_that_is_always_slow_keeps_nobody_down(tmp_path: Path) -> None:
    bench = own(tmp_path, probe=Page(0.08))
    bench.serve(300, 20)
    assert bench.status()["sites"]["site"]["m"] < 2
    bench.cpu.pin(0.1)
    bench.serve(20, 30)
    assert bench.shares() == {"full": 256}


# ---- what the server can do


def emitted(tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str, **settings: Any) -> tuple[int, str]:
    output = build(tmp_path / "opt", **settings)
    (tmp_path / "a.log").touch()
    code = run(["control", str(tmp_path / "a.log"), "-o", str(output), *more])
    return code, capsys.readouterr().err


def test_a_configuration_without_buckets_is_no_actuator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = emitted(tmp_path, capsys, buckets=False)
    assert code == ExitCode.USAGE
    assert "has no buckets, so there is nothing that control could set: say buckets = true in [serve]" in said


def test_without_an_emitted_configuration_nothing_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = build(tmp_path / "opt")
    (output / KNOBS).unlink()
    assert run(["control", str(tmp_path / "a.log"), "-o", str(output)]) == ExitCode.USAGE
    assert "knobs.json is missing: nothing says what the server can do; run adaptc emit" in capsys.readouterr().err


def test_a_server_that_reads_another_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere").mkdir()
    code, said = emitted(tmp_path, capsys, state=str(tmp_path / "elsewhere"))
    assert code == ExitCode.USAGE
    assert "elsewhere (serve.state), and daemons write" in said


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
    assert rows[0].split()[:3] == ["1002.0", "site", "177"]  # more it cannot answer


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


def test_a_line_is_given_in_megabits_and_counts_in_kilobytes() -> None:
    assert ControlSettings(line=8).tuning().line == 1000


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


def test_relative_paths_start_from_the_directory_of_the_file(tmp_path: Path) -> None:
    """A unit of systemd runs in "/"."""
    source = parse_toml(SITES.format(kilobytes=1000), str(tmp_path / "adaptc.toml"))
    settings, sites = read_control(source.part((), {**source.values, "logs": "all.log"}))
    assert settings.logs == (tmp_path / "all.log",)
    assert (sites["V1"].output, sites["V2"].logs) == (tmp_path / "opt", (tmp_path / "b.log",))
    assert read_control(source, ["logs=a.log"])[0].logs == (Path("a.log"),)


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
        (
            "[sites.V1]\noutput='opt'\nlogs=['a', 'b']\n[sites.V2]\noutput='opt2'\nlogs='./x/../b'\n",
            "adaptc.toml:4: the sites V1 and V2 have one log",
        ),
        (
            "[sites.V1]\noutput='opt'\nstatus_url='http://a/s'\n[sites.V2]\noutput='opt2'\nstatus_url='http://a/s'\n",
            "adaptc.toml:4: the sites V1 and V2 have one status_url",
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

    def once(daemon: ControlDaemon, interval: float, _locks: object) -> None:
        steps.append(interval)
        daemon.step(1, time.time())
        daemon.stop(time.time())

    monkeypatch.setattr("adaptc.daemons.loop.run", once)
    assert run(["control", str(tmp_path / "a.log"), "-o", str(output), "--set", "interval=2s"]) == ExitCode.DONE
    assert steps == [2.0 / CHECKS]
    assert "stopped: the flags expire by policy normal" in capsys.readouterr().err
