"""What header fields lead to or forbid: ``Link``, ``Refresh``, ``X-Robots-Tag``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adaptc.crawl.discover.link import Link
from adaptc.crawl.head import Head
from adaptc.crawl.weburl import resolved
from adaptc.formats.html.syntax import parse_refresh

_LINK = re.compile(r"<([^>]*)>((?:\s*;\s*[^\s=;,\"]+(?:\s*=\s*(?:\"(?:\\.|[^\"\\])*\"|[^\s;,\"]*))?)*)")
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
    for found in (one for value in head.all("link") for one in _LINK.finditer(value)):
        rel = _REL.search(found[2])
        rels = frozenset((rel[1] or rel[2] or "").lower().split()) if rel else frozenset()
        target = resolved(url, found[1])
        if target is not None and not rels & _IGNORED:
            yield Link(target, bool(rels & _NEEDED), "Link header")


def _refresh(head: Head, url: str) -> Iterator[Link]:
    for value in head.all("refresh"):
        refresh = parse_refresh(value)
        target = resolved(url, refresh.url) if refresh and refresh.url is not None else None
        if target is not None:
            yield Link(target, False, "Refresh header")


def forbids_following(head: Head) -> bool:
    """Whether ``X-Robots-Tag`` says nofollow, to everybody or to us (Google's and Bing's convention)."""
    for value in head.all("x-robots-tag"):
        agent = _AGENT.match(value)
        rules = value
        if agent is not None and agent[1].lower() not in _VALUED:
            if agent[1].lower() != "adaptc":
                continue
            rules = agent[2]
        if {"nofollow", "none"} & {word.strip().lower() for word in rules.split(",")}:
            return True
    return False
