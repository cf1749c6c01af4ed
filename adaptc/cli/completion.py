"""``adaptc completion``: the script that makes a shell complete the command line."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from adaptc.cli.frame import Frame, command


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(_frame: Frame, shell: str) -> None:
    """Print the completion script of a shell.

    For bash: adaptc completion bash > ~/.local/share/bash-completion/completions/adaptc
    """
    found = get_completion_class(shell)
    if found is None:  # click has these three; a release without one would be a change to notice
        raise LookupError(f"click completes no {shell}")
    click.echo(found(click.get_current_context().find_root().command, {}, "adaptc", "_ADAPTC_COMPLETE").source())
