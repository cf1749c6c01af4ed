"""Files that copies in trees would expose or send without their headers: they are not built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.sites.memory import MemoryTree

from adaptc.compile.engine.state.state import last_build
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import DiskTree
from adaptc.formats.directives import apache_directives, directives_with_includes, may_match, pattern_of
from adaptc.serve.emitter import render
from adaptc.serve.policy import Policy, policy_of
from adaptc.serve.servers import all_servers
from adaptc.site.apache_configuration import access_names, configured_rules
from adaptc.site.docroot import Docroot, load_directory
from adaptc.site.server_rules import ServerRules

SERVERS = {server.name: server for server in all_servers()}
FILES = ("index.html", "a.css", "news/index.html", "news/old.html", "news/x.cgi.txt", "pub/p.html")


def docroot(ignored: tuple[str, ...] = (), prefix: str = "", **access: str) -> Docroot:
    """Load a docroot with .htaccess files: keyword ``top``, or the directory's name."""
    files = dict.fromkeys(FILES, b"x")
    for directory, text in access.items():
        files[".htaccess" if directory == "top" else f"{directory}/.htaccess"] = text.encode()
    tree = MemoryTree(files)
    return load_directory(tree, rules=ServerRules(tree, ignored, prefix))


def left_out(text: str, **options: str) -> list[str]:
    return docroot(news=text, **options).bypassing


FRONT_CONTROLLER = """
RewriteEngine On
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
"""
ALL = ["news/index.html", "news/old.html", "news/x.cgi.txt"]


@pytest.mark.parametrize(
    "text",
    [
        "Require valid-user",
        "AuthType Basic",
        "Order deny,allow\nDeny from all",
        "SetHandler cgi-script",
        "ForceType application/octet-stream",
        "Header set Content-Encoding gzip",
        "SetOutputFilter INCLUDES",
        "Redirect gone /news",
        "Redirect 301 / https://example.org/",
        "RedirectMatch ^/news/ https://example.org/",
        "RewriteEngine On\nRewriteRule ^ - [F]",
        "RewriteEngine On\nRewriteCond %{HTTPS} off\nRewriteRule (.*) https://example.org/login [R=301]",
        "<IfModule mod_auth.c>\nRequire valid-user\n</IfModule>",
        "<Limit GET>\nRequire valid-user\n</Limit>",
        "Require \\\n  valid-user",
        "RewriteRule ^ - [F]",  # a directory above may switch it on
        "Order allow,deny",
        "Order allow,deny\nAllow from 10.0.0.0/8",
        "Action text/html /cgi-bin/footer.pl",
        "XBitHack off",
    ],
)
def test_rules_of_a_whole_directory(text: str) -> None:
    assert left_out(text) == ALL


@pytest.mark.parametrize(
    "text",
    [
        "Require all granted",
        "Allow from all",
        "Order allow,deny\nAllow from all",
        "Order deny,allow",
        "AuthType None",
        "<IfModule mod_actions.c>\nAction x-mapfile /cgi-bin/map\n</IfModule>",
        "SetHandler None",
        "Options -Indexes",
        "AddType application/javascript .js\nAddType text/html;charset=utf-8 .html\nAddType image/webp .webp",
        "Header unset ETag",
        "SetOutputFilter DEFLATE",
        "ExpiresActive On",
        "ErrorDocument 404 /404.html",
        "Redirect /elsewhere https://example.org/",
        "RedirectMatch ^/newspaper/ https://example.org/",
        "RewriteEngine Off\nRewriteRule ^ - [F]",
        "RewriteEngine On\nRewriteRule ^gone/ - [G]\nRewriteRule ^ - [E=x:1,L]",
        FRONT_CONTROLLER,
        "RewriteEngine On\nRewriteCond %{REQUEST_URI} ^/shop/\nRewriteRule ^ - [F]",
        "# Require valid-user",
    ],
)
def test_directives_that_concern_no_file_here(text: str) -> None:
    assert left_out(text) == []


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ('<Files "old.*">\nRequire all denied\n</Files>', ["news/old.html"]),
        ('<FilesMatch "\\.txt$">\nHeader set Refresh 1\n</FilesMatch>', ["news/x.cgi.txt"]),
        ("AddHandler cgi-script .cgi .pl", ["news/x.cgi.txt"]),
        ("AddType application/x-httpd-php .html", ["news/index.html", "news/old.html"]),
        ("AddType text/plain .html .webp", ["news/index.html", "news/old.html"]),
        ("AddOutputFilter INCLUDES;DEFLATE html", ["news/index.html", "news/old.html"]),
        ("<IfModule mod_include.c>\nXBitHack on\n</IfModule>", ["news/index.html", "news/old.html"]),
        ("Redirect permanent /news/old.html /news/", ["news/old.html"]),
        ("RewriteEngine On\nRewriteRule ^old\\.html$ index.html [R]", ["news/old.html"]),
        ("RewriteEngine On\nRewriteRule ^$ start.html [L]", ["news/index.html"]),
        ("RewriteEngine On\nRewriteRule !\\.html$ - [F]", ["news/index.html", "news/x.cgi.txt"]),  # /news/
        ("RewriteEngine On\nRewriteCond %{REQUEST_URI} OLD [NC]\nRewriteRule ^ - [F]", ["news/old.html"]),
    ],
)
def test_rules_of_some_files(text: str, files: list[str]) -> None:
    assert left_out(text) == files


