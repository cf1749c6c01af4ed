"""What a server refuses, runs or moves without the trees it refuses, runs or moves with them.

The trees contain variants of every file here, protected ones too (``site.ignore_directives``): only the server's own
checks, which come before the choice of a variant, protect them.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.servers import web
from tests.servers.web import Reply, Server
from tests.sites.built import BuiltSite
from tests.sites.served import ServedSite

from adaptc.serve.emitter import emit

pytestmark = pytest.mark.servers

NAMES = ("index.html", "page.html", "note.txt", "style.css")
PAGE = "<!DOCTYPE html>\n<title>x</title>\n" + "<p>secret  words of {}</p>\n\n" * 40
SHEET = ".secret-{} { color: #ff0000; margin: 0 }\n" * 40
CREDENTIALS = "user:$apr1$x1x1x1x1$cjghRMLxBVrDwlE5zabeB0\n"
RIGHT = "Basic " + base64.b64encode(b"user:right").decode()
WRONG = "Basic " + base64.b64encode(b"user:wrong").decode()
# Requests: the method and header fields
REQUESTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("GET", {"Accept_Encoding": "br"}),
    ("GET", {}),
    ("HEAD", {"Accept_Encoding": "br"}),
    ("POST", {}),
    ("GET", {"Accept_Encoding": "br", "Authorization": RIGHT}),
    ("GET", {"Accept_Encoding": "br", "Authorization": WRONG}),
    ("GET", {"Accept_Encoding": "br", "User_Agent": "BadBot/1.0"}),
    ("GET", {"Accept_Encoding": "br", "Cookie": "member=1", "Referer": "http://elsewhere.example/"}),
)
TARGETS = (
    "/{d}/{n}",
    "/{d}/",
    "/{d}/{n}?a=b",
    "//{d}//./{n}",
    "/open/../{d}/{n}",
    "/%{e}/{n}",
    "/{d}/{n}/more",
    "/{d}",
)


def site_of(root: Path, directories: Iterable[str]) -> BuiltSite:
    files = {
        f"{directory}/{name}": (SHEET if name == "style.css" else PAGE).replace("{}", directory)
        for directory in directories
        for name in NAMES
    }
    return BuiltSite(root).write({"index.html": PAGE, "403.html": PAGE, **files})


def replies(server: Server, directories: Iterable[str]) -> Iterator[tuple[str, Reply]]:
    for directory, target, name in itertools.product(directories, TARGETS, NAMES):
        if name != NAMES[0] and "{n}" not in target:
            continue
        path = target.format(d=directory, n=name, e=f"{ord(directory[0]):02x}{directory[1:]}")
        for method, fields in REQUESTS if target == TARGETS[0] else REQUESTS[:1]:
            reply = server.get(path, method, **fields)
            place = reply.headers.get("location", "").removeprefix(f"http://127.0.0.1:{server.port}")
            yield f"{method} {path} {fields}", replace(reply, headers={**reply.headers, "location": place})


def is_secret(reply: Reply) -> bool:
    return "content-encoding" in reply.headers or b"secret" in reply.body


def differences(plain: Iterable[tuple[str, Reply]], adapted: Iterable[tuple[str, Reply]]) -> list[str]:
    found = []
    for (asked, before), (_, after) in zip(plain, adapted, strict=True):
        is_same = before.status == after.status and before.headers["location"] == after.headers["location"]
        if not is_same or ("GET" in asked and is_secret(before) != is_secret(after)):
            found.append(f"{asked}: {before.status} {after.status} {dict(after.headers)}")
    return found


def assert_protected(
    served: ServedSite, directories: Iterable[str], start: Callable[[str], AbstractContextManager[Server]], snippet: str
) -> list[tuple[str, Reply]]:
    """Compare the server with the trees and without them; return what it answers with them."""
    build: dict[str, Any] = {**served.build, "site__ignore_directives": ("all",)}
    served.site.build(**build)
    emit(served.site.config(**build, serve__flag=False), [served.kind])
    for directory in directories:
        assert (served.site.output / "lossless" / "br" / directory / "page.html").exists(), directory
    with start("") as server:
        plain = list(replies(server, directories))
    with start(snippet) as server:
        adapted = list(replies(server, directories))
    found = differences(plain, adapted)
    assert not found, "\n".join(found[:20])
    return adapted


def assert_adapts(adapted: Iterable[tuple[str, Reply]], *directories: str) -> None:
    """Check that files which nothing protects are served from the trees."""
    for directory in directories:
        chosen = [reply for asked, reply in adapted if f" /{directory}/page.html {{'Accept_Encoding': 'br'}}" in asked]
        assert chosen and all(reply.headers.get("x-adapt") == "lossless/br" for reply in chosen), directory


BASIC = 'AuthType Basic\nAuthName x\nAuthUserFile "{root}/users"\nRequire valid-user'
HTACCESS = {
    # access
    "open": "",
    "denied": "Require all denied",
    "order": "Order Deny,Allow\nDeny from all",
    "limit": "<Limit GET POST>\nRequire all denied\n</Limit>",
    "limitexcept": "<LimitExcept POST>\nDeny from all\n</LimitExcept>",
    "basic": BASIC,
    "expression": "Require expr %{{REQUEST_METHOD}} == 'HEAD'",
    "cookie": "Require expr %{{HTTP_COOKIE}} =~ /member/",
    "address": "Require not ip 127.0.0.1\nRequire all granted",
    "elsewhere": "Require ip 192.0.2.1",
    "bot": 'SetEnvIfNoCase User-Agent "badbot" bad\nOrder Allow,Deny\nAllow from all\nDeny from env=bad',
    "environment": "SetEnvIf Cookie member good\nRequire env good",
    "referer": '<If "%{{HTTP_REFERER}} =~ /elsewhere/">\nRequire all denied\n</If>',
    "satisfy": BASIC + "\nOrder Deny,Allow\nDeny from all\nSatisfy Any",
    "either": BASIC + "\nOrder Deny,Allow\nDeny from all\nAllow from 127.0.0.1\nSatisfy Any",
    "method": "Require method HEAD POST",
    "files": '<Files "page.html">\nRequire all denied\n</Files>',
    "filesmatch": '<FilesMatch "^[[:alpha:]]+\\.(txt|css)$">\nRequire all denied\n</FilesMatch>',
    "if": '<If "%{{REQUEST_URI}} =~ m#note#">\nRequire all denied\n</If>',
    "document": "Require all denied\nErrorDocument 403 /403.html",
    "forced": "Require all denied\nErrorDocument 403 /open/page.html",
    # rules of mod_rewrite and mod_alias
    "forbidden": "RewriteEngine On\nRewriteRule . - [F]",
    "gone": "RewriteEngine On\nRewriteRule page - [G]",
    "posix": "RewriteEngine On\nRewriteRule ^[[:alpha:]]+\\.[[:lower:]]{{3}}$ - [F]",
    "mainonly": "RewriteEngine On\nRewriteRule . - [F,NS]",
    "subrequest": "RewriteEngine On\nRewriteCond %{{IS_SUBREQ}} false\nRewriteRule . - [F]",
    "once": "RewriteEngine On\nRewriteCond %{{ENV:REDIRECT_STATUS}} ^$\nRewriteRule . - [F]",
    "onmethod": "RewriteEngine On\nRewriteCond %{{REQUEST_METHOD}} HEAD\nRewriteRule . - [F]",
    "moved": "RewriteEngine On\nRewriteRule ^page\\.html$ /open/page.html [R=302,L]",
    "inside": "RewriteEngine On\nRewriteRule ^page\\.html$ /denied/page.html [L]",
    "status": "RewriteEngine On\nRewriteRule ^note - [R=404]",
    "front": "RewriteEngine On\nRewriteCond %{{REQUEST_FILENAME}} !-f\nRewriteRule . /open/page.html [L]",
    "redirect": "Redirect 302 /redirect/page.html /open/page.html",
    "redirectgone": "Redirect gone /redirectgone/note.txt",
    "redirectmatch": "RedirectMatch 403 \\.css$",
    # handlers
    "handler": "SetHandler server-status",
    "cgi": "Options +ExecCGI\nAddHandler cgi-script .txt .html",
    "noexec": "Options -ExecCGI\nAddHandler cgi-script .txt .html",
    "typed": "AddType application/x-httpd-php .html",
    "action": "Action own /open/page.html\nAddHandler own .css",
    "asis": "AddHandler send-as-is .txt",
    # options, mistakes
    "nolinks": "Options -FollowSymLinks",
    "none": "Options None",
    "unknown": "NoSuchDirective on",
    "unclosed": '<Files "x">',
    "badpattern": "RewriteEngine On\nRewriteRule ( - [L]",
    "badcondition": "Require expr %{{NOSUCH",
    "owninherit": "RewriteEngine On\nRewriteOptions Inherit\nRewriteRule style - [F]",
    "engineoff": "RewriteEngine Off",
}
APACHE = (
    web.DENYING
    + """\
