"""Commands know the docroot and the options of the last build."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.servers.command import run_adaptc

from adaptc.formats.codings import encode
from adaptc.workflow.configuration import load_config

PAGE = "<!doctype html><title>t</title><p>words"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text(PAGE)
    os.utime(
        tmp_path / "site" / "index.html", (10**9, 10**9)
    )  # what is written in the tick of a build may change in it
    return tmp_path


def run(folder: Path, *arguments: str) -> CompletedProcess[str]:
    return run_adaptc("-C", os.fspath(folder), *arguments)


def build(folder: Path, *options: str) -> None:
    done = run(folder, "build", "site", "-j", "1", *options)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [("check",), ("export", "text", "public"), ("build", "-j", "1"), ("check", "-o", "opt"), ("check", "site")],
)
def test_commands_after_a_build_need_no_options(folder: Path, command: tuple[str, ...]) -> None:
    build(folder, "--effort", "fast", "--level", "full", "--level", "text", "--base-url", "https://example.org/")
    done = run(folder, *command)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    if command[0] == "build":
        assert done.stdout.startswith("up to date")
    if command[0] == "check":
        assert "fresh: " in done.stdout
        assert "text" in done.stdout


def test_a_site_for_hosts_is_fresh_once_it_was_built(folder: Path) -> None:
    words = " ".join(f"word{number * number}" for number in range(400))
    (folder / "site" / "index.html").write_text(f"{PAGE} {words}")
    assert run(folder, "web", "site", "--no-browser").returncode == 0
    page, encoded = ((folder / "opt/web" / coding / "index.html").read_bytes() for coding in ("id", "br"))
    assert encoded == encode(page, "br", "fast") != encode(page, "br", "default")  # nobody is sent it: it is counted
    done = run(folder, "check")
    assert (done.returncode, "recipe" in done.stdout) == (0, False), done.stderr


def last(folder: Path, **overrides: object) -> tuple[Path | None, tuple[str, ...], str, str | None]:
    """Return docroot, levels, effort and base URL that a command other than build would use."""
    chosen = {"output": folder / "opt", **{key.replace("_", ".", 1): value for key, value in overrides.items()}}
    config = load_config(overrides=chosen, repeats=True)
    return config.docroot, config.build.levels, config.build.effort, config.site.base_url


def test_options_and_configuration_win(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(folder, "--effort", "fast", "--level", "text", "--base-url", "https://example.org/")
    monkeypatch.chdir(folder)
    site = folder / "site"
    assert last(folder) == (site, ("text",), "fast", "https://example.org/")
    assert last(folder, build_effort="max") == (site, ("text",), "max", "https://example.org/")
    (folder / "adaptc.toml").write_text('[build]\nlevels = ["full"]\n')
    assert last(folder) == (site, ("full",), "fast", "https://example.org/")


def test_another_docroot_is_another_build(folder: Path) -> None:
    build(folder, "--effort", "fast")
    (folder / "other").mkdir()
    assert last(folder, docroot=folder / "other") == (folder / "other", ("full", "lossless"), "default", None)


def test_a_build_that_names_its_docroot_begins_anew(folder: Path) -> None:
    build(folder, "--effort", "fast", "--level", "text")
    build(folder)
    assert last(folder)[1:3] == (("full", "lossless"), "default")


def test_site_and_output_may_be_moved_together(folder: Path) -> None:
    build(folder, "--effort", "fast")
    (folder / "moved").mkdir()
    for name in ("site", "opt"):
        (folder / name).rename(folder / "moved" / name)
    assert last(folder / "moved")[0] == folder / "moved" / "site"


@pytest.mark.parametrize(
    "record",
    ["", "[]", '{"docroot": 1, "options": {}}', '{"docroot": "../site"}', "[" * 100_000]
    + [json.dumps({"docroot": "../site", "options": {key: 1}}) for key in ("build.levels", "build.effort")],
)
def test_a_damaged_record_counts_as_none(folder: Path, record: str) -> None:
    (folder / "opt" / ".adaptc").mkdir(parents=True)
    (folder / "opt" / ".adaptc" / "last-build.json").write_text(record)
    assert last(folder) == (None, ("full", "lossless"), "default", None)


def test_a_site_without_pages_is_a_mistake(folder: Path) -> None:
    build(folder)
    (folder / "site" / "index.html").unlink()
    (folder / "site" / "a.txt").write_text("words")
    for options in ((), ("--dry-run",)):
        refused = run(folder, "build", "site", *options)
        assert refused.returncode == 2
        assert "holds no page: nothing was built, and nothing removed" in refused.stderr
    assert (folder / "opt" / "full" / "id" / "index.html").is_file()
    assert run(folder, "build", "site", "--allow-empty").returncode == 0
    assert not (folder / "opt" / "full" / "id" / "index.html").exists()


CLOSED = {
    "a rule": ({".htaccess": "Require all denied"}, "", ".htaccess:1: warning: Require all denied applies to 2 files"),
    "a rule that is not known": ({".htaccess": "FooBar on"}, "", ".htaccess:1: warning: FooBar on: what Apache makes"),
    "programs": ({"index.php": "<?php", "a.cgi": "#!"}, "", "index.php: note: is run by the server"),
    "patterns": ({}, '[site]\nexclude = ["*.html"]', "site.exclude leaves out *.html"),
    "links": ({}, "links", "symlink-outside"),
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_site_without_pages_says_what_left_them_out(folder: Path, name: str) -> None:
    files, settings, reason = CLOSED[name]
    site = folder / "site"
    (site / "other.html").write_text("<p>other")
    if name in ("programs", "links"):
        for page in site.glob("*.html"):
            page.rename(folder / page.name)
            if name == "links":
                (site / page.name).symlink_to(folder / page.name)
    for file, content in files.items():
        (site / file).write_text(content)
    if settings.startswith("["):
        (folder / "adaptc.toml").write_text(settings)
    refused = run(folder, "build", "site")
    assert refused.returncode == 2
    assert "holds no page that may be built (" in refused.stderr
    assert reason in refused.stderr


def test_unknown_names_are_answered_with_the_nearest(folder: Path) -> None:
    assert "there is no command bild, did you mean build?" in run(folder, "bild").stderr
    build(folder, "--effort", "fast")
    assert (
        run(folder, "explain", "index.htm").stderr
        == "adaptc: index.htm is not in the last build, did you mean index.html?\n"
    )


def test_explain_says_an_action_without_a_reason_without_a_colon(folder: Path) -> None:
    (folder / "site" / "index.html").write_text(PAGE + f"<script>words({list(range(999))})</script>")
    build(folder, "--effort", "fast", "--level", "full", "--level", "extreme")
    lines = run(folder, "explain", "index.html").stdout.splitlines()
    assert "  compose: left out <script>" in lines
    assert not [line for line in lines if line.rstrip().endswith(":")]


def test_explain_says_one_level_or_all_from_the_best(folder: Path) -> None:
    (folder / "site" / "index.html").write_text(PAGE + "".join(f"<a href=gone{n}.html>a</a>" for n in range(7)))
    build(folder, "--effort", "fast", "--level", "text", "--level", "lossless", "--level", "full")
    levels = [line.partition(":")[0] for line in _explained(folder) if line.partition(":")[0].isalpha()]
    assert levels == ["full", "lossless", "text"]
    assert not [line for line in _explained(folder, "--level", "text") if line.startswith("lossless")]
    refused = run(folder, "explain", "index.html", "--level", "tex")
    assert (refused.returncode, refused.stderr) == (2, "adaptc: level tex was not built, did you mean text?\n")


def test_explain_cuts_many_diagnostics_of_one_kind_short(folder: Path) -> None:
    (folder / "site" / "index.html").write_text(PAGE + "".join(f"<a href=gone{n}.html>a</a>" for n in range(7)))
    build(folder, "--effort", "fast")
    assert "  and 2 more [missing-target]; see --verbose" in _explained(folder)
    assert sum("missing-target" in line for line in _explained(folder, "--verbose")) == 7


def _explained(folder: Path, *options: str) -> list[str]:
    return run(folder, "explain", "index.html", *options).stdout.splitlines()
