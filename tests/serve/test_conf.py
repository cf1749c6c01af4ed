"""What is emitted, as text: it is valid to the servers themselves, whatever the settings."""

from __future__ import annotations

import dataclasses
import pkgutil
import sys
import tempfile
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jinja2 import Environment

from tests.places import DOCS
from tests.servers import web
from tests.sites.built import BuiltSite

from adaptc.cli.main import run
from adaptc.config.config import ACCESS, FRESHNESS, SERVERS, Config, ServeConfig, SiteConfig
from adaptc.config.rulebook import Level
from adaptc.core import sandbox
from adaptc.core.diagnostics import UsageError
from adaptc.serve import servers as servers_of_adaptc
from adaptc.serve import state_directory
from adaptc.serve.emitter import emit, render
from adaptc.serve.policy import Built, Policy, identifier, make_policy
from adaptc.serve.servers import server_named
from adaptc.serve.servers.apache import count_skips

APACHE, HTACCESS, NGINX = map(server_named, ("apache", "htaccess", "nginx"))
LEVELS = {
    name: Level(name, number, name, promise)
    for name, number, promise in (("full", 4, "same"), ("lossless", 3, "same"), ("poorer", 2, "words"))
}
FOLLOW = MappingProxyType({"br": ("zst", "gz"), "zst": ("gz",), "gz": ()})

# Any text that can be a name on disk; half of it from what servers give a meaning to
TEXT = st.text(
    st.one_of(st.sampled_from("$%{}\\\"'[]*?#;!^|&<> \t\n"), st.characters(codec="utf-8", exclude_characters="\0/"))
)
NAMES = TEXT.filter(lambda text: text not in ("", ".", "..")).map(lambda text: text[:20])
URL_PATHS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="/?#"), min_size=1, max_size=12),
    max_size=2,
).map(lambda names: "".join(f"/{name}" for name in names))


def policy(root: Path, site: SiteConfig | None = None, **serve: object) -> Policy:
    config = Config(output=root, serve=ServeConfig(**serve), site=site or SiteConfig())  # type: ignore[arg-type]
    return make_policy(config, Built(frozenset(LEVELS), ("br", "zst", "gz"), FOLLOW, "/srv/site"), LEVELS)


