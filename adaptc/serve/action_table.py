"""Action tables: the alternatives of each page for poor and for rich clients.

The syntax is that of Krishnamurthy, Zhang, Wills and Vishwanath (section 2)::

    /foo.html .gz .p_lc ; .r_mc

``/foo.html`` has two alternatives for poor clients, and one for rich clients. Here the actions are the codings,
``.gz``, and the levels by their names: for poor clients those below the default level, for rich clients those above it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import State
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import CODINGS, IDENTITY, OWN_DIRECTORY
from adaptc.serve.policy import Policy

SCHEMA = 1
_ORDER = sorted(CODINGS, key=lambda coding: coding != "gz")  # the paper's action first


@dataclass(frozen=True, slots=True)
class Entry:
    """The alternatives of one URI, which is percent-encoded, in the order in which they are tried.

    ``files`` has the file of each action, relative to the output.
    """

    uri: str
    poor: tuple[str, ...]
    rich: tuple[str, ...]
    files: Mapping[str, str]


def entries(state: State, policy: Policy) -> Iterator[Entry]:
    """Yield what was built, in the order of paths; a file without alternatives is left out."""
    digests = {path: digest for path, (_, digest) in state.resources().items()}
    for path, results in groupby(state.results(notes=False), key=lambda result: result.path):
        if not path.startswith(OWN_DIRECTORY):
            entry = _entry(path, {result.level: result for result in results}, digests.get(path), policy)
            if entry.poor or entry.rich:
                yield entry


def _entry(path: str, units: Mapping[str, UnitResult], source: str | None, policy: Policy) -> Entry:
    normal = policy.levels.index(policy.level)
    codings = [coding for coding in _ORDER if _file(units, policy.level, coding)]
    usual = _digest(units, policy.level, source)
    differing = [name for name in policy.levels if name in units and _digest(units, name, source) != usual]
    poorer = [name for name in differing if policy.levels.index(name) > normal]
    files = {f".{coding}": f"{policy.level}/{coding}/{path}" for coding in codings}
    files |= {f".{name}": f"{name}/{IDENTITY}/{path}" for name in differing}
    uri = quote(os.fsencode(f"{policy.prefix}/{path}"), safe="/~!$&'()*+,=:@")
    poor = tuple(f".{name}" for name in [*codings, *poorer])
    return Entry(uri, poor, tuple(f".{name}" for name in differing if name not in poorer), files)


def _file(units: Mapping[str, UnitResult], level: str, coding: str) -> bool:
    return level in units and any(output.coding == coding for output in units[level].outputs)


def _digest(units: Mapping[str, UnitResult], level: str, source: str | None) -> str | None:
    """Return the digest of the page at a level: that of the source where the level has no file of its own."""
    outputs = units[level].outputs if level in units else ()
    return next((output.digest for output in outputs if output.coding == IDENTITY), source)


def table_line(entry: Entry) -> str:
    """Return an entry as a line of a table, without its end."""
    rich = [";", *entry.rich] if entry.rich else []
    return " ".join([entry.uri, *entry.poor, *rich])


def map_line(entry: Entry) -> str:
    """Return an entry as a line of a text map for RewriteMap: ``/foo.html .gz,.p_lc;.r_mc``."""
    return f"{entry.uri} {','.join(entry.poor)};{','.join(entry.rich)}"


def json_chunks(listed: Iterable[Entry], policy: Policy) -> Iterator[str]:
    """Yield the entries as one JSON document, an entry a line."""
    head = {"schema": SCHEMA, "name": policy.title, "level": policy.level, "levels": policy.levels}
    yield json.dumps(head)[:-1] + ', "actions": ['
    for number, entry in enumerate(listed):
        row = {"uri": entry.uri, "poor": entry.poor, "rich": entry.rich, "files": entry.files}
        yield (",\n" if number else "\n") + json.dumps(row)
    yield "\n]}\n"


# ---- a table that somebody edited, compared with the build


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table: its number, counted from 1, the URI, and the actions for poor and for rich clients."""

    number: int
    uri: str
    poor: tuple[str, ...]
    rich: tuple[str, ...]


class MalformedError(Exception):
    """A malformed line; the text is the problem."""


def check_table(text: str, name: str, built: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield the malformed, unknown and missing entries of a table, by line; ``name`` is that of its file."""
    lines: dict[str, Line] = {}
    for number, written in enumerate(text.splitlines(), 1):
        try:
            line = parse_line(written, number)
            if line is not None and line.uri in lines:
                raise MalformedError(f"{line.uri} is in line {lines[line.uri].number} already")
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
        entry, place = built.get(uri, Entry(uri, (), (), {})), Location(name, line.number)
        for actions, known in ((line.poor, entry.poor), (line.rich, entry.rich)):
            for action in actions:
                if action not in known:
                    yield diagnose("action-unknown", place, uri=uri, action=action)
            for action in known:
                if action not in actions:
                    yield diagnose("action-missing", place, uri=uri, action=action)
    for uri, entry in built.items():
        if uri not in lines:
            yield diagnose("action-missing", Location(name), uri=uri, action=" ".join((*entry.poor, *entry.rich)))
