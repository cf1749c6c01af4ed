"""``adaptc doctor``: each problem of a server's machine is reported, and nothing where there is none."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.samples.drawn import drawing, encoded
from tests.servers import web
from tests.sites.built import BuiltSite

from adaptc.cli.main import run
from adaptc.compile.engine.state.state import last_build
from adaptc.config.toml import parse_toml
from adaptc.core.diagnostics import UsageError
from adaptc.formats.directives import apache_directives
from adaptc.serve import doctor as checks
from adaptc.serve.accounts import Account, Refusal, account_of, refusals
from adaptc.serve.doctor import ServerHealth, examine, installation_of
from adaptc.serve.emitter import emit
from adaptc.serve.policy import policy_of
from adaptc.serve.servers import server_named
from adaptc.serve.servers.nginx import nginx_directives

PAGE = "<!DOCTYPE html><html lang=en><title>A</title><p>a</p></html>"
NOBODY = Account("somebody", 12345, frozenset({12345}))
ME = account_of(f"#{os.getuid()}").name


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    files = {"index.html": PAGE, "news/index.html": PAGE, "site.css": "p{color:red}"}
    built = BuiltSite(tmp_path).write(files)
    built.build()
    return built


def apache_file(site: BuiltSite, inside: str | None = None, top: str = "") -> Path:
    """A main file of Apache that includes what was emitted, by default."""
    included = f'Include "{site.output}/serve/apache.conf"' if inside is None else inside
    file = site.root / "apache2.conf"
    file.write_text(web.apache_text(site.root, web.free_port(), site.docroot, included, top))
    return file


def nginx_file(site: BuiltSite, http: str = "", inside: str = "") -> Path:
    conf = f"{site.output}/serve"
    file = site.root / "nginx.conf"
    http = f'include "{conf}/nginx-http.conf"; {http}'
    inside = f'{inside} include "{conf}/nginx-server.conf";'
    file.write_text(web.nginx_text(site.root, web.free_port(), site.docroot, http, inside))
    return file


def emit_and_examine(site: BuiltSite, file: Path, server: str, **settings: object) -> list[str]:
    """The diagnostics of a server, as lines without the severities' markup."""
    emit(site.config(**settings), [server])
    return messages(examine(site.config(**settings), [server], file, ME))


def messages(examined: Sequence[ServerHealth]) -> list[str]:
    found = [str(diagnostic) for each in examined for diagnostic in each.diagnostics]
    return [line for line in found if not line.endswith("[setup-unasked]")]  # temporary directories are private


# ---- all is well


@pytest.mark.servers
def test_nothing_is_found_where_nothing_is_wrong(site: BuiltSite) -> None:
    assert emit_and_examine(site, apache_file(site), "apache") == []
    assert emit_and_examine(site, nginx_file(site), "nginx") == []


# ---- the server's own configuration


@pytest.mark.servers
def test_a_configuration_that_is_refused(site: BuiltSite) -> None:
    (line,) = emit_and_examine(site, apache_file(site, top="Nonsense on"), "apache")
    assert "apache refuses its configuration: AH00526: Syntax error on line" in line
    assert "Invalid command 'Nonsense'" in line
    assert line.endswith("fix that first [setup-invalid]")
    (line,) = emit_and_examine(site, nginx_file(site, http="nonsense;"), "nginx")
    assert 'nginx refuses its configuration: unknown directive "nonsense" in' in line


