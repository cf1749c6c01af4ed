"""What kind of file a response is, and what it leads to.

Pages and style sheets have parsers of their own; sitemaps (XML and text), feeds (RSS and Atom) and web app manifests
are read here.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from adaptc.core import media
from adaptc.crawl.discover.link import Discovery, Link, field_links, forbids_following, links_of
from adaptc.crawl.http import Head
from adaptc.crawl.weburl import resolved
from adaptc.formats.html.links import split_rel


class Kind(Enum):
    """Files that hold links."""

    PAGE = "page"
    SHEET = "sheet"
    SVG = "svg"
    XML = "xml"  # a sitemap or a feed, as its root element says
    SITEMAP = "sitemap"
    MANIFEST = "manifest"
    SCRIPT = "script"
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
    if _is_script(media_type, place):
        return Kind.SCRIPT
    is_linked = place.startswith(_LINK) and "stylesheet" in split_rel(place.removeprefix(_LINK))
    if is_linked or place == "xml-stylesheet" or place.endswith("@import"):
        return Kind.SHEET
    return Kind.MANIFEST if place == "link rel=manifest" else Kind.OTHER


# What asks for a script by itself, whatever type it is sent as
_SCRIPT_PLACES = frozenset({"script src", "script import", "script worker"})


def _is_script(media_type: str, place: str) -> bool:
    if "script" not in media_type:
        return place in _SCRIPT_PLACES and (media_type in _UNKNOWN_TYPES or media_type == "text/plain")
    from adaptc.formats.script.embedding import is_javascript_type

    return is_javascript_type(media_type, None)


class RunningPage(NamedTuple):
    """The page that runs a script: its base URL, and what reads its markup (empty where it has no file)."""

    base: str
    read: Callable[[], bytes]


def discover(
    kind: Kind, content: bytes, url: str, head: Head, agent: str, page: RunningPage | None = None
) -> Discovery:
    """Return the links of a response in their order: those of its fields first.

    ``agent`` is the product token by which pages and fields may forbid us to follow links. ``page`` is the page that
    runs a script, ``None`` where that is not known.
    """
    if kind is Kind.SCRIPT:
        discovered = _script_links(content, url, head.charset, page)
    else:
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
    from adaptc.crawl.discover.page_links import page_links

    return page_links(content, url, charset, agent)


def _script_links(content: bytes, url: str, charset: str | None, page: RunningPage | None) -> Discovery:
    from adaptc.crawl.discover.page_links import declared_imports, decode_page
    from adaptc.crawl.discover.script_links import script_links

    @cache
    def import_map() -> dict[str, str]:
        return declared_imports(page.read(), page.base) if page is not None else {}

    text = decode_page(content, charset or "utf-8").readable
    return Discovery(url, script_links(text, url, page.base if page is not None else None, import_map))


def _sheet_links(content: bytes, url: str, charset: str | None) -> Discovery:
    from adaptc.core.model import Reference
    from adaptc.crawl.discover.page_links import decode_sheet
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


# ---- sitemaps, feeds and web app manifests

SITEMAP = "sitemap"  # the place of a link that leads to a sitemap
_LISTED = "sitemap loc"
_GZIP = b"\x1f\x8b"
# RSS 2.0 and 1.0, Atom (RFC 4287), Media RSS, iTunes: element -> attribute, or None for its text.
_FEED_URLS: dict[str, tuple[str | None, ...]] = {
    "link": ("href", None), "enclosure": ("url",), "content": ("url", "src"), "thumbnail": ("url",), "image": ("href",),
    "url": (None,), "comments": (None,), "icon": (None,), "logo": (None,),
}  # fmt: skip
_MOST_UNZIPPED = 50 << 20  # bytes (sitemaps.org); what follows is not read
_MANIFEST_LISTS = ("icons", "screenshots")


def local_name(tag: Any) -> str:
    """Return the name of an element without its namespace; of a comment or an instruction, nothing."""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def parse_xml(content: bytes) -> Any:
    """Return the root of an XML document, ``None`` when it is none; nothing outside of it is read."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        return None


def sitemap_links(content: bytes, url: str) -> Discovery:
    """Return what a sitemap lists (sitemaps.org): an index, an urlset or a text, also compressed with gzip."""
    content = _unzipped(content)
    root = parse_xml(content) if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") else None
    if root is not None:
        return sitemap_tree_links(root, url)
    lines = content.decode("utf-8-sig", "replace").split()
    return Discovery(url, list(_links(url, ((line, _LISTED, number) for number, line in enumerate(lines, 1)))))


def sitemap_tree_links(root: Any, url: str) -> Discovery:
    """Return what a parsed sitemap lists: other sitemaps where it is an index; pages, images and versions else."""
    is_index = local_name(root.tag) == "sitemapindex"
    place = SITEMAP if is_index else _LISTED
    locations = (
        (node.text or "", place, node.sourceline or 1) for node in root.iter() if local_name(node.tag) == "loc"
    )
    alternates = (
        (node.get("href") or "", _LISTED, node.sourceline or 1)
        for node in root.iter()
        if local_name(node.tag) == "link" and node.get("href")
    )
    return Discovery(url, [*_links(url, locations), *_links(url, alternates)])


def feed_links(root: Any, url: str) -> Discovery:
    """Return the links of an RSS or Atom feed; ``xml:base`` counts."""
    links: list[Link] = []
    for node in root.iter():
        base = node.base or url
        for source in _FEED_URLS.get(local_name(node.tag), ()):
            written = node.text if source is None else node.get(source)
            if written and written.strip() and not len(node):
                links += _links(resolved(url, base) or url, [(written, "feed", node.sourceline or 1)])
    return Discovery(url, links)


def manifest_links(content: bytes, url: str) -> Discovery:
    """Return the links of a web app manifest (W3C App Manifest): start page, icons, screenshots, shortcuts."""
    try:
        manifest = json.loads(content.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return Discovery(url)
    if not isinstance(manifest, dict):
        return Discovery(url)
    icons = [(source, "manifest", 1) for source in _manifest_images(manifest)]
    starts = [(manifest.get("start_url"), "manifest start_url", 1)]
    shortcuts = [(shortcut.get("url"), "manifest shortcut", 1) for shortcut in _objects(manifest.get("shortcuts"))]
    return Discovery(url, [*_links(url, icons, requisite=True), *_links(url, starts), *_links(url, shortcuts)])


def _manifest_images(manifest: dict[str, Any]) -> Iterator[Any]:
    for holder in (manifest, *_objects(manifest.get("shortcuts"))):
        for name in _MANIFEST_LISTS:
            yield from (image.get("src") for image in _objects(holder.get(name)))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _links(base: str, places: Iterable[tuple[Any, str, int]], *, requisite: bool = False) -> Iterator[Link]:
    for written, place, line in places:
        url = resolved(base, written.strip()) if isinstance(written, str) else None
        if url is not None:
            yield Link(url, requisite, place, line)


def _unzipped(content: bytes) -> bytes:
    """Undo the gzip of a ``sitemap.xml.gz``; a broken one is returned as it is."""
    if not content.startswith(_GZIP):
        return content
    try:
        decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return decoder.decompress(content, _MOST_UNZIPPED)
    except zlib.error:
        return content
