"""The links of sitemaps (XML and text), feeds (RSS and Atom) and web app manifests."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from adaptc.crawl.discover.link import Discovery, Link
from adaptc.crawl.weburl import resolved

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
