"""The repeated papers (benchmarks/papers): every part writes its rows, and the page follows from the rows alone."""

from __future__ import annotations

import asyncio
import csv
import filecmp
import importlib.util
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from operator import mul
from pathlib import Path
from typing import Any

import pytest

from tests import places

from adaptc.serve.capacity.rungs import SAVINGS
from benchmarks.papers import __main__ as papers
from benchmarks.papers.blocks import Chart, Claim, Series
from benchmarks.papers.bucket_pages import table_2
from benchmarks.papers.emulated_line import HEAD, SEGMENT, Line, Origin, parallel, pipelined, run_virtual, serial
from benchmarks.papers.experiment import Experiment, Part, Results, Section, Unavailable
from benchmarks.papers.page import write_page
from benchmarks.papers.plot import axis, draw
from benchmarks.papers.server_actions import ACTIONS, BUCKETS
from benchmarks.papers.texts import read_texts

DOCS = places.DOCS / "papers"
SIMULATES = pytest.mark.skipif(importlib.util.find_spec("simpy") is None, reason="simpy is not installed")


def parts() -> Iterator[Any]:
    for part in papers.PARTS:
        yield pytest.param(part, id=part.name, marks=[SIMULATES] if part.name == "fujita" else [])


# ---- a quick run


@pytest.mark.parametrize("part", list(parts()))
def test_every_part_writes_its_rows_and_the_page(part: Part, tmp_path: Path) -> None:
    assert papers.main(["--quick", part.name, "--output", str(tmp_path)]) == 0
    page = (tmp_path / "index.md").read_text("utf-8")
    quick = [section.experiment for section in part.sections if section.experiment.quick is not None]
    assert quick
    for experiment in quick:
        with (tmp_path / "data" / f"{part.name}-{experiment.name}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert rows and all(None not in row.values() for row in rows)
        assert f"(data/{part.name}-{experiment.name}.csv)" in page
    for name in re.findall(r"\]\((\S+\.svg)\)", page):
        assert (tmp_path / name).read_text("utf-8").startswith("<svg")


# ---- what was measured is kept, and what is not is said


def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **given: Any) -> list[Mapping[str, Any]]:
    """Let the program know one part only, with an experiment that counts its runs; return these."""
    runs: list[Mapping[str, Any]] = []

    def run(parameters: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        runs.append(parameters)
        yield {"x": 1, "name": "one", "nothing": None, "share": 1 / 3}

    experiment = Experiment("work", run, {"seed": 1}, **given)
    monkeypatch.setattr(papers, "PARTS", (Part("fujita", (Section(experiment, lambda rows, _: [str(rows)]),)),))
    return runs


def run_papers(tmp_path: Path, *arguments: str) -> int:
    return papers.main(["--output", str(tmp_path), *arguments])


def test_what_was_measured_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = counted(tmp_path, monkeypatch)
    assert [run_papers(tmp_path), run_papers(tmp_path), len(runs)] == [0, 0, 1]
    assert [run_papers(tmp_path, "--again"), len(runs)] == [0, 2]
    assert (tmp_path / "data/fujita-work.csv").read_text() == "x,name,nothing,share\n1,one,,0.333333\n"
    assert "{'x': 1.0, 'name': 'one', 'nothing': None, 'share': 0.333333}" in (tmp_path / "index.md").read_text()


def test_one_experiment_alone_may_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = counted(tmp_path, monkeypatch)
    assert [run_papers(tmp_path, "fujita/work"), len(runs)] == [0, 1]
    with pytest.raises(SystemExit, match="2"):
        run_papers(tmp_path, "fujita/play")


@pytest.mark.parametrize("change", [{"version": 2}, {"quick": {"seed": 2}}])
def test_another_version_or_seed_is_measured(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted(tmp_path, monkeypatch)
    run_papers(tmp_path)
    runs = counted(tmp_path, monkeypatch, **change)
    run_papers(tmp_path, *(["--quick"] if "quick" in change else []))
    assert len(runs) == 1


def test_without_quick_parameters_a_quick_run_leaves_it_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert counted(tmp_path, monkeypatch) == []
    assert run_papers(tmp_path, "--quick") == 0
    assert "Not measured yet: `python -m benchmarks.papers fujita`" in (tmp_path / "index.md").read_text()


@pytest.mark.parametrize("holds", [True, False])
def test_a_sentence_that_the_rows_do_not_bear_fails(
    holds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def present(rows: Any, _: Any) -> list[Claim]:
        return [Claim("As published: all are served.", holds and rows[0]["served"] == 1)]

    part = Part("fujita", (Section(Experiment("work", lambda _: [{"served": 1}], {}), present),))
    monkeypatch.setattr(papers, "PARTS", (part,))
    assert run_papers(tmp_path) == (0 if holds else 1)
    said = "fujita/work: the rows do not bear: As published: all are served.\n"
    assert capsys.readouterr().err == ("" if holds else said)
    assert "As published: all are served." in (tmp_path / "index.md").read_text()


def test_the_sentences_of_the_page_are_borne_by_its_rows(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "papers")
    assert write_page(papers.PARTS, tmp_path / "papers") == []


def test_what_the_machine_lacks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        raise Unavailable("apache2 is not installed")

    part = Part("fujita", (Section(Experiment("work", run, {}), lambda _, __: []),))
    monkeypatch.setattr(papers, "PARTS", (part,))
    assert run_papers(tmp_path) == 1
    assert capsys.readouterr().err == "fujita/work: not measured: apache2 is not installed\n"
    assert "Not measured yet" in (tmp_path / "index.md").read_text()


def test_an_unknown_part_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run_papers(tmp_path, "shannon")
    assert "no part shannon; there are " in capsys.readouterr().err


def test_a_quick_run_leaves_the_documentation_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        papers.main(["--quick"])
    assert "--quick needs --output DIR" in capsys.readouterr().err


# ---- the page in the documentation


def test_the_page_follows_from_the_stored_rows(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "data", tmp_path / "data")
    (tmp_path / "old.svg").touch()
    write_page(papers.PARTS, tmp_path)
    names = sorted(path.name for path in DOCS.iterdir() if path.is_file())
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == names
    assert filecmp.cmpfiles(DOCS, tmp_path, names, shallow=False) == (names, [], [])


@pytest.mark.parametrize("part", papers.PARTS, ids=lambda part: part.name)
def test_published_values_are_cited_with_their_place(part: Part) -> None:
    page = (DOCS / "index.md").read_text("utf-8")
    for name, printed in read_texts(part.name)["published"].items():
        assert re.match(r"(Tables?|Figures?|equation|sections?) \d", printed["where"]), name
        assert printed["where"] in page, name


@pytest.mark.parametrize("part", papers.PARTS, ids=lambda part: part.name)
def test_the_stored_rows_are_those_of_the_code(part: Part) -> None:
    results = Results(DOCS / "data")
    measured = [one.experiment for one in part.sections if results.rows(part.name, one.experiment)]
    assert [one.name for one in measured if not results.is_current(part.name, one, one.parameters)] == []


# ---- lines in virtual time


def seconds(load: Callable[[Line, Origin], Awaitable[None]], line: Line, **files: int) -> float:
    """Return how long a load takes; ``files`` are sizes."""

    async def origin(path: str) -> int:
        return files[path] - HEAD

    async def timed() -> float:
        await load(line, origin)
        return asyncio.get_running_loop().time()

    return round(run_virtual(timed()), 6)


def test_a_request_takes_two_round_trips_and_the_time_of_its_bytes() -> None:
    line = Line(rate=8000, rtt=0.25)  # 1 kB a second
    assert seconds(lambda line, origin: parallel(line, origin, "page", []), line, page=1500) == 2.0


def test_a_fast_line_waits_for_the_window_to_open() -> None:
    line = Line(rate=8e12, rtt=1.0)
    size = SEGMENT * 15  # flights of 2, 4, 8 and 1 segments: three round trips more
    assert seconds(lambda line, origin: parallel(line, origin, "page", []), line, page=size) == 5.0


def test_connections_share_a_line_and_pipelining_saves_round_trips() -> None:
    names = [f"i{number}" for number in range(8)]
    files = {"page": 1000, **dict.fromkeys(names, 1000)}
    for load, expected in ((parallel, 9 + 0.01), (serial, 9 + 0.01), (pipelined, 9 + 0.003)):
        slow = seconds(lambda line, origin, load=load: load(line, origin, "page", names), Line(8000, 1e-3), **files)
        assert slow == pytest.approx(expected, abs=0.02)
    fast = [
        seconds(lambda line, origin, load=load: load(line, origin, "page", names), Line(8e12, 1.0), **files)
        for load in (parallel, serial, pipelined)
    ]
    assert fast == [6.0, 7.0, 3.0]


# ---- Krishnamurthy, Zhang, Wills and Vishwanath 2003


def test_the_lines_are_those_that_the_calibration_found() -> None:
    rows = Results(DOCS / "data").rows("krishnamurthy", krishnamurthy_experiment("lines"))
    found = {row["pair"]: (row["rate"], row["rtt_s"]) for row in rows}
    assert found == krishnamurthy_experiment("classes").parameters["lines"]


def test_the_tables_have_the_means_that_adaptc_knows() -> None:
    printed, shares = read_texts("krishnamurthy")["published"], dict(table_2())
    for pair, savings in SAVINGS.items():
        times = printed[pair]["para-1.0"]
        weights = [shares[bucket] * seconds for bucket, seconds in zip(BUCKETS, times, strict=True)]
        for action, percent in zip(ACTIONS, savings.percent, strict=True):
            mean = sum(map(mul, weights, printed[pair][action])) / sum(weights)
            assert mean == pytest.approx(percent, abs=0.06), (pair, action)


def krishnamurthy_experiment(name: str) -> Experiment:
    (part,) = (one for one in papers.PARTS if one.name == "krishnamurthy")
    return next(section.experiment for section in part.sections if section.experiment.name == name)


# ---- charts and simulation


def test_axes_have_round_numbers() -> None:
    assert axis([0.0, 23.0], "linear", 0, 100).ticks() == [0, 5, 10, 15, 20]
    assert axis([2.0, 900.0], "log", 0, 100).ticks() == [1, 10, 100, 1000]
    assert axis([2.0, 900.0], "log", 0, 300).at(10) == 100


def test_a_chart_has_its_curves_and_their_names() -> None:
    drawing = draw(
        Chart(
            "name", "a < b", "x", "y", [Series("ours", [(0, 0), (1, 2)]), Series("theirs", [(1, 1)], "dots")]
        )
    )  # fmt: skip
    assert "<title>a &lt; b</title>" in drawing
    assert drawing.count("<circle") == 2
    assert ">ours</text>" in drawing and ">theirs</text>" in drawing


@SIMULATES
def test_jobs_share_a_station_and_wait_for_it() -> None:
    import simpy

    from benchmarks.papers.shared_station import SharedStation

    world = simpy.Environment()
    station, ends = SharedStation(world, limit=2), dict[str, float]()

    def job(name: str, at: float, work: float) -> Iterator[Any]:
        yield world.timeout(at)
        yield station.serve(work)
        ends[name] = world.now

    for one in (("long", 0, 3), ("short", 1, 1), ("third", 2, 1)):
        world.process(job(*one))
    world.run()
    assert ends == {"short": 3, "third": 5, "long": 5}


@SIMULATES
def test_a_full_station_loses_jobs_where_it_is_told_to() -> None:
    import simpy

    from benchmarks.papers.shared_station import SharedStation

    station = SharedStation(simpy.Environment(), limit=1, loses=True)
    assert station.serve(1) is not None
    assert station.serve(1) is None
