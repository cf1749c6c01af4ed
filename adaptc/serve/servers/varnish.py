"""Varnish 7, as reverse proxy of a server that sends from the trees: it chooses the level, and keeps answers by level.

A string of VCL between ``{"`` and ``"}`` has no escapes and may hold any text but its end.
"""

from __future__ import annotations

import os
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.core.model import DICTIONARY_TOKEN
from adaptc.serve.patterns import asks, encoded
from adaptc.serve.policy import STALE_IF_ERROR, Policy
from adaptc.serve.server import EmittedFile, Instance, Launcher, Server, always

# The header fields of a request, after X-Adaptc-, in which VCL keeps what it has found out
INTERNAL = ("Level", "Bucket", "Class", "Asked", "Address", "Takes")
# What turns an address into the keys of its markers (``adaptc.daemons.classify.tables``), the widest network first
KEYS = (
    r"^(?|(\d+\.\d+)\.|((?:[0-9a-f]+:){0,2}(?::|[0-9a-f]+:))).*$",
    r"^(?|(\d+\.\d+\.\d+)\.\d+$|((?:[0-9a-f]+:){0,3}(?::|[0-9a-f]+:))).*$",
    r"^(.*)$",
)


def _variables(policy: Policy) -> dict[str, Any]:
    serve = policy.serve
    if serve.reverse_proxy != SERVER.name:
        raise UsageError(
            'serve.reverse_proxy: write reverse_proxy = "varnish", so that origin servers do as they are asked'
        )
    if policy.degraded and not serve.shared_seconds:
        raise UsageError("serve.shared_seconds: say for how many seconds Varnish may keep a degraded answer")
    asked = asks(policy.trees_asked, policy.codings)
    return {
        "by_address": serve.buckets or serve.classes,
        "proxies": [ip_network(text, strict=False) for text in serve.trusted_proxies],
        "adds_address": serve.client_header.lower() == "x-forwarded-for",
        "excluded": "|".join(f"^{encoded(policy.prefix + path)}(?:[/?]|$)" for path in policy.excluded),
        "below_prefix": f"^{encoded(policy.prefix)}/(?!_adaptc/)",
        "asked": asked,
        "asked_alone": f"(?s)^.*?{asked}.*$",
        "keys": KEYS,
        "internal": INTERNAL,
        "stale_if_error": STALE_IF_ERROR,
        "takes": [*policy.codings, *([DICTIONARY_TOKEN] if policy.uses_dictionaries else [])],
    }


def long_string(text: str) -> str:
    """Return ``text`` as a string of VCL. Raises ``ValueError`` for what would end it."""
    if '"}' in text:
        raise ValueError("a quotation mark before a brace, which ends a string of VCL")
    return f'{{"{text}"}}'


# ---- how it is started


def _configuration(instance: Instance, _port: int) -> str:
    backend = f'backend default {{ .host = "127.0.0.1"; .port = "{instance.origin}"; }}'
    included = (f"include {long_string(os.fspath(file))};" for file in instance.includes)
    return "\n".join(("vcl 4.1;", backend, *included, ""))


def _command(program: str, root: Path, file: Path, port: int) -> list[str]:
    address, work = f"127.0.0.1:{port}", os.fspath(root / "work")
    options = ["-p", "http_gzip_support=off", "-j", "none", "-s", "malloc,64m"]
    return [program, "-F", "-a", address, "-f", os.fspath(file), "-n", work, *options]


SERVER = Server(
    name="varnish",
    title="Varnish 7",
    files=(EmittedFile("varnish.vcl", is_included=always),),
    variables=_variables,
    filters=lambda _policy: {"arg": long_string},
    is_reverse_proxy=True,
    is_cache=True,
    programs=("varnishd",),
    packages="varnish (Debian, Ubuntu, Fedora)",
    launcher=Launcher(
        configuration=_configuration,
        command=_command,
        ignores_if_match=True,
    ),
)
