"""The documentation as a site: it is built without a warning, every page is in its contents, axe finds nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.servers.axe import LAPTOP, PHONE, violations
from tests.servers.browser import Browser, serving


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("documentation") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


def test_every_page_is_in_the_contents(site: Path) -> None:
    contents = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"- {page.name}\n" not in contents] == []


def test_the_first_page_leads_to_all_others_and_to_files(site: Path) -> None:
    home = (site / "index.html").read_text("utf-8")
    targets = re.findall(r'href="([^"#:]+)["#]', home)
    assert [target for target in targets if not (site / target).exists()] == []
    assert "start/" in targets
    assert (site / "examples/deploy/action/action.yml").read_bytes() == (
        ROOT / "examples/deploy/action/action.yml"
    ).read_bytes()


def test_commands_have_their_help(site: Path) -> None:
    page = (site / "commands/index.html").read_text("utf-8")
    assert page.count('<h2 id="adaptc-') > 20
    assert "--encodings [suffix|parallel|none]" in page


def test_what_axe_found_in_the_theme_is_mended(site: Path) -> None:
    page = (site / "start/index.html").read_text("utf-8")
    assert re.findall(r'role="dialog"[^>]*', page) == ['role="dialog" aria-label="Search"']
    for name in ("accessible.css", "accessible.js"):
        assert f"../assets/{name}" in page and (site / "assets" / name).is_file()
    empty = [str(each) for each in site.rglob("*.html") if re.search(r"<th[^>]*>\s*</th>", each.read_text("utf-8"))]
    assert empty == [], "a cell of a table's head says nothing"


# Pages with all that the others have: cards, tables, code, help of commands, plots. Of the longest, which take seconds,
# each is looked at one way
BOTH = ((PHONE, "light"), (LAPTOP, "dark"))
SAMPLES = {"": BOTH, "start/": BOTH, "manifest/": BOTH[:1], "commands/": BOTH[1:], "papers/": BOTH[1:]}


@pytest.mark.chromium
def test_axe_finds_nothing(site: Path, browser: Browser) -> None:
    with serving(site) as address:
        found = {
            (name, width, scheme): violations(browser, address + name, width, scheme)
            for name, views in SAMPLES.items()
            for width, scheme in views
        }
    assert {place: rules for place, rules in found.items() if rules} == {}
