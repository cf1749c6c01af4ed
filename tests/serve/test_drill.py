"""``adaptc drill``: every knob is pulled on a real server, and what it breaks is found."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.sites.built import BuiltSite

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.compile.engine.reporting import Silent
from adaptc.core.diagnostics import Diagnostic, Severity
from adaptc.report.manifest import last_manifest
from adaptc.serve import state_directory
from adaptc.serve.calibrate import cpu_time, load_client
from adaptc.serve.calibrate.load_client import Job, View
from adaptc.serve.calibrate.page_views import sampled_pages, views_by_level
from adaptc.serve.calibrate.profile import KindCost, Profile, profile_of
from adaptc.serve.capacity.utilization import Cost
from adaptc.serve.drill import REJECTION, Drill, Expectation, Lever, drill, levers_of, predict
from adaptc.serve.policy import Policy
from adaptc.serve.servers import server_named
from adaptc.serve.verify.workspace import Workspace

WORDS = " ".join(f"word{number}" for number in range(900))
PAGE = f"<!DOCTYPE html><html lang=en><title>A</title><link rel=stylesheet href=site.css><p>{WORDS}</p></html>"
SHEET = "\n".join(f".class-{n}  {{  color : #11223{n % 10} ; }}" for n in range(999))
FILES = {"index.html": PAGE, "other.html": PAGE.replace("word1", "other"), "site.css": SHEET}
ALL = {
    "serve__buckets": True,
    "serve__classes": True,
    "serve__reject": True,
    "serve__level": "full",
    "serve__poor_level": "lossless",
}
NAMES = ["flag off", "full", "lossless", "reject", "half full, half lossless", "half lossless, half reject"]


@pytest.fixture(scope="module")
def site() -> Iterator[BuiltSite]:
    """A built site where a server without rights may read: pytest's own directories are closed to others."""
    root = Path(tempfile.mkdtemp(prefix="adaptc-drill-"))
    root.chmod(0o755)
    built = BuiltSite(root).write(FILES)
    built.build()
    yield built
    shutil.rmtree(root)


def policy_for(site: BuiltSite, **settings: object) -> Policy:
    workspace = Workspace(site.root / "workspace", site.config(**settings), server_named("nginx"))
    return workspace.policy(site.root / "workspace" / "output")


def expectation_for(site: BuiltSite, **settings: object) -> Expectation:
    manifest = last_manifest(site.output)
    views = views_by_level(site.config(), manifest, sampled_pages(manifest))
    return Expectation(policy_for(site, **settings), server_named("nginx"), manifest, views)


# ---- levers


def test_levers_are_those_of_the_configuration(site: BuiltSite) -> None:
    assert [lever.name for lever in levers_of(policy_for(site, **ALL))] == [
        *NAMES, "class poor", "class rich", "switching",
    ]  # fmt: skip
    assert [lever.name for lever in levers_of(policy_for(site))] == ["flag off", "lossless", "switching"]
    assert [lever.name for lever in levers_of(policy_for(site, serve__flag=False))] == ["lossless"]


def test_halves_give_every_other_bucket_the_next_level(site: BuiltSite, tmp_path: Path) -> None:
    policy = dataclasses.replace(policy_for(site, **ALL), state=str(tmp_path))
    state_directory.create(tmp_path, policy.start, "txt")
    levers = {lever.name: lever for lever in levers_of(policy)}
    levers["half full, half lossless"].pull(policy)
    levels = [line.split()[1] for line in (tmp_path / "buckets.txt").read_text().splitlines()]
    assert levels == ["full", "lossless"] * 128
    assert (tmp_path / "opt.do").exists()
    levers["flag off"].pull(policy)
    assert not (tmp_path / "opt.do").exists()


# ---- what may come


def test_answers_follow_from_the_policy(site: BuiltSite) -> None:
    expectation = expectation_for(site, **ALL)
    levers = {lever.name: lever for lever in levers_of(expectation.policy)}

    def allowed(name: str) -> frozenset[str] | None:
        return expectation.allowed(levers[name], "index.html")

    assert allowed("flag off") == {"200"}
    assert allowed("full") == {"200 full/br"}
    assert allowed("reject") == REJECTION
    assert allowed("half full, half lossless") == {"200 full/br", "200 lossless/br"}
    assert allowed("half lossless, half reject") == {"200 lossless/br", *REJECTION}
    assert allowed("class poor") == {"200 lossless/br"}
    assert allowed("switching") == {"200", "200 full/br", "200 lossless/br"}
    assert expectation.allowed(levers["full"], "_adaptc/bundle.css") is None
    hidden = expectation_for(site, **ALL, serve__expose=False)
    assert hidden.allowed(levers["full"], "index.html") == {"200"}


def test_what_a_page_embeds_follows_from_its_level(site: BuiltSite) -> None:
    expectation = expectation_for(site, **ALL)
    lever = next(lever for lever in levers_of(expectation.policy) if lever.name == "half full, half lossless")
    view = expectation.load(lever, "http://127.0.0.1:1")[0]
    assert {level: len(part.urls) for level, part in view.by_level.items()} == {"full": 2, "lossless": 2}


# ---- predictions


def made_profile() -> Profile:
    cost = {"http1": Cost(0.0001, 0.000001, view=0.0005)}
    return profile_of("nginx/1", cost, {"off": KindCost(0.00005, 0.000002)}, 0.0002, (), None, 1)


