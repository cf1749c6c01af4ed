"""The text-only version of a page: the readable content in a few kilobytes and one request.

Everything a visitor can read stays, in order: the main content first where one stands out, then the rest; the
navigation becomes a short list, folded when it is long. What loads, moves or only decorates goes. An extractor of
articles would make it shorter, but loses pages that are no articles: of the sites at hand the one of turbohtml
found nothing on a third of the pages, and only a part on another third.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from turbohtml import Document, Element

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.document import is_forced_quirks, is_quirks, parse
from adaptc.formats.html.encoding import sniff_encoding
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
from adaptc.formats.html.links import NO_ICON, rel_tokens
from adaptc.formats.html.shown import VIEWPORTS
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, parse_refresh, text_markup
from adaptc.formats.html.text_only import blocks, phrases
from adaptc.formats.html.text_only.flow import HEADING_TAGS, Flow, IdQueue, language_attributes
from adaptc.formats.html.visible_text import content_length, fold_space, is_followable, link_name

__all__ = ["TextOnlyPage", "make_text_only_page"]

_WRITERS = {**phrases.WRITERS, **blocks.WRITERS}
_XML_SUFFIXES = (".xhtml", ".xht", ".xml")
_LEFT_OUT = ("img", "script", "style", "link", "iframe", "video", "audio", "object", "embed", "svg", "canvas")
_OPEN_LINKS = 8  # links of a navigation that is not folded
# Elements in each other. Real pages reach 40; five calls a level are far from the 1,000 that Python allows.
_DEEPEST = 120
_LONGEST_LEAD = 600  # characters of a heading and its siblings
_ANY_TAG = re.compile(r"""<(/?)([a-z][a-z0-9]*)((?:[^<>"']|"[^"]*"|'[^']*')*+)>""")
_FIRST_HEADING = re.compile(r"<h[2-6][^>]*>(.*?)</h")
_TAG = re.compile(r"<[^>]*>")
_CONTROL = re.compile(r"<(?:input|select|textarea|button)\b")
_FRAGMENT = re.compile(r"\bhref\s*=\s*[\"']?#([^\"'\s>]+)", re.IGNORECASE)


# URL, as written in the page -> title of the page there
TitleOf = Callable[[str], str]
# A page -> the texts of its style sheets, in order
SheetsOf = Callable[[Document], Sequence[str]]


@dataclass(frozen=True, slots=True)
class TextOnlyPage:
    """The text of a text-only page, and what was left out of it: (element, count)."""

    text: str
    left_out: tuple[tuple[str, int], ...]


def make_text_only_page(
    text: str, *, url_path: str, title_of: TitleOf = lambda _: "", sheets_of: SheetsOf = lambda _: ()
) -> TextOnlyPage | str:
    """Make the text-only version of the page at ``url_path``; a string is the reason why there is none.

    ``title_of`` returns the title of the page to which a URL leads, or ``""``: it names a link without a name.
    ``sheets_of`` returns the style sheets of the page: they say what never shows, and where words are apart.

    The result is declared in the encoding of the source. Characters beyond ASCII that the source does not hold are
    written as references: where the source declares no encoding, that may not be what it seems.
    """
    if url_path.lower().endswith(_XML_SUFFIXES):
        return "it is served as XML, whose markup is stricter"
    tree = parse(text)
    if _depth(tree) > _DEEPEST:
        return f"its elements are nested more than {_DEEPEST} levels deep"
    if tree.select_one("frameset frame[src]") is not None:
        return "its content is in frames"
    _name_links(tree, title_of)
    body = _body_markup(tree, text, Layout(tree, sheets_of(tree), text))
    if not body:
        return "it shows no text without its scripts"
    left_out = Counter(element.tag for element in tree.iter_elements(_LEFT_OUT))
    return TextOnlyPage(
        _reference_new_characters(_head_markup(tree, text, body) + body, text), tuple(sorted(left_out.items()))
    )


def _name_links(tree: Document, title_of: TitleOf) -> None:
    """Give each link around a picture without a name the title of its target."""
    for link in tree.select("a[href]"):
        href = link.attr("href") or ""
        if is_followable(href) and not href.startswith("#") and not any(map(str.isalnum, link_name(link))):
            title = title_of(href) if any(isinstance(child, Element) for child in link.children) else ""
            if title:
                link.attrs["title"] = title


def _depth(tree: Document) -> int:
    """Return the depth of the deepest element."""
    level, deepest = list(tree.children), 0
    while level := [child for node in level if isinstance(node, Element) for child in node.children]:
        deepest += 1
    return deepest


def _reference_new_characters(markup: str, source: str) -> str:
    added = {character for character in set(markup) - set(source) if not character.isascii()}
    return markup.translate({ord(c): f"&#{ord(c)};" for c in added}) if added else markup


# ---- the body


def _body_markup(tree: Document, text: str, layout: Layout) -> str:
    body = tree.select_one("body")
    if body is None:
        return ""
    landmarks, site = find_landmarks(tree), find_site(tree)
    links = navigation_links(landmarks, content_links(tree, landmarks))
    is_named = site.brand is not None and site.home and site.name and link_name(site.brand) == site.name
    brand = [site.brand] if site.brand is not None and is_named else []
    ids = IdQueue(frozenset(_FRAGMENT.findall(text)))
    left_out = [*landmarks.navigation, *brand]
    flow = Flow(find_forms(tree), ids, left_out, _WRITERS, layout.is_apart, layout.messages())
    content, rest = _content_markup(flow, body, landmarks)
    if not _is_usable(content + rest):
        return _refresh_link(tree)
    shown = [link for link in links if not (site.name and link.href == site.home)]
    footer = f"<footer>{rest}</footer>" if rest else ""
    heading = _missing_heading(tree, content)
    article = heading + (_close_ranks(content + footer) if heading else content + footer)
    return "".join([_site_markup(site), _navigation_markup(shown), article])


def _is_usable(markup: str) -> bool:
    """Whether there is anything to read or to fill in, and not anchors alone."""
    return bool(_TAG.sub("", markup).strip()) or _CONTROL.search(markup) is not None


def _content_markup(flow: Flow, body: Element, landmarks: Landmarks) -> tuple[str, str]:
    """Return the main content, and the content around it."""
    if landmarks.main is None:
        return _outer_markup(flow, body, landmarks), ""
    lead = _lead(body, landmarks)
    inner = flow.write([*lead, landmarks.main]) + flow.ids.write_anchors()
    flow.left_out.update([*lead, landmarks.main])
    return f"<main>{inner}</main>" if inner else "", _outer_markup(flow, body, landmarks)


def _outer_markup(flow: Flow, body: Element, landmarks: Landmarks) -> str:
    """Return the body and the forms of the navigation: a search, a choice of language."""
    forms = [form for region in landmarks.navigation for form in _forms_in(region)]
    return flow.write(body.children) + "".join(flow.write([form]) for form in forms) + flow.ids.write_anchors()


def _forms_in(region: Element) -> list[Element]:
    return [region] if region.tag == "form" else region.select("form")


def _lead(body: Element, landmarks: Landmarks) -> list[Element]:
    """Return the element above the main content that holds the page's only first heading, with its by-line."""
    main = landmarks.main
    headings = [each for each in body.select("h1") if content_length(each)]
    if main is None or len(headings) != 1 or main in headings[0].ancestors:
        return []
    heading, parent = headings[0], headings[0].parent
    enclosing = {each for region in (main, *landmarks.navigation) for each in (region, *region.ancestors)}
    if isinstance(parent, Element) and parent not in enclosing and content_length(parent) <= _LONGEST_LEAD:
        return [parent]
    return [heading] if heading not in enclosing else []


def _site_markup(site: SiteIdentity) -> str:
    name = text_markup(site.name)
    if not name:
        return ""
    inner = f"<a {attribute_markup('href', site.home)}>{name}</a>" if site.home else name
    return f"<header>{inner}</header>"


def _navigation_markup(links: list[NavigationLink]) -> str:
    if not links:
        return ""
    inner = " ".join(f"<a {attribute_markup('href', link.href)}>{text_markup(link.label)}</a>" for link in links)
    if len(links) > _OPEN_LINKS:
        # A trigram means "menu" in every language.
        inner = f"<details><summary>\u2630 {len(links)}</summary>{inner}</details>"
    return f"<nav>{inner}</nav>"


def _missing_heading(tree: Document, content: str) -> str:
    """Return the title as a heading for a page that has none."""
    title = text_markup(_title(tree))
    match = _FIRST_HEADING.search(content)
    heading = fold_space(_TAG.sub("", match[1])) if match else ""
    has_heading = "<h1" in content or bool(heading and heading in title)
    return f"<h1>{title}</h1>" if title and not has_heading else ""


def _close_ranks(markup: str) -> str:
    """Return the content below an added ``<h1>`` with headings that skip no rank (WCAG technique G141)."""
    ranks: list[tuple[int, int]] = []

    def written(match: re.Match[str]) -> str:
        if match[2] not in HEADING_TAGS[1:]:
            return match[0]
        if not match[1]:
            rank = int(match[2][1])
            while ranks and ranks[-1][0] >= rank:
                ranks.pop()
            ranks.append((rank, ranks[-1][1] + 1 if ranks else 2))
        return f"<{match[1]}h{ranks[-1][1]}{match[3]}>"

    return _ANY_TAG.sub(written, markup)


def _title(tree: Document) -> str:
    title = tree.select_one("head > title")
    return fold_space(title.text) if title is not None else ""


def _refresh_link(tree: Document) -> str:
    """Return a link to the target to which a page without text sends its visitors."""
    meta = _refresh_meta(tree)
    refresh = parse_refresh(meta.attr("content") or "") if meta is not None else None
    if refresh is None or not refresh.url:
        return ""
    return f"<p><a {attribute_markup('href', refresh.url)}>{text_markup(refresh.url)}</a></p>"


# ---- the head: what matters without script and style (WHATWG HTML, "document metadata")

# Readable on a phone, a desktop and paper, in light and dark, from left to right and from right to left: no side is
# named, and colours are the browser's own but for lines and small print. A rule is written for pages with one of its
# elements: on plain pages the sheet is a third of the whole page.
_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    ((), ":root{color-scheme:light dark}"
         "body{max-width:44em;margin:auto;padding:1em;font:1em/1.5 system-ui,sans-serif;overflow-wrap:break-word}"),
    (("h1", "h2", "h3"), "h1,h2,h3{line-height:1.2}"),
    (("nav",), "nav a{display:inline-block;margin-inline-end:1em}"),
    (("figure",), "figure{margin:0}"),
    (("pre", "table"), "pre,table{display:block;overflow:auto}"),
    (("pre",), "pre{padding:.5em;background:#8882}"),
    (("table",), "table{border-collapse:collapse}td,th{border:1px solid #8886;padding:.2em .5em;text-align:start}"),
    (("input", "select", "textarea", "button"), "input,select,textarea,button{font:inherit;max-width:100%}"),
    (("footer",), "footer{border-top:1px solid;font-size:.9em}"),
    (("nav",), "@media print{nav{display:none}}"),
    (("pre",), "@media print{pre{white-space:pre-wrap}}"),
)  # fmt: skip
_META_NAMES = frozenset({"robots", "googlebot", "viewport", "description", "referrer", "author", "format-detection"})
_LINK_RELATIONS = frozenset({"canonical", "alternate", "prev", "next", "license", "amphtml", "author", "me", "search"})
_VIEWPORT = "<meta name=viewport content=width=device-width,initial-scale=1>"


def _head_markup(tree: Document, source: str, body: str) -> str:
    """Return everything before the markup of the body's content, with a doctype where that keeps the document mode."""
    return "".join([
        "" if is_quirks(tree) or is_forced_quirks(source) else "<!DOCTYPE html>",
        f"<html{_root_language(tree.root)}>",
        "<head>",
        _charset(source),
        *_metadata(tree),
        "" if tree.select_one("meta[name=viewport i]") is not None else _VIEWPORT,
        f"<title>{text_markup(_title(tree))}</title>",
        NO_ICON,
        f"<style>{_style(body)}</style></head>",
        f"<body{_linked_id(tree.select_one('body'), source)}{_root_language(tree.select_one('body'))}>",
    ])  # fmt: skip


def _style(body: str) -> str:
    return "".join(rule for tags, rule in _RULES if not tags or any(f"<{tag}" in body for tag in tags))


def _refresh_meta(tree: Document) -> Element | None:
    """Return the page's ``<meta http-equiv=refresh>``; one in a noscript only leads to a request to enable scripts."""
    metas = tree.select('meta[http-equiv="refresh" i]')
    return next((each for each in metas if each.closest("noscript, template") is None), None)


def _root_language(element: Element | None) -> str:
    if element is None:
        return ""
    if "lang" not in element.attrs and element.attr("xml:lang"):
        return " " + attribute_markup("lang", element.attr("xml:lang")) + attributes_markup(element, ("dir",))
    return language_attributes(element)


def _linked_id(body: Element | None, source: str) -> str:
    """Write the id of the body if a link of the page leads there: to the top."""
    is_linked = body is not None and body.attr("id") in _FRAGMENT.findall(source)
    return attributes_markup(body, ("id",)) if body is not None and is_linked else ""


def _charset(source: str) -> str:
    """Declare the encoding that browsers find declared in the source; one that they miss stays without effect."""
    sniffed = sniff_encoding(source.encode("utf-8", "replace"))
    return f"<meta charset={sniffed.name}>" if sniffed.is_declared else ""


def _metadata(tree: Document) -> Iterator[str]:
    base = next((each for each in tree.select("base[href]") if each.closest("template") is None), None)
    if base is not None:
        yield f"<base{attributes_markup(base, ('href',))}>"
    refresh = _refresh_meta(tree)
    if refresh is not None:
        yield f"<meta http-equiv=refresh{attributes_markup(refresh, ('content',))}>"
    for element in tree.select("meta[name][content], link[rel][href]"):
        if element.closest("noscript, template, svg") is None:
            yield _meta_or_link(element)


def _meta_or_link(element: Element) -> str:
    if element.tag == "meta":
        name = fold_space(element.attr("name") or "").lower()
        return f"<meta{attributes_markup(element, ('name', 'content'))}>" if name in _META_NAMES else ""
    relations = rel_tokens(element)
    if relations.isdisjoint(_LINK_RELATIONS) or "stylesheet" in relations:
        return ""
    return f"<link{attributes_markup(element, ('rel', 'hreflang', 'type', 'media', 'href'))}>"


# ---- What style sheets say of a page: what never shows, and where words are apart
# A form holds what it says once it is sent or filled in wrongly. Words that no white space separates, as those of a
# label and its figure, are apart because one is a box of its own.

_PROPERTIES = frozenset({"display", "float"})
_INLINE = frozenset({"", "inline", "contents", "none", "revert", "initial", "unset", "inherit"})
_BOX_INLINE = "inline-block"
_SPREADING = frozenset({"flex", "inline-flex", "grid", "inline-grid"})
_FLOATING = frozenset({"left", "right", "inline-start", "inline-end"})
_LIVE = "form, [role=alert], [role=status], [aria-live]"
_CONTROLS = "input, select, textarea, button"


class Layout:
    """The layout of one page; ``sheets`` are its style sheets in order, ``text`` is its source."""

    def __init__(self, tree: Document, sheets: Sequence[str], text: str) -> None:
        self._cascade, self._text = Cascade(tree, tuple(sheets), _PROPERTIES), text

    def messages(self) -> Iterator[Element]:
        """Yield what is hidden in forms and alerts until a script shows it; not what the page refers to by its id."""
        for element in self._cascade.hidden_by("display"):
            is_hidden = all("display" in self._cascade.hiding(element, width) for width in VIEWPORTS)
            is_named = bool(element.attr("id")) and self._text.count(element.attr("id") or "") > 1
            is_opened = is_named or self._cascade.is_shown_by_state(element, "display")
            if is_hidden and not is_opened and element.closest(_LIVE) is not None and not _has_controls(element):
                yield element

    def is_apart(self, element: Element) -> bool:
        """Whether an element of a line of text is a box of its own, so that space is around it."""
        parent = element.parent
        if isinstance(parent, Element) and any(each in _SPREADING for each in self._values(parent, "display")):
            return True
        if any(each in _FLOATING for each in self._values(element, "float")):
            return True
        displays = set(self._values(element, "display")) - _INLINE
        return bool(displays) and (displays != {_BOX_INLINE} or len(element.text.strip()) > 1)

    def _values(self, element: Element, name: str) -> Iterator[str]:
        return (self._cascade.value(element, name, width) for width in VIEWPORTS)


def _has_controls(element: Element) -> bool:
    return element.matches(_CONTROLS) or element.select_one(_CONTROLS) is not None
