"""Caddy: a fragment for its Caddyfile, which chooses by maps and by tests of files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.core.model import DICTIONARY_TOKEN, IDENTITY, TOKENS
from adaptc.core.urls import hashed_path, plain_path
from adaptc.serve.patterns import held_directories, token_pattern
from adaptc.serve.policy import Policy
from adaptc.serve.server import EmittedFile, Instance, Launcher, Server, always
from adaptc.serve.state_directory import BUCKETS

# What turns an address into the keys of its networks (``adaptc.daemons.classify.tables``), the narrower one first
KEYS = (
    (24, (r"^(\d+\.\d+\.\d+)\.", r"^((?:[0-9a-f]+:){0,3}(?::|[0-9a-f]+:))")),
    (16, (r"^(\d+\.\d+)\.", r"^((?:[0-9a-f]+:){0,2}(?::|[0-9a-f]+:))")),
)
# The path of the request, which Caddy shall expand
PATH = "{path}"
# Names that the file matcher takes for patterns, ways out of a tree, and Caddy's own configuration, which it hides only
# in the docroot
REFUSED = r"[*?\[\\]|/\.\.?(?:/|$)|(?i:/[^/]*caddyfile[^/]*(?:/|$))"


def _variables(policy: Policy) -> dict[str, Any]:
    if policy.prefix:
        raise UsageError("serve.prefix: the configuration for Caddy works only at the root of a host")
    excluded = [pattern for path in policy.excluded for pattern in (path, f"{path}/*")]
    tree = "{adaptc_tree}" if policy.serve.classes else "{adaptc_level}" if policy.serve.buckets else policy.level
    held = [DICTIONARY_TOKEN] if policy.uses_dictionaries else []
    return {
        "codings": [*policy.codings, IDENTITY],
        "page_codings": [*held, *policy.codings, IDENTITY],
        "held_directories": list(_held_directories()),
        "hashed_path": f"{hashed_path()}$",
        "plain_path": f"{plain_path()}$",
        "by_address": policy.serve.buckets or policy.serve.classes,
        "chooses": policy.serve.buckets or policy.serve.classes,
        "tree": tree,
        "sharing": (" {adaptc_sharing}" * policy.serve.classes + "{adaptc_cookie}") if policy.shared_fields else "",
        "buckets": BUCKETS,
        "keys": KEYS,
        "extra": [name for name in policy.shared_fields if name != "Cache-Control"],
        "index_paths": " ".join(argument(PATH + index) for index in policy.indexes),
        "tokens": {**TOKENS, DICTIONARY_TOKEN: DICTIONARY_TOKEN},
        "directories": {IDENTITY: IDENTITY, **{coding: f"{{adaptc_{coding}}}" for coding in (*held, *policy.codings)}},
        "accepted": {coding: accepted(coding) for coding in policy.codings},
        "excluded": " ".join(pattern if "*" in pattern else argument(pattern) for pattern in excluded),
        "refused": REFUSED,
        "matched_root": f'{argument(policy.output.replace("$", "$$"))[:-1]}${{1}}"',
    }


def _held_directories() -> Iterator[tuple[str, str]]:
    """Yield patterns of the fields that choose a dictionary, and the directory of a tree that each stands for."""
    for pattern, groups in held_directories():
        fields = rf"^,{accepted(DICTIONARY_TOKEN)}\|{pattern[1:]}"
        yield fields, f"{DICTIONARY_TOKEN}-" + "_".join(f"${{{group + 1}}}" for group in range(groups))


def accepted(coding: str) -> str:
    """Return the pattern of an ``Accept-Encoding`` that accepts ``coding``, to its end (RE2 has no lookaround)."""
    weight = r"(?:\s*;\s*q=(?:1(?:\.0*)?|0?\.\d*[1-9]\d*))?"
    return rf"(?i:(?:.*,)?\s*{token_pattern(coding)}{weight}\s*(?:,.*)?)"


def argument(text: str) -> str:
    """Return ``text`` as a quoted argument in a Caddyfile, which expands braces and, in paths, wildcards.

    The placeholder of the path, and those of adaptc, may be in it. Raises ``ValueError`` for a character without an
    escape.
    """
    if match := re.search(r"[\x00-\x1f\"\\`{}*?\[\]]", re.sub(r"\{(?:path|adaptc_\w+)\}", "", text)):
        raise ValueError(f"{match[0]!r}, which a Caddyfile cannot express")
    return f'"{text}"'


def raw(text: str) -> str:
    """Return a regular expression, or the value of a field, as a quoted argument in a Caddyfile."""
    if "`" in text:
        raise ValueError("a backquote, which ends a quoted argument in a Caddyfile")
    return f"`{text}`"


# ---- how it is started


def _configuration(instance: Instance, port: int) -> str:
    if instance.prefix:
        raise UsageError("serve.prefix: the configuration for Caddy works only at the root of a host")
    headers = (f"header {name} {raw(value)}" for name, value in instance.headers)
    imports = (f"import {argument(os.fspath(file))}" for file in instance.includes)
    lines = [
        "bind 127.0.0.1",
        f"root * {argument(os.fspath(instance.docroot))}",
        f"file_server {{\nindex {' '.join(map(argument, instance.index)) or 'index.html'}\n}}",
        *headers,
        *imports,
    ]
    site = "\n".join(lines)
    return f"{{\nadmin off\nauto_https off\n}}\n:{port} {{\n{site}\n}}\n"


def _command(program: str, root: Path, file: Path, _port: int) -> list[str]:
    # it writes its configuration below this directory
    return ["env", f"XDG_CONFIG_HOME={root}", program, "run", "--adapter", "caddyfile", "--config", os.fspath(file)]


SERVER = Server(
    name="caddy",
    title="Caddy",
    files=(EmittedFile("Caddyfile", is_included=always),),
    variables=_variables,
    filters=lambda _policy: {"arg": argument, "raw": raw},
    lacks=("freshness",),
    ignores=("formats",),
    programs=("caddy",),
    packages="caddy (Debian, Ubuntu, Fedora)",
    launcher=Launcher(
        configuration=_configuration,
        command=_command,
        omits=lambda path: re.search(REFUSED, f"/{path}") is not None,
        has_plain_ranges=True,
        keeps_coding=True,
    ),
)
