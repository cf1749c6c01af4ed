"""The plugins of generators written in Python, with the generators themselves where they are installed."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.places import ROOT

from adaptc.core.diagnostics import UsageError
from adaptc.plugins import adapt_in_place, restore

WORDS = "A heron stands in the shallow water and waits. " * 40
PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n  <title>{0}</title>\n  <link rel=stylesheet href=style.css>\n  <p>{0}  " + WORDS
)
THEME = """<!DOCTYPE html>
<html lang=en>
  <head><title>{{ config.site_name }}</title></head>
  <body>
{{ page.content }}
  </body>
</html>
"""
SHEET = ".used  {  color : #ff0000 ; }\n" * 40


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def texts(site: Path) -> dict[str, str]:
    files = (file for file in site.rglob("*") if file.is_file() and file.suffix in (".html", ".css"))
    return {file.relative_to(site).as_posix(): file.read_text("utf-8", "replace") for file in files}


def generate(folder: Path, *command: str) -> str:
    """Run a generator with adaptc as if it had been installed: with the entry points of setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    points = parser["options.entry_points"]["mkdocs.plugins"].strip()
    installed = folder.parent / "installed" / "of_adaptc-1.0.dist-info"
    installed.mkdir(parents=True, exist_ok=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: of-adaptc\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[mkdocs.plugins]\n{points}\n")
    surroundings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(installed.parent), os.environ.get("PYTHONPATH")))),
        "NO_MKDOCS_2_WARNING": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def is_adapted(site: Path, plain: Path, page: str) -> bool:
    """Whether a page has its words, and less space between its elements than the generator's."""
    new, old = (texts(folder)[page] for folder in (site, plain))
    return WORDS.strip() in new and new.count(">\n") < old.count(">\n")


# ---- in place


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """What a generator writes."""
    folder = tmp_path / "public"
    folder.mkdir()
    write(folder, {"index.html": PAGE.format("start"), "about.html": PAGE.format("about"), "style.css": SHEET})
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


def adapt(site: Path) -> list[str]:
    said: list[str] = []
    adapt_in_place(site, site.parent / "kept", said.append, {"level": "lossless", "browser": False})
    return said


def test_a_site_is_replaced_and_not_adapted_twice(site: Path) -> None:
    (site / ".well-known").mkdir()
    write(site / ".well-known", {"security.txt": "Contact: mailto:a@example.org\n"})
    (said,) = adapt(site)
    assert said.startswith("a page takes ") and said.endswith("report.html")
    first = texts(site)
    assert len(first["index.html"]) < len(PAGE.format("start"))
    assert (site / ".well-known/security.txt").is_file()
    assert (site.parent / "kept/site/index.html").read_text() == PAGE.format("start")
    adapt(site)  # a generator that had nothing to do
    assert texts(site) == first
    write(site, {"about.html": PAGE.format("other")})  # one that writes what changed
    adapt(site)
    assert texts(site).keys() == first.keys()
    assert texts(site)["index.html"] == first["index.html"]
    assert "other" in texts(site)["about.html"]
    assert len(texts(site)["about.html"]) < len(PAGE.format("other"))
    write(site, {"index.html": PAGE.format("start"), "about.html": PAGE.format("other"), "style.css": SHEET})
    adapt(site)  # one that writes everything
    assert texts(site)["index.html"] == first["index.html"]


def test_the_generators_own_files_come_back(site: Path) -> None:
    """What was written into the site meanwhile stays."""
    adapt(site)
    write(site, {"about.html": PAGE.format("other")})
    restore(site, site.parent / "kept")
    assert texts(site)["index.html"] == PAGE.format("start")
    assert texts(site)["about.html"] == PAGE.format("other")
    restore(site, site.parent / "none")


def test_what_the_generator_removed_is_gone(site: Path) -> None:
    """And so are source maps, which an export leaves out."""
    write(site, {"style.css.map": "{}"})
    adapt(site)
    assert "style.css.map" not in texts(site)
    (site / "about.html").unlink()
    adapt(site)
    assert "about.html" not in texts(site)
    assert not (site.parent / "kept/site/about.html").exists()


def test_a_site_that_cannot_be_built_stays(tmp_path: Path) -> None:
    folder = tmp_path / "public"
    folder.mkdir()
    write(folder, {"notes.txt": "no page\n"})
    with pytest.raises(UsageError, match="holds no page"):
        adapt(folder)
    assert (folder / "notes.txt").read_text() == "no page\n"


# ---- the generators


@needs("mkdocs")
def test_mkdocs(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/index.md").write_text(f"# Herons\n\n{WORDS}\n")
    (folder / "theme").mkdir()
    (folder / "theme/main.html").write_text(THEME)  # that of MkDocs has a megabyte of fonts, scripts and sheets
    own = "site_name: Herons\nsite_url: https://user.example/herons/\ntheme: {name: null, custom_dir: theme}\n"
    (folder / "mkdocs.yml").write_text(own + "plugins: [{adaptc: {enabled: false}}]\n")
    assert "a page takes" not in generate(folder, "mkdocs", "build", "-d", "plain")
    (folder / "mkdocs.yml").write_text(own + "plugins: [adaptc]\n")
    said = generate(folder, "mkdocs", "build")
    assert said.index("-  adaptc: adapting the site, which") < said.index("-  adaptc: a page takes ")
    assert is_adapted(folder / "site", folder / "plain", "index.html")
    assert (folder / ".cache/adaptc/opt/report.html").is_file()
    generate(folder, "mkdocs", "build")
    assert is_adapted(folder / "site", folder / "plain", "index.html")


@needs("mkdocs")
def test_mkdocs_serves_what_it_generates(tmp_path: Path) -> None:
    from adaptc.plugins import MkDocsPlugin

    plugin = MkDocsPlugin()
    assert plugin.load_config({}) == ([], [])
    plugin.on_startup(command="serve", dirty=False)
    plugin.on_post_build(config=None)


@needs("sphinx")
def test_sphinx(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "index.rst").write_text(f"Herons\n======\n\n{WORDS}\n")
    (folder / "conf.py").write_text('project = "Herons"\n')
    generate(folder, "sphinx", "-q", "-b", "html", "-d", "trees", ".", "plain")
    (folder / "conf.py").write_text('project = "Herons"\nextensions = ["adaptc.plugins"]\n')
    for _ in range(2):  # the second time Sphinx writes what its target's time seems to ask for
        assert "a page takes" in generate(folder, "sphinx", "-b", "html", ".", "html")
        assert is_adapted(folder / "html", folder / "plain", "index.html")
    assert "a page takes" not in generate(folder, "sphinx", "-b", "text", ".", "text")


@needs("pelican", "markdown")
def test_pelican(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "content").mkdir(parents=True)
    (folder / "content/heron.md").write_text(f"Title: Herons\nDate: 2026-01-02\n\n{WORDS}\n")
    settings = 'SITENAME = "Herons"\nAUTHOR = "A"\nTIMEZONE = "UTC"\nDEFAULT_LANG = "en"\n'
    (folder / "pelicanconf.py").write_text(settings)
    generate(folder, "pelican", "content", "-o", "plain", "-s", "pelicanconf.py")
    (folder / "pelicanconf.py").write_text(f'{settings}PLUGINS = ["adaptc.plugins"]\n')
    for _ in range(2):
        generate(folder, "pelican", "content", "-o", "output", "-s", "pelicanconf.py")
        assert is_adapted(folder / "output", folder / "plain", "herons.html")
