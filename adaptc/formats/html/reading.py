"""The text-only version of a page: the readable content in a few kilobytes and one request.

Everything a visitor can read stays, in order: the main content first where one stands out, the rest behind it, the
navigation as a short list that folds when it is long. What loads, moves or only decorates goes. An extractor of
articles would make it shorter, but loses pages that are no articles: of the corpora at hand the one of turbohtml
found nothing on a third, and a part only on another third.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from turbohtml import Document, Element

from adaptc.formats.html.document import parse
from adaptc.formats.html.forms import find_forms
from adaptc.formats.html.landmarks import (
    Landmarks,
    NavigationLink,
    SiteIdentity,
    content_links,
    find_landmarks,
    find_site,
    navigation_links,
)
from adaptc.formats.html.reading_flow import FlowWriter, keeps_id_by_kind
from adaptc.formats.html.reading_head import head_markup, refresh_target
from adaptc.formats.html.syntax import attribute_markup, parse_refresh, text_markup
from adaptc.formats.html.visible_text import content_length, fold_space, link_name

__all__ = ["ReadingPage", "reading_page"]

_XML = (".xhtml", ".xht", ".xml")
_OBJECTS = ("img", "script", "style", "link", "iframe", "video", "audio", "object", "embed", "svg", "canvas")
_FOLDED = 8  # links of a navigation that still stand open
# Pages of the corpora reach 40; five calls a level are far from the 1,000 that Python allows.
_DEEPEST = 120
_LEAD = 600  # characters of a heading with what stands beside it
_FIRST_HEADING = re.compile(r"<h[2-6][^>]*>(.*?)</h")
_TAG = re.compile(r"<[^>]*>")
_CONTROL = re.compile(r"<(?:input|select|textarea|button)\b")
_FRAGMENT = re.compile(r"\bhref\s*=\s*[\"']?#([^\"'\s>]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReadingPage:
    """The text of a text-only page, and what was left out of it: (element, count)."""

    text: str
    left_out: tuple[tuple[str, int], ...]


def reading_page(text: str, *, url_path: str, targets: frozenset[str] | None = None) -> ReadingPage | str:
    """Make the text-only version of the page at ``url_path``; a string is the reason why there is none.

    ``targets`` are the fragments of this page that other pages link to, where they are known: other ids go. The
    result is declared in the encoding of the source. Where the source declares none it holds no character
    beyond ASCII that the source does not hold, but as a reference.
    """
    if url_path.lower().endswith(_XML):
        return "it is served as XML, whose markup is stricter"
    tree = parse(text)
    if _depth(tree) > _DEEPEST:
        return f"its elements stand more than {_DEEPEST} deep in each other"
    if tree.select_one("frameset frame[src]") is not None:
        return "its content stands in frames"
    body = _page_body(tree, text, targets)
    if not body:
        return "it shows no text without its scripts"
    title = tree.select_one("head > title")
    written = head_markup(tree, text, fold_space(title.text) if title is not None else "", body) + body
    left_out = Counter(element.tag for element in tree.iter_elements(_OBJECTS))
    return ReadingPage(_as_source(written, text), tuple(sorted(left_out.items())))


def _depth(tree: Document) -> int:
    """Return the depth of the deepest element."""
    level, deepest = list(tree.children), 0
    while level := [child for node in level if isinstance(node, Element) for child in node.children]:
        deepest += 1
    return deepest


def _as_source(written: str, source: str) -> str:
    """Write what is not ASCII and not in the source as references: its encoding may not be what it seems."""
    added = {character for character in set(written) - set(source) if not character.isascii()}
    return written.translate({ord(c): f"&#{ord(c)};" for c in added}) if added else written


def _page_body(tree: Document, text: str, targets: frozenset[str] | None) -> str:
    body = tree.select_one("body")
    if body is None:
        return ""
    found = find_landmarks(tree)
    links = navigation_links(found, content_links(tree, found))
    site = find_site(tree)
    brand = [] if site.brand is None or not site.home or link_name(site.brand) != site.name else [site.brand]
    ids = _IdsKept(text, targets)
    writer = FlowWriter(find_forms(tree), ids, [*found.navigation, *brand], ids.own)
    content, rest = _content(writer, body, found)
    if not _shows(content + rest):
        return _redirect(tree)
    shown = [link for link in links if not (site.name and link.href == site.home)]
    parts = [_site(site), _navigation(shown), _heading(tree, content), content]
    return "".join([*parts, f"<footer>{rest}</footer>" if rest else ""])


def _shows(markup: str) -> bool:
    """Whether there is anything to read or to fill in, and not anchors alone."""
    return bool(_TAG.sub("", markup).strip()) or _CONTROL.search(markup) is not None


def _content(writer: FlowWriter, body: Element, found: Landmarks) -> tuple[str, str]:
    """Return the main content, and what stands around it."""
    if found.main is None:
        return writer.flow(body.children) + _forms(writer, found) + writer.rest(), ""
    lead = _lead(body, found)
    inner = writer.flow([*lead, found.main]) + writer.rest()
    writer.left_out.update([*lead, found.main])
    around = writer.flow(body.children) + _forms(writer, found) + writer.rest()
    return f"<main>{inner}</main>" if inner else "", around


def _lead(body: Element, found: Landmarks) -> list[Element]:
    """Return what stands above the main content and holds the page's only first heading, with its by-line."""
    main = found.main
    headings = [each for each in body.select("h1") if content_length(each)]
    if main is None or len(headings) != 1 or main in headings[0].ancestors:
        return []
    parent = headings[0].parent
    apart = {each for region in (main, *found.navigation) for each in (region, *region.ancestors)}
    if isinstance(parent, Element) and parent not in apart and content_length(parent) <= _LEAD:
        return [parent]
    return [headings[0]] if apart.isdisjoint([headings[0], *headings[0].ancestors][:1]) else []


