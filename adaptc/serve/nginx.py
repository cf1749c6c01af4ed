"""The words of the templates for nginx."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from adaptc.core.model import IDENTITY
from adaptc.serve import quoting
from adaptc.serve.logformat import class_variable, nginx_log_format
from adaptc.serve.patterns import asks
from adaptc.serve.policy import CONF_DIRECTORY, Policy

ORDINALS = ("second", "third", "fourth", "fifth")  # of the codings that are tried after the first


def nginx_words(policy: Policy) -> dict[str, Any]:
    """Return what the templates know beside the policy. Raises ``ValueError`` for a path that njs cannot be told."""
    steps = tuple(fallbacks(policy))
    chain = [f"${policy.name}_first", *(f"${policy.name}_{step}" for step, _ in steps), IDENTITY]
    prefix = quoting.pattern(policy.prefix)
    return {
        "buckets": [f"{number:02x}" for number in range(256)],
        "asked": asks(policy.trees_asked, policy.codings, f"{policy.name}_word"),
        "excluded": "|".join(f"^{prefix}{quoting.pattern(path)}(?:/|$)" for path in policy.serve.exclude),
        "steps": steps,
        "next_codings": sorted({name for _, rows in steps for _, name in rows}),
        "chain": chain,
        "places": list(places(policy, chain)),
        "state_text": quoting.nginx_literal(policy.state, policy.dollar),
        "index": quoting.nginx_literal(policy.index, policy.dollar),
        "docroot_text": quoting.nginx_literal(policy.docroot, policy.dollar),
        "times_text": quoting.nginx_literal(policy.times, policy.dollar),
        "script": _script(policy) if policy.is_strict else "",
        "tree": f"{policy.name}_{'tree' if policy.serve.classes else 'level'}",
        "class_variable": class_variable(policy),
        "log_format": nginx_log_format(policy),
    }


def _script(policy: Policy) -> str:
    """Return the path of the script, which njs puts between single quotes.

    Raises ``ValueError`` for what has no escape there.
    """
    path = f"{policy.output}/{CONF_DIRECTORY}/nginx-fresh.js"
    if found := re.search(r"['\\\n\r]", path):
        raise ValueError(f"{found[0]!r}, which js_import cannot be told")
    return path


def places(policy: Policy, chain: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what is tried one after the other before ``id``: for images the format, else the coding, as directories.

    Without formats there is no difference, and nothing is yielded.
    """
    count = max(len(chain) - 1, len(policy.formats)) if policy.formats else 0
    for number in range(count):
        yield (
            policy.formats[number] if number < len(policy.formats) else IDENTITY,
            chain[min(number, len(chain) - 1)],
        )


def fallbacks(policy: Policy) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the steps behind the coding that a client likes best: (name, rows of that coding and the next).

    A step that no file needs is left out. Mostly one is needed for Zstandard alone: what has no Brotli has nothing.
    """
    for number, step in enumerate(ORDINALS):
        rows = [(coding, follow[number]) for coding, follow in policy.follow.items() if number < len(follow)]
        if rows:
            yield step, rows