@pytest.mark.servers
@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    folder=NAMES,
    name=TEXT,
    prefix=URL_PATHS,
    exclude=st.lists(URL_PATHS, max_size=2),
    trees=URL_PATHS.filter(bool),
    index=NAMES.filter(lambda name: not name.endswith("\\")),  # which .htaccess cannot express, and says so
    switches=st.fixed_dictionaries(
        {
            key: st.booleans()
            for key in (
                "flag",
                "buckets",
                "reject",
                "classes",
                "classes_need_flag",
                "hints",
                "expose",
                "nginx_location",
                "nginx_file_cache",
            )
        }
    ),
    freshness=st.sampled_from(FRESHNESS),
    access=st.sampled_from(ACCESS),
    nginx_classes=st.sampled_from(["markers", "geo"]),
    shared_seconds=st.sampled_from([0, 61]),
    nginx_page_rate=st.sampled_from([0, 1, 1_000_000]),
)
def test_the_servers_take_whatever_is_emitted(
    folder: str,
    name: str,
    prefix: str,
    exclude: list[str],
    trees: str,
    index: str,
    switches: dict[str, bool],
    freshness: str,
    access: str,
    nginx_classes: str,
    shared_seconds: int,
    nginx_page_rate: int,
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / folder
        emitted_policy = policy(
            root,
            SiteConfig(index=(index,)),
            name=name or None,
            prefix=prefix,
            exclude=tuple(exclude),
            class_map="txt",
            htaccess_trees=trees,
            nginx_classes=nginx_classes,
            shared_seconds=shared_seconds,
            nginx_page_rate=nginx_page_rate,
            freshness=freshness,
            access=access,
            docroot=root,
            trusted_proxies=("10.0.0.0/8", "2001:db8::1/128"),
            poor_level="poorer",
            **switches,
        )
        state_directory.create(Path(emitted_policy.state), emitted_policy.start, "txt")
        check_nginx(emitted_policy, Path(scratch))
        check_apache(emitted_policy, Path(scratch))


def check_nginx(emitted_policy: Policy, scratch: Path) -> None:
    if emitted_policy.is_strict and set("'\\\n\r") & set(emitted_policy.output):
        with pytest.raises(UsageError, match=r"cannot be written: .* js_import"):
            render(NGINX, emitted_policy)
        return
    texts = render(NGINX, emitted_policy)
    (Path(emitted_policy.output) / "serve").mkdir()
    for name in set(texts) & {"nginx-fresh.js"}:
        (Path(emitted_policy.output) / "serve" / name).write_text(texts[name], "utf-8")
    whole = web.nginx_text(scratch, 8080, scratch, texts["nginx-http.conf"], texts["nginx-server.conf"])
    (scratch / "nginx.conf").write_text(whole, "utf-8")
    check = web.nginx_check(scratch / "nginx.conf", scratch)
    assert check.returncode == 0, check.stderr


def check_apache(emitted_policy: Policy, scratch: Path) -> None:
    if set("\n\r?") & set(emitted_policy.output) or "\n" in emitted_policy.prefix or "\r" in emitted_policy.prefix:
        with pytest.raises(UsageError, match="cannot be written"):
            render(APACHE, emitted_policy)
        return
    texts = render(APACHE, emitted_policy)
    (Path(emitted_policy.output) / "serve").mkdir(exist_ok=True)
    for name in set(texts) - {"apache.conf"}:
        (Path(emitted_policy.output) / "serve" / name).write_text(texts[name], "utf-8")
    index = "" if emitted_policy.server_checks else emitted_policy.index  # the server finds it by itself
    if set("\n\r") & set(index) or index.endswith("\\"):
        with pytest.raises(UsageError, match="htaccess cannot be written"):
            render(HTACCESS, emitted_policy)
        local = ""
    else:
        local = f'<Directory "/srv">\n{render(HTACCESS, emitted_policy)["htaccess"]}</Directory>'
    text = web.apache_text(scratch, 8080, scratch, f"{texts['apache.conf']}\n{local}")
    (scratch / "apache.conf").write_text(text, "utf-8")
    check = web.apache_check(scratch / "apache.conf")
    assert check.returncode == 0, check.stderr


def test_a_configuration_holds_only_what_is_used(tmp_path: Path) -> None:
    for server in ("apache", "nginx"):
        plain = "".join(render(server_named(server), policy(tmp_path)).values())
        assert [
            word
            for word in ("X-Class", "bucket", "Retry-After", "remoteip", "real_ip", "Lua", "js_", "limit_req")
            if word in plain
        ] == []


def test_equal_settings_give_equal_text(tmp_path: Path) -> None:
    assert render(NGINX, policy(tmp_path, buckets=True)) == render(NGINX, policy(tmp_path, buckets=True))


@pytest.mark.parametrize("titles", [("My Site", "my site"), ("a-b", "a_b"), ("é", "è"), ("x" * 40, "x" * 41)])
def test_names_of_sites_stay_apart(titles: tuple[str, str]) -> None:
    assert len({identifier(title) for title in titles}) == 2
    assert all(len(identifier(title)) <= 24 for title in titles)


# ---- skips


def test_skips_count_the_rules_up_to_a_label() -> None:
    rules = ["RewriteRule a - [S=to-end]", "RewriteCond x y", "RewriteRule b -", "# RewriteRule no", "RewriteRule c -"]
    counted = count_skips("\n".join([*rules, "# end:", "RewriteRule d -"])).splitlines()
    assert counted == ["RewriteRule a - [S=2]", *rules[1:], "RewriteRule d -"]


def test_a_skip_without_its_label_is_told(tmp_path: Path) -> None:
    (tmp_path / "apache.conf.j2").write_text("RewriteRule ^ - [S=to-nowhere]\n")
    with pytest.raises(UsageError, match="a skip to nowhere"):
        render(APACHE, policy(tmp_path, templates=tmp_path))


# ---- templates of the user


def test_a_template_of_the_user_replaces_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "nginx-http.conf.j2").write_text("# for {{ p.name }}\n")
    texts = render(NGINX, policy(tmp_path, templates=tmp_path, name="mine"))
    assert texts["nginx-http.conf"] == "# for ad_mine\n"
    assert "location" in texts["nginx-server.conf"]


def test_a_new_process_finds_the_templates_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    texts = []
    for compiles in (Environment.compile, lambda *_: pytest.fail("a template was compiled")):
        monkeypatch.setattr(sandbox, "_CODES", {})
        monkeypatch.setattr(Environment, "compile", compiles)
        texts.append(render(NGINX, policy(tmp_path)))
    assert texts[0] == texts[1]


