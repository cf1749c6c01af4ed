"""``adaptc export``: what it holds, its times, what it refuses, and how it changes under a reader's eyes."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.samples import prerendered as prerendered_files
from tests.samples.prerendered import ARTICLE, prerendered
from tests.servers.command import run_adaptc
from tests.sites.built import BuiltSite
from tests.waiting import cpu_limit

from adaptc.browser import paint
from adaptc.compile.engine.proof import paints
from adaptc.compile.engine.reporting import Silent
from adaptc.config.config_file import LAST_BUILD
from adaptc.core.diagnostics import UsageError
from adaptc.formats.codings import decode
from adaptc.workflow.export.export import Export, export_site

PAGE = "<!DOCTYPE html>\n<html lang=en>\n  <title>A page</title>\n  <p>" + "words  and words \n" * 200 + "</p>\n"
SHEET = "\n".join(f".class-{n}  {{  color : #11223{n % 10} ; }}" for n in range(99))
FILES = {"index.html": PAGE, "deep/page.html": PAGE.replace("words", "deep"), "site.css": SHEET, "note.bin": b"\0\1"}


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    made = BuiltSite(tmp_path)
    made.write(FILES).build()
    return made


def export(site: BuiltSite, level: str = "lossless", encodings: str = "suffix", to: str = "public") -> Export:
    return export_site(site.config(), level, site.root / to, encodings, Silent())


def names(site: BuiltSite, to: str = "public") -> set[str]:
    root = site.root / to
    return {os.fspath(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}


def read(site: BuiltSite, name: str, to: str = "public") -> bytes:
    return (site.root / to / name).read_bytes()


# ---- what it holds


def test_encodings_stand_beside_their_files(site: BuiltSite) -> None:
    done = export(site)
    assert done.diagnostics == ()
    assert names(site) >= {*FILES, "index.html.br", "index.html.gz", "index.html.zst", "site.css.br"}
    assert "note.bin.gz" not in names(site)
    for coding in ("br", "gz", "zst"):
        assert decode(read(site, f"index.html.{coding}"), coding, None) == read(site, "index.html")  # type: ignore[arg-type]
    assert read(site, "index.html") == site.read("index.html") != PAGE.encode()
    assert (done.written, done.kept, done.removed) == (len(names(site)), 0, 0)
    sizes = {name: len(read(site, name)) for name in names(site)}
    assert done.size == sum(sizes.values())
    assert done.encoded == sum(size for name, size in sizes.items() if name.endswith((".br", ".gz", ".zst")))


def test_encodings_in_trees_of_their_own(site: BuiltSite) -> None:
    export(site, encodings="parallel")
    found = names(site)
    assert {f"id/{name}" for name in FILES} == {name for name in found if name.startswith("id/")}
    assert "br/deep/page.html" in found
    assert not any(name.endswith((".br", ".gz")) for name in found)


def test_without_encodings(site: BuiltSite) -> None:
    export(site, encodings="none")
    assert names(site) == set(FILES)


def test_where_the_level_has_no_file_the_original_stands(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    site.build(build__identity="changed")
    assert not (site.output / "lossless" / "id" / "note.bin").exists()
    export_site(site.config(build__identity="changed"), "lossless", site.root / "public", "suffix", Silent())
    assert read(site, "note.bin") == FILES["note.bin"]
    assert read(site, "index.html") == site.read("index.html")


def test_files_that_only_the_tree_has_go_along(site: BuiltSite) -> None:
    for coding, content in (("id", b"small"), ("br", b"smaller")):
        own = site.output / "lossless" / coding / "_adaptc"
        own.mkdir(parents=True)
        (own / "0123.svg").write_bytes(content)
    export(site)
    assert (read(site, "_adaptc/0123.svg"), read(site, "_adaptc/0123.svg.br")) == (b"small", b"smaller")


def test_jekyll_leaves_nothing_out(site: BuiltSite) -> None:
    export(site)
    assert ".nojekyll" not in names(site)
    site.write({"_static/a.bin": b"a"}).build()
    export(site)
    assert read(site, ".nojekyll") == b""
    assert export(site).written == 0
    site.write({"_config.yml": "theme: jekyll-theme-minimal"}).build()
    export(site)
    assert ".nojekyll" not in names(site)


def test_a_file_for_jekyll_of_somebody_else_stays(site: BuiltSite) -> None:
    export(site)
    (site.root / "public" / ".nojekyll").write_text("mine")
    site.write({"_static/a.bin": b"a"}).build()
    export(site)
    assert read(site, ".nojekyll") == b"mine"


def with_a_copy(site: BuiltSite) -> BuiltSite:
    own = site.output / "lossless" / "id" / "_adaptc"
    own.mkdir(parents=True, exist_ok=True)
    (own / "0123.webp").write_bytes(b"small")
    return site


def test_hosts_hear_that_copies_never_change(site: BuiltSite) -> None:
    export(site)
    assert "_headers" not in names(site)
    export(with_a_copy(site))
    assert read(site, "_headers") == b"/_adaptc/:file\n  Cache-Control: public, max-age=31536000, immutable\n"
    assert export(site).written == 0


def test_the_rules_of_a_site_for_its_host_stay_as_they_are(site: BuiltSite) -> None:
    site.write({"_headers": "/*\n  X-Frame-Options: DENY\n"}).build()
    export(with_a_copy(site))
    assert read(site, "_headers") == b"/*\n  X-Frame-Options: DENY\n"


def test_no_host_reads_rules_beside_trees(site: BuiltSite) -> None:
    export(with_a_copy(site), encodings="parallel")
    assert "_headers" not in names(site)


def test_names_of_any_bytes(tmp_path: Path) -> None:
    odd = {"a b%41.html": PAGE, "ümlaut.html": PAGE, os.fsdecode(b"latin-\xe4.html"): PAGE, 'quo"te\n.html': PAGE}
    site = BuiltSite(tmp_path).write(odd)
    site.build()
    export(site)
    assert names(site) >= set(odd)
    export(site, "full")  # what was remembered is found again
    assert read(site, 'quo"te\n.html') == PAGE.encode()


def test_links_become_files(site: BuiltSite) -> None:
    (site.docroot / "alias.html").symlink_to("index.html")
    site.build()
    export(site)
    assert not (site.root / "public" / "alias.html").is_symlink()
    assert read(site, "alias.html") == read(site, "index.html")


def test_files_are_copies_that_may_be_written_to(site: BuiltSite) -> None:
    export(site)
    status = (site.root / "public" / "index.html").stat()
    assert (status.st_mode & 0o777, status.st_nlink) == (0o644, 1)


# ---- times


def mtimes(site: BuiltSite, path: str) -> set[int]:
    return {(site.root / "public" / name).stat().st_mtime_ns for name in names(site) if name.startswith(path)}


def test_a_file_and_its_encodings_have_one_time(site: BuiltSite) -> None:
    export(site)
    for path in FILES:
        assert len(mtimes(site, path)) == 1, path


def test_the_bytes_of_the_original_have_its_time_and_others_are_no_older_than_the_build(site: BuiltSite) -> None:
    export(site)
    assert mtimes(site, "note.bin") == {(site.docroot / "note.bin").stat().st_mtime_ns}
    assert mtimes(site, "index.html").pop() == (site.output / "lossless/id/index.html").stat().st_ctime_ns


def test_what_did_not_change_keeps_its_time_and_what_changed_is_younger(site: BuiltSite) -> None:
    export(site)
    before = {path: mtimes(site, path).pop() for path in FILES}
    inode = (site.root / "public" / "site.css").stat().st_ino
    site.write({"index.html": PAGE.replace("A page", "Another")}).build()
    done = export(site)
    after = {path: mtimes(site, path).pop() for path in FILES}
    assert after["index.html"] > before["index.html"]
    assert after["deep/page.html"] == before["deep/page.html"]
    assert (site.root / "public" / "site.css").stat().st_ino == inode
    assert done.written == 4


def test_another_level_is_younger_even_when_it_was_built_before(site: BuiltSite) -> None:
    export(site)
    before = mtimes(site, "index.html").pop()
    for coding in ("id", "br", "zst", "gz"):
        os.utime(site.output / "full" / coding / "index.html", (1, 1))
    export(site, "full")
    assert mtimes(site, "index.html").pop() >= before + 10**9


# ---- changes


def test_what_is_gone_from_the_site_goes_and_what_others_put_there_stays(site: BuiltSite) -> None:
    export(site)
    (site.root / "public" / "CNAME").write_text("example.org")
    site.remove("deep/page.html")
    site.build()
    assert export(site).removed == 4
    assert not (site.root / "public" / "deep").exists()
    assert read(site, "CNAME") == b"example.org"


def test_another_arrangement_takes_the_place_of_the_first(site: BuiltSite) -> None:
    export(site)
    export(site, encodings="parallel")
    assert {name.split("/")[0] for name in names(site)} == {"id", "br", "zst", "gz"}


def test_a_file_becomes_a_directory_and_a_file_again(site: BuiltSite) -> None:
    site.write({"thing": "a file"}).build()
    export(site)
    site.remove("thing")
    site.write({"thing/index.html": PAGE}).build()
    export(site)
    assert "thing/index.html" in names(site)
    site.remove("thing")
    site.write({"thing": "a file again"}).build()
    export(site)
    assert read(site, "thing") == b"a file again"


def test_an_encoding_that_no_longer_pays_goes(site: BuiltSite) -> None:
    export(site)
    site.write({"site.css": "a{}"}).build()
    export(site)
    assert "site.css.br" not in names(site)


def test_a_file_that_cannot_be_read_is_told_and_the_rest_goes_on(site: BuiltSite) -> None:
    (site.output / "lossless" / "br" / "index.html").unlink()
    done = export(site)
    ids = [one.id for one in done.diagnostics]
    assert "export-failed" in ids
    assert "deep/page.html.br" in names(site)
    assert "index.html.br" not in names(site)


@pytest.mark.parametrize("to", ["op", "o"])
def test_a_destination_is_told_from_sources_whose_path_begins_alike(to: str, site: BuiltSite) -> None:
    export(site, to=to)
    (site.output / "lossless" / "br" / "index.html").unlink()
    assert "export-failed" in [each.id for each in export(site, to=to).diagnostics]


def test_a_full_disk_ends_an_export(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", source, None, target)  # as shutil words it

    monkeypatch.setattr("shutil.copyfile", fill)
    with pytest.raises(OSError, match="No space left"):
        export(site)


@pytest.mark.parametrize("times", [0, 1], ids=["new", "again"])
def test_the_next_export_removes_what_a_killed_one_left(
    times: int, site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(times):
        export(site)
    site.write({"index.html": "<p>changed"})
    site.build()
    with monkeypatch.context() as patch:

        def copy_half(_: Path, target: Path) -> None:
            target.write_bytes(b"half")
            patch.setattr("os.unlink", kill)
            patch.setattr("shutil.rmtree", kill)
            raise Killed

        patch.setattr("shutil.copyfile", copy_half)
        with pytest.raises(Killed):
            export(site)
    assert [path for path in site.root.rglob(".adaptc-*") if site.output not in path.parents]
    export(site)
    assert [path for path in site.root.rglob(".adaptc-*") if site.output not in path.parents] == []


class Killed(BaseException):
    """Nothing is done after this."""


def kill(*_: object, **__: object) -> None:
    raise Killed


def test_an_export_does_not_write_behind_a_link_that_leads_elsewhere(site: BuiltSite) -> None:
    export(site)
    outside = site.root / "outside"
    (site.root / "public" / "deep").rename(outside)
    (site.root / "public" / "deep").symlink_to(outside)
    before = {file.name: file.stat().st_mtime_ns for file in outside.iterdir()}
    with pytest.raises(UsageError, match="symbolic links that lead out of it: deep"):
        export(site, "full")
    assert {file.name: file.stat().st_mtime_ns for file in outside.iterdir()} == before


def test_a_build_that_is_out_of_date_is_told(site: BuiltSite) -> None:
    site.write({"index.html": PAGE + "<p>more"})
    (said,) = export(site).diagnostics
    assert str(said) == "warning: level lossless is not up to date (1 file); run adaptc build first [export-stale]"


# ---- what it refuses


def test_an_encoding_never_takes_the_name_of_a_file(site: BuiltSite) -> None:
    site.write({"index.html.br": "mine"}).build()
    (left_out,) = export(site).diagnostics
    assert str(left_out) == (
        "index.html: warning: index.html.br is a file of the site, and is not replaced by the encoded file of that name"
        " [export-name-taken]"
    )
    assert read(site, "index.html.br") == b"mine"
    assert "index.html.gz" in names(site)
    assert not export(site, to="trees", encodings="parallel").diagnostics
    assert read(site, "id/index.html.br", to="trees") == b"mine"


def test_a_directory_of_somebody_else(site: BuiltSite) -> None:
    (site.root / "public").mkdir()
    (site.root / "public" / "dear.txt").write_text("dear")
    with pytest.raises(UsageError, match="was not made by adaptc export"):
        export(site)


def test_a_file_of_somebody_else_in_an_export(site: BuiltSite) -> None:
    export(site)
    (site.root / "public" / "new.html").write_text("dear")
    site.write({"new.html": PAGE}).build()
    with pytest.raises(UsageError, match=r"did not write: new\.html"):
        export(site)
    assert read(site, "new.html") == b"dear"


def test_an_empty_directory_is_filled(site: BuiltSite) -> None:
    (site.root / "public").mkdir()
    export(site)
    assert "index.html" in names(site)


@pytest.mark.parametrize("to", ["site", "site/public", "opt/public", "."])
def test_the_destination_is_neither_docroot_nor_output(site: BuiltSite, to: str) -> None:
    with pytest.raises(UsageError, match="overlap"):
        export(site, to=to)


def test_a_level_that_was_not_built(site: BuiltSite) -> None:
    with pytest.raises(
        UsageError, match=r"level extreme is not in .*; there are: full, lossless; to build it: .* --level extreme"
    ):
        export(site, "extreme")
    with pytest.raises(UsageError, match=r"level losless is not in .*, did you mean lossless\?"):
        export(site, "losless")


# ---- the command


def run(site: BuiltSite, *arguments: str, name: str = "export") -> CompletedProcess[str]:
    return run_adaptc("-C", os.fspath(site.root), name, *arguments)


def test_the_command_says_what_it_did(site: BuiltSite) -> None:
    ended = run(site, "full", "public", "site", "--encodings", "none")
    assert (ended.returncode, ended.stdout[:41]) == (0, "public: wrote 4 files, kept 0, removed 0;")
    told = json.loads(run(site, "full", "public", "site", "--format", "json").stdout)
    assert told["level"] == "full"
    assert told["kept"] == 4


def test_the_command_names_what_is_missing(site: BuiltSite) -> None:
    (site.output / LAST_BUILD).unlink()
    ended = run(site, "full", "public")
    assert (ended.returncode, ended.stderr) == (
        2,
        "adaptc: no docroot: name the published directory on the command line, or as docroot in adaptc.toml\n",
    )


# ---- adaptc web


def run_web(site: BuiltSite, *arguments: str) -> CompletedProcess[str]:
    return run(site, *arguments, "--no-browser", "--effort", "fast", name="web")


def test_one_command_builds_and_exports(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    ended = run_web(site, "site")
    assert ended.returncode == 0, ended.stderr
    assert names(site) == set(FILES)
    assert len(read(site, "index.html")) < len(PAGE)
    assert {each.name for level in ("full", "web") for each in (site.output / level).iterdir()} <= {"id", "br"}
    rows = [re.split(r" {2,}", line.strip()) for line in ended.stdout.splitlines()]
    assert rows[0] == ["before", "after", "saved"]
    assert [row[0] for row in rows[1:4]] == [
        "all files, copies to choose from included",
        "a page with what it loads, as sent",
        "requests of a page",
    ]
    assert "Publish public in the place of site; keep opt" in ended.stdout


def test_source_maps_are_left_out_unless_a_text_names_them(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({**FILES, "app.js": "f(1)\n//# sourceMappingURL=app.js.map\n", "app.js.map": "{}"})
    kept = {"list.js": "f(2)", "list.js.map": "{}", "list.json": '["list.js.map"]', "alone.map": "a"}
    site.write(kept | {"runs.json": ".map" * 20_000})
    with cpu_limit(20):
        told = json.loads(run_web(site, "site", "--format", "json").stdout)
    assert [each["message"][:20] for each in told["diagnostics"] if each["id"] == "export-source-maps"] == [
        "1 source maps (2 B) "
    ]
    assert names(site) == {*FILES, "app.js", *kept, "runs.json"}
    (tmp_path / "adaptc.toml").write_text('[site]\ninclude = ["*.map"]\n')
    run_web(site, "site")
    assert names(site) == {*FILES, "app.js", "app.js.map", *kept, "runs.json"}


def test_one_command_lets_the_scripts_of_a_rendered_site_wait(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(
        {**prerendered_files.FILES, "index.html": prerendered("Docusaurus", ARTICLE + "<p>words and words" * 30)}
    )
    (site.docroot / "b.html").unlink()
    told = json.loads(run_web(site, "site", "--format", "json").stdout)
    assert (told["level"], b"data-later" in read(site, "index.html")) == ("deferred", True)
    assert told["after"]["transfer_per_page"] < 0.7 * told["before"]["transfer_per_page"]
    assert {each.name for each in site.output.iterdir()} >= {"full", "deferred"}
    assert "to run them at once: --level web\n" in run_web(site, "site").stdout
    told = json.loads(run_web(site, "site", "--level", "web", "--format", "json").stdout)
    assert (told["level"], b"data-later" in read(site, "index.html")) == ("web", False)


def test_one_command_reckons_with_what_a_visitor_waits_for(tmp_path: Path) -> None:
    """A sheet that all pages share stays a file, unless the file of settings has costs of its own."""
    sheet = "".join(f".c{number} {{ margin: {number}px }}\n" for number in range(400))
    pages = {f"{name}.html": PAGE.replace("<title>", "<link rel=stylesheet href=a.css><title>") for name in "xyz"}
    site = BuiltSite(tmp_path).write({**pages, "a.css": sheet})
    run_web(site, "site")
    assert b"a.css" in read(site, "x.html")
    (tmp_path / "adaptc.toml").write_text("[cost]\npages_per_visit = 1.0\n")
    run_web(site, "site")
    assert b"a.css" not in read(site, "x.html")


def test_one_command_looks_with_a_browser_only_where_one_can_be_driven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = BuiltSite(tmp_path).write({"index.html": PAGE}).root / "chromium"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("CHROME_PATH", str(program))
    monkeypatch.setitem(sys.modules, "playwright", None)
    ended = run_adaptc("-C", os.fspath(tmp_path), "web", "site", "--effort", "fast")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\nWith a browser (--browser) images are offered as small as they are shown; Playwright" in ended.stdout


def test_one_command_builds_no_level_that_there_is_not(tmp_path: Path) -> None:
    ended = run_web(BuiltSite(tmp_path).write(FILES), "site", "--level", "wbe")
    assert ended.returncode == 2
    assert "wbe" in ended.stderr
    assert not (tmp_path / "public").exists()


def test_one_command_does_again_what_changed_only(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    run_web(site, "site", "there")
    site.write({"new.html": PAGE.replace("words", "new")})
    told = json.loads(run_web(site, "site", "there", "--format", "json").stdout)
    assert (told["written"], told["kept"], told["line"]) == (1, len(FILES), None)
    assert told["after"]["transfer_per_page"] < told["before"]["transfer_per_page"]


def test_one_command_keeps_the_levels_of_the_last_build(site: BuiltSite) -> None:
    run(site, "site", "-o", "opt", "--level", "full", "--level", "moderate", name="build")
    assert run_web(site, "site").returncode == 0
    assert {"full", "moderate", "web"} <= {each.name for each in site.output.iterdir()}


@pytest.mark.parametrize("dest", ["site", "foreign"])
def test_one_command_builds_nothing_for_a_directory_that_it_refuses(tmp_path: Path, dest: str) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "dear.txt").write_text("dear")
    ended = run_web(site, "site", dest)
    assert ended.returncode == 2
    assert "choose another" in ended.stderr
    assert not site.output.exists()


@pytest.mark.chromium
def test_one_command_measures_the_home_page(chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = list[bool]()
    load = paints.load_by_phone

    def noted(*given: Any, is_slow: bool) -> Any:
        loads.append(is_slow)
        return load(*given, is_slow=is_slow)

    monkeypatch.setattr(paints, "load_by_phone", noted)
    monkeypatch.setattr(paint, "_SETTLED", 0.3)
    site = BuiltSite(tmp_path).write(FILES)
    ended = run(site, "site", "--effort", "fast", "--browser", name="web")
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"largest paint of index\.html on a phone, 3g +\d\.\d\d s +\d\.\d\d s", ended.stdout)
    assert loads == [False] * 3  # an empty page, the original and the level
    quiet = run(site, "site", "--effort", "fast", "--browser", "--quiet", name="web")
    assert (quiet.returncode, quiet.stdout) == (0, "")
    assert len(loads) == 3
