"""A page is written from its model: by a template, with one small sheet, in the page's language.

The template and the sheet are ``composed.html.j2`` and ``composed.css``; a site may have its own. A rule of the sheet
is written for pages with an element or a class that it names: on plain pages the sheet would be half of the page.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Container, Iterator, Set
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from turbohtml import Document, Element, Text

from adaptc.compile.passes.composed.flow import language_attributes
from adaptc.compile.passes.composed.witnesses import page_title
from adaptc.core.fs import package_file
from adaptc.core.values import dataclass
from adaptc.formats.html.document import is_forced_quirks, is_quirks, parse_bare
from adaptc.formats.html.encoding import sniff_encoding
from adaptc.formats.html.links import NO_ICON, rel_tokens
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, parse_refresh, text_markup
from adaptc.formats.html.visible_text import UNSEEN, fold_space, walk

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True, slots=True)
class Link:
    """A link: its attributes as they are written (`` href=...``), and its label."""

    attributes: str
    label: str


@dataclass(frozen=True, slots=True)
class Group:
    """Links under a label, which may be ``""``."""

    label: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """The site's name, and the link to its home as attributes; ``is_heading`` says that the page has no other title.

    ``logo`` is its image, with the words that stand beside it, ``""`` without one.
    """

    name: str = ""
    link: str = ""
    is_heading: bool = False
    logo: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """The line at the top, and the address of the full page with its label, each ``""`` where there is none."""

    text: str = ""
    full: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page. ``head`` is the markup of its metadata; ``start`` what comes before ``<head>``, ``body`` the body's tag.

    ``menu`` are groups of links, folded if ``is_long``; ``search`` is a form. ``main`` is the article or the cards,
    with title, byline and lead; ``rest`` is what stands around it, ``footer`` the foot of the page. ``words`` are the
    composer's own, in the page's language.
    """

    start: str
    head: str
    style: str
    body: str
    site: Site
    notice: Notice
    words: dict[str, str]
    menu: tuple[Group, ...] = ()
    is_long: bool = False
    search: str = ""
    breadcrumb: tuple[Link, ...] = ()
    contents: tuple[Group, ...] = ()
    main: str = ""
    pagination: tuple[Link, ...] = ()
    rest: str = ""
    footer: str = ""
    footer_links: tuple[Group, ...] = ()


_TEMPLATE, _SHEET = "composed.html.j2", "composed.css"
_COMMON = "common"
_SAME = {"nb": "no", "nn": "no", "iw": "he"}


class BadTemplate(Exception):
    """A template that fails, with Jinja's reason."""


def words_for(language: str) -> dict[str, str]:
    """Return the composer's words in a language, in English where it knows none."""
    code = language.lower().replace("_", "-").partition("-")[0]
    known = _known_words()
    words = {name: word for name, word in known.get(_SAME.get(code, code), known["en"]).items() if name != _COMMON}
    if not code:
        words["menu"] = f"\u2630 {words['menu']}"  # a trigram means "menu" in every language
    return words


@cache
def _known_words() -> dict[str, dict[str, str]]:
    return tomllib.loads(package_file("adaptc.rules", "words.toml").read_text("utf-8"))


def notice_for(setting: str, full: str, url_path: str, words: dict[str, str]) -> Notice:
    """Return the line at the top: ``setting`` is "off", "on" or its text, ``full`` the address with ``{path}``."""
    if setting == "off":
        return Notice()
    return Notice(words["notice"] if setting == "on" else setting, full.replace("{path}", url_path), words["full"])


def render(page: Page, template: str) -> str:
    """Return the markup of a page; ``template`` is a site's own, ``""`` for ours. Raises ``BadTemplate``."""
    from jinja2 import TemplateError

    try:
        return _compiled(template or _shipped(_TEMPLATE)).render(page=page).rstrip("\n")
    except (TemplateError, ArithmeticError, TypeError, ValueError) as error:
        raise BadTemplate(str(error)) from error


@lru_cache(maxsize=8)
def _compiled(text: str) -> Template:
    from adaptc.core.sandbox import sandboxed

    return sandboxed(autoescape=False).from_string(text)


@cache
def _shipped(name: str) -> str:
    return package_file("adaptc.templates", name).read_text("utf-8")


