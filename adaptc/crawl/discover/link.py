"""Links of files and header fields (``Link``, ``Refresh``), and fields that forbid following (``X-Robots-Tag``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from adaptc.core.model import EMBEDDED, Reference, Role
from adaptc.core.values import dataclass, field
from adaptc.crawl.http import Head
from adaptc.crawl.scope import ScopeOptions
from adaptc.crawl.weburl import directory_of, resolved, without_parameters
from adaptc.formats.html.links import split_rel
from adaptc.formats.html.syntax import parse_refresh

# What a page needs to look and work as it should: what a browser loads by itself, and what its scripts will.
REQUISITE = EMBEDDED | {Role.FONT, Role.PRELOAD, Role.MANIFEST, Role.CSS_URL, Role.LAZY}
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]{2}")
# How references begin that are resolved against the page itself, not its directory; control characters are
# stripped first
_OWN = frozenset({"", "?", "#", *map(chr, range(0x20))})
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
        """The element that holds it."""
        return self.place.partition(" ")[0]


@dataclass(slots=True)
class Discovery:
    """What a file holds. ``base`` is the URL that its references were resolved against.

    ``nofollow`` is set where the page or its response forbids to follow links (meta robots, X-Robots-Tag).
    """

    base: str
    links: list[Link] = field(default_factory=list)
    nofollow: bool = False


def link_of(base: str, reference: Reference, *, nofollow: bool = False) -> Link | None:
    """Return the link of a reference, ``None`` when it leads nowhere a crawler goes."""
    written = reference.url.strip()
    if written[:1] in _OWN:
        if not written or written[0] == "#":
            return None
    else:
        base = directory_of(base)
    target = _resolve_target(base, written, reference.where)
    if target is None:
        return None
    url, place, is_relative = target
    return Link(url, reference.role in REQUISITE, place, reference.line, is_relative, nofollow)


# Most links lead to the same place from every page of a directory, and its pages have them in common.
@lru_cache(maxsize=16_384)
def _resolve_target(base: str, written: str, where: str) -> tuple[str, str, bool] | None:
    """Return the URL, the place in words, and whether it was written without a host."""
    url = resolved(base, written) if where not in _FORMS else None
    if url is None:
        return None
    place = where if where.isprintable() else " ".join(where.split())
    return url, place, _ABSOLUTE.match(written) is None


def links_of(base: str, references: Iterable[Reference]) -> list[Link]:
    """Return the links of references, in their order."""
    return [link for reference in references if (link := link_of(base, reference)) is not None]


def distinct(links: Iterable[Link], scope: ScopeOptions) -> list[Link]:
    """Return each URL once, as a requisite where it is one anywhere in the file.

    Where elements or spellings count, each of those once.
    """
    links_by_target: dict[tuple[str, str, bool], Link] = {}
    strips, by_tag = scope.strip_query, scope.by_tag
    for link in links:
        if strips:
            link = link._replace(url=without_parameters(link.url, strips))
        key = (link.url, link.tag if by_tag else "", link.is_relative and scope.relative)
        known = links_by_target.setdefault(key, link)
        if known is not link and _is_stronger(link, known):
            links_by_target[key] = link
    return list(links_by_target.values())


def _is_stronger(link: Link, known: Link) -> bool:
    """Whether a second link to the same URL says more for following it than the first."""
    return (link.requisite and not known.requisite) or (known.nofollow and not link.nofollow)


_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s=;,\"]+(?:\s*=\s*(?:\"(?:\\.|[^\"\\])*\"|[^\s;,\"]*))?)*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)
_NEEDED = frozenset({"stylesheet", "preload", "modulepreload", "icon", "manifest"})
_IGNORED = frozenset({"preconnect", "dns-prefetch"})
_AGENT = re.compile(r"\s*([A-Za-z][\w-]*)\s*:(.*)", re.DOTALL)
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


def field_links(head: Head, url: str) -> list[Link]:
    """Return the links of a response's fields."""
    return [*_link_fields(head, url), *_refresh(head, url)]


def _link_fields(head: Head, url: str) -> Iterator[Link]:
    """Yield the links of ``Link`` fields (RFC 8288)."""
    for match in (link for value in head.all("link") for link in _LINK.finditer(value)):
        rel = _REL.search(match[2])
        rels = split_rel(rel[1] or rel[2] or "") if rel else frozenset()
        target = resolved(url, match[1])
        if target is not None and not rels & _IGNORED:
            yield Link(target, bool(rels & _NEEDED), "Link header")


def _refresh(head: Head, url: str) -> Iterator[Link]:
    for value in head.all("refresh"):
        refresh = parse_refresh(value)
        target = resolved(url, refresh.url) if refresh and refresh.url is not None else None
        if target is not None:
            yield Link(target, False, "Refresh header")


def forbids_following(head: Head, agent: str) -> bool:
    """Whether ``X-Robots-Tag`` says nofollow, to everybody or to ``agent`` (Google's and Bing's convention)."""
    for value in head.all("x-robots-tag"):
        addressee = _AGENT.match(value)
        rules = value
        if addressee is not None and addressee[1].lower() not in _VALUED:
            if addressee[1].lower() != agent:
                continue
            rules = addressee[2]
        if {"nofollow", "none"} & {word.strip().lower() for word in rules.split(",")}:
            return True
    return False
