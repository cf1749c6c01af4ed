"""A progress bar on a terminal: what is done, bytes saved, time to go. Silent in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adaptc.cli.command import Invocation
from adaptc.compile.engine.reporting import Progress, Silent

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


@contextmanager
def watching(invocation: Invocation) -> Iterator[Progress]:
    """Give a progress for a build: a bar when standard error is a terminal, else silence."""
    if invocation.quiet or invocation.format == "json" or not sys.stderr.isatty():
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
        from adaptc.core.quantities import written_bytes

        self.saved += saved
        text = f"{written_bytes(self.saved)} saved" if self.saved > 0 else ""
        self.bar.update(self.task, advance=units, saved=text)

    def end(self) -> None:
        self.bar.refresh()
