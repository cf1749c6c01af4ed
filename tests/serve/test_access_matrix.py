"""Access rules, handlers, redirects and headers in combination: with the trees, servers answer as without them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.servers import web
from tests.servers.web import Reply, Server
from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite

NAMES = ("index.html", "page.html", "note.txt", "style.css", "Big.HTML")
TEXT = "<!DOCTYPE html>\n<title>x</title>\n" + "<p>secret  words of {}</p>\n\n" * 40
PLAIN = ("open", "open/deep")  # directories without rules

# What a path is also written as; ``{d}`` is the directory, ``{n}`` the name of a file
VARIANTS = (
    "/{d}/{n}",
    "/{d}/",
    "/{d}",
    "/{d}/{n}?a=b",
    "/%2e/{d}/{n}",
    "//{d}//{n}",
    "/{d}/./{n}",
    "/{d}/x/../{n}",
    "/open/../{d}/{n}",
    "/{d}/%2e%2e/{d}/{n}",
    "/{d}/{n}.",
    "/{d}/{n}/",
    "/{d}/{n}/more",
    "/{d}/{n}%00",
    "/{d}/{n}%20",
    "/{d}%2f{n}",
    "/{d}/{n};a",
    "/{u}/{n}",
    "/{d}/{e}",
    "/{d}/{n}.br",
    "/{d}/.htaccess",
    "/{d}/{N}",
    "/{d}/{n}::$DATA",
    "/{d}%5c{n}",
)
REQUESTS = (
    {},
    {"Accept_Encoding": "br"},
    {"Accept_Encoding": "gzip, zstd;q=0.5"},
    {"X_Server_Actions": ".poorer", "Accept_Encoding": "br"},
    {"X_Server_Actions": ".full"},
    {"X_Server_Actions": "none"},
    {"Save_Data": "on", "Accept_Encoding": "br"},
    {"Range": "bytes=0-9", "Accept_Encoding": "br"},
    {"Range": "bytes=999999-", "Accept_Encoding": "br"},
    {"If_Modified_Since": "Sun, 01 Jan 2090 00:00:00 GMT"},
    {"If_None_Match": "*", "Accept_Encoding": "br"},
    {"If_Match": '"x"', "Accept_Encoding": "br"},
    {"Accept": "image/webp,*/*", "Accept_Encoding": "br"},
    {"Cookie": "member=1", "Accept_Encoding": "br"},
)
FIELDS = ("location", "www-authenticate", "x-own", "content-disposition", "allow")
SENT = (200, 206, 304, 412, 416)  # what conditions and ranges make of a file that is sent


@dataclass(frozen=True)
class Question:
    """A request, and whether it is one with HEAD."""

    target: str
    fields: tuple[tuple[str, str], ...]
    method: str

    def put(self, server: Server) -> Reply:
        reply = server.get(self.target, self.method, **dict(self.fields))
        place = reply.headers.get("location", "").removeprefix(f"http://127.0.0.1:{server.port}")
        return replace(reply, headers={**reply.headers, "location": place})


def questions(directories: Iterable[str], count: int, seed: int) -> list[Question]:
    """Return requests for every variant of every file, each with other fields; ``count`` of them by lot."""
    chosen, every = random.Random(seed), []
    fields = itertools.cycle(REQUESTS)
    for directory, name, variant in itertools.product(directories, NAMES, VARIANTS):
        escaped = f"%{ord(name[0]):02x}{name[1:]}"
        target = variant.format(d=directory, n=name, u=directory.upper(), e=escaped, N=name.upper())
        every.append(Question(target, tuple(next(fields).items()), "HEAD" if chosen.random() < 0.1 else "GET"))
    return chosen.sample(every, min(count, len(every)))


def site_of(root: Path, directories: Iterable[str]) -> BuiltSite:
    files = {f"{directory}/{name}": TEXT.replace("{}", directory) for directory in directories for name in NAMES}
    return BuiltSite(root).write({"index.html": TEXT, **files})


def differences(asked: list[Question], plain: list[Reply], adapted: list[Reply]) -> Iterator[str]:
    for question, before, after in zip(asked, plain, adapted, strict=True):
        if before.status not in SENT or after.status not in SENT:
            is_same = before.status == after.status and (b"secret" in before.body) == (b"secret" in after.body)
        else:
            is_same = before.headers.get("content-type") == after.headers.get("content-type") or after.status > 206
        fields = [name for name in FIELDS if before.headers.get(name) != after.headers.get(name)]
        if not is_same or (fields and after.status not in (304, 412, 416)):
            yield f"{question}: {before.status} {after.status} {fields} {dict(after.headers)}"


NGINX = """
location /denied/ { deny all; }
location /allowed/ { allow 127.0.0.1; deny all; }
location /password/ { auth_basic "x"; auth_basic_user_file /dev/null; }
location /moved/ { return 301 /open/; }
location /inner/ { internal; }
location = /exact/index.html { deny all; }
location = /exact/page.html { return 403; }
location ~ ^/pattern/.*\\.txt$ { deny all; }
location ~* ^/folded/.*\\.html$ { deny all; }
location ^~ /typed/ { types { } default_type application/x-own; }
location /labelled/ { add_header X-Own yes always; }
location /attached/ { add_header Content-Disposition attachment; }
location /limited/ { limit_except GET { deny all; } if ($http_cookie !~ member) { return 403; } }
location /nested/ { location ~ \\.html$ { deny all; } }
location ~ /\\.ht { deny all; }
rewrite ^/rewritten/(.*)\\.txt$ /denied/$1.txt last;
rewrite ^/gone/ /open/ permanent;
if ($request_uri ~ "^/asked/") { return 410; }
"""
NGINX_DIRECTORIES = (
    "denied",
    "allowed",
    "password",
    "moved",
    "inner",
    "exact",
    "pattern",
    "folded",
    "typed",
    "labelled",
    "attached",
    "limited",
    "nested",
    "rewritten",
    "gone",
    "asked",
)


@pytest.mark.servers
def test_nginx_answers_as_without_trees(tmp_path: Path) -> None:
    site = site_of(tmp_path, [*NGINX_DIRECTORIES, *PLAIN])
    served = ServedSite(site, "nginx", POORER)
    asked = questions([*NGINX_DIRECTORIES, *PLAIN], 900, 1)
    with web.nginx(tmp_path / "plain", site.docroot, "", NGINX) as server:
        plain = [question.put(server) for question in asked]
    with served.start(before=NGINX, flag=False, classes=True) as server:
        adapted = [question.put(server) for question in asked]
    found = list(differences(asked, plain, adapted))
    assert not found, "\n".join(found)
    assert sum("x-adapt" in reply.headers for reply in adapted) > 40


# Rules of .htaccess files; each directory has one or two
RULES = {
    "cgi": "AddHandler cgi-script .txt\nOptions +ExecCGI",
    "handler": '<FilesMatch "\\.css$">\nSetHandler server-status\n</FilesMatch>',
    "denied": "Require all denied",
    "files": '<Files "page*">\nRequire all denied\n</Files>',
    "index": '<Files "index.html">\nRequire all denied\n</Files>',
    "password": "AuthType Basic\nAuthName x\nAuthUserFile /dev/null\nRequire valid-user",
    "address": "Require ip 10.0.0.0/8",
    "limited": "<LimitExcept GET>\nRequire all denied\n</LimitExcept>",
    "forbidden": "RewriteEngine On\nRewriteRule \\.txt$ - [F]",
    "condition": "RewriteEngine On\nRewriteCond %{HTTP_COOKIE} !member\nRewriteRule ^ - [F]",
    "rewritten": "RewriteEngine On\nRewriteRule ^note\\.txt$ page.html [L]",
    "redirect": "RedirectMatch 301 ^(.*)/page\\.html$ /open/page.html",
    "gone": "RedirectMatch gone /style\\.css$",
    "typed": "ForceType application/x-own",
    "type": "AddType application/x-own .css",
    "labelled": "Header set X-Own yes",
    "attached": '<FilesMatch "\\.(txt|HTML)$">\nHeader set Content-Disposition attachment\n</FilesMatch>',
    "started": "DirectoryIndex page.html",
    "if": '<If "%{HTTP_COOKIE} !~ /member/">\nRequire all denied\n</If>',
    "plain": "Options -Indexes",
    "front": "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\n"
    "RewriteRule . /index.php [L]",
}
APACHE = (
    web.DENYING
    + """\
