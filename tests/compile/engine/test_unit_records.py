"""A unit that another machine built is taken over where all that it depends on is the same, and built where not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite

from adaptc.compile.analyse.decisions import Decisions, EvidenceKey, Placement
from adaptc.compile.analyse.demotions import Demotion
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.state.results import PRESENCE, Output, UnitResult
from adaptc.compile.engine.unit.records import UnitRecords
from adaptc.compile.engine.unit.snapshot import Snapshot
from adaptc.compile.engine.unit.unit_builder import UnitBuilder
from adaptc.core import media
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.digest import digest_bytes
from adaptc.core.model import Action
from adaptc.site.site import Source
from adaptc.workflow.api import build_spec

CONTENT = b"<!DOCTYPE html><title>a</title><link rel=stylesheet href=a.css>"
STRANGE = "latin-\udce9.html"
KEYS = ("a.html", "a.css", PRESENCE + "missing.css", "/placement/a.css", "/pin/a.css", "/characters/", STRANGE)
DECISIONS = Decisions({"a.css": Placement(True, "small")}, {}, characters="é")


@pytest.fixture
def records(tmp_path: Path) -> UnitRecords:
    site = BuiltSite(tmp_path).write({"a.html": CONTENT})
    sources = {
        "a.html": Source(digest_bytes(CONTENT), len(CONTENT), media.HTML),
        "a.css": Source("sheet", 9, media.CSS),
        STRANGE: Source("strange", 9, media.HTML),
    }
    spec = build_spec(site.config(build__remote_cache=f"file://{tmp_path}/shared"))
    return UnitRecords(spec.snapshot(sources, DECISIONS), Store(tmp_path / "cache"))


def stored(records: UnitRecords, path: str = "a.html") -> UnitResult:
    """Store the record of a unit, with its files."""
    key = records.store.put(b"made")
    result = UnitResult(
        "lossless",
        path,
        media.HTML,
        (Output("id", records.snapshot.sources[path].digest, digest_bytes(CONTENT), 3), Output("br", key, key, 4)),
        KEYS,
        (Action("inline-styles", "inlined", "a.css", "small", 1),),
        (diagnose("missing-target", Location(STRANGE, 3, 4), where="a href", url="\udcff"),),
        ("markup",),
        ("a.css",),
        changed=True,
        seconds=1.5,
    )
    records.put(result)
    return result


def changed(records: UnitRecords, **fields: Any) -> UnitRecords:
    """Return the records for a snapshot that has other fields."""
    return UnitRecords(replace(records.snapshot, **fields), records.store)


def with_source(path: str, source: Source | None) -> Callable[[Snapshot], dict[str, Any]]:
    def make(snapshot: Snapshot) -> dict[str, Any]:
        sources = {**snapshot.sources, path: source}
        return {"sources": {name: each for name, each in sources.items() if each is not None}}

    return make


def with_decisions(**fields: Any) -> Callable[[Snapshot], dict[str, Any]]:
    return lambda snapshot: {"decisions": replace(snapshot.decisions, **fields)}


def test_the_same_result_comes_back(records: UnitRecords) -> None:
    result = stored(records)
    found = records.get(("lossless", "a.html"))
    assert found == result and found.seconds == 1.5
    assert records.store.has(result.outputs[0].key)  # the source itself was not stored before


def test_what_is_not_the_same_is_not_found(records: UnitRecords) -> None:
    stored(records)
    assert records.get(("full", "a.html")) is None
    assert records.get(("lossless", STRANGE)) is None
    assert (
        changed(records, recipes=dict.fromkeys(records.snapshot.recipes, "other")).get(("lossless", "a.html")) is None
    )


@pytest.mark.parametrize(
    "change",
    [
        with_source("a.html", Source("other", 9, media.HTML)),
        with_source("a.css", Source("other", 9, media.CSS)),
        with_source("a.css", Source("sheet", 9, media.BINARY)),
        with_source("a.css", Source("sheet", 9, media.CSS, "b.css")),
        with_source("a.css", None),
        with_source(STRANGE, None),
        with_source("missing.css", Source("new", 9, media.CSS)),
        with_decisions(placements={"a.css": Placement(False, "large")}),
        with_decisions(placements={"a.css": Placement(True, "smaller")}),
        with_decisions(pinned={"a.css": "its digest stands in a.json"}),
        with_decisions(characters="à"),
        with_decisions(demotions={("moderate", "a.css"): (Demotion("css", "it breaks the layout"),)}),
    ],
)
def test_a_change_of_what_it_depends_on(records: UnitRecords, change: Callable[[Snapshot], dict[str, Any]]) -> None:
    stored(records)
    assert changed(records, **change(records.snapshot)).get(("lossless", "a.html")) is None


@pytest.mark.parametrize(
    "change",
    [
        with_source("other.html", Source("new", 9, media.HTML)),
        with_decisions(pinned={"b.css": "its digest stands in a.json"}),
        with_decisions(evidence={"a.html": EvidenceKey("12")}),
        with_decisions(demotions={("lossless", "b.css"): (Demotion("css", "it breaks the layout"),)}),
    ],
)
def test_a_change_of_something_else(records: UnitRecords, change: Callable[[Snapshot], dict[str, Any]]) -> None:
    result = stored(records)
    assert changed(records, **change(records.snapshot)).get(("lossless", "a.html")) == result


def test_a_file_that_is_gone_or_damaged(records: UnitRecords) -> None:
    result = stored(records)
    file = Path(records.store.object_path(result.outputs[1].key))
    file.chmod(0o600)
    file.write_bytes(b"mad")
    assert records.get(("lossless", "a.html")) is None
    file.unlink()
    assert records.get(("lossless", "a.html")) is None


def test_a_source_that_changes_now(records: UnitRecords, tmp_path: Path) -> None:
    stored(records)
    (tmp_path / "site/a.html").write_bytes(b"other")
    assert records.get(("lossless", "a.html")) is None
    (tmp_path / "site/a.html").unlink()
    assert records.get(("lossless", "a.html")) is None


def test_what_was_not_published_or_is_large_has_no_record(records: UnitRecords) -> None:
    records.put(replace(stored(records), path="a.css", published=False))
    assert records.get(("lossless", "a.css")) is None
    small = changed(records, max_file_bytes=1)
    stored(small, STRANGE)
    assert small.get(("lossless", STRANGE)) is None


# ---- builds

PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n<title>{n}</title>\n<link rel=stylesheet href=/a.css>\n<p>" + "some words \n" * 99
)


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    pytest.importorskip("fsspec")
    site = BuiltSite(tmp_path / "first")
    equal = PAGE.format(n="equal")
    pages = {f"{n}.html": PAGE.format(n=n) for n in range(3)} | {f"{name}/equal.html": equal for name in "ab"}
    site.write({**pages, "a.css": "p { color: #112233 }\n" * 9, "b.css": "i { color: #112233 }"})
    (site.docroot / "alias.html").symlink_to("1.html")
    return site


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The units that were built, and not taken over."""
    names: list[str] = []
    build = UnitBuilder.build

    def noting(self: UnitBuilder, level: str, path: str) -> UnitResult:
        names.append(f"{level}/{path}")
        return build(self, level, path)

    monkeypatch.setattr(UnitBuilder, "build", noting)
    return names


