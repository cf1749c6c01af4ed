"""``adaptc calibrate``: what a server's work costs, the profile of it, and what computes with that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.servers import web
from tests.sites.built import BuiltSite

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.compile.engine.reporting import Silent
from adaptc.config.config import ServeConfig
from adaptc.core.diagnostics import UsageError
from adaptc.serve.calibrate import calibration as running
from adaptc.serve.calibrate import cpu_time, experiments, load_client, profile
from adaptc.serve.calibrate.calibration import Calibration, Extent, calibrate_started, judge
from adaptc.serve.calibrate.cpu_time import Reading, ServerProcesses
from adaptc.serve.calibrate.load_client import Job, View
from adaptc.serve.calibrate.page_views import PageView, sample_files
from adaptc.serve.calibrate.profile import (
    KindCost,
    LevelCost,
    Profile,
    fit_line,
    kind_cost,
    named_version,
    profile_of,
    site_cost,
    version_in_use,
)
from adaptc.serve.calibrate.testbed import SampleFiles
from adaptc.serve.capacity.utilization import Cost
from adaptc.serve.emitter import emit
from adaptc.serve.servers import server_named
from adaptc.workflow.configuration import load_config

WORDS = " ".join(f"word{number}" for number in range(900))
PAGE = f"<!DOCTYPE html><html lang=en><title>A</title><link rel=stylesheet href=site.css><p>{WORDS}</p></html>"
SHEET = "\n".join(f".class-{n}  {{  color : #11223{n % 10} ; }}" for n in range(99))
FILES = {
    "index.html": PAGE,
    "other.html": PAGE.replace("word1", "other"),
    "site.css": SHEET,
    "data.bin": os.urandom(60_000),
}
NOW = datetime(2026, 11, 23, tzinfo=UTC)


# ---- costs


def view(files: int, kilobytes: float) -> PageView:
    """A view of files of its own."""
    paths = tuple(f"{files}-{kilobytes}-{number}" for number in range(files))
    return PageView(paths, kilobytes, ("id",) * files)


@pytest.mark.parametrize(
    ("views", "count", "large"),
    [
        ([view(4, 60.0)], 8, 50_000),
        ([view(5, 1500.0)], 8, 300_000),
        ([view(5, 1500.0), view(1, 10.0)], 8, 298_079),
        ([view(40, 40_000.0)], 40, 400_000),
        ([view(100, 300.0)], 64, 50_000),
        ([view(1, 0.0)], 8, 50_000),
    ],
)
def test_sample_files_are_as_many_and_as_large_as_those_of_the_site(
    views: list[PageView], count: int, large: int
) -> None:
    assert sample_files({"full": views}) == SampleFiles(count, large)


def test_lengths_of_views_give_the_cost_of_a_connection_and_of_a_request() -> None:
    assert fit_line({n: 30 + 40 * n for n in (1, 4, 16)}) == pytest.approx((30, 40))
    assert fit_line({1: 10.0, 4: 9.0}) == pytest.approx((9.447514, 0))  # noise: a request costs not less than none
    connection, request = fit_line({1: 10.0, 4: 60.0})  # nor does a connection
    assert (connection, request > 0) == (0, True)


def test_two_sizes_give_the_cost_of_a_kilobyte() -> None:
    assert kind_cost(5.2, 25.0, (1, 100)) == KindCost(pytest.approx(5), pytest.approx(0.2))
    assert kind_cost(5.0, 4.0, (1, 100)) == KindCost(5.0, 0.0)


def test_what_pages_embed_sets_the_cost_of_a_request() -> None:
    kinds = {"br": KindCost(40, 1), "id": KindCost(50, 2)}
    assert site_cost(20, kinds["br"], kinds, ["br", "id"], "br") == Cost(45, 1, view=15)
    assert site_cost(20, kinds["br"], kinds, [], "br") == Cost(40, 1, view=20)
    encrypted = site_cost(300, KindCost(60, 3), kinds, ["id"], "br")
    assert (encrypted.request, encrypted.view) == (70, 290)


# ---- CPU time


def test_the_cpu_time_of_children_counts() -> None:
    burn = "import time\nwhile time.process_time() < 0.05: pass\nprint('done', flush=True); input()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        assert ServerProcesses(process.pid).read().cpu > 0.05
        process.communicate("\n")
    with pytest.raises(UsageError, match="has ended"):
        ServerProcesses(process.pid).read()
    with pytest.raises(UsageError, match="there is no process"):
        cpu_time.check_process(process.pid)


@pytest.mark.parametrize(
    ("groups", "file", "text"),
    [
        ("0::/site\n", "site/cpu.stat", "usage_usec 9\nthrottled_usec 2500000\n"),
        ("3:cpu,cpuacct:/site/a\n0::/\n", "cpu/site/cpu.stat", "nr_throttled 2\nthrottled_time 2500000000\n"),
    ],
)
def test_quotas_of_control_groups_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, file: str, text: str
) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(groups)
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    monkeypatch.setattr(cpu_time, "PROC", tmp_path)
    monkeypatch.setattr(cpu_time, "CGROUPS", tmp_path)
    assert cpu_time._throttled(7) == 2.5


@pytest.mark.parametrize(
    ("groups", "files", "cpus"),
    [
        ("0::/site/web\n", {"site/web/cpu.max": "max 100000", "site/cpu.max": "150000 100000"}, 1.5),
        ("0::/site\n", {"site/cpu.max": "max 100000"}, 3.0),
        ("0::/site\n", {"site/cpu.max": "900000 100000"}, 3.0),
        ("0::/site\n", {"site/cpu.max": "none of this"}, 3.0),
        ("3:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "50000", "cpu/a/cpu.cfs_period_us": "100000"}, 0.5),
        ("3:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1"}, 3.0),
    ],
)
def test_cpus_are_those_that_quotas_and_bonds_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, files: dict[str, str], cpus: float
) -> None:
    for name, text in {"7/cgroup": groups, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(cpu_time, "PROC", tmp_path)
    monkeypatch.setattr(cpu_time, "CGROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5})
    assert cpu_time.allowed_cpus(7) == cpus


def test_seconds_of_quotas_add_up_over_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The greater of two counters would hide that the other one goes up."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7/cgroup").write_text("0::/site/web\n")
    (tmp_path / "site/web").mkdir(parents=True)
    (tmp_path / "site/cpu.stat").write_text("throttled_usec 9000000\n")
    (tmp_path / "site/web/cpu.stat").write_text("throttled_usec 500000\n")
    monkeypatch.setattr(cpu_time, "PROC", tmp_path)
    monkeypatch.setattr(cpu_time, "CGROUPS", tmp_path)
    assert cpu_time._throttled(7) == 9.5


def test_a_quota_of_cpus_is_said() -> None:
    (said,) = experiments.quota_diagnostics(made_profile(cpus=1.5), 4)
    assert said.message == "the server may use 1.5 of 4 CPUs: capacities are computed for these"
    assert not list(experiments.quota_diagnostics(made_profile(cpus=4), 4))


def test_what_kept_the_server_from_its_cpus_is_said() -> None:
    ids = [found.id for found in experiments.load_diagnostics(Reading(1.0, 10.0, 2.0, 3.0))]
    assert ids == ["calibration-throttled", "calibration-stolen"]
    assert not list(experiments.load_diagnostics(Reading(1.0, 10.0, None, 0.0)))


# ---- the client


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    class Handler(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def end_headers(self) -> None:
            self.send_header("X-Adapt", "full/br")
            super().end_headers()

    (tmp_path / "a.html").write_bytes(b"a" * 1000)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_views_are_made_in_turn_by_several_browsers(origin: str) -> None:
    view = View((f"{origin}/a.html", f"{origin}/none.html"))
    outcome = load_client.do(Job((view,) * 5, browsers=2))
    assert outcome.answers == {(200, "full/br"): 5, (404, "full/br"): 5}
    assert (len(outcome.times), outcome.errors) == (5, {})
    assert outcome.octets >= 5000
    assert not outcome.is_http2


def test_a_server_that_is_not_there_is_an_error_of_each_request() -> None:
    outcome = load_client.do(Job((View((f"http://127.0.0.1:{web.free_port()}/",)),)))
    assert sum(outcome.errors.values()) == 1


# ---- the profile

LEVELS = (LevelCost("full", 4.0, 60.0, 0.2, 0.21), LevelCost("text", 1.0, 1.0, 0.05, 0.07))


def made_profile(**changes: object) -> Profile:
    costs = {"http1": Cost(0.0004, 0.000003, view=0.0002), "https2": Cost(0.0008, 0.000006, view=0.002)}
    made = profile_of("nginx/1.22.1", costs, {"br": KindCost(0.0004, 0.000003)}, 0.0001, LEVELS, None, 1)
    return Profile(**{**{name: getattr(made, name) for name in made.__slots__}, "cpus": 2, **changes})  # type: ignore[arg-type]


def test_a_profile_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "run" / "cost.json"
    profile.write_profile(made_profile(), file)
    read = profile.read_profile(file)
    assert read == made_profile(made=read.made)
    assert read.cost("https2") == Cost(0.0008, 0.000006, 0.0001, 0.002)
    assert read.machine_cost() == Cost(0.0002, 0.0000015, 0.00005, 0.0001)
    with pytest.raises(UsageError, match="has no costs over https1, only over http1, https2"):
        read.cost("https1")


@pytest.mark.parametrize(
    "damage",
    [
        lambda values: values.clear(),
        lambda values: values.update(schema=99),
        lambda values: values.update(costs={}),
        lambda values: values["costs"]["http1"].update(request_ms=-1),
        lambda values: values["costs"]["http1"].pop("view_ms"),
        lambda values: values["costs"]["http1"].update(view_ms="much"),
        lambda values: values.update(made="yesterday"),
        lambda values: values.update(cpus=0),
        lambda values: values.update(unknown=1),
    ],
)
def test_a_damaged_profile_is_a_mistake_with_advice(tmp_path: Path, damage: object) -> None:
    file = tmp_path / "cost.json"
    profile.write_profile(made_profile(), file)
    values = json.loads(file.read_text())
    damage(values)  # type: ignore[operator]
    file.write_text(json.dumps(values))
    with pytest.raises(UsageError, match=r"is not a profile of this version of adaptc .* calibrate again"):
        profile.read_profile(file)


def test_a_profile_of_elsewhere_is_reported_with_its_age(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    assert not list(profile.stale_diagnostics(made_profile(), tmp_path, now, "nginx/1.22.1"))
    old = made_profile(machine="other", tool="adaptc 0.0", made=(now - timedelta(days=100)).isoformat())
    said = {found.id: found.message for found in profile.stale_diagnostics(old, tmp_path, now, "nginx/1.24.0")}
    assert list(said) == ["profile-machine", "profile-version", "profile-old"]
    assert "100 days ago" in said["profile-machine"]
    assert "with nginx/1.22.1, not nginx/1.24.0" in said["profile-version"]


def test_a_profile_of_other_settings_is_reported() -> None:
    now, serve = datetime.now(UTC), ServeConfig()
    made = made_profile(settings=profile.settings_of(serve))
    assert not list(profile.stale_diagnostics(made, Path("cost.json"), now, None, replace(serve, retry_after=99)))
    (said,) = profile.stale_diagnostics(made, Path("cost.json"), now, None, replace(serve, buckets=True, hints=False))
    assert said.message.startswith("was measured 0 days ago with other settings of serve.buckets, serve.hints: ")
    assert not list(
        profile.stale_diagnostics(made_profile(), Path("cost.json"), now, None, serve)
    )  # an earlier version


def test_wrong_predictions_and_narrow_lines_are_said() -> None:
    cpus = os.cpu_count() or 1
    said = [str(found) for found in judge(made_profile(line=10.0, cpus=cpus))]
    assert [line.rpartition("[")[2] for line in said] == [
        "calibration-error]",
        "calibration-network]",
        "calibration-network]",
    ]
    assert "at level text the prediction is +40% of what was measured" in said[0]
    assert (
        f"a line of 10 Mbit/s is full at 21 pages a second of level full; the CPUs would do {5000 * cpus:,}" in said[1]
    )


def test_versions_of_servers_are_recognized() -> None:
    assert named_version("Server version: Apache/2.4.71 (Debian)\n") == "apache/2.4.71"
    assert named_version("nginx version: nginx/1.22.1") == "nginx/1.22.1"
    assert named_version("lighttpd/1.4") is None


# ---- what computes with it


def test_builds_take_a_profile_that_is_named(tmp_path: Path) -> None:
    profile.write_profile(made_profile(), tmp_path / "cost.json")
    (tmp_path / "adaptc.toml").write_text('[cost]\nprofile = "cost.json"\n')
    cost = load_config(tmp_path / "adaptc.toml").cost
    assert (cost.view_ms, cost.request_ms, cost.kilobyte_ms) == (0.2, 0.4, 0.003)
    (tmp_path / "cost.json").unlink()
    with pytest.raises(UsageError, match=r"there is no profile .*cost\.json: run adaptc calibrate"):
        load_config(tmp_path / "adaptc.toml")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    built = BuiltSite(tmp_path_factory.mktemp("site")).write(FILES)
    built.build()
    return built


def capacity(site: BuiltSite, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[dict, str]:
    assert run(["capacity", "-o", str(site.output), "--format", "json", *options]) == ExitCode.DONE
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def test_capacity_takes_the_profile_of_the_output(site: BuiltSite, capsys: pytest.CaptureFixture[str]) -> None:
    assert capacity(site, capsys)[0]["request_ms"] == 0.83
    file = profile.profile_path(site.output)
    profile.write_profile(made_profile(server="nginx/0.0.1"), file)
    record, said = capacity(site, capsys)
    assert [record[key] for key in ("view_ms", "request_ms", "kilobyte_ms", "rejection_ms")] == [0.1, 0.2, 0.0015, 0.05]
    assert capacity(site, capsys, "--request-ms", "3")[0]["request_ms"] == 3
    assert capacity(site, capsys, "--protocol", "https2")[0]["view_ms"] == 1
    assert ("profile-version" in said) == (profile.VERSION != "" and _has("nginx"))
    file.write_text("{}")
    assert run(["capacity", "-o", str(site.output)]) == ExitCode.USAGE
    file.unlink()
    assert run(["capacity", "-o", str(site.output), "--protocol", "https2"]) == ExitCode.USAGE


def _has(program: str) -> bool:
    return version_in_use(program) is not None


def test_control_spreads_connections_over_the_requests_of_a_full_page(site: BuiltSite) -> None:
    from adaptc.daemons.control.settings import ControlSettings, SiteSettings, machine_of

    sites = {"site": SiteSettings(site.output)}
    measured = made_profile().machine_cost()
    machine = machine_of(ControlSettings(), sites, measured)
    assert machine.cost == Cost(pytest.approx(0.0002 + 0.0001 / 2), 0.0000015, 0.00005)
    given = machine_of(ControlSettings(request_ms=1.0, rejection_ms=2.0), sites, measured)
    assert (given.cost.request, given.cost.rejection) == (0.001, 0.002)


# ---- real servers


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of a few requests: what they cost is not tested."""
    monkeypatch.setattr(experiments, "REQUESTS", {experiments.SMALL: 16, experiments.LARGE: 8})
    monkeypatch.setattr(running, "REQUESTS", 16)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BuiltSite]:
    """A built site where a server without rights may read: pytest's own directories are closed to others."""
    import shutil
    import tempfile

    root = Path(tempfile.mkdtemp(prefix="adaptc-calibrate-"))
    root.chmod(0o755)
    built = BuiltSite(root).write(FILES)
    built.build()
    yield built
    shutil.rmtree(root)


