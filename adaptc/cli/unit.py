"""``adaptc unit``: prints a systemd unit for a daemon."""

from __future__ import annotations

import getpass
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.daemon_options import existing_output, output_option
from adaptc.cli.render import print_text
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config.config import Config

# By daemon: seconds of the watchdog (classify reads up to 8 MiB of log in a step), and memory.
_LIMITS = {"switch": ("10", "128M"), "control": ("10", "256M"), "classify": ("60", "1G")}
# systemd has rules of its own for these in paths and commands (systemd.syntax(7))
_AWKWARD = re.compile(r"[\s\"'\\%$;]")


@command("unit", formats=("text",))
@click.argument("daemon", type=click.Choice([*_LIMITS, "watch"]))
@output_option
@click.option("--user", metavar="NAME", help="The user that runs it.  [default: you]")
def unit(invocation: Invocation, daemon: str, output: Path | None, user: str | None) -> None:
    """Print a systemd unit for a daemon.

    The unit is hardened. That of switch, classify and control has a watchdog and removes the flag however the daemon
    ends; that of watch is ready when the trees are fresh. The daemon reads its settings from the same adaptc.toml; name
    logs and docroot there.
    """
    config = invocation.load({"output": output})
    folder = existing_output(config).resolve()
    if daemon == "watch":
        writes = [folder, *([config.build.cache.resolve()] if config.build.cache else [])]
        arguments = _arguments(config, [daemon, str(_docroot(config)), "-o", str(folder)], writes)
        values = {"output": folder, "writes": writes, "command": arguments}
        print_text(_rendered("adaptc-watch", {**values, "user": user or getpass.getuser()}), invocation)
        return
    runs, expires = _flags(config, daemon, folder)
    arguments = _arguments(config, [daemon, "-o", str(folder)], [*runs, Path(sys.executable)])
    values = {"daemon": daemon, "output": folder, "runs": runs, "expires": expires, "command": arguments}
    watchdog, memory = _LIMITS[daemon]
    limits = {"name": f"adaptc-{daemon}", "watchdog": watchdog, "memory": memory, "python": sys.executable}
    print_text(_rendered("adaptc", {**values, **limits, "user": user or getpass.getuser()}), invocation)


def _docroot(config: Config) -> Path:
    """Return the docroot as it is named: what its symbolic links lead to may be swapped."""
    if config.docroot is None:
        raise UsageError("no docroot: name it as docroot in adaptc.toml")
    return config.docroot.absolute()


def _arguments(config: Config, arguments: list[str], paths: list[Path]) -> str:
    """Return the command line. Raises ``UsageError`` for arguments that a unit cannot hold."""
    command = [*_program(), *arguments]
    if config.file:
        command += ["--config", str(config.file.resolve())]
    for argument in (*command, *map(str, paths)):
        if _AWKWARD.search(argument):
            raise UsageError(
                f"{argument!r} cannot be written in a unit: choose a path without spaces and special characters"
            )
    return " ".join(command)


def _program() -> list[str]:
    """Return how adaptc was started: as itself, or as a module of Python."""
    started = Path(sys.argv[0]).resolve()
    return [sys.executable, "-m", "adaptc"] if started.name == "__main__.py" else [str(started)]


def _flags(config: Config, daemon: str, folder: Path) -> tuple[list[Path], bool]:
    """Return the run directories that the daemon writes to, and whether their flags go when it ends."""
    from adaptc.daemons.control.settings import read_control
    from adaptc.daemons.switch.settings import read_switch
    from adaptc.serve.state_directory import read_knobs

    table = config.daemons.below(daemon)
    if daemon == "switch":
        return [folder / "run"], read_switch(table).is_temporary
    if daemon == "control":
        settings, sites = read_control(table, ())
        knobs = read_knobs(folder)
        if not (sites or settings.logs or settings.status_url or (knobs and knobs.status)):
            raise UsageError("the unit could not start: name logs or status_url in [daemons.control] of adaptc.toml")
        outputs = [site.output.resolve() for site in sites.values() if site.output] or [folder]
        return [output / "run" for output in outputs], settings.is_temporary
    from adaptc.config.schema import read_settings
    from adaptc.daemons.classify.settings import CHECKS, ClassifySettings

    if not read_settings(ClassifySettings, CHECKS, table).logs:
        raise UsageError("the unit could not start: name logs in [daemons.classify] of adaptc.toml")
    return [folder / "run"], False


def _rendered(name: str, values: dict[str, Any]) -> str:
    from adaptc.core.fs import package_file
    from adaptc.core.sandbox import sandboxed

    text = package_file("adaptc.templates", f"{name}.service.j2").read_text("utf-8")
    environment = sandboxed(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    return environment.from_string(text).render(**values).rstrip()