<Directory "{docroot}">
    <Files "note.txt">
        Header set X-Own note
    </Files>
</Directory>
Redirect /moved /open
RewriteEngine On
RewriteRule ^/ruled/.*\\.txt$ - [F]
Alias /alias {docroot}/open
"""
)
CONFIGURED = (*web.DENIED, "moved", "ruled", "alias")


def combinations(count: int) -> dict[str, str]:
    """Return .htaccess files by directory: each rule alone, and pairs by lot."""
    pairs = random.Random(2).sample(list(itertools.combinations(RULES, 2)), count)
    return {**RULES, **{f"{one}-{two}": f"{RULES[one]}\n{RULES[two]}" for one, two in pairs}}


@pytest.mark.servers
@pytest.mark.parametrize("is_strict", [False, True], ids=["watched", "strict"])
def test_apache_answers_as_without_trees(tmp_path: Path, is_strict: bool) -> None:
    rules = combinations(25)
    site = site_of(tmp_path, [*rules, *CONFIGURED, *PLAIN])
    for directory, text in rules.items():
        (site.docroot / directory / ".htaccess").write_text(text)
    own, configuration = APACHE.format(docroot=site.docroot), tmp_path / "own.conf"
    configuration.write_text(f'<VirtualHost *:80>\nDocumentRoot "{site.docroot}"\n{own}</VirtualHost>\n')
    freshness = "strict" if is_strict else "watched"
    served = ServedSite(site, "apache", {**POORER, "site__server_config": configuration, "serve__freshness": freshness})
    asked = questions([*rules, *CONFIGURED, *PLAIN], 1200, 3 + is_strict)
    with web.apache(tmp_path / "plain", site.docroot, own) as server:
        plain = [question.put(server) for question in asked]
    with served.start(before=own, flag=False, classes=True) as server:
        adapted = [question.put(server) for question in asked]
    found = list(differences(asked, plain, adapted))
    assert not found, "\n".join(found)
    assert sum("x-adapt" in reply.headers for reply in adapted) > 20