@pytest.mark.parametrize(
    "pattern",
    [r"a++", r"\h", r"\Qa\E", "(?|a)", "(?>a)", "(?R)", "[[:nothing:]]", "[]a]", "[^]a]&&[b]", "[a&&b]", "a{,3}",
     "(?a)a", r"\u0061", r"\1", "(?#a)", "x**", "(", "["],
)  # fmt: skip
def test_patterns_of_another_meaning_are_not_read(pattern: str) -> None:
    assert pattern_of(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"\.(css|js)$", "a.css"), ("^[[:alpha:]]+$", "abc"), ("(?i)A", "a"), ("a{2,}b", "aab"), (r"^(?!b)\w", "a"),
     ("a]", "a]")],
)  # fmt: skip
def test_patterns_of_the_same_meaning_are_read(pattern: str, text: str) -> None:
    assert may_match(pattern, text)
    assert not may_match(pattern, "-")


def test_a_pattern_that_cannot_be_read_applies() -> None:
    assert left_out("RewriteEngine On\nRewriteRule (?<x>[ - [F]") == ALL


def test_rules_of_the_docroot_apply_below_it() -> None:
    site = docroot(top="Require valid-user", prefix="/docs")
    assert site.resources == {}
    (diagnostic,) = site.diagnostics
    assert str(diagnostic) == (
        ".htaccess:1: warning: Require valid-user applies to 6 files, but would not apply to copies of them; "
        "they are not built (site.ignore_directives builds them) [server-rule]"
    )


def test_redirects_have_the_prefix_of_the_site() -> None:
    assert docroot(top="Redirect /docs/news /", prefix="/docs").bypassing == ALL
    assert docroot(top="Redirect /news /", prefix="/docs").bypassing == []


def test_directives_that_the_user_ignores() -> None:
    text = "Header set X-A b\nRequire valid-user"
    assert docroot(("header",), news="Header set Refresh 1").bypassing == []
    assert docroot(("Header",), news=text).bypassing == ALL
    assert docroot(("all",), news=text).bypassing == []


def test_unbuilt_paths_are_the_topmost_ones() -> None:
    site = docroot(news="Require valid-user", pub='<Files "*.html">\nRequire valid-user\n</Files>')
    assert site.unbuilt() == ("news", "pub")
    assert docroot(news="AddHandler cgi-script .cgi").unbuilt() == ("news/x.cgi.txt",)


