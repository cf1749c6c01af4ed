"""Write the configuration of servers and the action tables, and the state directory that servers read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.engine.state.state import State, last_build
from adaptc.compile.engine.trees.output import SourceTimes
from adaptc.config.config import ACTIONS, Config
from adaptc.core.diagnostics import Diagnostic, UsageError
from adaptc.core.fs import write_atomic
from adaptc.core.outward import refuse_outward
from adaptc.serve import state_directory
from adaptc.serve.action_table import check_table, entries, json_chunks, map_line, table_line
from adaptc.serve.configuration import render
from adaptc.serve.policy import CONF_DIRECTORY, Policy, policy_of
from adaptc.serve.server import Server
from adaptc.serve.servers import all_servers, server_named


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
    if policy.is_strict:
        SourceTimes(config.output).replace(resource for resource, _ in state.resources().values())
    if config.serve.output is None:
        create_state(policy, servers)
    return Emitted(policy, tuple(files), bool(servers))


def complete_targets() -> tuple[str, ...]:
    """Return the targets that can follow every setting of ``[serve]``."""
    return (*(server.name for server in all_servers() if server.is_complete), ACTIONS)


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
    has_class_map = policy.serve.classes and any(server.uses_class_map for server in servers)
    class_map = policy.serve.class_map if has_class_map else "txt"
    try:
        state_directory.create(Path(policy.state), policy.start, class_map)
    except FileNotFoundError as error:
        if error.filename != state_directory.HTXT2DBM:
            raise
        raise UsageError(
            'httxt2dbm is not installed (Debian: apache2-utils); or say serve.class_map = "txt"'
        ) from error
