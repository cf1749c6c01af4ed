"""The pieces of a plan: goals, candidates, the search, and the level in the configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from adaptc.compile.pipeline import plan_level
from adaptc.config.config import Config, CostConfig
from adaptc.config.toml import parse_toml
from adaptc.core.diagnostics import UsageError
from adaptc.report.charts import PlanPoint, best_points, plan_chart
from adaptc.workflow.configuration import known_levels
from adaptc.workflow.planning.candidates import FRAMES, PRICES, Candidate, Frame, Keeps
from adaptc.workflow.planning.goals import Goals, PageMean, page_seconds, read_goals, throughput
from adaptc.workflow.planning.plan import differs, find_ladder, find_level, highest, level_text, with_level
from adaptc.workflow.planning.trials import Trial, Trials

COST = CostConfig()
FULL = PageMean(20.0, 200_000.0)


def goals(**written: str) -> Goals:
    return read_goals(Config(), written)


# ---- goals


def test_goals_are_read_as_people_write_them() -> None:
    assert goals(throughput="4x").throughput == 4
    assert goals(bytes="0.4").bytes_share == 0.4
    assert goals(bytes="40%").bytes_share == 0.4
    assert goals(bytes="200kB").bytes == 200_000
    assert goals(bytes="5000").bytes == 5000
    assert goals(requests="5").requests == 5
    assert goals(requests="1").requests == 1
    assert goals(requests="50%").requests_share == 0.5
    assert (goals(page_time="1500ms", line="2g").seconds, goals(page_time="2s", line="2g").line) == (1.5, "2g")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({}, "name a goal"),
        ({"line": "3g"}, "--line is for --page-time"),
        ({"throughput": "0.5"}, "--throughput 0.5: write how many"),
        ({"throughput": "fast"}, "--throughput fast"),
        ({"bytes": "few"}, "--bytes few: write a share such as 0.4"),
        ({"requests": "0"}, "--requests 0: write a number"),
        ({"requests": "200%"}, "--requests 200%"),
        ({"page_time": "soon"}, "--page-time soon"),
        ({"budget": "lossless"}, "there is no [budgets.lossless]"),
    ],
)
def test_a_goal_that_is_none_is_refused(written: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        goals(**written)
    assert message in str(error.value)


def test_a_budget_is_a_goal() -> None:
    config = replace(Config(), budgets=parse_toml("[lossless]\nmean_requests = 6\nmean_bytes = '150kB'\n", "x"))
    assert read_goals(config, {"budget": "lossless"}) == Goals(requests=6.0, bytes=150_000.0)
    empty = replace(Config(), budgets=parse_toml("[lossless]\ngrowth = 2\n", "x"))
    with pytest.raises(UsageError, match="limits neither"):
        read_goals(empty, {"budget": "lossless"})


def test_what_is_missed_is_said() -> None:
    mean = PageMean(10.0, 100_000.0)
    wanted = Goals(requests=5, bytes=50_000, throughput=9.0, seconds=1.0)
    assert wanted.misses(mean, FULL, COST) == [
        "10.00 requests a page, not 5",
        "100,000 bytes a page, not 50,000",
        "2.00 s a page on such a line, not 1 s",
        "1.94 times the page views, not 9 times",
    ]
    assert Goals(requests_share=0.5, bytes_share=0.5).misses(mean, FULL, COST) == []


def test_throughput_is_that_of_the_cost_model() -> None:
    mean = PageMean(1.0, 10_000.0)
    cost = COST.view_ms + COST.request_ms + COST.kilobyte_ms * 10
    full = COST.view_ms + COST.request_ms * 20 + COST.kilobyte_ms * 200
    assert throughput(mean, FULL, COST) == pytest.approx(full / cost)


def test_a_page_takes_its_round_trips_and_its_bytes() -> None:
    assert page_seconds(PageMean(1.0, 200_000.0), "3g") == pytest.approx(3 * 0.3 + 1.0)
    assert page_seconds(PageMean(8.0, 200_000.0), "3g") == pytest.approx(5 * 0.3 + 1.0)


# ---- candidates


def test_keeps_are_read() -> None:
    assert Keeps.parse(("words", "similarity >= 0.92")) == Keeps(words=True, similarity=0.92)
    for wrong in ("links", "similarity", "similarity>=2", "similarity>=much"):
        with pytest.raises(UsageError, match="--keep"):
            Keeps.parse((wrong,))


def test_keeps_leave_out_frames() -> None:
    def names(*written: str) -> list[str]:
        return [frame.name for frame in FRAMES if Keeps.parse(written).allows(frame)]

    assert names("words") == ["lossless", "inlined", "decorated", "moderate"]
    assert names("images") == ["lossless", "inlined", "decorated"]
    assert names("similarity>=0.9") == [frame.name for frame in FRAMES]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.name)
def test_each_candidate_is_a_level(frame: Frame) -> None:
    for price in (None, 1000.0) if frame.priced else (None,):
        text = level_text("planned", "t", Candidate(frame, price, 25_000.0, 0.9 if price else 0.0).values)
        level = known_levels(replace(Config(), levels=parse_toml(text, "x").below("levels")))["planned"]
        images = next((use for use in level.passes if use.name == "half-images"), None)
        assert images is None or images.option("price") == (price or 0.0)


def test_pages_may_be_made_as_other_levels_at_the_price_of_the_candidate() -> None:
    mixed = next(frame for frame in FRAMES if frame.name == "mixed")
    text = level_text("planned", "t", Candidate(mixed, 1000.0, 25_000.0).values)
    level = known_levels(replace(Config(), levels=parse_toml(text, "x").below("levels")))["planned"]
    assert (level.price, level.request, level.promise) == (1000.0, 25_000.0, "article")
    assert [other.name for other in level.instead] == list(mixed.instead)
    steps = {step.name: step.options for plan in plan_level(level).instead for step in plan.steps}
    assert steps["half-images"]["price"] == steps["strip"]["price"] == 1000.0


# ---- the search


class FakeTrials:
    """Candidates whose bytes and harm follow a formula; ``harsher`` frames have fewer bytes at each multiplier."""

    full = FULL

    def __init__(self) -> None:
        self.known: dict[Candidate, Trial] = {}

    @property
    def all(self) -> tuple[Trial, ...]:
        return tuple(self.known.values())

    def of(self, candidate: Candidate) -> Trial:
        place = FRAMES.index(candidate.frame)
        step = PRICES.index(candidate.price) / (len(PRICES) - 1) if candidate.price else 0.5
        size = 160_000 - 20_000 * place + 30_000 * step * candidate.frame.priced
        harm = 0.0 if place == 0 else place * 0.1 + 0.5 * (1 - step) * candidate.frame.priced
        return self.known.setdefault(candidate, Trial(candidate, PageMean(10.0, size), harm))


def found(wanted: Goals, keeps: Keeps | None = None) -> tuple[str | None, Trial, tuple[str, ...], int]:
    fake = FakeTrials()
    plan = find_level(cast(Trials, fake), wanted, keeps or Keeps(), COST)
    return plan.chosen and plan.chosen.candidate.frame.name, plan.nearest, plan.misses, len(fake.known)


def test_a_goal_that_is_easy_is_reached_without_harm() -> None:
    name, trial, _, tried = found(Goals(bytes=170_000))
    assert (name, trial.harm, tried) == ("lossless", 0.0, 1)


def test_the_highest_multiplier_that_reaches_the_goal_is_chosen() -> None:
    name, trial, misses, tried = found(Goals(bytes=125_000))
    assert (name, misses) == ("moderate", ())
    assert trial.mean.bytes <= 125_000
    assert trial.harm == pytest.approx(0.39, abs=0.01)
    assert tried < 25


def test_the_level_without_a_multiplier_is_tried_where_none_reaches_the_goals() -> None:
    fake = FakeTrials()
    find_level(cast(Trials, fake), Goals(bytes=125_000), Keeps(), COST)
    assert {candidate.frame.name for candidate in fake.known if candidate.price is None} == {"lossless", "inlined"}
    find_level(cast(Trials, fake), Goals(bytes=1000), Keeps(), COST)
    assert Candidate(FRAMES[3]) in fake.known


def test_what_cannot_be_reached_has_a_nearest_candidate() -> None:
    name, trial, misses, _ = found(Goals(bytes=1000))
    assert name is None
    assert trial.candidate.frame.name == "text"
    assert misses == ("40,000 bytes a page, not 1,000",)


def test_keeps_bound_what_can_be_reached() -> None:
    name, trial, _, _ = found(Goals(bytes=119_000), Keeps(words=True))
    assert name == "moderate"
    assert trial.mean.bytes <= 119_000
    assert found(Goals(bytes=95_000), Keeps(words=True))[0] is None


def test_a_frame_that_comes_to_the_same_pages_is_not_searched() -> None:
    fake = FakeTrials()
    candidate = Candidate(FRAMES[2], PRICES[0])
    same = fake.of(candidate)
    other = fake.known[Candidate(FRAMES[3], PRICES[0])] = replace(same, candidate=Candidate(FRAMES[3], PRICES[0]))
    assert differs(cast(Trials, fake), same)
    assert not differs(cast(Trials, fake), other)


def test_a_ladder_is_evenly_spaced_as_far_as_candidates_allow() -> None:
    rungs = find_ladder(cast(Trials, FakeTrials()), 5, Keeps(), COST)
    costs, harms = [rung.cost for rung in rungs], [rung.trial.harm for rung in rungs]
    assert costs == sorted(costs, reverse=True)
    assert harms == sorted(harms)
    assert rungs[-1].trial.candidate.frame.name == "text"
    assert rungs[-1].cost == pytest.approx(rungs[-1].even)
    gentle = find_ladder(cast(Trials, FakeTrials()), 3, Keeps(images=True), COST)
    assert {rung.trial.candidate.frame.name for rung in gentle} <= {"lossless", "inlined", "decorated"}


def test_the_last_value_that_holds_is_found() -> None:
    values = tuple(float(number) for number in range(9))
    for limit in range(9):
        assert highest(values, lambda value, limit=limit: value <= limit) == limit  # type: ignore[misc]
        for near in values:
            assert highest(values, lambda value, limit=limit: value <= limit, near) == limit  # type: ignore[misc]
    assert highest(values, lambda _: False) is None


@pytest.mark.parametrize(("near", "most"), [(None, 7), (20.0, 3), (21.0, 3), (22.0, 5), (40.0, 11)])
def test_a_search_that_begins_near_takes_few_steps(near: float | None, most: int) -> None:
    asked: list[float] = []
    values = tuple(float(number) for number in range(53))
    assert highest(values, lambda value: asked.append(value) or value <= 20, near) == 20  # type: ignore[func-returns-value]
    assert len(asked) <= most


# ---- the file


TABLES = '[levels.planned]\ntitle = "t"\nextends = "moderate"\n'


def test_a_level_is_appended_and_replaced_and_the_rest_stays() -> None:
    before = 'docroot = "site" # mine\r\n\n[build]\neffort = "fast"\n'
    once = with_level(before, "planned", TABLES)
    assert once.startswith(before)
    assert parse_toml(once, "x").values["levels"]["planned"]["extends"] == "moderate"
    after = with_level(once + "[serve]\nflag = false\n", "planned", TABLES.replace("moderate", "extreme"))
    assert after == once.replace("moderate", "extreme") + "[serve]\nflag = false\n"


def test_an_empty_file_gets_the_level() -> None:
    assert with_level("", "planned", TABLES).startswith("# adaptc plan: planned")


def test_a_level_of_the_users_is_not_replaced() -> None:
    with pytest.raises(UsageError, match="was not written by adaptc plan"):
        with_level('[levels.planned]\nextends = "moderate"\n', "planned", TABLES)


def test_options_are_written_as_toml() -> None:
    text = level_text("mine", "t", {"extends": "moderate", "strip": {"decorations": False, "price": 180_000.0}})
    assert "[levels.mine.strip]\ndecorations = false\nprice = 180_000.0\n" in text


# ---- the chart


def test_the_line_joins_what_nothing_is_better_than() -> None:
    points = [PlanPoint("a", 2.0, 0.1), PlanPoint("b", 1.5, 0.2), PlanPoint("c", 4.0, 0.5, is_chosen=True)]
    assert [point.name for point in best_points(points)] == ["a", "c"]
    drawn = plan_chart([*points, PlanPoint("<d>", 3.0, 0.3)])
    assert drawn.count("<circle") == 5 and 'class="chosen"' in drawn
    assert "&lt;d&gt;: 3.00 times, harm 0.3000" in drawn


def test_a_plan_without_harm_has_a_chart() -> None:
    assert plan_chart([]).count("<circle") == 1
