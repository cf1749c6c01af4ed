"""Action tables: which alternatives of a page there are for poor and for rich clients.

The syntax is that of Krishnamurthy, Zhang, Wills and Vishwanath (section 2)::

    /foo.html .gz .p_lc ; .r_mc

For poor clients ``/foo.html`` has two alternatives, for rich ones one. Here the actions are the codings, ``.gz``, and
the levels by their names: for poor clients those that are cheaper than what everybody gets, for rich ones dearer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from adaptc.compile.engine.results import UnitResult
from adaptc.compile.engine.state import State
from adaptc.core.model import CODINGS, IDENTITY, OWN_DIRECTORY
from adaptc.serve.policy import Policy

SCHEMA = 1
_ORDER = sorted(CODINGS, key=lambda coding: coding != "gz")  # the paper's action first


@dataclass(frozen=True, slots=True)
class Entry:
    """The alternatives of one URI, which is percent-encoded, in the order in which they are tried.

    ``files`` has the file of each action, from the output on.
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
    other = [name for name in policy.levels if name in units and _digest(units, name, source) != usual]
    cheaper = [name for name in other if policy.levels.index(name) > normal]
    files = {f".{coding}": f"{policy.level}/{coding}/{path}" for coding in codings}
    files |= {f".{name}": f"{name}/{IDENTITY}/{path}" for name in other}
    uri = quote(os.fsencode(f"{policy.prefix}/{path}"), safe="/~!$&'()*+,=:@")
    poor = tuple(f".{name}" for name in [*codings, *cheaper])
    return Entry(uri, poor, tuple(f".{name}" for name in other if name not in cheaper), files)


def _file(units: Mapping[str, UnitResult], level: str, coding: str) -> bool:
    return level in units and any(output.coding == coding for output in units[level].outputs)


def _digest(units: Mapping[str, UnitResult], level: str, source: str | None) -> str | None:
    """Return the digest of what a level shows, which is the source where it has no file of its own."""
    outputs = units[level].outputs if level in units else ()
    return next((output.digest for output in outputs if output.coding == IDENTITY), source)


def table_line(entry: Entry) -> str:
    """Return an entry as a line of a table, without its end."""
    rich = [";", *entry.rich] if entry.rich else []
    return " ".join([entry.uri, *entry.poor, *rich])


def map_line(entry: Entry) -> str:
    """Return an entry as a line of a text map for RewriteMap: ``/foo.html .gz,.p_lc;.r_mc``."""
    return f"{entry.uri} {','.join(entry.poor)};{','.join(entry.rich)}"


def json_chunks(found: Iterable[Entry], policy: Policy) -> Iterator[str]:
    """Yield the entries as one JSON document, an entry a line."""
    head = {"schema": SCHEMA, "name": policy.title, "level": policy.level, "levels": policy.levels}
    yield json.dumps(head)[:-1] + ', "actions": ['
    for number, entry in enumerate(found):
        row = {"uri": entry.uri, "poor": entry.poor, "rich": entry.rich, "files": entry.files}
        yield (",\n" if number else "\n") + json.dumps(row)
    yield "\n]}\n"
