"""``adaptc classify``: logs are followed, tables written, nothing forgotten."""

from __future__ import annotations

import gzip
import ipaddress
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import maxminddb
import pytest

from tests.samples.monitoring import unknown_metrics

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.daemons.classify.classifier import AS_PUBLISHED, Classifier, Client, Estimate, Rules
from adaptc.daemons.classify.daemon import ClassifyDaemon
from adaptc.daemons.classify.hits import Hit
from adaptc.daemons.classify.settings import ClassifySettings
from adaptc.daemons.classify.tables import (
    Table,
    changes,
    network_keys,
    table_of,
    write_dbm,
    write_geo,
    write_markers,
    write_mmdb,
    write_text,
)
from adaptc.daemons.follow import Follower
from adaptc.daemons.reporter import Reporter, render_metrics
from adaptc.daemons.run_directory import RunDirectory
from adaptc.serve import state_directory

# ---- following a log


def read(follower: Follower) -> list[str]:
    return list(follower.lines(1 << 20))


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "access.log"


def test_new_lines_are_read_once(log: Path) -> None:
    follower = Follower(log)
    assert read(follower) == []  # not there yet
    append(log, "one\ntwo\nhal")
    assert read(follower) == ["one", "two"]
    append(log, "f\n")
    assert read(follower) == ["half"]
    assert read(follower) == []


def test_rotation_by_renaming(log: Path) -> None:
    follower = Follower(log)
    append(log, "one\n")
    assert read(follower) == ["one"]
    log.rename(f"{log}.1")
    append(Path(f"{log}.1"), "late\n")
    assert read(follower) == ["late"]  # the server writes on until it is told
    append(log, "new\n")
    assert read(follower) == ["new"]


def test_truncation(log: Path) -> None:
    follower = Follower(log)
    append(log, "one\ntwo\n")
    assert read(follower) == ["one", "two"]
    log.write_text("new\n")
    assert read(follower) == ["new"]


def test_going_on_after_a_restart(log: Path) -> None:
    follower = Follower(log)
    append(log, "one\nhal")
    assert read(follower) == ["one"]
    mark = follower.mark
    append(log, "f\n")
    assert read(Follower(log, mark)) == ["half"]


def test_going_on_after_a_restart_and_a_rotation(log: Path) -> None:
    follower = Follower(log)
    append(log, "one\n")
    read(follower)
    mark = follower.mark
    append(log, "two\n")
    log.rename(f"{log}.1")
    append(log, "three\n")
    assert read(Follower(log, mark)) == ["two", "three"]


def test_a_mark_of_another_file_means_a_new_log(log: Path) -> None:
    append(log, "one\n")
    follower = Follower(log)
    read(follower)
    mark = follower.mark
    assert mark is not None
    log.write_text("n\n")  # the same file, truncated
    assert read(Follower(log, mark)) == ["n"]


def test_a_step_reads_no_more_than_its_batch(log: Path) -> None:
    append(log, ("x" * 99 + "\n") * 30_000)
    follower = Follower(log)
    first = len(list(follower.lines(1)))
    assert 0 < first < 30_000
    assert follower.is_behind
    assert first + len(list(follower.lines(1 << 30))) == 30_000
    assert not follower.is_behind


def test_a_line_without_end_does_not_fill_the_memory(log: Path) -> None:
    append(log, "x" * 3_000_000)
    follower = Follower(log)
    assert read(follower) == []
    assert len(follower._rest) <= 1 << 20


# ---- keys and tables


@pytest.mark.parametrize(
    ("network", "keys"),
    [
        ("10.1.2.0/24", ["10.1.2"]),
        ("10.1.0.0/16", ["10.1"]),
        ("10.1.2.0/23", ["10.1.2", "10.1.3"]),
        ("10.2.0.0/15", ["10.2", "10.3"]),
        ("10.1.2.128/25", []),
        ("0.0.0.0/4", []),
        ("2001:db8:1:2::/64", ["2001:db8:1:2:"]),
        ("2001:db8:1::/64", ["2001:db8:1:0:", "2001:db8:1::"]),
        ("2001:db8::/64", ["2001:db8:0:0:", "2001:db8::"]),
        ("2001:db8:1::/48", ["2001:db8:1:"]),
        ("2001:db8::/32", []),
    ],
)
def test_keys_of_networks(network: str, keys: list[str]) -> None:
    assert list(network_keys(ipaddress.ip_network(network))) == keys


