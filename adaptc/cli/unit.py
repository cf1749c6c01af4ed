"""``adaptc unit``: prints a systemd unit for a daemon."""

from __future__ import annotations

import getpass
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.daemon import existing_output, output_option, settings_table
from adaptc.cli.frame import Frame, command
from adaptc.cli.render import print_text
from adaptc.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config import Config

# By daemon: seconds of the watchdog (classify reads up to 8 MiB of log in a step), and memory.
_LIMITS = {"switch": ("10", "128M"), "control": ("10", "256M"), "classify": ("60", "1G")}
# systemd has rules of its own for these in paths and commands (systemd.syntax(7))
_AWKWARD = re.compile(r"[\s\"'\\%$;]")


@command("unit", formats=("text",))
@click.argument("daemon", type=click.Choice(list(_LIMITS)))
@output_option
@click.option("--user", metavar="NAME", help="Who runs it.  [default: you]")
def unit(frame: Frame, daemon: str, output: Path | None, user: str | None) -> None:
    """Print a systemd unit for a daemon.

    The unit is hardened, has a watchdog, and removes the flag however the daemon ends. The daemon reads its settings
    from the same adaptc.toml; name the logs there.
    """
    config = frame.load({"output": output})
    folder = existing_output(config).resolve()
    runs, expires = _flags(config, daemon, folder)
    arguments = [*_program(), daemon, "-o", str(folder)]
    if config.file:
        arguments += ["--config", str(config.file.resolve())]
    for one in (*arguments, *map(str, runs)):
        if _AWKWARD.search(one):
            raise UsageError(f"{one!r} cannot stand in a unit: choose a path without spaces and special characters")
    values = {"daemon": daemon, "output": folder, "runs": runs, "expires": expires, "command": " ".join(arguments)}
    print_text(_rendered({**values, "user": user or getpass.getuser()}).rstrip(), frame)


def _program() -> list[str]:
    """Return how adaptc was started: as itself, or as a module of Python."""
    started = Path(sys.argv[0]).resolve()
    return [sys.executable, "-m", "adaptc.cli"] if started.name == "__main__.py" else [str(started)]


def _flags(config: Config, daemon: str, folder: Path) -> tuple[list[Path], bool]:
    """Return the run directories that the daemon writes to, and whether their flags go when it ends."""
    from adaptc.runtime.control.settings import read_control
    from adaptc.runtime.settings import read_settings
    from adaptc.runtime.switch.settings import CHECKS, SwitchSettings

    table = settings_table(config, daemon)
    if daemon == "switch":
        return [folder / "run"], read_settings(SwitchSettings, CHECKS, table).expire == "normal"
    if daemon == "control":
        settings, sites = read_control(table, ())
        outputs = [site.output.resolve() for site in sites.values() if site.output] or [folder]
        return [output / "run" for output in outputs], settings.expire == "normal"
    return [folder / "run"], False


def _rendered(values: dict[str, Any]) -> str:
    from importlib import resources

    from jinja2 import Environment, StrictUndefined

    text = resources.files("adaptc.templates").joinpath("adaptc.service.j2").read_text("utf-8")
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    watchdog, memory = _LIMITS[values["daemon"]]
    return environment.from_string(text).render(
        **values, name=f"adaptc-{values['daemon']}", watchdog=watchdog, memory=memory
    )
