"""Server configuration from a policy, by templates (Jinja2) that users may replace."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.model import CODINGS, MEDIA_TYPES, TOKENS
from adaptc.serve import quoting
from adaptc.serve.apache import apache_words, count_skips, is_plain
from adaptc.serve.nginx import nginx_words
from adaptc.serve.patterns import HINTS, IMAGES, accepts, accepts_format
from adaptc.serve.policy import CLASSES, CONF_DIRECTORY, Policy
from adaptc.serve.small_servers import caddy_words, lighttpd_words

if TYPE_CHECKING:
    from jinja2 import Environment

WORDS: Mapping[str, Callable[[Policy], dict[str, Any]]] = {
    "apache": apache_words,
    "htaccess": apache_words,
    "caddy": caddy_words,
    "lighttpd": lighttpd_words,
    "nginx": nginx_words,
}
# Files that only some policies have use for
USES: Mapping[str, Callable[[Policy], bool]] = {
    "apache-trees.txt": lambda policy: policy.serve.classes,
    "apache-fresh.lua": lambda policy: policy.is_strict,
    "nginx-fresh.js": lambda policy: policy.is_strict,
}
FILES: Mapping[str, tuple[str, ...]] = {
    "apache": ("apache.conf", "apache-trees.txt", "apache-fresh.lua"),
    "htaccess": ("htaccess",),
    "caddy": ("Caddyfile",),
    "lighttpd": ("lighttpd.conf", "lighttpd.lua"),
    "nginx": ("nginx-http.conf", "nginx-server.conf", "nginx-location.conf", "nginx-fresh.js"),
}


def render(server: str, policy: Policy) -> dict[str, str]:
    """Return the configuration files of ``server`` by name; texts are to be written with ``os.fsencode``.

    Those that the policy has no use for are left out. Raises ``UsageError`` for a path that the server cannot be told,
    or a template that is wrong.
    """
    names = [name for name in FILES[server] if name not in USES or USES[name](policy)]
    return {name: _rendered(server, name, policy) for name in names}


def _rendered(server: str, name: str, policy: Policy) -> str:
    from jinja2 import TemplateError

    try:
        template = _environment(server, policy).get_template(f"{name}.j2")
        text = template.render(_words(server, policy))
        return count_skips(text) if name in ("apache.conf", "htaccess") else text
    except TemplateError as error:
        raise UsageError(f"template {name}.j2: {error}") from error
    except ValueError as error:
        raise UsageError(f"{name} cannot be written: something in it holds {error}") from error


def _environment(server: str, policy: Policy) -> Environment:
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
    environment.filters |= {"comment": printable, "abspath": os.path.abspath}
    environment.filters |= {"rewrite": quoting.apache_rewrite, "regex": quoting.apache_regex}
    environment.filters |= {"pattern": quoting.pattern, "caddy_regex": quoting.caddy_regex}
    environment.tests["plain"] = is_plain
    environment.filters |= _quoting(server, policy)
    return environment


def _shipped(name: str) -> str | None:
    file = resources.files("adaptc.templates").joinpath(name)
    return file.read_text("utf-8") if file.is_file() else None


def _quoting(server: str, policy: Policy) -> dict[str, Callable[[str], str]]:
    """Return the filters of arguments: ``arg`` may hold variables of the server, ``path`` holds none."""
    if server in ("caddy", "lighttpd"):
        return {"arg": getattr(quoting, server), "lua": quoting.lua}
    quote = quoting.nginx if server == "nginx" else quoting.apache
    return {"arg": quote, "path": partial(quote, dollar=policy.dollar), "lua": quoting.lua}


def _words(server: str, policy: Policy) -> dict[str, Any]:
    common = {
        "p": policy,
        "dollar": policy.dollar,
        "conf": f"{policy.output}/{CONF_DIRECTORY}",
        "classes": CLASSES,
        "tokens": TOKENS,
        "codings_re": "|".join(CODINGS),
        "accepts": {coding: accepts(coding) for coding in policy.codings},
        "accepts_format": {name: accepts_format(name) for name in policy.formats},
        "media_types": MEDIA_TYPES,
        "images": IMAGES,
        "root_re": quoting.pattern(policy.output),
        "prefix_re": quoting.pattern(policy.prefix),
        "hints": HINTS,
    }
    return common | WORDS[server](policy)
