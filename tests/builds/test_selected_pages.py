"""Builds that go by access logs: which pages degraded levels have, and how that changes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.samples.access_logs import line, write_log
from tests.servers.command import run_adaptc
from tests.sites.popular import PAGES, WORDS, PopularSite

import adaptc
from adaptc.compile.engine.outdated import NeverBuilt
from adaptc.core.diagnostics import UsageError
from adaptc.report.explain import explain


@pytest.fixture
def site(tmp_path: Path) -> PopularSite:
    return PopularSite(tmp_path)


def test_degraded_levels_have_the_popular_pages_only(site: PopularSite) -> None:
    site.build()
    assert site.has("full") == site.has("lossless") == list(PAGES)
    assert site.has("words") == ["a.html"]
    assert (site.output / "words/id/s.css").exists()
    assert sorted(path.parent.name for path in site.output.glob("words/*/*.html")) == ["br", "gz", "id", "zst"]


def test_without_logs_every_page_is_popular(site: PopularSite) -> None:
    site.build(select="")
    assert site.has("words") == list(PAGES)


def test_the_share_is_a_setting(site: PopularSite) -> None:
    site.build(select__share=0.9)
    assert site.has("words") == ["a.html", "b.html"]
    built = site.build(select__share=0.7)
    assert (built.built, built.removed) == ({}, 1)
    assert site.has("words") == ["a.html"]


def test_a_changed_log_changes_the_pages_and_nothing_else(site: PopularSite) -> None:
    site.build()
    before = site.stamps()
    site.see({"/b.html": 7, "/a.html": 2})
    result = site.build()
    assert (result.built, result.removed) == ({("words", "b.html"): NeverBuilt()}, 1)
    assert site.has("words") == ["b.html"]
    after = site.stamps()
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert {path.split("/")[-1] for path in changed} == {"a.html", "b.html", "manifest.json", "report.html"}
    assert {path.split("/")[0] for path in changed if path.endswith(("a.html", "b.html"))} == {"words"}
    clean = PopularSite(site.root / "clean")
    clean.see({"/b.html": 7, "/a.html": 2})
    clean.build()
    assert site.trees() == clean.trees()


def test_other_views_of_the_same_popular_pages_build_nothing(site: PopularSite) -> None:
    site.build()
    site.see({"/a.html": 70, "/b.html": 3})
    result = site.build()
    assert not result.built
    assert not result.removed
    assert site.build().built == {}


def test_a_popular_page_that_changes_is_built_and_another_is_not(site: PopularSite) -> None:
    site.build()
    site.write({"a.html": f"<title>n</title>{WORDS}", "b.html": f"<title>n</title>{WORDS}"})
    units = set(site.build().built)
    assert {("words", "a.html"), ("full", "b.html")} <= units
    assert ("words", "b.html") not in units
    site.write({"s.css": ".a{color:blue}"})
    assert ("words", "b.html") not in set(site.build().built)


def test_a_page_of_a_degraded_level_that_someone_else_wrote_is_removed(site: PopularSite) -> None:
    site.build()
    (site.output / "words/id/b.html").write_text("stranger")
    site.build()
    assert site.has("words") == ["a.html"]


def test_removing_the_logs_from_the_configuration_brings_every_page_back(site: PopularSite) -> None:
    site.build()
    assert set(site.build(select="").built) == {("words", "b.html"), ("words", "c.html")}
    assert site.has("words") == list(PAGES)


def test_a_page_and_a_link_to_it_come_and_go_together(site: PopularSite) -> None:
    (site.docroot / "z.html").symlink_to("a.html")
    site.see({"/z.html": 7, "/b.html": 2})
    site.build()
    assert site.read("z.html", "words") == site.read("a.html", "words")
    site.see({"/b.html": 7, "/z.html": 2})
    site.build()
    assert not list(site.output.glob("words/*/[az].html"))
    assert not [path for path in site.output.rglob("*") if path.is_symlink() and not path.exists()]


def test_a_dry_run_tells_what_a_changed_log_would_do_and_writes_nothing(site: PopularSite) -> None:
    site.build()
    before = site.stamps()
    site.see({"/b.html": 7, "/a.html": 2})
    planned = adaptc.plan(site.config())
    assert (list(planned.reasons), planned.removed) == ([("words", "b.html")], 1)
    assert site.stamps() == before


def test_a_log_without_pages_restricts_nothing_and_is_said(site: PopularSite) -> None:
    site.see({"/s.css": 3, "/elsewhere.html": 2})
    result = site.build()
    assert site.has("words") == list(PAGES)
    assert [str(said) for said in result.diagnostics] == [
        "warning: no view of a page was found in the access logs; every page counts as popular [log-without-pages]"
    ]


def test_lines_that_do_not_parse_are_said_by_every_build(site: PopularSite) -> None:
    site.log.write_text(line("/a.html") + "nonsense\n")
    wanted = ["log-line-skipped", "log-lines-skipped"]
    assert [said.id for said in site.build().diagnostics] == wanted
    assert [said.id for said in site.build().diagnostics] == wanted


def test_several_logs_add_up_and_one_that_did_not_change_is_not_read_again(site: PopularSite) -> None:
    old = write_log(site.root / "access.log.1", {"/b.html": 20})
    select = '[select]\nlogs = ["access.log*"]\n'
    site.build(select=select)
    assert site.has("words") == ["b.html"]
    stamp = old.stat()
    old.write_bytes(old.read_bytes().replace(b"/b", b"/c"))
    os.utime(old, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    site.see({"/a.html": 1})
    site.build(select=select)
    assert site.has("words") == ["b.html"]  # by the counts of before: size, time and inode are the same
    os.utime(old)
    site.build(select=select)
    assert site.has("words") == ["c.html"]


def test_a_log_that_is_not_there_stops_the_build_before_it_begins(site: PopularSite) -> None:
    site.log.unlink()
    with pytest.raises(UsageError, match=r"there is no log .*access\.log"):
        site.build()
    assert not list(site.output.glob("*/id"))


def test_explain_says_how_popular_a_page_is(site: PopularSite) -> None:
    site.build()
    popular, other, sheet = (explain(site.config(), path) for path in ("a.html", "c.html", "s.css"))
    assert popular is not None and other is not None and sheet is not None
    assert popular.decisions == ("a popular page: 7 of 10 page views",)
    assert other.decisions == ("not a popular page, so that degraded levels leave it out: 1 of 10 page views",)
    assert not any("views" in sentence for sentence in sheet.decisions)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("share = 0", "select.share must be a number from 0.01 to 1, not 0"),
        (
            'logs = ["-"]',
            'select.logs must be a list of files or shell patterns, such as ["logs/access.log*"], not ["-"]',
        ),
        ('format = "%h %r"', "select.format must be a log format with the request and its status, by which page views"),
        (
            'format = "commn"',
            "select.format must be a log format that can be read (a log format is one of auto, common,",
        ),
    ],
)
def test_wrong_settings(site: PopularSite, text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        site.config(select=f"[select]\n{text}\n")
    assert str(caught.value).startswith(f"{site.file}:2: {problem}")


# ---- adaptc popular


def run(*arguments: str, cwd: Path, text: str = "") -> CompletedProcess[str]:
    return run_adaptc("popular", *arguments, cwd=cwd, text=text)


def test_the_command_lists_the_popular_pages_of_the_site(site: PopularSite) -> None:
    done = run("access.log", "--docroot", "site", "--share", "0.9", cwd=site.root)
    assert done.stdout.splitlines() == [
        "views  share  together  page",
        "    7  70.0%     70.0%  a.html",
        "    2  20.0%     90.0%  b.html",
        "",
        "2 of 3 viewed pages make up 90.0% of 10 page views in 109 lines",
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_goes_by_the_configuration(site: PopularSite) -> None:
    site.config()
    done = run("--format", "json", cwd=site.root)
    found = json.loads(done.stdout)
    assert found["popular"] == [{"path": "a.html", "views": 7, "share": 0.7, "cumulative": 0.7}]
    assert (found["views"], found["viewed_pages"], found["lines"], found["skipped_lines"]) == (10, 3, 109, 0)


def test_the_command_reads_standard_input_in_the_format_that_is_given(tmp_path: Path) -> None:
    done = run("-", "--log-format", "$uri $status", cwd=tmp_path, text="/x/ 200\n/x/ 304\nnonsense\n")
    assert done.stdout.splitlines()[1] == "    2  100.0%    100.0%  x/index.html"
    assert "-:3: warning: is not in the log format: nonsense [log-line-skipped]" in done.stderr
    assert done.returncode == 0


def test_the_command_without_views(tmp_path: Path) -> None:
    assert run("-", cwd=tmp_path, text=line("/x.css")).stdout == "no view of a page in 1 line\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "adaptc: name a LOG, or give select.logs in adaptc.toml\n"),
        (["gone.log"], "adaptc: there is no log gone.log\n"),
        (["-", "--share", "2"], "adaptc: command line: select.share must be a number from 0.01 to 1, not 2.0\n"),
        (["-", "--docroot", "gone"], "adaptc: there is no directory gone\n"),
    ],
)
def test_the_command_names_mistakes(tmp_path: Path, arguments: list[str], problem: str) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, problem)
