"""The cost model by numbers computed by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.analyse.decisions import AssetUse, DeliveryCost, Placement, place_assets
from adaptc.config.config import CostConfig

# a = 0.83 ms a request, b = 0.033 ms a kB, three pages a visit, 30 % of the visits warm
COST = DeliveryCost(0.83, 0.033, 3.0, 0.3)


def test_a_file_of_its_own() -> None:
    # 0.7 * (0.83 + 0.033 * 10)
    assert COST.own_file(10_000) == pytest.approx(0.812)
    assert COST.own_file(0) == pytest.approx(0.581)


def test_inline() -> None:
    # 0.033 * 10 on (1 + 2 * 0.5) pages
    assert COST.inline(10_000, 0.5) == pytest.approx(0.66)
    assert COST.inline(10_000, 0.0) == pytest.approx(0.33)
    assert COST.inline(10_000, 1.0) == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("size", "pages", "inline"),
    [
        # on every page: 3 b s = 0.7 (a + b s) at s = 0.581 / (0.033 * 2.3) = 7.655 kB
        (7654, 100, True),
        (7656, 100, False),
        # on one page of a hundred: 1.02 b s = 0.7 (a + b s) at s = 0.581 / (0.033 * 0.32) = 55.019 kB
        (55_018, 1, True),
        (55_020, 1, False),
        (0, 100, True),
    ],
)
def test_the_size_at_which_it_turns(size: int, pages: int, inline: bool) -> None:
    assert place_assets({"a.css": AssetUse(size, pages)}, 100, COST)["a.css"].inline == inline


def test_equal_costs_go_to_the_file() -> None:
    assert not place_assets({"a": AssetUse(1000, 1)}, 1, DeliveryCost(0, 1, 1, 0))["a"].inline


def test_every_visit_is_warm() -> None:
    assert not place_assets({"a": AssetUse(1, 1)}, 1, DeliveryCost(0.83, 0.033, 3, 1.0))["a"].inline


def test_requests_cost_nothing() -> None:
    assert not place_assets({"a": AssetUse(100, 1)}, 1, DeliveryCost(0, 0.033, 3, 0))["a"].inline


def test_the_figures_are_told() -> None:
    # 1 + 2 * 3/4 pages: 2.5 * 0.033 * 2; 0.7 * (0.83 + 0.066)
    assert place_assets({"a": AssetUse(2000, 3)}, 4, COST) == {
        "a": Placement(True, "2000 bytes used by 3 of 4 pages: 0.17 ms a visit inline, 0.63 ms shared")
    }


def test_a_site_without_pages() -> None:
    assert place_assets({}, 0, COST) == {}


@pytest.mark.parametrize("kilobyte_ms", [0.0, 1e-320])
def test_where_bytes_cost_nothing_everything_goes_inline_in_a_crowd(kilobyte_ms: float) -> None:
    assert DeliveryCost(0.83, kilobyte_ms, 3.0, 0.3).crowd_limit() == sys.maxsize


# ---- dictionaries


@pytest.mark.parametrize(
    ("share", "expected"), [(1.0, 0.3 * 3 + 0.7 * 0.7 * 2), (0.5, 0.3 * 2 + 0.7 * 0.7 * 2), (0.2, 1.4)]
)
def test_browsers_with_dictionaries_receive_an_inline_asset_twice_in_a_first_visit(share, expected):
    cost = DeliveryCost(0.83, 0.033, 3.0, 0.3, 0.7)
    assert cost.inline(1000, share) == pytest.approx(expected * 0.033)


def test_a_sheet_of_every_page_is_inlined_up_to_a_larger_size_with_dictionaries():
    with_them = DeliveryCost(0.83, 0.033, 3.0, 0.3, 0.7)
    limits = [
        max(size for size in range(100, 40_000, 100) if place_assets({"a": AssetUse(size, 10)}, 10, cost)["a"].inline)
        for cost in (COST, with_them)
    ]
    assert limits == [7600, 14900]


# ---- presets


@pytest.mark.parametrize("preset", ["http2", "static-host"])
def test_over_http2_a_file_moves_only_where_a_visit_of_three_pages_takes_less_time(preset: str) -> None:
    request_ms, kilobyte_ms = CostConfig(preset=preset).delivery
    cost = DeliveryCost(request_ms, kilobyte_ms, 3.0, 0.0)
    for size in range(100, 20_000, 300):
        for pages in range(1, 11):
            inlined = (1 + 2 * pages / 10) * kilobyte_ms * size / 1000
            placed = place_assets({"a": AssetUse(size, pages)}, 10, cost)["a"].inline
            assert placed == (inlined < request_ms + kilobyte_ms * size / 1000)


def test_a_sheet_that_all_pages_share_stays_a_file_over_http2(tmp_path: Path) -> None:
    rules = "".join(f".name-{n}{{color:#{n * 7919 % 4096:03x}}}" for n in range(700))
    page = "<!DOCTYPE html><title>t</title><link rel=stylesheet href=site.css><p class=name-{}>A page"
    site = BuiltSite(tmp_path).write({"site.css": rules, **{f"{n}.html": page.format(n) for n in range(6)}})
    site.build()
    assert b"<style>" in site.read("1.html")
    site.build(cost__preset="static-host")
    assert b"<style>" not in site.read("1.html")
    assert len(site.read("site.css", coding="br")) < 7650  # below this it costs a server less in the pages
