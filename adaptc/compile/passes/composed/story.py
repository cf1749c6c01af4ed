"""Where the story of a page is, by its text and headings: paragraphs that are no links, below the page's title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turbohtml import Document, Element, Text

from adaptc.compile.passes.composed.flow import HEADING_TAGS
from adaptc.compile.passes.composed.frame import is_foot, is_head
from adaptc.compile.passes.composed.witnesses import Statements, title_parts
from adaptc.core.values import dataclass
from adaptc.formats.html.landmarks import Landmarks, inner_navigation
from adaptc.formats.html.syntax import class_words, vocabulary
from adaptc.formats.html.visible_text import (
    UNSEEN,
    TextLengths,
    content_length,
    content_lengths,
    content_texts,
    is_followable,
    is_hidden,
)

_SHORTEST_PARAGRAPH = 80  # characters, white space left out
_FEWEST_CHARACTERS = 180
_MOST = 0.8  # of the text of all paragraphs
_RUNNING = frozenset(
    {"p", "div", "td", "pre", "blockquote", "section", "article", "span", "font", "li", "dd", "center"}
)


@dataclass(frozen=True, slots=True)
class Story:
    """Where a page's story is: ``main`` holds it, ``lead`` are its title and what stands between that and ``main``.

    ``asides`` are blocks in ``main`` that are none of it: comments, lists of related stories, buttons that share.
    ``site`` is a first heading that only names the site.
    """

    main: Element | None
    lead: tuple[Element, ...] = ()
    asides: tuple[Element, ...] = ()
    site: Element | None = None


def find_story(tree: Document, landmarks: Landmarks, statements: Statements, page_title: str) -> Story:
    """Find the story of a page within its main content."""
    called, titles = landmarks.main, (statements.title, page_title)
    site, own_title = _site_heading(tree, page_title)
    first = own_title or _title_heading(tree, None, titles)
    named = _found_beside(tree, first)
    teasers = _teasers(tree, set(named), first)
    asides = [*named, *teasers]
    article = find_article(tree, asides)
    if teasers and (article is None or not _outweighs(article, teasers)):
        asides, article = named, find_article(tree, named)
    title = own_title or _title_heading(tree, article, titles)
    if article is not None and _is_narrower(article, called, title, titles):
        main: Element | None = _with_title(article, title, asides)
    else:
        main = called
    body = tree.select_one("body")
    if main is None or body is None:
        return Story(None, site=site)
    lead = _lead(body, main, title, {*landmarks.navigation, *asides})
    if article is None or main == called:
        asides = [each for each in asides if not is_foot(each)]
    parts, above = {main, *lead}, _above(title, article)
    inner = [each for each in asides if not parts.isdisjoint(each.ancestors) and each not in above]
    outermost = [each for each in inner if set(inner).isdisjoint(each.ancestors)]
    is_told = article is not None and title is not None and _compact(title.text) != _compact(statements.site)
    return Story(main, tuple(lead), tuple(dict.fromkeys(outermost)) if is_told else (), site)


def _teasers(tree: Document, known: set[Element], title: Element | None) -> list[Element]:
    """Return the blocks that lead to other stories: each of their headings is a link to another page, but for a label.

    In what is called an aside one such heading is enough, and one of three may be no link: a story has links, too.
    """
    counts: dict[Element, list[int]] = {}  # headings that are no links, and those that are
    for heading in tree.select("h1, h2, h3, h4, h5, h6"):
        if content_length(heading):
            place = int(_leads_elsewhere(heading))
            for each in heading.ancestors:
                if isinstance(each, Element):
                    counts.setdefault(each, [0, 0])[place] += 1
    around = {title, *title.ancestors} if title is not None else set()
    found: list[Element] = []
    for element in tree.iter_elements(_BESIDE_TAGS):
        labels, linked = counts.get(element, (0, 0))
        is_aside = element.tag == "aside" or not _LINKS_BESIDE.isdisjoint(class_words(element))
        if labels <= max(1, is_aside * linked // 2) and linked > 1 - is_aside and element not in around:
            is_outer = known.isdisjoint(element.ancestors) and set(found).isdisjoint(element.ancestors)
            if is_outer and _begins_with_heading(element):
                found.append(element)
    return found


def _begins_with_heading(element: Element) -> bool:
    """Whether less than a paragraph stands before the first heading of a block."""
    length = 0
    for text in content_texts(element):
        if any(isinstance(each, Element) and each.tag in HEADING_TAGS for each in text.ancestors):
            break
        length += len(text.data.strip())
        if length > _SHORTEST_PARAGRAPH:
            return False
    return True


def _leads_elsewhere(heading: Element) -> bool:
    """Whether a heading is a link to another page."""
    inner = heading.select_one("a[href]")
    link = inner or heading.closest("a[href]")
    href = link.attr("href") if link is not None else None
    if href is None or ("#" in href and "//" not in href) or not is_followable(href):
        return False
    return inner is None or content_length(inner) >= _LINKED * content_length(heading)


def _outweighs(article: Element, teasers: Iterable[Element]) -> bool:
    """Whether an article says more than teasers do: it is none that only introduces them."""
    lengths = {each: content_length(each) for each in teasers}
    inside = sum(length for each, length in lengths.items() if article in each.ancestors)
    return content_length(article) - inside > sum(lengths.values())


def _is_linked(element: Element, lengths: TextLengths) -> bool:
    linked = sum(map(lengths.of, element.select("a[href]")))
    return linked > 0 and linked >= _LINKED * lengths.of(element)


def _above(title: Element | None, article: Element | None) -> set[Element]:
    """Return the blocks between a title and its article that say who wrote it or when, whatever else they are."""
    if title is None or article is None:
        return set()
    between = _between(title, {article, *article.ancestors})
    blocks = {inner for each in between for inner in (each, *each.iter_elements(_BESIDE_TAGS))}
    return {each for each in blocks if content_length(each) <= _LONGEST_LEAD and _signed_by(each)}


def _with_title(article: Element, title: Element | None, asides: Iterable[Element]) -> Element:
    """Return the element that holds an article and its title, if little else is in it: a summary, sources, tags."""
    around = set(title.ancestors) if title is not None else set()
    common = next((each for each in article.ancestors if isinstance(each, Element) and each in around), None)
    if common is None or article in around or common.tag in ("html", "body"):
        return article
    lengths = content_lengths(common)
    inner = [each for each in asides if common in each.ancestors]
    others = sum(lengths.of(each) for each in inner if set(inner).isdisjoint(each.ancestors))
    return common if lengths.of(common) - others <= _MOST_AROUND * lengths.of(article) else article


def find_article(tree: Document, asides: Iterable[Element] = ()) -> Element | None:
    """Return the smallest element that holds nearly all running text of a page, ``None`` where none stands out.

    Text in ``asides`` does not count, unless that leaves next to nothing.
    """
    weights: dict[Element, int] = {}
    known, left_out = set(asides), 0
    body = tree.select_one("body")
    for element in tree.iter_elements():
        if element.tag in _RUNNING and (length := _running_text(element)) >= _SHORTEST_PARAGRAPH:
            lineage = [element, *(each for each in element.ancestors if isinstance(each, Element))]
            if any(each.tag == "a" or each.tag in UNSEEN or is_hidden(each) for each in lineage):
                continue
            if known.intersection(lineage):
                left_out += length
                continue
            for each in lineage:
                weights[each] = weights.get(each, 0) + length
    if body is None or weights.get(body, 0) < max(_FEWEST_CHARACTERS, _LEAST * left_out):
        return find_article(tree) if left_out else None
    best, least = body, _MOST * weights[body]
    while inner := [each for each in best.children if isinstance(each, Element) and weights.get(each, 0) >= least]:
        best = inner[0]
    while best.tag in ("p", "span", "font", "blockquote", "pre", "li", "tr", "tbody", "dd", "ul", "dl"):
        best = best.parent if isinstance(best.parent, Element) else body
    return None if best is body or best.tag in ("html", "body") else best


_LEAST = 0.1  # of the running text beside an article: a forum is what its visitors say
# What stands beside a story, by the words of class and id; what of the second kind says more than links may be its own
_BESIDE = vocabulary("around_story")


_LINKS_BESIDE = vocabulary("links_around_story")


_BESIDE_TAGS = ("div", "section", "aside", "ul", "ol", "li", "form", "table", "td", "footer", "dl")
_COLOURED = frozenset({"text", "btn", "button", "bg", "border", "badge", "alert", "link", "color"})
_LINKED = 0.5  # of the characters


def _found_beside(tree: Document, title: Element | None) -> list[Element]:
    """Return the blocks that are called something that stands beside a story; none holds its title."""
    lengths = content_lengths(tree)
    around = set(title.ancestors) if title is not None else set()
    held = "main, [itemprop=articleBody]" if title is not None else "h1, main, [itemprop=articleBody]"
    blocks = (each for each in tree.iter_elements(_BESIDE_TAGS) if each not in around)
    called = (each for each in blocks if is_foot(each) or _is_beside(each, lengths))
    return [each for each in called if each.select_one(held) is None]


def _is_beside(element: Element, lengths: TextLengths) -> bool:
    words = class_words(element)
    if not _BESIDE.isdisjoint(words) or ("secondary" in words and _COLOURED.isdisjoint(words)):
        return True
    if element.tag != "aside" and _LINKS_BESIDE.isdisjoint(words):
        return False
    return _is_linked(element, lengths)


def _title_heading(tree: Document, article: Element | None, titles: tuple[str, ...]) -> Element | None:
    """Return the heading that is the title of the page: its first heading, or the one that says what the page does."""
    headings = [each for each in tree.select("h1") if content_length(each) and not _is_brand(each)]
    headings = [each for each in headings if each.closest("dialog, [role=dialog]") is None]
    if len(headings) == 1:
        return headings[0]
    inside = [each for each in headings if article is not None and article in each.ancestors]
    if len(inside) == 1:
        return inside[0]
    return next((each for each in (*headings, *tree.select("h2, h3, h4")) if _is_said(each, titles)), None)


def _site_heading(tree: Document, page_title: str) -> tuple[Element | None, Element | None]:
    """Return a first heading in the head of a page that is no title but the site's name, and the heading of the page.

    The page's title says what another heading does: alone, or with the site's name before or after it. So it is in
    forums and in journals of old.
    """
    headings = [each for each in tree.select("h1") if content_length(each)]
    first = headings[0] if len(headings) == 1 else None
    if first is None or not any(isinstance(each, Element) and is_head(each) for each in first.ancestors):
        return None, None
    parts, name = list(map(_compact, title_parts(page_title))), _compact(first.text)
    if name in parts[1:-1]:
        return None, None  # a part of the site
    said = set(parts) - {name} if name in parts else {_compact(page_title)}
    title = next((each for each in tree.select("h2, h3") if _compact(each.text) in said - {""}), None)
    return (first, title) if title is not None else (None, None)


def _is_said(heading: Element | None, titles: Iterable[str]) -> bool:
    """Whether a heading says what the page is called; its author may follow, and a place stand before."""
    text = "" if heading is None else _compact(heading.text)
    start = text[: max(_SHORTEST_TITLE, round(_SAID * len(text)))]
    places = [_compact(title).find(start) for title in titles]
    return len(text) >= _SHORTEST_TITLE and (0 in places or (len(text) >= _LONG_TITLE and max(places) > 0))


_MUCH = 0.3  # of what a page says, where its title is not known: a front page opens with one story of many
_SAID = 0.6  # of a heading
_SHORTEST_TITLE, _LONG_TITLE = 8, 20  # characters, white space left out
_BRAND = frozenset({"logo", "brand"})


def _compact(text: str) -> str:
    return "".join(text.split()).casefold()


def _is_brand(heading: Element) -> bool:
    """Whether a heading shows the site's name."""
    around = [heading, *([heading.parent] if isinstance(heading.parent, Element) else [])]
    return any(not _BRAND.isdisjoint(class_words(each)) for each in around)