def test_levers_are_predicted_by_the_profile_and_the_build(site: BuiltSite) -> None:
    expectation = expectation_for(site, **ALL)
    levers = {lever.name: lever for lever in levers_of(expectation.policy)}
    made = {name: predict(expectation, lever, made_profile()) for name, lever in levers.items()}
    kilobytes = expectation.views["full"][0].kilobytes
    assert made["full"].cpu_ms == pytest.approx(0.7 + kilobytes / 1000, rel=0.01)
    assert made["reject"].cpu_ms == 0.2
    originals = (len(PAGE) + len(SHEET)) / 1000
    assert made["flag off"].kilobytes == pytest.approx(originals, rel=0.01)
    assert made["flag off"].cpu_ms == pytest.approx(0.6 + 0.002 * originals, rel=0.01)
    halves = [made["lossless"].cpu_ms, 0.2]
    assert made["half lossless, half reject"].cpu_ms == pytest.approx(sum(map(float, filter(None, halves))) / 2)
    assert (made["switching"].cpu_ms, made["switching"].kilobytes) == (None, None)
    assert predict(expectation, levers["full"], None).cpu_ms is None


# ---- real servers


def drilled(site: BuiltSite, server: str, **settings: object) -> Drill:
    """Pull every lever once: nginx takes more than a second to see each (``settling``)."""
    with mock.patch("adaptc.serve.drill.SLICES", 1):
        return drill(site.config(**settings), server_named(server), 0.1, None, None, Silent())


def broken(found: Drill) -> list[Diagnostic]:
    """Return what is not about the machine."""
    return [each for each in found.diagnostics if each.severity is Severity.ERROR]


@pytest.mark.servers
def test_what_kept_the_server_from_its_cpus_is_said(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = itertools.count()
    monkeypatch.setattr(cpu_time, "_throttled", lambda _: float(next(counts)))
    found = drilled(site, "nginx")
    (said,) = (each for each in found.diagnostics if each.id == "drill-throttled")
    assert "stopped the server for" in said.message


@pytest.mark.servers
@pytest.mark.parametrize("server", ["apache", "nginx"])
def test_a_correct_server_breaks_nothing(site: BuiltSite, server: str) -> None:
    found = drilled(site, server, **ALL)
    assert broken(found) == []
    reports = {report.lever: report for report in found.reports}
    assert list(reports)[:6] == NAMES
    assert all(report.views > 0 and report.cpu_ms > 0 for report in found.reports)
    assert reports["flag off"].kilobytes == pytest.approx(reports["flag off"].predicted.kilobytes, rel=0.01)
    assert reports["reject"].kilobytes < 1
    assert 0 < reports["full"].median_ms <= reports["full"].slow_ms


@pytest.mark.servers
def test_a_knob_that_gives_something_else_is_found(site: BuiltSite, tmp_path: Path) -> None:
    file = site.output / "lossless" / "br" / "index.html"
    shutil.move(file, tmp_path / "index.html")
    try:
        found = drilled(site, "nginx")
    finally:
        shutil.move(tmp_path / "index.html", file)
    assert {each.id for each in broken(found)} == {"drill-wrong"}
    assert "/index.html was answered with 200 lossless/id" in broken(found)[0].message
    wrong = {report.lever for report in found.reports if report.wrong}
    assert "lossless" in wrong <= {"lossless", "switching"}  # as it is switched all requests may come before or after


@pytest.mark.servers
def test_a_log_sets_the_pages_and_the_exit_code_says_what_broke(
    site: BuiltSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "access.log"
    line = '10.0.0.1 - - [10/Oct/2025:00:00:00 +0000] "GET /{} HTTP/1.1" 200 9\n'
    log.write_text(line.format("other.html") * 9)
    base = ["drill", "-o", str(site.output), "--docroot", str(site.docroot), "--server", "nginx"]
    command = [*base, "--seconds", "0.1", str(log)]
    assert run([*command, "--format", "json"]) == ExitCode.DONE
    record = json.loads(capsys.readouterr().out)
    assert [lever["lever"] for lever in record["levers"]] == ["flag off", "lossless", "switching"]
    with mock.patch("adaptc.serve.drill.SLICES", 1):
        assert run(command) == ExitCode.DONE
    assert "of a page view: CPU microseconds" in capsys.readouterr().out
    log.write_text(line.format("nothing.png"))
    assert run(command) == ExitCode.USAGE
    assert "no view of a page in 1 lines of" in capsys.readouterr().err
    assert run([*base, str(site.output)]) == ExitCode.USAGE
    assert "is a directory, and no access log: name the output of a build with --output" in capsys.readouterr().err


# ---- the client


def test_requests_without_an_answer_are_counted_by_reason() -> None:
    view = View(("http://127.0.0.1:9/a", "http://127.0.0.1:9/b"))
    outcome = load_client.do(Job((view,), has_visitors=True))
    assert outcome.errors.total() == 1  # a page that fails embeds nothing


def test_visitors_have_addresses_of_their_own() -> None:
    addresses = [load_client.visitor(number) for number in range(60_000)]
    assert len(set(addresses)) == 60_000
    assert load_client.visitor(60_000) == load_client.visitor(0) == "127.1.0.1"


def test_a_lever_of_a_class_asks_for_it() -> None:
    assert Lever("class poor", (), "poor").fields == ("X-Server-Actions: .poor",)