<Directory "{docroot}/parent">
    RewriteEngine On
    RewriteRule ^page - [F]
</Directory>
Redirect 302 /moves /open
RewriteEngine On
RewriteRule ^/ruled/.*\\.txt$ - [F]
RewriteRule ^/passed/page.html$ /denied/page.html [PT]
Alias /aliased "{root}/other"
"""
)
LATER = """
RewriteRule ^/later/.*\\.txt$ - [F]
"""
CONFIGURED = (*web.DENIED, "parent", "moves", "ruled", "passed", "aliased", "later")


def test_apache_checks_first(tmp_path: Path) -> None:
    site = site_of(tmp_path, [*HTACCESS, *CONFIGURED])
    (tmp_path / "users").write_text(CREDENTIALS)
    for name in NAMES:
        (tmp_path / "other").mkdir(exist_ok=True)
        (tmp_path / "other" / name).write_text("another file")
    served = ServedSite(site, "apache", {})
    for directory, text in HTACCESS.items():
        (site.docroot / directory / ".htaccess").write_text(text.format(root=tmp_path))
    own = APACHE.format(docroot=site.docroot, root=tmp_path)

    def start(snippet: str) -> AbstractContextManager[Server]:
        return web.apache(tmp_path / f"server{bool(snippet):d}", site.docroot, own + snippet + LATER)

    snippet = f'Include "{site.output}/serve/apache.conf"\n'
    adapted = assert_protected(served, [*HTACCESS, *CONFIGURED], start, snippet)
    assert_adapts(adapted, "open", "engineoff", "none", "nolinks", "front", "either")


# "right" by bcrypt at its lowest cost, in base64 as Caddy has it
HASH = base64.b64encode(b"$2y$04$sepuK64pqHb19jkvyur.jOsAANam/S8h0R8fBgY48rxtgEBdewdd6").decode()
CADDY = """
respond /responded/* 403
respond /told/page.html "no secret here" 410
error /error/* 403
abort /aborted/none
basicauth /basic/* {{
\tuser {hash}
}}
redir /moved/page.html /open/page.html
@bot header User-Agent BadBot*
respond @bot 403
@posted method POST
error @posted 405
rewrite /rewritten/page.html /responded/page.html
handle /handled/* {{
\terror 404
}}
handle_path /path/* {{
\troot * "{docroot}/open"
\tfile_server
}}
route /routed/* {{
\trespond /routed/page.html 403
\tfile_server
}}
root /elsewhere/* "{root}/other"
handle_errors {{
\trespond "{{err.status_code}}"
}}
"""
CADDY_DIRECTORIES = (
    *("open", "responded", "told", "error", "basic", "moved", "rewritten", "handled", "path", "routed", "elsewhere"),
    *("hidden", "named"),
)


def test_caddy_checks_first(tmp_path: Path) -> None:
    site = site_of(tmp_path, CADDY_DIRECTORIES)
    site.write({"Caddyfile": PAGE, "named/Caddyfile.txt": PAGE, "named/secret.html": PAGE})
    (tmp_path / "other/elsewhere").mkdir(parents=True)
    (tmp_path / "other/elsewhere/page.html").write_text("another file")
    own = CADDY.format(docroot=site.docroot, root=tmp_path, hash=HASH)

    def start(snippet: str) -> AbstractContextManager[Server]:
        hidden = f'hide hidden secret.html "{site.docroot}/Caddyfile"'
        return web.caddy(tmp_path / f"server{bool(snippet):d}", site.docroot, own + snippet, hidden)

    snippet = f"import {site.output}/serve/Caddyfile"
    adapted = assert_protected(ServedSite(site, "caddy", {}), CADDY_DIRECTORIES, start, snippet)
    assert_adapts(adapted, "open")
    with start(snippet) as server:
        for target in ("/Caddyfile", "/named/secret.html", "/x/../Caddyfile", "/named/%2e%2e/Caddyfile"):
            assert server.get(target, accept_encoding="br").status in (400, 404), target


LIGHTTPD = """
server.modules += ( "mod_access", "mod_auth", "mod_authn_file", "mod_redirect", "mod_rewrite", "mod_alias", "mod_cgi" )
$HTTP["url"] =~ "^/denied/" {{ url.access-deny = ( "" ) }}
$HTTP["url"] =~ "^/suffix/" {{ url.access-deny = ( ".txt", ".css" ) }}
$HTTP["url"] =~ "^/allowed/" {{ url.access-allow = ( ".txt" ) }}
$HTTP["url"] =~ "^/elsewhere/" {{ server.document-root = "{root}/other" }}
$HTTP["useragent"] =~ "^BadBot" {{ url.access-deny = ( "" ) }}
$HTTP["url"] =~ "^/moved/page" {{ url.redirect = ( "" => "/open/page.html" ) }}
$HTTP["url"] =~ "^/excluded/" {{ static-file.exclude-extensions = ( ".txt", ".html" ) }}
$HTTP["url"] =~ "^/run/" {{ cgi.assign = ( ".txt" => "/bin/false" ) }}
$HTTP["url"] =~ "^/password/" {{
    auth.backend = "htpasswd"
    auth.backend.htpasswd.userfile = "{root}/users"
    auth.require = ( "" => ( "method" => "basic", "realm" => "x", "require" => "valid-user" ) )
}}
url.rewrite-once = ( "^/rewritten/page.html$" => "/denied/page.html" )
alias.url = ( "/aliased/" => "{root}/other/elsewhere/" )
"""
LIGHTTPD_DIRECTORIES = (
    *(
        "open",
        "denied",
        "suffix",
        "allowed",
        "elsewhere",
        "moved",
        "excluded",
        "run",
        "password",
        "rewritten",
        "aliased",
    ),
)


def test_lighttpd_checks_first(tmp_path: Path) -> None:
    site = site_of(tmp_path, LIGHTTPD_DIRECTORIES)
    (tmp_path / "users").write_text(CREDENTIALS)
    (tmp_path / "other/elsewhere").mkdir(parents=True)
    (tmp_path / "other/elsewhere/page.html").write_text("another file")
    own = LIGHTTPD.format(root=tmp_path)

    def start(snippet: str) -> AbstractContextManager[Server]:
        return web.lighttpd(tmp_path / f"server{bool(snippet):d}", site.docroot, own + snippet)

    snippet = f'include "{site.output}/serve/lighttpd.conf"'
    adapted = assert_protected(ServedSite(site, "lighttpd", {}), LIGHTTPD_DIRECTORIES, start, snippet)
    assert_adapts(adapted, "open")


NGINX = """
location /denied/ {{ deny all; }}
location /password/ {{ auth_basic "x"; auth_basic_user_file "{root}/users"; }}
location /asked/ {{ auth_request /asks; }}
location = /asks {{ internal; if ($http_cookie = "") {{ return 403; }} return 204; }}
location /either/ {{ satisfy any; deny all; auth_basic "x"; auth_basic_user_file "{root}/users"; }}
location /limited/ {{ limit_except POST {{ deny all; }} }}
location /inner/ {{ internal; }}
location /returned/ {{ return 403; }}
location /moved/ {{ return 302 /open/; }}
location = /exact/page.html {{ deny all; }}
location = /exact/index.html {{ return 410; }}
location ~ ^/pattern/.*\\.(txt|css)$ {{ deny all; }}
location ^~ /first/ {{ return 404; }}
location /nested/ {{ location ~ \\.html$ {{ deny all; }} location /nested/note.txt {{ return 403; }} }}
location /elsewhere/ {{ root "{root}/other"; }}
location /aliased/ {{ alias "{root}/other/elsewhere/"; }}
location /linked/ {{ disable_symlinks on; }}
location /cgi/ {{ fastcgi_pass unix:/nonexistent; }}
rewrite ^/rewritten/page /denied/page.html;
if ($http_user_agent ~ BadBot) {{ return 403; }}
if ($request_uri ~ ^/gone/) {{ return 410; }}
"""
NGINX_DIRECTORIES = (
    *(
        "open",
        "denied",
        "password",
        "asked",
        "either",
        "limited",
        "inner",
        "returned",
        "moved",
        "exact",
        "pattern",
        "first",
    ),
    *("nested", "elsewhere", "aliased", "linked", "cgi", "rewritten", "gone"),
)


def test_nginx_checks_first(tmp_path: Path) -> None:
    site = site_of(tmp_path, NGINX_DIRECTORIES)
    (tmp_path / "users").write_text(CREDENTIALS)
    (tmp_path / "other/elsewhere").mkdir(parents=True)
    (tmp_path / "other/elsewhere/page.html").write_text("another file")
    own, conf = NGINX.format(root=tmp_path), site.output / "serve"

    def start(snippet: str) -> AbstractContextManager[Server]:
        http = f'include "{conf}/nginx-http.conf";' if snippet else ""
        return web.nginx(tmp_path / f"server{bool(snippet):d}", site.docroot, http, own + snippet)

    served, snippet = ServedSite(site, "nginx", {}), f'include "{conf}/nginx-server.conf";'
    assert_adapts(assert_protected(served, NGINX_DIRECTORIES, start, snippet), "open")


# Locations that are adapted: each includes what adaptc emits
INCLUDING = """
disable_symlinks on from=$document_root;
location / {{ {include} }}
location /denied/ {{ deny all; {include} }}
location /password/ {{ auth_basic "x"; auth_basic_user_file "{root}/users"; {include} }}
location /asked/ {{ auth_request /asks; {include} }}
location = /asks {{ internal; if ($http_cookie = "") {{ return 403; }} return 204; }}
location /either/ {{ satisfy any; deny all; auth_basic "x"; auth_basic_user_file "{root}/users"; {include} }}
location /limited/ {{ limit_except POST {{ deny all; }} {include} }}
location /inner/ {{ internal; {include} }}
location /returned/ {{ if ($http_cookie = "") {{ return 403; }} {include} }}
location /missing/ {{ if ($http_cookie = "") {{ return 404; }} {include} }}
location /moved/ {{ rewrite page /open/page.html redirect; {include} }}
location /nested/ {{ {include} location ~ \\.html$ {{ deny all; }} }}
"""
INCLUDING_DIRECTORIES = (
    *("open", "denied", "password", "asked", "either", "limited", "inner", "returned", "missing", "moved", "nested"),
    *("linked", "links"),
)


@pytest.mark.parametrize("denies", ["", "deny all;", 'auth_basic "x"; auth_basic_user_file "{root}/users";'])
def test_nginx_checks_first_in_locations_of_the_site(tmp_path: Path, denies: str) -> None:
    site = site_of(tmp_path, INCLUDING_DIRECTORIES)
    (tmp_path / "users").write_text(CREDENTIALS)
    for name in ("page.html", "index.html"):
        (site.docroot / "linked" / name).unlink()
        (site.docroot / "linked" / name).symlink_to(f"../open/{name}")
    conf = site.output / "serve"

    def start(snippet: str) -> AbstractContextManager[Server]:
        own = denies.format(root=tmp_path) + INCLUDING.format(root=tmp_path, include=snippet)
        inside = f'{own}\ninclude "{conf}/nginx-server.conf";' if snippet else own
        http = f'include "{conf}/nginx-http.conf";' if snippet else ""
        return web.nginx(tmp_path / f"server{bool(snippet):d}", site.docroot, http, inside)

    served, snippet = (
        ServedSite(site, "nginx", {"serve__nginx_location": False}),
        f'include "{conf}/nginx-location.conf";',
    )
    adapted = assert_protected(served, INCLUDING_DIRECTORIES, start, snippet)
    if not denies:
        assert_adapts(adapted, "open")


# What the docroot's own file has between the two parts of adaptc
DOCROOT = """
RewriteRule ^ruled/.*\\.txt$ - [F]
RewriteRule ^left/page - [G]
RewriteRule ^away/page /open/page.html [R=302,L]
RewriteRule ^within/page\\.html$ /denied/page.html [L]
Redirect gone /aliased/page.html
<If "%{REQUEST_URI} =~ m#^/iffed/#">
Require all denied
</If>
<Files "secret.html">
Require all denied
</Files>
AddHandler cgi-script .run
"""
DOCROOT_DIRECTORIES = ("ruled", "left", "away", "within", "aliased", "iffed", "own")


def test_apache_checks_first_with_htaccess(tmp_path: Path) -> None:
    site = site_of(tmp_path, [*HTACCESS, *DOCROOT_DIRECTORIES])
    (tmp_path / "users").write_text(CREDENTIALS)
    (site.docroot / ".adaptc-trees").symlink_to(site.output)
    served, file = ServedSite(site, "htaccess", {}), site.docroot / ".htaccess"
    for directory, text in HTACCESS.items():
        (site.docroot / directory / ".htaccess").write_text(text.format(root=tmp_path))
    inside = f'<Directory "{site.output}">\nRequire all granted\n</Directory>'

    def start(snippet: str) -> AbstractContextManager[Server]:
        first, second = (site.output / snippet).read_text().split("# adaptc: end\n")[:2] if snippet else ("", "")
        file.write_text(f"{first}\nRewriteEngine On\n{DOCROOT}\n{second}")
        return web.apache(tmp_path / f"server{bool(snippet):d}", site.docroot, inside)

    adapted = assert_protected(served, [*HTACCESS, *DOCROOT_DIRECTORIES], start, "serve/htaccess")
    assert_adapts(adapted, "open", "own", "either")
