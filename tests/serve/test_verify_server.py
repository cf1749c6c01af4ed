"""``adaptc verify-server``: correct servers pass, and each kind of mistake is reported."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.sites.built import BuiltSite
from tests.sites.served import ServedSite

from adaptc.compile.engine.reporting import Silent
from adaptc.core.diagnostics import UsageError
from adaptc.serve.emitter import emit
from adaptc.serve.servers import server_named
from adaptc.serve.verify.verification import Extent, Tally, verify_running, verify_started

PAGE = "<!DOCTYPE html>\n<html lang=en>\n  <title>A page</title>\n  <p>" + "words  and words \n" * 200 + "</p>\n"
SHEET = "\n".join(f".class-{n}  {{  color : #11223{n % 10} ; }}" for n in range(99))
FILES = {
    "index.html": PAGE,
    "deep/index.html": PAGE.replace("words", "deep"),
    "deep/page.html": PAGE.replace("words", "page"),
    "site.css": SHEET,
    "note.bin": b"\0\1" * 20,
    "empty.txt": b"",
    "odd/a b%41${IFS}\"'\\.html": PAGE.replace("words", "odd"),
    "odd/question?.html": PAGE.replace("words", "question"),
    os.fsdecode(b"odd/latin-\xe4.html"): PAGE.replace("words", "latin"),
    "odd/line\nbreak.html": PAGE.replace("words", "broken"),
}
EVERYTHING: dict[str, Any] = {"serve__buckets": True, "serve__classes": True, "serve__reject": True}
SERVERS = ("apache", "nginx")
ALL = (*SERVERS, "caddy", "lighttpd")


@pytest.fixture(scope="module")
def site() -> Iterator[BuiltSite]:
    """A built site where a server without rights may read: pytest's own directories are closed to others."""
    root = Path(tempfile.mkdtemp(prefix="adaptc-verify-"))
    root.chmod(0o755)
    built = BuiltSite(root).write(FILES)
    built.build()
    own = built.output / "lossless" / "id" / "_adaptc"
    own.mkdir()
    (own / "0123.svg").write_text("<svg/>")
    yield built
    shutil.rmtree(root)


PROXIES = (("varnish", "apache"), ("varnish", "nginx"), ("haproxy", "apache"), ("haproxy", "nginx"))


def verify_proxy(site: BuiltSite, proxy: str, origin: str, **settings: Any) -> Tally:
    """Verify a reverse proxy with a few pages, of a site below a prefix whose levels are not the same page."""
    settings = {
        **EVERYTHING,
        "serve__reverse_proxy": proxy,
        "serve__shared_seconds": 3600,
        "serve__poor_level": "full",
        "levels__full": {"promise": "words"},
        "levels__lossless": {"promise": "words"},  # that of the site's own files
        "site__base_url": "https://example.org/the%20manual/",
        "serve__exclude": ["/odd/a b%41${IFS}\"'\\.html"],
        **settings,
    }
    extent, servers = Extent(pages=5, assets=2, race=200), (server_named(proxy), server_named(origin))
    return verify_started(site.config(**settings), servers[0], extent, Silent(), servers[1])


def verify(site: BuiltSite, server: str, race: int = 300, **settings: Any) -> Tally:
    return verify_started(site.config(**settings), server_named(server), Extent(race=race), Silent())


def messages(tally: Tally) -> set[str]:
    return {str(diagnostic) for diagnostic in tally.diagnostics}


# ---- correct servers


@pytest.mark.servers
@pytest.mark.parametrize("server", ALL)
def test_what_is_emitted_passes(site: BuiltSite, server: str) -> None:
    tally = verify(site, server)
    assert messages(tally) == set()
    assert tally.modes == ("off", "lossless", "switching", "missing")
    assert tally.requests["lossless", "GET"] > 200
    assert tally.requests["lossless", "own files"] == 1
    assert {"HEAD", "Range", "condition", "directory", "hostile", "race", "missing"} <= set(tally.groups)


@pytest.mark.servers
@pytest.mark.parametrize("server", ALL)
def test_levels_classes_and_rejection_pass(site: BuiltSite, server: str) -> None:
    tally = verify(site, server, **EVERYTHING)
    assert messages(tally) == set()
    assert tally.modes == ("off", "full", "lossless", "reject", "switching", "missing")
    assert tally.requests["full", "class"] > 100


@pytest.mark.servers
@pytest.mark.parametrize("server", ALL)
def test_answers_that_shared_caches_may_hold_pass(site: BuiltSite, server: str) -> None:
    levels = {"levels__full": {"promise": "words"}}
    tally = verify(site, server, race=0, **EVERYTHING, serve__shared_seconds=60, serve__poor_level="full", **levels)
    assert messages(tally) == set()
    assert tally.requests["full", "class"] > 100


@pytest.mark.servers
@pytest.mark.parametrize("server", [*SERVERS, "lighttpd"])
def test_origin_servers_of_varnish_pass(site: BuiltSite, server: str) -> None:
    """They send what they are asked for, and nobody else a level."""
    tally = verify(site, server, race=0, **EVERYTHING, serve__reverse_proxy="varnish", serve__shared_seconds=60)
    assert messages(tally) == set()
    assert tally.requests["full", "class"] > 100


