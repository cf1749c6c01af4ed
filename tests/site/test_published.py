"""The URL under which a docroot is published, read from its pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from adaptc.cli.main import run
from adaptc.cli.site_options import with_app_levels
from adaptc.site.published import App, find_app, find_base_url
from adaptc.workflow.configuration import load_config

LINKS = (
    '<link rel=stylesheet href="/repo/s.css"><img src=/repo/a.gif><a href=\'/repo/guide/\'>G</a><a href="/repo/b">B</a>'
)
FILES = {"s.css": "", "a.gif": "", "guide/index.html": "<title>g</title>", "b.html": "<title>b</title>"}


def found(root: Path, index: str, **files: str) -> str | None:
    for name, text in {**FILES, "index.html": f"<!doctype html><title>t</title>{index}", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return find_base_url(root, ("index.html", "index.htm"))


def test_the_path_is_where_addresses_lead(tmp_path: Path) -> None:
    assert found(tmp_path, LINKS) == "http://site.invalid/repo/"


@pytest.mark.parametrize(
    "declared",
    [
        "<link rel=canonical href=https://user.example/repo/>",
        '<link rel="canonical" href="https://user.example/repo">',
        '<meta property="og:url" content="HTTPS://user.example/repo/index.html">',
    ],
)
def test_the_host_is_that_of_what_a_page_says_of_itself(tmp_path: Path, declared: str) -> None:
    assert found(tmp_path, declared + LINKS) == "https://user.example/repo/"


def test_a_file_that_is_not_there_is_no_doubt(tmp_path: Path) -> None:
    """An icon that the page names, and nobody made."""
    icon = "<link rel=icon href=/repo/favicon.svg>"
    assert found(tmp_path / "few", icon + LINKS) is None  # of four addresses one leads nowhere
    several = "".join(f"<a href=/repo/{name}>x</a>" for name in ("guide/index.html", "b.html"))
    assert found(tmp_path / "several", icon + several + LINKS) == "http://site.invalid/repo/"
    declared = "<link rel=canonical href=https://user.example/repo/>"
    gone = "<a href=/repo/gone>x</a><a href=/repo/lost>y</a>"
    assert found(tmp_path / "declared", declared + icon + gone + LINKS) == "https://user.example/repo/"
    many = "".join(f"<a href=/repo/gone/{number}>x</a>" for number in range(9))
    assert found(tmp_path / "many", declared + many + LINKS) is None


WITH_HOST = LINKS.replace("/repo/", "https://user.example/repo/")


@pytest.mark.parametrize(
    ("page", "declared"),
    [
        ("index.html", "https://user.example/repo/"),
        ("index.html", "https://user.example/repo"),
        ("index.html", "HTTPS://User.example/repo/index.html"),
        ("guide/index.html", "https://user.example/repo/guide/"),
        ("guide/index.html", "https://user.example/repo/guide"),
        ("b.html", "https://user.example/repo/b"),
        ("b.html", "https://user.example/repo/b.html?x"),
    ],
)
def test_files_are_named_with_their_host(tmp_path: Path, page: str, declared: str) -> None:
    text = f"<!doctype html><title>t</title><link rel=canonical href={declared}>{WITH_HOST}"
    assert found(tmp_path, WITH_HOST, **{page: text}) == "https://user.example/repo/"


def test_files_at_the_root_are_named_with_their_host(tmp_path: Path) -> None:
    declared = '<link rel="canonical" href="https://user.example/">'
    links = WITH_HOST.replace("/repo/", "/")
    assert found(tmp_path / "root", declared + links) == "https://user.example/"
    assert found(tmp_path / "undeclared", links) is None
    assert found(tmp_path / "other", declared.replace("user", "other") + links) is None
    assert found(tmp_path / "gone", declared + links.replace("example/", "example/gone/")) is None
    # addresses that pages declare for themselves name no file of theirs
    pages = {name: f"<link rel=canonical href=https://user.example/{name}>" for name in ("b.html", "c.html", "d.html")}
    assert found(tmp_path / "canonical", declared, **pages) is None


def test_an_address_elsewhere_is_not_that_of_the_site(tmp_path: Path) -> None:
    other = "<link rel=canonical href=https://user.example/other/>"
    assert found(tmp_path, other + LINKS) == "http://site.invalid/repo/"


def test_a_path_of_several_steps(tmp_path: Path) -> None:
    assert found(tmp_path, LINKS.replace("/repo/", "/docs/v2/")) == "http://site.invalid/docs/v2/"


@pytest.mark.parametrize(
    "links",
    [
        LINKS.replace("/repo/", "/"),  # they lead somewhere as they are
        LINKS.replace("/repo/", ""),
        '<a href="/repo/b">B</a><img src=/repo/a.gif>',  # too few to tell
        "".join(f"<a href=/gone/{number}>x</a>" for number in range(9)),  # to nowhere
        LINKS
        + "".join(f"<a href=/guide/?{number}>x</a><a href=/b#{number}>y</a>" for number in range(3))
        + "<img src=/a.gif>"
        "<a href=/s.css>s</a><a href=/guide>g</a><a href=/b.html>b</a>",  # some say this, some that
        LINKS.replace("/repo/", "//repo/"),  # another host
        "<img src=/../../etc/passwd><img src=/repo/../../x><img src=/%00>",
    ],
)
def test_what_pages_are_not_sure_of_is_not_read(tmp_path: Path, links: str) -> None:
    assert found(tmp_path, links) is None


def test_what_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert find_base_url(tmp_path / "none", ("index.html",)) is None


def test_a_build_says_what_it_read_and_the_option_wins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    found(site, LINKS, **{"s.css": "p { color: red }\n", "a.gif": "GIF89a"})
    monkeypatch.chdir(tmp_path)
    assert run(["build", "site", "--effort", "fast", "-j", "1"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("built as published at http://site.invalid/repo/")
    assert "missing-target" not in said.out + said.err
    assert run(["check"]) == 0
    assert run(["emit", "nginx"]) == 0
    served = (tmp_path / "opt" / "serve" / "nginx-server.conf").read_text()
    assert 'location "/repo/" {' in served
    assert "$ad_site_uri" in served  # named for the docroot, not for a host that was made up
    assert run(["explain", "/repo/guide/"]) == 0
    capsys.readouterr()
    assert run(["build", "site", "--effort", "fast", "-j", "1", "--base-url", "https://example.org/"]) == 0
    said = capsys.readouterr()
    assert "built as published" not in said.out + said.err
    assert "missing-target" in said.out + said.err


WORDS = "<main><p>" + "Ships are in the harbour. " * 9 + "</main>"


@pytest.mark.parametrize(
    ("page", "app"),
    [
        (f"<div id=__docusaurus>{WORDS}</div>", App("Docusaurus", True)),
        (
            f'<meta name="generator" content="mkdocs-1.6.1, mkdocs-material-9.8.2">{WORDS}',
            App("Material for MkDocs", True),
        ),
        (f"{WORDS}<script>self.__next_f.push([1])</script>", App("Next.js", True)),
        ("<div id=__nuxt></div><script src=a.js></script>", App("Nuxt", False)),
        (
            "<div id=root></div><script type=module crossorigin src=/assets/index-DSXtc1GT.js></script>",
            App("Vite", False),
        ),
        (f"{WORDS}<script type=module src=/assets/index-DSXtc1GT.js></script>", None),
        ("<title>Shop</title><div id=app></div><script src=bundle.js></script>", App("An application", False)),
        (f"{WORDS}<script src=jquery.js></script>", None),
        (f"<!--[-->{WORDS}<script type=module src=/assets/index-DSXtc1GT.js></script>", App("An application", True)),
        (f"<p q:container=paused>{WORDS}<script src=/build/q-naDMFAHy.js></script>", App("An application", True)),
        (
            f"<div id=__root>{WORDS}</div><script defer src=/js/index.4d4324f7c1.js></script>",
            App("An application", True),
        ),
        (f"<!-- menu -->{WORDS}<script src=/build/q-naDMFAHy.js></script>", None),
        (
            f'{WORDS}<script id="vike_pageContext" type="application/json">{{}}</script><script src=/e.js></script>',
            App("An application", True),
        ),
        (f"<div id=app data-page='{{}}'>{WORDS}</div><script src=/e.js></script>", App("An application", True)),
        (f"{WORDS}<script type=module src=/_astro/page.B1D-nYk3.js></script>", App("Astro", True)),
        ("<app-root></app-root><script src=main-4WRA7LQF.js type=module></script>", App("Angular", False)),
    ],
)
def test_the_framework_of_a_site_is_told_and_whether_its_pages_hold_their_words(tmp_path, page, app):
    for name in ("index.html", "about/index.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<!doctype html><title>T</title>{page}")
    assert find_app(tmp_path, ("index.html",)) == app


def test_few_pages_of_a_framework_do_not_make_a_site_one(tmp_path):
    for name in ("a.html", "b.html", "c.html"):
        (tmp_path / name).write_text(WORDS)
    (tmp_path / "d.html").write_text(f"<div id=__docusaurus>{WORDS}</div>")
    assert find_app(tmp_path, ("index.html",)) is None


def test_a_build_says_what_the_site_is_and_has_levels_for_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    page = f"<!doctype html><title>T</title><div id=__docusaurus>{WORDS}</div><script src=main.75c38abc.js></script>"
    (tmp_path / "site/index.html").write_text(page)
    (tmp_path / "site/main.75c38abc.js").write_text("".join(f"f{7919 * n % 10007}();" for n in range(3000)))
    assert run(["build", "site", "--effort", "fast", "-j", "1"]) == 0
    assert capsys.readouterr().out.startswith("Docusaurus, prerendered: ")
    assert "<script src" not in (tmp_path / "opt/unhydrated/id/index.html").read_text()
    assert run(["check"]) == 0
    capsys.readouterr()
    assert run(["build", "site", "--effort", "fast", "-j", "1", "--level", "full"]) == 0
    assert not (tmp_path / "opt/unhydrated").exists()
    assert run(["init", "--docroot", "site", "--profile", "crowd"]) == 0
    text = (tmp_path / "adaptc.toml").read_text()
    assert text.count('["full", "lossless", "moderate", "unhydrated", "extreme", "text"]') == 2


def test_levels_that_a_file_names_are_all_there_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text(f"<div id=__docusaurus>{WORDS}</div>")
    config = with_app_levels(load_config(overrides={"docroot": "site"}))
    assert config.build.levels == ("full", "lossless", "unhydrated")
    (tmp_path / "adaptc.toml").write_text('docroot = "site"\n[build]\nlevels = ["full", "lossless"]\n')
    assert with_app_levels(load_config()).build.levels == ("full", "lossless")


def test_a_build_says_that_scripts_write_the_pages(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "index.html").write_text("<title>T</title><app-root></app-root><script src=main-4WRA7LQF.js></script>")
    assert run(["build", ".", "-o", "../opt", "--effort", "fast", "-j", "1", "--level", "full"]) == 0
    assert capsys.readouterr().out.startswith("Angular, whose pages are written by scripts: add --browser")
