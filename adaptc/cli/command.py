"""What every command shares: the options of ``adaptc`` itself, how a command is declared, and the exit codes.

The options may come before or after the name of the command: ``adaptc --format json levels`` and
``adaptc levels --format json`` are the same. A command is a function that takes an ``Invocation`` first and
returns an ``ExitCode`` or None::

    @command("levels")
    @click.argument("name", required=False)
    def levels(invocation: Invocation, name: str | None) -> None: ...
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.core.values import dataclass, field, replace

if TYPE_CHECKING:
    from adaptc.config.config import Config


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options of ``adaptc`` itself."""

    config: Path | None = None
    format: str = "text"
    quiet: bool = False
    verbose: bool = False
    color: str = "auto"

    def load(self, overrides: Mapping[str, Any] | None = None, *, repeats: bool = True) -> Config:
        """Return the configuration that ``--config`` names, or that of the working directory.

        With ``repeats``, what neither the file nor ``overrides`` say is as in the last build of the same docroot.
        Raises ``UsageError`` as ``adaptc.workflow.configuration.load_config`` does.
        """
        from adaptc.workflow.configuration import load_config

        return load_config(self.config, overrides, repeats=repeats)

    def is_colored(self, stream: Any) -> bool:
        """Whether text for ``stream`` is coloured: a terminal, and no NO_COLOR (https://no-color.org)."""
        if self.color != "auto":
            return self.color == "always"
        return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass(slots=True)
class InvocationBox:
    """The invocation of this run, which options anywhere on the command line replace."""

    invocation: Invocation = field(default_factory=Invocation)


def current_invocation() -> Invocation:
    """Return the invocation of the command that runs."""
    return click.get_current_context().ensure_object(InvocationBox).invocation


def _store(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    source = context.get_parameter_source(str(parameter.name))
    if value is None or source is click.core.ParameterSource.DEFAULT:
        return
    box = context.ensure_object(InvocationBox)
    box.invocation = replace(box.invocation, **{str(parameter.name): value})


def _change_directory(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
    if value is not None:
        os.chdir(value)


# What options and arguments name
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
_THERE = click.Path(file_okay=False, exists=True, path_type=Path)

# Flags and attributes of each; -C comes first, so that it holds for --config too.
_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (
        ("-C", "directory"),
        {"type": _THERE, "metavar": "DIR", "callback": _change_directory, "help": "Work in DIR."},
    ),
    (("--config",), {"type": FILE, "metavar": "FILE", "help": "Read FILE instead of ./adaptc.toml."}),
    (("--format",), {"help": "What goes to standard output; json for programs."}),
    (("--quiet", "-q"), {"is_flag": True, "help": "Print errors only."}),
    (("--verbose", "-v"), {"is_flag": True, "help": "Print every diagnostic, and tracebacks of bugs."}),
    (
        ("--color",),
        {"type": click.Choice(["auto", "always", "never"]), "help": "Colour; auto: on a terminal."},
    ),
)

FORMATS = ("text", "json")


def global_options(
    function: Callable[..., Any], hidden: bool = False, formats: tuple[str, ...] = FORMATS
) -> Callable[..., Any]:
    """Add the options of ``adaptc`` itself to a click command; ``formats`` are those that it can print."""
    for flags, attributes in reversed(_OPTIONS):
        if "--format" in flags:
            attributes = {**attributes, "type": click.Choice(formats)}
        settings = {"callback": _store, "expose_value": False, "is_eager": True, "hidden": hidden, **attributes}
        function = click.option(*flags, **settings)(function)
    return function


def command(
    name: str, formats: tuple[str, ...] = FORMATS, cls: type[click.Command] = click.Command
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command: ``function`` gets the invocation and then its own parameters by name.

    ``formats`` are what ``--format`` may be after the name of the command, ``cls`` the class of the command.
    """

    def declare(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def run(**parameters: Any) -> Any:
            return function(current_invocation(), **parameters)

        epilog = "The options of adaptc itself (see adaptc --help) may be given here too."
        declared: click.Command = click.command(name, cls, epilog=epilog)(global_options(run, True, formats))
        return declared

    return declare


# ---- exit codes, in one table (documented in docs/exit-codes.md)


class ExitCode(IntEnum):
    """What a command tells the shell."""

    DONE = 0
    WITH_ERRORS = 1  # done, but something could not be built: there are diagnostics of severity error
    USAGE = 2  # wrong option, path or configuration: nothing was done
    INTERNAL = 3  # a bug, or the output cannot be written
    BUSY = 4  # another build holds the output; crawl: a network failure (wget's code)
    TLS = 5  # crawl: a certificate that is not trusted
    CREDENTIALS = 6  # crawl: user and password are missing or wrong; publish: the store refuses access
    PROTOCOL = 7  # crawl: what a server sent is not HTTP, or a redirect leads nowhere
    SERVER = 8  # crawl: a server answered with an error, for example 404; publish: a request to the store failed
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it


# Errors of the system that are no bug: the disk, its quota, rights, or files open at once.
SYSTEM_ERRORS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.EIO,
        errno.EFBIG,
        errno.EMFILE,
        errno.ENFILE,
        errno.ELOOP,  # a link that leads out of the output
    }
)
