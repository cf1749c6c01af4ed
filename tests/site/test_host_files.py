from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adaptc.config.config import Config
from adaptc.site.header_rules import CSP, NO_HOST_RULES, HostRules, PageHeaders, addresses_of
from adaptc.site.host_files import HostTypes, host_rules
from adaptc.workflow.configuration import load_config

SELF = "'self'"
PAGES = ("index.html", "about.html", "blog/index.html", "blog/post.html", "404.html", "app/index.html")


def config(**site: Any) -> Config:
    return load_config(overrides={f"site.{name}": value for name, value in site.items()})


def rules(tmp_path: Path, files: dict[str, Any], docroot: str = ".", **site: Any) -> HostRules:
    """Return the rules of files by their path, of which tables become JSON."""
    for name, content in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    (tmp_path / docroot).mkdir(exist_ok=True)
    return host_rules(config(**site), tmp_path / docroot, PAGES)


def bound(found: HostRules, field: str = CSP) -> dict[str, str]:
    """Return the pages that get a field, each with its values; pages that are sent anywhere have those of all."""
    values = {page: " | ".join(found.values(page, field)) for page in PAGES if page != "404.html"}
    return {page: text for page, text in values.items() if text}


def headers(source: str, *values: str, **other: Any) -> dict[str, Any]:
    return {
        "source": source,
        "headers": [{"key": "Content-Security-Policy", "value": value} for value in values],
        **other,
    }


def test_addresses_of_a_page() -> None:
    assert addresses_of("blog/index.html") == ("/blog/index.html", "/blog/index", "/blog/index/", "/blog/", "/blog")
    assert "/" in addresses_of("index.html") and "/about" in addresses_of("about.html")
    assert "/repo/about" in addresses_of("about.html", "/repo")


@pytest.mark.parametrize(
    ("pattern", "pages"),
    [
        ("/*", {"index.html", "about.html", "blog/index.html", "blog/post.html", "app/index.html"}),
        ("/", {"index.html"}),
        ("/index.html", {"index.html"}),
        ("/about", {"about.html"}),
        ("/blog/*", {"blog/index.html", "blog/post.html"}),
        ("/:section/post", {"blog/post.html"}),
        ("https://example.org/about", {"about.html"}),
        ("/*.html", {"index.html", "about.html", "blog/index.html", "blog/post.html", "app/index.html"}),
        ("/other/*", set()),
    ],
)
def test_headers_of_netlify_and_cloudflare(tmp_path: Path, pattern: str, pages: set[str]) -> None:
    text = f"# all\n\n{pattern}\n  X-Frame-Options: DENY\n  Content-Security-Policy: img-src 'self'\n"
    assert bound(rules(tmp_path, {"_headers": text})) == dict.fromkeys(pages, "img-src 'self'")
    table = f'[[headers]]\n  for = "{pattern}"\n  [headers.values]\n'
    toml = table + f'  Content-Security-Policy = """\n  img-src\n  {SELF}"""\n'
    assert bound(rules(tmp_path, {"_headers": "", "netlify.toml": toml})) == dict.fromkeys(pages, "img-src 'self'")


def test_all_rules_of_headers_count_but_those_that_are_detached(tmp_path: Path) -> None:
    text = (
        "/*\n  content-security-policy: a\n/blog/*\n  Content-Security-Policy: b\n/about\n  ! Content-Security-Policy\n"
    )
    found = bound(rules(tmp_path, {"_headers": text}))
    assert found == {"index.html": "a", "blog/index.html": "a | b", "blog/post.html": "a | b", "app/index.html": "a"}


