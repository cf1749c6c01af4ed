"""Write the configuration of servers and the action tables, and the state directory that servers read.

The configuration is made from a policy, by templates (Jinja2) that users may replace.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import State, last_build
from adaptc.compile.engine.trees.output import SourceTimes
from adaptc.config.config import ACTIONS, Config
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose, printable
from adaptc.core.fs import refuse_outward, write_atomic
from adaptc.core.model import CODINGS, DICTIONARY_TOKEN, IDENTITY, MEDIA_TYPES, MOST_SLASHES, OWN_DIRECTORY, TOKENS
from adaptc.core.sandbox import sandboxed, shipped_template
from adaptc.core.values import dataclass
from adaptc.serve import state_directory
from adaptc.serve.patterns import (
    ACCEPT_CH,
    DICTIONARIES,
    HELD,
    HINT_FIELDS,
    HINTS,
    IMAGES,
    accepts,
    accepts_format,
    literal,
)
from adaptc.serve.policy import CLASSES, CONF_DIRECTORY, LABELS, PAGES, PRIVATE, Policy, policy_of
from adaptc.serve.server import EmittedFile, Server
from adaptc.serve.servers import all_servers, server_named

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True)
class Emitted:
    """The files that were written, in order, and their policy; ``configures`` tells whether any is for a server."""

    policy: Policy
    files: tuple[Path, ...]
    configures: bool


def emit(config: Config, targets: Iterable[str]) -> Emitted:
    """Write the configuration of servers, and action tables, for the last build in ``config.output``.

    ``targets`` are names of ``EMIT_TARGETS``. Raises ``UsageError`` for a configuration that cannot be served,
    ``OSError`` when the output cannot be written.
    """
    with last_build(config.output) as state:
        return emit_from(state, config, targets)


def emit_from(state: State, config: Config, targets: Iterable[str]) -> Emitted:
    """Write the configuration of ``targets`` for the build that ``state`` describes; see ``emit``."""
    policy = policy_of(state, config)
    names = tuple(dict.fromkeys(targets))
    servers = [server_named(name) for name in names if name != ACTIONS]
    folder = Path(os.path.abspath(config.output)) / CONF_DIRECTORY
    texts = {name: text for server in servers for name, text in render(server, policy).items()}
    refuse_outward(os.fspath(folder), os.path.abspath(config.output))
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        write_atomic(os.fspath(folder / name), os.fsencode(text), keep_equal=True)
    files = [folder / name for name in texts]
    if ACTIONS in names:
        files += _write_actions(state, policy, folder)
    if servers:
        record = os.path.join(os.path.abspath(config.output), state_directory.KNOBS)
        write_atomic(record, _knobs(policy, servers).json(), keep_equal=True)
    if policy.is_strict:
        SourceTimes(config.output).replace(resource for resource, _ in state.resources().values())
    if config.serve.output is None:
        create_state(policy, servers)
    return Emitted(policy, tuple(files), bool(servers))


def _knobs(policy: Policy, servers: Sequence[Server]) -> state_directory.Knobs:
    serve = policy.serve
    faithful = tuple(name for name in policy.levels if name not in policy.degraded)
    names = tuple(dict.fromkeys(server.host or server.name for server in servers))
    buckets = serve.buckets and any("buckets" not in server.lacks and server.paste is None for server in servers)
    return state_directory.Knobs(
        names, policy.name, policy.prefix, serve.flag, buckets, serve.reject and buckets, serve.classes,
        serve.classes_need_flag, serve.expose, policy.level, policy.levels, policy.ladder, faithful, policy.state,
        status_url(policy, names), "nginx" in names and serve.nginx_page_rate > 0,
    )  # fmt: skip


def status_url(policy: Policy, servers: Sequence[str]) -> str:
    """Return the URL of the status page that is emitted for the first of the servers that has one, else ""."""
    pages = {"apache": "/?auto", "nginx": "/"}
    page = next((pages[name] for name in servers if name in pages), None)
    return f"http://{policy.serve.status}{page}" if policy.serve.status and page else ""


def complete_targets(reverse_proxy: str | None) -> tuple[str, ...]:
    """Return the targets that can follow every setting of ``[serve]``; of reverse proxies only ``reverse_proxy``."""
    servers = (
        server
        for server in all_servers()
        if not server.lacks and (not server.is_reverse_proxy or server.name == reverse_proxy)
    )
    return (*(server.name for server in servers), ACTIONS)


def check_actions(config: Config, table: Path) -> list[Diagnostic]:
    """Compare an action table with the last build. Raises ``UsageError`` when the table cannot be read."""
    try:
        text = table.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{table}: cannot be read ({error})") from error
    with last_build(config.output) as state:
        return list(check_table(text, str(table), entries(state, policy_of(state, config))))


def _write_actions(state: State, policy: Policy, folder: Path) -> Iterator[Path]:
    """Write the table, its JSON and its map; the hash file of the map only where Apache's program is installed."""
    chunks = {
        "actions.txt": (f"{table_line(entry)}\n" for entry in entries(state, policy)),
        "actions.json": json_chunks(entries(state, policy), policy),
        "actions.map": (f"{map_line(entry)}\n" for entry in entries(state, policy)),
    }
    for name, texts in chunks.items():
        write_atomic(os.fspath(folder / name), (text.encode() for text in texts), keep_equal=True)
        yield folder / name
    if state_directory.dbm_program():
        state_directory.make_dbm(folder / "actions.map", folder / "actions.dbm")
        yield folder / "actions.dbm"


