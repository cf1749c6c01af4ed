"""``adaptc check``: every way in which trees can be untrue is found, and told by the exit code."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sites.built import BuiltSite

from adaptc.browser.paint import Paint
from adaptc.cli.main import run
from adaptc.compile.engine.proof.paints import PagePaint
from adaptc.compile.engine.reporting import Silent
from adaptc.config.budgets import read_budgets
from adaptc.config.toml import TomlSource
from adaptc.workflow.check.check import Status, check, repair
from adaptc.workflow.check.ci_formats import file_name
from adaptc.workflow.check.weights import slow
from adaptc.workflow.watch.builder_session import BuilderSession

PAGE = (
    '<!DOCTYPE html>\n<html lang=en><title>{0}</title>\n<link rel=stylesheet href="one.css">\n<p>  {0}\n'
    + "<p>more\n" * 30
)
FILES = {
    "index.html": PAGE.format("start"),
    "deep/index.html": PAGE.format("deep").replace("one.css", "../one.css"),
    "one.css": ".a  {  color : #112233 }\n" * 9,
    "note.txt": "a note  " * 40,
}


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    made = BuiltSite(tmp_path).write(FILES)
    made.build()
    return made


def found(site: BuiltSite, *, every_file: bool = True, **settings: object) -> set[tuple[str, str]]:
    """Return the status and place of every finding."""
    verdict = check(site.config(**settings), every_file=every_file)
    return {(one.status.value, f"{one.level}/{one.path}" if one.file is None else one.file) for one in verdict.findings}


def both_levels(status: str, *paths: str) -> set[tuple[str, str]]:
    return {(status, f"{level}/{path}") for level in ("full", "lossless") for path in paths}


def overwrite(file: Path, content: bytes) -> None:
    """Write in place, as an editor may, into a file that has other names as well, and keep its time."""
    before = file.stat()
    file.chmod(0o644)
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("every_file", [True, False])
def test_a_build_is_fresh(site: BuiltSite, every_file: bool) -> None:
    verdict = check(site.config(), every_file=every_file)
    assert verdict.findings == ()
    assert verdict.fresh == {"full": 4, "lossless": 4}
    assert verdict.files > 8


def test_nothing_built_is_missing(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    assert found(site) == both_levels("missing", *FILES)
    assert not site.output.exists()


def test_a_copy_with_other_times_is_fresh(site: BuiltSite, tmp_path: Path) -> None:
    for folder in (site.docroot, site.output):
        shutil.copytree(folder, tmp_path / "copy" / folder.name, copy_function=shutil.copyfile)
    copy = BuiltSite(tmp_path / "copy")
    assert found(copy) == set()
    assert found(copy, every_file=False) == set()


@pytest.mark.parametrize("every_file", [True, False])
def test_a_changed_source_and_what_depends_on_it_are_stale(site: BuiltSite, every_file: bool) -> None:
    site.write({"one.css": ".b  {  color : red }\n" * 9})
    stale = found(site, every_file=every_file)
    assert both_levels("stale", "one.css") <= stale
    assert ("stale", "lossless/index.html") in stale
    assert ("stale", "lossless/note.txt") not in stale


def test_what_is_found_is_what_a_build_builds(site: BuiltSite) -> None:
    site.write({"one.css": ".b  {  color : red }\n" * 900, "new.html": PAGE.format("new")})
    site.remove("deep/index.html")
    verdict = check(site.config(), every_file=True)
    names = {f"{one.level}/{one.path}" for one in verdict.findings if one.status.value != "orphaned"}
    assert names == set(site.built())


def test_a_file_that_is_touched_only_is_fresh(site: BuiltSite) -> None:
    site.write({"index.html": FILES["index.html"]})
    assert found(site) == found(site, every_file=False) == set()


def test_content_finds_what_kept_its_time(site: BuiltSite) -> None:
    overwrite(site.docroot / "note.txt", b"b note  " * 40)
    assert found(site, every_file=False) == set()
    assert found(site) == both_levels("stale", "note.txt")


def test_a_source_that_went_is_orphaned(site: BuiltSite) -> None:
    site.remove("note.txt")
    assert found(site) == both_levels("orphaned", "note.txt")


def test_a_level_that_is_not_built_any_more_is_orphaned(site: BuiltSite) -> None:
    assert found(site, build__levels=["full"]) == {("orphaned", f"lossless/{path}") for path in FILES}


def test_another_configuration_is_another_recipe(site: BuiltSite) -> None:
    assert found(site, site__base_url="https://example.org/") == both_levels("recipe", *FILES)


@pytest.mark.parametrize(
    ("damage", "status"),
    [
        (lambda file: file.unlink(), "missing"),
        (lambda file: overwrite(file, file.read_bytes()[:-1] + b"!"), "corrupt"),
        (lambda file: overwrite(file, b"short"), "corrupt"),
        (lambda file: (file.unlink(), file.write_bytes(b"by hand")), "foreign"),
        (lambda file: (file.unlink(), file.mkdir()), "foreign"),
    ],
    ids=["gone", "flipped", "cut", "edited", "directory"],
)
def test_files_of_the_trees(site: BuiltSite, damage: Callable[[Path], object], status: str) -> None:
    file = site.output / "lossless/br/index.html"
    damage(file)
    assert (status, "lossless/br/index.html") in found(site)
    repair(site.config(), check(site.config(), every_file=True), Silent())
    assert found(site) == set()
    assert site.trees() == _clean_trees(site)


def test_a_stranger_in_the_trees_is_foreign(site: BuiltSite) -> None:
    (site.output / "full/id/secret.txt").write_text("mine")
    assert found(site, every_file=False) == {("foreign", "full/id/secret.txt")}


def test_the_manifest(site: BuiltSite) -> None:
    manifest = site.output / "manifest.json"
    written = json.loads(manifest.read_bytes())
    written["resources"][0]["levels"]["full"]["files"]["id"]["size"] += 1
    manifest.write_text(json.dumps(written))
    assert found(site) == {("corrupt", "manifest.json")}
    manifest.unlink()
    assert found(site) == {("missing", "manifest.json")}
    repair(site.config(), check(site.config(), every_file=True), Silent())
    assert found(site) == set()


def test_a_damaged_state_is_corrupt(site: BuiltSite) -> None:
    state = site.output / ".adaptc/state.sqlite"
    content = bytearray(state.read_bytes())
    content[4096:] = b"x" * (len(content) - 4096)
    state.write_bytes(content)
    assert found(site) == {("corrupt", ".adaptc/state.sqlite")}


def _clean_trees(site: BuiltSite) -> dict[str, bytes]:
    clean = site.clean()
    clean.build()
    return clean.trees()


# ---- the command


@pytest.fixture
def command(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.chdir(site.root)
    return lambda *more: int(run(["check", "site", "-o", "opt", "--effort", "fast", *more]))


def test_exit_codes(site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert command() == 0
    assert capsys.readouterr().out.endswith(" files as they were built\n")
    site.write({"note.txt": "another note"})
    assert command("--quick") == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == "not fresh: 2 stale"
    assert "note.txt: error: is stale: level full: its source changed [tree-stale]" in printed.err
    assert command("--level", "nonsense") == 2
    assert command("--fix") == 0
    assert command() == 0


def test_json(site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    site.write({"note.txt": "another note"})
    assert command("--format", "json") == 1
    written = json.loads(capsys.readouterr().out)
    assert (written["fresh"], written["within_budgets"]) == (False, True)
    assert written["units"] == {"full": 3, "lossless": 3}
    assert written["findings"][0] == {
        "status": "stale", "level": "full", "path": "note.txt", "file": None, "reason": "its source changed",
    }  # fmt: skip


def test_junit(site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    (site.docroot / os.fsdecode(b"b\xe4d\x01.txt")).write_text("odd")
    assert command("--format", "junit") == 1
    root = ElementTree.fromstring(capsys.readouterr().out.encode())
    assert (root.attrib["tests"], root.attrib["failures"]) == ("4", "2")
    failed = root.findall("testsuite[@name='full']/testcase/failure")
    assert [one.attrib["type"] for one in failed] == ["tree-missing"]
    assert root.find("testsuite/testcase").attrib["name"] == "4 fresh"  # type: ignore[union-attr]


def test_github(site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--format", "github") == 0
    assert capsys.readouterr().out.startswith("::notice title=adaptc check::fresh")
    site.write({"100%,a:b.txt": "odd"})
    assert command("--format", "github", "--quick") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "::error title=adaptc check::not fresh: 2 missing"
    assert lines[1].startswith("::error file=site/100%25%2Ca%3Ab.txt,title=tree-missing::is missing: level full")


def test_sarif(site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    site.write({"a b.txt": "odd"})
    (site.output / "full/id/stranger").write_text("mine")
    assert command("--format", "sarif") == 1
    written = json.loads(capsys.readouterr().out)
    (only,) = written["runs"]
    assert [rule["id"] for rule in only["tool"]["driver"]["rules"]] == ["tree-foreign", "tree-missing"]
    places = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in only["results"]}
    assert places == {"site/a%20b.txt", "opt/full/id/stranger"}


# ---- budgets


def configured(site: BuiltSite, text: str) -> None:
    (site.root / "adaptc.toml").write_text(text)


def test_budgets(site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    configured(site, "[budgets.full]\nmean_requests = 1.5\npage_bytes = 10\n[budgets.lossless]\npage_bytes = '1MB'\n")
    assert command() == 1
    printed = capsys.readouterr()
    assert "error: level full: the mean of requests a page is 2, the budget is 1.5 [budget-exceeded]" in printed.err
    assert "index.html: error: level full: the bytes of this page with all it loads is" in printed.err
    assert "level lossless" not in printed.err
    assert printed.out.splitlines()[-1].endswith("; 3 over budget")


def test_growth(site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(site.output / "manifest.json", site.root / "old.json")
    assert command("--baseline", "old.json") == 0
    site.write({"index.html": FILES["index.html"] + "".join(f"<p>{number * 7919}\n" for number in range(99))})
    site.build()
    configured(site, "[budgets.full]\ngrowth = 1000\npage_growth = 5\n")
    capsys.readouterr()
    assert command("--baseline", "old.json") == 1
    printed = capsys.readouterr()
    assert "index.html: error: level full: the bytes of this page with all it loads grew by" in printed.err
    assert printed.out.splitlines()[0].split() == ["grew", "level", "before", "now"]
    assert command("--baseline", "opt") == 0


def test_growth_without_a_baseline_is_told(
    site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    configured(site, "[budgets.full]\npage_growth = 5\n[budgets.lossless]\npage_bytes = '1MB'\n")
    assert command() == 0
    said = "warning: level full: growth has a limit, and was not compared: there is no --baseline [budget-unchecked]"
    assert said in capsys.readouterr().err
    assert command("--format", "github") == 0
    assert capsys.readouterr().out.startswith("::notice title=adaptc check::fresh")
    shutil.copy(site.output / "manifest.json", site.root / "old.json")
    assert command("--baseline", "old.json") == 0
    assert "budget-unchecked" not in capsys.readouterr().err
    other = site.clean("other")
    other.build(build__levels=("lossless",))
    assert command("--baseline", str(other.output)) == 0
    assert "the baseline lacks the level [budget-unchecked]" in capsys.readouterr().err


def test_budgets_of_what_a_browser_measures() -> None:
    tables = {"web": {"largest_paint": 2500, "layout_shift": 0.1, "paths": {"slow/*": {"blocking_time": 50}}}}
    (budget,) = read_budgets(TomlSource("budgets", tables))
    paints = [
        PagePaint("a.html", "web", Paint(900, 2500, 0.1, 9_000, 1, 1)),
        PagePaint("slow/b.html", "web", Paint(900, 2501, 0.2, 51, 1, 1)),
        PagePaint("slow/b.html", "original", Paint(900, 9000, 0.9, 99, 1, 1)),
        PagePaint("c.html", "web", None, "it hangs"),
    ]
    found = [str(each).partition("slow/b.html: error: level web: ")[2] for each in slow(budget, "4g", paints)]
    assert found == [
        "the largest paint of this page on 4g is 2,501 ms, the budget is 2,500 ms [budget-exceeded]",
        "the layout shift of this page is 0.200, the budget is 0.100 [budget-exceeded]",
        "the blocking time of this page on 4g is 51 ms, the budget is 50 ms [budget-exceeded]",
    ]


def test_budgets_of_types_and_paths(
    site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    configured(site, "[budgets.full]\npage_bytes = '1MB'\n[budgets.full.types]\nstyles = 10\nimages = 10\n")
    assert command() == 1
    printed = capsys.readouterr()
    for page in ("index.html", "deep/index.html"):
        assert f"{page}: error: level full: what this page loads of styles is" in printed.err
    assert printed.out.splitlines()[-1].endswith("; 2 over budget")
    configured(
        site,
        "[budgets.full]\npage_bytes = 10\ntypes = {styles = 10}\n"
        "[budgets.full.paths.'deep/*']\npage_bytes = '1MB'\ntypes = {styles = '1MB'}\n",
    )
    assert command() == 1
    printed = capsys.readouterr()
    assert "deep/index.html" not in printed.err
    assert printed.out.splitlines()[-1].endswith("; 2 over budget")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[budgets.full.types]\nstyle = 1\n", "adaptc.toml:2: unknown key types.style, did you mean styles?"),
        ("[budgets.full.paths]\na = {mean_bytes = 1}\n", "paths.a: unknown key mean_bytes"),
        ("[budgets.fulll]\n", "adaptc.toml:1: level fulll is not built, did you mean full?"),
        ("[budgets.full]\nmean_byte = 1\n", "adaptc.toml:2: unknown key mean_byte, did you mean mean_bytes?"),
        ("[budgets.full]\ngrowth = -1\n", "adaptc.toml:2: growth must be a number of at least 0, not -1"),
        ("[budgets.full]\npage_bytes = 'x'\n", 'adaptc.toml:2: page_bytes must be a size, such as "200kB", not "x"'),
        ("[budgets]\nfull = 1\n", "adaptc.toml:2: budgets.full must be a table, not 1"),
    ],
)
def test_wrong_budgets(
    site: BuiltSite, command: Callable[..., int], capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    configured(site, text)
    assert command() == 2
    assert said in capsys.readouterr().err


def test_a_baseline_that_is_none(site: BuiltSite, command: Callable[..., int]) -> None:
    (site.root / "old.json").write_text("{}")
    assert command("--baseline", "old.json") == 2


# ---- the glance


def _write_again(site: BuiltSite) -> None:
    site.write({"index.html": FILES["index.html"]})


def _link_instead(site: BuiltSite) -> None:
    file = site.output / "full/id/note.txt"
    file.rename(site.root / "elsewhere.txt")
    file.symlink_to(site.root / "elsewhere.txt")


_EVENTS: dict[str, Callable[[BuiltSite], object]] = {
    "a source changes": lambda site: site.write({"one.css": ".b { color: red }\n" * 9}),
    "a source is written again": _write_again,
    "a source comes": lambda site: site.write({"new.html": PAGE.format("new")}),
    "a source goes": lambda site: site.remove("deep"),
    "a source becomes a link": lambda site: (site.docroot / "alias.html").symlink_to("index.html"),
    "a source keeps size and time": lambda site: overwrite(site.docroot / "note.txt", b"b note  " * 40),
    "a file grows": lambda site: overwrite(site.output / "full/id/note.txt", b"other"),
    "a file keeps size and time": lambda site: overwrite(site.output / "full/id/note.txt", b"b note  " * 40),
    "a file gets another time": lambda site: os.utime(site.output / "full/id/index.html"),
    "a file goes": lambda site: (site.output / "lossless/gz/index.html").unlink(),
    "a file becomes a link": _link_instead,
    "a directory goes": lambda site: shutil.rmtree(site.output / "lossless/br/deep"),
    "a level goes": lambda site: shutil.rmtree(site.output / "lossless"),
    "a stranger comes": lambda site: (site.output / "full/id/deep/stranger").write_text("x"),
    "a directory comes": lambda site: (site.output / "full/id/empty").mkdir(),
    "a directory comes with a file": lambda site: shutil.copytree(
        site.output / "full/id/deep", site.output / "full/id/more"
    ),
    "a link comes beside the codings": lambda site: (site.output / "full/link").symlink_to("id"),
    "the manifest goes": lambda site: (site.output / "manifest.json").unlink(),
    "the state goes": lambda site: (site.output / ".adaptc/state.sqlite").unlink(),
    "it is built": lambda site: site.build(),
}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(_EVENTS)), max_size=3, unique=True))
@example([])
def test_a_glance_says_what_a_comparison_says(events: list[str]) -> None:
    with TemporaryDirectory() as root:
        site = BuiltSite(Path(root)).write(FILES)
        (site.docroot / "linked.html").symlink_to("deep/index.html")
        site.build()
        for event in events:
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                _EVENTS[event](site)
        quick = check(site.config(), every_file=False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("adaptc.workflow.check.check._quick_check", lambda *_: None)
            assert quick == check(site.config(), every_file=False)
        if not set(quick.findings):
            exact = check(site.config(), every_file=True)
            assert {one.status for one in exact.findings} <= {Status.STALE, Status.CORRUPT}  # size and time were kept


def test_a_fresh_site_takes_a_glance(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("adaptc.workflow.check.check._full_check")
    assert check(site.config(), every_file=False).findings == ()


def test_a_stranger_in_the_tree_of_a_level_without_files_is_found(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"a.css": "a  {  color : red  }\n"})
    site.build(build__identity="changed")
    assert not (site.output / "full").exists()
    (site.output / "full/id").mkdir(parents=True)
    (site.output / "full/id/stranger").write_text("x")
    assert found(site, every_file=False, build__identity="changed") == {("foreign", "full/id/stranger")}


def test_a_glance_does_not_take_the_recipes_of_a_watcher_for_those_of_a_build(site: BuiltSite) -> None:
    site.build(build__effort="default")
    session = BuilderSession(site.config(build__effort="default"), lambda *_: None, Silent())
    session.build_site()  # what was built with the best encodings stays
    session.close()
    assert {status for status, _ in found(site, every_file=False)} == {"recipe"}


def test_names_for_tools_are_relative_below_the_working_directory_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert file_name(tmp_path / "work", "..a/b.html") == "..a/b.html"
    assert file_name(tmp_path, "b.html") == str(tmp_path / "b.html")