@pytest.mark.servers
def test_a_module_that_the_configuration_needs(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MODULES", web.MODULES.replace("rewrite", "").replace("headers", ""))
    (line,) = emit_and_examine(site, apache_file(site), "apache")
    assert line.endswith("apache lacks rewrite, which adaptc's configuration needs: a2enmod rewrite [setup-module]")
    lines = emit_and_examine(site, apache_file(site, inside=""), "apache")
    wanted = "error: apache lacks mod_headers, which adaptc's configuration needs: a2enmod headers, or LoadModule"
    assert any(wanted in line for line in lines)


@pytest.mark.servers
@pytest.mark.parametrize("server", ["apache", "nginx"])
def test_a_module_that_strict_servers_need(site: BuiltSite, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    emit(site.config(serve__freshness="strict"), [server])
    file = {"apache": apache_file, "nginx": nginx_file}[server]
    assert emit_and_examine(site, file(site), server, serve__freshness="strict") == []
    monkeypatch.setattr(web, "MODULES", web.MODULES.replace("lua", ""))
    monkeypatch.setattr(web, "NGINX_SCRIPTS", Path("/nowhere"))
    (line,) = emit_and_examine(site, file(site), server, serve__freshness="strict")
    missing = {"apache": "apache lacks lua, ", "nginx": "nginx lacks ngx_http_js_module, "}
    assert missing[server] in line


@pytest.mark.servers
def test_times_that_were_not_noted(site: BuiltSite) -> None:
    file = nginx_file(site)
    emit(site.config(), ["nginx"])
    lines = messages(examine(site.config(serve__freshness="strict"), ["nginx"], file, ME))
    assert any(f"{site.output}/times: error: does not exist" in line for line in lines)


@pytest.mark.servers
def test_a_module_that_nginx_was_built_without(site: BuiltSite) -> None:
    config = site.config(serve__trusted_proxies=["10.0.0.1"])
    policy = emit(config, ["nginx"]).policy
    installation = installation_of(config, policy, server_named("nginx"), nginx_file(site), ME)
    assert list(checks.missing_modules(installation)) == []
    setup = dataclasses.replace(installation.setup, modules=frozenset({"http_ssl_module"}))
    (line,) = checks.missing_modules(dataclasses.replace(installation, setup=setup))
    assert "nginx lacks http_realip_module" in line.message


@pytest.mark.servers
def test_what_is_not_included(site: BuiltSite) -> None:
    file = apache_file(site, inside="")
    wanted = f"{file}: warning: does not include {site.output}/serve/apache.conf: nothing is adapted"
    assert [line.partition(";")[0] for line in emit_and_examine(site, file, "apache")] == [wanted]
    lines = emit_and_examine(site, nginx_file(site), "nginx", serve__nginx_location=False)
    assert [line.partition(":")[2].partition(":")[0] for line in lines] == [" warning"]
    assert f"does not include {site.output}/serve/nginx-location.conf" in lines[0]


@pytest.mark.servers
def test_a_status_page_that_apache_does_not_read(site: BuiltSite) -> None:
    status = f"127.0.0.1:{web.free_port()}"
    emitted = f"{site.output}/serve/apache-status.conf"
    module = f"LoadModule status_module {web.APACHE_MODULES}/mod_status.so\n"
    [line] = emit_and_examine(site, apache_file(site, top=module), "apache", serve__status=status)
    assert f"does not include {emitted}: the daemons have no status page; its first lines say where" in line
    file = apache_file(site, top=f'{module}Include "{emitted}"')
    assert emit_and_examine(site, file, "apache", serve__status=status) == []


@pytest.mark.servers
def test_what_was_emitted_for_other_settings(site: BuiltSite) -> None:
    emit(site.config(), ["nginx"])
    lines = messages(examine(site.config(serve__expose=False), ["nginx"], nginx_file(site), ME))
    output = "is not what adaptc would write now: run adaptc emit nginx, then reload the server [setup-outdated]"
    assert lines == [f"{site.output}/serve/nginx-{part}.conf: warning: {output}" for part in ("http", "server")]


# ---- nginx: caches and header fields


@pytest.mark.servers
def test_a_file_that_a_link_in_a_folder_of_the_server_includes_is_included(site: BuiltSite) -> None:
    file, folder = nginx_file(site), site.root / "conf.d"
    folder.mkdir()
    (folder / "adaptc.conf").symlink_to(site.output / "serve/nginx-http.conf")
    text = file.read_text().replace(f'include "{site.output}/serve/nginx-http.conf"', f'include "{folder}/*.conf"')
    file.write_text(text)
    assert emit_and_examine(site, file, "nginx") == []


@pytest.mark.servers
def test_a_file_cache_that_remembers_too_long(site: BuiltSite) -> None:
    cache = "open_file_cache max=100;"
    (line,) = emit_and_examine(site, nginx_file(site, http=cache), "nginx")
    assert "open_file_cache keeps results for 60s, so flag and levels take that long to change" in line
    assert emit_and_examine(site, nginx_file(site, http=f"{cache} open_file_cache_valid 1s;"), "nginx") == []
    (line,) = emit_and_examine(site, nginx_file(site, http=f"{cache} open_file_cache_valid 1m 30s;"), "nginx")
    assert emit_and_examine(site, nginx_file(site, http="open_file_cache off;"), "nginx") == []
    file = nginx_file(site, http=cache)
    accepts, cached = emit_and_examine(site, file, "nginx", serve__buckets=True)
    assert "nginx accepts one connection a turn" in accepts
    assert "open_file_cache keeps results for 60s" in cached  # the markers of levels are tested in the server block
    file = nginx_file(site)
    file.write_text(file.read_text().replace("events {", "events { multi_accept on;"))
    assert emit_and_examine(site, file, "nginx", serve__buckets=True) == []


@pytest.mark.servers
def test_limits_of_the_site_that_have_no_effect_on_pages(site: BuiltSite) -> None:
    zone, limit = "limit_req_zone $remote_addr zone=own:32k rate=9r/s;", "limit_req zone=own;"
    for file in (nginx_file(site, http=zone + limit), nginx_file(site, http=zone, inside=limit)):
        assert emit_and_examine(site, file, "nginx") == []
        (line,) = emit_and_examine(site, file, "nginx", serve__nginx_page_rate=9)
        assert "limit_req has no effect on pages any more" in line
    elsewhere = nginx_file(site, http=zone, inside=f"location /elsewhere/ {{ {limit} }}")
    assert emit_and_examine(site, elsewhere, "nginx", serve__nginx_page_rate=9) == []


@pytest.mark.servers
def test_header_fields_that_would_be_lost(site: BuiltSite) -> None:
    policy = "add_header Content-Security-Policy \"default-src 'self'\";"
    (line,) = emit_and_examine(site, nginx_file(site, http=policy), "nginx")
    assert (
        "add_header Content-Security-Policy has no effect any more, since nginx drops it where adaptc's lines are"
        in line
    )
    assert emit_and_examine(site, nginx_file(site, inside=policy), "nginx") == []
    assert emit_and_examine(site, nginx_file(site, http="add_header X-Other 1;", inside=policy), "nginx") == []
    file = nginx_file(site, http=policy)
    assert emit_and_examine(site, file, "nginx", site__server_config=str(file)) == []
    elsewhere = f"server {{ listen 127.0.0.1:1; {policy} }}"
    assert emit_and_examine(site, nginx_file(site, http=elsewhere), "nginx") == []
    (site.root / "headers.conf").write_text(policy)
    named = {"serve__nginx_headers": str(site.root / "headers.conf")}
    assert emit_and_examine(site, nginx_file(site, http=policy), "nginx", **named) == []


# ---- media types


@pytest.mark.servers
def test_a_media_type_that_the_server_does_not_know(site: BuiltSite) -> None:
    site.write({"app.webmanifest": "{}", "odd.unknown": "x"}).build()
    (line,) = emit_and_examine(site, nginx_file(site), "nginx")
    sentence = "knows no media type for .webmanifest (1 files): add application/manifest+json webmanifest;"
    assert sentence in line
    types = site.root / "mime.types"
    types.write_text("text/html html\ntext/css css\n# application/manifest+json webmanifest\n")
    (line,) = emit_and_examine(site, apache_file(site, top=f"TypesConfig {types}"), "apache")
    assert "add AddType application/manifest+json .webmanifest [setup-type]" in line
    own = f"TypesConfig {types}\nAddType application/manifest+json .webmanifest"
    assert emit_and_examine(site, apache_file(site, top=own), "apache") == []


@pytest.mark.servers
def test_an_image_format_that_nginx_does_not_know(site: BuiltSite) -> None:
    site.write({"a.png": encoded(drawing(), compress_level=1)}).build(
        levels__lossless={"alternates": {"formats": ["webp"]}}
    )
    assert emit_and_examine(site, nginx_file(site), "nginx") == []
    file = nginx_file(site)
    types = "types { text/html html; text/css css; image/png png; }"
    file.write_text(file.read_text().replace("include /etc/nginx/mime.types;", types))
    (line,) = emit_and_examine(site, file, "nginx")
    assert "knows no media type for .webp (1 files): add image/webp webp;" in line


# ---- Apache: .htaccess and access rules


def with_htaccess(site: BuiltSite, override: str) -> list[str]:
    emit(site.config(), ["htaccess"])
    (site.docroot / ".htaccess").write_bytes((site.output / "serve" / "htaccess").read_bytes())
    text = apache_file(site, inside="").read_text().replace("AllowOverride All\n    Options FollowSymLinks", override)
    (site.root / "apache2.conf").write_text(text)
    return messages(examine(site.config(), ["apache"], site.root / "apache2.conf", ME))


@pytest.mark.servers
def test_rules_in_htaccess_that_the_server_does_not_obey(site: BuiltSite) -> None:
    assert with_htaccess(site, "AllowOverride FileInfo") == []
    lines = with_htaccess(site, "AllowOverride None\nOptions SymLinksIfOwnerMatch")
    assert [line.partition("must have ")[2] for line in lines] == [
        f"AllowOverride FileInfo for {site.docroot} [setup-override]",
        f"Options FollowSymLinks for {site.docroot} [setup-override]",
    ]


@pytest.mark.servers
def test_htaccess_that_is_not_in_its_place_or_old(site: BuiltSite) -> None:
    emit(site.config(), ["htaccess"])
    file = apache_file(site, inside="")
    (line,) = messages(examine(site.config(), ["apache"], file, ME))
    assert line.startswith(f"{site.docroot}/.htaccess: warning: does not include {site.output}/serve/htaccess")
    (site.docroot / ".htaccess").write_bytes((site.output / "serve" / "htaccess").read_bytes())
    (line,) = messages(examine(site.config(serve__flag=False), ["apache"], file, ME))
    assert "run adaptc emit htaccess" in line


@pytest.mark.servers
def test_access_rules_that_the_trees_bypass(site: BuiltSite) -> None:
    (site.docroot / "news" / ".htaccess").write_text("AuthType Basic\nRequire valid-user\n")
    (line,) = emit_and_examine(site, apache_file(site), "apache")
    assert line == (
        f"{site.docroot}/news/.htaccess:1: error: AuthType Basic does not apply to the copies in the trees: build "
        "again, with site.server_config if the rule is in the server's configuration; or write it as <Location /news> "
        "[setup-access]"
    )
    assert emit_and_examine(site, apache_file(site), "apache", serve__exclude=["/news"]) == []
    location = "<Location /news>\nRequire all denied\n</Location>"
    assert emit_and_examine(site, apache_file(site, top=location), "apache") == []


@pytest.mark.servers
def test_a_server_root_elsewhere(site: BuiltSite) -> None:
    folder = site.root / "httpd" / "conf"
    folder.mkdir(parents=True)
    text = apache_file(site).read_text().replace(f'ServerRoot "{site.root}"\n', "")
    (folder / "extra.conf").write_text(text)
    (folder / "httpd.conf").write_text("Include conf/extra.conf\n")
    emit(site.config(), ["apache"])
    assert messages(examine(site.config(), ["apache"], folder / "httpd.conf", ME)) == []


@pytest.mark.servers
def test_access_rules_of_sections(site: BuiltSite) -> None:
    section = f'<Directory "{site.docroot}/news">\n%s\n</Directory>'
    (line,) = emit_and_examine(site, apache_file(site, top=section % "Require ip 10.0.0.0/8"), "apache")
    assert "Require ip 10.0.0.0/8 does not apply" in line
    assert emit_and_examine(site, apache_file(site, top=section % "Require all granted"), "apache") == []
    for other in ("*.inc", "index.htm"):
        hidden = f"<Files {other}>\nRequire all denied\n</Files>"
        assert emit_and_examine(site, apache_file(site, top=section % hidden), "apache") == []
    hidden = '<FilesMatch "^index">\nRequire all denied\n</FilesMatch>'
    assert len(emit_and_examine(site, apache_file(site, top=section % hidden), "apache")) == 1
    nowhere = f'<Directory "{site.docroot}/nothing">\nRequire all denied\n</Directory>'
    assert emit_and_examine(site, apache_file(site, top=nowhere), "apache") == []


NONSENSE = "Nonsense on: what the server makes of it is not known, so 2 files are not built; it answers"


@pytest.fixture
def open_site() -> Iterator[BuiltSite]:
    """A site that the server's unprivileged user may read."""
    root = Path(tempfile.mkdtemp(prefix="adaptc-doctor-"))
    root.chmod(0o755)
    yield BuiltSite(root).write({"index.html": PAGE, "news/index.html": PAGE, "news/a.css": "p{color:red}"})
    shutil.rmtree(root)


@pytest.mark.servers
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "Require all denied",
            ["1: note: Require all denied keeps 2 files from being built; the server answers 403 (2)"],
        ),
        (
            '<Files "a.css">\nRedirect gone /news/a.css\n</Files>',
            ["2: note: Redirect gone /news/a.css keeps 1 files from being built; the server answers 410 (1)"],
        ),
        (
            "Nonsense on",
            [f"1: warning: {NONSENSE} 500 (2)"],
        ),
        (
            "<IfModule mod_nowhere.c>\nNonsense on\n</IfModule>",
            [f"2: warning: {NONSENSE} 200 (2)"],
        ),
        ("Options -Indexes\nHeader set X-A b", []),
    ],
)
def test_rules_are_named_with_what_the_server_says(open_site: BuiltSite, text: str, wanted: list[str]) -> None:
    (open_site.docroot / "news/.htaccess").write_text(text)
    open_site.build()
    lines = emit_and_examine(open_site, apache_file(open_site), "apache")
    rule = f"{open_site.docroot}/news/.htaccess:"
    assert [line.removeprefix(rule).rpartition(" [")[0] for line in lines] == wanted


