"""Cards: repeated boxes that each lead to one story or product, and the links in them that lead there once more.

A card has one title: a heading with a link, or a link around blocks. What is around the title belongs to the card up
to where the next title begins. Posts of a conversation, whose titles link to themselves, are none, nor is a heading
alone. A picture, a "Read more" that leads where the title leads says nothing new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from turbohtml import Document, Element, Text

from adaptc.core.values import dataclass, field
from adaptc.formats.html.visible_text import content_length, fold_space, is_followable, is_hidden, text_length

__all__ = ["NO_CARDS", "Cards", "find_cards"]

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = "h1, h2, h3, h4, h5, h6, p, div, ul, section, figure, article"
_FEWEST = 2  # cards next to each other
_LONGEST = 700  # characters of a card, white space left out: a teaser is a few sentences
_LONGEST_MORE = 30  # characters of "Read the full story"
_FEWEST_LETTERS = 2  # of a title
_LONGEST_NAME = 24  # bytes of an entry of a menu, white space left out: a Chinese character says more than a letter
_KEPT = frozenset({"body", "main", "html", "td", "th", "form"})


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards of a page: ``lists`` holds the elements whose children are cards, with those of them that are.

    ``repeats`` are the links of cards that lead where their titles lead. ``plain`` are lists like ``lists``, of short
    boxes without a link for a title, as the figures of a dashboard: they are cards if they stand next to each other.
    """

    lists: dict[Element, tuple[Element, ...]] = field(default_factory=dict)
    repeats: frozenset[Element] = frozenset()
    plain: dict[Element, tuple[Element, ...]] = field(default_factory=dict)


NO_CARDS = Cards()


def find_cards(tree: Document) -> Cards:
    """Find the cards of a page."""
    titles = dict(_titles(tree))
    counts: dict[Element, set[str]] = {}
    for title, href in titles.items():
        for around in _around(title):
            counts.setdefault(around, set()).add(href)
    roots = {root: title for title in titles if (root := _root(title, counts)) is not None}
    by_parent: dict[Element, list[Element]] = {}
    for root in roots:
        if isinstance(root.parent, Element) and root.tag not in _HEADINGS and content_length(root) <= _LONGEST:
            by_parent.setdefault(root.parent, []).append(root)
    lists = {
        parent: tuple(cards) for parent, cards in by_parent.items() if len(cards) >= _FEWEST and not _are_names(cards)
    }
    short = [(root, title) for root, title in roots.items() if content_length(root) <= _LONGEST]
    repeats = frozenset(link for card, title in short for link in _repeats(card, title))
    return Cards(lists, repeats, {parent: cards for parent, cards in _plain_lists(tree) if parent not in lists})


def _are_names(cards: list[Element]) -> bool:
    """Whether boxes say a name each and show nothing: the entries of a menu."""
    lengths = (len("".join(each.text.split()).encode()) for each in cards)
    return max(lengths) <= _LONGEST_NAME and all(each.select_one("img, svg, p") is None for each in cards)


_FEWEST_PLAIN = 3  # next to each other
_LONGEST_PLAIN = 300  # characters of one, white space left out
_LONGEST_FIGURE = 80  # characters of one without a heading: a figure with what it counts
_PLAIN = frozenset({"div", "section", "article", "aside", "figure"})
_NOT_PLAIN = "table, pre, form, dl, ol, article article, iframe, video, input, select, textarea"


def _plain_lists(tree: Document) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """Yield the elements that hold short boxes of one class in a row, with these: each with a heading, or a figure."""
    counts: dict[Element, int] = {}
    for heading in tree.select("h2, h3, h4, h5, h6"):
        for around in _around(heading):
            counts[around] = counts.get(around, 0) + 1
    for parent in tree.iter_elements(_PLAIN):
        boxes = [each for each in parent.children if isinstance(each, Element) and each.tag in _PLAIN]
        like = Counter(map(_kind, boxes))
        marked = [(like[_kind(box)] >= _FEWEST_PLAIN and _is_plain(box, counts.get(box, 0)), box) for box in boxes]
        plain: list[Element] = []
        for (is_plain, _), group in groupby(marked, key=lambda each: (each[0], _kind(each[1]))):
            run = [box for _, box in group]
            plain += run if is_plain and len(run) >= _FEWEST_PLAIN else ()
        if plain:
            yield parent, tuple(plain)


def _kind(box: Element) -> str:
    """Return the first class of a box: others of a framework tell its place among them (``col mb-5``)."""
    return f"{box.tag} {next(iter((box.attr('class') or '').split()), '')}"


def _is_plain(box: Element, headings: int) -> bool:
    if headings > 1 or not 0 < content_length(box) <= (_LONGEST_PLAIN if headings else _LONGEST_FIGURE):
        return False
    return box.select_one(_NOT_PLAIN) is None and (headings == 1 or _pieces(box) > 1)


def _pieces(box: Element) -> int:
    """Return how many elements of a box hold words."""
    inner = (each.children for each in box.iter_elements())
    return sum(any(isinstance(node, Text) and node.data.strip() for node in nodes) for nodes in inner)


def _titles(tree: Document) -> Iterator[tuple[Element, str]]:
    """Yield the links that are titles, with their targets."""
    own = {each.attr("id") for each in tree.select("[id]")}
    for link in tree.select("a[href]"):
        href = link.attr("href") or ""
        fragment = href.partition("#")[2]
        if not is_followable(href) or href.startswith("#") or (fragment and fragment in own) or is_hidden(link):
            continue
        heading = _heading_around(link)
        if heading is not None:
            is_title = text_length(link) > text_length(heading) / 2
        else:
            is_title = text_length(link) >= _FEWEST_LETTERS and link.select_one(_BLOCKS) is not None
        if is_title and text_length(link) >= _FEWEST_LETTERS:
            yield link, href


def _heading_around(link: Element) -> Element | None:
    around = (each for each in link.ancestors if isinstance(each, Element))
    return next((each for _, each in zip(range(4), around, strict=False) if each.tag in _HEADINGS), None)


def _around(element: Element) -> Iterator[Element]:
    yield element
    yield from (each for each in element.ancestors if isinstance(each, Element))


def _root(title: Element, counts: dict[Element, set[str]]) -> Element | None:
    """Return the largest element around a title that has no other."""
    best = None
    for around in _around(title):
        if len(counts[around]) > 1 or around.tag in _KEPT:
            break
        best = around
    return best


def _repeats(card: Element, title: Element) -> Iterator[Element]:
    """Yield the links of a card that lead where its title does: around pictures, or with a few words."""
    inside = set(title.ancestors)
    for link in card.select("a[href]"):
        if link != title and link not in inside and link.attr("href") == title.attr("href"):
            text = fold_space(link.text)
            is_plain = not any(isinstance(each, Element) and each.tag in _HEADINGS for each in link.iter_elements())
            if is_plain and (len(text) <= _LONGEST_MORE or text in fold_space(title.text)):
                yield link
