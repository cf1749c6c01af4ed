"""``adaptc unit``: systemd units of the daemons."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

import pytest

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["/usr/local/bin/adaptc"])
    (tmp_path / "opt").mkdir()
    return tmp_path


def unit(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """The lines ``KEY=VALUE`` of a unit."""
    assert run(["unit", *arguments]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_a_unit_runs_the_daemon_and_removes_the_flag(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = unit(capsys, "switch")
    assert found["ExecStart"] == f"/usr/local/bin/adaptc switch -o {site}/opt"
    assert found["ExecStopPost"] == f"-{sys.executable} -P -m adaptc.daemons.guard 1 0 {site}/opt/run"
    assert (found["Type"], found["WatchdogSec"], found["Restart"]) == ("notify", "10", "always")
    assert (found["ReadWritePaths"], found["RuntimeDirectory"]) == (f"{site}/opt/run", "adaptc")
    assert (found["ProtectSystem"], found["NoNewPrivileges"], found["User"]) == ("strict", "yes", getpass.getuser())


def test_a_unit_says_how_its_user_may_write(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["unit", "switch", "--user", "www-data"]) == ExitCode.DONE
    text = capsys.readouterr().out
    assert f"#     install -d -m 755 {site}/opt/run && chown -R www-data: {site}/opt/run" in text


def test_a_static_flag_stays(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "adaptc.toml").write_text('[daemons.switch]\nexpire = "static"\n')
    found = unit(capsys, "switch", "--user", "www-data")
    assert "ExecStopPost" not in found
    assert found["User"] == "www-data"
    assert found["ExecStart"].endswith(f"--config {site}/adaptc.toml")


def test_control_writes_for_all_its_sites(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = "".join(
        f'[daemons.control.sites.{name}]\noutput = "{name}"\nlogs = "{name}.log"\n' for name in ("one", "two")
    )
    (site / "adaptc.toml").write_text(tables)
    found = unit(capsys, "control")
    assert found["ReadWritePaths"] == f"{site}/one/run {site}/two/run"
    assert found["ExecStopPost"].endswith(f" -m adaptc.daemons.guard 1 0 {site}/one/run {site}/two/run")


def test_classify_has_no_flag(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "adaptc.toml").write_text('[daemons.classify]\nlogs = "a.log"\n')
    assert "ExecStopPost" not in unit(capsys, "classify")


@pytest.mark.parametrize("daemon", ["control", "classify"])
def test_a_unit_that_could_not_start_is_refused(site: Path, capsys: pytest.CaptureFixture[str], daemon: str) -> None:
    assert run(["unit", daemon]) == ExitCode.USAGE
    assert "the unit could not start: name logs" in capsys.readouterr().err


def test_a_path_that_systemd_would_read_differently(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "100% opt").mkdir()
    assert run(["unit", "switch", "-o", str(site / "100% opt")]) == ExitCode.USAGE
    assert "choose a path without spaces and special characters" in capsys.readouterr().err


def test_watch_writes_the_output_and_is_ready_when_the_trees_are_fresh(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "releases").mkdir()
    (site / "current").symlink_to("releases")
    (site / "adaptc.toml").write_text('docroot = "current"\n[build]\ncache = "cache"\n')
    found = unit(capsys, "watch", "--user", "www")
    command = f"/usr/local/bin/adaptc watch {site}/current -o {site}/opt --config {site}/adaptc.toml"
    assert found["ExecStart"] == command
    assert (found["Type"], found["TimeoutStartSec"], found["User"]) == ("notify", "infinity", "www")
    assert found["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert found["ReadWritePaths"] == f"{site}/opt {site}/cache"


def test_watch_needs_a_docroot(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["unit", "watch"]) == ExitCode.USAGE
    assert "no docroot: name it as docroot in adaptc.toml" in capsys.readouterr().err
