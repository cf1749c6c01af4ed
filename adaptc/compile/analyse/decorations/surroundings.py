"""What is around an image: landmark, figure, text, the link or button around it, and adaptation tags.

With adaptation tags the author of a page decides about one of its elements: ``data-adapt="keep"`` and
``data-adapt="drop"`` apply at every level, ``data-adapt="drop extreme"`` at those named. The element's own tag takes
precedence over those of the elements around it. Several statements are separated by ``;``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol

from turbohtml import Document, Element, Node, Text

from adaptc.compile.analyse.decorations.evidence import Tag
from adaptc.core import media
from adaptc.core.urls import Reach
from adaptc.core.values import dataclass, field
from adaptc.formats.html.syntax import class_names, class_words, name_words, split_tokens
from adaptc.formats.html.visible_text import short_text
from adaptc.site.site import SiteTarget

# Elements that start a line of their own; the text of the nearest one counts as the text next to an image
_BLOCKS = frozenset({
    "p", "div", "li", "td", "th", "dt", "dd", "figure", "section", "article", "header", "footer", "nav", "aside",
    "main", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "caption", "figcaption", "ul", "ol", "dl", "table",
    "tr", "body", "center", "form", "fieldset", "address", "details", "summary", "pre",
})  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_HEADING_NAMES = tuple(sorted(_HEADINGS))
_ROLES = {
    "banner": "header", "navigation": "nav", "contentinfo": "footer", "complementary": "aside", "main": "main",
    "menu": "nav", "menubar": "nav", "toolbar": "nav",
}  # fmt: skip
_LANDMARKS = {name: name for name in ("header", "nav", "footer", "aside", "main")} | {"article": "main"}
_HIDDEN_ROLES = frozenset({"presentation", "none"})
_SHORT = 200  # characters: on a page with hardly any text every landmark holds half of it
_NEAREST = 3  # elements around an image among which its label is looked for
_NAMED = 4  # elements whose classes say what an image is: itself and three around it


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of an element: fields of ``UseEvidence``, the nearest element with text, and its length.

    ``signature`` is what places of the same kind share.
    """

    evidence: dict[str, Any]
    near: Element
    near_length: int
    signature: str


@dataclass(slots=True)
class PageText:
    """How much text the blocks of a page hold, each counted once: a page may have a thousand images in one block."""

    tree: Document
    _lengths: dict[Element, int] = field(default_factory=dict)

    def length(self, block: Element) -> int:
        """Return the number of visible characters, white space collapsed."""
        if block not in self._lengths:
            self._lengths[block] = len(" ".join(_seen_text(block).split()))
        return self._lengths[block]

    def half(self) -> int:
        """Return half the length of the page's text."""
        body = self.tree.find("body")
        return self.length(body) // 2 if body is not None else 0


@dataclass(frozen=True, slots=True)
class PageHeadings:
    """The headings of a page in document order: where each begins, and its words."""

    offsets: tuple[int, ...] = ()
    words: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, tree: Document) -> PageHeadings:
        """Read the headings of a page."""
        headings = list(tree.iter_elements(_HEADING_NAMES))
        return cls(tuple(map(start_offset, headings)), tuple(name_words(heading.text) for heading in headings))

    def before(self, offset: int) -> tuple[str, ...]:
        """Return the words of the last heading that begins before ``offset``."""
        at = bisect_left(self.offsets, offset)
        return self.words[at - 1] if at else ()


def start_offset(element: Element) -> int:
    """Return where the start tag of an element begins in the text of its page, 0 where it has none."""
    place = element.source_location
    return place.start_tag.start_offset if place is not None else 0


def surroundings_of(
    element: Element, regions: Mapping[str, str], figures: frozenset[str], text: PageText
) -> Surroundings:
    """Return the surroundings of an element.

    ``regions`` maps class words to the landmark they name, ``figures`` are class words of figures.
    """
    line = [element, *(ancestor for ancestor in element.ancestors if isinstance(ancestor, Element))]
    block = next((ancestor for ancestor in line[1:] if ancestor.tag in _BLOCKS), line[-1])
    inner = line[: line.index(block) + 1]
    text_length = text.length(block)
    near = _following_heading(line) or next(
        (ancestor for ancestor in line[1 : 1 + _NEAREST] if text.length(ancestor)), line[-1]
    )
    tags = [ancestor.tag for ancestor in line]
    evidence = {
        "region": _region(line, regions, text),
        "names": tuple(word for ancestor in line[:_NAMED] for word in class_words(ancestor)),
        "hidden": any(map(_is_hidden, line)),
        "figure": "figure" in tags[:5] or _is_figure(line[:5], figures),
        "alone": text_length == 0,
        "text_length": text_length,
        "near_length": text.length(near),
        "part_length": _part_length(line, text),
        "in_cell": block.tag in ("td", "th") or "td" in tags[:4],
        "in_heading": not _HEADINGS.isdisjoint(tags[:4]),
        "in_text": _touches_text(inner),
    }
    return Surroundings(evidence, near, text.length(near), _signature(line))


