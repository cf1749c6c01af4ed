"""``adaptc switch``: sensors in, the flag out; overrides, locks, what happens when it dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.samples.monitoring import unknown_metrics
from tests.waiting import PATIENCE, wait_until

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.core.diagnostics import Busy
from adaptc.daemons.classify.tables import Table, write_markers, write_text
from adaptc.daemons.guard import Guard, watch
from adaptc.daemons.mode import FRESH, keep, kept
from adaptc.daemons.reporter import Reporter
from adaptc.daemons.run_directory import Override, RunDirectory, clear_override, read_override, write_override
from adaptc.daemons.sensors.cpu import CpuCount
from adaptc.daemons.sensors.panel import Panel, PassiveOpens
from adaptc.daemons.sensors.status_page import BackgroundPage, ServerStatus, Unanswered
from adaptc.daemons.status import daemon_statuses
from adaptc.daemons.switch.daemon import Environment, SwitchDaemon
from adaptc.daemons.switch.settings import SwitchSettings
from adaptc.serve import state_directory
from adaptc.serve.purge import Purges


@dataclass
class FakeCpu:
    """CPU time that grows by a share of the seconds between two reads; ``None`` is a sensor that fails."""

    share: float | None = 0.0
    every: float = 0.5
    cpus: float = 1.0
    busy: float = field(default=0.0)

    def read(self) -> CpuCount:
        if self.share is None:
            raise OSError("gone")
        self.busy += self.share * self.every
        return CpuCount(self.busy)


@dataclass
class Bench:
    """A daemon with a clock of its own."""

    output: Path
    settings: SwitchSettings = field(default_factory=SwitchSettings)
    lines: list[str] = field(default_factory=list)
    cpu: FakeCpu = field(default_factory=FakeCpu)
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.run = RunDirectory.of(self.output)
        self.reporter = Reporter("switch", [self.run], self.lines.append)
        self.daemon = SwitchDaemon(self.settings, Environment(Panel(self.cpu), self.run, reporter=self.reporter))

    def let(self, share: float | None, seconds: float) -> bool:
        """Go on for some seconds at a load; return whether the flag is set."""
        self.cpu.share = share
        for _ in range(round(seconds * 2)):
            self.now += 0.5
            self.daemon.step(self.now, self.now)
        return self.run.flag.exists()

    def audit(self) -> list[dict]:
        return [json.loads(line) for line in (self.run.path / "audit-switch.jsonl").read_text().splitlines()]


def test_a_flag_that_cannot_be_written_is_said_once_and_set_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("adaptc.serve.state_directory.write_atomic", full)
        assert not bench.let(0.95, 10)
    assert sum("write-failed" in line for line in bench.lines) == 1
    assert bench.let(0.95, 1)
    shutil.rmtree(bench.run.path)
    assert bench.let(0.95, 1)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_flag_follows_the_load(bench: Bench) -> None:
    assert not bench.let(0.5, 10)
    assert bench.let(0.95, 2)
    assert bench.let(0.1, 8)
    assert not bench.let(0.1, 60)


def test_every_decision_stands_in_the_audit_with_its_inputs(bench: Bench) -> None:
    bench.let(0.95, 2)
    [entry] = bench.audit()
    assert entry["event"] == "optimized"
    assert entry["rule"] == "strained 2 times in a row"
    assert entry["inputs"] == {"cpu": 0.95}
    assert any("optimized: strained 2 times in a row (cpu 0.95)" in line for line in bench.lines)


def test_all_samples_in_the_audit_on_demand(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SwitchSettings(audit_all=True))
    bench.let(0.5, 2)
    assert [entry["event"] for entry in bench.audit()] == ["sample"] * 4


def test_an_audit_that_is_full_begins_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.daemons.reporter._LARGEST", 100)
    for number in range(5):
        bench.reporter.decision(number, "remark", "a rule of some length to fill the file")
    assert (bench.run.path / "audit-switch.jsonl.1").stat().st_size > 100


def test_a_lost_sensor_keeps_the_flag_and_is_told_once(bench: Bench) -> None:
    bench.let(0.95, 2)
    assert bench.let(None, 300)
    assert [entry["event"] for entry in bench.audit()] == ["optimized", "sensor-lost", "remark"]
    [status] = daemon_statuses(bench.run, bench.now)
    assert status.record["lost"] == ["cpu"]
    bench.let(0.95, 1)
    assert [entry["event"] for entry in bench.audit()][3:] == ["sensor-back", "remark"]


def test_the_flag_is_put_again_when_somebody_removes_it(bench: Bench) -> None:
    bench.let(0.95, 2)
    bench.run.flag.unlink()
    assert bench.let(0.95, 1)


def test_the_end_removes_the_flag_or_leaves_it(tmp_path: Path) -> None:
    for expire, left in (("normal", False), ("static", True)):
        bench = Bench(tmp_path / expire, SwitchSettings(expire=expire))
        bench.let(0.95, 2)
        bench.daemon.stop(bench.now)
        assert bench.run.flag.exists() is left
        [status] = daemon_statuses(bench.run, bench.now)
        assert not status.is_alive


def test_caches_forget_the_levels_when_the_flag_goes(bench: Bench) -> None:
    program = bench.output / "note"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{bench.output}/noted"\n')
    program.chmod(0o755)
    purges = Purges((f"command:{program}", "command:false"), "", ("ad_site",), ("moderate", "text"))
    environment = Environment(Panel(bench.cpu), bench.run, reporter=bench.reporter, purges=purges)
    bench.daemon = SwitchDaemon(bench.settings, environment)
    assert bench.let(0.95, 4)
    assert not (bench.output / "noted").exists()
    assert not bench.let(0.05, 400)
    wait_until(lambda: (bench.output / "noted").exists())
    assert (bench.output / "noted").read_text() == "label ad_site-moderate ad_site-text\n"
    purges.problems.append("varnish: it is down")
    bench.let(0.05, 1)
    assert any("purge-failed: varnish: it is down" in line for line in bench.lines)


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    cpu = FakeCpu(0.95)
    daemon = SwitchDaemon(SwitchSettings(), Environment(Panel(cpu), reporter=Reporter("switch", [], lines.append)))
    for number in range(10):
        daemon.step(number / 2, number / 2)
    daemon.stop(5)
    assert any("optimized" in line for line in lines)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_costs_records_not_control(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adaptc.daemons.reporter.os.write", full)
    monkeypatch.setattr(RunDirectory, "write_json", full)
    assert bench.let(0.95, 2)
    assert bench.reporter.failures > 1
    assert len([line for line in bench.lines if "control goes on" in line]) == 1


# ---- overrides


def test_a_person_is_obeyed_until_the_time_is_over(bench: Bench) -> None:
    bench.let(0.1, 1)
    write_override(bench.run, Override("lossless", bench.now + 10))
    assert bench.let(0.1, 5)
    assert not bench.let(0.1, 6)
    assert [entry["rule"] for entry in bench.audit()] == ["forced", "automatic again"]


def test_the_original_by_force_under_overload(bench: Bench) -> None:
    assert bench.let(0.95, 3)
    write_override(bench.run, Override("original", bench.now + 10))
    assert not bench.let(0.95, 2)
    assert clear_override(bench.run)
    assert bench.let(0.95, 2)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"level": 3, "until": 9e9}', '{"level": "x"}', '{"level": "x", "until": "y"}']
)
def test_an_override_that_is_none(bench: Bench, content: str) -> None:
    (bench.run.path / "override.json").write_text(content)
    assert read_override(bench.run, 0) is None


def test_an_override_that_cannot_be_read_ends_no_daemon(bench: Bench) -> None:
    (bench.run.path / "override.json").mkdir()
    assert bench.let(0.95, 2)


@pytest.fixture
def _strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_strict_umask")
def test_servers_and_other_users_read_what_they_have_to_whatever_the_umask(tmp_path: Path) -> None:
    """The daemon runs as one user, the server as another, and a person forces levels as a third."""
    state_directory.create(tmp_path / "opt/run", "full", "txt")
    bench = Bench(tmp_path / "opt")
    assert bench.let(0.95, 2)
    bench.run.make("m/deep")
    write_override(bench.run, Override("text", bench.now + 10))
    for path in [bench.run.path, *bench.run.path.rglob("*")]:
        wanted = 0 if path.name.startswith("audit") or path.parent.name == "m" else 0o044
        assert path.stat().st_mode & wanted == wanted, path
        assert not path.is_dir() or path.stat().st_mode & 0o011 == 0o011, path


def test_a_lock_file_of_another_user_who_is_gone_is_no_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has tried the daemon as root, and now it runs as another user, who owns the directory."""
    directory, opened, may_write = RunDirectory.of(tmp_path), os.open, True
    with directory.locked("mode", "sets the mode"):
        pass

    def refuse(path: str, flags: int, *mode: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied", path)
        return opened(path, flags, *mode)

    monkeypatch.setattr("adaptc.core.fs.os.open", refuse)
    monkeypatch.setattr("adaptc.core.fs.os.access", lambda *_: may_write)
    with directory.locked("mode", "sets the mode"), pytest.raises(Busy), directory.locked("mode", "sets the mode"):
        raise AssertionError("never")
    may_write = False
    with pytest.raises(PermissionError, match="lock"), directory.locked("mode", "sets the mode"):
        raise AssertionError("never")


# ---- figures


def test_figures_for_prometheus(bench: Bench) -> None:
    port = bench.reporter.serve(0)
    bench.let(0.95, 2)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE adaptc_switch_optimized gauge\nadaptc_switch_optimized 1\n" in text
    assert "# TYPE adaptc_switch_switches_total counter\nadaptc_switch_switches_total 1\n" in text
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/")
    assert unknown_metrics("switch", bench.reporter._figures) == set()


# ---- the guard


def test_the_guard_resets_flag_and_buckets_at_the_end_of_its_input(tmp_path: Path) -> None:
    flag, (reader, writer) = tmp_path / "opt.do", os.pipe()
    state_directory.create(tmp_path, "lossless", "txt")
    state_directory.write_buckets(tmp_path, dict.fromkeys(state_directory.BUCKETS, "0"), "lossless")
    flag.touch()
    os.write(writer, b"...")
    os.close(writer)
    watch(reader, 5, [RunDirectory(tmp_path)])
    assert not flag.exists()
    assert list((tmp_path / "m").iterdir()) == []
    assert (tmp_path / "buckets.txt").read_bytes() == b""


@pytest.mark.parametrize("has_successor", [True, False])
def test_a_daemon_that_is_started_again_after_it_was_killed_keeps_the_flag(tmp_path: Path, has_successor: bool) -> None:
    flag, run = tmp_path / "opt.do", RunDirectory(tmp_path)
    flag.touch()
    run.write_json("control.json", {"at": 1.0})
    guard = Guard([run], 60, PATIENCE if has_successor else 0.2)
    assert guard._process.stdin is not None
    guard._process.stdin.close()
    if has_successor:
        wait_until(lambda: run.write_json("control.json", {"at": 2.0}) or guard._process.poll() is not None)
    guard._process.wait()
    assert flag.exists() is has_successor


def test_a_report_of_a_clock_that_was_set_back_since_is_no_successor(tmp_path: Path) -> None:
    flag, run = tmp_path / "opt.do", RunDirectory(tmp_path)
    flag.touch()
    run.write_json("control.json", {"at": 1.0})
    os.utime(tmp_path / "control.json", (time.time() + 3600,) * 2)
    guard = Guard([run], 60, 0.2)
    assert guard._process.stdin is not None
    guard._process.stdin.close()
    guard._process.wait()
    assert not flag.exists()


def test_what_was_kept_before_the_clock_was_set_back_is_known_and_not_its_age(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    keep(run, "switch", 7200.0, safe=3)
    record, age = kept(run, "switch", 3600.0)
    assert record["safe"] == 3
    assert age == FRESH  # the mode is not gone on with
    assert kept(run, "switch", 7230.0)[1] == 30


def test_what_was_learnt_a_month_ago_is_of_another_machine(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path)
    keep(directory, "control", 1000.0, costs=1)
    assert [kept(directory, "control", 1000.0 + days * 86400) is not None for days in (29, 31)] == [True, False]


def test_the_guard_leaves_the_flag_after_a_farewell(tmp_path: Path) -> None:
    flag, (reader, writer) = tmp_path / "opt.do", os.pipe()
    flag.touch()
    os.write(writer, b"...q")
    watch(reader, 5, [RunDirectory(tmp_path)])
    assert flag.exists()
    os.close(writer)


def test_a_daemon_that_hangs_loses_its_flag(tmp_path: Path) -> None:
    flag = tmp_path / "opt.do"
    flag.touch()
    guard = Guard([RunDirectory(tmp_path)], 0.2)
    try:
        wait_until(lambda: not flag.exists())
    finally:
        guard.close()


def test_a_guard_that_died_is_started_again(tmp_path: Path) -> None:
    guard = Guard([RunDirectory(tmp_path)], 5)
    first = guard._process
    first.kill()
    first.wait()
    guard.beat()
    assert guard._process.pid != first.pid
    guard.close()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Start ``adaptc switch``, which takes every load for overload."""
    running: list[subprocess.Popen] = []

    def start(*options: str) -> subprocess.Popen:
        easy = ["--set", "interval=0.1", "--set", "dwell=0", "--set", "enter=0.05", "--set", "leave=0.01"]
        command = [sys.executable, "-P", "-m", "adaptc", "switch", "-o", str(tmp_path), *easy, *options]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for one in running:
        one.kill()
        one.communicate()


def is_live(output: Path) -> bool:
    return any(one.is_alive for one in daemon_statuses(RunDirectory(output / "run"), time.time()))


def test_a_daemon_that_is_killed_leaves_no_flag(tmp_path: Path, started: Callable[..., subprocess.Popen]) -> None:
    daemon = started()
    wait_until(lambda: is_live(tmp_path))
    assert run(["force", "reject", "-o", str(tmp_path), "--for", "1h"]) == ExitCode.DONE
    flag = tmp_path / "run/opt.do"
    wait_until(flag.exists)
    daemon.kill()
    daemon.wait()
    wait_until(lambda: not flag.exists())


def test_sigterm_ends_it_well(tmp_path: Path, started: Callable[..., subprocess.Popen]) -> None:
    daemon = started()
    wait_until(lambda: is_live(tmp_path))
    daemon.send_signal(signal.SIGTERM)
    _, said = daemon.communicate(timeout=PATIENCE)
    assert daemon.returncode == ExitCode.DONE
    assert "stopped: the flag expires by policy normal" in said
    assert not (tmp_path / "run/opt.do").exists()


def test_two_daemons_do_not_share_a_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = RunDirectory.of(tmp_path)
    with directory.locked("mode", "sets the mode"):
        with pytest.raises(Busy), directory.locked("mode", "sets the mode"):
            raise AssertionError("never")
        assert run(["switch", "-o", str(tmp_path)]) == ExitCode.BUSY
    assert "another daemon sets the mode" in capsys.readouterr().err


def test_levels_that_a_controller_left_do_not_hold_for_the_flag_of_the_switch(
    tmp_path: Path, started: Callable[..., subprocess.Popen]
) -> None:
    directory = RunDirectory.of(tmp_path)
    directory.write("buckets.txt", b"00 0\n")
    (directory.make("m") / "00.0").touch()
    started()
    wait_until(lambda: is_live(tmp_path))
    assert (tmp_path / "run/buckets.txt").read_bytes() == b""
    assert list((tmp_path / "run/m").iterdir()) == []


# ---- commands


def test_replay_prints_decisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join(json.dumps({"at": at, "cpu": 0.95, "rate": 9}) + "\n" for at in range(4)))
    assert run(["switch", "--replay", str(trace)]) == ExitCode.DONE
    assert capsys.readouterr().out == "1 optimized: strained 2 times in a row\n"
    assert run(["switch", "--replay", str(trace), "--policy", "gopshtein", "--format", "json"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out) == [{"at": 0, "decision": "optimized", "rule": "cpu above threshold"}]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "trace.jsonl:1: not JSON"),
        ('{"cpu": 1}', "trace.jsonl:1: a sample is an object with a number at"),
        ('{"at": 1, "cpu": "x"}', "trace.jsonl:1: the fields of a sample are numbers: at, cpu, rate, idle, unanswered"),
    ],
)
def test_a_trace_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, complaint: str) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(line)
    assert run(["switch", "--replay", str(trace)]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def test_a_recorded_trace_replays_to_the_same_decisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    cpu, trace = FakeCpu(), tmp_path / "trace.jsonl"
    environment = Environment(Panel(cpu), reporter=Reporter("switch", [], lines.append), record=trace)
    daemon = SwitchDaemon(SwitchSettings(), environment)
    for number in range(200):
        cpu.share = 0.95 if 20 < number < 40 else 0.1
        daemon.step(number / 2, number / 2)
    assert run(["switch", "--replay", str(trace)]) == ExitCode.DONE
    replayed = capsys.readouterr().out.splitlines()
    assert [line.split(" ", 1)[1] for line in replayed] == [line.split(" ", 1)[1].partition(" (")[0] for line in lines]
    assert len(replayed) == 2


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("enter=2", "--set enter=2: enter must be a number from 0.05 to 1, not 2"),
        ("leave=0.9", "leave (0.9) must be below enter (0.85)"),
        ("dwell=30m", "dwell (1800 s) must not be above dwell_most (960 s)"),
        ("dwel=3", "--set dwel=3: unknown key dwel, did you mean dwell?"),
        ("dwell", "--set dwell: write KEY=VALUE"),
        ("interval=10s", 'interval must be a time from 0.1 s to 5 s, such as 10, "500ms" or "5m", not "10s"'),
        ("status_url=file:///etc/passwd", "status_url must be an http URL"),
        ("connections=2", "connections must be a list of two numbers, not 2"),
        ("audit_all=1", "audit_all must be true or false, not 1"),
    ],
)
def test_settings_that_are_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, complaint: str
) -> None:
    assert run(["switch", "-o", str(tmp_path), "--set", option]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def test_settings_of_the_configuration_have_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "adaptc.toml"
    config.write_text('[daemons.switch]\ndwell = "20s"\npolicy = "best"\n')
    assert run(["switch", "--config", str(config)]) == ExitCode.USAGE
    assert f'{config}:3: policy must be one of steady, gopshtein, not "best"' in capsys.readouterr().err
    config.write_text("[daemons.swich]\n")
    assert run(["switch", "--config", str(config)]) == ExitCode.USAGE
    assert f"{config}:1: unknown daemon swich, did you mean switch?" in capsys.readouterr().err


def test_an_output_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["switch", "-o", str(tmp_path / "opt")]) == ExitCode.USAGE
    assert "build the site first, or name it with -o" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["best"], "has no level best; there are original, reject, off, lossless, full"),
        (["lossles"], "has no level lossles, did you mean lossless?"),
        (["full", "--for", "ever"], "--for ever: a time such as 30s, 10m or 2h, 30 days at most"),
        (["full"], "no daemon works in"),
    ],
)
def test_what_cannot_be_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    mean = {"requests": 1, "bytes": 1000, "transfer": 1000}
    levels = [
        {"name": name, "number": number, "title": "", "pages": 1, "mean": mean}
        for name, number in (("full", 4), ("lossless", 3))
    ]
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 1, "levels": levels}))
    assert run(["force", *arguments, "-o", str(tmp_path)]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def test_force_auto_and_status(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["-o", str(bench.output)]
    bench.now = time.time()
    bench.let(0.5, 1)
    assert run(["force", "reject", *output, "--for", "5m"]) == ExitCode.DONE
    assert "reject for 5m; adaptc auto ends it" in capsys.readouterr().out
    bench.let(0.5, 1)
    assert run(["status", *output, "--format", "json"]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert (found["flag"], found["override"]["level"]) == (True, "reject")
    assert found["daemons"][0]["mode"] == "optimized"
    assert run(["status", *output]) == ExitCode.DONE
    text = capsys.readouterr().out
    assert "flag: set, the server sends levels\nthe server obeys: nothing is known; run adaptc emit\n" in text
    assert "forced: reject for another" in text
    assert "switch  works" in text
    assert run(["auto", *output]) == ExitCode.DONE
    assert run(["auto", *output]) == ExitCode.DONE
    assert capsys.readouterr().out == "automatic again\nnothing was forced\n"


def test_the_kill_switch_needs_no_daemon(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["-o", str(bench.output)]
    bench.let(0.95, 2)
    assert bench.run.flag.exists()
    table = Table({"10.0.0.1": "poor"}, {})
    write_text(bench.run, table)
    write_markers(bench.run, table)
    assert run(["force", "off", *output]) == ExitCode.DONE
    assert not bench.run.flag.exists()
    assert (bench.run.path / "classes.txt").read_bytes() == b""
    assert not any((bench.run.path / "c/poor").iterdir())
    assert not bench.let(0.95, 5)
    assert run(["status", *output]) == ExitCode.DONE
    assert "off: the kill switch is pulled; adaptc auto ends it" in capsys.readouterr().out
    assert run(["auto", *output]) == ExitCode.DONE
    assert bench.let(0.95, 1)


def test_a_configuration_without_a_flag_has_nothing_to_switch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "serve").mkdir()
    names = ("full", "text")
    knobs = state_directory.Knobs(("nginx",), "x", "", False, False, False, False, True, True, "full", names, names,
                                  names[:1], str(tmp_path / "run"))  # fmt: skip
    (tmp_path / state_directory.KNOBS).write_bytes(knobs.json())
    assert run(["switch", "-o", str(tmp_path)]) == ExitCode.USAGE
    assert "serve.flag is false: levels are served always" in capsys.readouterr().err


def test_a_shadow_sets_no_flag(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SwitchSettings(shadow=True))
    assert not bench.let(0.95, 5)
    assert [entry["event"] for entry in bench.audit()] == ["optimized"]


# ---- a status page of a server that is full


@dataclass
class FullServer:
    """mod_status on a server without an idle worker, from the time ``full`` on."""

    clock: Callable[[], float]
    full: float
    url: str = "http://127.0.0.1/server-status?auto"

    def read(self) -> ServerStatus:
        if self.clock() >= self.full:
            raise Unanswered("no answer after 0.05 s")
        return ServerStatus(idle=3)


def with_page(bench: Bench, full: float, opens: float = 0.0) -> None:
    page = FullServer(lambda: bench.now, full)
    panel = Panel(bench.cpu, None, page)
    bench.daemon = SwitchDaemon(bench.settings, Environment(panel, bench.run, reporter=bench.reporter))


def test_a_status_page_that_does_not_answer_while_the_cpu_is_busy_is_load(bench: Bench) -> None:
    with_page(bench, full=bench.now + 10)
    assert not bench.let(0.7, 10)
    assert bench.let(0.7, 1.5)  # below enter, but the server has no worker for us
    assert "and the status page does not answer" in bench.lines[-1]


def test_a_status_page_that_does_not_answer_while_the_cpu_is_idle_is_a_lost_sensor(bench: Bench) -> None:
    with_page(bench, full=bench.now + 5)
    assert not bench.let(0.2, 60)


def test_noise_explains_no_overload_of_more_than_five_seconds(bench: Bench) -> None:
    for number in range(100):  # nothing varies more
        bench.let(1.0 if number % 2 else 0.0, 0.5)
    assert not bench.run.flag.exists()
    assert bench.let(0.98, 6)


@pytest.mark.parametrize(("age", "is_set"), [(5, True), (200, False)])
def test_a_restart_in_an_overload_goes_on_in_its_mode(bench: Bench, age: float, is_set: bool) -> None:
    bench.let(0.98, 10)
    assert bench.run.flag.exists()
    record = kept(bench.run, "switch", bench.now + age)  # it was killed: nothing was saved at an end
    bench.run.reset()
    bench.daemon = SwitchDaemon(
        bench.settings, Environment(Panel(bench.cpu), bench.run, reporter=bench.reporter), record
    )
    assert bench.let(0.7, 1) is is_set


def test_a_restart_in_an_overload_remembers_what_is_safe(bench: Bench) -> None:
    bench.let(0.5, 60)
    bench.daemon.stop(bench.now)
    record = kept(bench.run, "switch", bench.now + 5)
    assert record is not None
    assert record[1] == 5
    bench.daemon = SwitchDaemon(
        bench.settings, Environment(Panel(bench.cpu), bench.run, reporter=bench.reporter), record
    )
    assert bench.let(0.95, 2)
    assert bench.let(0.2, 5)
    assert not bench.let(0.2, 20)
    [status] = daemon_statuses(bench.run, bench.now)
    assert status.record["kept_seconds"] == 5


def test_a_start_in_an_overload_without_a_memory_comes_back_after_a_minute(bench: Bench) -> None:
    rates = iter(range(0, 10**9, 20))
    panel = Panel(bench.cpu, PassiveOpens(bench.output / "snmp"))
    bench.daemon = SwitchDaemon(bench.settings, Environment(panel, bench.run, reporter=bench.reporter))

    def let(share: float, seconds: float) -> bool:
        for _ in range(round(2 * seconds)):
            (bench.output / "snmp").write_text(f"Tcp: PassiveOpens\nTcp: {next(rates)}\n")
            bench.let(share, 0.5)
        return bench.run.flag.exists()

    assert let(0.95, 3)
    assert let(0.2, 50)
    assert not let(0.2, 15)


def test_a_page_is_never_waited_for() -> None:
    asked = threading.Event()

    @dataclass
    class Slow:
        url: str = "http://127.0.0.1/"

        def read(self) -> ServerStatus:
            asked.wait(PATIENCE)
            return ServerStatus(idle=1)

    page = BackgroundPage(Slow(), 0.01)
    for _ in range(3):
        with pytest.raises(Unanswered, match="no answer after"):
            page.read()
    asked.set()
    wait_until(lambda: _answer(page) == ServerStatus(idle=1))


def _answer(page: BackgroundPage) -> ServerStatus | None:
    try:
        return page.read()
    except Unanswered:
        return None


def test_auto_resets_what_a_dead_daemon_left(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.now = time.time() - 3600
    bench.let(0.5, 1)
    bench.run.set_flag(True)
    state_directory.create(bench.run.path, "full", "txt")
    state_directory.write_buckets(bench.run.path, dict.fromkeys(state_directory.BUCKETS, "0"), "full")
    assert run(["auto", "-o", str(bench.output)]) == ExitCode.DONE
    assert capsys.readouterr().out == "the daemon died: flag and buckets were reset\n"
    assert not bench.run.flag.exists()
    assert list((bench.run.path / "m").iterdir()) == []


def test_status_of_an_output_without_daemons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "-o", str(tmp_path)]) == ExitCode.DONE
    assert "no daemon ever worked here" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()


def test_a_daemon_that_died_is_called_dead(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.let(0.1, 2)
    assert run(["status", "-o", str(bench.output)]) == ExitCode.DONE
    assert "switch  dead" in capsys.readouterr().out
    write_override(bench.run, Override("text", time.time() + 100))
    assert run(["status", "-o", str(bench.output)]) == ExitCode.DONE
    assert " s, but no daemon that obeys it is running\n" in capsys.readouterr().out