# ---- the sheet

_RULE = re.compile(r"((?:@media[^{]*\{)?)([^{]+)(\{.*)")
_NAME = re.compile(r"\.?[a-z][a-z0-9]*")
_IN_PRELUDE = re.compile(r":not\(.*\)|\[[^]]*\]|:[:\w-]+|#")
_HOLDS, _STATE = re.compile(r":has\((>[^()]*)\)$"), re.compile(r":first-child|\[open\]")
_NESTED = re.compile(r"[\w.]+(?:[ >][\w.]+)+")  # what takes one look at each element and those around it
_FROM_RIGHT, _IS_FROM_RIGHT = "[dir=rtl]", re.compile(r"\bdir=\"?rtl\b", re.IGNORECASE)


def style_for(body: str, colours: tuple[str, str], own: str = "") -> str:
    """Return the rules for a body, with the selectors that may select something; ``own`` replaces our sheet."""
    if own:
        return _in_ascii(own.replace("</", "<\\/"))
    used = {*re.findall(r"<([a-z][a-z0-9]*)", body)}
    used.update(
        f".{name}" for value in re.findall(r"<[a-z0-9]+ class=([\w\"]+)", body) for name in value.strip('"').split()
    )
    used.update(("body", "main", *([_FROM_RIGHT] if _IS_FROM_RIGHT.search(body) else [])))
    tree = parse_bare(body)
    rules = (_rule_for(tree, used, *parts) for parts in _rules())
    return "".join(rules).replace("@light", colours[0]).replace("@dark", colours[1])


def _rule_for(tree: Document, used: set[str], start: str, selectors: tuple[str, ...], end: str) -> str:
    found = ((each, _HOLDS.sub(r"\1", _STATE.sub("", each))) for each in selectors if _needed(each) <= used)
    # one that is not nested selects something, or to know takes more than one look at each element
    chosen = [each for each, plain in found if not _NESTED.fullmatch(plain) or tree.select_one(plain) is not None]
    return f"{start}{','.join(chosen)}{end}" if chosen else ""


@cache
def _rules() -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """Return each rule of the sheet: what stands before its selectors, these, and the rest."""
    rules = (line for line in _shipped(_SHEET).splitlines() if line and not line.startswith("/*"))
    parts = filter(None, map(_RULE.match, rules))
    return tuple((match[1], tuple(match[2].split(",")), match[3]) for match in parts)


@cache
def _needed(selector: str) -> frozenset[str]:
    """Return the names of the elements and classes without which a selector selects nothing."""
    names = frozenset(_NAME.findall(_IN_PRELUDE.sub(" ", selector)))
    return names | {_FROM_RIGHT} if _FROM_RIGHT in selector else names


def reference_new_characters(markup: str, source: str) -> str:
    """Return markup with references for the characters beyond ASCII that its source does not hold."""
    added = _beyond_ascii(markup) - _beyond_ascii(source)
    return markup.translate({ord(c): f"&#{ord(c)};" for c in added}) if added else markup


def _beyond_ascii(text: str) -> set[str]:
    return set() if text.isascii() else set(_BEYOND_ASCII.findall(text))


_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def _in_ascii(sheet: str) -> str:
    """Return a sheet with escapes for other characters: a reference (``&#8250;``) is none in a ``<style>``."""
    return "".join(each if each.isascii() else f"\\{ord(each):x} " for each in sheet)


# The head of a page: what matters of its metadata without script and style (WHATWG HTML, "document metadata").


# Not by re.IGNORECASE, with which nothing is skipped: this takes a quarter of the time
_FRAGMENT = re.compile(r"[hH](?<!\w.)[rR][eE][fF]\s*=\s*[\"']?#([^\"'\s>]+)")
_META_NAMES = frozenset({"robots", "googlebot", "description", "referrer", "author", "format-detection"})
_LINK_RELATIONS = frozenset({"canonical", "alternate", "prev", "next", "license", "amphtml", "author", "me", "search"})
_FEEDS = ("application/rss+xml", "application/atom+xml")  # of each the first stays: the site's, not those of its parts
_MOST_SECONDS = 10
_VIEWPORT = "<meta name=viewport content=width=device-width,initial-scale=1>"


