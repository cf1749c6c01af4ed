"""``adaptc watch``: whatever happens to a docroot, the trees follow, and nothing stale stays."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.sites.built import BuiltSite
from tests.sites.watched import save, watched
from tests.waiting import PATIENCE, wait_until

from adaptc.cli.status import status_text
from adaptc.compile.engine.outdated import aliases_of
from adaptc.compile.engine.reporting import Silent
from adaptc.compile.engine.state.state import State as EngineState
from adaptc.compile.engine.state.state import state_path
from adaptc.compile.engine.trees.gate import Gate
from adaptc.daemons.run_directory import RunDirectory
from adaptc.daemons.status import DaemonStatus, daemon_statuses
from adaptc.workflow.api import engine_of
from adaptc.workflow.watch import event_loop
from adaptc.workflow.watch.builder_session import BuildOutcome
from adaptc.workflow.watch.event_loop import FileObserver, Watcher, WatcherContext
from adaptc.workflow.watch.invalidation import Invalidator
from adaptc.workflow.watch.journal import Journal, StatusFile
from adaptc.workflow.watch.state_machine import (
    BuildBest,
    BuildChanged,
    BuildSite,
    Command,
    CommandDone,
    DocrootMoved,
    End,
    Event,
    EventsLost,
    FilesChanged,
    Reconcile,
    Reload,
    Reopen,
    State,
    Stop,
    Tick,
    Timing,
    step,
)

PAGE = '<!DOCTYPE html>\n<html lang=en><title>{0}</title>\n<link rel=stylesheet href="/one.css">\n<p>  {0}\n'
FILES = {
    "index.html": PAGE.format("start"),
    "deep/a.html": PAGE.format("a"),
    "deep/b.html": PAGE.format("b"),
    "one.css": ".a  {  color : #112233 }\n" * 5,
}

# ---- the machine: a dialogue


def dialogue(*events: Event, state: State | None = None) -> list[Command | None]:
    """Return what the machine commands at each event."""
    now, said = state or State(coarse=False), []
    for event in events:
        now, command = step(now, event, Timing(1, 10, 2, 15, idle=20, reconcile=100, retry=5))
        said.append(command)
    return said


def test_a_change_is_built_when_it_is_quiet() -> None:
    assert dialogue(FilesChanged(1, 1), Tick(1.5), FilesChanged(1.9, 1), Tick(2.5), Tick(2.9)) == [
        None, None, None, None, BuildChanged(),
    ]  # fmt: skip


def test_a_burst_that_does_not_end_is_built_all_the_same() -> None:
    burst = [FilesChanged(0.5 * number, 1) for number in range(1, 21)]
    assert dialogue(*burst, Tick(10.4), Tick(10.5))[-2:] == [None, BuildChanged()]


def test_the_end_of_a_large_burst_is_waited_for_longer() -> None:
    assert dialogue(FilesChanged(1, 41), Tick(2.9), Tick(3))[-2:] == [None, BuildSite()]
    burst = [FilesChanged(0.5 * number, 30) for number in range(1, 31)]
    assert dialogue(*burst, Tick(15.4), Tick(15.5))[-2:] == [None, BuildSite()]


def test_a_large_burst_and_a_directory_take_the_whole_site() -> None:
    assert dialogue(FilesChanged(1, 41), Tick(3))[-1] == BuildSite()
    assert dialogue(FilesChanged(1, 0, True), Tick(3))[-1] == BuildSite()
    assert dialogue(EventsLost(1), Tick(3))[-1] == BuildSite()


def test_what_is_idle_is_polished_once_and_then_reconciled() -> None:
    built = [FilesChanged(1, 1), Tick(2), CommandDone(3, BuildChanged())]
    assert dialogue(*built, Tick(20), Tick(21), CommandDone(30, BuildBest()), Tick(129), Tick(130)) == [
        None, BuildChanged(), None, None, BuildBest(), None, None, Reconcile(),
    ]  # fmt: skip


def test_what_is_noticed_while_it_polishes_is_built_first() -> None:
    said = dialogue(
        FilesChanged(1, 1), CommandDone(9, BuildBest()), Tick(9), CommandDone(10, BuildChanged()), Tick(20), Tick(21)
    )
    assert said == [None, None, BuildChanged(), None, None, BuildBest()]


def test_a_failure_is_tried_again_as_a_whole() -> None:
    said = dialogue(FilesChanged(1, 1), Tick(2), CommandDone(3, BuildChanged(), failed=True), Tick(7), Tick(8))
    assert said == [None, BuildChanged(), None, None, BuildSite()]


def test_the_rest() -> None:
    assert dialogue(Reload(1), DocrootMoved(2), Stop(3)) == [Reopen(True), Reopen(False), End()]


def test_the_journal_and_the_line_of_a_terminal() -> None:
    lines: list[str] = []
    record, terminal = io.StringIO(), io.StringIO()
    journal = Journal(lines.append, [record], terminal)
    journal.set_state("building")
    journal.report("built", "built 2", built=2)
    assert lines[0].endswith(" built 2")
    assert json.loads(record.getvalue()).items() >= {"event": "built", "sentence": "built 2", "built": 2}.items()
    assert terminal.getvalue() == "\r\x1b[Kbuilding\r\x1b[K\r\x1b[Kbuilding"


# ---- a watcher that runs


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write(FILES)


def test_saves_of_every_kind(site: BuiltSite) -> None:
    with watched(site) as one:
        save(site.docroot / "deep/a.html", PAGE.format("saved"))
        one.wait_until(lambda: b"saved" in _read(site, "deep/a.html"))
        (site.docroot / "deep/b.html").write_text(PAGE.format("in place"))
        (site.docroot / "new.html").write_text(PAGE.format("new"))
        (site.docroot / "index.html").unlink()
        one.settle()
        save(site.docroot / "one.css", ".a { color: red }")
        one.settle()
        assert one.stop() == 0
        assert one.events("stopped")
        assert not one.events("failed")


def _read(site: BuiltSite, path: str) -> bytes:
    try:
        return site.read(path)
    except FileNotFoundError:
        return b""


def test_directories_move(site: BuiltSite) -> None:
    with watched(site) as one:
        os.rename(site.docroot / "deep", site.docroot / "deeper")
        one.settle()
        outside = site.root / "outside"
        os.rename(site.docroot / "deeper", outside)
        one.wait_until(lambda: not (site.output / "lossless/id/deeper").exists())
        os.rename(outside, site.docroot / "inside")
        one.settle()
        shutil.rmtree(site.docroot / "inside")
        one.settle()


@pytest.mark.parametrize("path", ["deep/a.html", "deep"])
def test_what_others_may_read_no_longer_is_withdrawn(site: BuiltSite, path: str) -> None:
    with watched(site) as running:
        (site.docroot / path).chmod(0o600 if path.endswith("html") else 0o700)
        running.wait_until(lambda: not (site.output / "lossless/id/deep/a.html").exists())
        (site.docroot / path).chmod(0o644 if path.endswith("html") else 0o755)
        running.wait_until(lambda: (site.output / "lossless/id/deep/a.html").exists())


def test_a_change_of_modes_is_an_event(tmp_path: Path) -> None:
    """Without one only the comparison of the whole docroot finds it, a minute later."""
    directory, file = tmp_path / "directory", tmp_path / "file"
    directory.mkdir()
    file.write_text("words")
    noted: set[str] = set()
    checks = dict.fromkeys(("check_file", "check_directory", "check_mode"), noted.add)
    observer = FileObserver(SimpleNamespace(docroot=str(tmp_path), **checks), lambda: None)  # type: ignore[arg-type]
    try:
        directory.chmod(0o700)
        file.chmod(0o600)
        wait_until(lambda: {str(directory), str(file)} <= noted)
    finally:
        observer.close()


def test_a_file_that_may_be_run_is_withdrawn(site: BuiltSite) -> None:
    site.write({"deep/run": "#!/bin/sh\n"})
    with watched(site) as running:
        (site.docroot / "deep/run").chmod(0o755)
        running.wait_until(lambda: not (site.output / "full/id/deep/run").exists())


def test_a_state_that_was_damaged_is_replaced_and_said(site: BuiltSite) -> None:
    site.build(build__effort="default")
    state_path(site.output).write_bytes(bytes(range(256)) * 40)
    with watched(site) as one:
        (failed,) = one.events("failed")
        assert failed["sentence"].startswith("the state could not be used, and everything is built anew: ")
        one.settle()


def test_a_burst_ends_as_a_clean_build(site: BuiltSite) -> None:
    with watched(site) as one:
        for number in range(120):
            file = site.docroot / f"many/{number % 7}/{number}.html"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(PAGE.format(number))
        for number in range(0, 120, 3):
            (site.docroot / f"many/{number % 7}/{number}.html").write_text(PAGE.format(-number))
        one.settle()


def test_the_release_behind_a_link_is_swapped(site: BuiltSite) -> None:
    releases = site.root / "releases"
    shutil.copytree(site.docroot, releases / "41")
    shutil.copytree(site.docroot, releases / "42")
    (releases / "42/index.html").write_text(PAGE.format("release 42"))
    current = site.root / "current"
    current.symlink_to("releases/41")
    with watched(site, docroot=current) as one:
        (site.root / "next").symlink_to("releases/42")
        os.replace(site.root / "next", current)
        one.wait_until(lambda: b"release 42" in _read(site, "index.html"))
        (releases / "42/deep/a.html").write_text(PAGE.format("and on"))
        (releases / "41/deep/b.html").write_text(PAGE.format("nobody looks here"))
        one.wait_until(lambda: b"and on" in _read(site, "deep/a.html"))
        assert b"nobody" not in _read(site, "deep/b.html")
        assert one.events("reopened")


def test_the_docroot_goes_and_comes_back(site: BuiltSite) -> None:
    with watched(site) as one:
        os.rename(site.docroot, site.root / "away")
        one.wait_until(lambda: not _read(site, "index.html"))
        os.rename(site.root / "away", site.docroot)
        (site.docroot / "index.html").write_text(PAGE.format("back"))
        one.settle()


def test_links_inside(site: BuiltSite) -> None:
    (site.docroot / "link").symlink_to("deep")
    (site.docroot / "a.html").symlink_to("deep/a.html")
    with watched(site) as one:
        save(site.docroot / "deep/a.html", PAGE.format("behind links"))
        one.settle()
        (site.docroot / "two").mkdir()
        (site.docroot / "two/b.html").write_text(PAGE.format("two"))
        (site.docroot / "next").symlink_to("two")
        os.replace(site.docroot / "next", site.docroot / "link")
        one.settle()


def test_without_events(site: BuiltSite) -> None:
    with watched(site, "--poll", "0.2") as one:
        save(site.docroot / "deep/a.html", PAGE.format("polled"))
        (site.docroot / "one.css").unlink()
        one.settle()


def test_what_no_event_told_of_is_found(site: BuiltSite) -> None:
    """Somebody takes a file out of the trees; nothing happens in the docroot."""
    with watched(site, "--reconcile", "1") as one:
        (site.output / "lossless/br/index.html").unlink(missing_ok=True)
        (site.output / "lossless/id/index.html").unlink()
        one.settle()


def test_the_configuration_is_read_again(site: BuiltSite) -> None:
    config = site.root / "adaptc.toml"
    config.write_text('[build]\nlevels = ["full"]\n')
    with watched(site) as one:
        assert not (site.output / "lossless").exists()
        config.write_text("[build]\nlevel = 1\n")
        one.process.send_signal(signal.SIGHUP)
        assert "unknown key build.level" in one.wait_for("failed")[0]["sentence"]
        config.write_text('[build]\nlevels = ["full", "lossless"]\n')
        one.process.send_signal(signal.SIGHUP)
        one.settle()


def test_one_watcher_at_a_time(site: BuiltSite) -> None:
    with watched(site):
        command = [sys.executable, "-P", "-m", "adaptc", "watch", str(site.docroot), "-o", str(site.output)]
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (second.returncode, second.stderr) == (4, f"adaptc: another build is writing to {site.output}\n")


def test_an_error_in_one_page_does_not_stop_it(site: BuiltSite) -> None:
    with watched(site) as one:
        (site.docroot / "deep/a.html").write_bytes(b"\x00<html \xff<" * 50)
        (site.docroot / "loop").symlink_to("loop")
        os.mkfifo(site.docroot / "pipe")
        one.wait_for("built")
        save(site.docroot / "deep/b.html", PAGE.format("goes on"))
        one.wait_until(lambda: b"goes on" in _read(site, "deep/b.html"))


def test_what_came_during_a_build_is_one_build(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[type[Command]] = []
    for one in (BuildSite, BuildChanged):
        monkeypatch.setitem(event_loop._BUILDS, one, lambda _, one=one: (built.append(one), BuildOutcome())[1])
    context = WatcherContext(site.config, Timing(), Journal(lambda _: None, []), Silent())
    watcher = Watcher(context)
    try:
        for number in range(500):
            watcher._on_changes([f"{number}.html"], False)
        time.sleep(2 * Timing().long_quiet)
        assert watcher._turn()
    finally:
        watcher._close()
    assert built == [BuildSite]


def test_status_shows_the_watcher(site: BuiltSite) -> None:
    run = RunDirectory(site.output / "run")

    def said() -> DaemonStatus | None:
        return next((found for found in daemon_statuses(run, time.time()) if found.name == "watch"), None)

    (site.root / "adaptc.toml").write_text("")
    with watched(site) as one:
        one.wait_until(lambda: (now := said()) and now.record["state"] == "fresh")
        found = said()
        assert found is not None
        assert found.is_alive
        assert found.record["docroot"] == str(site.docroot)
        assert found.record["errors"] == 0
        (site.root / "adaptc.toml").write_text("[site]\nbase_url = 5\n")
        one.process.send_signal(signal.SIGHUP)
        one.wait_until(lambda: (now := said()) and now.record["errors"] == 1)
        assert one.stop() == 0
    text = status_text(run, time.time())
    assert re.search(r"^watch +stopped +\d+ s ago$", text, re.MULTILINE)
    assert re.search(r"^ +event +stopped, \d+ s ago$", text, re.MULTILINE)
    assert re.search(r"^ +error +the configuration is wrong .*, \d+ s ago$", text, re.MULTILINE)


def test_a_status_that_cannot_be_written_is_counted(tmp_path: Path) -> None:
    status_file = StatusFile()
    (tmp_path / "run").symlink_to("memory")  # of a file system that is not there yet
    status_file.open(tmp_path, "site")
    status_file.set_state("building")
    (tmp_path / "memory").mkdir()
    status_file.set_state("fresh")
    said = RunDirectory(tmp_path / "run").read_json("watch.json")
    assert said["state"] == "fresh"
    assert said["unwritten"] >= 1
    status_file.close()
    assert RunDirectory(tmp_path / "run").read_json("watch.json")["stopped"]


def test_systemd_is_told(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    address = f"{site.root}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(address)
        channel.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        with watched(site) as one:
            assert channel.recv(100) == b"READY=1"
            assert one.stop() == 0
            assert channel.recv(100) == b"STOPPING=1"


# ---- noticing


class Told:
    """A notice of a built site, and what it told."""

    def __init__(self, site: BuiltSite) -> None:
        site.build()
        builder = engine_of(site.config(), Silent())
        spec = builder.spec
        self.gate = Gate(builder.trees.publisher, spec.state_path)
        self.record: list[tuple[list[str], bool]] = []
        self.invalidator = Invalidator(
            str(site.docroot),
            spec.selection,
            self.gate,
            lambda paths, whole: self.record.append((list(paths), whole)),
        )
        with contextlib.closing(EngineState(spec.state_path)) as state:
            known = state.resources()
        self.invalidator.set_known(known, aliases_of(one for one, _ in known.values()))

    def _tell(self, paths: Sequence[str], whole: bool) -> None:
        self.record.append((list(paths), whole))


def test_what_was_only_touched_stays(site: BuiltSite) -> None:
    told = Told(site)
    os.utime(site.docroot / "index.html")
    told.invalidator.check_file(str(site.docroot / "index.html"))
    told.invalidator.check_file(str(site.docroot / ".hidden"))
    told.invalidator.check_file(str(site.docroot / "never.html~"))
    assert told.record == []
    assert site.read("index.html")


def test_a_file_that_changes_back_while_it_is_built_counts(site: BuiltSite) -> None:
    """What is being published may be the version between."""
    told = Told(site)
    told.invalidator.is_building = True
    told.invalidator.check_file(str(site.docroot / "index.html"))
    assert told.record == [(["index.html"], False)]
    assert not _read(site, "index.html")


def test_a_doubted_file_is_told_once(site: BuiltSite) -> None:
    told = Told(site)
    for text in ("one", "two"):
        (site.docroot / "index.html").write_text(text)
        told.invalidator.check_file(str(site.docroot / "index.html"))
    assert told.record == [(["index.html"], False)]


def test_an_error_of_the_system_does_not_make_it_deaf(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(site)
    lost = threading.Event()

    def refuse(_path: str) -> None:
        raise PermissionError(1, "no")

    monkeypatch.setattr(told.invalidator, "check_file", refuse)
    observer = FileObserver(told.invalidator, lost.set)
    (site.docroot / "index.html").write_text("changed")
    assert lost.wait(PATIENCE)
    assert observer.is_alive
    observer.close()


def test_lost_events_are_told(site: BuiltSite) -> None:
    lost = threading.Event()
    observer = FileObserver(Told(site).invalidator, lost.set)
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed")
    assert lost.is_set()
    observer.close()