def _forms(writer: FlowWriter, found: Landmarks) -> str:
    """Return the forms of the navigation: a search, a choice of language."""
    return "".join(writer.flow([form]) for region in found.navigation for form in _within(region, "form"))


def _within(region: Element, tag: str) -> list[Element]:
    return [region] if region.tag == tag else region.select(tag)


class _IdsKept:
    """Which ids stay: targets of links of the page itself, and those other pages link to or may link to."""

    def __init__(self, text: str, targets: frozenset[str] | None) -> None:
        self.own = frozenset(_FRAGMENT.findall(text))
        self.targets = targets

    def __call__(self, name: str, element: Element) -> bool:
        if name in self.own or self.targets is not None:
            return name in self.own or name in (self.targets or ())
        return keeps_id_by_kind(element)


def _site(site: SiteIdentity) -> str:
    name = text_markup(site.name)
    if not name:
        return ""
    inner = f"<a {attribute_markup('href', site.home)}>{name}</a>" if site.home else name
    return f"<header>{inner}</header>"


def _navigation(links: list[NavigationLink]) -> str:
    if not links:
        return ""
    inner = " ".join(f"<a {attribute_markup('href', link.href)}>{text_markup(link.label)}</a>" for link in links)
    if len(links) > _FOLDED:
        # A trigram says "menu" in every language.
        inner = f"<details><summary>\u2630 {len(links)}</summary>{inner}</details>"
    return f"<nav>{inner}</nav>"


def _heading(tree: Document, content: str) -> str:
    """Return the title as a heading for a page that has none."""
    title = tree.select_one("head > title")
    words = fold_space(title.text) if title is not None else ""
    first = _FIRST_HEADING.search(content)
    said = fold_space(_TAG.sub("", first[1])) if first else ""
    is_said = "<h1" in content or bool(said and said in text_markup(words))
    return f"<h1>{text_markup(words)}</h1>" if words and not is_said else ""


def _redirect(tree: Document) -> str:
    """Return a link to where a page without text sends its visitors."""
    refresh = refresh_target(tree)
    target = parse_refresh(refresh.attr("content") or "") if refresh is not None else None
    if target is None or not target.url:
        return ""
    return f"<p><a {attribute_markup('href', target.url)}>{text_markup(target.url)}</a></p>"