def page_start(tree: Document, source: str, spoken: str) -> str:
    """Return everything before the head, with a doctype where that keeps the document mode.

    ``spoken`` is the language of the page.
    """
    doctype = "" if is_quirks(tree) or is_forced_quirks(source) else "<!DOCTYPE html>"
    language = _root_language(tree.root)
    if "lang=" not in language and spoken:  # WCAG 2.2, 3.1.1, asks for it here
        language = f" {attribute_markup('lang', spoken)}{language}"
    return f"{doctype}<html{language}{_direction(tree)}>"


_FROM_THE_RIGHT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_SAMPLE = 4000  # characters


def _direction(tree: Document) -> str:
    """Return the direction of a page that only its style sheets tell: from right to left, where most letters run so."""
    body = tree.select_one("body")
    if tree.root is None or "dir" in tree.root.attrs or body is None or "dir" in body.attrs:
        return ""
    article = tree.select_one("article, main, [role=main]")
    sample = "".join(filter(str.isalpha, page_title(tree) + (article or body).text[: 4 * _SAMPLE]))[:_SAMPLE]
    return " dir=rtl" if 2 * len(_FROM_THE_RIGHT.findall(sample)) > len(sample) else ""


def head_markup(tree: Document, source: str, main: str = "", around: str = "") -> str:
    """Return the content of the head, without its style; the main content describes the page, or what is around it."""
    heading = "" if page_title(tree) else next(iter(_FIRST_HEADING.findall(main)), "")
    title = page_title(tree) or fold_space(parse_bare(heading).text)  # WCAG 2.2, 2.4.2, asks for one
    return "".join([
        _charset(source),
        *_metadata(tree),
        _description(tree, main, around),
        _VIEWPORT,
        f"<title>{text_markup(title)}</title>",
        NO_ICON,
    ])  # fmt: skip


_DESCRIPTION = 'meta[name=description i][content], meta[property="og:description"][content]'
_LONGEST_DESCRIPTION = 155  # characters, as search engines show
_LONG = 100  # characters: what is shorter is its own description
# Tags that no word goes across
_BREAK = re.compile(
    r"<(?=/?(?:p|br|hr|h[1-6]|li|t[rdh]|d[td]|pre|div|summary|figcaption|blockquote|caption|label|button)\b)"
)
_FIRST_HEADING = re.compile(r"\A.{,2000}?<h1(?: [^>]*)?>(.{1,300}?)</h1>", re.DOTALL)
_PARAGRAPH = re.compile(r"<p(?: [^>]*)?>(.*?)</p>", re.DOTALL)


def _description(tree: Document, main: str, around: str) -> str:
    """Return a description for search engines where the page has none: as other sites get it, or its first words."""
    metas = sorted(tree.select(_DESCRIPTION), key=lambda each: "property" in each.attrs)
    said = next(filter(None, (fold_space(each.attr("content") or "") for each in metas)), "")
    if any("name" in each.attrs and (each.attr("content") or "").strip() for each in metas):
        return ""
    for content in (main, main + around) if not said else ():
        text = fold_space(parse_bare(_BREAK.sub(" <", content)).text)
        if len(text) > _LONG:
            paragraphs = (fold_space(parse_bare(match[1]).text) for match in _PARAGRAPH.finditer(content))
            said = next((each for each in paragraphs if len(each) > _LONGEST_DESCRIPTION / 3), text)
            break
    short = said if len(said) <= _LONGEST_DESCRIPTION else said[:_LONGEST_DESCRIPTION].rpartition(" ")[0] or said[:99]
    return f"<meta name=description {attribute_markup('content', short)}>" if short else ""


def body_tag(tree: Document, linked: Container[str | None]) -> str:
    """Return the tag of the body, with its id if that is ``linked``: a link of the page leads to the top."""
    body = tree.select_one("body")
    is_linked = body is not None and body.attr("id") in linked
    identity = attributes_markup(body, ("id",)) if body is not None and is_linked else ""
    return f"<body{identity}{_root_language(body)}>"


