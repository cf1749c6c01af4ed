"""Write the configuration of servers, and the state directory that it refers to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.engine.output import SourceTimes
from adaptc.compile.engine.state import State, last_build
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError
from adaptc.core.fs import write_atomic
from adaptc.serve import state_directory
from adaptc.serve.action_table import check_table, entries, json_chunks, map_line, table_line
from adaptc.serve.configuration import FILES, render
from adaptc.serve.policy import CONF_DIRECTORY, Policy, policy_of


@dataclass(frozen=True, slots=True)
class Emitted:
    """What was written: files in the order of their writing, and the policy that they follow."""

    policy: Policy
    files: tuple[Path, ...]

    @property
    def configures(self) -> bool:
        """Whether a server's configuration is among the files, and not only tables."""
        return any(file.suffix == ".conf" or file.name in ("htaccess", "Caddyfile") for file in self.files)


def emit(config: Config, servers: Iterable[str]) -> Emitted:
    """Write the configuration of ``servers`` for the last build in ``config.output``.

    Raises ``UsageError`` for a configuration that cannot be served, ``OSError`` when the output cannot be written.
    """
    with last_build(config.output) as state:
        return emit_from(state, config, servers)


def emit_from(state: State, config: Config, servers: Iterable[str]) -> Emitted:
    """Write the configuration of ``servers`` for the build that ``state`` describes; see ``emit``."""
    policy = policy_of(state, config)
    wanted = tuple(dict.fromkeys(servers))
    folder = Path(os.path.abspath(config.output)) / CONF_DIRECTORY
    texts = {name: text for server in wanted if server in FILES for name, text in render(server, policy).items()}
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        write_atomic(os.fspath(folder / name), os.fsencode(text), keep_equal=True)
    files = [folder / name for name in texts]
    if "actions" in wanted:
        files += _write_actions(state, policy, folder)
    if policy.is_strict:
        SourceTimes(config.output).replace(resource for resource, _ in state.resources().values())
    if config.serve.output is None:
        _create_state(policy, wanted)
    return Emitted(policy, tuple(files))


def check_actions(config: Config, table: Path) -> list[Diagnostic]:
    """Compare an action table with the last build. Raises ``UsageError`` when the table cannot be read."""
    try:
        text = table.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{table}: cannot be read ({error})") from error
    with last_build(config.output) as state:
        return list(check_table(text, str(table), entries(state, policy_of(state, config))))


def _write_actions(state: State, policy: Policy, folder: Path) -> Iterator[Path]:
    """Write the table, its JSON and its map; the hash file of the map only where Apache's program is at hand."""
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


def _create_state(policy: Policy, servers: tuple[str, ...]) -> None:
    class_map = policy.serve.class_map if policy.serve.classes and "apache" in servers else "txt"
    try:
        state_directory.create(Path(policy.state), policy.start, class_map)
    except FileNotFoundError as error:
        if error.filename != "httxt2dbm":
            raise
        raise UsageError(
            'httxt2dbm is not installed (Debian: apache2-utils); or say serve.class_map = "txt"'
        ) from error