@pytest.mark.parametrize(
    ("source", "pages"),
    [
        ("/(.*)", {"index.html", "about.html", "blog/index.html", "blog/post.html", "app/index.html"}),
        ("/:path*", {"index.html", "about.html", "blog/index.html", "blog/post.html", "app/index.html"}),
        ("/blog/:slug", {"blog/post.html", "blog/index.html"}),
        ("/:section(blog|news)/:slug+", {"blog/post.html", "blog/index.html"}),
        ("/((?!blog|app).*)", {"index.html", "about.html"}),
        ("/about", {"about.html"}),
        ("/:page(\\w+).html", {"index.html", "about.html"}),
    ],
)
def test_sources_of_vercel(tmp_path: Path, source: str, pages: set[str]) -> None:
    found = rules(tmp_path, {"vercel.json": {"headers": [headers(source, "img-src 'self'")]}})
    assert bound(found) == dict.fromkeys(pages, "img-src 'self'")


def test_the_last_rule_of_vercel_counts_unless_it_is_for_some_requests(tmp_path: Path) -> None:
    conditional = headers("/about", "c", has=[{"type": "header", "key": "x"}])
    found = rules(
        tmp_path, {"vercel.json": {"headers": [headers("/(.*)", "a"), headers("/blog/(.*)", "b"), conditional]}}
    )
    assert bound(found)["blog/post.html"] == "b" and bound(found)["about.html"] == "a | c"


@pytest.mark.parametrize(
    ("glob", "pages"),
    [
        ("**", {"index.html", "about.html", "blog/index.html", "blog/post.html", "app/index.html"}),
        ("/**", {"index.html", "about.html", "blog/index.html", "blog/post.html", "app/index.html"}),
        ("**/*.@(html|htm)", {"index.html", "about.html", "blog/index.html", "blog/post.html", "app/index.html"}),
        ("*.html", {"index.html", "about.html"}),
        ("/blog/**", {"blog/index.html", "blog/post.html"}),
        ("{about,index}.html", {"index.html", "about.html"}),
        ("/!(about)", {"index.html", "blog/index.html", "app/index.html", "about.html"}),
        ("/a?out.html", {"about.html"}),
    ],
)
def test_globs_of_firebase_and_serve(tmp_path: Path, glob: str, pages: set[str]) -> None:
    table = headers(glob, "img-src 'self'")
    expected = dict.fromkeys(pages, "img-src 'self'")
    assert bound(rules(tmp_path, {"firebase.json": {"hosting": {"headers": [table]}}})) == expected
    assert bound(rules(tmp_path, {"firebase.json": "", "serve.json": {"headers": [table]}})) == expected


def test_regular_expressions_of_firebase(tmp_path: Path) -> None:
    table = {"regex": "^/bl", "headers": [{"key": "Content-Security-Policy", "value": "a"}]}
    found = rules(tmp_path, {"firebase.json": {"hosting": [{"headers": [table]}, {}]}})
    assert set(bound(found)) == {"blog/index.html", "blog/post.html"}


def test_routes_of_azure(tmp_path: Path) -> None:
    values = {
        "globalHeaders": {"content-security-policy": "a"},
        "routes": [
            {"route": "/blog/*", "headers": {"Content-Security-Policy": "b"}},
            {"route": "/app/*.{html,htm}", "headers": {"Content-Security-Policy": "c"}},
        ],
        "navigationFallback": {"rewrite": "/index.html", "exclude": ["/img/*"]},
        "responseOverrides": {"404": {"rewrite": "/about.html"}},
    }
    found = rules(tmp_path, {"staticwebapp.config.json": values})
    assert found.fallbacks == {"index.html", "about.html"}
    assert bound(found)["blog/post.html"] == "b" and bound(found)["app/index.html"] == "a | c"


def test_access_files_of_apache(tmp_path: Path) -> None:
    files = {
        ".htaccess": '<IfModule mod_headers.c>\nHeader always set Content-Security-Policy "a"\n</IfModule>\n'
        "ErrorDocument 404 /404.html\n",
        "blog/.htaccess": "Header set Content-Security-Policy b\n"
        '<FilesMatch "^post">\nHeader add Content-Security-Policy c\n</FilesMatch>\n'
        "<Files *.php>\nHeader add Content-Security-Policy d\n</Files>\n",
    }
    found = rules(tmp_path, files)
    assert bound(found) == {
        "index.html": "a",
        "about.html": "a",
        "app/index.html": "a",
        "blog/index.html": "a | b",
        "blog/post.html": "a | b | c",
    }
    assert found.fallbacks == {"404.html"}