def shared_build(site: BuiltSite) -> None:
    root = next(each for each in site.root.parents if (each / "first").exists())
    diagnostics = site.build(build__remote_cache=f"file://{root}/shared").diagnostics
    assert "remote-cache-failed" not in {each.id for each in diagnostics}


def test_another_machine_builds_nothing(site: BuiltSite, built: list[str]) -> None:
    shared_build(site)
    assert len(built) == 2 * 8
    built.clear()
    other = site.clean()
    shared_build(other)
    assert built == []
    assert other.trees() == site.trees()  # with the report and the manifest
    other.write({"0.html": PAGE.format(n="changed")})
    shared_build(other)
    assert set(built) == {"full/0.html", "lossless/0.html"}


def test_another_machine_builds_what_depends_on_a_change(site: BuiltSite, built: list[str]) -> None:
    shared_build(site)
    built.clear()
    other = site.clean()
    other.write({"a.css": "p { color: #332211 }\n" * 9})
    shared_build(other)
    assert "full/a.css" in built and "lossless/0.html" in built
    assert "full/b.css" not in built and "full/0.html" not in built
    fresh = other.clean("fresh")
    fresh.build()
    assert other.trees() == fresh.trees()


def test_figures_of_the_report_are_those_of_this_site(site: BuiltSite, built: list[str]) -> None:
    shared_build(site)
    other = site.clean()
    other.remove("2.html")
    shared_build(other)
    fresh = other.clean("fresh")
    fresh.build()
    assert json.loads(other.trees()["manifest.json"]) == json.loads(fresh.trees()["manifest.json"])
    assert other.trees() == fresh.trees()
