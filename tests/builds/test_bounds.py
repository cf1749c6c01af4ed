"""What not everybody may read: no page, bundle, dictionary, copy, export or publication holds a byte of it."""

from __future__ import annotations

import base64
import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.samples.drawn import encoded, photo_file
from tests.sites.built import BuiltSite, decoded, files_below

import adaptc
from adaptc.compile.engine.reporting import Silent
from adaptc.compile.engine.state.state import State, state_path
from adaptc.core.diagnostics import UsageError
from adaptc.report.manifest import last_manifest
from adaptc.workflow.export.export import export_site
from adaptc.workflow.publish.publish import publish_site

LEVELS = ("full", "lossless", "moderate", "extreme", "text", "bundle")
SECRET = "s3cr3t"
DOT = encoded(Image.new("RGB", (8, 8), (200, 10, 10)))
SHEET = f".{SECRET}{{color:red;background:url(dot.png)}}"
SCRIPT = f"document.title='{SECRET}'"
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>
<link rel="stylesheet" href="/{0}/style.css"><script src="/{0}/script.js"></script>
<style>@import "/{0}/style.css"; p{{background:url(/{0}/dot.png)}}</style></head>
<body class="{1}"><p>Words <img src="/{0}/dot.png" alt="a dot"> <a href="/{0}/page.html">in</a></p></body></html>"""


def private_files(folder: str = "private") -> dict[str, str | bytes]:
    return {
        f"{folder}/style.css": SHEET,
        f"{folder}/script.js": SCRIPT,
        f"{folder}/dot.png": DOT,
        f"{folder}/page.html": PAGE.format(folder, SECRET),
    }


def held(site: BuiltSite, *folders: str) -> Iterator[str]:
    """Yield the files of the trees, outside of ``folders``, that hold a byte of what is private."""
    image = base64.b64encode(DOT)[:40]
    for path, content in site.trees().items():
        inner = path.split("/", 2)[-1]
        if path.count("/") < 2 or path.startswith(".") or inner.startswith(tuple(f"{each}/" for each in folders)):
            continue
        text = decoded(path, content) if path.split("/")[1] in ("id", "gz", "br", "zst") else content
        if SECRET.encode() in text or image in text or DOT in text:
            yield path


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write({"index.html": PAGE.format("private", ""), **private_files()})


# ---- bounds


def apache(site: BuiltSite, directives: str) -> dict[str, Any]:
    file = site.root / "apache2.conf"
    file.write_text(directives)
    return {"site__server_config": file}


def nginx(site: BuiltSite, locations: str) -> dict[str, Any]:
    (site.root / "conf.d").mkdir(exist_ok=True)
    (site.root / "conf.d/site.conf").write_text(
        f"server {{ # one\n  location / {{ index index.html; }}\n{locations}\n}}\n"
    )
    file = site.root / "nginx.conf"
    file.write_text("events { }\nhttp { include conf.d/*.conf; }\n")
    return {"site__server_config": file}


BOUNDS = {
    "serve.exclude": lambda site: {"serve__exclude": ("/private",)},
    "Location": lambda site: apache(site, "<Location /private>\nRequire valid-user\n</Location>\n"),
    "Location, something unknown": lambda site: apache(site, "<Location /private>\nFrobnicate on\n</Location>\n"),
    "LocationMatch": lambda site: apache(site, "<LocationMatch ^/priv>\nAuthType Basic\n</LocationMatch>\n"),
    "nginx location": lambda site: nginx(site, 'location /private/ { auth_basic "in"; }'),
    "nginx location by a regular expression": lambda site: nginx(site, "location ~ ^/private/ { deny all; }"),
    "nginx location with a condition": lambda site: nginx(site, "location /private { if ($x) { return 403; } }"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_page_holds_nothing_of_what_is_bounded(site: BuiltSite, name: str) -> None:
    result = site.build(build__levels=LEVELS, codings__dictionaries=True, **BOUNDS[name](site))
    assert list(held(site, "private")) == []
    assert b'href="/private/style.css"' in site.read("index.html")
    assert not {each.id for each in result.diagnostics} & {"missing-target", "not-built", "pass-failed"}


def test_without_a_bound_the_same_page_embeds_them(site: BuiltSite) -> None:
    site.build(build__levels=LEVELS)
    assert list(held(site, "private"))


def test_the_reason_is_an_action(site: BuiltSite) -> None:
    site.build(build__levels=LEVELS, serve__exclude=("/private",))
    with contextlib.closing(State(state_path(site.output), read_only=True)) as state:
        actions = [action for result in state.results("index.html", notes=True) for action in result.actions]
    reasons = {action.subject: action.reason for action in actions if "serve.exclude" in action.reason}
    assert set(reasons) == {"private/style.css", "private/script.js", "private/dot.png"}
    assert "/private (serve.exclude), which not everybody may read" in reasons["private/style.css"]


def test_a_page_inside_the_bound_may_embed_what_is_in_it(site: BuiltSite) -> None:
    site.build(build__levels=LEVELS, serve__exclude=("/private",))
    assert SECRET.encode() in site.read("private/page.html", "bundle")
    assert b"<link" not in site.read("private/page.html", "bundle")


def test_copies_of_bounded_images_would_not_be_bounded(site: BuiltSite) -> None:
    site.write({"private/photo.jpg": photo_file()})
    site.write({"private/page.html": '<!DOCTYPE html><title>x</title><p><img src="photo.jpg" alt="">'})
    site.build(build__levels=("full", "halfres"), serve__exclude=("/private",))
    assert not [path for path in site.trees() if "/_adaptc/" in path]
    site.build(build__levels=("full", "halfres"))
    assert [path for path in site.trees() if "/_adaptc/" in path]


@pytest.mark.parametrize("order", ["closed", "opened"])
def test_a_bound_that_changes_makes_pages_outdated(site: BuiltSite, order: str) -> None:
    settings = [{}, {"serve__exclude": ("/private",)}]
    for each in settings if order == "closed" else reversed(settings):
        site.build(build__levels=LEVELS, **each)
    assert bool(list(held(site, "private"))) == (order == "opened")


def test_an_open_location_in_a_closed_one_is_not_inside(site: BuiltSite) -> None:
    site.write({"private/open/index.html": PAGE.format("private", "")})
    rules = (
        "<Location /private>\nRequire valid-user\n</Location>\n"
        "<Location /private/open>\nRequire all granted\n</Location>\n"
    )
    site.build(build__levels=LEVELS, **apache(site, rules))
    assert SECRET.encode() not in site.read("private/open/index.html", "bundle")


def test_locations_that_let_everybody_in_bound_nothing(site: BuiltSite) -> None:
    rules = "<Location /private>\nRequire all granted\nHeader set X-A b\n</Location>\n"
    site.build(build__levels=LEVELS, **apache(site, rules))
    assert list(held(site, "private"))


# ---- restricted files


def test_references_to_restricted_files_stay_and_are_not_missing(site: BuiltSite) -> None:
    site.write({"private/.htaccess": "Require all denied\n"})
    result = site.build(build__levels=LEVELS)
    assert list(held(site)) == []
    assert {each.id for each in result.diagnostics} >= {"server-rule"}
    assert "missing-target" not in {each.id for each in result.diagnostics}
    for level in LEVELS[:2]:
        assert b'src="/private/script.js"' in site.read("index.html", level)
        assert re.search(rb'@import ?"/private/style.css"', site.read("index.html", level))


def test_a_restriction_that_comes_later(site: BuiltSite) -> None:
    site.build(build__levels=LEVELS)
    assert list(held(site))
    site.write({"private/.htaccess": "Require all denied\n"})
    site.build(build__levels=LEVELS)
    assert list(held(site)) == []
    other = site.clean()
    other.build(build__levels=LEVELS)
    assert {path for path in other.trees() if "/" in path} == {path for path in site.trees() if "/" in path}
    assert all(site.trees()[path] == content for path, content in other.trees().items() if path.count("/") > 1)


def test_a_missing_file_that_appears_restricted(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({"index.html": PAGE.format("private", ""), "a.txt": "words"})
    assert "missing-target" in {each.id for each in site.build(build__levels=LEVELS).diagnostics}
    site.write({**private_files(), "private/.htaccess": "Require all denied\n"})
    assert site.built(build__levels=LEVELS)["bundle/index.html"] == "DecisionChanged"


# ---- a site that goes private


@pytest.mark.parametrize("how", ["rule", "mode"])
def test_a_site_that_goes_private_withdraws_every_page(site: BuiltSite, how: str) -> None:
    site.build()
    assert (site.output / "lossless/id/index.html").exists()
    if how == "rule":
        site.write({".htaccess": "# all of it\nRequire all denied\n"})
    else:
        site.write({"open.txt": "words"})
        for path in ("index.html", "private/page.html"):
            (site.docroot / path).chmod(0o600)
    with pytest.raises(UsageError) as caught:
        adaptc.build(site.config(), isolated=False, requires_pages=True)
    assert (".htaccess:2" if how == "rule" else "closed-mode") in str(caught.value)
    assert "is removed" in str(caught.value)
    assert not [path for path in site.trees() if path.endswith(".html") and path.count("/") > 1]
    with pytest.raises(UsageError, match="nothing was built"):  # again: there is nothing left to remove
        adaptc.build(site.config(), isolated=False, requires_pages=True)


def test_a_generator_that_fails_removes_nothing(site: BuiltSite) -> None:
    site.write({"admin/page.html": "<p>x", "admin/.htaccess": "Require all denied\n"})
    site.build()
    before = site.trees()
    for path in ("index.html", "private/page.html"):
        site.remove(path)
    with pytest.raises(UsageError, match="nothing removed"):
        adaptc.build(site.config(), isolated=False, requires_pages=True)
    assert site.trees() == before


# ---- a site of a hundred restricted files

KINDS = 10


def hundred(site: BuiltSite) -> dict[str, Any]:
    """Write ten files of each of ten kinds of restricted files, and a public page that refers to all of them."""
    names = []
    for number in range(KINDS):
        names += [
            f"rule/{number}.html", f"files{number}.css", f"mode{number}.css", f"closed/{number}.js", f"run{number}.pl",
            f"CGI-BIN/{number}.html", f"a{number}.html~", f"members/{number}.css", f"located/{number}.js",
            f"script{number}",
        ]  # fmt: skip
    site.write({name: f"#!/bin/sh\n/* {SECRET} {name} */ a{{color:red}} {SECRET}" for name in names})
    site.write({"rule/.htaccess": "AuthType Basic\nRequire valid-user\n"})
    site.write({".htaccess": '<Files "files*">\nRequire all denied\n</Files>\n', ".env": SECRET, ".git/config": SECRET})
    for number in range(KINDS):
        (site.docroot / f"mode{number}.css").chmod(0o600)
        (site.docroot / f"script{number}").chmod(0o755)
    (site.docroot / "closed").chmod(0o700)
    links = "".join(
        f'<link rel="stylesheet" href="/{name}"><script src="/{name}"></script><img src="/{name}" alt="">'
        f'<style>@import "/{name}";</style>'
        for name in names
    )
    site.write({"index.html": f"<!DOCTYPE html><title>x</title>{links}<p>words", "a.html": f"<p>{links}"})
    return {"serve__exclude": ("/members",), **apache(site, "<Location /located>\nRequire valid-user\n</Location>\n")}


def test_no_restricted_byte_anywhere(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path)
    settings = {**hundred(site), "build__levels": LEVELS, "codings__dictionaries": True}
    site.build(**settings)
    assert list(held(site, "members", "located")) == []
    built = set(last_manifest(site.output).resources)
    assert {path for path in built if not path.startswith(("members/", "located/"))} == {"index.html", "a.html"}
    config = site.config(**settings)
    exported = export_site(config, "lossless", tmp_path / "export", "suffix", Silent())
    assert sum(each.id == "export-withheld" for each in exported.diagnostics) == 2
    assert not [
        path for path in files_below(tmp_path / "export") if SECRET.encode() in _plain(tmp_path / "export" / path)
    ]
    remote = tmp_path / "remote"
    remote.mkdir()
    publish = {"publish__url": f"file://{remote}", "publish__level": "lossless"}
    publish_site(site.config(**settings, **publish), Silent())
    assert (remote / "index.html").exists()
    assert not [path for path in files_below(remote) if SECRET.encode() in _plain(remote / path)]


def _plain(file: Path) -> bytes:
    coding = {".gz": "gz", ".br": "br", ".zst": "zst"}.get(file.suffix)
    return decoded(f"x/{coding}/y", file.read_bytes()) if coding else file.read_bytes()


def test_an_export_knows_what_became_restricted_since_the_build(site: BuiltSite) -> None:
    site.build(build__identity="changed")
    site.write({"private/.htaccess": "Require all denied\n"})
    exported = export_site(site.config(), "lossless", site.root / "export", "none", Silent())
    assert "export-withheld" in {each.id for each in exported.diagnostics}
    assert not (site.root / "export/private").exists()
    assert os.listdir(site.root / "export")