def create_state(policy: Policy, servers: Sequence[Server]) -> None:
    """Create the state directory that the configuration of ``servers`` refers to, as far as it is missing.

    Raises ``UsageError`` when the program for hash files is not installed.
    """
    has_class_map = bool(policy.serve.classes or policy.serve.reverse_proxy) and any(
        server.uses_class_map for server in servers
    )
    class_map = policy.serve.class_map if has_class_map else "txt"
    try:
        state_directory.create(Path(policy.state), policy.start, class_map)
    except FileNotFoundError as error:
        if error.filename != state_directory.HTXT2DBM:
            raise
        raise UsageError(
            'httxt2dbm is not installed (Debian: apache2-utils); or say serve.class_map = "txt"'
        ) from error


# ---- configuration, by templates


def render(server: Server, policy: Policy) -> dict[str, str]:
    """Return the configuration files of ``server`` by name; texts are to be written with ``os.fsencode``.

    Files that the policy does not need are left out. Raises ``UsageError`` for a setting that the server cannot follow,
    a path that its configuration cannot express, or a mistake in a template.
    """
    if policy.serve.reverse_proxy and not server.is_reverse_proxy:
        if "classes" in server.lacks or server.paste is not None:
            raise UsageError(f"serve.reverse_proxy: {server.title} cannot be asked for a level; use Apache or nginx")
        policy = policy.for_origin()
    files = [file for file in server.files if file.is_needed(policy)]
    return {file.name: _rendered(server, file, policy) for file in files}


def _rendered(server: Server, file: EmittedFile, policy: Policy) -> str:
    from jinja2 import TemplateError

    try:
        template = _environment(server, policy).get_template(f"{file.name}.j2")
        return file.finish(template.render(_variables(server, policy)))
    except (TemplateError, ArithmeticError, TypeError) as error:
        raise UsageError(f"template {file.name}.j2: {error}") from error
    except ValueError as error:
        raise UsageError(f"{file.name} cannot be written: something in it holds {error}") from error


def _environment(server: Server, policy: Policy) -> Environment:
    from jinja2 import ChoiceLoader, FileSystemLoader, FunctionLoader

    own = [FileSystemLoader(os.fspath(policy.serve.templates))] if policy.serve.templates else []
    environment = sandboxed(
        loader=ChoiceLoader([*own, FunctionLoader(shipped_template)]),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {"comment": printable, "abspath": os.path.abspath, "pattern": literal, "lua": lua_string}
    environment.filters |= server.filters(policy)
    environment.tests |= server.tests
    return environment


def lua_string(text: str) -> str:
    """Return ``text`` as a string of Lua, which Apache and lighttpd run."""
    escaped = re.sub(r'[\x00-\x1f"\\\x7f]', lambda match: f"\\{ord(match[0]):03d}", text)
    return f'"{escaped}"'


def _variables(server: Server, policy: Policy) -> dict[str, Any]:
    _refuse_lacking(server, policy)
    common = {
        "p": policy,
        "dollar": policy.dollar,
        "conf": f"{policy.output}/{CONF_DIRECTORY}",
        "classes": CLASSES,
        "private": PRIVATE,
        "labels": LABELS,
        "pages": PAGES,
        "tokens": TOKENS,
        "codings_re": "|".join(CODINGS),
        "accepts": {coding: accepts(coding) for coding in (*policy.codings, DICTIONARY_TOKEN)},
        "held": HELD,
        "most_slashes": MOST_SLASHES,
        "dictionary_urls": DICTIONARIES,
        "accepts_format": {name: accepts_format(name) for name in policy.formats},
        "media_types": MEDIA_TYPES,
        "images": IMAGES,
        "root_re": literal(policy.output),
        "prefix_re": literal(policy.prefix),
        "hints": HINTS,
        "hint_fields": HINT_FIELDS,
        "accept_ch": ACCEPT_CH,
    }
    return common | dict(server.variables(policy))


def _refuse_lacking(server: Server, policy: Policy) -> None:
    """Refuse settings that a server cannot follow: ignoring them would let people wait for levels to change."""
    is_set = {key: getattr(policy.serve, key) for key in ("buckets", "classes", "reject")} | {
        "freshness": policy.is_strict
    }
    if wanted := [key for key in server.lacks if is_set[key]]:
        raise UsageError(
            f"serve.{wanted[0]}: {server.title} does not support {' or '.join(server.lacks)}; use Apache or nginx"
        )


# ---- action tables: the alternatives of each page for poor and for rich clients
#
# The syntax is that of Krishnamurthy, Zhang, Wills and Vishwanath (section 2)::
#
#     /foo.html .gz .p_lc ; .r_mc
#
# ``/foo.html`` has two alternatives for poor clients, and one for rich clients. Here the actions are the codings,
# ``.gz``, and the levels by their names: for poor clients those below the default level, for rich clients those above
# it.

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
