"""The walk through a page's content that writes it as plain markup: blocks of text, lists, tables and forms in order.

``Flow`` walks the tree once and is the context of all writers: each element's writer gets it with the element and
``Blocks``, to which it adds. The writers are in ``phrases`` and ``blocks``. What only lays out (``div``,
``span``, ``font``, layout tables) is unwrapped: its runs of text become paragraphs. Nothing readable is left out except
elements that ``visible_text.is_hidden`` names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from turbohtml import Document, Element, Namespace, Node, Text

from adaptc.compile.passes.composed.layout import Layout
from adaptc.compile.passes.composed.pictures import CARD, FIGURE, LEAD, NO_PICTURES, THUMBNAIL, Pictures
from adaptc.formats.html.cards import NO_CARDS, Cards
from adaptc.formats.html.forms import Forms
from adaptc.formats.html.idle import SIGNS, is_edit_link, is_idle_tools
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, class_words, text_markup, vocabulary
from adaptc.formats.html.visible_text import UNSEEN, is_ad_label, is_hidden, is_icons

__all__ = [
    "BLOCK_TAGS", "HEADING_TAGS", "LINE_BREAK", "Blocks", "Flow", "IdQueue", "Writer", "anchors", "bare_anchor",
    "holds_block", "language_attributes", "text_of",
]  # fmt: skip

# Elements that are a block of their own or force their content into blocks
BLOCK_TAGS = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr",
    "legend", "li", "listing", "main", "menu", "nav", "ol", "p", "plaintext", "pre", "search", "section", "summary",
    "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "xmp", "caption", "noscript", "map", "iframe", "video",
    "audio", "object", "marquee",
})  # fmt: skip
HEADING_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LINE_BREAK = "<br>"
# Links have names of their own, and buttons that do nothing say nothing
_NAMED = ("a", "area", "button")
_KEEPS_ID = frozenset({
    "h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "li", "a", "p", "pre", "table", "tr", "td", "th", "section",
    "article", "figure", "dl", "ol", "ul", "span", "blockquote", "details", "code", "caption", "fieldset", "nav",
    "strong", "em", "b", "i", "u", "s", "tt", "dfn", "abbr", "acronym", "var", "kbd", "samp", "cite", "q", "mark",
    "small", "font", "sub", "sup", "ins", "del", "legend", "figcaption", "address", "summary",
    "center", "hgroup",
})  # fmt: skip
_FOREIGN_TAGS = {"svg": "svg-drawing", "math": "math"}
_TAG = re.compile(r"<[^>]*>")
# What stands in one line above or below a title: who wrote it, when, in which part of the paper
_META = vocabulary("line")
_FIELD = re.compile(r"<(?:input|select|textarea)\b")
_FACES = frozenset({"avatar", "avatars", "gravatar", "author", "authors", "byline", "userpic", "badge", "icon"})
# Dates, words that are read aloud, labels above a title
_APART = (
    "time, .label, .kicker, .badge, .flag, "
    "[class*=sr-only], [class*=visually-hidden], [class*=visuallyhidden], [class*=screen-reader]"
)
_FEWEST_IN_GALLERY, _DEEPEST_IN_GALLERY = 3, 4  # images, and the elements around each up to that of the gallery
_LONGEST_META = 240  # characters, white space left out
LONGEST_PIECE = 60  # characters of a piece of such a line
_BETWEEN = " \u00b7 "
_SPACE = re.compile(r"[ \t\n\r\f]+")
_SIGNS_ALONE = frozenset(f"<p>{each}</p>" for each in SIGNS)


class Blocks:
    """Blocks that are being written: the ``finished`` ones, and the ``run`` of text that will be the next paragraph.

    In an item (``li``, ``td``) the first run of text needs no paragraph around it.
    """

    def __init__(self, *, is_item: bool = False) -> None:
        self.finished: list[str] = []
        self.run: list[str] = []
        self.is_item = is_item
        self.has_content = False

    def add_inline(self, markup: str, *, is_content: bool = True) -> None:
        """Add to the run of text; a space separates adjacent links."""
        if not markup:
            return
        if self.run and markup.startswith("<a ") and self.run[-1].endswith("</a>"):
            self.run.append(" ")
        self.run.append(markup)
        self.has_content = self.has_content or is_content

    def last_character(self) -> str:
        """Return the last character of the run, which a word that is added now would follow; a space for a break."""
        pieces = (piece and _TAG.sub(" " * (piece == LINE_BREAK), piece) for piece in reversed(self.run))
        return next(filter(None, pieces), "")[-1:]

    def end_run(self, id_attribute: Callable[[], str]) -> None:
        """Finish the run of text; ``id_attribute`` returns the id attribute for each of its paragraphs, or ``""``."""
        if self.has_content:
            for part in map(_trimmed, _paragraphs(self.run)):
                if part:
                    identity = id_attribute()
                    is_bare = self.is_item and not self.finished and not identity
                    self.finished.append(part if is_bare else f"<p{identity}>{part}</p>")
            self.run, self.has_content = [], False
        elif not any("<a id" in piece for piece in self.run):
            self.run = []

    def markup(self) -> str:
        """Return everything that was written, but for paragraphs of one sign."""
        return "".join(each for each in [*self.finished, *self.run] if each not in _SIGNS_ALONE)


def _paragraphs(run: list[str]) -> Iterator[list[str]]:
    """Split a run at two or more line breaks: old pages separate their paragraphs so."""
    part: list[str] = []
    breaks = 0
    for piece in run:
        if piece == LINE_BREAK:
            breaks += 1
        elif piece.strip():
            if breaks > 1:
                yield part
                part = []
            breaks = 0
        part.append(piece)
    yield part


def _trimmed(pieces: list[str]) -> str:
    text = "".join(pieces).strip()
    while text.startswith(LINE_BREAK):
        text = text.removeprefix(LINE_BREAK).lstrip()
    while text.endswith(LINE_BREAK):
        text = text.removesuffix(LINE_BREAK).rstrip()
    return text


class IdQueue:
    """The ids that have to stay, each written once and in order; ``pending`` are those that wait for the next tag.

    ``linked`` are ids that the page's own links lead to. Others stay on elements that other pages usually link to, in
    the content: a link to what is around the page's only title ends where the page begins, with the id or without.
    Outside of the ``story`` an id with the key of a record in it, as of a comment, stays if a link of the page names
    it, whatever address stands before: who gives out links to records does so there.
    """

    def __init__(self, linked: frozenset[str], tree: Document, story: Callable[[Element], bool]) -> None:
        self.linked, self._is_in_story = linked, story
        self._named = {(each.attr("href") or "").partition("#")[2] for each in tree.select("[href]")}
        titles = [each.parent for each in tree.select("h1")]
        self._around_title = frozenset(titles[0].ancestors) if len(titles) == 1 and titles[0] is not None else ()
        self.pending: list[str] = []
        self._used: set[str] = set()

    def note(self, element: Element) -> None:
        """Add the ids of an element."""
        for name in (element.attr("id"), element.attr("name") if element.tag == "a" else None):
            if name and (name in self.linked or self._is_worth_keeping(name, element)) and self.claim(name):
                self.pending.append(name)

    def _is_worth_keeping(self, name: str, element: Element) -> bool:
        if element in self._around_title or not _keeps_id(element):
            return False
        return _KEY.search(name) is None or name in self._named or self._is_in_story(element)

    def note_linked(self, element: Element) -> None:
        """Add the ids of a skipped element: those that links lead to, and a permanent link's, which names itself."""
        if element.tag == "a":
            self.note(element)
        for target in [element, *element.select("[id], a[name]")] if self.linked else ():
            if not self.linked.isdisjoint((target.attr("id"), target.attr("name"))):
                self.note(target)

    def claim(self, name: str) -> bool:
        """Whether an id has not been written yet; from now on it counts as written."""
        is_new = name not in self._used
        self._used.add(name)
        return is_new

    def next_attribute(self) -> str:
        """Return the id attribute for a tag: the last pending id; the others become anchors before it."""
        return f" {attribute_markup('id', self.pending.pop())}" if self.pending else ""

    def attribute_of(self, element: Element) -> str:
        """Add the ids of an element, and return the id attribute for its tag."""
        self.note(element)
        return self.next_attribute()

    def write_anchors(self) -> str:
        """Return anchors for all pending ids."""
        pending, self.pending = self.pending, []
        return anchors(pending)