def test_the_configuration_of_a_server(tmp_path: Path) -> None:
    apache = f"""<VirtualHost *:80>
DocumentRoot {tmp_path}/other
Header set Content-Security-Policy x
</VirtualHost>
<VirtualHost *:80>
DocumentRoot {tmp_path}/site
ErrorDocument 404 /404.html
<Location /blog>
Header set Content-Security-Policy a
</Location>
<Directory {tmp_path}/site/app>
Header set Content-Security-Policy b
</Directory>
<Directory {tmp_path}/else>
Header set Content-Security-Policy c
</Directory>
</VirtualHost>
"""
    nginx = f"""http {{ server {{ root {tmp_path}/site; error_page 404 /404.html;
  location / {{ try_files $uri $uri/ /index.html; }}
  location /blog/ {{ add_header Content-Security-Policy "img-src 'self'" always; }}
  location /app/ {{ more_set_headers "Content-Security-Policy: a: b" "X-A: b"; }} }}
server {{ root {tmp_path}/other; add_header Content-Security-Policy x; }} }}
"""
    files = {"apache.conf": apache, "nginx.conf": nginx}
    found = rules(tmp_path, files, "site", server_config=str(tmp_path / "apache.conf"))
    assert bound(found) == {"blog/index.html": "a", "blog/post.html": "a", "app/index.html": "b"}
    assert found.fallbacks == {"404.html"}
    found = rules(tmp_path, files, "site", server_config=str(tmp_path / "nginx.conf"))
    assert bound(found) == {
        "index.html": "img-src 'self' | a: b",  # which is sent below both, too
        "app/index.html": "a: b",
        **dict.fromkeys(("blog/index.html", "blog/post.html"), "img-src 'self'"),
    }
    assert found.fallbacks == {"404.html", "index.html"}


@pytest.mark.parametrize(
    "files",
    [
        {"_redirects": "/old /new 301\n/* /index.html 200\n"},
        {"netlify.toml": '[[redirects]]\nfrom = "/*"\nto = "/index.html"\nstatus = 200\n'},
        {"vercel.json": {"rewrites": [{"source": "/(.*)", "destination": "/index.html"}]}},
        {"vercel.json": {"rewrites": [{"source": "/:path*", "destination": "/"}]}},
        {"firebase.json": {"hosting": {"rewrites": [{"source": "**", "destination": "/index.html"}]}}},
        {"serve.json": {"rewrites": [{"source": "**", "destination": "/index.html"}]}},
        {".htaccess": "FallbackResource /index.html\n"},
        {".htaccess": "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ index.html [L]\n"},
        {"_redirects": "/user/:id /index.html 200!\n"},
        {"netlify.toml": '[[redirects]]\nfrom = "/user/:id"\nto = "/"\nstatus = "200"\n'},
        {"vercel.json": {"routes": [{"handle": "filesystem"}, {"src": "/[^.]+", "dest": "/index.html"}]}},
        {"vercel.json": {"rewrites": {"fallback": [{"source": "/user/:id", "destination": "/index.html"}]}}},
        {"now.json": {"rewrites": [{"source": "/user/:id", "destination": "/index.html"}]}},
        {"firebase.json": {"hosting": [{"rewrites": [{"source": "/@(a|b)", "destination": "/index.html"}]}]}},
        {"superstatic.json": {"rewrites": [{"source": "/user/:id", "destination": "/index.html"}]}},
        {"staticwebapp.config.json": {"responseOverrides": {"404": {"rewrite": "/index.html"}}}},
        {".htaccess": "RewriteRule !\\.css$ /index.html [QSA,L]\nRewriteRule a /about.html [L,R=301]\n"},
        {".htaccess": "RewriteRule ^[^.]*$ %{DOCUMENT_ROOT}/index.html?path=$0 [L]\n"},
        {"web.config": '<error statusCode="404" path="/index.html"/>'},
        {"static.json": {"routes": {"/**": "index.html"}}},
        {"render.yaml": "routes:\n- type: rewrite\n  destination: /index.html\n"},
        {"Caddyfile": "try_files {path} /index.html\n"},
        {"wrangler.toml": '[assets]\nnot_found_handling = "single-page-application"\n'},
        {"sw.js": "fetch(r).catch(() => caches.match('/index.html'))"},
        {"sw.js": 'registerRoute(new NavigationRoute(createHandlerBoundToURL("index.html")))'},
        {"ngsw.json": {"index": "/index.html", "assetGroups": [{"urls": ["/about.html"]}]}},
    ],
)
def test_fallbacks(tmp_path: Path, files: dict[str, Any]) -> None:
    found = rules(tmp_path, files)
    assert found.fallbacks == {"index.html"} and found.is_sent_anywhere("index.html")