def calibrated(site: BuiltSite, server: str, **settings: object) -> Calibration:
    return calibrate_started(site.config(**settings), server_named(server), Extent(0.01, 1000.0), Silent())


@pytest.mark.servers
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("server", ["apache", "nginx"])
def test_a_server_is_calibrated(served: BuiltSite, server: str) -> None:
    found = calibrated(served, server, serve__buckets=True, serve__reject=True, serve__classes=True).profile
    assert found.server.startswith(f"{server}/")
    assert list(found.costs) == ["http1", "https1", "https2"]
    assert found.costs["http1"]["request_ms"] > 0
    assert list(found.kinds) == ["br", "zst", "gz", "id", "original", "off"]
    assert found.rejection_ms
    assert [(level.level, level.requests) for level in found.levels] == [("full", 2.0), ("lossless", 1.0)]
    assert all(level.measured_ms > 0 for level in found.levels)
    assert found.saturation is not None
    assert found.saturation.pages_per_second > 0


@pytest.mark.servers
@pytest.mark.usefixtures("short")
def test_strict_servers_are_calibrated_too(served: BuiltSite) -> None:
    strict = {"serve__freshness": "strict", "serve__flag": False}
    emit(served.config(**strict), [])
    found = calibrated(served, "nginx", **strict).profile
    assert (found.rejection_ms, "off" in found.kinds) == (None, False)