_KEY = re.compile(r"\d{5}|(?=[a-f]{0,15}\d)[\da-f]{16}")  # of a record: a number, a digest
_FRAME = "footer, nav, [role=contentinfo], [role=navigation]"  # which is the same on all pages


def _keeps_id(element: Element) -> bool:
    """Whether other pages may link to an element's id: not to that of an element that only lays the page out."""
    if element.closest(_FRAME) is not None:
        return False
    if element.tag in _KEEPS_ID:
        return True
    if any(isinstance(child, Text) and child.data.strip() for child in element.children):
        return True  # a paragraph by another name
    first = next((child for child in element.children if isinstance(child, Element)), None)
    return first is not None and (first.tag in HEADING_TAGS or first.select_one("h1, h2, h3, h4, h5, h6") is not None)


def is_picture(element: Element) -> bool:
    """Whether all that an element shows are images."""
    return element.tag == "img" or (not element.text.strip() and element.select_one("img") is not None)


def text_of(node: Node | None) -> str:
    """Return the text of an element or a text node, ``""`` of others."""
    return node.text if isinstance(node, Element) else node.data if isinstance(node, Text) else ""


def _is_set_apart(before: Node | None, after: Node) -> bool:
    """Whether two nodes are no part of one word: dates, words for screen readers, a label after what ends before it."""
    if isinstance(before, Element) and (before.matches(_APART) or before.select_one(_APART) is not None):
        return True
    if not isinstance(after, Element):
        return False
    first = after if after.matches(_APART) else after.select_one(_APART)
    if first is not None and after.text.lstrip().startswith(first.text.strip()):
        return True
    return isinstance(before, Element) and _LABEL.match(after.text) is not None


