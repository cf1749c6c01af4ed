"""Builds that infer what a browser did not see: from which pages, when again, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite

from adaptc.browser.evidence import PageEvidence, WidthEvidence
from adaptc.browser.look import Look, NotSeen
from adaptc.compile.analyse.decisions import EvidenceKey, evidence_of
from adaptc.compile.engine.cache.derived import PageEvidenceStore
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.evidence.stage import Visit
from adaptc.compile.engine.state.state import State
from adaptc.report.explain import explain
from adaptc.report.summary import render_summary

PAGE = "<!DOCTYPE html><title>t</title><link rel=stylesheet href=s.css><body><div class=top></div><p>{}"
PAGES = [f"p{number}.html" for number in range(6)]


class FakeBrowser:
    """Sees in each page ``names``, and of pages ``blank`` nothing; ``looked`` are the pages that it was given.

    For pages that are ``hurried`` it lacks time: it sees them in part, or with ``is_lost`` not at all.
    """

    def __init__(self) -> None:
        self.names, self.blank, self.looked = "top", set[str](), list[str]()
        self.hurried, self.is_lost = set[str](), False

    def __call__(self, _program: str, work: Callable[..., Any], _note: object) -> None:
        visit: Visit = work.__self__  # type: ignore[attr-defined]
        for path in visit.pending:
            self.looked.append(path)
            if path in self.blank:
                continue
            widths = tuple(WidthEvidence(width, names=frozenset(self.names.split())) for width in (412, 1280))
            urls = frozenset({visit.records.site.address.url_of(path), visit.records.site.address.url_of("s.css")})
            if path in self.hurried and self.is_lost:
                visit.outcomes[path] = visit.records.put_failure(path, NotSeen("it did not come to rest", urls))
                continue
            look = Look(PageEvidence(widths), None, urls, is_sure=path not in self.hurried)
            visit.outcomes[path] = visit.records.put(path, look)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> FakeBrowser:
    fake = FakeBrowser()
    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.find_chromium", lambda _: "chromium")
    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.major_version", lambda _: "99")
    monkeypatch.setattr("adaptc.compile.engine.evidence.stage.in_chromium", fake)
    return fake


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    pages = {name: PAGE.format(name) for name in PAGES}
    return BuiltSite(tmp_path).write({**pages, "other.html": "<!DOCTYPE html><title>t</title>x", "s.css": ".top{}"})


def keys(site: BuiltSite) -> dict[str, EvidenceKey]:
    state = State(site.output / ".adaptc/state.sqlite", read_only=True)
    try:
        return evidence_of(state.decisions())
    finally:
        state.close()


def test_pages_like_those_that_were_seen_have_inferred_evidence(browser: FakeBrowser, site: BuiltSite) -> None:
    site.build(browser__pages=2)
    known = keys(site)
    seen = {path for path, key in known.items() if not key.like}
    assert set(browser.looked) == seen
    assert "other.html" in seen
    like = tuple(path for path in browser.looked if path != "other.html")
    assert len(like) == 2
    assert {path: set(key.like) for path, key in known.items() if key.like} == {
        path: set(like) for path in PAGES if path not in like
    }
    store = PageEvidenceStore(Store(site.output / ".adaptc/cache"))
    assert {store.read(key.key).widths[0].names for key in known.values()} == {frozenset({"top"})}


@pytest.mark.parametrize("pages", [1, "all"])
def test_one_page_says_nothing_of_others(browser: FakeBrowser, site: BuiltSite, pages: object) -> None:
    site.build(browser__pages=pages)
    assert not any(key.like for key in keys(site).values())
    assert len(browser.looked) == (2 if pages == 1 else 7)


def test_a_page_that_could_not_be_seen_is_not_inferred_and_does_not_count(
    browser: FakeBrowser, site: BuiltSite
) -> None:
    site.build(browser__pages=2)
    first = next(path for path in browser.looked if path in PAGES)
    browser.blank.add(first)
    site.write({first: PAGE.format("changed")})
    site.build(browser__pages=2)
    assert {path for path in keys(site) if path in PAGES} == set(browser.looked) & set(PAGES) - {first}


def test_inferred_pages_are_built_again_when_what_was_seen_changes(browser: FakeBrowser, site: BuiltSite) -> None:
    site.build(browser__pages=2)
    inferred = {path for path, key in keys(site).items() if key.like}
    browser.names = "top more"
    first = next(path for path in browser.looked if path in PAGES)
    site.write({first: PAGE.format("changed")})
    built = site.build(browser__pages=2).built
    assert {path for level, path in built if level == "lossless"} == inferred | {first}
    assert browser.looked.count(first) == 2
    assert not site.build(browser__pages=2).built


def test_a_page_whose_skeleton_changes_is_not_inferred_any_more(browser: FakeBrowser, site: BuiltSite) -> None:
    site.build(browser__pages=2)
    page = next(path for path, key in keys(site).items() if key.like)
    site.write({page: PAGE.format("</p><main class=other></main>")})
    site.build(browser__pages=2)
    assert keys(site)[page].like == ()
    assert browser.looked[-1] == page


def test_summary_and_explanation_say_which_pages_were_seen(browser: FakeBrowser, site: BuiltSite) -> None:
    browser.blank.add("other.html")
    figures = site.build(browser__pages=2).figures
    line = "A browser looked at 2 pages. Built by what held on pages like them: 4; without: 1."
    assert line in render_summary(figures)
    assert line in (site.output / "report.html").read_text().replace("<b>", "")
    known = keys(site)
    assert set(known) == set(PAGES)
    seen, inferred = (next(path for path, key in known.items() if bool(key.like) is like) for like in (False, True))
    sentences = {path: explain(site.config(), path).decisions[-1] for path in (seen, inferred, "other.html")}
    assert sentences[seen] == "a browser looked at it"
    assert (
        sentences[inferred] == f"no browser looked at it: it is built by what held on {', '.join(known[inferred].like)}"
    )
    assert sentences["other.html"] == "no browser looked at it, and nothing is inferred from other pages"
    assert site.build(browser__pages=2).figures.browser == figures.browser
    assert site.build().figures.browser is None


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_look_that_lacked_time_is_tried_again_until_it_fails_often(
    browser: FakeBrowser, site: BuiltSite, is_lost: bool
) -> None:
    browser.hurried, browser.is_lost = {"other.html"}, is_lost
    site.build(browser__pages="all")
    browser.looked.clear()
    again = site.build(browser__pages="all")
    assert browser.looked == ["other.html"]
    assert [each.id for each in again.diagnostics] == ["page-not-seen"] * is_lost
    browser.hurried = set()
    better = site.build(browser__pages="all")
    assert browser.looked == ["other.html"] * 2 and not better.diagnostics
    site.build(browser__pages="all")
    assert browser.looked == ["other.html"] * 2  # it is known now
    site.write({"other.html": "<!DOCTYPE html><title>u</title>y"})
    browser.hurried = {"other.html"}
    browser.looked.clear()
    for _ in range(4):
        last = site.build(browser__pages="all")
    assert browser.looked == ["other.html"] * 3  # what fails for the third time counts
    assert not last.built
