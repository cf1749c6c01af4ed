"""No answer loses a header field that the site's own server sends: HSTS, policies, and any other."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.servers import web
from tests.servers.web import Reply
from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite

from adaptc.cli.main import run
from adaptc.compile.engine.reporting import Silent
from adaptc.serve.servers import server_named
from adaptc.serve.verify.verification import Extent, verify_started
from adaptc.site import host_files

PAGE = "<!DOCTYPE html>\n<html lang=en>\n  <title>A page</title>\n  <p>" + "words  and words \n" * 200 + "</p>\n"
FILES = {
    "index.html": PAGE,
    "news/index.html": PAGE,
    "site.css": ".a {  color : red ; }\n" * 200,
    "note.bin": b"\0\1" * 20,
    "private/page.html": PAGE,
}
FIELDS = {
    "strict-transport-security": "max-age=63072000; includeSubDomains",
    "content-security-policy": "default-src 'self'",
    "x-frame-options": "DENY",
    "x-of-the-site": "one of its own",
}
EVERYTHING: dict[str, Any] = {"buckets": True, "classes": True, "reject": True, "nginx_file_cache": False}
PATHS = ("/", "/news/", "/site.css", "/note.bin", "/private/page.html", "/news/index.html")
# What differs between two answers of one server
OF_ONE_ANSWER = {"date", "content-length", "connection", "etag", "last-modified", "content-encoding", "accept-ranges"}


def lines(kind: str) -> str:
    if kind == "apache":
        return "".join(f'Header always set {name} "{value}"\n' for name, value in FIELDS.items())
    return "".join(f'add_header {name} "{value}" always;\n' for name, value in FIELDS.items())


def missing(plain: Reply, reply: Reply) -> dict[str, str]:
    """The fields of the plain server's answer that another one lacks, or changed; Vary may have more members."""
    kept = {name: value for name, value in plain.headers.items() if name not in {*OF_ONE_ANSWER, "vary"}}
    return {name: value for name, value in kept.items() if reply.headers.get(name) != value}


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> ServedSite:
    return ServedSite(BuiltSite(tmp_path).write(FILES), request.param, dict(POORER))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder where a server without rights may read: pytest's own directories are closed to others."""
    root = Path(tempfile.mkdtemp(prefix="adaptc-headers-"))
    root.chmod(0o755)
    yield root
    shutil.rmtree(root)


def plain(served: ServedSite, http: str, inside: str, path: str) -> Reply:
    """The answer of a server without adaptc."""
    folder = served.site.root / "plain"
    if served.kind == "apache":
        with web.apache(folder, served.site.docroot, inside) as server:
            return server.get(path)
    with web.nginx(folder, served.site.docroot, http, inside) as server:
        return server.get(path)


@pytest.mark.servers
@pytest.mark.parametrize("settings", [{}, EVERYTHING], ids=["default", "everything"])
@pytest.mark.parametrize("served", ["apache", "nginx"], indirect=True)
def test_fields_of_the_server_are_kept(served: ServedSite, settings: dict[str, Any]) -> None:
    before = {path: plain(served, "", lines(served.kind), path) for path in PATHS}
    with served.start(before=lines(served.kind), exclude=("/private/",), **settings) as server:
        for is_on in (False, True):
            served.switch(is_on)
            for path, old in before.items():
                for accepted in ("identity", "br"):
                    reply = server.get(path, accept_encoding=accepted)
                    assert missing(old, reply) == {}, (is_on, path)
                    assert reply.headers.keys() >= FIELDS.keys()
            adapted = server.get("/news/index.html", accept_encoding="br").headers
            assert adapted.get("content-encoding") == ("br" if is_on else None)
            assert ("last-modified" in adapted) != is_on
            assert "last-modified" in server.get("/private/page.html").headers
            assert server.get("/news/").headers["vary"].startswith("Accept-Encoding")
        assert server.get("/nothing").status == 404
        assert server.get("/nothing").headers.keys() >= FIELDS.keys()


# Where an administrator of Apache writes fields: in the virtual host, in .htaccess, and whether its file must be named
PLACES = {
    "conditions": (
        'Header setifempty X-B b\nHeader merge X-C "c"\n<If "%{REQUEST_URI} =~ m#^/news#">\nHeader set X-N n\n</If>',
        "",
        False,
    ),
    "location": ('<Location "/news/">\nHeader set X-N n\n</Location>', "", False),
    "files": ('<FilesMatch "[.](html|css)$">\nHeader set X-Frame-Options DENY\n</FilesMatch>', "", False),
    "htaccess": (
        "",
        "<IfModule mod_headers.c>\nHeader always set X-Frame-Options DENY\nHeader set X-B b\n</IfModule>",
        False,
    ),
    "directory": ('<Directory "DOCROOT">\nHeader set X-Frame-Options DENY\n</Directory>', "", True),
}


@pytest.mark.servers
@pytest.mark.parametrize("served", ["apache"], indirect=True)
@pytest.mark.parametrize("place", PLACES)
def test_fields_are_kept_wherever_apache_has_them(served: ServedSite, place: str) -> None:
    host, access, is_named = PLACES[place]
    host = host.replace("DOCROOT", str(served.site.docroot))
    if access:
        served.site.write({".htaccess": access + "\n"})
    before = {path: plain(served, "", host, path) for path in PATHS}
    if is_named:
        served.build["site__server_config"] = str(served.site.root / "plain/apache2.conf")
    adapted = 0
    with served.start(before=host) as server:
        for is_on in (False, True):
            served.switch(is_on)
            for path, old in before.items():
                reply = server.get(path, accept_encoding="br")
                assert missing(old, reply) == {}, (is_on, path)
                adapted += reply.headers.get("content-encoding") == "br"
    assert adapted


