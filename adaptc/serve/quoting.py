"""Texts of strangers inside server configuration: how a path, a name or a pattern is written so that it stays itself.

Apache replaces ``${NAME}`` in each line when there is such a name (core, ``ap_resolve_env``); there is no escape,
but a name of ours that holds a dollar breaks it up. Most arguments take ``\\\\`` and ``\\"`` inside quotes. Those of
mod_rewrite do not: a quote ends at the next one. Patterns write it as ``\\x22``; test strings and substitutions, in
which a backslash takes the next character as it is, go without quotes.

nginx reads ``\\\\``, ``\\"``, ``\\n``, ``\\r`` and ``\\t`` inside quotes, and variables in most arguments. It has no
escape for a dollar: a ``geo`` variable, whose values are plain texts, holds one.
"""

from __future__ import annotations

import re

CADDY_PATH = "{path}"  # the path of the request, the one thing that Caddy shall expand
_SPECIAL = re.compile(r"[^A-Za-z0-9_/ ,:=!@~<>&;'\x80-\U0010ffff-]")


def pattern(text: str) -> str:
    """Return a regular expression (PCRE) that matches ``text`` and nothing else."""
    return _SPECIAL.sub(lambda found: rf"\x{ord(found[0]):02x}" if found[0] in '"\n\t' else f"\\{found[0]}", text)


def apache(text: str, dollar: str = "") -> str:
    """Return ``text`` as a quoted argument of an Apache directive; ``dollar`` is a defined name that holds a dollar.

    Without ``dollar`` the text may hold ``${NAME}``. Raises ``ValueError`` for a line break.
    """
    if re.search(r"[\n\r\0]", text):
        raise ValueError("a line break")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped.replace("${", f"${{{dollar}}}{{") if dollar else escaped}"'


def apache_regex(regex: str) -> str:
    """Return a regular expression as a quoted argument of RewriteCond or RewriteRule."""
    if '"' in regex:
        raise ValueError("a quotation mark, which patterns of mod_rewrite must write as \\x22")
    return f'"{regex}"'


def apache_rewrite(text: str) -> str:
    """Return ``text`` as a part of a test string or substitution of mod_rewrite, which stands without quotes.

    Raises ``ValueError`` for a line break.
    """
    if re.search(r"[\n\r\0]", text):
        raise ValueError("a line break")
    return re.sub(r"""([\\$%{"'\s])""", r"\\\1", text)


def caddy(text: str) -> str:
    """Return ``text`` as a quoted argument in a Caddyfile, which expands braces and, in paths, wildcards.

    Raises ``ValueError`` for what has no escape there.
    """
    if found := re.search(r"[\x00-\x1f\"\\`{}*?\[\]]", text.replace(CADDY_PATH, "")):
        raise ValueError(f"{found[0]!r}, which Caddy cannot be told")
    return f'"{text}"'


def caddy_regex(regex: str) -> str:
    """Return a regular expression as a quoted argument in a Caddyfile."""
    if "`" in regex:
        raise ValueError("a backquote, which ends a regular expression in a Caddyfile")
    return f"`{regex}`"


def lighttpd(text: str) -> str:
    """Return ``text`` as a string of lighttpd's configuration. Raises ``ValueError`` for what has no escape there."""
    if found := re.search(r'[\x00-\x1f"\\]', text):
        raise ValueError(f"{found[0]!r}, which lighttpd cannot be told")
    return f'"{text}"'


def lua(text: str) -> str:
    """Return ``text`` as a string of Lua."""
    escaped = re.sub(r'[\x00-\x1f"\\\x7f]', lambda found: f"\\{ord(found[0]):03d}", text)
    return f'"{escaped}"'


def nginx(text: str, dollar: str = "") -> str:
    """Return ``text`` as a quoted argument of an nginx directive; ``dollar`` is the variable that holds a dollar.

    Without ``dollar`` the text may hold variables, or is an argument that has none.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f'"{nginx_literal(escaped, dollar)}"'


def nginx_literal(text: str, dollar: str) -> str:
    """Replace each dollar by the variable that holds one."""
    return text.replace("$", f"${{{dollar}}}") if dollar else text
