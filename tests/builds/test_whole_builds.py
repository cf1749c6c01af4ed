"""Whole builds of small sites: what is built, why, and what the trees hold afterwards."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.samples.seeds import seeds
from tests.sites.built import LEVELS, BuiltSite, decoded, far_output, files_below
from tests.sites.plain import FILES, SHEET, page, png

import adaptc
from adaptc.compile.engine.state.state import LONGEST_PATH, State
from adaptc.compile.engine.trees.output import output_lock
from adaptc.core.diagnostics import Busy, Severity, UsageError


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write(FILES)


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[BuiltSite, adaptc.BuildResult]:
    """A site that was built once, with two workers; nobody may change it."""
    site = BuiltSite(tmp_path_factory.mktemp("first")).write(FILES)
    return site, site.build(build__jobs=2)


def kinds(result: adaptc.BuildResult) -> list[str]:
    return [one.id for one in result.diagnostics]


# ---- what is there after a build


def test_every_file_is_built_at_every_level(first: tuple[BuiltSite, adaptc.BuildResult]) -> None:
    site, result = first
    assert {unit: str(reason) for unit, reason in result.built.items()} == dict.fromkeys(
        ((level, path) for path in FILES for level in LEVELS), "it was not built before"
    )
    assert list(result.built) == sorted(result.built, key=lambda unit: (unit[1], unit[0]))
    assert set(FILES) == set(files_below(site.output / "full/id")) == set(files_below(site.output / "lossless/id"))


def test_the_full_level_holds_the_bytes_of_the_docroot(first: tuple[BuiltSite, adaptc.BuildResult]) -> None:
    site, _ = first
    for path in files_below(site.output / "full"):
        coding, name = path.split("/", 1)
        assert decoded(f"full/{path}", site.read(name, "full", coding)) == (site.docroot / name).read_bytes()


def test_the_lossless_level_is_smaller_and_means_the_same(first: tuple[BuiltSite, adaptc.BuildResult]) -> None:
    site, _ = first
    assert b"color:red" in site.read("index.html").replace(b"#f00", b"red")
    assert b"link" not in site.read("index.html")
    assert len(site.read("js/app.js")) < len(str(FILES["js/app.js"]))
    for path in files_below(site.output / "lossless"):
        coding, name = path.split("/", 1)
        assert decoded(f"lossless/{path}", site.read(name, "lossless", coding)) == site.read(name)


def test_a_sheet_takes_in_what_it_imports_and_grows_by_it(tmp_path: Path) -> None:
    rules = {"css/p.css": "p { color: red }", "css/li.css": "li { background: white; margin: 0 auto }"}
    main = '@import "p.css";\n@import "li.css";'
    site = BuiltSite(tmp_path).write({"css/main.css": main, **rules})
    site.build()
    assert (site.output / "lossless/id/css/main.css").read_bytes() == b"p{color:red}li{background:#fff;margin:0 auto}"


def test_a_sheet_does_not_grow_by_what_is_loaded_all_the_same(site: BuiltSite) -> None:
    site.write({"more.css": "@import 'base.css';", "base.css": SHEET * 3, "one.css": SHEET})
    site.build()
    assert b"@import" not in (site.output / "lossless/id/more.css").read_bytes()
    site.write({"one.css": "@import 'base.css';" + SHEET})
    site.build()
    assert b"@import" in (site.output / "lossless/id/more.css").read_bytes()
    site.write({"one.css": SHEET, "a.html": page("A", head='<link rel="stylesheet" href="base.css">')})
    site.build()
    assert b"@import" in (site.output / "lossless/id/more.css").read_bytes()


def test_a_large_sheet_is_minified_once_for_all_pages_and_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[int]()

    def minify(text: str) -> str:
        calls.append(len(text))
        return text.replace(" ", "")

    monkeypatch.setattr("adaptc.compile.passes.styles.minify_sheet", minify)
    sheet = f"/*{' x' * 150_000} */ a {{ color : red }}"
    pages = {f"{n}.html": f'<link rel=stylesheet href=a.css><p>{n}<img src="b.svg">' for n in range(3)}
    site = BuiltSite(tmp_path).write({**pages, "a.css": sheet})
    site.build(build__levels=["lossless", "moderate", "extreme"])
    assert calls == [len(sheet)]


def test_codings_are_there_where_they_pay(first: tuple[BuiltSite, adaptc.BuildResult]) -> None:
    site, _ = first
    tree = site.output / "full"
    assert {name for name in ("br", "zst", "gz") if (tree / name / "notes.txt").exists()} == {"br", "zst", "gz"}
    assert not (tree / "br/i/dot.png").exists()
    assert not (tree / "br/deep").exists()


def test_the_source_is_untouched_even_where_it_could_be_written(site: BuiltSite) -> None:
    before = {path: os.lstat(site.docroot / path) for path in files_below(site.docroot)}
    site.build()
    after = {path: os.lstat(site.docroot / path) for path in files_below(site.docroot)}
    assert [(path, one.st_mtime_ns, one.st_ino, one.st_nlink) for path, one in before.items()] == [
        (path, one.st_mtime_ns, one.st_ino, one.st_nlink) for path, one in after.items()
    ]


def test_a_read_only_docroot_is_enough(site: BuiltSite) -> None:
    for directory, _, names in os.walk(site.docroot, topdown=False):
        for name in names:
            os.chmod(os.path.join(directory, name), 0o444)
        os.chmod(directory, 0o555)
    assert not [one for one in site.build().diagnostics if one.severity is Severity.ERROR]
    for directory, _, _ in os.walk(site.docroot):
        os.chmod(directory, 0o755)


def test_identity_of_what_changed_only(site: BuiltSite) -> None:
    site.build(build__identity="changed")
    assert not (site.output / "full/id").exists()
    assert "notes.txt" not in set(files_below(site.output / "lossless/id"))
    assert "index.html" in set(files_below(site.output / "lossless/id"))
    assert (site.output / "full/br/notes.txt").exists()
    site.build(build__identity="complete")
    assert site.trees() == built_clean(site).trees()


def test_an_empty_docroot(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path)
    site.docroot.mkdir()
    assert not site.build().built
    assert json.loads(site.build().manifest.read_bytes())["resources"] == []


# ---- a second run


def test_a_second_run_does_nothing(site: BuiltSite) -> None:
    result = site.build()
    stamps = site.stamps()
    second = site.build()
    assert (second.built, second.removed) == ({}, 0)
    assert site.stamps() == stamps
    assert second.diagnostics == result.diagnostics
    assert second.figures == result.figures


def test_a_second_run_after_the_files_were_touched_changes_nothing(site: BuiltSite) -> None:
    site.build()
    stamps = site.stamps()
    for path in FILES:
        os.utime(site.docroot / path, ns=(10**18, 10**18))
    assert site.built() == {}
    assert site.stamps() == stamps


@pytest.mark.parametrize("before", [0, 10**9], ids=["just begun", "a second into it"])
def test_a_file_that_was_written_twice_in_a_tick_of_the_clock_is_seen(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    now = (site.docroot / "notes.txt").stat().st_mtime_ns
    started = iter([now - before])
    monkeypatch.setattr("adaptc.compile.engine.builder.time.time_ns", lambda: next(started, now + 1_000_000))
    site.build()
    (site.docroot / "notes.txt").write_text("PLAIN text\n" * 40)
    os.utime(site.docroot / "notes.txt", ns=(now, now))
    assert site.built() == {"full/notes.txt": "InputChanged", "lossless/notes.txt": "InputChanged"}


def test_diagnostics_are_said_again(site: BuiltSite) -> None:
    site.write({"bad.html": page("bad", '<a href="gone.html">x</a><img src="http://[">')})
    (site.docroot / "dangling").symlink_to("nowhere")
    found = site.build()
    assert sorted(kinds(found)) == ["bad-url", "missing-target", "symlink-broken"]
    again = site.build()
    assert again.built == {}
    assert again.diagnostics == found.diagnostics
    assert again.figures.diagnostics == found.figures.diagnostics


def test_severities_of_the_configuration_hold_for_what_is_said_again(site: BuiltSite) -> None:
    site.write({"bad.html": page("bad", '<a href="gone.html">x</a>')})
    site.build()
    config = site.root / "adaptc.toml"
    config.write_text(
        f'docroot = "{site.docroot}"\noutput = "{site.output}"\n'
        '[build]\neffort = "fast"\njobs = 1\n[diagnostics]\nmissing-target = "off"\n'
    )
    result = adaptc.build(adaptc.load_config(config))
    assert (result.built, kinds(result)) == ({}, [])
    assert b"missing-target" not in result.report.read_bytes()


# ---- what changed, and only that


def test_a_page_changed(site: BuiltSite) -> None:
    site.build()
    site.write({"a.html": page("A, anew")})
    assert site.built() == {"full/a.html": "InputChanged", "lossless/a.html": "InputChanged"}
    assert site.trees() == built_clean(site).trees()


def test_a_sheet_that_pages_took_in_changed(site: BuiltSite) -> None:
    site.build()
    site.write({"one.css": SHEET + ".two { color: blue }"})
    assert site.built() == {
        "full/one.css": "InputChanged",
        "lossless/index.html": "DependencyChanged",
        "lossless/one.css": "InputChanged",
    }
    assert b"blue" in site.read("index.html").replace(b"#00f", b"blue")


def test_a_sheet_that_pages_share_changed(site: BuiltSite) -> None:
    site.write({"index.html": page("home", "", '<link rel="stylesheet" href="one.css">')})
    site.build(cost__warm_share=1.0)
    assert b"one.css" in site.read("index.html")
    site.write({"one.css": SHEET + ".b { color: red }"})
    assert site.built(cost__warm_share=1.0) == {"full/one.css": "InputChanged", "lossless/one.css": "InputChanged"}


def test_a_script_changed_that_a_page_only_refers_to(site: BuiltSite) -> None:
    site.build()
    site.write({"js/app.js": str(FILES["js/app.js"]) + "add(1, 2);\n"})
    assert set(site.built().values()) == {"InputChanged", "DependencyChanged"}
    assert site.trees() == built_clean(site).trees()


def test_a_decision_turned(site: BuiltSite) -> None:
    site.build(build__levels=("lossless",), cost__warm_share=0.0)
    assert b"one.css" not in site.read("index.html")
    reasons = site.build(build__levels=("lossless",), cost__warm_share=1.0).built
    assert {path: type(reason).__name__ for (_, path), reason in reasons.items()}["index.html"] == "DecisionChanged"
    assert b"one.css" in site.read("index.html")


def test_the_recipe_changed(site: BuiltSite) -> None:
    site.build()
    reasons = site.built(codings__zst=False)
    assert set(reasons.values()) == {"RecipeChanged"}
    assert len(reasons) == len(LEVELS) * len(FILES)
    assert not (site.output / "full/zst").exists()
    assert site.built(codings__zst=False) == {}


def test_the_source_outranks_other_reasons(site: BuiltSite) -> None:
    site.build()
    site.write(
        {"index.html": page("new", "", '<link rel="stylesheet" href="one.css">'), "one.css": "a { color: blue }"}
    )
    assert site.built(codings__zst=False)["lossless/index.html"] == "InputChanged"


def test_a_target_comes_and_goes(site: BuiltSite) -> None:
    site.write({"a.html": page("A", '<a href="later.html">later</a><img src="later.png">')})
    assert kinds(site.build()) == ["missing-target", "missing-target"]
    site.write({"later.html": page("later"), "later.png": png(4)})
    reasons = site.built()
    assert reasons["lossless/later.html"] == "NeverBuilt"
    assert reasons["lossless/a.html"] == "DependencyChanged"
    assert b"data:image/png" in site.read("a.html")
    assert kinds(site.build()) == []
    site.remove("later.html")
    site.remove("later.png")
    result = site.build()
    assert kinds(result) == ["missing-target", "missing-target"]
    assert result.removed == 4
    assert site.trees() == built_clean(site).trees()


def test_another_directory_index_comes(site: BuiltSite) -> None:
    frame = {
        "a.html": page("A", '<iframe src="dir/"></iframe><link rel=stylesheet href=x>'),
        "dir/index.htm": page("old"),
    }
    site.write(frame).build()
    site.write({"dir/index.html": page("new")})
    site.build()
    assert site.trees() == built_clean(site).trees()
    site.remove("dir/index.html")
    site.build()
    assert site.trees() == built_clean(site).trees()


def test_an_import_changed(site: BuiltSite) -> None:
    site.write({"one.css": '@import "two.css";\n' + SHEET, "two.css": ".x { color : green }\n"})
    site.build()
    site.write({"two.css": ".x { color : blue }\n"})
    reasons = site.built()
    assert reasons["lossless/one.css"] == reasons["lossless/index.html"] == "DependencyChanged"
    assert "full/one.css" not in reasons
    site.remove("two.css")
    site.build()
    assert site.trees() == built_clean(site).trees()


def test_levels_come_and_go(site: BuiltSite) -> None:
    site.build(build__levels=("full",))
    assert not (site.output / "lossless").exists()
    assert set(site.built()) == {f"lossless/{path}" for path in FILES}
    result = site.build(build__levels=("lossless",))
    assert (result.built, result.removed) == ({}, len(FILES))
    assert not (site.output / "full").exists()


def test_a_dry_run_tells_the_same_and_writes_nothing(site: BuiltSite) -> None:
    assert set(adaptc.plan(site.config()).reasons) == {(level, path) for level in LEVELS for path in FILES}
    assert not site.output.exists()
    site.build()
    site.write({"a.html": page("A, anew"), "new.txt": "new"})
    site.remove("notes.txt")
    before = sorted(os.listdir(site.output / ".adaptc")), site.stamps()
    planned = adaptc.plan(site.config())
    assert (sorted(os.listdir(site.output / ".adaptc")), site.stamps()) == before
    done = site.build()
    assert (planned.reasons, planned.removed) == (done.built, done.removed)


# ---- the trees are kept true


def test_a_deleted_output_is_restored(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    (site.output / "lossless/br/notes.txt").unlink()
    reasons = site.build().built
    assert [str(reason) for reason in reasons.values()] == ["lossless/br/notes.txt is missing or was changed"]
    assert site.trees() == trees


def replace(file: Path, content: bytes) -> None:
    (file.parent / "elsewhere").write_bytes(content)
    os.replace(file.parent / "elsewhere", file)


def test_a_replaced_output_is_restored(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    file = site.output / "full/id/notes.txt"
    replace(file, file.read_bytes().replace(b"plain", b"PLAIN"))
    assert site.built() == {"full/notes.txt": "OutputMissing"}
    assert site.trees() == trees


def test_a_copy_of_an_output_is_as_good(site: BuiltSite) -> None:
    site.build()
    file = site.output / "full/id/notes.txt"
    replace(file, file.read_bytes())
    assert site.built() == {}


def test_strangers_are_pruned(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    outside = site.root / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    (site.output / "full/id/stranger.html").write_text("x")
    (site.output / "lossless/gz/new/dir").mkdir(parents=True)
    (site.output / "lossless/gz/new/dir/x").write_text("x")
    (site.output / "full/id/link").symlink_to(outside)
    assert site.built() == {}
    assert site.trees() == trees
    assert (outside / "precious").read_text() == "precious"
    assert not (site.output / "lossless/gz/new").exists()


def test_nothing_is_written_through_a_link_that_someone_made(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    outside = site.root / "outside"
    shutil.move(site.output / "full/id/sub", outside)
    (site.output / "full/id/sub").symlink_to(outside)
    os.unlink(site.output / "full/id/notes.txt")
    shutil.copy(site.docroot / "notes.txt", site.root / "notes.txt")
    (site.output / "full/id/notes.txt").symlink_to(site.root / "notes.txt")
    assert site.built() == {"full/notes.txt": "OutputMissing", "full/sub/b.html": "OutputMissing"}
    assert site.trees() == trees
    assert os.listdir(outside) == ["b.html"]


def test_a_directory_in_the_place_of_an_output(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    file = site.output / "full/id/notes.txt"
    file.unlink()
    file.mkdir()
    assert site.built() == {"full/notes.txt": "OutputMissing"}
    shutil.rmtree(site.output / "full/id/sub")
    (site.output / "full/id/sub").write_text("a file now")
    assert site.built() == {"full/sub/b.html": "OutputMissing"}
    assert site.trees() == trees


def test_removed_sources_are_pruned_with_their_directories(site: BuiltSite) -> None:
    site.build()
    site.remove("deep")
    site.remove("sub/b.html")
    result = site.build()
    assert result.removed == 4
    assert not list(site.output.glob("*/*/deep")) + list(site.output.glob("*/*/sub"))


def test_a_file_becomes_a_directory_and_back(site: BuiltSite) -> None:
    site.build()
    site.remove("notes.txt")
    site.write({"notes.txt/inner.txt": "inner\n" * 100})
    site.build()
    assert site.trees() == built_clean(site).trees()
    site.remove("notes.txt")
    site.write({"notes.txt": "a file again\n" * 10})
    site.build()
    assert site.trees() == built_clean(site).trees()


def test_report_and_manifest_come_back(site: BuiltSite) -> None:
    result = site.build()
    trees = site.trees()
    result.manifest.unlink()
    assert site.build().figures.levels == result.figures.levels
    result.report.unlink()
    site.build()
    assert site.trees() == trees


def test_a_build_that_was_killed_before_its_report_is_reported_by_the_next(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.build()
    site.write({"a.html": page("A, anew")})

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("adaptc.report.documents.DocumentWriter._write", killed)
        with pytest.raises(KeyboardInterrupt):
            site.build()
    assert site.built() == {}
    assert site.trees() == built_clean(site).trees()


def test_leftovers_of_a_killed_build_are_swept_away(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    (site.output / ".adaptc-4711-0123456789ab").write_bytes(b"half a mani")
    site.build()
    assert site.trees() == trees


# ---- aliases


def test_aliases_are_published_as_the_links_they_are(site: BuiltSite) -> None:
    (site.docroot / "sub/alias.txt").symlink_to("../notes.txt")
    (site.docroot / "linked").symlink_to("deep")
    site.build()
    assert os.readlink(site.output / "full/id/sub/alias.txt") == "../notes.txt"
    assert os.readlink(site.output / "lossless/br/sub/alias.txt") == "../notes.txt"
    assert os.readlink(site.output / "full/id/linked/er/still.bin") == "../../deep/er/still.bin"
    assert site.built() == {}


def test_an_alias_with_other_content_than_its_target_is_a_file(site: BuiltSite) -> None:
    site.write({"x/p.html": page("P", '<img src="dot.png">'), "x/dot.png": png(4)})
    (site.docroot / "y").mkdir()
    (site.docroot / "y/p.html").symlink_to("../x/p.html")
    site.build()
    assert not (site.output / "lossless/id/y/p.html").is_symlink()
    assert (site.output / "full/id/y/p.html").is_symlink()
    assert b"data:" in site.read("x/p.html")
    assert b"data:" not in site.read("y/p.html")


def test_an_alias_is_looked_at_again_when_only_its_target_is_built_anew(site: BuiltSite) -> None:
    site.write({"x/p.html": page("P", '<img src="dot.png">')})
    (site.docroot / "y").mkdir()
    (site.docroot / "y/p.html").symlink_to("../x/p.html")
    site.build()
    assert (site.output / "lossless/id/y/p.html").is_symlink()
    site.write({"x/dot.png": png(4)})
    site.build()
    assert b"data:" not in site.read("y/p.html")
    assert site.trees() == built_clean(site).trees()
    site.remove("x/dot.png")
    site.build()
    assert (site.output / "lossless/id/y/p.html").is_symlink()


def test_a_link_becomes_a_copy_and_back(site: BuiltSite) -> None:
    alias = site.docroot / "alias.txt"
    alias.symlink_to("notes.txt")
    site.build()
    alias.unlink()
    shutil.copy(site.docroot / "notes.txt", alias)
    assert site.built() == {"full/alias.txt": "InputChanged", "lossless/alias.txt": "InputChanged"}
    assert not (site.output / "full/id/alias.txt").is_symlink()
    assert site.trees() == built_clean(site).trees()
    alias.unlink()
    alias.symlink_to("notes.txt")
    site.build()
    assert site.trees() == built_clean(site).trees()


def test_an_alias_is_led_elsewhere(site: BuiltSite) -> None:
    site.write({"same.txt": FILES["notes.txt"]})
    (site.docroot / "alias.txt").symlink_to("notes.txt")
    site.build()
    (site.docroot / "alias.txt").unlink()
    (site.docroot / "alias.txt").symlink_to("same.txt")
    site.build()
    assert os.readlink(site.output / "full/id/alias.txt") == "same.txt"
    assert site.trees() == built_clean(site).trees()


# ---- the same input gives the same bytes


def built_clean(site: BuiltSite, **overrides: object) -> BuiltSite:
    other = site.clean()
    other.build(**overrides)
    return other


def test_place_workers_and_times_do_not_matter(first: tuple[BuiltSite, adaptc.BuildResult], tmp_path: Path) -> None:
    site, result = first
    other = BuiltSite(tmp_path / "a much longer way").write(FILES)
    for number, path in enumerate(FILES):
        os.utime(other.docroot / path, (1_000_000 * number, 1_000_000 * number))
    again = other.build(build__jobs=1)
    assert other.trees() == site.trees()
    assert again.diagnostics == result.diagnostics
    assert again.built == result.built


SCRIPT = """
import adaptc
config = adaptc.load_config(overrides={"docroot": "site", "output": "opt", "build.effort": "fast", "build.jobs": 2})
print(len(adaptc.build(config).built), __name__, __spec__)
"""


@pytest.mark.parametrize("from_file", [True, False])
def test_a_script_needs_no_guard(site: BuiltSite, from_file: bool) -> None:
    (site.root / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py" if from_file else "-"]
    done = subprocess.run(command, cwd=site.root, input=SCRIPT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{2 * len(FILES)} __main__ None\n", "")


Edit = Callable[[random.Random, BuiltSite], None]


def _writes(chosen: random.Random, site: BuiltSite) -> None:
    title = str(chosen.randrange(3))
    body = "".join(f'<a href="{name}">x</a>' for name in chosen.sample(_NAMES, 2))
    head = f'<link rel="stylesheet" href="{chosen.choice(_SHEETS)}">' if chosen.random() < 0.6 else ""
    image = f'<img src="{chosen.choice(["i/dot.png", "i/two.png"])}">' if chosen.random() < 0.5 else ""
    _put(site, chosen.choice(_NAMES), page(title, body + image, head))


def _restyles(chosen: random.Random, site: BuiltSite) -> None:
    other = chosen.choice(_SHEETS)
    start = f'@import "{other}";\n' if chosen.random() < 0.4 else ""
    _put(
        site, chosen.choice(_SHEETS), start + f".a{chosen.randrange(4)} {{ color : red ; }}\n" * chosen.randrange(1, 4)
    )


def _draws(chosen: random.Random, site: BuiltSite) -> None:
    _put(site, chosen.choice(["i/dot.png", "i/two.png"]), png(chosen.randrange(4, 9)))


def _links(chosen: random.Random, site: BuiltSite) -> None:
    name, target = (
        chosen.choice(["alias.html", "sub/alias.html", "one.css"]),
        chosen.choice(["a.html", "sub", "two.css"]),
    )
    _make_room(site, name)
    _clear(site, name)
    (site.docroot / name).parent.mkdir(exist_ok=True)
    (site.docroot / name).symlink_to(os.path.relpath(site.docroot / target, (site.docroot / name).parent))


def _removes(chosen: random.Random, site: BuiltSite) -> None:
    _clear(site, chosen.choice([*_NAMES, *_SHEETS, "i/dot.png", "sub"]))


def _swaps(chosen: random.Random, site: BuiltSite) -> None:
    _put(site, chosen.choice(["sub", "notes.txt", "notes.txt/a.txt"]), "text\n" * chosen.randrange(1, 50))


def _clear(site: BuiltSite, path: str) -> None:
    if os.path.lexists(site.docroot / path):
        site.remove(path)


def _make_room(site: BuiltSite, path: str) -> None:
    for parent in reversed(Path(path).parents):
        if os.path.islink(site.docroot / parent) or (site.docroot / parent).is_file():
            site.remove(str(parent))
    if (site.docroot / path).is_dir() or (site.docroot / path).is_symlink():
        site.remove(path)


def _put(site: BuiltSite, path: str, content: str | bytes) -> None:
    _make_room(site, path)
    site.write({path: content})


_NAMES = ["index.html", "a.html", "sub/b.html", "sub/index.html", "new.html"]
_SHEETS = ["one.css", "two.css", "sub/three.css"]
_EDITS: list[Edit] = [_writes, _writes, _restyles, _draws, _links, _removes, _swaps]


# Two histories of 14 builds reach what those of the seeds 0 to 3 reached with 16 each: every kind of thing that an edit
# puts in the place of another (a file, a directory, a link, nothing), every reason to build, every diagnostic. They are
# of the first 400 seeds. ADAPTC_FUZZ adds others.
HISTORIES = (153, 384)
REACHED = {
    *("NeverBuilt", "InputChanged", "DependencyChanged"),
    *("css-import-kept", "missing-target", "pass-larger", "symlink-broken", "symlink-loop"),
}


@pytest.mark.parametrize("seed", seeds(*HISTORIES))
def test_a_history_of_edits_ends_like_a_clean_build(site: BuiltSite, seed: int) -> None:
    chosen, reached = random.Random(seed), set[str]()
    for _ in range(14):
        for _ in range(chosen.randrange(1, 4)):
            chosen.choice(_EDITS)(chosen, site)
        result = site.build()
        clean = site.clean()
        fresh = clean.build()
        assert site.trees() == clean.trees()
        assert result.diagnostics == fresh.diagnostics
        assert site.built() == {}
        reached |= {*kinds(result), *(type(reason).__name__ for reason in result.built.values())}
    assert seed not in HISTORIES or reached >= REACHED


@pytest.mark.parametrize("path", ["a.html", "sub/b.html", "one.css"])
def test_a_change_of_a_file_looks_up_few_others(site: BuiltSite, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write({f"deep/{number}/a.txt": str(number) for number in range(16)})
    site.write({"sub/b.html": page("b", '<a href="../deep/0/">x</a>', '<link rel="stylesheet" href="../one.css">')})
    site.build()
    (site.docroot / path).write_text("/* other */" if path == "one.css" else page("other"))
    with monkeypatch.context() as patch:
        patch.setattr(State, "resources", lambda _: pytest.fail("all files are looked up"))
        result = site.build()
    clean = site.clean()
    assert result.diagnostics == clean.build().diagnostics
    assert site.trees() == clean.trees()


def test_a_page_in_xml_syntax_and_a_malformed_sheet_stay_as_they_are_and_are_named(site: BuiltSite) -> None:
    page_text = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><br/></body></html>'
    site.write({"x.xhtml": page_text, "open.css": "a { color : red ; }\nb { color : blue"})
    said = {(one.id, one.location.path) for one in site.build().diagnostics if one.location}
    assert {("page-not-html", "x.xhtml"), ("css-malformed", "open.css")} <= said
    assert (site.output / "lossless/id/x.xhtml").read_text() == page_text
    assert (site.output / "lossless/id/open.css").read_text() == "a { color : red ; }\nb { color : blue"


# ---- cache and state


def test_two_outputs_share_a_cache(site: BuiltSite) -> None:
    cache = site.root / "cache"
    site.build(build__cache=cache)
    objects = set(files_below(cache / "objects"))
    other = BuiltSite(site.root / "other").write(FILES)
    other.build(build__cache=cache)
    assert set(files_below(cache / "objects")) == objects
    assert other.trees() == site.trees()
    assert not (other.output / ".adaptc/cache").exists()


def test_a_deleted_cache_costs_time_only(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    shutil.rmtree(site.output / ".adaptc/cache")
    assert site.built() == {}
    (site.output / "full/id/notes.txt").unlink()
    site.write({"a.html": page("A, anew")})
    site.build()
    site.write({"a.html": FILES["a.html"]})
    site.build()
    assert site.trees() == trees


@pytest.mark.parametrize("damage", [b"", b"cut sho"])
def test_a_damaged_cache_does_no_harm(site: BuiltSite, damage: bytes) -> None:
    site.build()
    trees = site.trees()
    shutil.rmtree(site.output / "full")
    shutil.rmtree(site.output / "lossless")
    for path in files_below(site.output / ".adaptc/cache"):
        replace(site.output / ".adaptc/cache" / path, damage)
    site.build()
    assert site.trees() == trees


def test_outputs_that_were_cut_short_with_the_cache_are_restored(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    for path in files_below(site.output / ".adaptc/cache/objects"):
        os.truncate(site.output / ".adaptc/cache/objects" / path, 1)
    (site.output / "full/id/stranger").write_text("so that the trees are looked at")
    (site.output / "lossless/id/stranger").write_text("so that the trees are looked at")
    site.build()
    assert site.trees() == trees


def test_a_cache_that_another_build_empties_all_the_time(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    from adaptc.compile.engine.trees.publish import Publisher

    place, gone = Publisher._place, set[str]()

    def steal(publisher: Publisher, source: str, target: str) -> None:
        if target not in gone:
            gone.add(target)
            os.unlink(source)
        place(publisher, source, target)

    monkeypatch.setattr(Publisher, "_place", steal)
    site.write({"new.txt": "new\n" * 100})
    site.build(build__levels=("full",), codings__br=False, codings__zst=False)
    assert site.read("new.txt", "full") == b"new\n" * 100


def test_the_cache_is_collected(site: BuiltSite) -> None:
    site.build(build__cache_size=0)
    left = set(files_below(site.output / ".adaptc/cache"))
    linked = {path for path in left if (site.output / ".adaptc/cache" / path).stat().st_nlink > 1}
    assert left == linked
    assert site.built(build__cache_size=0) == {}
    site.write({"a.html": page("A, anew")})
    site.build(build__cache_size=0)
    assert site.trees() == built_clean(site).trees()


@pytest.mark.parametrize("content", [None, b"garbage" * 1000, b""])
def test_a_lost_state_is_made_anew(site: BuiltSite, content: bytes | None) -> None:
    site.build()
    trees = site.trees()
    state = site.output / ".adaptc/state.sqlite"
    state.unlink() if content is None else state.write_bytes(content)
    assert set(site.built().values()) == {"NeverBuilt"}
    assert site.trees() == trees
    assert site.built() == {}


def test_a_state_that_is_damaged_inside_is_made_anew(site: BuiltSite) -> None:
    site.build()
    trees = site.trees()
    state = site.output / ".adaptc/state.sqlite"
    content = state.read_bytes()
    state.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    assert set(site.built().values()) == {"NeverBuilt"}
    assert site.trees() == trees


def test_the_output_may_be_moved(site: BuiltSite) -> None:
    site.build()
    moved = BuiltSite(site.root / "moved")
    moved.root.mkdir()
    shutil.copytree(site.docroot, moved.docroot)
    shutil.copytree(site.output, moved.output, symlinks=True)
    (moved.output / "full/id/notes.txt").unlink()
    assert moved.built() == {"full/notes.txt": "OutputMissing"}
    assert moved.trees() == site.trees()


# ---- what cannot be read or published


class Unreadable:
    """Makes reading fail for some paths, as it does without permission (which root always has)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from adaptc.core.fs import DiskTree

        self.paths: set[str] = set()
        read = DiskTree.read

        def refuse(tree: DiskTree, path: str) -> bytes:
            if path in self.paths:
                raise PermissionError(13, "Permission denied", f"{tree.root}/{path}")
            return read(tree, path)

        monkeypatch.setattr(DiskTree, "read", refuse)


