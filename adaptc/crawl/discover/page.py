"""The links of an HTML page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes

from adaptc.core.model import Reference
from adaptc.core.urls import document_base
from adaptc.crawl.discover.link import Discovered, Link, link_of
from adaptc.crawl.discover.text import Decoded, decode_page
from adaptc.formats.html.document import parse
from adaptc.formats.html.encoding import encode
from adaptc.formats.html.references import base_href, references

if TYPE_CHECKING:
    from turbohtml import Document

_NOFOLLOW = re.compile(r"\b(?:nofollow|none)\b", re.IGNORECASE)
_ROBOTS = ("robots", "adaptc")


def page_links(content: bytes, url: str, charset: str | None) -> Discovered:
    """Return the links of the page at ``url``; ``charset`` is that of its Content-Type."""
    decoded = decode_page(content, charset)
    lowered = decoded.text.lower()
    tree = parse(decoded.readable, spans="<style" in lowered)  # of styles, references have places of their own
    found = Discovered(document_base(url, base_href(tree)), nofollow=_forbids_following(tree))
    shunned = _shunned(tree) if "nofollow" in lowered else frozenset()
    for reference in references(tree):
        link = _link(found.base, reference, decoded, shunned)
        if link is not None:
            found.links.append(link)
    return found


def _link(base: str, reference: Reference, decoded: Decoded, shunned: frozenset[tuple[int, int]]) -> Link | None:
    if not reference.url.isascii() and decoded.encoding not in ("utf-8", "utf-16le", "utf-16be"):
        url = in_encoding(reference.url, decoded.encoding)
        reference = Reference(reference.role, url, reference.where, reference.line, reference.column)
    return link_of(base, reference, nofollow=(reference.line, reference.column) in shunned)


def in_encoding(reference: str, encoding: str) -> str:
    """Write a reference's query in the page's encoding, as browsers do (URL Standard, "query state")."""
    bare, mark, rest = reference.partition("?")
    query, hash_mark, fragment = rest.partition("#")
    if "#" in bare or query.isascii():
        return reference
    return f"{bare}{mark}{''.join(_in_query(c, encoding) for c in query)}{hash_mark}{fragment}"


def _in_query(character: str, encoding: str) -> str:
    if character.isascii():
        return character
    content = encode(character, encoding)
    return quote_from_bytes(content) if content is not None else f"%26%23{ord(character)}%3B"


def _shunned(tree: Document) -> frozenset[tuple[int, int]]:
    """Return the places of elements with ``rel=nofollow``."""
    found = [element.position or (1, 0) for element in tree.select('[rel~="nofollow" i]')]
    return frozenset((line, column + 1) for line, column in found)


def _forbids_following(tree: Document) -> bool:
    metas = tree.find_all("meta") if tree.find("meta") is not None else []
    named = (meta for meta in metas if (meta.attr("name") or "").strip().lower() in _ROBOTS)
    return any(_NOFOLLOW.search(meta.attr("content") or "") for meta in named)
