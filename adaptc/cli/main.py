"""The command ``adaptc``: finds the command, runs it, turns errors into a line and an exit code.

A command's module is imported when the command is used: ``adaptc --help`` reads the table below and nothing
else.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from adaptc.cli.command import SYSTEM_ERRORS, ExitCode, InvocationBox, global_options
from adaptc.core.diagnostics import Busy, Fault, RemoteError, UsageError, printable
from adaptc.core.shortage import Shortage, recognizing_shortage
from adaptc.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: ``module:attribute`` of its click command, and its summary (the first line of its help)."""

    target: str
    summary: str


# In the order that --help shows them, under their headings.
GROUPS: dict[str, dict[str, Entry]] = {
    "The site": {
        "init": Entry("adaptc.cli.init:init", "Write a commented adaptc.toml."),
        "web": Entry("adaptc.cli.export:web", "Build and export SITE for hosts that only send files."),
        "build": Entry("adaptc.cli.build:build", "Build the levels of the site in DOCROOT."),
        "watch": Entry("adaptc.cli.build:watch", "Keep the trees fresh while files change."),
        "check": Entry("adaptc.cli.check:check", "Say whether trees are fresh and within budgets."),
        "prove": Entry("adaptc.cli.prove:prove", "Say what levels do not keep of pages, with a browser."),
        "ci": Entry("adaptc.cli.ci:ci", "Build, check, weigh and prove a site in one run."),
        "explain": Entry("adaptc.cli.explain:explain", "Say what was done to a page or file at each level, and why."),
        "preview": Entry("adaptc.cli.explain:preview", "Show two levels side by side in a browser."),
        "levels": Entry("adaptc.cli.plan:levels", "Show the levels, or the passes of one."),
        "plan": Entry("adaptc.cli.plan:plan", "Compose a level for a goal, with the least harm to readers."),
        "classify-images": Entry(
            "adaptc.cli.classify_images:classify_images", "Say what each image of the pages is for, and why."
        ),
    },
    "Fetch and publish": {
        "crawl": Entry("adaptc.cli.crawl:crawl", "Mirror a site from its server, with wget's options."),
        "export": Entry("adaptc.cli.export:export", "Write the whole site at LEVEL into DEST."),
        "publish": Entry("adaptc.cli.publish:publish", "Publish the whole site at one level to URL."),
    },
    "The server": {
        "emit": Entry("adaptc.cli.emit:emit", "Write server configuration for the last build."),
        "verify-server": Entry(
            "adaptc.cli.verify_server:verify_server", "Verify on a real server that every URL gets the right file."
        ),
        "purge": Entry("adaptc.cli.publish:purge", "Purge the caches in front of the server."),
        "doctor": Entry("adaptc.cli.emit:doctor", "Report what keeps a server from adapting."),
        "popular": Entry("adaptc.cli.popular:popular", "List the pages that make up most page views."),
        "calibrate": Entry("adaptc.cli.calibrate:calibrate", "Measure what the work of a server costs."),
        "drill": Entry("adaptc.cli.drill:drill", "Pull every knob on a test server, and say what it buys."),
        "capacity": Entry("adaptc.cli.capacity:capacity", "Compute the load that each level of a build can carry."),
    },
    "While it is served": {
        "switch": Entry("adaptc.cli.switch:switch", "Serve the optimized site while the server is overloaded."),
        "classify": Entry(
            "adaptc.cli.classify:classify", "Tell poor, normal and rich clients apart by the access log."
        ),
        "control": Entry("adaptc.cli.control:control", "Adapt content to keep the utilization at a bound."),
        "force": Entry("adaptc.cli.status:force", "Serve LEVEL for some time, whatever the load."),
        "auto": Entry("adaptc.cli.status:auto", "Let the daemons decide again, after adaptc force."),
        "status": Entry("adaptc.cli.status:status", "Show the state of the daemons."),
        "top": Entry("adaptc.cli.status:top", "Show what the daemons do, live in a terminal."),
        "dashboard": Entry("adaptc.cli.status:dashboard", "Show what the daemons do, on a page for browsers."),
        "unit": Entry("adaptc.cli.unit:unit", "Print a systemd unit for a daemon."),
    },
    "adaptc itself": {
        "version": Entry("adaptc.cli.about:version", "Print the versions of adaptc and its libraries."),
        "completion": Entry("adaptc.cli.about:completion", "Print the completion script of a shell."),
    },
}
COMMANDS: dict[str, Entry] = {name: entry for group in GROUPS.values() for name, entry in group.items()}
_HELP = "help"
_NO_SITE = "There is no site here: adaptc reads finished HTML. Name its directory, as in: adaptc web SITE public"


