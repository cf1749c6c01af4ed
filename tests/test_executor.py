"""Batches: what is put together, what comes first, and who does it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from adaptc.compile.engine.executor import Workers, batches_by_size
from adaptc.compile.engine.stages import weight_of
from adaptc.core import media
from adaptc.site.site import Source


class Inline(Executor):
    """Does the work where it is given, and keeps the batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, ...]] = []

    def submit(self, work: Callable[..., Any], /, *given: Any, **_: Any) -> Future[Any]:
        self.batches.append(given[1])
        done: Future[Any] = Future()
        done.set_result(work(*given))
        return done


def doubled(_snapshot: str, batch: tuple[str, ...]) -> list[str]:
    return [2 * unit for unit in batch]


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
    workers = Workers(lambda: pool, 2)
    assert list(workers.run(doubled, "snapshot", units(1, 2))) == ["aa", "bb"]
    assert pool.batches == []


def test_a_pool_that_was_started_gets_few_units_too_in_batches_for_all() -> None:
    pool = Inline()
    workers = Workers(lambda: pool, 2)
    assert len(list(workers.run(doubled, "snapshot", units(*[1] * 32)))) == 32
    pool.batches.clear()
    assert sorted(workers.run(doubled, "snapshot", units(*[100] * 16))) == sorted(
        2 * name for name, _ in units(*[1] * 16)
    )
    assert [len(batch) for batch in pool.batches] == [3, 3, 3, 3, 3, 1]


def test_one_unit_is_no_reason_to_start_a_pool_however_heavy() -> None:
    workers = Workers(Inline, 2)
    assert list(workers.run(doubled, "snapshot", units(8 << 20))) == ["aa"]
    assert workers.pool is None
    assert sorted(workers.run(doubled, "snapshot", units(4 << 20, 4 << 20))) == ["aa", "bb"]
    assert workers.pool is not None


def test_without_a_pool_the_work_is_done_here() -> None:
    assert list(Workers(None, 1).run(doubled, "snapshot", units(*[1] * 40)))[:2] == ["aa", "bb"]


def test_a_style_sheet_weighs_more_than_a_page_of_its_size() -> None:
    sheet, page = (weight_of(Source("digest", 100, kind)) for kind in (media.CSS, media.HTML))
    assert sheet > page == 100