def test_a_wrong_template_is_told(tmp_path: Path) -> None:
    (tmp_path / "nginx-http.conf.j2").write_text("{{ nothing }}")
    with pytest.raises(UsageError, match=r"template nginx-http\.conf\.j2: 'nothing' is undefined"):
        render(NGINX, policy(tmp_path, templates=tmp_path))


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.popen('touch FILE').read() }}",
        "{{ p.serve.templates.joinpath('x').write_text('x') }}",
        "{{ p.serve.templates.joinpath('nginx-http.conf.j2').unlink() }}",
        "{{ p.serve.templates.joinpath('x').touch() }}",
        "{{ ('%s' | attr('format'))('x') ~ p.with_output.__globals__ }}",
        "{{ classes.clear() }}{{ media_types.update({'a': 'b'}) }}",
        "{{ range(10000000) | list }}",
    ],
)
def test_a_template_runs_nothing(tmp_path: Path, source: str) -> None:
    (tmp_path / "nginx-http.conf.j2").write_text(source.replace("FILE", str(tmp_path / "x")))
    with pytest.raises(UsageError, match=r"template nginx-http\.conf\.j2"):
        render(NGINX, policy(tmp_path, templates=tmp_path))
    assert [file.name for file in tmp_path.glob("*")] == ["nginx-http.conf.j2"]


# ---- the command, and what it refuses


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path).write({"index.html": "<!DOCTYPE html><html lang=en><title>A</title><p>a</p></html>"})
    site.build()
    return site


def test_the_command_writes_files_and_says_so(site: BuiltSite, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["emit", "all", "-o", str(site.output)]) == 0
    said = capfd.readouterr().out
    for name in ("apache.conf", "nginx-http.conf", "nginx-server.conf", "nginx-location.conf", "actions.txt"):
        assert f"wrote {site.output}/serve/{name}\n" in said
    assert f"switch it on: touch {site.output}/run/opt.do\n" in said
    assert (site.output / "run" / "m").is_dir()


def test_a_second_run_changes_nothing(site: BuiltSite) -> None:
    emit(site.config(serve__buckets=True), ["apache", "nginx"])
    before = site.stamps()
    emit(site.config(serve__buckets=True), ["apache", "nginx"])
    assert site.stamps() == before


def test_a_build_emits_what_it_is_told_to(site: BuiltSite) -> None:
    site.build(serve__emit=("nginx", "actions"))
    assert sorted(file.name for file in (site.output / "serve").iterdir() if file.suffix != ".dbm") == [
        "actions.json",
        "actions.map",
        "actions.txt",
        "knobs.json",
        "nginx-http.conf",
        "nginx-location.conf",
        "nginx-server.conf",
    ]


