"""Facts of scripts and sheets: found once for each text, whatever pages, levels and runs ask for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sites.built import BuiltSite, files_below

from adaptc.compile.engine.cache import derived as fact_store
from adaptc.compile.engine.cache.derived import FactStore
from adaptc.compile.engine.cache.store import Store
from adaptc.core.facts import BoundedCache, FactKind, pack_facts, unpack_facts
from adaptc.formats.script import facts
from adaptc.formats.script.facts import SCRIPT, script_facts
from adaptc.formats.script.script import Script

LARGE = "document.querySelector('#open').src = 'large.jpg'; import('./a.js');\n" * 40


def stored(value: object) -> object:
    return json.loads(json.dumps(pack_facts(value)))


@given(st.text(alphabet="ab.('\"`${}-_#)=:;+ ", max_size=60) | st.just(LARGE))
@settings(max_examples=100, deadline=None)
def test_facts_are_the_same_once_they_were_stored(text: str) -> None:
    facts = script_facts(text)
    again = unpack_facts(stored(facts), SCRIPT.none)
    assert stored(again) == stored(facts)
    assert (again.files, again.names, again.handles) == (facts.files, facts.names, facts.handles)


class Counted:
    """A kind of facts that counts how often they are found."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.kind = FactKind("lengths", self.find, (0,))

    def find(self, text: str) -> tuple[int]:
        self.found.append(text)
        return (len(text),)


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_another_worker_or_run_finds_facts_in_the_cache(tmp_path: Path, counted: Counted) -> None:
    for _ in range(2):
        facts = FactStore(Store(tmp_path))
        assert [facts.of(counted.kind, LARGE), facts.of(counted.kind, LARGE.encode())] == [(len(LARGE),)] * 2
    assert len(counted.found) == 1


def test_facts_of_short_texts_are_not_stored(tmp_path: Path, counted: Counted) -> None:
    assert FactStore(Store(tmp_path)).of(counted.kind, "f()") == (3,)
    assert not list(tmp_path.iterdir())


def test_damaged_facts_are_found_again(tmp_path: Path, counted: Counted) -> None:
    for damage in ("", "3", "[]", "{}"):
        FactStore(Store(tmp_path)).of(counted.kind, LARGE)
        (record,) = (path for path in tmp_path.rglob("*") if path.is_file())
        record.write_text(damage)
        assert FactStore(Store(tmp_path)).of(counted.kind, LARGE) == (len(LARGE),)


def test_facts_are_found_again_by_other_code(tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    FactStore(Store(tmp_path)).of(counted.kind, LARGE)
    monkeypatch.setattr(fact_store, "code_digest", lambda module: "of the next version")
    FactStore(Store(tmp_path)).of(counted.kind, LARGE)
    assert len(counted.found) == 2


def test_nothing_is_a_fact_as_well(tmp_path: Path) -> None:
    found: list[str] = []
    kind: FactKind[str | None] = FactKind("nothing", lambda text: found.append(text), None)
    facts = FactStore(Store(tmp_path))
    assert [facts.of(kind, LARGE), facts.of(kind, LARGE), FactStore(Store(tmp_path)).of(kind, LARGE)] == [None] * 3
    assert len(found) == 1


def test_a_bounded_cache_forgets_what_was_not_used_for_longest() -> None:
    cache: BoundedCache[str, int] = BoundedCache(10)
    for number, name in enumerate("abc"):
        cache.put(name, number, 4)
        cache.get("a")
    assert (cache.get("a"), cache.get("b"), cache.get("c"), cache.size) == (0, None, 2, 8)
    cache.put("a", 5, 11)
    assert (cache.get("a"), cache.size) == (None, 0)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltSite:
    monkeypatch.chdir(tmp_path)
    page = "<!doctype html><title>T</title><link rel=stylesheet href=a.css><p id=open>{}<script src=a.js></script>"
    pages = {f"{name}.html": page.format(name) for name in "xyz"}
    return BuiltSite(tmp_path).write({**pages, "a.js": LARGE, "a.css": "p{color:red}.b{color:blue}"})


def test_a_script_is_scanned_once_for_all_pages_levels_and_runs(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned: list[str] = []
    monkeypatch.setattr(facts, "Script", lambda text: scanned.append(text) or Script(text))
    site.build(build__levels=["lossless", "moderate"], build__jobs=1)
    site.build(build__levels=["lossless", "moderate", "extreme"], build__jobs=1)
    large = [text for text in scanned if len(text) > 1024]
    assert len(large) == len(set(large)) > 0


def test_a_warm_cache_gives_the_same_bytes(site: BuiltSite, tmp_path: Path) -> None:
    trees = []
    for output in ("cold", "warm"):
        site.build(build__levels=["lossless", "extreme"], build__cache=str(tmp_path / "cache"), output=output)
        trees.append({name: (Path(output) / name).read_bytes() for name in files_below(Path(output)) if "id/" in name})
    assert trees[0] == trees[1] and trees[0]