@pytest.mark.servers
def test_files_that_the_server_refuses_though_they_were_built(
    open_site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "MODULES", web.MODULES.replace("autoindex", ""))
    (open_site.docroot / "news/.htaccess").write_text("IndexOptions NameWidth")
    open_site.build()
    (line,) = emit_and_examine(open_site, apache_file(open_site), "apache")
    assert "news: error: the server answers 500 for news/a.css (2 files here), but it was built" in line
    assert emit_and_examine(open_site, apache_file(open_site), "apache", serve__exclude=["/news"]) == []


@pytest.mark.servers
@pytest.mark.skipif(web.UNPRIVILEGED is None, reason="a server of the same user may read it")
def test_a_server_that_cannot_be_asked(site: BuiltSite) -> None:
    (site.docroot / "news/.htaccess").write_text("Require all denied")
    site.build()
    emit(site.config(), ["apache"])
    (health,) = examine(site.config(), ["apache"], apache_file(site), ME)
    assert [diagnostic.id for diagnostic in health.diagnostics] == ["setup-unasked", "setup-rule"]
    assert "www-data, as whom it is started, may not read" in health.diagnostics[0].message


# ---- files and rights


def test_what_an_account_may_not_read(tmp_path: Path) -> None:
    root = tmp_path / "opt"
    for name in ("open/a.html", "closed/b.html"):
        (root / name).parent.mkdir(parents=True)
        (root / name).touch()
    (root / "open" / "a.html").chmod(0o640)
    (root / "closed").chmod(0o750)
    below = [refusal for refusal in refusals(root, NOBODY) if refusal.path.startswith(str(root))]
    assert below == [Refusal(f"{root}/closed", 0o750, "x"), Refusal(f"{root}/open/a.html", 0o640, "r")]
    owner = os.stat(root)
    as_group = Account("colleague", 12345, frozenset({owner.st_gid}))
    assert [refusal for refusal in refusals(root, as_group) if refusal.path.startswith(str(root))] == []
    assert list(refusals(root, Account("root", 0, frozenset({0})))) == []
    assert [refusal.path for refusal in refusals(root, dataclasses.replace(NOBODY, uid=owner.st_uid))] == []