@pytest.mark.servers
@pytest.mark.parametrize(("proxy", "origin"), PROXIES)
def test_reverse_proxies_pass(site: BuiltSite, proxy: str, origin: str) -> None:
    tally = verify_proxy(site, proxy, origin)
    assert messages(tally) == set()
    assert tally.modes == ("off", "full", "lossless", "reject", "switching", "missing")
    assert {"GET", "HEAD", "Range", "condition", "directory", "class", "hostile", "race", "missing"} <= set(
        tally.groups
    )


@pytest.mark.servers
def test_a_cache_that_mixes_levels_is_found(site: BuiltSite, tmp_path: Path) -> None:
    text = resources.files("adaptc.templates").joinpath("varnish.vcl.j2").read_text()
    (tmp_path / "varnish.vcl.j2").write_text(text.replace("hash_data(req.http.X-Adaptc-Level);", ""))
    tally = verify_proxy(site, "varnish", "nginx", serve__templates=tmp_path)
    assert any("other bytes, not lossless/br [server-body]" in line for line in messages(tally)), messages(tally)


@pytest.mark.servers
@pytest.mark.parametrize("server", SERVERS)
def test_classes_that_act_without_the_flag_pass(site: BuiltSite, server: str) -> None:
    tally = verify(site, server, race=0, **EVERYTHING, serve__classes_need_flag=False, serve__poor_level="lossless")
    assert messages(tally) == set()
    assert tally.requests["off", "class"] > 100


@pytest.mark.servers
@pytest.mark.skipif(os.geteuid() != 0, reason="without root the server runs as the user of the build")
def test_trees_that_the_server_cannot_read_are_one_mistake(site: BuiltSite) -> None:
    level = site.output / "lossless"
    level.chmod(0o700)
    try:
        with pytest.raises(UsageError, match=r"cannot read .*/lossless \(mode 0700\): chmod a\+x it"):
            verify(site, "nginx")
    finally:
        level.chmod(0o755)


@pytest.fixture(scope="module")
def strict(site: BuiltSite) -> BuiltSite:
    """The site with the times of its sources."""
    emit(site.config(serve__freshness="strict"), [])
    return site


@pytest.mark.servers
@pytest.mark.parametrize("server", SERVERS)
def test_strict_servers_pass(strict: BuiltSite, server: str) -> None:
    tally = verify(strict, server, race=0, serve__freshness="strict", serve__classes=True)
    assert messages(tally) == set()
    assert tally.requests["off", "stale"] == 90
    assert tally.requests["full", "stale"] == 100


@pytest.mark.servers
def test_a_reverse_proxy_of_a_strict_server_passes(strict: BuiltSite) -> None:
    tally = verify_proxy(strict, "varnish", "nginx", serve__freshness="strict", serve__reject=False)
    assert messages(tally) == set()
    assert tally.requests["full", "stale"] > 50


@pytest.mark.servers
@pytest.mark.parametrize(("server", "name"), [("apache", "apache-fresh.lua"), ("nginx", "nginx-fresh.js")])
def test_a_server_that_sends_what_is_stale_is_found(strict: BuiltSite, tmp_path: Path, server: str, name: str) -> None:
    text = resources.files("adaptc.templates").joinpath(f"{name}.j2").read_text()
    blind = text.replace("noted == time(r, sources .. path)", "true").replace(
        "=== noted ? '' : '1'", "=== 0 ? '1' : ''"
    )
    (tmp_path / f"{name}.j2").write_text(blind)
    tally = verify(strict, server, race=0, serve__freshness="strict", serve__templates=tmp_path)
    stale = {line for line in messages(tally) if "index.html: error: GET /index.html" in line}
    assert any("(X-Adapt: lossless/br), not original" in line for line in stale), messages(tally)


@pytest.mark.servers
def test_a_source_that_was_edited_is_expected_as_it_is(strict: BuiltSite) -> None:
    page = strict.docroot / "deep" / "page.html"
    before = page.stat()
    os.utime(page)
    try:
        assert messages(verify(strict, "nginx", race=0, serve__freshness="strict")) == set()
    finally:
        os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.servers
@pytest.mark.parametrize("server", SERVERS)
def test_a_site_below_a_prefix_passes(site: BuiltSite, server: str) -> None:
    assert messages(verify(site, server, race=0, site__base_url="https://example.org/the%20manual/")) == set()


@pytest.mark.servers
def test_a_server_with_a_page_rate_is_asked_more_slowly(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({name: FILES[name] for name in ("index.html", "deep/page.html", "site.css")})
    settings: dict[str, Any] = {"flag": False, "level": "full", "nginx_page_rate": 100}
    with ServedSite(site, "nginx", {}).start(**settings) as server:
        config = site.config(**{f"serve__{key}": value for key, value in settings.items()})
        tally = verify_running(config, f"http://127.0.0.1:{server.port}", Extent(), Silent())
    assert sum(tally.requests.values()) > 50
    assert [str(each) for each in tally.diagnostics] == []
