"""About adaptc itself: ``version``, which a bug report needs, and ``completion``, by which shells complete commands."""

from __future__ import annotations

import importlib.metadata
import platform
import re

import click
from click.shell_completion import get_completion_class

from adaptc.cli.command import Invocation, command
from adaptc.cli.render import print_json, print_text, table
from adaptc.core.version import VERSION


@command("version")
def version(invocation: Invocation) -> None:
    """Print the versions of adaptc and its libraries.

    The bytes that a build writes depend on them, and a bug report needs them.
    """
    libraries = library_versions()
    if invocation.format == "json":
        print_json({"adaptc": VERSION, "python": platform.python_version(), "libraries": libraries})
        return
    rows = [["adaptc", VERSION], ["Python", platform.python_version()], *map(list, libraries.items())]
    print_text(table(rows), invocation)


def library_versions() -> dict[str, str]:
    """Return the version of each library that adaptc requires, by name; "missing" if it is not installed."""
    return {name: _installed(name) for name in sorted(_required(), key=str.lower)}


def _required() -> list[str]:
    """Return the required distributions, extras left out; none if adaptc runs without being installed."""
    try:
        requirements = importlib.metadata.requires("adaptc") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [_distribution(line) for line in requirements if "extra ==" not in line]


def _distribution(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return match[0] if match else requirement


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(_invocation: Invocation, shell: str) -> None:
    """Print the completion script of a shell.

    For bash: adaptc completion bash > ~/.local/share/bash-completion/completions/adaptc
    """
    completion_class = get_completion_class(shell)
    if completion_class is None:  # click has these three; a release without one would be a change to notice
        raise LookupError(f"click completes no {shell}")
    click.echo(
        completion_class(click.get_current_context().find_root().command, {}, "adaptc", "_ADAPTC_COMPLETE").source()
    )