def _is_narrower(article: Element, main: Element | None, title: Element | None, titles: Iterable[str]) -> bool:
    """Whether an article is less than what is called the main content, and all of the page's story."""
    if article.closest("form") is not None:
        return False
    if main is None:
        body = article.closest("body")
        is_much = body is None or content_length(article) >= _MUCH * content_length(body)
        return (is_much or _is_said(title, titles)) and not _is_one_of_sections(article)
    if main == article or main not in article.ancestors or _is_nearly_all(article, main):
        return False
    return title is not None


_SHORT_REST = 200  # characters: a by-line


def _is_nearly_all(article: Element, main: Element) -> bool:
    """Whether little but menus is around the article in the main content: who wrote it, when."""
    around = sum(content_length(each) for each in inner_navigation(main) if article not in each.ancestors)
    return content_length(main) - around - content_length(article) <= _SHORT_REST


_FEWEST_SECTIONS = 2  # beside the one with most words


def _is_one_of_sections(article: Element) -> bool:
    """Whether an element is in a section beside others with headings and words of their own, as on a landing page."""
    section = article.closest("section")
    parent = section.parent if section is not None else None
    others = [each for each in parent.children if isinstance(each, Element)] if isinstance(parent, Element) else []
    said = (each for each in others if each != section and each.tag in ("section", "header"))
    return (
        sum(each.select_one("h1, h2, h3") is not None and content_length(each) > 0 for each in said) >= _FEWEST_SECTIONS
    )