def test_an_unreadable_file_is_left_out_and_tried_again(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    unreadable = Unreadable(monkeypatch)
    unreadable.paths = {"one.css", "notes.txt"}
    result = site.build()
    assert kinds(result) == ["unreadable-file", "unreadable-file", "missing-target"]
    assert site.build().diagnostics == result.diagnostics
    assert not (site.output / "full/id/notes.txt").exists()
    assert b"one.css" in site.read("index.html")
    stamps = site.stamps()
    site.build()
    assert site.stamps() == stamps
    unreadable.paths = set()
    assert site.built()["lossless/notes.txt"] == "NeverBuilt"
    assert site.trees() == built_clean(site).trees()


def test_a_page_whose_sheet_cannot_be_read_any_more_is_tried_again(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.build()
    site.write({"index.html": page("new", "", '<link rel="stylesheet" href="one.css">')})
    unreadable = Unreadable(monkeypatch)
    unreadable.paths = {"one.css"}
    result = site.build()
    assert [(one.id, str(one.location)) for one in result.diagnostics] == [("unreadable-file", "index.html")]
    assert not (site.output / "lossless/id/index.html").exists()
    assert site.build().diagnostics == result.diagnostics
    unreadable.paths = set()
    assert site.built() == {"lossless/index.html": "NeverBuilt"}
    assert site.trees() == built_clean(site).trees()


def test_a_file_that_changes_between_reading_and_building(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    from adaptc.compile.engine import spec

    decide = spec.decide

    def meanwhile(*arguments: object) -> object:
        site.write({"notes.txt": "written meanwhile\n" * 20})
        return decide(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(spec, "decide", meanwhile)
        result = site.build()
    assert (
        sorted((one.id, str(one.location)) for one in result.diagnostics) == [("changed-while-read", "notes.txt")] * 2
    )
    assert not (site.output / "full/id/notes.txt").exists()
    assert set(site.built()) == {"full/notes.txt", "lossless/notes.txt"}
    assert site.trees() == built_clean(site).trees()


def test_a_large_file_is_copied_and_not_held(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write({"large.html": page("large") * 20})
    result = site.build(site__max_file_bytes=5000)
    assert kinds(result) == ["file-too-large"]
    assert (site.output / "lossless/id/large.html").read_bytes() == (site.docroot / "large.html").read_bytes()
    assert not (site.output / "full/br/large.html").exists()
    site.write({"large.html": page("LARGE") * 20})
    site.build(site__max_file_bytes=5000)
    assert b"LARGE" in site.read("large.html")
    site.build(site__max_file_bytes=5000, build__identity="changed")
    assert not (site.output / "lossless/id/large.html").exists()


def test_an_output_whose_path_is_too_long(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"index.html": page("x")})
    with pytest.raises(UsageError, match="has a path of more than 479 bytes"):
        site.build(output=far_output(tmp_path, LONGEST_PATH + 1))
    assert site.build(output=far_output(tmp_path)).diagnostics == ()


def test_a_name_that_the_output_cannot_hold(tmp_path: Path) -> None:
    deep = "/".join(["d" * 250] * 15)
    site = BuiltSite(tmp_path).write({f"{deep}/page.txt": "text\n" * 50, "short.txt": "text\n" * 50})
    far = far_output(tmp_path)
    result = site.build(output=far)
    assert {(one.id, str(one.location)) for one in result.diagnostics} == {("name-unpublishable", f"{deep}/page.txt")}
    assert not list(far.glob(f"*/*/{'d' * 250}"))
    assert site.build(output=far).diagnostics == result.diagnostics
    assert site.build(output=far).built == {}


def test_a_bug_on_one_page_does_not_cost_the_others(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    from adaptc.compile.engine.unit import unit_builder

    rewrite_page, gather = unit_builder.rewrite_page, unit_builder.gather

    def fails(path: str, *rest: object, **options: object) -> object:
        if path == "a.html":
            raise OSError("cannot identify image file")  # Pillow's, without a number
        return rewrite_page(path, *rest, **options)  # type: ignore[arg-type]

    def fails_to_gather(path: str, *rest: object) -> object:
        return {}[path] if path == "sub/b.html" else gather(path, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(unit_builder, "rewrite_page", fails)
        patch.setattr(unit_builder, "gather", fails_to_gather)
        result = site.build()
    found = {str(one.location): one.message for one in result.diagnostics if one.id == "pass-failed"}
    assert "OSError: cannot identify image file at test_whole_builds.py" in found["a.html"]
    assert "KeyError: 'sub/b.html'" in found["sub/b.html"]
    assert site.read("a.html") == str(FILES["a.html"]).encode()
    assert b"<body>" in site.read("sub/b.html")


STRANGE = [
    "line\nbreak.txt",
    "quo\"te's.txt",
    "per%20cent.txt",
    "semi;colon.txt",
    "-rf.txt",
    "a" * 251 + ".txt",
    os.fsdecode(b"latin-\xe9.txt"),
    "日本語.txt",
    " space.txt",
    "back\\slash.txt",
]


def test_strange_names_are_published_as_they_are(tmp_path: Path) -> None:
    links = "".join(f'<a href="{name}">x</a>' for name in STRANGE if "%" not in name and '"' not in name)
    site = BuiltSite(tmp_path).write({name: f"{name!r}\n" * 50 for name in STRANGE})
    site.docroot.joinpath("index.html").write_bytes(os.fsencode(page("strange", links)))
    result = site.build()
    assert set(STRANGE) < set(files_below(site.output / "full/id"))
    assert set(STRANGE) < set(files_below(site.output / "lossless/br"))
    paths = {row["path"] for row in json.loads(result.manifest.read_bytes())["resources"]}
    assert paths == {*STRANGE, "index.html"}
    assert site.built() == {}
    for name in STRANGE:
        site.remove(name)
    site.build()
    assert set(files_below(site.output / "full/id")) == {"index.html"}


# ---- mistakes


@pytest.mark.parametrize(
    ("docroot", "output", "complaint"),
    [
        ("site", "site/opt", "is inside the docroot"),
        ("site", "site", "holds the docroot"),
        ("site/sub", "site", "holds the docroot"),
        ("site", "other", "was not made by adaptc"),
        ("site", "site/notes.txt", "is inside the docroot"),
        ("site", "file", "is not a directory"),
        ("site/notes.txt", "opt", "is not a directory"),
        ("nowhere", "opt", "is not a directory"),
    ],
)
def test_places_that_would_do_harm(site: BuiltSite, docroot: str, output: str, complaint: str) -> None:
    (site.root / "other").mkdir()
    (site.root / "other/thesis.tex").write_text("dear")
    (site.root / "file").write_text("dear")
    before = {path: (site.root / path).read_bytes() for path in files_below(site.root)}
    with pytest.raises(UsageError, match=complaint):
        site.build(docroot=site.root / docroot, output=site.root / output)
    assert {path: (site.root / path).read_bytes() for path in files_below(site.root)} == before


def test_an_output_that_leads_into_the_docroot_by_a_link(site: BuiltSite) -> None:
    (site.root / "way").symlink_to(site.docroot / "sub")
    with pytest.raises(UsageError, match="is inside the docroot"):
        site.build(output=site.root / "way")


def test_a_cache_inside_the_docroot(site: BuiltSite) -> None:
    with pytest.raises(UsageError, match=r"cache .* is inside the docroot"):
        site.build(build__cache=site.docroot / "cache")


def test_an_empty_directory_may_be_the_output(site: BuiltSite) -> None:
    site.output.mkdir()
    assert site.build().built


@pytest.fixture
def busy(site: BuiltSite) -> Iterator[BuiltSite]:
    site.build()
    with output_lock(site.output / ".adaptc/lock"):
        yield site


def test_an_output_in_which_another_build_is_at_work(busy: BuiltSite) -> None:
    before = busy.stamps()
    with pytest.raises(Busy):
        busy.build()
    assert busy.stamps() == before


def test_modules_in_the_working_directory_are_not_imported(site: BuiltSite, tmp_path: Path) -> None:
    hostile = "raise SystemExit('a module of the site was imported')\n"
    site.write({f"p{number}.html": page(f"P{number}") for number in range(40)})
    site.write(dict.fromkeys(("adaptc/__init__.py", "heapq.py", "signal.py", "threading.py"), hostile))
    start = tmp_path / "start/start.py"
    start.parent.mkdir()
    start.write_text("from adaptc.cli.main import main\nmain()\n")
    command = [sys.executable, os.fspath(start), "build", ".", "-o", os.fspath(site.output), "-j", "2", "-q"]
    done = subprocess.run(command, cwd=site.docroot, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(site.trees()) > 80
