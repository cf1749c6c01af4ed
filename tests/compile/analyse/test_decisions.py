"""Decisions about the whole site from the facts of its files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.analyse.decisions import Decisions, DeliveryCost, changed_decisions, decide, decision_rows
from adaptc.compile.analyse.decorations.evidence import SiteUsage
from adaptc.compile.analyse.facts import Facts
from adaptc.compile.analyse.site_sums import SiteSums, sum_up
from adaptc.compile.engine.state.state import State, state_path
from adaptc.core import media
from adaptc.formats.css.imports import sheets_over_budget
from adaptc.site.site import Source

COST = DeliveryCost(0.83, 0.033, 3.0, 0.3)
TYPES = {"html": media.HTML, "css": media.CSS, "js": media.JS, "png": media.PNG, "pdf": "application/pdf"}


def sources(*paths: str, size: int = 500) -> dict[str, Source]:
    return {path: Source("", size, TYPES[path.rpartition(".")[2]]) for path in paths}


def page(*embeds: str, pinned: tuple[str, ...] = ()) -> Facts:
    roles = {"css": "stylesheet", "js": "script", "png": "image", "html": "frame", "pdf": "object"}
    return Facts("", tuple((roles[path.rpartition(".")[2]], path) for path in embeds), pinned)


def sheet(transfer: int, *imports: str) -> Facts:
    return Facts("", tuple(("import", path) for path in imports), transfer=transfer)


def sums_of(facts: dict[str, Facts], known: dict[str, Source]) -> SiteSums:
    return sum_up(facts.items(), lambda path: known[path].media_type)


def reasons(facts: dict[str, Facts], known: dict[str, Source]) -> dict[str, str]:
    placed = decide(sums_of(facts, known), known, COST, 4096).placements
    return {path: one.reason.partition(":")[0] for path, one in placed.items()}


def test_uses_are_counted_once_a_page() -> None:
    known = sources("a.html", "b.html", "s.css", "i.png")
    facts = {"a.html": page("s.css", "s.css", "i.png"), "b.html": page("s.css"), "s.css": sheet(100)}
    assert reasons(facts, known) == {
        "s.css": "100 bytes used by 2 of 2 pages",
        "i.png": "500 bytes used by 1 of 2 pages",
    }


def test_a_sheet_weighs_what_it_imports_and_each_only_once() -> None:
    known = sources("a.html", "s.css", "t.css", "u.css")
    facts = {
        "a.html": page("s.css"),
        "s.css": sheet(100, "t.css", "u.css", "gone.css"),
        "t.css": sheet(30, "u.css"),
        "u.css": sheet(7, "s.css"),
    }
    assert reasons(facts, known) == {"s.css": "137 bytes used by 1 of 1 pages"}


def test_what_is_no_sheet_script_or_small_image_is_not_placed() -> None:
    known = sources("a.html", "b.html", "x.pdf") | sources("large.png", size=5000)
    assert reasons({"a.html": page("b.html", "x.pdf", "large.png"), "b.html": page()}, known) == {}


def test_what_could_not_be_read_is_not_placed() -> None:
    assert reasons({"a.html": page("unread.css", "unread.png")}, sources("a.html")) == {}


def test_pinned_files() -> None:
    known, facts = sources("a.html", "s.css"), {"a.html": page("s.css", pinned=("s.css",))}
    decisions = decide(sums_of(facts, known), known, COST, 0)
    assert decisions.pinned == {"s.css": "an integrity attribute fixes its bytes"}
    assert decision_rows(decisions)["/pin/s.css"][0]


def test_only_another_choice_is_a_change() -> None:
    before = {"/placement/a": (True, "1 ms"), "/placement/b": (False, "1 ms"), "/placement/c": (True, "1 ms")}
    now = {
        "/placement/a": (True, "2 ms"),
        "/placement/b": (True, "1 ms"),
        "/placement/d": (False, ""),
        "/pin/e": (True, ""),
    }
    assert changed_decisions(before, now) == {"/placement/b", "/placement/c", "/pin/e"}


# ---- how images are used


def usages(facts: dict[str, Facts], known: dict[str, Source]) -> dict[str, SiteUsage]:
    limits = {"pages": 4, "shared": 2, "first_share": 0.01}
    return dict(decide(sums_of(facts, known), known, COST, 4096, limits).usages)


def shows(*images: str, sheets: tuple[str, ...] = (), first: str | None = None) -> Facts:
    return Facts("", tuple(("stylesheet", one) for one in sheets), images=images, first_image=first)


def test_usages_of_images() -> None:
    names = ["a.html", "b.html", "c.html", "d.html", "e.html"]
    known = sources(*names, "all.png", "some.png", "one.png", "first.png")
    facts = {name: shows("all.png", first="first.png" if name < "d" else None) for name in names}
    facts["a.html"] = shows("all.png", "some.png", "one.png", "first.png", first="first.png")
    facts["b.html"] = shows("all.png", "some.png", first="first.png")
    assert usages(facts, known) == {
        "all.png": SiteUsage.EVERYWHERE,
        "some.png": SiteUsage.SHARED,
        "one.png": SiteUsage.UNIQUE,
        "first.png": SiteUsage.UNIQUE | SiteUsage.FIRST,
    }


def test_what_a_sheet_shows_counts_for_the_pages_that_link_it_once() -> None:
    names = ["a.html", "b.html", "c.html", "d.html"]
    known = sources(*names, "s.css", "t.css", "i.png")
    facts = {name: shows(sheets=("s.css",)) for name in names[:3]} | {"d.html": shows("i.png", sheets=("s.css",))}
    facts |= {"s.css": sheet(10, "t.css"), "t.css": Facts("", images=("i.png",))}
    assert usages(facts, known) == {"i.png": SiteUsage.EVERYWHERE}


def test_without_limits_there_are_no_usages_and_a_usage_that_changes_is_noticed() -> None:
    known = sources("a.html", "b.html", "c.html", "d.html", "i.png")
    facts = {name: shows("i.png" if name == "a.html" else "x.png") for name in known if name.endswith("html")}
    before = decide(sums_of(facts, known), known, COST, 4096, {"pages": 4, "shared": 5, "first_share": 0.01})
    assert before.usages["i.png"] is SiteUsage.UNIQUE
    assert decide(sums_of(facts, known), known, COST, 4096).usages == {}
    facts["b.html"] = shows("i.png")
    after = decide(sums_of(facts, known), known, COST, 4096, {"pages": 4, "shared": 5, "first_share": 0.01})
    assert changed_decisions(decision_rows(before), decision_rows(after)) == {"/usage/i.png"}


def test_a_sheet_that_a_page_loads_by_itself_and_a_sheet_imports_is_noticed() -> None:
    known = sources("a.html", "b.html", "a.css", "b.css", "c.css")
    facts = {"a.html": shows(sheets=("a.css", "b.css")), "b.html": shows(sheets=("a.css",))}
    facts["b.css"] = Facts("", (("import", "a.css"), ("import", "c.css")))
    assert decide(sums_of(facts, known), known, COST, 4096).twofold == {"a.css"}
    rows = decision_rows(Decisions({}, {}, twofold=frozenset(("a.css",))))
    assert changed_decisions({}, rows) == {"/twofold/a.css"}


def test_the_imports_of_all_sheets_have_a_budget() -> None:
    """The sheets that pages load come first; each takes the bytes of all that it imports."""
    imports = {"a.css": ("base.css",), "b.css": ("base.css",), "z.css": ("c.css", "d.css"), "c.css": ("d.css", "z.css")}
    sizes = {"base.css": 60_000, "c.css": 10_000, "d.css": 20_000}
    assert sheets_over_budget(imports, sizes, {"z.css"}, 200_000) == frozenset()
    assert sheets_over_budget(imports, sizes, {"z.css"}, 100_000) == {"b.css", "c.css"}
    assert sheets_over_budget(imports, sizes, {"b.css"}, 61_000) == {"a.css", "c.css", "z.css"}
    rows = decision_rows(Decisions({}, {}, excess=frozenset(("a.css",))))
    assert changed_decisions({}, rows) == {"/excess/a.css"}


# ---- the sums of facts, from one build to the next


def stored_sums(site: BuiltSite) -> tuple[Any, Any]:
    """Return the sums that the state has, and those of the facts in it."""
    with contextlib.closing(State(state_path(site.output), read_only=True)) as state:
        known = state.resources()
        summed = sum_up(state.facts(), lambda path: known[path][0].media_type)
        stored = state.meta("sums")
        return stored and SiteSums.unpack(stored).pack(), summed.pack()


@pytest.mark.parametrize(
    "edit",
    [
        {"a.html": '<link rel="stylesheet" href="t.css"><img src="j.png">'},
        {"s.css": "a { background: url(j.png) }"},
        {"new.html": '<link rel="stylesheet" href="s.css">', "a.html": "<p>no sheet"},
        {"j.png": b"\x89PNG"},  # pages that referred to it before are read again
        {"b.html": None, "t.css": None},
        {},
    ],
)
def test_the_sums_follow_the_files(tmp_path: Path, edit: dict[str, str | bytes | None]) -> None:
    site = BuiltSite(tmp_path).write({
        "a.html": '<link rel="stylesheet" href="s.css" integrity="sha256-x"><img src="i.png"><img src="j.png">',
        "b.html": '<link rel="stylesheet" href="s.css"><script src="x.js"></script><img src="i.png">',
        "s.css": '@import "t.css"; b { background: url(i.png) }', "t.css": "c { color: red }", "x.js": "let x = 1",
        "i.png": b"",
    })  # fmt: skip
    site.build()
    for path, content in edit.items():
        if content is None:
            site.remove(path)
        else:
            site.write({path: content})
    site.build()
    stored, summed = stored_sums(site)
    assert stored == summed
