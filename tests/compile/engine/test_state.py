"""The state of an output: what is stored comes back, and a file that is none is replaced."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from adaptc.compile.analyse.facts import Checks, Facts
from adaptc.compile.engine.outdated import (
    Changes,
    DecisionChanged,
    DependencyChanged,
    InputChanged,
    NeverBuilt,
    OutputMissing,
    Reason,
    RecipeChanged,
    compare_files,
    outdated_units,
)
from adaptc.compile.engine.state import tables as state_file
from adaptc.compile.engine.state.damage import is_damage, system_error
from adaptc.compile.engine.state.results import Output, UnitResult
from adaptc.compile.engine.state.state import State, TreeDirectory
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import Action, Resource
from adaptc.core.urls import SiteAddress
from adaptc.site.site import Site, Source
from adaptc.site.source_table import LoadedFiles, ResourceSources, as_sources

STRANGE = os.fsdecode(b"latin-\xe9\n'\".html")
SAID = (
    diagnose("missing-target", Location(STRANGE, 3, 4), where="a href", url="\udcff"),
    diagnose("bad-url", where="", url=""),
)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with contextlib.closing(State(tmp_path / "state.sqlite")) as opened:
        yield opened


def resource(path: str, **fields: object) -> Resource:
    return Resource(**{"path": path, "size": 1, "mtime_ns": 2, "inode": 3, "media_type": "text/html", **fields})  # type: ignore[arg-type]


def unit(path: str, *dependencies: str, level: str = "full") -> UnitResult:
    return UnitResult(level, path, "text/html", dependencies=(path, *dependencies))


def test_sources(state: State) -> None:
    page, alias = resource(STRANGE, mtime_ns=2**62), resource("b", alias_of=STRANGE)
    state.set_source(page, "d1")
    state.set_source(alias, "d2")
    assert state.resources() == {STRANGE: (page, "d1"), "b": (alias, "d2")}
    assert as_sources(state.resources().values())["b"] == Source("d2", 1, "text/html", STRANGE)
    state.forget_source(STRANGE)
    assert list(state.resources()) == ["b"]


@pytest.mark.parametrize("is_read", [False, True])
def test_known_files_stay_as_they_were_when_others_follow(state: State, is_read: bool) -> None:
    for path in ("a", "b/c", STRANGE):
        state.set_source(resource(path), "before")
    known = state.known_files()
    before = dict(known) if is_read else {}
    state.set_source(resource("a", size=9), "after")
    state.set_source(resource("new"), "after")
    state.forget_source("b/c")
    state.invalidate_source(STRANGE)
    assert (known["a"], known.get("new"), known["b/c"], known[STRANGE][0].mtime_ns, len(known)) == (
        (resource("a"), "before"),
        None,
        (resource("b/c"), "before"),
        2,
        3,
    )
    assert dict(known) == {path: (resource(path), "before") for path in ("a", "b/c", STRANGE)}
    assert not is_read or dict(known) == before


def test_files_of_which_few_were_read_are_all_there(state: State) -> None:
    files = {path: resource(path) for path in ("a.html", "b/c.html", "b0.html", "d/e/f.html", STRANGE)}
    files["b/s.js"] = resource("b/s.js", media_type="text/javascript")
    for each in files.values():
        state.set_source(each, "digest")
    changed = resource("b/c.html", media_type="text/plain")
    loaded = LoadedFiles(state.known_files(), {"b/c.html": changed, "b/s.js": files["b/s.js"]}, ["", "d/e"])
    assert sorted(loaded.of_type(["text/html"])) == sorted(["a.html", "b0.html", "d/e/f.html", STRANGE])
    assert list(loaded.of_type(["text/javascript"])) == ["b/s.js"]
    assert [loaded.has_below(each) for each in ("b", "d", "d/e", "d/e/f", "x", "a.html")] == [True] * 3 + [False] * 3
    site = Site.of(ResourceSources(loaded, lambda _: ""), SiteAddress(None), ("index.html",))
    assert site.leads_somewhere("d/") and not site.leads_somewhere("e/")
    found = compare_files(loaded, loaded.known)
    assert (found.touched, found.appeared, found.disappeared) == (("b/c.html",), frozenset(), frozenset())
    for path in ("d/e/f.html", "b/s.js"):  # they cannot be read
        del loaded[path]
    assert dict(loaded) == {
        path: {**files, "b/c.html": changed}[path] for path in ("a.html", "b/c.html", "b0.html", STRANGE)
    }
    assert list(loaded) == sorted(loaded) and len(loaded) == 4
    assert [loaded.has_below(each) for each in ("b", "d", "d/e")] == [True, False, False]
    assert "b/s.js" not in loaded and "x" not in loaded and list(loaded.of_type(["text/javascript"])) == []
    assert compare_files(loaded, loaded.known).disappeared == {"d/e/f.html", "b/s.js"}


def test_facts(state: State) -> None:
    facts = Facts("d", (("image", STRANGE), ("import", "b")), ("b",), (STRANGE, "x/", ""), 7, SAID)
    state.set_facts(STRANGE, facts)
    state.set_facts("a", Facts("d"))
    found = dict(state.facts())
    assert list(found) == ["a", STRANGE]
    assert found[STRANGE] == Facts(facts.digest, facts.embeds, facts.pinned, (), facts.transfer, facts.diagnostics)


def test_digests_of_sources(state: State) -> None:
    checks = Checks("ab" * 30, ("cd" * 6,), (("a.js", 5),))
    state.set_facts(STRANGE, Facts("d", checks=checks))
    assert dict(state.facts())[STRANGE].checks == checks
    assert list(state.digests()) == [(STRANGE, "ab" * 30)]


def test_who_refers_to_a_target(state: State) -> None:
    state.set_facts("a", Facts("", targets=("x", STRANGE)))
    state.set_facts("b", Facts("", targets=("x/y", "dir/")))
    state.set_facts("c", Facts("", targets=("",)))
    assert state.affected_by_targets(frozenset({"x"})) == ["a"]
    assert state.affected_by_targets(frozenset({STRANGE, "dir/"})) == ["a", "b"]
    assert state.affected_by_targets(frozenset({""})) == ["c"]


def test_units(state: State) -> None:
    result = UnitResult(
        "lossless",
        STRANGE,
        "text/html",
        (Output("id", "key", "digest", 9), Output("br", "key2", "digest2", 5)),
        (STRANGE, "s.css", "/placement/s.css"),
        (Action("images", "kept", STRANGE, "why", 2),),
        SAID,
        ("markup",),
        ("s.css",),
        True,
    )
    state.set_unit(result, "recipe")
    state.set_unit(UnitResult("full", STRANGE, "text/html"), "recipe 2")
    assert state.recipes() == {("full", STRANGE): "recipe 2", ("lossless", STRANGE): "recipe"}
    full, lossless = state.results()
    assert (full.level, full.embeds, full.changed) == ("full", None, False)
    assert (lossless.outputs, lossless.embeds, lossless.changed) == (result.outputs, ("s.css",), True)
    assert (lossless.actions, lossless.diagnostics, lossless.demoted) == (result.actions, SAID, ("markup",))
    assert next(iter(state.results("none")), None) is None
    assert [one.actions for one in state.results(STRANGE, notes=False)] == [(), ()]
    assert state.units_of("s.css") == state.units_of("/placement/s.css") == [("lossless", STRANGE)]


def test_whether_there_are_just_the_units_that_are_wanted(state: State) -> None:
    recipes, paths = {"full": "r", "text": "s"}, ("b", STRANGE, "a\U0001f600", "a\uffff")
    assert state.has_just(recipes)
    for path in paths:
        state.set_source(Resource(path, 1, 2, 3, "text/html"), "digest")
    for level, recipe in recipes.items():
        for path in paths:
            state.set_unit(unit(path, level=level), recipe)
    assert state.has_just(recipes)
    assert not state.has_just({"full": "r"})
    assert not state.has_just({**recipes, "text": "r"})
    assert not state.has_just({**recipes, "more": "t"})
    state.forget_source("b")
    assert not state.has_just(recipes)
    state.set_source(Resource("c", 1, 2, 3, "text/html"), "digest")
    assert not state.has_just(recipes)
    state.set_source(Resource("b", 1, 2, 3, "text/html"), "digest")
    state.forget_source("c")
    state.forget_unit(("text", "b"))
    assert not state.has_just(recipes)


def test_a_unit_is_replaced_with_its_dependencies(state: State) -> None:
    state.set_unit(unit("a", "b", "c"), "r")
    state.set_unit(unit("a", "c"), "r")
    assert (state.units_of("b"), state.units_of("c")) == ([], [("full", "a")])
    state.forget_unit(("full", "a"))
    assert (state.recipes(), state.units_of("c")) == ({}, [])


def test_small_values(state: State) -> None:
    state.set_meta("complete", {"levels": {"full": "r"}})
    assert state.meta("complete") == {"levels": {"full": "r"}}
    state.set_meta("complete", None)
    assert state.meta("complete") is None
    state.set_decisions({"/placement/a": (True, "why"), "/pin/b": (False, "")})
    state.set_decisions({"/placement/a": (False, "why")})
    assert state.decisions() == {"/placement/a": (False, "why")}
    directories = {f"full/id/{STRANGE}": TreeDirectory(5, "sizes", "fingerprint")}
    state.set_directories(directories)
    assert state.directories() == directories


def test_what_is_not_committed_is_not_there(tmp_path: Path) -> None:
    with contextlib.closing(State(tmp_path / "s")) as first:
        first.begin()
        first.set_meta("a", 1)
        first.commit()
        first.begin()
        first.set_meta("a", 2)
    with contextlib.closing(State(tmp_path / "s")) as second:
        assert second.meta("a") == 1


# ---- files that are no state


@pytest.mark.parametrize("content", [b"garbage" * 100, b"SQLite format 3\0" + b"\xff" * 4000, b""])
def test_what_is_no_state_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s").write_bytes(content)
    with contextlib.closing(State(tmp_path / "s")) as state:
        assert state.resources() == {}
        state.set_meta("a", 1)
    with contextlib.closing(State(tmp_path / "s")) as state:
        assert state.meta("a") == 1


def test_a_state_of_another_schema_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(State(tmp_path / "s")) as state:
        state.set_meta("a", 1)
    monkeypatch.setattr(state_file, "SCHEMA", state_file.SCHEMA + 1)
    with contextlib.closing(State(tmp_path / "s", read_only=True)) as state:
        assert state.meta("a") is None
    with contextlib.closing(State(tmp_path / "s")) as state:
        assert state.meta("a") is None


@pytest.mark.parametrize("content", [None, b"garbage" * 100, b""])
def test_to_read_only_nothing_is_written(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "s").write_bytes(content)
    with contextlib.closing(State(tmp_path / "s", read_only=True)) as state:
        assert state.resources() == {}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == ({} if content is None else {"s": content})


def test_a_state_is_read_while_it_is_written(tmp_path: Path) -> None:
    with contextlib.closing(State(tmp_path / "s")) as writer:
        writer.set_meta("a", 1)
        writer.begin()
        writer.set_meta("a", 2)
        with contextlib.closing(State(tmp_path / "s", read_only=True)) as reader:
            assert reader.meta("a") == 1
            with pytest.raises(sqlite3.OperationalError):
                reader.set_meta("a", 3)
        writer.commit()
        assert writer.meta("a") == 2


def test_a_state_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    strange = tmp_path / "per%cent?#"
    strange.mkdir()
    with contextlib.closing(State(strange / "s")) as state:
        state.set_meta("a", 1)
    with contextlib.closing(State(strange / "s", read_only=True)) as state:
        assert state.meta("a") == 1
        assert os.listdir(strange) == ["s"]


@pytest.mark.parametrize(
    ("code", "number"),
    [
        (sqlite3.SQLITE_FULL, errno.ENOSPC),
        (sqlite3.SQLITE_READONLY, errno.EROFS),
        (sqlite3.SQLITE_IOERR | 3 << 8, errno.EIO),
        (sqlite3.SQLITE_CORRUPT, None),
        (sqlite3.SQLITE_NOTADB, None),
    ],
)
def test_damage_and_refusals_of_the_system(code: int, number: int | None) -> None:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = code
    assert is_damage(error) == (number is None)
    if number is not None:
        refused = system_error(error, Path("opt/state"))
        assert (refused.errno, refused.filename) == (number, "opt/state")
        assert "what SQLite says" in str(refused)


# ---- what is stale, and why


@pytest.fixture
def built(state: State) -> State:
    state.set_unit(unit("a.html", "s.css", "/presence/i.png", "/placement/s.css"), "r")
    state.set_unit(unit("s.css", "t.css"), "r")
    state.set_unit(unit("i.png"), "r")
    return state


PATHS = {path: resource(path) for path in ("a.html", "s.css", "i.png")}


def stale(
    state: State, resources: dict[str, Resource] = PATHS, recipe: str = "r", **changes: set[str]
) -> dict[str, Reason]:
    fields = {"contents": frozenset(), "presence": frozenset()} | {
        key: frozenset(value) for key, value in changes.items()
    }
    return {
        path: reason
        for (_, path), reason in outdated_units(
            state, state.recipes(), Changes(**fields), {"full": recipe}, resources
        ).items()
    }


def test_nothing_changed(built: State) -> None:
    assert stale(built) == {}


def test_reasons(built: State) -> None:
    assert stale(built, contents={"a.html"}) == {"a.html": InputChanged()}
    assert stale(built, contents={"t.css"}) == {"s.css": DependencyChanged("t.css")}
    assert stale(built, contents={"i.png"}) == {"i.png": InputChanged()}
    assert stale(built, contents={"i.png"}, presence={"i.png"})["a.html"] == DependencyChanged("i.png")
    assert stale(built, decisions={"/placement/s.css"}) == {"a.html": DecisionChanged("s.css")}
    assert stale(built, recipe="r2") == dict.fromkeys(PATHS, RecipeChanged())
    assert stale(built, PATHS | {"new": resource("new")}, contents={"new"}, presence={"new"}) == {"new": NeverBuilt()}


def test_where_all_is_built_the_units_need_not_be_compared(built: State) -> None:
    changes = Changes(frozenset({"t.css", "a.html"}), frozenset())
    assert outdated_units(built, None, changes, {"full": "r"}, PATHS) == {
        ("full", "a.html"): InputChanged(),
        ("full", "s.css"): DependencyChanged("t.css"),
    }


def test_of_several_reasons_the_gravest(built: State) -> None:
    everything = {"contents": {"a.html", "s.css"}, "decisions": {"/placement/s.css"}}
    assert stale(built, recipe="r2", **everything)["a.html"] == InputChanged()
    everything["contents"] = {"s.css", "i.png"}
    assert stale(built, recipe="r2", presence={"i.png"}, **everything)["a.html"] == DependencyChanged("i.png")


def test_what_is_gone_is_not_stale(built: State) -> None:
    assert stale(built, {}, contents={"a.html"}, presence={"a.html"}) == {}


def test_aliases_go_with_what_they_stand_for(built: State) -> None:
    built.set_unit(unit("alias"), "r")
    paths = PATHS | {"alias": resource("alias", alias_of="s.css")}
    assert stale(built, paths, contents={"t.css"})["alias"] == DependencyChanged("s.css")


def test_files_are_compared_by_what_lstat_says() -> None:
    before = {path: (one, "digest") for path, one in PATHS.items()}
    assert not compare_files(PATHS, before)
    now = {"a.html": resource("a.html", mtime_ns=9), "s.css": PATHS["s.css"], "new": resource("new")}
    found = compare_files(now, before)
    assert (found.touched, found.appeared, found.disappeared) == (("a.html", "new"), {"new"}, {"i.png"})


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (NeverBuilt(), "it was not built before"),
        (InputChanged(), "its source changed"),
        (DependencyChanged("a\nb"), r"a\nb changed, which it depends on"),
        (DecisionChanged("s.css"), "the decision about s.css changed"),
        (RecipeChanged(), "the recipe changed (passes, options, configuration or version)"),
        (OutputMissing("full/id/a"), "full/id/a is missing or was changed"),
    ],
)
def test_reasons_as_sentences(reason: Reason, sentence: str) -> None:
    assert str(reason) == sentence
