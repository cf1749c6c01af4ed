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

MANUAL = (Path(__file__).parent.parent / "docs/static-hosts.md").read_text("utf-8")
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


def commands(section: str) -> str:
    """The commands of a section."""
    found = re.search(rf"\n### {re.escape(section)}\n.*?```sh\n(.*?)```", MANUAL, re.DOTALL)
    assert found is not None
    return found[1]


def all_text(page: Path) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.read_text("utf-8")).split())


@pytest.mark.parametrize("name", PROJECTS)
def test_a_generated_site_is_adapted_and_exported(name: str, tmp_path: Path, program: Callable[[str], str]) -> None:
    for path, text in PROJECTS[name].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool, module in (("adaptc", "adaptc.cli"), ("mkdocs", "mkdocs"), ("sphinx-build", "sphinx")):
        (tools / tool).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m {module} "$@"\n')
        (tools / tool).chmod(0o755)
    script = commands(name)
    if not (tools / script.split()[0]).exists():
        program(script.split()[0])
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made, public = tmp_path / "site", tmp_path / "public"
    files = [file.relative_to(made) for file in made.rglob("*") if file.is_file() and "/." not in str(file)]
    assert [each for each in files if not (public / each).is_file()] == []
    assert WORDS in all_text(public / "index.html")
    assert any((public / each).stat().st_size < (made / each).stat().st_size for each in files)


def test_every_recipe_ends_with_the_same_two_commands() -> None:
    for section in re.findall(r"^### (.+)$", MANUAL, re.MULTILINE):
        lines = commands(section).splitlines()
        site = "out" if section == "Next.js" else "site"
        assert lines[-2:] == [f"adaptc build {site} -o opt --level web", "adaptc export web public"]