@pytest.mark.servers
def test_trees_that_the_server_cannot_read(site: BuiltSite, tmp_path: Path) -> None:
    emit(site.config(), ["nginx"])
    (site.output / "run").chmod(0o700)
    tmp_path.chmod(0o755)
    examined = examine(site.config(), ["nginx"], nginx_file(site), "nobody")
    problems = [problem for each in examined for problem in each.diagnostics if problem.id == "setup-permissions"]
    places = {str(problem.location): str(problem) for problem in problems}
    line = places[f"{site.output}/run"]
    assert (
        "nobody cannot read or search it (mode 0700), so requests fail with 403: chmod a+x [setup-permissions]" in line
    )


@pytest.mark.servers
def test_an_audit_is_not_for_servers(site: BuiltSite, tmp_path: Path) -> None:
    emit(site.config(), ["nginx"])
    (site.output / "run/audit-control.jsonl").touch(0o600)
    tmp_path.chmod(0o755)
    examined = examine(site.config(), ["nginx"], nginx_file(site), "nobody")
    places = [str(each.location) for health in examined for each in health.diagnostics]
    assert not any("audit-control" in place for place in places)


@pytest.mark.servers
def test_a_tree_that_is_gone(site: BuiltSite) -> None:
    emit(site.config(), ["nginx"])
    (site.output / "lossless").rename(site.output / "away")
    (line,) = messages(examine(site.config(), ["nginx"], nginx_file(site), ME))
    assert line.startswith(f"{site.output}/lossless: error: does not exist: run adaptc build and adaptc emit")