@pytest.mark.servers
@pytest.mark.parametrize("served", ["nginx"], indirect=True)
def test_other_locations_of_nginx_are_as_they_were(served: ServedSite) -> None:
    """Neither a location with lines of its own, nor one without any, has anything of adaptc."""
    other = 'location /private/ { add_header X-Own 1; } location = /note.bin { default_type "a/b"; }'
    before = {path: plain(served, "", lines("nginx") + other, path) for path in ("/private/page.html", "/note.bin")}
    with served.start(before=lines("nginx"), after=other) as server:
        for is_on in (False, True):
            served.switch(is_on)
            for path, old in before.items():
                new = server.get(path, accept_encoding="br")
                assert new.headers.keys() == old.headers.keys()
                assert new.body == old.body
                assert new.headers["last-modified"] == old.headers["last-modified"]
        served.switch(True)
        assert server.get("/news/index.html").headers["x-adapt"].startswith("poorer/")


@pytest.mark.servers
@pytest.mark.parametrize("served", ["nginx"], indirect=True)
def test_fields_of_the_http_block_are_repeated(served: ServedSite) -> None:
    """A server with lines of its own has none of ``http``, as nginx has it: those that the site shows are repeated."""
    file = served.site.root / "nginx.conf"
    file.write_text(web.nginx_text(served.site.root, 1, served.site.docroot, lines("nginx"), ""))
    served.build["site__server_config"] = str(file)
    before = plain(served, lines("nginx"), "", "/")
    with served.start(http=lines("nginx")) as server:
        for is_on in (False, True):
            served.switch(is_on)
            assert missing(before, server.get("/", accept_encoding="br")) == {}
    emitted = served.site.output / "serve" / "nginx-server.conf"
    assert emitted.read_text().count("strict-transport-security") == 1
    # what is emitted is no line of the server's own once it is included
    file.write_text(web.nginx_text(served.site.root, 1, served.site.docroot, lines("nginx"), f"include {emitted};"))
    served.emitted()
    assert emitted.read_text().count("strict-transport-security") == 1
    own = web.nginx_text(served.site.root, 1, served.site.docroot, lines("nginx"), "add_header X-Own 1;")
    file.write_text(own)
    served.emitted()
    assert "strict-transport-security" not in emitted.read_text()


@pytest.mark.servers
@pytest.mark.parametrize("served", ["nginx"], indirect=True)
def test_the_configuration_of_this_machine_is_read_where_it_has_the_site(
    served: ServedSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = served.site.root / "nginx.conf"
    monkeypatch.setattr(host_files, "USUAL_NGINX", file)
    (served.site.root / "security.conf").write_text(lines("nginx"))
    shared = f"include {served.site.root}/secur*.conf;"
    before = plain(served, shared, "", "/")
    file.write_text(web.nginx_text(served.site.root, 1, Path("/srv/other"), shared, ""))
    served.emitted()
    assert "strict-transport-security" not in (served.site.output / "serve/nginx-server.conf").read_text()
    file.write_text(web.nginx_text(served.site.root, 1, served.site.docroot, shared, ""))
    with served.start(http=shared) as server:
        for is_on in (False, True):
            served.switch(is_on)
            assert missing(before, server.get("/", accept_encoding="br")) == {}
    served.build.clear()  # a command knows the levels that ship
    served.site.build()
    assert run(["emit", "nginx", "-o", str(served.site.output)]) == 0
    said = f"repeats add_header lines of nginx's block http: {', '.join(FIELDS)}\n"
    assert said in capsys.readouterr().out


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["apache", "nginx"])
def test_verification_compares_every_field_of_the_site(kind: str, open_folder: Path) -> None:
    site = BuiltSite(open_folder).write(FILES)
    file = open_folder / f"{kind}.conf"
    if kind == "apache":
        file.write_text(f'<VirtualHost *:80>\nDocumentRoot "{site.docroot}"\n{lines(kind)}</VirtualHost>\n')
    else:
        file.write_text(web.nginx_text(open_folder, 1, site.docroot, "", lines(kind)))
    site.build(site__server_config=str(file))
    config = site.config(site__server_config=str(file))
    assert [str(each) for each in verify_started(config, server_named(kind), Extent(), Silent()).diagnostics] == []
    templates = open_folder / "templates"
    templates.mkdir()
    name, lost = {
        "apache": ("apache.conf.j2", "Header always unset x-of-the-site\n"),
        "nginx": ("nginx-location.conf.j2", "add_header X-Mistake 1;\n"),
    }[kind]
    (templates / name).write_text(resources.files("adaptc.templates").joinpath(name).read_text("utf-8") + lost)
    config = site.config(site__server_config=str(file), serve__templates=str(templates))
    tally = verify_started(config, server_named(kind), Extent(), Silent())
    assert any("X-Of-The-Site is none, not one of its own" in str(each) for each in tally.diagnostics)
