"""The same crawl by Debian's wget gives the same files, but for links that wget does not know."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import NEWSROOM
from tests.servers.crawl import Answer, Resource, redirect, serving
from tests.sites.crawl_case import crawl
from tests.waiting import PATIENCE

from adaptc.core import media

pytestmark = pytest.mark.wget
# wget reads neither web app manifests nor the srcset of a source element, nor the imports of modules
UNKNOWN_TO_WGET = {
    "images/icon-192.png",
    "images/icon-512.png",
    "images/photos/sunset.avif",
    "images/photos/sunset.webp",
    "gallery/sunset.jpg",
    "js/lib/harmonics.js",
}


@pytest.fixture(scope="module")
def wget() -> str:
    """Return the path of wget; without it, skip the test, but fail it in continuous integration."""
    path = shutil.which("wget")
    if path is None:
        verdict = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        verdict("wget is not installed")
    return path


def newsroom() -> dict[str, Resource]:
    site: dict[str, Resource] = {}
    for file in sorted(NEWSROOM.rglob("*")):
        if file.is_file():
            name = file.relative_to(NEWSROOM).as_posix()
            answer = Answer(file.read_bytes(), type=media.by_name(name))
            site[f"/{name}"] = answer
            if file.name == "index.html":
                site[f"/{name.removesuffix('index.html')}"] = answer
    return site


def by_wget(wget: str, output: Path, options: str, urls: list[str]) -> dict[str, bytes]:
    command = [wget, "-q", "-r", "-P", str(output), "--no-config", *options.split(), *urls]
    subprocess.run(command, check=False, timeout=PATIENCE, env={"PATH": os.environ["PATH"], "HOME": str(output.parent)})
    return files_of(output)


def files_of(output: Path) -> dict[str, bytes]:
    found = (one for one in output.rglob("*") if one.is_file() and ".adaptc" not in one.parts)
    return {one.relative_to(output).as_posix(): one.read_bytes() for one in found}


NEWSROOM_OPTIONS = [
    "-l inf",
    "-l 1",
    "-l 2",
    "-l 1 -p",
    "-l inf -np",
    "-l inf -nH",
    "-l inf -A html",
    "-l inf -R png,svg,jpg",
    "-l inf -I /features,/images",
    "-l inf -X /images,/css",
    "-l inf --reject-regex archive",
    "-l inf --accept-regex html$|/$",
    "-l inf --follow-tags=a",
    "-l inf --ignore-tags=img,link",
    "-l inf -L",
    "-l inf --protocol-directories",
    "-l inf --default-page=start.html",
]


@pytest.mark.parametrize("options", NEWSROOM_OPTIONS)
def test_the_example_site(options: str, wget: str, tmp_path: Path) -> None:
    with serving(newsroom()) as server:
        expected = by_wget(wget, tmp_path / "w", options, [f"{server.base}/"])
        crawl(server, tmp_path / "a", options)
        found = files_of(tmp_path / "a")
    more = {name for name in found.keys() - expected.keys() if not name.endswith(tuple(UNKNOWN_TO_WGET))}
    assert more == set()
    assert {name: found.get(name) for name in expected} == expected


SMALL: dict[str, Resource] = {
    "/": '<a href="a?x=1">1</a><a href="a?x=2">2</a><a href="d/">d</a><a href="old">o</a><a href="p.php">p</a>'
    '<a href="%7Eu/b%20c.html">u</a><a href="e%2Ff.html">e</a><link rel=stylesheet href="s">',
    "/a?x=1": "1",
    "/a?x=2": "2",
    "/d/": '<a href="../">up</a><a href="x.html#top">x</a><img src="/i.png">',
    "/d/x.html": "x",
    "/old": redirect("/d/new.html"),
    "/d/new.html": "new",
    "/p.php": Answer("<p>page", type="text/html"),
    "/~u/b%20c.html": "u",
    "/%7Eu/b%20c.html": "u",
    "/e%2Ff.html": "e",
    "/s": Answer("a{background:url(i.png)}", type="text/css"),
    "/i.png": b"png",
}
SMALL_OPTIONS = [
    "",
    "-E",
    "-nH",
    "-nd",
    "-E -nH",
    "--restrict-file-names=windows",
    "--restrict-file-names=lowercase",
    "--restrict-file-names=ascii",
    "--trust-server-names",
    "--max-redirect=0",
    "-R i.png",
    "-A html",
    "-A html,png",
    "-np",
    "--delete-after",
]


@pytest.mark.parametrize("options", SMALL_OPTIONS)
def test_names(options: str, wget: str, tmp_path: Path) -> None:
    with serving(SMALL) as server:
        expected = by_wget(wget, tmp_path / "w", options, [f"{server.base}/"])
        crawl(server, tmp_path / "a", options)
    assert files_of(tmp_path / "a") == expected


@pytest.mark.parametrize(
    ("site", "options", "code"),
    [
        ({"/": "x"}, "", 0),
        ({"/": '<a href="gone">g</a>'}, "", 8),
        ({}, "", 8),
        ({"/": redirect("/")}, "", 8),
        ({"/": Answer("", 401, (("WWW-Authenticate", 'Basic realm="r"'),))}, "", 6),
        ({"/": Answer(raw=b"")}, "-t 1", 4),
        ({"/": "x"}, "--no-such-option", 2),
    ],
)
def test_exit_codes(site: dict[str, Resource], options: str, code: int, wget: str, tmp_path: Path) -> None:
    with serving(site) as server:
        command = [wget, "-q", "-r", "-P", str(tmp_path / "w"), *options.split(), f"{server.base}/"]
        by = subprocess.run(command, check=False, timeout=PATIENCE, capture_output=True).returncode
        ours = crawl(server, tmp_path / "a", options).code
    assert (by, ours) == (code, code)
