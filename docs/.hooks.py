"""Hooks of MkDocs: the site has pages from the rest of the repository, and the help of all commands."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from adaptc.cli.crawl_options import ALL_OPTIONS
from adaptc.cli.main import COMMANDS, cli

ROOT = Path(__file__).parent.parent
# Pages outside docs/, by their place in the repository, which is that in the site but for the README
EXTRA = ("CHANGELOG.md", "benchmarks/RESULTS.md", "benchmarks/README.md", "benchmarks/labels/README.md")
# What the theme lacks for readers who cannot see well, or use no mouse
ACCESSIBLE = ("accessible.css", "accessible.js")
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages from outside ``docs/``, the recipes for deployment as files, and the page of commands."""
    recipes = [path.relative_to(ROOT).as_posix() for path in (ROOT / "examples/deploy").rglob("*") if path.is_file()]
    for path in (*EXTRA, *recipes):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / "README.md")))
    files.append(File.generated(config, "commands.md", content=_commands()))
    for name in ACCESSIBLE:
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(ROOT / f"docs/.{name}")))
    return files


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the search, which the theme leaves without a name."""
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">')


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Point links to the places of their files in the site; text stays where there is none."""
    place = page.file.src_uri
    source = "README.md" if place == "index.md" else place if place in EXTRA else f"docs/{place}"

    def link(match: re.Match[str]) -> str:
        text, target, fragment = match.groups()
        found = _in_site(posixpath.normpath(posixpath.join(posixpath.dirname(source), target)))
        if files.get_file_from_path(found) is None:
            return text
        return f"[{text}]({posixpath.relpath(found, posixpath.dirname(place) or '.')}{fragment or ''})"

    return _LINK.sub(link, markdown)


def _in_site(path: str) -> str:
    """Return the place in the site of a file of the repository."""
    if path.startswith("docs/man"):
        return "commands.md"
    if path == "examples/deploy":
        return "deployment.md"
    return "index.md" if path == "README.md" else path.removeprefix("docs/")


def _commands() -> str:
    parts = [
        "# Commands\n",
        "What `adaptc COMMAND --help` says, of `crawl` `--help-all`. Manual pages, `man adaptc-COMMAND`, say more.\n",
    ]
    context = click.Context(cli, info_name="adaptc")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        own = click.Context(command, parent=context, info_name=name)
        own.meta[ALL_OPTIONS] = True
        text = command.get_help(own)
        parts.append(f"## adaptc {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)