_SILENT = frozenset({"meta", "link", "script", "style", "template"})
_ENDS = " \t\n.,;:!?)]\u2019'\u201d\u3001\u3002"  # what follows a word without a space
_LABEL = re.compile(r"[A-Z][^\W\d_]{2,20}(?: [a-z]{2,20})?:")
_LABELS = frozenset({"cite", "strong", "b", "label"})  # with a colon they name what follows them


def anchors(names: list[str]) -> str:
    """Write empty anchors with these ids."""
    return "".join(f"<a {attribute_markup('id', name)}></a>" for name in names)


def bare_anchor(id_attribute: str) -> str:
    """Write the anchor for an element without content, if it has an id attribute."""
    return f"<a{id_attribute}></a>" if id_attribute else ""


class Flow:
    """Writes parts of one page. ``left_out`` are elements that are written elsewhere, or not at all.

    ``writers`` gives the writer of each tag; elements without one are containers of blocks, or transparent.
    ``layout`` says whether an element is a box of its own: a space separates its words from those next to it.
    ``unshown`` are elements that stay hidden. ``hrefs`` are the targets of the links that were written, ``written`` the
    forms and controls.
    """

    def __init__(
        self,
        body: Document,
        forms: Forms,
        ids: IdQueue,
        left_out: Iterable[Element],
        writers: Mapping[str, Writer],
        layout: Layout,
        unshown: Iterable[Element] = (),
        cards: Cards = NO_CARDS,
        pictures: Pictures = NO_PICTURES,
    ) -> None:
        self.forms, self.ids, self.left_out = forms, ids, set(left_out)
        self.layout, self._unshown, self._cards = layout, set(unshown), cards
        self.last_href = ""  # of the last link; an image without text that links there again is left out
        self.last_link = ("", "")
        self.hrefs: set[str] = set()
        self.written: set[Element] = set()
        self.is_in_card = self.has_lead = False
        self.shown: set[str] = set()  # addresses of the images of the content that have a picture
        self.picture = pictures
        self._writers, self._body = writers, body

    def write(self, nodes: Iterable[Node], *, is_item: bool = False) -> str:
        """Return nodes as blocks; with ``is_item`` the first run of text is not a paragraph."""
        blocks = Blocks(is_item=is_item)
        self.walk(nodes, blocks)
        self.end_run(blocks)
        return blocks.markup()

    def write_inline(self, element: Element) -> tuple[str, bool]:
        """Return the content of an element as a part of a run of text, and whether it shows anything."""
        outer, self.ids.pending = self.ids.pending, []
        blocks = Blocks(is_item=True)
        self.walk(element.children, blocks)
        self.ids.pending = outer + self.ids.pending
        return blocks.markup(), blocks.has_content or bool(blocks.finished)

    def walk(self, nodes: Iterable[Node], blocks: Blocks) -> None:
        """Add nodes to blocks."""
        previous: Node | None = None
        for node in nodes:
            if self._is_joint(previous, node, blocks):
                blocks.add_inline(" ", is_content=False)
            if not (isinstance(node, Element) and node.tag in _SILENT):
                previous = node
            if isinstance(node, Text):
                data = _SPACE.sub(" ", _without_icons(node))
                if data.strip(" "):
                    self.last_link = ("", "")
                blocks.add_inline(text_markup(data), is_content=bool(data.strip(" ")))
            elif isinstance(node, Element) and not self.skips(node):
                self._add_element(node, blocks)
            elif isinstance(node, Element) and node in self._cards.repeats and not self.is_in_card:
                for image in node.select("img"):
                    blocks.add_inline(self.article_picture(image))

    def _is_joint(self, previous: Node | None, node: Node, blocks: Blocks) -> bool:
        """Whether a node continues the word before it although a box begins or ends there."""
        last = blocks.last_character() if blocks.run else ""
        first = text_of(node)[:1] if last and not last.isspace() else ""
        if not first:
            return False
        if first.strip(_ENDS) and (
            _is_set_apart(previous, node) or (last == ":" and getattr(previous, "tag", "") in _LABELS)
        ):
            return True
        if not first.isalnum():
            return False
        is_beside_picture = isinstance(previous, Element) and is_picture(previous)
        has_label = is_beside_picture and bool(blocks.run) and blocks.run[-1].endswith("]</i>")
        if not (has_label or last.isalnum()):
            return False
        return is_beside_picture or any(
            isinstance(each, Element) and self.layout.is_apart(each) for each in (previous, node)
        )

    def _add_element(self, element: Element, blocks: Blocks) -> None:
        tag = element.tag if element.namespace is Namespace.HTML else _FOREIGN_TAGS.get(element.tag, "")
        writer = self._writers.get(tag)
        if element in self._unshown:
            self._add_unshown(element, blocks)
        elif writer is not None:
            writer(self, element, blocks)
        elif element in self.layout.struck and not holds_block(element):
            self.add_wrapped("s", language_attributes(element), element, blocks)
        elif tag in BLOCK_TAGS:
            self.add_container(element, blocks)
        elif tag not in UNSEEN:
            self.add_transparent(element, blocks)

    def _add_unshown(self, element: Element, blocks: Blocks) -> None:
        """Add the content of an element as hidden as it is: it is a part of the page that no visitor reads."""
        if element.tag in BLOCK_TAGS or holds_block(element):
            inner = self.write(element.children)
            self.add_block(f"<div hidden>{inner}</div>" if inner else "", blocks)
        else:
            self.add_wrapped("span", " hidden", element, blocks)

    def skips(self, element: Element) -> bool:
        """Whether an element is left out; ids in it to which links lead are kept."""
        is_left_out = element in self.left_out or is_hidden(element) or is_ad_label(element)
        if is_edit_link(element):  # that to the whole page comes at the end
            self.hrefs.update(each.attr("href") or "" for each in element.select("a[href]"))
        elif not is_left_out and not is_idle_tools(element):
            return False
        self.ids.note_linked(element)
        return True

    def end_run(self, blocks: Blocks) -> None:
        """Finish the run of text."""
        blocks.end_run(self.ids.next_attribute)

    def add_block(self, markup: str, blocks: Blocks) -> None:
        """Add a finished block, if it is not empty."""
        self.end_run(blocks)
        before = blocks.finished[-1][:_LONGEST_GRID] if blocks.finished and not blocks.run else ""
        if markup.startswith(_GRID) and before.startswith(_GRID) and len(before) < _LONGEST_GRID:  # of rows of cards
            markup = blocks.finished.pop().removesuffix("</div>") + markup.removeprefix(_GRID)
        if markup:
            blocks.finished += (*blocks.run, markup)
            blocks.run = []

    def add_container(self, element: Element, blocks: Blocks) -> None:
        """Add the content of an element as blocks, without a tag for it unless it has a language."""
        self.end_run(blocks)
        self.ids.note(element)
        language = language_attributes(element)
        if language:
            inner = self.write(element.children)
            self.add_block(f"<div{language}>{inner}</div>" if inner else "", blocks)
        elif cards := self._cards_of(element):
            self._add_cards(element, cards, blocks)
        else:
            start = len(blocks.finished)
            self.walk(element.children, blocks)
            self.end_run(blocks)
            if len(blocks.finished) > start + 1 and element in self._galleries:
                blocks.finished[start:] = _in_one_line(blocks.finished[start:])
            elif len(blocks.finished) > start + 1 and self._is_line(element):
                blocks.finished[start:] = joined(blocks.finished[start:])

    def _is_line(self, element: Element) -> bool:
        """Whether the short pieces in an element make one line: a byline, boxes in a row, a label and its value."""
        if len("".join(element.text.split())) > _LONGEST_META:
            return False
        parts = [each for each in element.children if isinstance(each, Element)]
        if len(parts) == 2 and parts[0].text.rstrip().endswith((":", "\uff1a")):
            return True  # a label and what it says
        return not _META.isdisjoint(class_words(element)) or self.layout.is_row(element)

    def _cards_of(self, element: Element) -> tuple[Element, ...]:
        """Return the children of an element that are cards."""
        plain = () if self.is_in_card else self._cards.plain.get(element, ())
        if plain and self.layout.is_spread(element, plain[0]):
            return plain
        return self._cards.lists.get(element, ())

    def _add_cards(self, element: Element, children: tuple[Element, ...], blocks: Blocks) -> None:
        """Add the children of an element of which some are cards."""
        cards, run = set(children), list[str]()
        for node in element.children:
            if node in cards and isinstance(node, Element):
                run += filter(None, [self.card(node, "div")])
            elif not isinstance(node, Text) or node.data.strip():
                self.add_block(_grid(run), blocks)
                run = []
                self.walk([node], blocks)
        self.add_block(_grid(run), blocks)

    def _card_picture(self, card: Element) -> str:
        """Return the first visible image of a card that has a copy; not the face of who wrote it."""
        for image in card.select('img, [style*="url("]'):
            is_shown = not _is_face(image, card) and not self.layout.is_hidden_somewhere(image)
            if is_shown and (markup := self.picture(image, CARD)):
                return markup
        return ""

    def article_picture(self, image: Element) -> str:
        """Return an image of the content; the first one is the lead image, those of a gallery are small."""
        is_small = any(each in self._galleries for each in image.ancestors)
        role = THUMBNAIL if is_small else FIGURE if self.has_lead else LEAD
        markup = "" if _is_face(image) else self.picture(image, role)
        self.has_lead = self.has_lead or bool(markup)
        self.shown.update(filter(None, [image.attr("src") if markup else ""]))
        return markup

    @cached_property
    def _galleries(self) -> frozenset[Node]:
        """The elements that hold images next to each other, and no words."""
        counts = Counter[Element]()
        for image in self._body.select("img") if self.picture is not NO_PICTURES else ():
            around = (each for each in image.ancestors if isinstance(each, Element))
            counts.update(each for _, each in zip(range(_DEEPEST_IN_GALLERY), around, strict=False))
        several = (each for each, count in counts.items() if count >= _FEWEST_IN_GALLERY)
        return frozenset(each for each in several if not each.text.strip())

    @cached_property
    def named(self) -> set[str]:
        """The targets of links that have a name."""
        links = (link for link in self._body.select("a[href]") if any(map(str.isalnum, link.text)))
        return {link.attr("href") or "" for link in links if not is_hidden(link)}

    @cached_property
    def labelled(self) -> dict[str, bool]:
        """The ids of what labels are for: whether one of them says something."""
        found: dict[str, bool] = {}
        for label in self._body.select("label[for]"):
            name = label.attr("for") or ""
            found[name] = found.get(name, False) or bool(label.text.strip() and not is_hidden(label))
        return found

    def is_repeating(self, link: Element) -> bool:
        """Whether nothing but white space and pictures is between a link and the one before it."""
        before = next(
            (each for each in link.previous_siblings if not isinstance(each, Text) or each.data.strip()), None
        )
        before = link.parent.previous_sibling if before is None and isinstance(link.parent, Element) else before
        return isinstance(before, Element)

    def is_card(self, element: Element) -> bool:
        """Whether an element is a card of the list around it."""
        return isinstance(element.parent, Element) and element in self._cards.lists.get(element.parent, ())

    def card(self, element: Element, tag: str) -> str:
        """Return a card: title, kicker, date, price and summary in their order, short ones in a line."""
        if self.skips(element):
            return ""
        outer, self.is_in_card = self.is_in_card, True
        blocks = Blocks()
        self.ids.note(element)
        before = self.ids.write_anchors()
        self.walk([element] if element.tag == "a" else element.children, blocks)
        self.end_run(blocks)
        self.is_in_card = outer
        inner = "".join([*joined(blocks.finished, fewest=1), *blocks.run])
        inner = before + (self._card_picture(element) + inner if inner else "")
        return f"<{tag} class=c>{inner}{'' if tag == 'li' else f'</{tag}>'}" if inner else ""

    def add_transparent(self, element: Element, blocks: Blocks) -> None:
        """Add the content of an element to the run of text, without a tag for it unless it has a language."""
        before = len(self.ids.pending)
        self.ids.note(element)
        language = language_attributes(element)
        if holds_block(element):
            self.walk(element.children, blocks)
        elif language:
            self.add_wrapped("span", language, element, blocks)
        else:
            if blocks.has_content:
                noted, self.ids.pending = self.ids.pending[before:], self.ids.pending[:before]
                blocks.add_inline(anchors(noted), is_content=False)
            self.walk(element.children, blocks)

    def add_wrapped(self, tag: str, attributes: str, element: Element, blocks: Blocks) -> None:
        """Add the content of an element to the run of text in an element ``tag`` with these attributes."""
        inner, has_content = self.write_inline(element)
        if has_content:
            blocks.add_inline(f"<{tag}{self.ids.next_attribute()}{attributes}>{inner}</{tag}>")
        else:
            blocks.add_inline(" " if inner.startswith(" ") else "", is_content=False)


