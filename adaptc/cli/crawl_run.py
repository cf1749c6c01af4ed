"""What commands that crawl share: Ctrl-C, the progress line, the summary, the exit code, and ``--purge-most``."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import ExitCode, Invocation

# click 8.2 made the class generic, 8.1 cannot be subscribed
if TYPE_CHECKING:
    from adaptc.crawl.crawl import CrawlProgress, CrawlResult
    from adaptc.crawl.options import PurgeBound

    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType

_LINE_INTERVAL = 10.0  # seconds between lines of the progress, off a terminal
# wget's table: of several errors the one with the lowest code is reported.
_CODES = {
    "purge": ExitCode.WITH_ERRORS,
    "max-filesize": ExitCode.WITH_ERRORS,
    "file": ExitCode.INTERNAL,
    "network": ExitCode.BUSY,
    "tls": ExitCode.TLS,
    "auth": ExitCode.CREDENTIALS,
    "protocol": ExitCode.PROTOCOL,
    "server": ExitCode.SERVER,
}


def crawl_code(result: CrawlResult) -> ExitCode:
    """Return the exit code of a crawl."""
    return min((_CODES[kind] for kind in result.failures), default=ExitCode.DONE)


def crawl_summary(result: CrawlResult) -> str:
    """Return a crawl in a sentence."""
    from adaptc.core.quantities import written_bytes

    rate = result.files / result.seconds if result.seconds else 0.0
    prefix = "resumed: " if result.resumed else ""
    unchanged = f", {result.kept:,} kept as they were" if result.kept else ""
    stopped = f"; {result.stopped}" if result.stopped else ""
    rules = ", ".join(f"{rule} {count:,}" for rule, count in result.refusals.items())
    by_rule = f" ({rules})" if rules else ""
    return (
        f"{prefix}{result.files:,} {'file' if result.files == 1 else 'files'}, {written_bytes(result.received)} in "
        f"{result.seconds:.1f} s ({rate:,.0f} a second){unchanged}; {result.failed:,} failed, "
        f"{result.refused:,} links not followed{by_rule}{stopped}. See {result.output}/.adaptc/crawl.jsonl"
    )


def crawl_record(result: CrawlResult) -> dict[str, Any]:
    """Return a crawl for programs, without its diagnostics."""
    return {
        "output": str(result.output),
        "files": result.files,
        "bytes": result.received,
        "kept": result.kept,
        "stored": result.stored,
        "failed": result.failed,
        "refused": result.refused,
        "refused_by": dict(result.refusals),
        "resumed": result.resumed,
        "failures": sorted(result.failures),
        "stopped": result.stopped,
    }


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Give a function that returns whether Ctrl-C was pressed."""
    interrupts: list[bool] = []
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))
    try:
        yield lambda: bool(interrupts)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def watching_crawl(invocation: Invocation) -> Iterator[Callable[[CrawlProgress], None] | None]:
    """Give a function that shows the progress: on a terminal all the time, else in a line now and then."""
    if invocation.quiet or invocation.format == "json":
        yield None
        return
    if not sys.stderr.isatty():
        yield _line_printer()
        return
    from rich.console import Console

    with Console(stderr=True, no_color=invocation.color == "never").status("crawling") as status:
        yield lambda progress: status.update(_line(progress))


def _line_printer() -> Callable[[CrawlProgress], None]:
    printed = 0.0

    def report(progress: CrawlProgress) -> None:
        nonlocal printed
        if progress.seconds - printed >= _LINE_INTERVAL:
            printed = progress.seconds
            print(f"crawling, {progress.seconds:.0f} s: {_line(progress)}", file=sys.stderr, flush=True)

    return report


def _line(progress: CrawlProgress) -> str:
    from adaptc.core.quantities import written_bytes

    rate = progress.files / progress.seconds if progress.seconds else 0.0
    files = f"{progress.files:,} files, {written_bytes(progress.received)}, {rate:,.0f} a second"
    slowest = max(progress.delays.items(), key=lambda item: item[1], default=None)
    asked = "" if slowest is None else f"; the robots.txt of {slowest[0]} asks for {slowest[1]:g} s between requests"
    return f"{files}; {progress.waiting:,} URLs wait{asked}"


class Bound(_ParamType):
    """The value of ``--purge-most``: a number of files, or a share of them, ``200`` or ``10%``."""

    name = "bound"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PurgeBound:
        """Return the bound; refuse what is none."""
        from adaptc.crawl.options import PurgeBound

        match = re.fullmatch(r"(\d+(?:\.\d+)?)%|(\d+)", value) if isinstance(value, str) else None
        if match is None:
            self.fail(f"{value!r} is neither a number of files nor a share of them, as 10%", param, ctx)
        return PurgeBound(number=int(match[2])) if match[2] else PurgeBound(float(match[1]) / 100)


PURGE_BOUND = Bound()