@pytest.mark.servers
def test_a_file_system_with_coarse_times(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "stored_time", lambda _folder: checks.MOMENT - 1)
    (line,) = emit_and_examine(site, nginx_file(site), "nginx")
    assert "the file system does not keep times to the second (1700000001 became 1700000000)" in line


# ---- reading configuration


def test_directives_of_apache() -> None:
    text = '# no\n<VirtualHost *:80>\n  <IfModule mod_x.c>\n Alias "/a b" \\\n  /c\n</IfModule>\nRequire all\n'
    text += '</VirtualHost>\nX "'
    directives = list(apache_directives(text, "f"))
    shown = [(line.name, line.args, line.line, [section.name for section in line.within]) for line in directives]
    assert shown == [
        ("alias", ("/a b", "/c"), 4, ["virtualhost", "ifmodule"]),
        ("require", ("all",), 7, ["virtualhost"]),
        ("x", ("",), 9, []),
    ]


def test_directives_of_nginx() -> None:
    text = (
        "# no; {\nhttp {\n  map $a ${b}_c { default 'it''s'; \"~x\\\"{2}\" 1; }\n  server { root\n /x; }\n}\nuser me;"
    )
    directives = list(nginx_directives(text, "f"))
    shown = [(line.name, line.args, line.line, [section.name for section in line.within]) for line in directives]
    assert shown == [
        ("default", ("it", "s"), 3, ["http", "map"]),
        ('~x"{2}', ("1",), 3, ["http", "map"]),
        ("root", ("/x",), 4, ["http", "server"]),
        ("user", ("me",), 7, []),
    ]


