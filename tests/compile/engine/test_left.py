"""State and ledger are checked for foreign values only where somebody else may have written to them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.engine.state import damage as left
from adaptc.compile.engine.state import state
from adaptc.compile.engine.state.damage import check_values
from adaptc.compile.engine.state.state import STATE_FILE
from adaptc.compile.engine.state.tables import check_state
from adaptc.report import ledger
from adaptc.report.documents import LEDGER

FILES = {STATE_FILE, LEDGER}


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Return the files whose values were checked."""
    files: set[str] = set()

    def note(file: str, check: Callable[..., None]) -> Callable[..., None]:
        def noting(*arguments: object) -> None:
            files.add(file)
            check(*arguments)

        return noting

    monkeypatch.setattr(state, "check_state", note(STATE_FILE, check_state))
    monkeypatch.setattr(ledger, "check_values", note(LEDGER, check_values))
    return files


@pytest.fixture
def site(tmp_path: Path, checked: set[str]) -> BuiltSite:
    """Return a site that was built and changed."""
    built = BuiltSite(tmp_path).write({"a.html": "<!DOCTYPE html><title>a</title>"})
    built.build()
    checked.clear()
    return built.write({"a.html": "<!DOCTYPE html><title>b</title>"})


def file(site: BuiltSite, name: str) -> Path:
    return site.output / ".adaptc" / name


def test_nothing_is_checked_that_nobody_wrote_to(site: BuiltSite, checked: set[str]) -> None:
    site.build()
    assert checked == set()
    site.build()
    site.write({"a.html": "<!DOCTYPE html><title>c</title>"}).build()
    assert checked == set()


def edit(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO meta VALUES ('foreign', '1')")
    db.close()


def test_files_that_somebody_wrote_to_are_checked(site: BuiltSite, checked: set[str]) -> None:
    for name in FILES:
        edit(file(site, name))
    site.build()
    assert checked == FILES


def test_a_change_within_the_same_tick_is_seen(site: BuiltSite) -> None:
    for name in FILES:
        path = file(site, name)
        assert os.stat(path).st_mtime < os.stat(path).st_ctime - 0.5


def test_files_with_a_log_are_checked(site: BuiltSite, checked: set[str]) -> None:
    opened = [sqlite3.connect(file(site, name)) for name in FILES]
    times = {name: os.stat(file(site, name)).st_mtime_ns for name in FILES}
    for db in opened:
        db.execute("INSERT INTO meta VALUES ('foreign', '1')")
        db.commit()
    assert {name: os.stat(file(site, name)).st_mtime_ns for name in FILES} == times
    site.build()
    assert checked == FILES
    for db in opened:
        db.close()


@pytest.mark.parametrize("boot", ["another", None])
def test_after_a_restart_files_are_checked(
    site: BuiltSite, checked: set[str], boot: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left, "boot_id", lambda: boot)
    site.build()
    assert checked == FILES


def test_files_whose_time_cannot_be_set_are_checked(
    site: BuiltSite, checked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_time = os.utime

    def refuse(path: Path | str, *times: Any, **named: Any) -> None:
        if Path(path).name in FILES:
            raise PermissionError
        set_time(path, *times, **named)

    with monkeypatch.context() as patch:
        patch.setattr("adaptc.compile.engine.state.damage.os.utime", refuse)
        site.build()
    site.write({"a.html": "<!DOCTYPE html><title>c</title>"}).build()
    assert checked == FILES
