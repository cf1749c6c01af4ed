"""What commands print: diagnostics as lines on standard error, results as JSON or text on standard output.

Many diagnostics of one id are cut short, since a site with 7,000 dead links would push everything else off
the screen; ``--verbose`` and the report have all of them.

A progress bar on a terminal shows what is done, bytes saved and the time to go; in a pipe there is none.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import ExitCode, Invocation
from adaptc.core.diagnostics import Diagnostic, Severity, printable
from adaptc.core.quantities import written_bytes, written_plural

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from adaptc.compile.engine.reporting import Progress

# How many diagnostics of one id are printed without --verbose. Notes are shown on request only.
LIMITS = {Severity.ERROR: 20, Severity.WARNING: 5, Severity.NOTE: 0}
_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_ORDER = tuple(Severity)


def print_diagnostics(diagnostics: Iterable[Diagnostic], invocation: Invocation) -> None:
    """Print diagnostics to standard error, errors first, and how many there are of each severity."""
    diagnostics = sorted(diagnostics, key=_rank)
    colored = invocation.is_colored(sys.stderr)
    for line in diagnostic_lines(diagnostics, invocation, colored):
        click.echo(line, err=True, color=colored)


def diagnostic_lines(diagnostics: Sequence[Diagnostic], invocation: Invocation, colored: bool = False) -> Iterator[str]:
    """Yield the lines for sorted diagnostics: those of one id, how many of them were cut, and the sum."""
    shown = [diagnostic for diagnostic in diagnostics if not invocation.quiet or diagnostic.severity is Severity.ERROR]
    counts = Counter((diagnostic.severity, diagnostic.id) for diagnostic in shown)
    printed: Counter[str] = Counter()
    for position, diagnostic in enumerate(shown):
        if invocation.verbose or printed[diagnostic.id] < LIMITS[diagnostic.severity]:
            yield _diagnostic_line(diagnostic, colored)
            printed[diagnostic.id] += 1
        is_last = position + 1 == len(shown) or shown[position + 1].id != diagnostic.id
        hidden = counts[diagnostic.severity, diagnostic.id] - printed[diagnostic.id]
        if is_last and printed[diagnostic.id] and hidden:
            yield f"and {hidden:,} more [{diagnostic.id}]; see the report or --verbose"
    if shown:
        yield summary(shown)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the sum in words: ``1 error, 6,971 warnings, 3 notes``."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    parts = [written_plural(counts[severity], severity.value) for severity in _ORDER if counts[severity]]
    return ", ".join(parts) or "no diagnostics"


def exit_code(diagnostics: Iterable[Diagnostic]) -> ExitCode:
    """Return the exit code of a command that did its work: an error among the diagnostics is worth 1."""
    return (
        ExitCode.WITH_ERRORS
        if any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
        else ExitCode.DONE
    )


def diagnostic_record(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic for JSON: id, severity, message, path, line and column, null if unknown."""
    place = diagnostic.location
    return {
        "id": diagnostic.id,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "path": place.path if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
    }


def diagnostic_records(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Return diagnostics for JSON, in their order."""
    return [diagnostic_record(diagnostic) for diagnostic in diagnostics]


def print_json(value: Any) -> None:
    """Print one JSON document, in ASCII: undecodable bytes of names become lone surrogates (PEP 383)."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def print_text(text: str, invocation: Invocation) -> None:
    """Print a result for a person; ``--quiet`` leaves it out."""
    if not invocation.quiet:
        click.echo(text)


def show(record: Any, text: str, invocation: Invocation, diagnostics: Sequence[Diagnostic] = ()) -> ExitCode:
    """Print a result, ``record`` for programs, else ``diagnostics`` and ``text``; returns the exit code."""
    if invocation.format == "json":
        print_json(record)
    else:
        print_diagnostics(diagnostics, invocation)
        print_text(text, invocation)
    return exit_code(diagnostics)


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return rows as aligned columns, two spaces apart; the columns of ``right`` are set flush right."""
    cleaned = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cleaned, strict=True)]
    return "\n".join(_row(row, widths, right) for row in cleaned)


def _row(row: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    cells = (
        cell.rjust(width) if position in right else cell.ljust(width)
        for position, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _rank(diagnostic: Diagnostic) -> tuple[int, str, str, int, int]:
    place = diagnostic.location
    path, line, column = (place.path, place.line or 0, place.column or 0) if place else ("", 0, 0)
    return _ORDER.index(diagnostic.severity), diagnostic.id, path, line, column


def _diagnostic_line(diagnostic: Diagnostic, colored: bool) -> str:
    if not colored:
        return str(diagnostic)
    place = click.style(f"{diagnostic.location}: ", bold=True) if diagnostic.location else ""
    severity = click.style(diagnostic.severity.value, fg=_COLORS[diagnostic.severity])
    return f"{place}{severity}: {diagnostic.message} [{diagnostic.id}]"


# ---- a progress bar


@contextmanager
def watching(invocation: Invocation) -> Iterator[Progress]:
    """Give a progress for a build: a bar when standard error is a terminal, else silence."""
    if invocation.quiet or invocation.format == "json" or not sys.stderr.isatty():
        from adaptc.compile.engine.reporting import Silent

        yield Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description:>8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[saved]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True, no_color=invocation.color == "never"), transient=True) as bar:
        yield _BarProgress(bar)


class _BarProgress:
    def __init__(self, bar: Bar) -> None:
        self.bar, self.saved = bar, 0
        self.task = bar.add_task("listing", total=None, saved="")

    def begin(self, phase: str, units: int, size: int) -> None:
        self.saved = 0
        self.bar.reset(self.task, description=phase, total=units, saved="")

    def advance(self, units: int, size: int, saved: int) -> None:
        self.saved += saved
        text = f"{written_bytes(self.saved)} saved" if self.saved > 0 else ""
        self.bar.update(self.task, advance=units, saved=text)

    def end(self) -> None:
        self.bar.refresh()
