"""Batches hold what takes about as long as the others: by what units took last time, and by guesses for new ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import State, Unit, last_build
from adaptc.compile.engine.workers import executor as durations
from adaptc.compile.engine.workers.executor import Workers, batches_by_size, weigh, weight_of
from adaptc.core import media
from adaptc.core.model import Resource
from adaptc.site.site import Source

PACE = durations._PACE
SOURCES = {name: Source("digest", 1000, media.HTML) for name in ("a", "b", "c", "d", "new")}
UNITS = [("full", name) for name in SOURCES]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with contextlib.closing(State(tmp_path / "state.sqlite")) as opened:
        yield opened


def note(state: State, **seconds: float) -> None:
    for path, took in seconds.items():
        state.note_duration(UnitResult("full", path, media.HTML, seconds=took))


def test_a_style_sheet_weighs_more_than_a_page_of_its_size() -> None:
    sheet, page = (weight_of(Source("digest", 100, kind)) for kind in (media.CSS, media.HTML))
    assert sheet > page == 100


def test_sources_tell_what_was_never_built(state: State) -> None:
    assert weigh(state, UNITS, SOURCES) == [(unit, 1000) for unit in UNITS]


def test_a_unit_weighs_what_it_took(state: State) -> None:
    note(state, a=0.125, b=2.0)
    assert weigh(state, UNITS[:2], SOURCES) == [(("full", "a"), PACE // 8), (("full", "b"), 2 * PACE)]
    assert weigh(state, [("text", "a")], SOURCES) == [(("text", "a"), 1000)]  # at another level nothing is known


def test_new_units_are_in_proportion(state: State) -> None:
    note(state, a=1.0, b=3.0)
    larger = {**SOURCES, "new": Source("digest", 3000, media.HTML)}
    weights = dict(weigh(state, UNITS, larger))
    assert weights["full", "c"] == 2 * PACE and weights["full", "new"] == 6 * PACE


def test_batches_are_filled_by_what_units_took(state: State) -> None:
    note(state, a=0.01, b=0.01, c=4.0, d=0.01, new=0.01)
    batches = batches_by_size(weigh(state, UNITS, SOURCES), PACE, 64)
    assert [[path for _, path in batch] for batch in batches] == [["a", "b", "c"], ["d", "new"]]


def test_what_comes_from_the_cache_tells_little(state: State) -> None:
    note(state, a=4.0)
    note(state, a=0.0)
    assert weigh(state, UNITS[:1], SOURCES) == [(("full", "a"), 2 * PACE)]
    note(state, a=8.0)
    assert weigh(state, UNITS[:1], SOURCES) == [(("full", "a"), 8 * PACE)]


def test_durations_go_with_their_source(state: State) -> None:
    state.set_source(Resource("a", 1, 2, 3, media.HTML), "digest")
    note(state, a=4.0, b=1.0)
    state.set_source(Resource("a", 2, 3, 3, media.HTML), "other")
    assert weigh(state, UNITS[:1], SOURCES)[0][1] == 4 * PACE
    state.forget_source("a")
    assert weigh(state, UNITS[:1], SOURCES)[0][1] == 1000


def test_builds_record_and_use_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = BuiltSite(tmp_path).write({f"{n}.html": "<!DOCTYPE html><title>x</title><p>words" for n in range(4)})
    site.build()
    with last_build(site.output) as state:
        rows = state.db.execute("SELECT path, level, seconds FROM durations").fetchall()
    assert len(rows) == 8 and all(seconds > 0 for _, _, seconds in rows)
    with contextlib.closing(State(site.output / ".adaptc" / "state.sqlite")) as state:
        state.db.execute("UPDATE durations SET seconds = 7 WHERE path = ?", (b"2.html",))
    given: list[tuple[Unit, int]] = []
    run = Workers.run

    def noting(self: Workers, work: object, snapshot: object, units: list[tuple[Unit, int]], lose: object) -> object:
        given.extend(units)
        return run(self, work, snapshot, units, lose)  # type: ignore[arg-type]

    monkeypatch.setattr(Workers, "run", noting)
    site.build(codings__zst=False)  # another recipe
    weights = {unit: weight for unit, weight in given if isinstance(unit, tuple)}
    assert len(weights) == 8
    assert {unit for unit, weight in weights.items() if weight == 7 * PACE} == {
        ("full", "2.html"),
        ("lossless", "2.html"),
    }
