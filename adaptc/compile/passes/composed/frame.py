"""The frame of a page: menus by their groups, breadcrumb, contents, pagination, and the links of its foot.

A region of navigation (``adaptc.formats.html.landmarks``) is sorted by what it is called, where it stands and where
its links lead. Each target is written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from turbohtml import Document, Element

from adaptc.compile.passes.composed.writer import Group, Link
from adaptc.core.values import dataclass, field, replace
from adaptc.formats.html.landmarks import HEADS, NavigationLink, turns_pages
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, class_words, name_words, text_markup
from adaptc.formats.html.visible_text import content_lengths, fold_space, is_followable, is_hidden, link_label

__all__ = ["Frame", "hrefs_of", "is_foot", "is_head", "link_of", "read_frame", "related_pages"]

_BREADCRUMB = frozenset({"breadcrumb", "breadcrumbs", "crumbs", "crumb"})
_PAGINATION = frozenset({"pagination", "pager", "paginator", "paging", "prevnext", "pages"})
_FOOT = frozenset({"footer", "foot", "colophon", "contentinfo"})
_HEAD = HEADS | {"topbar", "banner"}
_HEADINGS = ("h2", "h3", "h4", "h5", "h6", "dt", "summary", "legend")
_LONGEST_LABEL = 120  # characters of a link, for teasers that are one link
_RELATIONS = ("prev", "next", "up", "home", "start", "contents", "index")
_MOST_TURNING = 6  # links that turn pages: to the one before and after, up, to the contents
_LONGEST_TRAIL = 12  # links of a path; a list of who is there may be called so, too
_LONGEST_GROUP = 60  # characters of the label of a group


@dataclass(slots=True)
class Frame:
    """The links of the frame by their kind."""

    menu: list[Group] = field(default_factory=list)
    breadcrumb: list[Link] = field(default_factory=list)
    contents: list[Group] = field(default_factory=list)
    pagination: list[Link] = field(default_factory=list)
    foot: list[Group] = field(default_factory=list)
    hrefs: set[str] = field(default_factory=set)


def is_foot(element: Element) -> bool:
    """Whether an element is called the foot of the page."""
    is_role = (element.attr("role") or "").lower() == "contentinfo"
    return element.tag == "footer" or is_role or not _FOOT.isdisjoint(class_words(element))


def is_head(element: Element) -> bool:
    """Whether an element is called the head of the page."""
    is_role = (element.attr("role") or "").lower() == "banner"
    return element.tag == "header" or is_role or not _HEAD.isdisjoint(class_words(element))


def read_frame(
    regions: Iterable[Element], known: Iterable[str], feet: Iterable[Element], related: Mapping[str, str], own: str
) -> Frame:
    """Sort the links of the regions of navigation; ``known`` are targets that are written elsewhere.

    ``related`` are the titles of the pages around this one, by their addresses; ``own`` is the name of the page.
    """
    frame, feet = Frame(hrefs=set(known)), set(feet)
    turned = set(frame.hrefs)
    for region in regions:
        kind = _kind(region, feet, related, own)
        if kind == "pagination":
            # A bar above another part of the page turns to parts of it
            turns_parts = bool(frame.pagination) and turns_pages(region, content_lengths(region))
            for link in _links(region):
                href = link.attr("href") or ""
                if href not in turned and not (turns_parts and href.startswith("#")):
                    frame.pagination.append(_titled(link, related))
                    turned.add(href)
            turned.update(hrefs_of(region))
            frame.hrefs |= turned
        elif kind == "breadcrumb":
            frame.breadcrumb += [link for group in _groups(region, set()) for link in group.links]
            frame.hrefs.update(hrefs_of(region))
        else:
            groups = {"contents": frame.contents, "foot": frame.foot}.get(kind, frame.menu)
            groups.extend(_merged(_groups(region, frame.hrefs)))
    if len(frame.contents) == 1:  # which is called so already
        frame.contents = [replace(frame.contents[0], label="")]
    return frame


def _merged(groups: Iterable[Group]) -> Iterator[Group]:
    """Yield groups; links that are groups of their own, called as they are, make one without a label."""
    alone: list[Link] = []
    for group in groups:
        if len(group.links) == 1 and group.label in ("", group.links[0].label):
            alone += group.links
            continue
        if alone:
            yield Group("", tuple(alone))
            alone = []
        yield group
    if alone:
        yield Group("", tuple(alone))


def related_pages(tree: Document) -> dict[str, str]:
    """Return the titles of the pages around a page by their addresses, as its head names them (HTML 4.01, 6.12)."""
    links = tree.select(", ".join(f"head > link[rel~={each} i][href]" for each in _RELATIONS))
    return {each.attr("href") or "": fold_space(each.attr("title") or "") for each in links}


def _titled(link: Element, related: Mapping[str, str]) -> Link:
    """Return a link that turns the page, with the title of the page it leads to."""
    written, title = written_link(link), text_markup(related.get(link.attr("href") or "", ""))
    if title.casefold() in written.label.casefold():
        return written
    return Link(written.attributes, f"{written.label}: {title}")


def _kind(region: Element, feet: set[Element], related: Mapping[str, str], own: str) -> str:
    names = {*class_words(region), *name_words(region.attr("aria-label") or "")}
    hrefs = list(hrefs_of(region))
    is_trail = not _BREADCRUMB.isdisjoint(names) or "BreadcrumbList" in (region.attr("itemtype") or "")
    if is_trail and len(hrefs) <= _LONGEST_TRAIL:
        return "breadcrumb"
    if not _PAGINATION.isdisjoint(names) or any(rel_tokens(each) & {"prev", "next"} for each in _links(region)):
        return "pagination"
    if turns_pages(region, content_lengths(region)):
        return "pagination"
    if len(set(hrefs)) <= _MOST_TURNING and 2 * len(related.keys() & set(hrefs)) > len(set(hrefs)):
        return "pagination"
    if len(hrefs) > 1 and all(href.removeprefix(own).startswith("#") for href in hrefs):
        return "contents"
    return "foot" if not feet.isdisjoint((region, *region.ancestors)) else "menu"


def _links(region: Element) -> Iterator[Element]:
    for link in region.select("a[href]"):
        if is_followable(link.attr("href")) and not is_hidden(link) and link_label(link):
            yield link


def hrefs_of(region: Element) -> Iterator[str]:
    """Yield the targets of the links of a region, as written."""
    return (link.attr("href") or "" for link in _links(region))


def _groups(region: Element, seen: set[str]) -> Iterator[Group]:
    """Yield the links of a region in groups, each target once: by headings, and by the items of its outer list."""
    label, links = "", list[Link]()
    labels = _labels(region)
    for link in _links(region):
        href = link.attr("href") or ""
        if labels[link] != label and links:
            yield Group(text_markup(label), tuple(links))
            links = []
        label = labels[link]
        if href not in seen:
            seen.add(href)
            links.append(written_link(link))
    if links:
        yield Group(text_markup(label), tuple(links))


def written_link(link: Element) -> Link:
    """Return a link with its label."""
    attributes = (
        f" {attribute_markup('href', link.attr('href') or '')}{attributes_markup(link, ('hreflang', 'lang', 'dir'))}"
    )
    return Link(attributes, text_markup(link_label(link)[:_LONGEST_LABEL]))


def link_of(link: NavigationLink) -> Link:
    """Return a link of the navigation."""
    return Link(f" {attribute_markup('href', link.href)}", text_markup(link.label[:_LONGEST_LABEL]))


def _labels(region: Element) -> dict[Element, str]:
    """Return the label of the group of each link: the item of the outer list around it, or the heading before it.

    A heading in an item of a list is that of the links in this item, if it has any.
    """
    labels: dict[Element, str] = {}
    heading, item = "", None
    for element in region.iter_elements():
        if element.tag in _HEADINGS and not is_hidden(element):
            heading, item = _short(element.text), element.closest("li:has(a[href])")
        elif element.tag == "a":
            is_under = item is None or item in element.ancestors or item in region.ancestors
            labels[element] = _item_label(element, region) or (heading if is_under else "")
    return labels


def _short(text: str) -> str:
    folded = fold_space(text)
    return folded if len(folded) <= _LONGEST_GROUP else ""


def _item_label(link: Element, region: Element) -> str:
    """Return what the outermost item with several links around a link is called, ``""`` if it is not in one."""
    items = [each for each in link.ancestors if isinstance(each, Element) and each.tag == "li"]
    items = [each for each in items if region in each.ancestors]
    if not items or items[-1].select_one("ul, ol, div") is None:
        return ""
    links = items[-1].select("a[href]")
    if len(links) < 2:
        return ""
    own = next((each for each in items[-1].children if isinstance(each, Element)), None)
    return _short(own.text) if own is not None and own.tag not in ("ul", "ol", "div") else _short(links[0].text)
