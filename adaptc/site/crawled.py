"""Mirrors, docroots that were crawled: the media types and header fields that file names cannot tell.

A crawl leaves ``.adaptc/mirror.json`` in its output. There is one docroot for each host, in the directory of its name,
or one for all in the output itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass, field

TABLE = ".adaptc/mirror.json"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Mirror:
    """A docroot that was crawled.

    ``base_url`` is the URL that it is published under, ``None`` where its file names are not those of the URLs;
    ``csp`` the Content-Security-Policy that its server sends; ``types`` the media types that differ from those of the
    file names.
    """

    docroot: Path
    base_url: str | None = None
    csp: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)


def find_mirror(docroot: Path) -> Mirror | None:
    """Return the mirror that a docroot is, ``None`` when it was not crawled; a mirror of one host is its docroot.

    Raises ``UsageError`` for a mirror of several hosts, and for an invalid table.
    """
    above = docroot.parent
    for mirror, name in ((docroot, ""), (above, docroot.name), (above.parent, f"{above.name}/{docroot.name}")):
        table = _table(mirror)
        if name in table:
            return _entry(docroot, table[name])
        if not name and table:
            return _only(docroot, table)
    return None


def _only(mirror: Path, table: Mapping[str, Mapping[str, object]]) -> Mirror:
    if len(table) > 1:
        hosts = ", ".join(str(mirror / name) for name in sorted(table)[:5])
        raise UsageError(f"{mirror} is a mirror of {len(table)} hosts: name one of them, as in {hosts}")
    ((name, entry),) = table.items()
    return _entry(mirror / name, entry)


def _entry(docroot: Path, entry: Mapping[str, object]) -> Mirror:
    base_url, csp, types = entry.get("base_url"), entry.get("csp"), entry.get("types")
    return Mirror(
        docroot,
        base_url if isinstance(base_url, str) else None,
        csp if isinstance(csp, str) else None,
        {str(path): str(kind) for path, kind in types.items()} if isinstance(types, dict) else {},
    )


def _table(mirror: Path) -> Mapping[str, Mapping[str, object]]:
    path = mirror / TABLE
    if not path.is_file():
        return {}
    try:
        read = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}; crawl again") from None
    if not isinstance(read, dict) or read.get("schema") != SCHEMA:
        raise UsageError(f"{path} is of another version of adaptc; crawl again")
    docroots = read.get("docroots")
    return docroots if isinstance(docroots, dict) else {}


def types_of(docroot: Path) -> Mapping[str, str]:
    """Return the media types by path that a crawl recorded for a docroot. Raises ``UsageError``."""
    mirror = find_mirror(docroot)
    return mirror.types if mirror is not None and mirror.docroot == docroot else {}