# ---- the command


@pytest.mark.servers
def test_the_command(site: BuiltSite, capfd: pytest.CaptureFixture[str]) -> None:
    emit(site.config(), ["nginx"])
    file = nginx_file(site, http="open_file_cache max=9;")
    command = ["doctor", "-o", str(site.output), "--server-config", str(file), "--user", ME]
    assert run(command) == 0
    output = capfd.readouterr()
    assert output.out == f"nginx ({file}, as {ME}): 13 checks, 1 found\n"
    assert "[setup-file-cache]\n1 warning\n" in output.err
    (site.output / "lossless").rename(site.output / "away")
    assert run([*command, "--format", "json"]) == 1
    record = json.loads(capfd.readouterr().out)
    assert record["servers"] == [{"server": "nginx", "user": ME, "file": str(file), "checks": 13}]
    assert [row["id"] for row in record["diagnostics"]] == ["setup-missing", "setup-file-cache"]


def test_what_the_command_refuses(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="run adaptc emit apache or adaptc emit nginx"):
        examine(site.config(), [], None, None)
    emit(site.config(), ["apache", "nginx"])
    with pytest.raises(UsageError, match="--server-config needs --server"):
        examine(site.config(), [], Path("x"), None)
    with pytest.raises(UsageError, match="there is no user nobody-at-all on this machine"):
        account_of("nobody-at-all")
    monkeypatch.setattr("adaptc.serve.launch.SEARCH", "/nowhere")
    with pytest.raises(UsageError, match="nginx is not installed"):
        examine(site.config(), ["nginx"], None, None)


def test_daemons_that_could_do_nothing_are_reported(site: BuiltSite) -> None:
    config = dataclasses.replace(site.config(), daemons=parse_toml("[control]\n[switch]\n", "adaptc.toml"))
    emit(config, ["nginx"])
    with last_build(config.output) as state:
        found = list(checks.powerless_daemons(config, policy_of(state, config)))
        with_buckets = dataclasses.replace(config, serve=dataclasses.replace(config.serve, buckets=True))
        assert [each.id for each in checks.powerless_daemons(with_buckets, policy_of(state, with_buckets))] == [
            "setup-weak-levels"
        ]
    assert [each.id for each in found] == ["setup-no-buckets", "setup-weak-levels"]
    assert "the lowest level in reach, lossless, carries 1." in str(found[1])
