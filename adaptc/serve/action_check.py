"""Read an action table and compare it with what was built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.serve.actions import Entry


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: its number, counted from 1, the URI, and the actions for poor and for rich clients."""

    number: int
    uri: str
    poor: tuple[str, ...]
    rich: tuple[str, ...]


class MalformedError(Exception):
    """What is wrong with a line."""


def check_table(text: str, name: str, built: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield what is malformed, unknown or missing in the table ``text``, whose file is ``name``, in order of lines."""
    lines: dict[str, Line] = {}
    for number, written in enumerate(text.splitlines(), 1):
        try:
            line = parse_line(written, number)
            if line is not None and line.uri in lines:
                raise MalformedError(f"{line.uri} stands in line {lines[line.uri].number} already")
        except MalformedError as problem:
            yield diagnose("action-malformed", Location(name, number), problem=problem)
            continue
        if line is not None:
            lines[line.uri] = line
    yield from _compared(lines, {entry.uri: entry for entry in built}, name)


def parse_line(written: str, number: int) -> Line | None:
    """Return a line of a table, None for an empty one or a comment (#). Raises ``MalformedError``."""
    words = written.split()
    if not words or words[0].startswith("#"):
        return None
    uri, *actions = words
    if not uri.startswith("/"):
        raise MalformedError(f"{uri} is no path")
    if actions.count(";") > 1:
        raise MalformedError("it has more than one ;")
    wrong = [word for word in actions if word != ";" and not (word.startswith(".") and len(word) > 1)]
    if wrong:
        raise MalformedError(f"{wrong[0]} is no action, which begins with a dot")
    middle = actions.index(";") if ";" in actions else len(actions)
    return Line(number, uri, tuple(actions[:middle]), tuple(actions[middle + 1 :]))


def _compared(lines: dict[str, Line], built: dict[str, Entry], name: str) -> Iterator[Diagnostic]:
    for uri, line in lines.items():
        there, place = built.get(uri, Entry(uri, (), (), {})), Location(name, line.number)
        for actions, known in ((line.poor, there.poor), (line.rich, there.rich)):
            for action in actions:
                if action not in known:
                    yield diagnose("action-unknown", place, uri=uri, action=action)
            for action in known:
                if action not in actions:
                    yield diagnose("action-missing", place, uri=uri, action=action)
    for uri, entry in built.items():
        if uri not in lines:
            yield diagnose("action-missing", Location(name), uri=uri, action=" ".join((*entry.poor, *entry.rich)))
