"""What commands print: diagnostics as lines on standard error, results as JSON or text on standard output.

Many diagnostics of one id are cut short, since a site with 7,000 dead links would push everything else off
the screen; ``--verbose`` and the report have all of them.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.frame import Frame
from adaptc.core.diagnostics import Diagnostic, Severity, printable

# How many diagnostics of one id are printed without --verbose. Notes are for who looks for them.
LIMITS = {Severity.ERROR: 20, Severity.WARNING: 5, Severity.NOTE: 0}
_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_ORDER = tuple(Severity)


def print_diagnostics(found: Iterable[Diagnostic], frame: Frame) -> None:
    """Print diagnostics to standard error, errors first, and how many there are of each severity."""
    diagnostics = sorted(found, key=_rank)
    colored = frame.is_colored(sys.stderr)
    for line in diagnostic_lines(diagnostics, frame, colored):
        click.echo(line, err=True, color=colored)


def diagnostic_lines(diagnostics: Sequence[Diagnostic], frame: Frame, colored: bool = False) -> Iterator[str]:
    """Yield the lines for sorted diagnostics: those of one id, how many of them were cut, and the sum."""
    shown = [one for one in diagnostics if not frame.quiet or one.severity is Severity.ERROR]
    counts = Counter((one.severity, one.id) for one in shown)
    printed: Counter[str] = Counter()
    for position, one in enumerate(shown):
        if frame.verbose or printed[one.id] < LIMITS[one.severity]:
            yield _diagnostic_line(one, colored)
            printed[one.id] += 1
        is_last = position + 1 == len(shown) or shown[position + 1].id != one.id
        hidden = counts[one.severity, one.id] - printed[one.id]
        if is_last and printed[one.id] and hidden:
            yield f"and {hidden:,} more [{one.id}]; see the report or --verbose"
    if shown:
        yield summary(shown)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the sum in words: ``1 error, 6,971 warnings, 3 notes``."""
    counts = Counter(one.severity for one in diagnostics)
    parts = [_count(counts[severity], severity.value) for severity in _ORDER if counts[severity]]
    return ", ".join(parts) or "no diagnostics"


def exit_code(diagnostics: Iterable[Diagnostic]) -> ExitCode:
    """Return the exit code of a command that did its work: an error among the diagnostics is worth 1."""
    return ExitCode.WITH_ERRORS if any(one.severity is Severity.ERROR for one in diagnostics) else ExitCode.DONE


def diagnostic_record(one: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic for JSON: id, severity, message, path, line and column, null if unknown."""
    place = one.location
    return {
        "id": one.id,
        "severity": one.severity.value,
        "message": one.message,
        "path": place.path if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
    }


def print_json(value: Any) -> None:
    """Print one JSON document, in ASCII: names of undecodable bytes stand as lone surrogates (PEP 383)."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def print_text(text: str, frame: Frame) -> None:
    """Print a result for a person; ``--quiet`` leaves it out."""
    if not frame.quiet:
        click.echo(text)


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


def _rank(one: Diagnostic) -> tuple[int, str, str, int, int]:
    place = one.location
    path, line, column = (place.path, place.line or 0, place.column or 0) if place else ("", 0, 0)
    return _ORDER.index(one.severity), one.id, path, line, column


def _diagnostic_line(one: Diagnostic, colored: bool) -> str:
    if not colored:
        return str(one)
    place = click.style(f"{one.location}: ", bold=True) if one.location else ""
    return f"{place}{click.style(one.severity.value, fg=_COLORS[one.severity])}: {one.message} [{one.id}]"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
