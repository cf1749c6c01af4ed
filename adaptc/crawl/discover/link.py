"""A link that was found in a file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from adaptc.crawl.weburl import resolved
from adaptc.model import EMBEDDED, Reference, Role

# What a page needs to look and work as it should: what a browser loads by itself, and what its scripts will.
REQUISITE = EMBEDDED | {Role.FONT, Role.PRELOAD, Role.MANIFEST, Role.CSS_URL, Role.LAZY}
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]{2}")
# Where a form is sent is no page: asking for it may change something on the server.
_FORMS = frozenset({"form action", "button formaction", "input formaction"})


class Link(NamedTuple):
    """A link. ``url`` is absolute, without a fragment; ``place`` and ``line`` are those of the reference."""

    url: str
    requisite: bool
    place: str = ""
    line: int = 1
    is_relative: bool = True
    nofollow: bool = False

    @property
    def tag(self) -> str:
        """The element that it stands in."""
        return self.place.partition(" ")[0]


@dataclass(slots=True)
class Discovered:
    """What a file holds. ``base`` is the URL that its references were resolved against.

    ``nofollow`` is set where the page or its response forbids to follow links (meta robots, X-Robots-Tag).
    """

    base: str
    links: list[Link] = field(default_factory=list)
    nofollow: bool = False


def link_of(base: str, reference: Reference, *, nofollow: bool = False) -> Link | None:
    """Return the link of a reference, ``None`` when it leads nowhere a crawler goes."""
    written = reference.url.strip()
    if not written or written[0] == "#" or reference.where in _FORMS:
        return None
    url = resolved(base, written)
    if url is None:
        return None
    is_relative = _ABSOLUTE.match(written) is None
    place = reference.where if reference.where.isprintable() else " ".join(reference.where.split())
    return Link(url, reference.role in REQUISITE, place, reference.line, is_relative, nofollow)


def links_of(base: str, references: Iterable[Reference]) -> list[Link]:
    """Return the links of references, in their order."""
    return [link for reference in references if (link := link_of(base, reference)) is not None]
