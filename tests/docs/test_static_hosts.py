"""docs/static-hosts.md, followed to the letter: what each generator makes becomes a directory to publish."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.places import DOCS

MANUAL = (DOCS / "static-hosts.md").read_text("utf-8")
WORDS = "A page about herons, with words of its own."

# What a person has before the first command: the least project of each generator
PROJECTS = {
    "MkDocs": {"mkdocs.yml": "site_name: Herons\n", "docs/index.md": f"# Herons\n\n{WORDS}\n"},
    "Sphinx": {"docs/conf.py": "project = 'Herons'\n", "docs/index.rst": f"Herons\n======\n\n{WORDS}\n"},
    "Hugo": {
        "config.toml": 'baseURL = "https://example.org/"\ntitle = "Herons"\n'
        'disableKinds = ["taxonomy", "term", "RSS", "sitemap"]\n',
        "content/_index.md": f"---\ntitle: Herons\n---\n{WORDS}\n",
        "layouts/index.html": "<!DOCTYPE html>\n<html lang=en>\n<title>t</title>\n\n\n{{ .Content }}\n</html>\n",
    },
    "Jekyll": {
        "index.md": f"---\ntitle: Herons\nlayout: page\n---\n{WORDS}\n",
        "_layouts/page.html": "<!DOCTYPE html>\n<html lang=en>\n<title>t</title>\n\n\n  {{ content }}\n</html>\n",
        "_config.yml": "exclude: [opt, bin]\n",
    },
}

# Those of npm: the packages and the least project
NPM_PROJECTS = {
    "Eleventy": (
        ["@11ty/eleventy@3"],
        {
            "index.md": f"---\nlayout: page.html\n---\n{WORDS}\n",
            "_includes/page.html": "<!doctype html>\n<html lang=en>\n<title>t</title>\n<style>\n  p {\n"
            "    color : #aabbcc ;\n    margin : 0px ;\n  }\n</style>\n\n\n  {{ content }}\n</html>\n",
            ".eleventyignore": "opt\npublic\n",
        },
    ),
    "Astro": (
        ["astro@5"],
        {
            "src/pages/index.astro": "---\n---\n<!doctype html>\n<html lang=en>\n<head>\n<title>t</title>\n"
            f"<body>\n\n    <p>{WORDS}</p>\n\n\n</body>\n</html>\n",
            "astro.config.mjs": "export default { compressHTML: false }\n",
        },
    ),
    "Next.js": (
        ["next@16", "react@19", "react-dom@19"],
        {
            "next.config.mjs": 'export default { output: "export" }\n',
            "pages/index.jsx": f"export default function Home() {{ return <p>{WORDS}</p> }}\n",
        },
    ),
}


def commands(section: str) -> str:
    """The commands of a section."""
    found = re.search(rf"\n### {re.escape(section)}\n.*?```sh\n(.*?)```", MANUAL, re.DOTALL)
    assert found is not None
    return found[1]


def all_text(page: Path) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.read_text("utf-8")).split())


def prepare(folder: Path, files: dict[str, str]) -> None:
    """Write a project, and the programs that a person has installed."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    tools = folder / "bin"
    tools.mkdir()
    for tool, module in (("adaptc", "adaptc"), ("mkdocs", "mkdocs"), ("sphinx-build", "sphinx")):
        (tools / tool).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m {module} "$@"\n')
        (tools / tool).chmod(0o755)


def follow(folder: Path, script: str, output: str = "site") -> None:
    """Run the commands, and see what they publish."""
    quiet = {"ASTRO_TELEMETRY_DISABLED": "1", "NEXT_TELEMETRY_DISABLED": "1", "CHROME_PATH": "no-browser"}
    environment = {**os.environ, **quiet, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made, public = folder / output, folder / "public"
    files = [file.relative_to(made) for file in made.rglob("*") if file.is_file() and "/." not in str(file)]
    assert [each for each in files if each.suffix != ".map" and not (public / each).is_file()] == []
    assert WORDS in all_text(public / "index.html")
    assert any((public / each).stat().st_size < (made / each).stat().st_size for each in files)


@pytest.mark.parametrize("name", PROJECTS)
def test_a_generated_site_is_adapted_and_exported(name: str, tmp_path: Path, program: Callable[[str], str]) -> None:
    prepare(tmp_path, PROJECTS[name])
    script = commands(name)
    if not (tmp_path / "bin" / script.split()[0]).exists():
        program(script.split()[0])
    follow(tmp_path, script)


@pytest.mark.npm
@pytest.mark.parametrize("name", NPM_PROJECTS)
def test_a_site_that_node_generates_is_adapted_and_exported(name: str, tmp_path: Path) -> None:
    packages, files = NPM_PROJECTS[name]
    prepare(tmp_path, {**files, "package.json": '{"private": true}'})
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *packages], cwd=tmp_path, check=True)
    follow(tmp_path, commands(name), "out" if name == "Next.js" else "site")


def test_every_recipe_ends_with_the_same_command() -> None:
    for section in re.findall(r"^### (.+)$", MANUAL, re.MULTILINE):
        lines = commands(section).splitlines()
        site = "out" if section == "Next.js" else "site"
        assert lines[-1] == f"adaptc web {site} public"