@pytest.mark.servers
@pytest.mark.usefixtures("short")
def test_without_openssl_there_is_no_tls(served: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    calibration = calibrated(served, "nginx")
    assert list(calibration.profile.costs) == ["http1"]
    assert any("TLS was not measured: openssl cannot" in found.message for found in calibration.diagnostics)


@pytest.mark.servers
@pytest.mark.usefixtures("short")
def test_a_running_server_is_calibrated_as_it_is(
    served: BuiltSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with web.nginx(tmp_path / "server", served.docroot, "", "") as server:
        url, file = f"http://127.0.0.1:{server.port}/", tmp_path / "profile.json"
        options = ["--docroot", str(served.docroot), "--url", url, "--seconds", "0.01", "--profile", str(file)]
        command = ["calibrate", str(served.output), *options]
        assert run([*command, "--pid", str(server.pid)]) == ExitCode.DONE
        assert "as served" in capsys.readouterr().out
        found = profile.read_profile(file)
        assert (found.server[:6], list(found.costs)) == ("nginx/", ["http1"])
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as idle:
            assert run([*command, "--pid", str(idle.pid)]) == ExitCode.USAGE
            assert f"process {idle.pid} did not work while" in capsys.readouterr().err
            idle.communicate(b"\n")


def test_a_server_or_a_url_with_its_process_is_needed(site: BuiltSite, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["calibrate", str(site.output), "--docroot", str(site.docroot)]
    for options in ([], ["--server", "nginx", "--url", "http://127.0.0.1/"], ["--url", "http://127.0.0.1/"]):
        assert run([*command, *options]) == ExitCode.USAGE
        assert "say either --server apache or --server nginx, or --url URL with --pid PID" in capsys.readouterr().err
    assert run([*command, "--url", "http://127.0.0.1:1/", "--pid", str(2**22 + 1)]) == ExitCode.USAGE
    assert "there is no process" in capsys.readouterr().err


def test_a_server_that_is_not_installed_is_a_mistake(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("adaptc.serve.launch.SEARCH", "/nowhere")
    assert run(["calibrate", str(site.output), "--docroot", str(site.docroot), "--server", "nginx"]) == ExitCode.USAGE
    assert "nginx is not installed; packages: nginx" in capsys.readouterr().err