def _following_heading(line: list[Element]) -> Element | None:
    """Return the heading that directly follows an image, or one of two elements that hold nothing else."""
    for element in line[:_NEAREST]:
        after = element.next_sibling
        while isinstance(after, Text) and not after.data.strip():
            after = after.next_sibling
        if after is not None:
            return after if isinstance(after, Element) and after.tag in _HEADINGS else None
    return None


def _part_length(line: list[Element], text: PageText) -> int:
    """Return how much text the part of the page has in which an image comes with one heading; 0 where there is none.

    An image after the heading and other blocks of the same element belongs to the text, as the figure of an article
    does; one before it, or in another column, to the heading.
    """
    at = next((at for at, ancestor in enumerate(line[1:-1], 1) if text.length(ancestor)), len(line))
    for child, part in pairwise(line[at - 1 : at + _NEAREST - 1]):
        headings = list(islice(part.iter_elements(_HEADING_NAMES), 2))
        if headings:
            is_above = headings[0].parent is part and start_offset(headings[0]) < start_offset(child)
            is_its_own = len(headings) == 1 and not is_above and text.length(part) <= text.half()
            return text.length(part) if is_its_own else 0
    return 0


def _seen_text(block: Element) -> str:
    """Return the text of a block without that of scripts and styles."""
    text = block.text
    if block.find("script") is None and block.find("style") is None:
        return text
    return " ".join(node.data for node in block.descendants if isinstance(node, Text) and not _is_code(node))


def _is_code(node: Node) -> bool:
    return isinstance(node.parent, Element) and node.parent.tag in ("script", "style")


def _is_hidden(element: Element) -> bool:
    role = (element.attr("role") or "").strip().lower()
    return role in _HIDDEN_ROLES or (element.attr("aria-hidden") or "").strip().lower() == "true"


def _region(line: Iterable[Element], regions: Mapping[str, str], text: PageText) -> str:
    """Return the nearest landmark by tag, role, or the words of class and id.

    A class that names a landmark but holds half of the page's text means something else (``with-sidebar``).
    """
    for ancestor in line:
        if ancestor.tag in ("body", "html"):
            return ""
        landmark = _LANDMARKS.get(ancestor.tag) or _ROLES.get((ancestor.attr("role") or "").strip().lower())
        if landmark:
            return landmark
        named = next((regions[word] for word in landmark_words(ancestor) if word in regions), None)
        if named and text.length(ancestor) <= max(text.half(), _SHORT):
            return named
    return ""


def landmark_words(element: Element) -> Iterator[str]:
    """Yield the words of class and id without modifiers (BEM): ``layout--fixed-header`` is no header."""
    for name in ("class", "id"):
        for token in split_tokens(element.attr(name) or ""):
            yield from name_words(token.partition("--")[0])


def _is_figure(line: Iterable[Element], figures: frozenset[str]) -> bool:
    return any(not figures.isdisjoint(class_words(ancestor)) for ancestor in line if ancestor.tag != "body")


def _touches_text(inner: list[Element]) -> bool:
    """Whether there are words directly before or after the image."""
    return any(_is_text(element.previous_sibling) or _is_text(element.next_sibling) for element in inner[:-1])


def _is_text(node: Node | None) -> bool:
    return isinstance(node, Text) and any(character.isalnum() for character in node.data)


def _signature(line: list[Element]) -> str:
    """Return what places of the same kind share: tags and classes of the element and of three around it."""
    return "<".join(f"{ancestor.tag}.{'.'.join(sorted(class_names(ancestor)))}" for ancestor in line[:4])


_NEAR = 300  # characters of an item of a list, a card; more is a part of the page
_BUTTONS = frozenset({"button", "label", "summary"})


