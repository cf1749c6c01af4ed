"""Batches: what is put together, what comes first, and who does it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.samples.fragile_work import fragile

from adaptc.compile.engine.workers.executor import Workers, batches_by_size, worker_pool
from adaptc.compile.engine.workers.pool import Pool
from adaptc.core.shortage import Shortage, has_memory_limit


class Inline(Pool):
    """Does the work where it is given, and keeps the batches."""

    def __init__(self, jobs: int = 2) -> None:
        super().__init__(jobs, Path("lock"), ())
        self.batches: list[tuple[str, ...]] = []
        self.is_running = False

    @property
    def is_started(self) -> bool:
        return self.is_running

    def start(self) -> None:
        self.is_running = True

    def run(
        self, work: Callable[..., Any], snapshot: str, batches: Iterable[Any], _lose: Callable[..., Any]
    ) -> Iterator[Any]:
        self.start()
        for batch in batches:
            self.batches.append(batch)
            yield from work(snapshot, batch)


def doubled(_snapshot: str, batch: tuple[str, ...]) -> list[str]:
    return [2 * unit for unit in batch]


def lost(unit: str, reason: str) -> str:
    return f"{unit}: {reason}"


def units(*weights: int) -> list[tuple[str, int]]:
    return [(chr(ord("a") + number), weight) for number, weight in enumerate(weights)]


def test_neighbours_are_together_up_to_the_size() -> None:
    assert batches_by_size(units(4, 4, 4, 4, 4), 10, 64) == [("a", "b", "c"), ("d", "e")]
    assert batches_by_size(units(1, 1, 1), 10, 2) == [("a", "b"), ("c",)]
    assert batches_by_size([], 10, 2) == []


def test_the_heaviest_come_first_and_the_others_in_order() -> None:
    batches = batches_by_size(units(12, 19, 10, 300, 11, 50, 4), 10, 64)
    assert batches == [("d",), ("f",), ("a",), ("b",), ("c",), ("e",), ("g",)]


def test_few_units_are_no_reason_to_start_a_pool() -> None:
    pool = Inline()
    assert list(Workers(pool).run(doubled, "snapshot", units(1, 2), lost)) == ["aa", "bb"]
    assert not pool.is_started


def test_isolated_work_is_never_done_here() -> None:
    pool = Inline()
    assert list(Workers(pool, is_isolated=True).run(doubled, "snapshot", units(1), lost)) == ["aa"]
    assert pool.batches == [("a",)]


def test_a_pool_that_was_started_gets_few_units_too_in_batches_for_all() -> None:
    pool = Inline()
    workers = Workers(pool)
    assert len(list(workers.run(doubled, "snapshot", units(*[1] * 192), lost))) == 192
    pool.batches.clear()
    assert sorted(workers.run(doubled, "snapshot", units(*[100] * 16), lost)) == sorted(
        2 * name for name, _ in units(*[1] * 16)
    )
    assert [len(batch) for batch in pool.batches] == [3, 3, 3, 3, 3, 1]


def test_one_unit_is_no_reason_to_start_a_pool_however_heavy() -> None:
    pool = Inline()
    workers = Workers(pool)
    assert list(workers.run(doubled, "snapshot", units(8 << 20), lost)) == ["aa"]
    assert not pool.is_started
    assert sorted(workers.run(doubled, "snapshot", units(4 << 20, 4 << 20), lost)) == ["aa", "bb"]
    assert pool.is_started


def test_without_a_pool_the_work_is_done_here() -> None:
    assert list(Workers(None).run(doubled, "snapshot", units(*[1] * 40), lost))[:2] == ["aa", "bb"]


# ---- what goes wrong


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with worker_pool(2, tmp_path / "lock", (), is_isolated=True) as pool:
        yield pool


def run(workers: Workers, *names: str) -> list[str]:
    return sorted(workers.run(fragile, "snapshot", [(name, 1) for name in names], lost))


def test_a_worker_that_was_killed_costs_one_unit_which_is_named(workers: Workers) -> None:
    assert run(workers, *"abc", "killed", *"defgh", "exits", *"ij") == [
        *"abcde",
        "exits: the process that built it ended with exit code 1, as libraries do that lack memory",
        *"fghij",
        "killed: the process that built it was killed (SIGKILL), as the system does when memory runs out",
    ]


def test_a_worker_that_waits_without_end_is_ended(tmp_path: Path) -> None:
    pool = Pool(2, tmp_path / "lock", (), patience=1)
    try:
        assert run(Workers(pool, is_isolated=True), "a", "stuck", "b") == [
            "a",
            "b",
            "stuck: the process that built it waited without end, as libraries do now and then, and was ended",
        ]
    finally:
        pool.close()


def test_a_library_that_does_not_return_is_ended(tmp_path: Path) -> None:
    pool = Pool(2, tmp_path / "lock", (), limit=0.5)
    try:
        *built, reason = run(Workers(pool, is_isolated=True), "a", "b", "endless")
    finally:
        pool.close()
    assert built == ["a", "b"]
    assert reason == (
        "endless: the process that built it took more CPU time than build.unit_seconds allows, in a library that did "
        "not return, and was ended"
    )


def test_memory_that_is_short_for_every_unit_ends_the_work(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.compile.engine.workers.pool._MOST_SHORT", 3)
    with pytest.raises(Shortage, match=r"3 files one after the other could not be built, .* not enough memory"):
        run(workers, *(f"short{number}" for number in range(100)))


def test_memory_that_is_short_for_heavy_units_costs_no_light_one(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptc.compile.engine.workers.pool._MOST_SHORT", 3)
    heavy, light = [f"short{number}" for number in range(5)], list("abcdefgh")
    assert [result for result in run(workers, *heavy, *light) if len(result) == 1] == light


def test_memory_that_is_short_for_most_units_ends_the_work(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.compile.engine.workers.pool._MOST_SHORT_IN_ALL", 4)
    names = [name for number in range(30) for name in (f"short{number}", f"shorter{number}", f"u{number}")]
    with pytest.raises(Shortage, match="files could not be built, and each cost a new process; of the last, not enou"):
        run(workers, *names)


def test_a_unit_that_memory_is_short_for_costs_no_other(workers: Workers) -> None:
    assert run(workers, "a", "short", "b") == ["a", "b", "short: not enough memory"]
    assert run(Workers(None), "a", "short", "b") == ["a", "b", "short: not enough memory"]


def test_a_bug_of_a_worker_is_raised_with_its_place(workers: Workers) -> None:
    with pytest.raises(LookupError, match="a bug") as raised:
        run(workers, "a", "wrong", "b")
    assert "in fragile" in raised.value.__notes__[0]


def test_workers_that_all_end_end_the_work(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.compile.engine.workers.pool._MOST_DEATHS", 2)
    with pytest.raises(Shortage, match="2 worker processes ended one after the other"):
        run(workers, *["exits"] * 4)


def test_without_a_program_to_run_workers_are_a_shortage(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.compile.engine.workers.pool.get_executable", lambda: "/nowhere/python")
    with pytest.raises(Shortage, match="worker processes cannot be started: No such file or directory"):
        run(workers, "a")


def test_a_limit_of_memory_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (-1, -1))
    assert not has_memory_limit()
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 30, -1))
    assert has_memory_limit()


def test_workers_do_not_search_the_working_directory(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert run(workers, "a") == ["a"]


def test_libraries_print_no_backtraces(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory is short, a library in Rust that prints one never ends."""
    monkeypatch.setenv("RUST_BACKTRACE", "1")
    assert run(workers, "$RUST_BACKTRACE") == ["0"]