def test_the_output_may_lie_elsewhere_on_the_server(site: BuiltSite) -> None:
    emit(site.config(serve__output="/srv/www/opt"), ["apache"])
    text = (site.output / "serve" / "apache.conf").read_text()
    assert "/srv/www/opt/run/opt.do" in text
    assert str(site.output) not in text
    assert not (site.output / "run").exists()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"level": "losless"}, "serve.level: the last build holds no level losless, did you mean lossless?"),
        ({"poor_level": "moderate"}, "serve.poor_level: the last build holds no level moderate"),
        ({"htaccess_trees": ""}, "serve.htaccess_trees: the trees need a path of their own"),
    ],
)
def test_what_cannot_be_served_is_refused(site: BuiltSite, settings: dict[str, str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        emit(site.config(**{f"serve__{key}": value for key, value in settings.items()}), ["apache"])


def test_a_level_may_not_be_called_like_a_directory_of_ours(tmp_path: Path) -> None:
    levels = {**LEVELS, "run": dataclasses.replace(LEVELS["full"], name="run")}
    with pytest.raises(UsageError, match="the level run has the name of a directory"):
        make_policy(Config(output=tmp_path), Built(frozenset(levels), ("br",), {"br": ()}, "/x"), levels)


def test_without_a_build_there_is_nothing_to_emit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["emit", "nginx", "-o", str(tmp_path)]) == 2
    assert "there is no build in" in capfd.readouterr().err


def test_a_server_is_a_module_a_template_and_a_name() -> None:
    modules = {name for _, name, _ in pkgutil.iter_modules(servers_of_adaptc.__path__)}
    assert modules == set(SERVERS)
    assert [server.name for server in servers_of_adaptc.all_servers()] == list(SERVERS)
    page = (DOCS / "serving.md").read_text()
    for server in servers_of_adaptc.all_servers():
        assert f"`adaptc emit {server.name}`" in page or f"`{server.name}`" in page
        assert server.host in (None, *SERVERS)
        for file in server.files:
            assert resources.files("adaptc.templates").joinpath(f"{file.name}.j2").is_file()


# ---- the state directory


def test_markers_follow_the_buckets(tmp_path: Path) -> None:
    state_directory.create(tmp_path, "lossless", "txt")
    assert list((tmp_path / "m").iterdir()) == []
    state_directory.write_buckets(tmp_path, {"00": "poorer", "01": "lossless"}, "lossless")
    assert [file.name for file in (tmp_path / "m").iterdir()] == ["00.poorer"]
    assert (tmp_path / "buckets.txt").read_text() == "00 poorer\n01 lossless\n"


def test_what_is_there_stays(tmp_path: Path) -> None:
    state_directory.create(tmp_path, "full", "txt")
    state_directory.write_buckets(tmp_path, {"00": "poorer"}, "full")
    state_directory.create(tmp_path, "full", "txt")
    assert (tmp_path / "buckets.txt").read_text() == "00 poorer\n"


# ---- what daemons can set


def test_what_daemons_can_set_stands_next_to_the_configuration(site: BuiltSite) -> None:
    emit(site.config(serve__buckets=True, serve__reject=True, serve__status="127.0.0.1:8901"), ["apache"])
    knobs = state_directory.read_knobs(site.output)
    assert knobs is not None
    assert (knobs.servers, knobs.buckets, knobs.reject, knobs.flag) == (("apache",), True, True, True)
    assert knobs.ladder == knobs.levels == ("full", "lossless")
    assert (knobs.state, knobs.status) == (str(site.output / "run"), "http://127.0.0.1:8901/?auto")
    emit(site.config(serve__reject=True), ["nginx"])
    knobs = state_directory.read_knobs(site.output)
    assert knobs is not None
    assert (knobs.buckets, knobs.reject, knobs.reachable) == (False, False, ("lossless",))  # no buckets, no level 0
    (site.output / state_directory.KNOBS).write_text("{}")
    assert state_directory.read_knobs(site.output) is None


NUMBERS = {"full": 5, "lossless": 4, "moderate": 3, "extreme": 1, "text": None, "web": None}


def chosen(tmp_path: Path, **serve: Any) -> Policy:
    levels = {
        name: dataclasses.replace(
            LEVELS["full"], name=name, number=NUMBERS[name], promise="same" if name in ("full", "lossless") else "words"
        )
        for name in NUMBERS
    }
    config = Config(output=tmp_path, serve=ServeConfig(**serve))
    return make_policy(config, Built(frozenset(levels), ("br",), {"br": ()}, "/x"), levels)


def test_the_ladder_ends_with_text_and_is_what_the_configuration_says(tmp_path: Path) -> None:
    assert chosen(tmp_path).ladder == ("full", "lossless", "moderate", "extreme", "text")
    assert chosen(tmp_path, ladder=("text", "full")).ladder == ("full", "text")
    with pytest.raises(
        UsageError, match=r"serve\.ladder: the last build holds no level moderat, did you mean moderate"
    ):
        chosen(tmp_path, ladder=("moderat",))


def test_a_flag_is_for_the_worst_day_and_what_is_always_on_is_for_all(tmp_path: Path) -> None:
    assert chosen(tmp_path, ladder=("full", "lossless", "moderate")).level == "moderate"
    assert chosen(tmp_path, flag=False).level == "lossless"


def test_a_class_that_needs_no_flag_acts_for_poor_clients_alone(tmp_path: Path) -> None:
    found = chosen(tmp_path, classes=True, buckets=True, classes_need_flag=False, poor_level="extreme")
    assert [found.tree("idle", asked) for asked in ("poor", "normal", "rich", "moderate")] == ["extreme", *["off"] * 3]
    assert [found.tree("moderate", asked) for asked in ("poor", "rich")] == ["extreme", "moderate"]  # the lower of both
    assert found.tree("text", "poor") == "text"
    assert not chosen(tmp_path, classes=True).acts_without_flag