class LazyGroup(click.Group):
    """A group that imports a command when it is used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None for a name that is none."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line; ``help``, and ``help build``, are the same as ``--help``, and ``build --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == [_HELP] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of ``args``; for an unknown one, suggest the nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from adaptc.config.toml import nearest

            ctx.fail(f"there is no command {args[0]}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without importing them."""
        widest = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), entry.summary) for name, entry in commands.items()])


def _print_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    from adaptc.core.version import VERSION

    if value and not context.resilient_parsing:
        click.echo(f"adaptc {VERSION}")
        context.exit()


@click.group(
    "adaptc", cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@global_options
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version."
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Build smaller representations of a static site and the server rules that pick them.

    "adaptc help COMMAND" shows the options of a command. "adaptc" alone says what it would do with the site in the
    working directory.
    """
    if context.invoked_subcommand is None:
        from adaptc.cli.init import what_it_would_do

        lines = what_it_would_do(context.ensure_object(InvocationBox).invocation)
        click.echo("\n".join(lines or [_NO_SITE, "", context.get_help()]))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code (entry point of the package)."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> ExitCode:
    """Run the command line and return its exit code."""
    box = InvocationBox()
    try:
        with recognizing_shortage():
            return _run_catching_usage_errors(arguments, box)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", ExitCode.INTERRUPTED)
    except OSError as error:
        if error.errno not in SYSTEM_ERRORS:
            return _report_bug(error, box)
        return _complain(system_sentence(error), ExitCode.INTERNAL)
    except Shortage as error:
        return _complain(str(error), ExitCode.INTERNAL)
    except Exception as error:  # the outermost caller: a bug becomes one line, not a traceback
        return _report_bug(error, box)


def _run_catching_usage_errors(arguments: Sequence[str], box: InvocationBox) -> ExitCode:
    """Run the command line; a mistake of the user becomes a line."""
    try:
        return ExitCode(cli.main(list(arguments), prog_name="adaptc", standalone_mode=False, obj=box) or 0)
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except UsageError as error:
        return _complain(str(error), ExitCode.USAGE)
    except Busy as error:
        return _complain(str(error), ExitCode.BUSY)
    except RemoteError as error:
        return _complain(str(error), _REMOTE_FAULTS[error.fault])


_REMOTE_FAULTS = {Fault.ACCESS: ExitCode.CREDENTIALS, Fault.MISSING: ExitCode.USAGE, Fault.FAILED: ExitCode.SERVER}


def system_sentence(error: OSError) -> str:
    """Return what the system refused, with the file's name: ``opt/full: No space left on device``."""
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{place}{error.strerror}"


def _complain(sentences: str, code: ExitCode) -> ExitCode:
    for sentence in sentences.splitlines():
        click.echo(f"adaptc: {printable(sentence)}", err=True)
    return code


def _report_bug(error: Exception, box: InvocationBox) -> ExitCode:
    if box.invocation.verbose or os.environ.get("ADAPTC_DEBUG"):
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
        hint = ""
    else:
        hint = "; run it again with --verbose for the traceback"
    sentence = f"this is a bug of adaptc, please report it: {type(error).__name__}: {error}"
    return _complain(" ".join(sentence.split()) + hint, ExitCode.INTERNAL)
