"""Server configuration from a policy, by templates (Jinja2) that users may replace."""

from __future__ import annotations

import os
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.model import CODINGS, DICTIONARY_TOKEN, MEDIA_TYPES, MOST_SLASHES, TOKENS
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
from adaptc.serve.policy import CLASSES, CONF_DIRECTORY, Policy
from adaptc.serve.server import EmittedFile, Server

if TYPE_CHECKING:
    from jinja2 import Environment


def render(server: Server, policy: Policy) -> dict[str, str]:
    """Return the configuration files of ``server`` by name; texts are to be written with ``os.fsencode``.

    Files that the policy does not need are left out. Raises ``UsageError`` for a setting that the server cannot follow,
    a path that its configuration cannot express, or a mistake in a template.
    """
    files = [file for file in server.files if file.is_needed(policy)]
    return {file.name: _rendered(server, file, policy) for file in files}


def _rendered(server: Server, file: EmittedFile, policy: Policy) -> str:
    from jinja2 import TemplateError

    try:
        template = _environment(server, policy).get_template(f"{file.name}.j2")
        return file.finish(template.render(_variables(server, policy)))
    except TemplateError as error:
        raise UsageError(f"template {file.name}.j2: {error}") from error
    except ValueError as error:
        raise UsageError(f"{file.name} cannot be written: something in it holds {error}") from error


def _environment(server: Server, policy: Policy) -> Environment:
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, FunctionLoader, StrictUndefined

    own = [FileSystemLoader(os.fspath(policy.serve.templates))] if policy.serve.templates else []
    environment = Environment(
        loader=ChoiceLoader([*own, FunctionLoader(_shipped)]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {"comment": printable, "abspath": os.path.abspath, "pattern": literal, "lua": lua_string}
    environment.filters |= server.filters(policy)
    environment.tests |= server.tests
    return environment


def _shipped(name: str) -> str | None:
    file = resources.files("adaptc.templates").joinpath(name)
    return file.read_text("utf-8") if file.is_file() else None


def lua_string(text: str) -> str:
    """Return ``text`` as a string of Lua, which Apache and lighttpd run."""
    escaped = re.sub(r'[\x00-\x1f"\\\x7f]', lambda match: f"\\{ord(match[0]):03d}", text)
    return f'"{escaped}"'


def _variables(server: Server, policy: Policy) -> dict[str, Any]:
    if not server.is_complete:
        _refuse_daemons(server, policy)
    common = {
        "p": policy,
        "dollar": policy.dollar,
        "conf": f"{policy.output}/{CONF_DIRECTORY}",
        "classes": CLASSES,
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


def _refuse_daemons(server: Server, policy: Policy) -> None:
    """Refuse settings that a server cannot follow: ignoring them would let people wait for levels to change."""
    wanted = [key for key in ("buckets", "classes", "reject") if getattr(policy.serve, key)]
    wanted += ["freshness"] if policy.is_strict else []
    if wanted:
        title = server.title
        raise UsageError(f"serve.{wanted[0]}: {title} supports only flag, level and coding; use Apache or nginx")