@pytest.mark.parametrize(
    "name", ["web.config", "Caddyfile", "render.yaml", "nginx.conf", "customHttp.yml", "functions/_middleware.js"]
)
def test_a_file_that_is_not_understood_may_forbid_anything(tmp_path: Path, name: str) -> None:
    found = rules(tmp_path, {name: "a Content-Security-Policy b"})
    assert found.values("about.html", "content-security-policy") == ("default-src 'none'",)
    assert rules(tmp_path, {name: "X-Frame-Options: DENY"}).values("about.html", "content-security-policy") == ()


def test_a_name_in_the_same_directory_is_no_fallback(tmp_path: Path) -> None:
    found = rules(tmp_path, {"_redirects": "/about /about.html 200\n/company/blog /blog/ 200\n"})
    assert found.fallbacks == {"blog/index.html"}


def test_pages_of_errors_are_sent_anywhere_with_the_fields_of_all_rules(tmp_path: Path) -> None:
    names = (
        "404.html",
        "500.html",
        "50x.html",
        "offline.html",
        "404/index.html",
        "de/404.html",
        "200.html",
        "a/b/404.html",
    )
    assert all(map(NO_HOST_RULES.is_sent_anywhere, names))
    assert not any(map(NO_HOST_RULES.is_sent_anywhere, ("index.html", "blog/1404.html", "offline-maps.html")))
    found = rules(tmp_path, {"_headers": "/blog/*\n Content-Security-Policy: a\n/app/*\n Content-Security-Policy: b\n"})
    assert found.values("404.html", CSP) == ("a", "b")
    assert PageHeaders("c", found)("404.html") == {"Content-Security-Policy": "c, a, b"}
    assert PageHeaders()("404.html") == {}


def test_encodings_of_hosts(tmp_path: Path) -> None:
    files = {
        "_headers": "/about\n  Content-Type: text/html; charset=ISO-8859-2\n",
        ".htaccess": "AddDefaultCharset UTF-8\nAddCharset koi8-r .ru .html\n",
        "blog/.htaccess": "AddDefaultCharset Off\n<Files post*>\nForceType \"text/html; charset='big5'\"\n</Files>\n",
        "app/.htaccess": "AddType application/x-httpd-php .html\n",
    }
    found = rules(tmp_path, files)
    assert {page: found.charset(page) for page in PAGES if page != "404.html"} == {
        "index.html": "koi8-r",
        "about.html": "iso-8859-2",
        "blog/index.html": "koi8-r",
        "blog/post.html": "big5",
        "app/index.html": "koi8-r",
    }