def page_language(tree: Document) -> str:
    """Return the language of a page, or of the part of it that holds most of its text; ``""`` if nothing tells it.

    Where none is declared, it is that of the head's metadata, or the one of whose most common words the page is full.
    """
    root, body = tree.root, tree.select_one("body")
    own = "" if root is None else root.attr("lang") or root.attr("xml:lang") or ""
    if own or body is None:
        return own
    parts, least = (each for each in (body, *body.select("[lang]")) if each.attr("lang")), len(body.text)
    found = next((each.attr("lang") or "" for each in parts if 2 * len(each.text) > least), "")
    shown = (each.data for each in walk(body, lambda each: each.tag not in UNSEEN) if isinstance(each, Text))
    return found or _declared_elsewhere(tree) or _spoken(" ".join(islice(filter(str.strip, shown), _MOST_WORDS)))


_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE)
_MOST_WORDS = 2000
_LEAST_COMMON = 0.02  # of the words, by their four most common ones
_FEWEST_COMMON = 8
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")  # each letter is a word


def _declared_elsewhere(tree: Document) -> str:
    """Return the language that the metadata in the head declare: for servers, or for other sites."""
    for meta in tree.select('meta[http-equiv="content-language" i], meta[property="og:locale"]'):
        if match := _LANGUAGE.fullmatch((meta.attr("content") or "").strip()):
            return match[0].replace("_", "-")
    return ""


@lru_cache(maxsize=4)
def _spoken(text: str) -> str:
    """Return the language of a text, ``""`` where two are as likely."""
    spaced = _UNSPACED.sub(lambda match: f" {match[0]} ", text[: 8 * _MOST_WORDS]).lower()
    counts = Counter(re.findall(r"[^\W\d_]+", spaced)[:_MOST_WORDS])
    scores = {code: sum(counts[each] for each in words[_COMMON].split()) for code, words in _known_words().items()}
    (best, most), (_, second) = Counter(scores).most_common(2)
    return best if most >= max(_FEWEST_COMMON, _LEAST_COMMON * counts.total(), 2 * second) else ""


def linked_ids(source: str, left_out: Set[Element]) -> frozenset[str]:
    """Return the ids to which links of a page lead that are not ``left_out``."""
    gone = Counter((each.attr("href") or "").partition("#")[2] for each in left_out)
    return frozenset(Counter(_FRAGMENT.findall(source)) - gone)


def refresh_link(tree: Document) -> str:
    """Return a link to the target to which a page without text sends its visitors."""
    meta = _refresh_meta(tree)
    refresh = parse_refresh(meta.attr("content") or "") if meta is not None else None
    if refresh is None or not refresh.url:
        return ""
    return f"<p><a {attribute_markup('href', refresh.url)}>{text_markup(refresh.url)}</a></p>"


def _refresh_meta(tree: Document) -> Element | None:
    """Return the ``<meta http-equiv=refresh>`` of a page that has moved.

    One in a noscript only leads to a request to enable scripts, one for later without a URL loads anew what is read.
    """
    for meta in tree.select('meta[http-equiv="refresh" i]'):
        refresh = parse_refresh(meta.attr("content") or "") if meta.closest("noscript, template") is None else None
        if refresh is not None and (refresh.url or refresh.seconds <= _MOST_SECONDS):
            return meta
    return None


def _root_language(element: Element | None) -> str:
    if element is None:
        return ""
    if "lang" not in element.attrs and element.attr("xml:lang"):
        return " " + attribute_markup("lang", element.attr("xml:lang")) + attributes_markup(element, ("dir",))
    return language_attributes(element)


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
    feeds: set[str] = set()
    for element in tree.select("meta[name][content], link[rel][href]"):
        kind = (element.attr("type") or "").lower()
        if element.closest("noscript, template, svg") is None and kind not in feeds:
            yield _meta_or_link(element)
            feeds.update([kind] if kind in _FEEDS else [])


def _meta_or_link(element: Element) -> str:
    if element.tag == "meta":
        name, content = fold_space(element.attr("name") or "").lower(), (element.attr("content") or "").strip()
        return f"<meta{attributes_markup(element, ('name', 'content'))}>" if content and name in _META_NAMES else ""
    relations = rel_tokens(element)
    if relations.isdisjoint(_LINK_RELATIONS) or "stylesheet" in relations:
        return ""
    return f"<link{attributes_markup(element, ('rel', 'hreflang', 'type', 'media', 'href'))}>"