def net(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(text)


TABLE = Table(
    {"10.1.2.9": "rich", "2001:db8:1:2::5": "poor"},
    {net("10.1.0.0/16"): "poor", net("10.1.2.0/24"): "normal", net("2001:db8::/32"): "rich"},
)
KEYS = {"10.1": "poor", "10.1.2": "normal", "10.1.2.9": "rich", "2001:db8:1:2::5": "poor"}
INDEXED = KEYS | {"10.1": "+", "10.1=": "poor", "2001:db8:1:": "+"}  # as Apache looks them up


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory.of(tmp_path / "opt")


def test_the_table_as_text(directory: RunDirectory) -> None:
    write_text(directory, TABLE)
    lines = (directory.path / "classes.txt").read_text().splitlines()
    assert dict(line.split() for line in lines) == INDEXED


def test_the_table_for_nginx_geo(directory: RunDirectory) -> None:
    write_geo(directory, TABLE)
    assert (directory.path / "classes.geo").read_text().splitlines() == [
        "10.1.0.0/16 poor;",
        "10.1.2.0/24 normal;",
        "10.1.2.9/32 rich;",
        "2001:db8::/32 rich;",
        "2001:db8:1:2::5/128 poor;",
    ]


def test_the_table_as_mmdb(directory: RunDirectory) -> None:
    write_mmdb(directory, TABLE)
    with maxminddb.open_database(str(directory.path / "classes.mmdb")) as database:
        found = {
            text: database.get(text) for text in ("10.1.2.9", "10.1.2.8", "10.1.9.9", "10.2.0.1", "2001:db8:1:2::5")
        }
    assert [entry["class"] if entry else None for entry in found.values()] == ["rich", "normal", "poor", None, "poor"]


def markers(directory: RunDirectory) -> dict[str, str]:
    return {path.name: path.parent.name for path in (directory.path / "c").glob("*/*")}


def test_the_table_as_marker_files(directory: RunDirectory) -> None:
    write_markers(directory, TABLE)
    assert markers(directory) == KEYS
    write_markers(directory, Table({"10.1.2.9": "poor"}, {}))
    assert markers(directory) == {"10.1.2.9": "poor"}


def test_the_table_as_dbm_by_the_tool_of_apache(
    directory: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin/httxt2dbm"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\n[ "$1$3" = -i-o ] && { echo made; cat "$2"; } > "$4"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    write_dbm(directory, TABLE)
    lines = (directory.path / "classes.dbm").read_text().splitlines()
    assert lines[0] == "made"
    assert dict(line.split() for line in lines[1:]) == INDEXED
    assert sorted(path.name for path in directory.path.iterdir()) == ["classes.dbm"]


def visits(client: str, last: float, count: int = 3) -> list[Hit]:
    return [
        hit
        for n in range(count)
        for hit in (
            Hit(client, 100 * n, "/a.html", 200, 1000, False, None),
            Hit(client, 100 * n + last, "/a.png", 200, 1000, False, None),
        )
    ]


def test_only_what_differs_from_the_network_stands_in_the_table() -> None:
    classifier = Classifier(AS_PUBLISHED)
    for client, last in (("10.0.0.1", 9), ("10.0.0.2", 9), ("10.0.0.3", 0), ("fe80::1%x/../y", 9), ("host", 9)):
        list(classifier.feed(visits(client, last)))
        list(classifier.finish())
    table = table_of(classifier)
    assert table.networks == {net("10.0.0.0/24"): "poor"}
    assert table.clients == {"10.0.0.3": "rich"}


# ---- the daemon


@dataclass
class Bench:
    folder: Path
    settings: ClassifySettings
    said: list[str] = field(default_factory=list)
    now: float = 1_000_000.0

    def __post_init__(self) -> None:
        self.run = RunDirectory.of(self.folder / "opt")
        self.start()

    def start(self) -> None:
        self.daemon = ClassifyDaemon(self.settings, Reporter("classify", [self.run], self.said.append), self.run)

    def step(self, seconds: float = 60) -> None:
        self.now += seconds
        self.daemon.step(self.now, self.now)

    def status(self) -> dict:
        return json.loads((self.run.path / "classify.json").read_text())


def visit(client: str, at: float, last: float) -> str:
    """A page and an object as lines of the combined format, ``last`` seconds apart."""
    lines = ""
    for moment, path in ((at, "/a.html"), (at + last, "/a.png")):
        clock = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(moment))
        lines += f'{client} - - [{clock}] "GET {path} HTTP/1.1" 200 1000 "-" "Agent"\n'
    return lines


@pytest.fixture
def bench(tmp_path: Path, log: Path) -> Bench:
    return Bench(tmp_path, ClassifySettings(logs=(log,), write=("txt", "markers")))


def test_a_slow_client_gets_into_the_tables(bench: Bench, log: Path) -> None:
    for number in range(3):
        append(log, visit("10.0.0.1", bench.now, 9))
        bench.step()
        assert markers(bench.run) == ({} if number == 0 else {"10.0.0": "poor"})
    assert (bench.run.path / "classes.txt").read_text() == "10.0 +\n10.0.0 poor\n"
    status = bench.status()
    assert (status["lines"], status["retrievals"], status["clients"]) == (6, 3, 1)
    assert (status["addresses"], status["networks"], status["table_age"]) == ({}, {"poor": 1}, 60)
    exported = bench.daemon._reporter._figures
    assert unknown_metrics("classify", exported) <= {"addresses"}  # which the table has none of
    figures = render_metrics("classify", exported)
    assert 'adaptc_classify_networks{class="poor"} 1\n' in figures
    assert "adaptc_classify_table_age 60\n" in figures


@pytest.mark.parametrize("is_off", [True, False])
def test_in_shadow_and_under_the_kill_switch_no_tables_are_written(tmp_path: Path, log: Path, is_off: bool) -> None:
    bench = Bench(tmp_path, ClassifySettings(logs=(log,), write=("txt", "markers"), shadow=not is_off))
    for number in range(3):
        append(log, visit("10.0.0.1", bench.now, 9))
        if number == 2 and is_off:
            assert markers(bench.run) == {"10.0.0": "poor"}
            (bench.run.path / "off").touch()
        bench.step()
    assert not (bench.run.path / "c").exists() or markers(bench.run) == {}
    assert bench.status()["networks"] == {"poor": 1}
    if is_off:
        (bench.run.path / "off").unlink()
        bench.step()
        assert markers(bench.run) == {"10.0.0": "poor"}


def test_a_table_that_could_not_be_written_is_written_once_there_is_room(
    bench: Bench, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("adaptc.serve.state_directory.write_atomic", full)
        for _ in range(3):
            append(log, visit("10.0.0.1", bench.now, 9))
            bench.step()
    assert sum("table txt is not written: [Errno 28]" in line for line in bench.said) == 1
    bench.step()
    assert (bench.run.path / "classes.txt").read_text() == "10.0 +\n10.0.0 poor\n"


def audit(run: RunDirectory) -> list[dict]:
    return [json.loads(line) for line in (run.path / "audit-classify.jsonl").read_text().splitlines()]


def test_every_change_of_a_class_stands_in_the_audit_with_its_reason(bench: Bench, log: Path) -> None:
    for last in (9, 9, *[0] * 9):
        append(log, visit("10.0.0.1", bench.now, last))
        bench.step()
    found = [entry for entry in audit(bench.run) if entry["event"] == "class"]
    assert [(one["inputs"]["who"], one["inputs"]["was"], one["inputs"]["now"], one["rule"]) for one in found] == [
        ("10.0.0.0/24", None, "poor", "first > 3 s"),
        ("10.0.0.0/24", "poor", "normal", "first > 1 s"),
        ("10.0.0.0/24", "normal", "rich", "first, last and rtt are short"),
    ]
    assert found[0]["inputs"] | {"first": 9, "last": 9, "pages": 2} == found[0]["inputs"]
    bench.daemon.stop(bench.now)
    bench.start()
    bench.step()
    assert [entry for entry in audit(bench.run) if entry["event"] == "class"] == found  # no news after a restart


def test_reasons_of_classes() -> None:
    rules = Rules(patience=2)
    for estimate, reason in (
        (Estimate(0.5, 5.5, None, 2, "poor"), "last > 5 s"),
        (Estimate(0.5, 1.5, 0.7, 2, "poor"), "rtt > 0.6 s"),
        (Estimate(0.5, 2.5, None, 2, "normal"), "last > 2 s"),
        (Estimate(0.5, 1.5, 0.1, 2, "rich"), "first, last and rtt are short"),
    ):
        assert rules.reason(estimate) == reason
        assert rules.verdict(estimate.first, estimate.last, estimate.rtt) == estimate.believed


def test_who_has_no_class_of_its_own_any_more() -> None:
    classifier, nothing = Classifier(Rules()), Table({}, {})
    poor = Table({"10.0.0.1": "poor", "10.0.0.2": "poor"}, {})
    classifier.clients["10.0.0.1"] = Client(None, Estimate(1, 9, None, 4, "poor"))
    assert [one["rule"] for one in changes(poor, nothing, classifier)].count("forgotten") == 1
    rules = {one["inputs"]["who"]: one["rule"] for one in changes(poor, nothing, classifier)}
    assert rules == {"10.0.0.1": "as its network", "10.0.0.2": "forgotten"}
    classifier.clients["10.0.0.1"] = Client(None, Estimate(0.1, 0.1, None, 4, "poor", "rich", 1))
    [stays, _] = changes(nothing, poor, classifier)
    assert stays["rule"] == "stays until 2 retrievals in a row say otherwise"


def test_nothing_is_forgotten_over_a_restart(bench: Bench, log: Path) -> None:
    append(log, visit("10.0.0.1", bench.now, 9))
    bench.step()
    bench.daemon.stop(bench.now)
    append(log, visit("10.0.0.1", bench.now, 9))
    bench.start()
    bench.step()
    assert markers(bench.run) == {"10.0.0": "poor"}  # two pages: one before, one after
    assert bench.status()["lines"] == 2  # none is read again


def test_a_state_that_is_none_is_left_alone(bench: Bench, log: Path) -> None:
    (bench.run.path / "classify-state.json").write_text('{"schema": 99}')
    bench.start()
    append(log, visit("10.0.0.1", bench.now, 9))
    bench.step()
    assert bench.status()["retrievals"] == 1


def test_history_is_read_first_and_once(tmp_path: Path, log: Path) -> None:
    old = tmp_path / "access.log.2.gz"
    old.write_bytes(gzip.compress(visit("10.0.0.1", 999_000, 9).encode()))
    bench = Bench(tmp_path, ClassifySettings(logs=(log,), history=(old,), write=("markers",)))
    append(log, visit("10.0.0.1", bench.now, 9))
    bench.step()
    assert markers(bench.run) == {"10.0.0": "poor"}
    bench.daemon.stop(bench.now)
    bench.start()
    bench.step()
    assert bench.daemon._classifier.clients["10.0.0.1"].estimate.pages == 2


def test_a_log_that_is_far_ahead_is_caught_up_with_in_one_step(
    bench: Bench, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptc.daemons.classify.daemon.BATCH", 1)
    append(log, "".join(visit(f"10.0.{n // 250}.{n % 250}", bench.now, 9) for n in range(8000)))
    bench.step()
    assert bench.status()["lines"] == 16_000


def test_several_logs_are_one(tmp_path: Path, log: Path) -> None:
    other = tmp_path / "images.log"
    bench = Bench(tmp_path, ClassifySettings(logs=(log, other), write=("markers",)))
    for _ in range(2):
        page, image = visit("10.0.0.1", bench.now, 9).splitlines(keepends=True)
        append(log, page)
        append(other, image)
        bench.step()
    assert markers(bench.run) == {"10.0.0": "poor"}


def test_a_tool_that_is_missing_is_told_once(bench: Bench, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(state_directory, "SYSTEM_PROGRAMS", "/nonexistent")
    bench.settings = ClassifySettings(logs=(log,), write=("dbm", "markers"))
    bench.start()
    for last in (9, 9, 0, 0, 0, 0, 0, 0, 0, 0):
        append(log, visit("10.0.0.1", bench.now, last))
        bench.step()
    assert markers(bench.run)
    assert [line for line in bench.said if "dbm needs httxt2dbm (Debian: package apache2-utils)" in line] == bench.said


def test_lines_in_another_format_are_counted(bench: Bench, log: Path) -> None:
    append(log, "rubbish\n" + visit("10.0.0.1", bench.now, 9))
    bench.step()
    assert (bench.status()["skipped"], bench.status()["lines"]) == (1, 3)


def test_a_log_that_is_missing_or_in_another_format_is_told_once(bench: Bench, log: Path) -> None:
    log.unlink(missing_ok=True)
    bench.step()
    append(log, "garbage\n" * 150)
    bench.step()
    bench.step()
    assert [line.partition(": ")[2] for line in bench.said] == [
        f"there is no log {log}; it is read when it is there",
        "150 of 150 log lines are not in the format that log_format names",
    ]


def test_history_in_another_format_is_told(tmp_path: Path, log: Path) -> None:
    old = tmp_path / "old.log"
    old.write_text("garbage\n" * 3)
    log.touch()
    bench = Bench(tmp_path, ClassifySettings(logs=(log,), history=(old,), write=("txt",)))
    bench.step()
    assert [line.partition(": ")[2] for line in bench.said] == ["3 lines of the history are not in the format"]


def test_a_dry_run_writes_nothing(tmp_path: Path, log: Path) -> None:
    append(log, visit("10.0.0.1", 0, 9))
    daemon = ClassifyDaemon(ClassifySettings(logs=(log,)), Reporter("classify", [], print), None)
    daemon.step(0, 1000)
    daemon.stop(1000)
    assert [path.name for path in tmp_path.iterdir()] == ["access.log"]


# ---- the command


def test_replay_prints_how_often_a_client_was_what(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, last in enumerate((9, 9, 9, 0, 0, 0, 0, 0, 0, 0)):
        append(log, visit("10.0.0.1", 1000 + 100 * number, last))
    append(log, "rubbish\n")
    assert run(["classify", str(log), "--replay"]) == ExitCode.DONE
    out, err = capsys.readouterr()
    assert out.splitlines() == ["client    pages  poor  normal  rich", "10.0.0.1      9   67%     33%     -"]
    assert "1 lines were not in the format" in err
    assert run(["classify", str(log), "--replay", "--format", "json"]) == ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "skipped": 1,
        "clients": [{"client": "10.0.0.1", "poor": 6, "normal": 3, "rich": 0, "class": "normal"}],
    }


def test_replay_reads_packed_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "access.log.1.gz"
    content = gzip.compress("".join(visit("10.0.0.1", 100 * n, 9) for n in range(200)).encode())
    packed.write_bytes(content[: len(content) - 12])  # cut: the end is lost, the rest is read
    assert run(["classify", str(packed), "--replay"]) == ExitCode.DONE
    assert "100%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name a LOG, or logs in [daemons.classify]"),
        (["gone.log", "--replay"], "log gone.log cannot be read (No such file or directory)"),
        (["x", "--set", 'write=["csv"]'], "write must be a list of txt, dbm, geo, mmdb, markers"),
        (["x", "--set", "rich_last=7"], "rich_last (7) must be below poor_last (5)"),
        (["x", "--set", "routes=gone.txt", "--replay"], "gone.txt: cannot be read"),
        (["x", "--set", "pages=gone.txt", "--replay"], "gone.txt: cannot be read (No such file or directory)"),
        (["x", "--log-format", "nonsense", "--replay"], "a log format is one of"),
    ],
)
def test_what_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["classify", *arguments]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err