@pytest.mark.parametrize(
    ("above", "own", "charset"),
    [
        ("", "AddCharset koi8-r .html\nAddDefaultCharset UTF-8", "koi8-r"),
        ("", "AddDefaultCharset UTF-8\nAddCharset koi8-r .html", "koi8-r"),
        ("AddCharset koi8-r .html", "AddDefaultCharset UTF-8", "koi8-r"),
        ("AddCharset koi8-r .html", "AddCharset UTF-8 .html", "utf-8"),
        ("AddCharset koi8-r .html", "AddType 'text/html; charset=big5' .html", "koi8-r"),
        ("AddCharset koi8-r .html", "ForceType 'text/html; charset=big5'", "big5"),
        ("AddDefaultCharset UTF-8", "AddType 'text/html; charset=big5' .html", "big5"),
        ("AddDefaultCharset UTF-8", "AddDefaultCharset Off", None),
        ("AddDefaultCharset Off", "AddDefaultCharset UTF-8", "utf-8"),
        ("AddCharset koi8-r .html", "RemoveCharset .html", None),
        ("AddDefaultCharset UTF-8\nAddCharset koi8-r .html", "RemoveCharset .html", "utf-8"),
    ],
)
def test_the_encoding_of_apache(tmp_path: Path, above: str, own: str, charset: str | None) -> None:
    """Asked of Apache 2.4: the kind of a directive counts before its place, and the nearest of a kind."""
    assert rules(tmp_path, {".htaccess": above, "blog/.htaccess": own}).charset("blog/post.html") == charset


def test_the_encoding_of_nginx(tmp_path: Path) -> None:
    (tmp_path / "n.conf").write_text(
        f"http {{ charset utf-8; server {{ root {tmp_path}/site; location /blog {{ charset off; }} }} }}"
    )
    found = rules(tmp_path, {}, "site", server_config=tmp_path / "n.conf")
    assert found.charset("index.html") == "utf-8" and found.charset("blog/post.html") is None


def test_media_types_of_hosts(tmp_path: Path) -> None:
    text = "/data/*\n  Content-Type: application/json; charset=utf-8\n/*\n  Content-Type: text/html\n"
    text += "/a.txt\n  content-type: application/x-javascript\n"
    (tmp_path / "_headers").write_text(text)
    (tmp_path / "staticwebapp.config.json").write_text('{"mimeTypes": {".html": "text/plain"}}')
    types = HostTypes(tmp_path)
    types["known.html"] = "text/html"
    assert types.get("data/x") == "application/json" and types.get("a.txt") == "text/javascript"
    assert types.get("s.css") is None and types.get("known.html") == "text/html" and "a.txt" not in types
    assert types.get("index.html") == "text/plain"


def test_files_above_the_docroot_that_name_it(tmp_path: Path) -> None:
    firebase = {"hosting": {"public": "public", "headers": [headers("**", "a")]}}
    toml = '[build]\npublish = "elsewhere"\n[[headers]]\nfor = "/*"\n[headers.values]\nContent-Security-Policy = "b"\n'
    found = rules(tmp_path, {"firebase.json": firebase, "netlify.toml": toml}, "public")
    assert set(bound(found).values()) == {"a"}


def test_json_with_comments_and_what_may_forbid_anything(tmp_path: Path) -> None:
    text = (
        '{/* a "b" */ "hosting": {"headers": [ // all\n{"source": "**", "headers": [{"key": "content-security-policy",'
    )
    text += '"value": "img-src https://x//y, \'self\'"},]},]}}'
    assert set(bound(rules(tmp_path, {"firebase.json": text})).values()) == {"img-src https://x//y, 'self'"}
    assert set(bound(rules(tmp_path, {"firebase.json": text[:-1]})).values()) == {"default-src 'none'"}


@pytest.mark.parametrize(
    "name", ["netlify.toml", "vercel.json", "firebase.json", "serve.json", "staticwebapp.config.json"]
)
@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"headers": 3, "hosting": 3, "routes": [3]}', "[[headers]]"])
def test_what_cannot_be_read_says_nothing(tmp_path: Path, name: str, content: str) -> None:
    assert bound(rules(tmp_path, {name: content})) == {}
