"""``adaptc completion``: the script that makes a shell complete the command line."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from adaptc.cli.command import Invocation, command


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
