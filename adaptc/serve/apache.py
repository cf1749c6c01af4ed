"""The words of the templates for Apache httpd, and the skips of mod_rewrite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from adaptc.serve import quoting
from adaptc.serve.logformat import apache_log_format
from adaptc.serve.patterns import asks
from adaptc.serve.policy import Policy


def apache_words(policy: Policy) -> dict[str, Any]:
    """Return what the templates know beside the policy. Raises ``ValueError`` for a path that Apache cannot be told."""
    if "?" in policy.output:
        raise ValueError("a question mark, which begins a query in substitutions of mod_rewrite")
    fixed = not (policy.serve.buckets or policy.serve.classes)
    left = "|".join(["_adaptc/", *(f"{quoting.pattern(path[1:])}(?:/|$)" for path in policy.serve.exclude if path)])
    trees = f"{policy.prefix}{policy.serve.htaccess_trees}"
    return {
        "trees": trees,
        "trees_rw": quoting.apache_rewrite(trees),
        "trees_re": f"^{quoting.pattern(policy.serve.htaccess_trees[1:])}/",
        "excluded_here": rf"[%?\#]|^(?:{left})",
        "modules": list(modules(policy)),
        "is_fixed": fixed,
        "adaptable": f"^{quoting.pattern(policy.prefix)}(/(?!{left})[^?]*)$",
        "level_map": _level_map(policy),
        "asked": asks(policy.trees_asked, policy.codings),
        "root_rw": quoting.apache_rewrite(policy.output),
        "level_rw": policy.start if fixed else f"%{{ENV:{policy.name}_level}}",
        "log_format": apache_log_format(policy),
    }


def modules(policy: Policy) -> Iterator[str]:
    """Yield the modules that a policy needs, in alphabetical order."""
    yield "headers"
    if policy.is_strict:
        yield "lua"
    if policy.serve.trusted_proxies:
        yield "remoteip"
    yield "rewrite"


def _level_map(policy: Policy) -> str:
    """Return what looks the level up: that of the bucket ``%1``, or the one of every bucket; then of the client."""
    level = f"${{{policy.name}_buckets:%1|{policy.start}}}" if policy.serve.buckets else policy.start
    if not policy.serve.classes:
        return level
    return f"${{{policy.name}_trees:{level}:%{{ENV:{policy.name}_asked}}:%{{ENV:{policy.name}_class}}|{policy.start}}}"


def is_plain(path: str) -> bool:
    """Whether <Directory> takes ``path`` as it is: wildcards and backslashes have a meaning of their own."""
    return not re.search(r"[*?\[\]\\]", path)


_SKIP = re.compile(r"S=to-([a-z]+)")
_LABEL = re.compile(r"# ([a-z]+):")


def count_skips(text: str) -> str:
    """Replace ``S=to-LABEL`` by the number of rules up to the line ``# LABEL:``, and drop those lines.

    A wrong number would skip rules of the site; templates, those of users too, cannot get it wrong this way. Raises
    ``ValueError`` for a label that does not come.
    """
    lines = text.split("\n")
    labels = {found[1]: number for number, line in enumerate(lines) if (found := _LABEL.fullmatch(line))}
    return "\n".join(_counted(lines, labels))


def _counted(lines: list[str], labels: dict[str, int]) -> Iterator[str]:
    for number, line in enumerate(lines):
        found = _SKIP.search(line)
        if found is None:
            if number not in labels.values():
                yield line
        elif labels.get(found[1], 0) <= number:
            raise ValueError(f"a skip to {found[1]}, a label that does not follow")
        else:
            skipped = sum(one.startswith("RewriteRule ") for one in lines[number + 1 : labels[found[1]]])
            yield line.replace(found[0], f"S={skipped}")