def _is_face(image: Element, card: Element | None = None) -> bool:
    """Whether an image is that of a person who writes or takes part, by its classes and its parent's."""
    near = (image, *([image.parent] if isinstance(image.parent, Element) else []))
    return any(not _FACES.isdisjoint(class_words(each)) for each in near if each != card)


def _in_one_line(pictures: list[str]) -> list[str]:
    """Return the pictures of a gallery in one paragraph, if they are paragraphs."""
    if not all(each.startswith("<p>") and each.endswith("</p>") for each in pictures):
        return pictures
    return [f"<p>{' '.join(each[3:-4] for each in pictures)}</p>"]


_GRID = "<div class=g>"
_LONGEST_GRID = 20_000  # characters of one to which rows are added: each is copied


def _grid(cards: list[str]) -> str:
    return f"{_GRID}{''.join(cards)}</div>" if cards else ""


def joined(finished: list[str], *, fewest: int = 2) -> list[str]:
    """Return blocks with short paragraphs that follow each other, ``fewest`` or more, in one line of small print."""
    result: list[str] = []
    line: list[str] = []
    for block in [*finished, ""]:
        text = _TAG.sub("", block)
        is_piece = block.startswith("<p>") and block.endswith("</p>") and _FIELD.search(block) is None
        if is_piece and 0 < len(text) <= LONGEST_PIECE:
            piece = block[3:-4]
            is_repeated = line and line[-1].startswith("<a ") and text == piece == _TAG.sub("", line[-1])
            line += [] if is_repeated else [piece]  # words that the link before them says
            continue
        if line:
            result.append(f"<p class=m>{_in_line(line)}</p>" if len(line) >= fewest else f"<p>{line[0]}</p>")
            line = []
        result += filter(None, [block])
    return result


_JOINS = re.compile(r"(?:[:\uff1a]|\bby|[|\u00b7\u2022/])\s*$", re.IGNORECASE)  # at the end of a piece


def _in_line(pieces: list[str]) -> str:
    """Return pieces of a line with a sign between them; none after a label or next to the page's own signs."""
    line, before = "", ""
    for piece in pieces:
        text = _TAG.sub("", piece).strip()
        is_joined = _JOINS.search(before) is not None or text in SIGNS
        line += (" " if is_joined else _BETWEEN) * bool(line) + piece
        before = text
    return line


def _without_icons(text: Text) -> str:
    """Return a text, or what its element is called where the text is characters that only an icon font draws."""
    if not is_icons(text.data):
        return text.data
    element = text.parent
    if not isinstance(element, Element) or element.tag in _NAMED:
        return ""
    return element.attr("aria-label") or element.attr("title") or ""


Writer = Callable[[Flow, Element, Blocks], None]


def holds_block(element: Element) -> bool:
    """Whether an element contains a block."""
    return any(each.tag in BLOCK_TAGS and each != element for each in element.iter_elements())


def language_attributes(element: Element) -> str:
    """Write an element's language and direction."""
    return attributes_markup(element, ("lang", "dir"))
