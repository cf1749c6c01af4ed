"""The main navigation of a page as a short list of links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turbohtml import Document, Element

from adaptc.formats.html.labels import folded, is_followed, link_label, link_name
from adaptc.formats.html.landmarks import Landmarks, is_hidden, words

__all__ = ["NavigationLink", "Site", "find_site", "navigation_links"]

MOST = 80  # links: a contents tree of a manual has a thousand, and its first two levels fit
_FEWEST = 8  # links: upper levels that hold fewer (a logo over a menu of a hundred) do not stand for the navigation
_LONGEST = 90  # characters of a label, for teasers that are one link
_BRANDS = frozenset({"brand", "logo"})
_NEAR = 4  # the link and three elements around it
_LISTS = ("ul", "ol", "dl", "menu")
_BRAND = "[class*=brand] a[href], [class*=logo] a[href], a[href][class*=brand], a[href][class*=logo], a[href][rel=home]"


class NavigationLink(NamedTuple):
    """A link as written (``href``), its words, and how many lists it stands in."""

    href: str
    label: str
    depth: int


def navigation_links(found: Landmarks, content_links: Iterable[str] = ()) -> list[NavigationLink]:
    """Return the links of the navigation, each URL once; of a deep tree the upper levels only.

    ``content_links`` are the URLs that the content links to: where there are too many links, these go first.
    """
    links = list(_unique(link for region in found.navigation for link in _links(region)))
    if len(links) > MOST:
        elsewhere = set(content_links)
        links = [link for link in links if link.href not in elsewhere]
    if len(links) <= MOST:
        return links
    upper = [link for link in links if link.depth <= _deepest(links)]
    return (upper if len(upper) >= _FEWEST else links)[:MOST]


class Site(NamedTuple):
    """The site's name and the URL of its home page as written, each ``""`` where unknown; ``brand`` is the link."""

    name: str
    home: str
    brand: Element | None


def find_site(tree: Document) -> Site:
    """Find the name of the site that a page belongs to, and the link that shows it."""
    brand = next((each for each in tree.select(_BRAND) if _is_brand(each)), None)
    home = (brand.attr("href") or "") if brand is not None and is_followed(brand.attr("href")) else ""
    named = tree.select_one('meta[property="og:site_name"], meta[name="application-name"]')
    name = (named.attr("content") or "") if named is not None else ""
    label = link_name(brand) if brand is not None and home else ""
    return Site(folded(name) or (label if len(label) < _LONGEST else ""), home, brand)


def _is_brand(link: Element) -> bool:
    """Whether a link is called a logo or brand, itself or by what it stands in ("catalogo" is neither)."""
    if is_hidden(link):
        return False
    around = [link, *(each for each in link.ancestors if isinstance(each, Element))][:_NEAR]
    return (link.attr("rel") or "") == "home" or not _BRANDS.isdisjoint(word for each in around for word in words(each))


def _links(region: Element) -> Iterator[NavigationLink]:
    for link in region.select("a[href]"):
        href = link.attr("href") or ""
        label = link_label(link)
        if is_followed(href) and label and not is_hidden(link):
            depth = sum(isinstance(each, Element) and each.tag in _LISTS for each in link.ancestors)
            yield NavigationLink(href, label[:_LONGEST], depth)


def _unique(links: Iterable[NavigationLink]) -> Iterator[NavigationLink]:
    seen: set[str] = set()
    for link in links:
        if link.href not in seen:
            seen.add(link.href)
            yield link


def _deepest(links: list[NavigationLink]) -> int:
    """Return the deepest level that fits with all above it; the uppermost always does."""
    counts = Counter(link.depth for link in links)
    total, deepest = 0, min(counts)
    for depth in sorted(counts):
        total += counts[depth]
        if total <= MOST:
            deepest = depth
    return deepest