def test_links_into_a_restricted_directory(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/a.html").write_text("x")
    (tmp_path / "private/.htaccess").write_text("Require all denied")
    (tmp_path / "link").symlink_to("private")
    assert load_directory(DiskTree(tmp_path)).resources == {}


def test_an_unreadable_htaccess_restricts(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("x")
    (tmp_path / ".htaccess").mkdir()
    assert load_directory(DiskTree(tmp_path)).bypassing == ["a.html"]


# ---- programs


def test_programs_are_not_pages(tmp_path: Path) -> None:
    for name in ("a.php", "b.shtml", "cgi-bin/run", "c.cgi", "page.html", "script.html", "install.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n" if name in ("script.html", "install.sh") else "<p>x")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "download.sh").write_text("#!/bin/sh\n")
    site = load_directory(DiskTree(tmp_path))
    assert list(site.resources) == ["download.sh", "page.html"]
    assert {diagnostic.id for diagnostic in site.diagnostics} == {"server-program"}
    assert "b.shtml: note: is run by the server (server-side includes); it is left out [server-program]" in map(
        str, site.diagnostics
    )


def test_pages_of_a_crawl_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "index.php").write_text("<p>x")
    assert list(load_directory(DiskTree(tmp_path), types={"index.php": "text/html"}).resources) == ["index.php"]


# ---- the server's own configuration

CONFIGURATION = """
<Directory "{root}/private">
    Require valid-user
</Directory>
<Directory "{root}/*/drafts">
    Require all denied
</Directory>
<DirectoryMatch "/rewritten$">
    RewriteRule ^a - [F]
</DirectoryMatch>
<DirectoryMatch "/secret$">
    SetHandler x
</DirectoryMatch>
<Directory />
    Require all denied
</Directory>
<Location /open>
    Require valid-user
</Location>
<VirtualHost *:80>
    DocumentRoot /elsewhere
    Redirect / https://example.org/
</VirtualHost>
<VirtualHost *:443>
    DocumentRoot "{root}"
    Redirect /moved https://example.org/
    Alias /manual /usr/share/doc/manual
    ScriptAlias "/cgi" "{root}/../cgi"
</VirtualHost>
"""


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("x/rewritten/a.html", "RewriteRule ^a - [F]"),
        ("private/a.html", "Require valid-user"),
        ("x/drafts/a.html", "Require all denied"),
        ("x/secret/a.html", "SetHandler x"),
        ("open/a.html", None),
        ("a.html", None),
        ("moved/a.html", "Redirect /moved https://example.org/"),
        ("manual/a.html", "Alias /manual /usr/share/doc/manual"),
        ("manuals/a.html", None),
    ],
)
def test_rules_of_the_configuration(tmp_path: Path, path: str, rule: str | None) -> None:
    directives = list(apache_directives(CONFIGURATION.format(root=tmp_path), "httpd.conf"))
    rules = ServerRules(MemoryTree({}), configured=tuple(configured_rules(directives, tmp_path, "")))
    match = rules.rule_for(path)
    assert (match.text if match else None) == rule


def test_rules_above_the_docroot(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path / "www").write({"index.html": "<p>x", "a/b.html": "<p>x"})
    (tmp_path / ".htaccess").write_text('<Files "b.html">\nRequire valid-user\n</Files>\nHeader set X-A b')
    found = {str(diagnostic) for diagnostic in site.build().diagnostics if diagnostic.id == "server-rule"}
    assert [text.partition(" applies")[0] for text in found] == [f"{tmp_path}/.htaccess:2: warning: Require valid-user"]
    assert not (site.output / "lossless/id/a").exists()
    (tmp_path / ".htaccess").write_text("RewriteEngine On\nRewriteRule ^x - [F]")
    file = tmp_path / "httpd.conf"
    file.write_text(f"<Directory {tmp_path}>\nAllowOverride None\n</Directory>\n")
    site.build(site__server_config=file)
    assert (site.output / "lossless/id/a/b.html").exists()


def test_variables_and_macros_of_the_configuration(tmp_path: Path) -> None:
    text = f"""
        Define ROOT {tmp_path}
        <Directory ${{ROOT}}/private>
            Require valid-user
        </Directory>
        <Macro Closed $name $what>
            <Directory {tmp_path}/$name>
                Require $what denied
            </Directory>
        </Macro>
        Use Closed one all
        <Directory ${{ELSEWHERE}}/two>
            <Files "[^a]*">
                SSLRequireSSL
            </Files>
        </Directory>
        AccessFileName .acl
    """
    directives = list(apache_directives(text, "httpd.conf"))
    rules = ServerRules(
        MemoryTree({"acl/.acl": b"Require all denied"}),
        configured=tuple(configured_rules(directives, tmp_path, "")),
        names=access_names(directives),
    )
    found = {path: rules.rule_for(path) for path in ("private/a", "one/b", "b", "acl/a")}
    texts = {path: rule.text if rule else None for path, rule in found.items()}
    assert texts == {
        "private/a": "Require valid-user",
        "one/b": "Require all denied",
        "b": "SSLRequireSSL",
        "acl/a": "SSLRequireSSL",
    }
    assert [rule.text for rule in rules._rules_of("acl")] == ["Require all denied"]


