"""``mirror.json``: what a build of the mirror has to know and no file name says (read by ``adaptc.site.mirror``)."""

from __future__ import annotations

import json
from typing import Any

from adaptc.core import media
from adaptc.core.fs import write_atomic
from adaptc.crawl.frontier import Frontier
from adaptc.crawl.mirror import Mirror
from adaptc.crawl.names import NameOptions, docroot_of

NAME = "mirror.json"
_SCHEMA = 1
_SCRIPTS = frozenset(
    {"application/javascript", "application/x-javascript", "text/ecmascript", "application/ecmascript"}
)
_KNOWN = frozenset(media.BY_EXTENSION.values()) - {media.BINARY}


def policy_key(origin: str) -> str:
    """Return the key under which the frontier keeps the Content-Security-Policy of an origin's start page."""
    return f"csp {origin}"


def write_table(frontier: Frontier, mirror: Mirror, options: NameOptions) -> None:
    """Write the table of every docroot that the mirror holds."""
    docroots: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for url, name, media_type in frontier.stored_types():
        origin = "/".join(url.split("/", 3)[:3])
        if origin not in names:
            names[origin] = docroot_of(url, options)
            docroots.setdefault(names[origin], _entry(origin, frontier, options))
        docroot = names[origin]
        told = _told_type(media_type, name)
        if told is not None:
            docroots[docroot]["types"][name.removeprefix(f"{docroot}/") if docroot else name] = told
    content = json.dumps({"schema": _SCHEMA, "docroots": docroots}, indent=1, sort_keys=True)
    write_atomic(str(mirror.state / NAME), f"{content}\n".encode())


def _entry(origin: str, frontier: Frontier, options: NameOptions) -> dict[str, Any]:
    keeps_paths = options.directories and not options.cut_dirs
    return {"base_url": f"{origin}/" if keeps_paths else None, "csp": frontier.meta(policy_key(origin)), "types": {}}


def _told_type(media_type: str | None, name: str) -> str | None:
    """Return the media type of the response, where it says another than the name of the file."""
    told = media.JS if media_type in _SCRIPTS else media_type
    return told if told in _KNOWN and told != media.by_name(name) else None