_LONGEST_LEAD = 600  # characters of a heading and its siblings
_MOST_AROUND = 1.1  # of the length of the article
_LONGEST_BYLINE = 120  # characters, with the count of comments
_LONGEST_BETWEEN = 1500  # characters of a block between the title and the story


def _lead(body: Element, main: Element, title: Element | None, others: set[Element]) -> list[Element]:
    """Return the title of a story with what stands between both: by-line, date, picture, summary."""
    if title is None:
        return find_hero(body, main)
    lineage = {main, *main.ancestors}
    if title in lineage or main in title.ancestors:
        return []
    others = {each for each in others if each.tag in ("nav", "form") or content_length(each) > _LONGEST_BYLINE}
    first = title
    while isinstance(first.parent, Element) and first.parent not in lineage | others:
        if content_length(first.parent) > _LONGEST_LEAD:
            break
        first = first.parent
    between = [
        piece
        for each in _between(first, lineage)
        for piece in ([each] if each not in others and _is_of_lead(each, others) else _signed_by(each))
    ]
    return [first, *between]


def _signed_by(block: Element) -> list[Element]:
    """Return who wrote a story and when; nothing of a list of stories, which says so of each."""
    found = list(_signatures(block))
    return found if len(found) <= _MOST_SIGNATURES else []