def test_options_of_the_configuration_concern_links(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("x")
    (tmp_path / "b.html").symlink_to("a.html")
    text = f"<Directory {tmp_path}>\nOptions None\nAllowOverride None\n</Directory>"
    rules = ServerRules(
        MemoryTree({}), configured=tuple(configured_rules(list(apache_directives(text, "x")), tmp_path, ""))
    )
    assert rules.rule_for("a.html") is None
    assert rules.rule_for("b.html")


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    (tmp_path / "httpd.conf").write_text(
        "<VirtualHost *>\nIncludeOptional sites/*.conf\n</VirtualHost>\nInclude no.conf\n"
    )
    (tmp_path / "sites/a.conf").write_text("Header set X-A b\nInclude ../httpd.conf\nInclude sites\n")
    directives = list(directives_with_includes(tmp_path / "httpd.conf"))
    assert [(line.name, [section.name for section in line.within]) for line in directives] == [
        ("header", ["virtualhost"])
    ]


def test_a_main_file_without_server_root(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/httpd.conf").write_text("Include conf/site.conf\n")
    (tmp_path / "conf/site.conf").write_text("Header set X-A b\n")
    assert [line.name for line in directives_with_includes(tmp_path / "conf/httpd.conf")] == ["header"]


# ---- in a build


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write({path: f"<p>{path}" for path in FILES})


def policy(site: BuiltSite) -> Policy:
    with last_build(site.output) as state:
        return policy_of(state, site.config())


def test_a_build_leaves_them_out_and_the_rules_exclude_them(site: BuiltSite) -> None:
    (site.docroot / "news" / ".htaccess").write_text("Require valid-user")
    assert [diagnostic.id for diagnostic in site.build().diagnostics if diagnostic.id == "server-rule"]
    assert not (site.output / "full" / "id" / "news").exists()
    assert (site.output / "full" / "id" / "index.html").exists()
    assert policy(site).excluded == ("/news",)
    assert r"news(?:/|$)" in render(SERVERS["apache"], policy(site))["apache.conf"]


def test_a_build_withdraws_what_a_new_rule_restricts(site: BuiltSite) -> None:
    site.build()
    assert (site.output / "full" / "id" / "news" / "old.html").exists()
    (site.docroot / "news" / ".htaccess").write_text('<Files "old.html">\nRequire valid-user\n</Files>')
    site.build()
    assert not (site.output / "full" / "id" / "news" / "old.html").exists()
    assert (site.output / "full" / "id" / "news" / "index.html").exists()
    site.build(site__ignore_directives=["Require"])
    assert (site.output / "full" / "id" / "news" / "old.html").exists()


def test_the_server_configuration_counts_when_it_is_named(site: BuiltSite, tmp_path: Path) -> None:
    file = tmp_path / "httpd.conf"
    file.write_text(f'<Directory "{site.docroot}/news">\nRequire valid-user\n</Directory>\n')
    site.build(site__server_config=file)
    assert not (site.output / "full" / "id" / "news").exists()
    with pytest.raises(UsageError, match="there is no file"):
        site.build(site__server_config=tmp_path / "nowhere")


def test_rules_that_adaptc_emitted_do_not_count(site: BuiltSite) -> None:
    site.build()
    text = render(SERVERS["htaccess"], policy(site))["htaccess"]
    (site.docroot / ".htaccess").write_text(f"{text}\nOptions -Indexes\n")
    assert site.built() == {}


def test_names_of_directives_are_checked(site: BuiltSite) -> None:
    with pytest.raises(UsageError, match='names of directives, such as Require, or "all"'):
        site.config(site__ignore_directives=["Require all"])