# Classes of text for screen readers alone
_UNSEEN = ".sr-only, .visually-hidden, .visuallyhidden, .screen-reader-text, .screen-reader-only, .hidden-accessible"


def shown_text(element: Element) -> str:
    """Return the text of an element without that for screen readers alone."""
    if not element.text.strip():
        return ""
    unseen = set(element.select(_UNSEEN))
    if not unseen:
        return element.text
    texts = (node for node in element.descendants if isinstance(node, Text))
    return " ".join(text.data for text in texts if unseen.isdisjoint(text.ancestors))


class UrlResolver(Protocol):
    """Resolves URLs: a site, or the view of it that a pass has."""

    def url_of(self, path: str) -> str:
        """Return the absolute URL of a path."""

    def follow(self, base: str, reference: str) -> SiteTarget:
        """Resolve a reference against the absolute URL ``base`` and look for the file."""


class EnclosingLink(NamedTuple):
    """``link`` is home, page, anchor (of the same page), image, outside, button or "" for none; the names of the fields
    are those of ``UseEvidence``."""

    link: str = ""
    alone_in_link: bool = False
    link_alike: bool = False
    host: str = ""


_NONE = EnclosingLink()


def enclosing_link(element: Element, urls: UrlResolver, base: str, page: str) -> EnclosingLink:
    """Return the link around an element of the page at path ``page``, whose base URL is ``base``."""
    around = (each for each in (element, *element.ancestors) if isinstance(each, Element))
    link = next(filter(_is_link, around), None)
    if link is None:
        return _NONE
    alone = not shown_text(link).strip() and len(link.find_all("img")) <= 1
    href = link.attr("href")
    if link.tag != "a" or href is None:
        return EnclosingLink("button", alone)
    if href.lstrip()[:1] in ("#", ""):
        return EnclosingLink("anchor", alone)
    target = urls.follow(base, href)
    host = _host(href) if target.target.reach is Reach.EXTERNAL else ""
    return EnclosingLink(_kind(target, href, page), alone, alone and _has_twin(link, href), host)


def _host(href: str) -> str:
    return href.partition("//")[2].partition("/")[0].lower()


def _is_link(element: Element) -> bool:
    if element.tag == "a":
        return element.attr("href") is not None
    is_button = element.tag in _BUTTONS or (element.attr("role") or "").lower() == "button"
    return is_button or element.attr("onclick") is not None


def _kind(target: SiteTarget, href: str, page: str) -> str:
    reach, path = target.target.reach, target.path
    if reach is Reach.EXTERNAL:
        host, _, rest = href.partition("//")[2].partition("/")
        return "home" if host and not rest.strip("/") else "outside"
    if reach is not Reach.LOCAL or path is None:
        return "home" if reach is Reach.LOCAL and not target.target.path.strip("/") else "page"
    if (media.by_name(path) or "").startswith("image/"):
        return "image"
    return "home" if _is_home(path, page) else "page"


def _is_home(path: str, page: str) -> bool:
    """Whether a file is the home page of the site, or of the part of it that contains the page."""
    folder, _, name = path.rpartition("/")
    return name.partition(".")[0] in ("index", "home", "default") and (
        not folder or f"{page}/".startswith(folder + "/")
    )


def _has_twin(link: Element, href: str) -> bool:
    """Whether a link with text nearby leads to the same place: then the image adds no information."""
    near = link.parent.parent if isinstance(link.parent, Element) else None
    if not isinstance(near, Element) or short_text(near, _NEAR) is None:
        return False
    return any(neighbour.attr("href") == href and neighbour.text.strip() for neighbour in near.find_all("a"))


ATTRIBUTE = "data-adapt"
VERDICTS = ("keep", "drop")


def read_tags(value: str) -> Iterator[Tag]:
    """Yield the statements of a ``data-adapt`` attribute. Other words are ignored."""
    for statement in value.split(";"):
        verdict, *levels = statement.lower().replace(",", " ").split() or [""]
        if verdict in VERDICTS:
            yield Tag(verdict, tuple(levels), f'{ATTRIBUTE}="{" ".join(value.split())}"')


def tags_of(element: Element) -> tuple[Tag, ...]:
    """Return the statements that apply to an element, its own first, then those of its ancestors."""
    line = (element, *(ancestor for ancestor in element.ancestors if isinstance(ancestor, Element)))
    return tuple(tag for ancestor in line for tag in read_tags(ancestor.attr(ATTRIBUTE) or ""))
