"""What the commands of the daemons share: options, output directory, settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adaptc.cli.command import Invocation
from adaptc.core.diagnostics import UsageError, printable

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.config.toml import TomlSource
    from adaptc.daemons.reporter import Reporter
    from adaptc.daemons.run_directory import RunDirectory
    from adaptc.daemons.sensors.cpu import CpuSource

FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)

F = TypeVar("F", bound=Callable[..., Any])


def output_option(function: F) -> F:
    """Add ``-o``."""
    return click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of a build.  [default: opt]")(
        function
    )


def daemon_options(function: F) -> F:
    """Add the options of every daemon."""
    options = (
        output_option,
        click.option(
            "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a setting; may be given again."
        ),
        click.option("--metrics", type=click.IntRange(0, 65535), metavar="PORT", help="Serve figures for Prometheus."),
        click.option("--dry-run", is_flag=True, help="Say what would be decided; write nothing."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def settings_table(config: Config, name: str) -> TomlSource:
    """Return ``[daemons.NAME]``."""
    return config.daemons.below(name)


def existing_output(config: Config) -> Path:
    """Return the output directory. Raises ``UsageError`` when nothing was built there."""
    if not config.output.is_dir():
        raise UsageError(
            f"there is no output {printable(str(config.output))}: build the site first, or name it with -o"
        )
    return config.output


def say(invocation: Invocation) -> Callable[[str], None]:
    """Return a function that prints a line for people to standard error, which journals keep."""

    def echo(line: str) -> None:
        if not invocation.quiet:
            click.echo(printable(line), err=True)

    return echo


def serve_metrics(reporter: Reporter, port: int | None) -> None:
    """Serve the figures on ``port``, if any. Raises ``UsageError`` when the port is taken."""
    if port is None:
        return
    try:
        reporter.serve(port)
    except OSError as error:
        raise UsageError(f"--metrics {port}: {error.strerror}") from None


def owned(run: RunDirectory | None, lock: str, work: str) -> AbstractContextManager[None]:
    """Hold the lock of a daemon's work, if it writes at all; entering raises ``Busy``."""
    return run.locked(lock, work) if run else nullcontext()


def cpu_source(group: str) -> CpuSource:
    """Return the CPU sensor of a control group, or of the host. Raises ``UsageError``."""
    from adaptc.daemons.sensors.cpu import HostCpu, open_group

    if not group:
        return HostCpu()
    try:
        return open_group(group, os.cpu_count() or 1)
    except FileNotFoundError as error:
        raise UsageError(f"cgroup {group}: {error.strerror}: {error.filename}") from None
