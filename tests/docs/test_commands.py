"""The commands of the documentation run as they stand there: here, or in the test that is named for them."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.places import DOCS, ROOT, TESTS
from tests.servers.command import run_adaptc

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
# What needs a browser, a server, a network or does not end, by a word of it, and the test that runs it
ELSEWHERE = {
    "auto": "daemons/test_switch_daemon.py",
    "calibrate": "serve/test_calibrate.py",
    "capacity": "cli/test_capacity.py",
    "ci": "cli/test_ci.py",
    "classify": "daemons/test_classify_daemon.py",
    "control": "daemons/test_control_daemon.py",
    "crawl": "crawl/test_again.py",
    "doctor": "serve/test_doctor.py",
    "drill": "serve/test_drill.py",
    "force": "daemons/test_switch_daemon.py",
    "plan": "workflow/test_planning_meter.py",
    "popular": "compile/analyse/test_popularity.py",
    "preview": "workflow/test_preview.py",
    "prove": "workflow/test_prove.py",
    "status": "daemons/test_switch_daemon.py",
    "switch": "daemons/test_switch_daemon.py",
    "verify-server": "serve/test_verify_server.py",
    "watch": "workflow/test_watch.py",
    "https://example.org/": "crawl/test_build.py",
    "--browser": "builds/test_looking.py",
    "--prove": "compile/engine/test_proving.py",
    "--remote-cache": "builds/test_remote_cache.py",
    "--screenshots": "report/test_screenshots.py",
    "s3://bucket": "workflow/test_publish.py",
    "s3://previews/$BRANCH": "workflow/test_publish.py",
    "gs://bucket": "workflow/test_publish.py",  # the same code, on a server of S3
}
BUILD = ("build", "site", "-o", "opt", "--level", "full", "--level", "web", "--level", "moderate")
PAGE = "<!doctype html>\n<html lang=en>\n<title>t</title>\n\n\n<p>  words\n"


def commands(page: Path) -> list[list[str]]:
    """Return the words of each command of adaptc in the code blocks of a page."""
    text = page.read_text("utf-8")
    fenced = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in fenced for line in block.splitlines()] + re.findall(r"^ {4}(.+)$", text, re.MULTILINE)
    parts = [part.strip() for line in lines for part in re.split(r" && | > ", line)]
    return [shlex.split(part, comments=True) for part in parts if re.match(r"adaptc [a-z]", part)]


def is_elsewhere(words: list[str]) -> bool:
    return not ELSEWHERE.keys().isdisjoint(words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in ("site/index.html", "site/news/index.html"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(PAGE)
        os.utime(tmp_path / path, (10**9, 10**9))  # what is written in the tick of a build may change in it
    (tmp_path / "SITE").symlink_to("site")
    (tmp_path / "out").symlink_to("site")
    return tmp_path


def run(folder: Path, *words: str) -> CompletedProcess[str]:
    return run_adaptc("-C", os.fspath(folder), *words)


@pytest.mark.parametrize("name", ["README.md", "docs"])
def test_commands_that_need_a_site_alone(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that use a browser where there is one do without: each has tests of its own with it."""
    monkeypatch.setenv("CHROME_PATH", "no-browser")
    pages = [page for page in PAGES if name in (page.name, page.parent.name)]
    wanted = [tuple(words[1:]) for page in pages for words in commands(page) if not is_elsewhere(words[1:])]
    assert wanted
    assert run(folder, *BUILD).returncode == 0
    for words in dict.fromkeys(wanted):
        (folder / "adaptc.toml").unlink(missing_ok=True)
        if words[0] == "export":  # whose page names the build above it
            assert run(folder, *BUILD).returncode == 0
        done = run(folder, *words)
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("word", ELSEWHERE)
def test_the_others_have_their_test(word: str) -> None:
    assert (TESTS / ELSEWHERE[word]).is_file()
    assert any(word in words for page in PAGES for words in commands(page))