_MOST_SIGNATURES = 3


def _signatures(block: Element) -> Iterator[Element]:
    """Yield who wrote a story and when, from a block of other things."""
    found: list[Element] = []
    for each in block.iter_elements(_SIGNING_TAGS):
        is_called = each.tag == "time" or not _SIGNATURES.isdisjoint(class_words(each))
        if is_called and 0 < content_length(each) <= _LONGEST_BYLINE and set(found).isdisjoint(each.ancestors):
            found.append(each)
            yield each


_SIGNING_TAGS = ("div", "p", "span", "time", "li", "address", "ul")
_SIGNATURES = vocabulary("signatures")


def _is_of_lead(element: Element, others: set[Element]) -> bool:
    """Whether a block says little, and not in links alone; ``others`` within it do not count."""
    lengths = content_lengths(element)
    inner = [each for each in others if element in each.ancestors]
    inner = [each for each in inner if set(inner).isdisjoint(each.ancestors)]
    length = lengths.of(element) - sum(map(lengths.of, inner))
    links = (each for each in element.select("a[href]") if set(inner).isdisjoint(each.ancestors))
    linked = sum(map(lengths.of, links))
    return 0 < length <= _LONGEST_BETWEEN and (linked <= _LINKED * length or length <= 2 * _SHORTEST_PARAGRAPH)


def _between(first: Element, lineage: set[Any]) -> Iterator[Element]:
    """Yield the elements that follow one and come before the last of a ``lineage``; none if they are after it."""
    found: list[Element] = []
    element = first
    while isinstance(element, Element) and element not in lineage:
        for sibling in element.next_siblings:
            if sibling in lineage:
                yield from [*found, *_before(sibling, lineage)]
                return
            if isinstance(sibling, Element):
                found.append(sibling)
        parent = element.parent
        assert isinstance(parent, Element)
        element = parent


def _before(element: Any, lineage: set[Any]) -> Iterator[Element]:
    """Yield the elements within one of a ``lineage`` that come before the last of it."""
    if not any(child in lineage for child in element.children):
        return
    for child in element.children:
        if child in lineage:
            yield from _before(child, lineage)
            return
        if isinstance(child, Element):
            yield child


_HEROES = frozenset({"masthead", "hero", "jumbotron"})


def find_hero(body: Element, main: Element | None) -> list[Element]:
    """Return the element that opens a page without a first heading, above its main content: whose page it is."""
    if any(map(content_length, body.select("h1"))):
        return []
    for element in body.iter_elements():
        if element == main or element.tag in HEADING_TAGS:
            break
        is_hero = not _HEROES.isdisjoint(class_words(element))
        if element == body or not (is_hero or (is_head(element) and element.tag != "header")):
            continue
        if main is not None and element in main.ancestors:
            continue
        has_heading = is_hero or any(content_length(each) for each in element.select("h2, h3"))
        is_short = 0 < content_length(element) <= _LONGEST_LEAD
        if has_heading and is_short and element.select_one("nav, form, ul, ol") is None:
            return [element]
    return []


def _running_text(element: Element) -> int:
    """Return the length of the text that is an element's own, in phrases that are no links."""
    length = 0
    for child in element.children:
        if isinstance(child, Text):
            length += _weight(child.data)
        elif isinstance(child, Element) and child.tag in ("b", "i", "em", "strong", "code"):
            length += _weight(child.text)
    return length


def _weight(text: str) -> int:
    """Return the length of a text, white space left out; a Chinese character says as much as three letters."""
    compact = "".join(text.split())
    return len(compact) if compact.isascii() else len(compact) + 2 * sum(each >= "\u2e80" for each in compact)
