"""What kind of file a response is, and what it leads to."""

from __future__ import annotations

from enum import Enum

from adaptc.core import media
from adaptc.crawl.discover.feeds import (
    SITEMAP,
    feed_links,
    local_name,
    manifest_links,
    parse_xml,
    sitemap_links,
    sitemap_tree_links,
)
from adaptc.crawl.discover.link import Discovery, Link, field_links, forbids_following, links_of
from adaptc.crawl.http import Head
from adaptc.formats.html.links import split_rel


class Kind(Enum):
    """Files that hold links."""

    PAGE = "page"
    SHEET = "sheet"
    SVG = "svg"
    XML = "xml"  # a sitemap or a feed, as its root element says
    SITEMAP = "sitemap"
    MANIFEST = "manifest"
    OTHER = "other"
    ERROR = "error"  # the body of an error that is kept: never read


# Kinds that are read for their links
PARSED = frozenset(Kind) - {Kind.OTHER, Kind.ERROR}
# Bytes of a file that is still read for its links: the tree of a page takes 5 to 52 times its size in memory, that of
# a sheet 17 times, of a sitemap 11 times. The HTML Standard has 13 MB on one page; sitemaps may have 50 (sitemaps.org).
_MOST_PARSED = 16 << 20
_MOST_OF_SITEMAP = 50 << 20
_BY_TYPE = {
    media.HTML: Kind.PAGE, media.XHTML: Kind.PAGE, media.CSS: Kind.SHEET, media.SVG: Kind.SVG,
    "application/manifest+json": Kind.MANIFEST, "text/xml": Kind.XML, "application/xml": Kind.XML,
    "application/rss+xml": Kind.XML, "application/atom+xml": Kind.XML, "application/rdf+xml": Kind.XML,
}  # fmt: skip
# Types that servers give where they know none: the content decides (as browsers sniff, except for text/plain).
_UNKNOWN_TYPES = frozenset({"", "application/octet-stream", "unknown/unknown", "application/unknown", "*/*"})
_LINK = "link rel="


def most_parsed(kind: Kind) -> int:
    """Return the bytes up to which a file of this kind is read for its links."""
    return _MOST_OF_SITEMAP if kind in (Kind.SITEMAP, Kind.XML) else _MOST_PARSED


def kind_of(media_type: str, place: str, head: bytes) -> Kind:
    """Return what a response is by its type, by what asked for it, and by its first bytes."""
    if place == SITEMAP:
        return Kind.SITEMAP
    known = _BY_TYPE.get(media_type)
    if known is not None:
        return known
    if media_type in _UNKNOWN_TYPES:
        sniffed = media.by_content(head[: media.SNIFF_BYTES])
        if sniffed in _BY_TYPE:
            return _BY_TYPE[sniffed]
    is_linked = place.startswith(_LINK) and "stylesheet" in split_rel(place.removeprefix(_LINK))
    if is_linked or place == "xml-stylesheet" or place.endswith("@import"):
        return Kind.SHEET
    return Kind.MANIFEST if place == "link rel=manifest" else Kind.OTHER


def discover(kind: Kind, content: bytes, url: str, head: Head, agent: str) -> Discovery:
    """Return the links of a response in their order: those of its fields first.

    ``agent`` is the product token by which pages and fields may forbid us to follow links.
    """
    discovered = _of_content(kind, content, url, head.charset, agent)
    fields: list[Link] = field_links(head, url)
    discovered.links[:0] = fields
    discovered.nofollow = discovered.nofollow or forbids_following(head, agent)
    return discovered


def _of_content(kind: Kind, content: bytes, url: str, charset: str | None, agent: str) -> Discovery:
    if kind is Kind.PAGE:
        return _page_links(content, url, charset, agent)
    if kind is Kind.SHEET:
        return _sheet_links(content, url, charset)
    if kind is Kind.SVG:
        return _svg_links(content, url)
    if kind is Kind.XML:
        return _xml_links(content, url, agent)
    if kind is Kind.SITEMAP:
        return sitemap_links(content, url)
    return manifest_links(content, url) if kind is Kind.MANIFEST else Discovery(url)


# What reads pages is imported where they are read: a crawl's reader may be another process.
def _page_links(content: bytes, url: str, charset: str | None, agent: str) -> Discovery:
    from adaptc.crawl.discover.page import page_links

    return page_links(content, url, charset, agent)


def _sheet_links(content: bytes, url: str, charset: str | None) -> Discovery:
    from adaptc.core.model import Reference
    from adaptc.crawl.discover.page import decode_sheet
    from adaptc.formats.css.references import css_references

    text = decode_sheet(content, charset, "utf-8").readable
    references = css_references(text)
    places = (
        Reference(
            reference.role, reference.url, f"css {_SPELLED.get(reference.role.value, 'url()')}", reference.line, 1
        )
        for reference in references
    )
    return Discovery(url, links_of(url, places))


_SPELLED = {"import": "@import"}


def _svg_links(content: bytes, url: str) -> Discovery:
    from adaptc.formats.svg.parse import svg_references

    return Discovery(url, links_of(url, svg_references(content)))


_FEEDS = frozenset({"rss", "feed", "RDF"})
_SITEMAPS = frozenset({"urlset", "sitemapindex"})


def _xml_links(content: bytes, url: str, agent: str) -> Discovery:
    """Return the links of an XML file by its root element; XML of any other kind leads nowhere."""
    root = parse_xml(content)
    name = local_name(root.tag) if root is not None else ""
    if name in _FEEDS:
        return feed_links(root, url)
    if name in _SITEMAPS:
        return sitemap_tree_links(root, url)
    if name == "svg":
        return _svg_links(content, url)
    return _page_links(content, url, None, agent) if name == "html" else Discovery(url)
