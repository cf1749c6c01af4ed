"""What a build buys, weighted by the page views of access logs: figures, summary, manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sites.popular import PopularSite

from adaptc.config.config import CostConfig
from adaptc.report.figures import LevelFigures, TrafficFigures, capacity_factor
from adaptc.report.summary import render_summary


@pytest.fixture
def site(tmp_path: Path) -> PopularSite:
    """Page a takes one sheet and is popular, page c takes four images; b takes the sheet."""
    made = PopularSite(tmp_path)
    images = "".join(f"<img src=i{number}.bin>" for number in range(4))
    made.write({"c.html": f"<!DOCTYPE html><title>c</title>{images}"})
    made.write({f"i{number}.bin": bytes([number]) * 20_000 for number in range(4)})
    return made


def rows(site: PopularSite) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    manifest = json.loads((site.output / "manifest.json").read_bytes())
    return manifest, {row["path"]: row for row in manifest["resources"]}


def levels(site: PopularSite, **overrides: Any) -> dict[str, LevelFigures]:
    return {level.level: level for level in site.build(**overrides).figures.levels}


def test_means_are_over_pages_without_logs(site: PopularSite) -> None:
    found = levels(site, select="")
    assert found["full"].requests_per_page == pytest.approx((2 + 2 + 5) / 3)
    assert [level.pages for level in found.values()] == [3, 3, 3]


def test_the_next_page_of_a_visit_fetches_what_the_page_before_had_not(site: PopularSite) -> None:
    """The sheet is of two pages of three, each of four images of one; with logs, of 9 views of 10 and of 1."""
    found = levels(site, select="")["full"]
    assert found.next_requests == pytest.approx(1 + 2 / 3 * 1 / 3 + 4 * 1 / 3 * 2 / 3)
    assert found.next_transfer < found.transfer_per_page
    viewed = levels(site)["full"]
    assert viewed.next_requests == pytest.approx(1 + 5 * 0.9 * 0.1)
    _, pages = rows(site)

    def sent(path: str) -> int:
        return min(size["size"] for size in pages[path]["levels"]["full"]["files"].values())

    own = (7 * sent("a.html") + 2 * sent("b.html") + sent("c.html")) / 10
    embedded = sum(map(sent, ("s.css", "i0.bin", "i1.bin", "i2.bin", "i3.bin")))
    assert viewed.next_transfer == pytest.approx(own + embedded * 0.09)


def test_means_are_over_views_with_logs(site: PopularSite) -> None:
    found = levels(site)
    assert found["full"].requests_per_page == pytest.approx((7 * 2 + 2 * 2 + 1 * 5) / 10)
    _, pages = rows(site)
    cost = {path: pages[path]["levels"]["full"]["page"] for path in ("a.html", "b.html", "c.html")}
    wanted = (7 * cost["a.html"]["transfer"] + 2 * cost["b.html"]["transfer"] + cost["c.html"]["transfer"]) / 10
    assert found["full"].transfer_per_page == pytest.approx(wanted)


def test_a_page_that_a_level_lacks_counts_as_the_original(site: PopularSite) -> None:
    found = levels(site)
    _, pages = rows(site)
    assert [level.pages for level in found.values()] == [3, 3, 1]
    a = pages["a.html"]["levels"]["words"]["page"]
    assert a["requests"] == 1
    assert found["words"].requests_per_page == pytest.approx((7 * a["requests"] + 2 * 2 + 5) / 10)
    first, here = found["full"], found["words"]
    wanted = capacity_factor(
        here.requests_per_page,
        here.transfer_per_page,
        first.requests_per_page,
        first.transfer_per_page,
        view_ms=CostConfig().view_ms,
    )
    assert here.capacity_factor == pytest.approx(wanted)


def test_a_frame_that_a_level_lacks_weighs_what_it_weighs_in_the_original(site: PopularSite) -> None:
    site.write({"a.html": "<!DOCTYPE html><title>a</title><iframe src=b.html></iframe>"})
    site.build()
    _, pages = rows(site)
    page = {level: found["page"] for level, found in pages["a.html"]["levels"].items()}
    assert page["words"]["transfer"] <= page["full"]["transfer"]


def test_the_manifest_has_views_costs_and_factors(site: PopularSite) -> None:
    site.build(cost__request_ms=1.0, cost__kilobyte_ms=0.0, cost__view_ms=0.5)
    manifest, pages = rows(site)
    assert manifest["traffic"] == {"views": 10, "viewed": 3, "popular": 1, "share": 0.7}
    assert manifest["cost"] == {"view_ms": 0.5, "request_ms": 1.0, "kilobyte_ms": 0.0}
    assert {path: pages[path].get("views") for path in ("a.html", "c.html", "s.css")} == {
        "a.html": 7,
        "c.html": 1,
        "s.css": None,
    }
    assert pages["a.html"]["levels"]["lossless"]["page"]["capacity"] == round(2.5 / 1.5, 4)
    assert pages["a.html"]["levels"]["full"]["page"]["capacity"] == 1.0
    assert "words" not in pages["c.html"]["levels"]
    assert {level["name"]: level["pages"] for level in manifest["levels"]} == {"full": 3, "lossless": 3, "words": 1}


def test_other_views_alone_write_manifest_and_report_anew(site: PopularSite) -> None:
    site.build()
    site.see({"/a.html": 70, "/b.html": 3})
    result = site.build()
    assert not result.built
    assert rows(site)[0]["traffic"]["views"] == 73
    assert result.figures.traffic == TrafficFigures(73, 2, 1, 0.7)
    before = site.stamps()
    assert site.build().figures.traffic == result.figures.traffic
    assert site.stamps() == before


def test_the_summary_says_what_the_means_are_over(site: PopularSite) -> None:
    text = render_summary(site.build().figures)
    assert "Means are over 10 page views in the access logs." in text
    assert "words has 1 of 3 pages: those that make up 70 % of the views; the others are served as originals." in text
    text = render_summary(site.build(select="").figures)
    assert "views" not in text
