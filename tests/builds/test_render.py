"""A browser cannot tell the lossless tree from the original: the example site, and two third-party sites."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.places import NEWSROOM
from tests.servers.browser import Browser, View, serving

import adaptc

# Debian packages with a site in them (installed by .ci/run), and a few pages of each
SITES = {
    "example": (NEWSROOM, ("index.html", "features/lighthouse-keeper.html", "korea/busan.html", "gallery/index.html")),
    "httrack-doc": (Path("/usr/share/httrack/html"), ("index.html", "step9_opt7.html", "options.html")),
    "htdig-doc": (Path("/usr/share/doc/htdig-doc/html"), ("contents.html", "FAQ.html", "cf_byname.html")),
}


@pytest.mark.chromium
@pytest.mark.parametrize("name", SITES)
def test_lossless_pages_look_and_behave_as_before(name: str, browser: Browser, tmp_path: Path) -> None:
    docroot, pages = SITES[name]
    if not docroot.is_dir():
        verdict = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        verdict(f"the Debian package {name} is not installed")
    adaptc.build(adaptc.load_config(None, {"docroot": docroot, "output": tmp_path / "opt", "build.effort": "fast"}))
    for page in pages:
        assert (docroot / page).exists(), page
        _same_view(browser, page, docroot, tmp_path / "opt" / "lossless" / "id")


def _same_view(browser: Browser, page: str, original: Path, tree: Path) -> None:
    before, after = _view(browser, page, original), _view(browser, page, tree)
    assert after.errors == before.errors, page
    assert after.png == before.png, f"{page} is drawn otherwise"
    assert sorted(set(map(_path, after.failed))) == sorted(set(map(_path, before.failed))), page
    assert after.requests <= before.requests, page


def _view(browser: Browser, page: str, root: Path) -> View:
    with serving(root) as base:
        return browser.view(base + page)


def _path(url: str) -> str:
    return url.split("/", 3)[3]
