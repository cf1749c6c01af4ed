"""The text of a page as those read it who run no scripts.

Parts that a script moves are in their places, counters have arrived at their numbers, e-mail addresses are decoded, and
what scripts write at once is written. The year of today is left out, and values that a script would fetch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from turbohtml import Comment, Document, Element, SelectorSyntaxError, Text

from adaptc.core.values import dataclass, pattern
from adaptc.formats.html.document import parse
from adaptc.formats.html.syntax import attribute_markup, class_words, text_markup
from adaptc.formats.script.evaluate import Evaluator
from adaptc.formats.script.realm import YEAR, Effect

__all__ = ["has_streamed_parts", "open_shadow_roots", "place_streamed_parts", "static_text"]


# A script element -> its source, ``""`` where that is unknown
SourceOf = Callable[[Element], str]


def static_text(text: str, *, source_of: SourceOf = lambda script: script.text, names: Collection[str] = ()) -> str:
    """Return the page's text with streamed parts in their places, numbers counted up and addresses readable, no years.

    Literals that a script writes as soon as it runs are there, too; ``source_of`` returns the source of a script.
    ``names`` are the names of elements in its scripts: of these, values that wait for a script are left out.
    """
    static = write_counted_numbers(decode_addresses(place_streamed_parts(text)))
    return leave_out_waiting_values(insert_literals(static, source_of), names, source_of)


# ---- Numbers up to which a script counts once they are scrolled into view: the markup holds a zero and the number

# Attributes of CountUp, PureCounter and their kind
_NUMBERS = (
    "countto", "data-count", "data-count-to", "data-counter", "data-countto", "data-countup", "data-end", "data-final",
    "data-number", "data-purecounter-end", "data-target", "data-to",
)  # fmt: skip
_SHOWS = "span, div, p, h1, h2, h3, h4, h5, h6, strong, b, em, i, li, dt, dd, td, small, data"
_ZERO = pattern(r"\s*(0(?:\.0+)?)\s*")
_NUMBER = pattern(r"\d{1,12}(?:\.\d{1,4})?[kKmM%+]?|\d{1,3}(?:,\d{3})+")


def write_counted_numbers(text: str) -> str:
    """Return the page's text with the numbers at which its scripts arrive, in place of the zeros that they begin with.

    Without scripts "0+ users" would stay what it says.
    """
    lowered = text.lower()
    if "<script" not in lowered or not any(name in lowered for name in _NUMBERS):
        return text
    pieces, position = [], 0
    for start, end, number in _counters(text):
        pieces += [text[position:start], number]
        position = end
    return "".join([*pieces, text[position:]])


def _counters(text: str) -> Iterator[tuple[int, int, str]]:
    for element in parse(text).select(_SHOWS):
        location = element.source_location
        if location is None or location.end_tag is None:
            continue
        zero = _ZERO.fullmatch(text, location.start_tag.end_offset, location.end_tag.start_offset)
        numbers = {value for name in _NUMBERS if _NUMBER.fullmatch(value := element.attr(name) or "")}
        if zero and len(numbers) == 1:
            yield zero.start(1), zero.end(1), numbers.pop()


# ---- Values that a script fetches: until it has them, the markup holds a zero, or says that they come

_PLACES = (
    "a, b, data, dd, div, em, h1, h2, h3, h4, i, label, li, mark, output, p, small, span, strong, tbody, td, time, ul"
)
_WAITING = pattern(
    r"\s*(?:[^\d<>]{0,4}0{1,2}(?:[.,:]0+)*\s*[^\d<>]{0,12}"
    r"|[^\w<>]{0,3}[-\u2013\u2014?]{1,3}(?:[.,:][-\u2013\u2014]{1,3})*(?:\s*[^\d\s<>]{1,5})?|n/a|tb[ad]"
    r"|[^<>]{1,50}(?:\.\.\.|\u2026|&hellip;)|(?:loading|fetching|please wait)[^<>]{0,40})\s*",
    re.IGNORECASE,
)
_VALUE = pattern(r"0|[-\u2013\u2014]{2}|\b(?:n/a|tb[ad])\b", re.IGNORECASE)
# What sets the text of an element by an attribute of it: Knockout, Alpine.js, Vue.js, AngularJS
_BOUND = '[data-bind*="text:"], [x-text], [v-text], [ng-bind]'
_ELLIPSIS = "&hellip;"
_SETTER = r"(?:\.(?:textContent|innerText|innerHTML)\s*\+?=(?!=)|\.(?:text|html)\(\s*[^)\s])"
# By which a script finds elements whose text it sets soon after
_SELECTED = pattern(
    r"""(?:querySelector(?:All)?|(ByClassName)|\$|jQuery)\(\s*(["'`])([^"'`$]{1,80})\2\s*\)(?=[\s\S]{0,400}?"""
    + _SETTER
    + ")"
)
# An element with an id is a variable, too
_VARIABLE = pattern(r"(?<![\w.$])([A-Za-z_]\w*)" + _SETTER)


def leave_out_waiting_values(
    text: str, names: Collection[str], source_of: SourceOf = lambda script: script.text
) -> str:
    """Return the page's text without values that its scripts replace.

    They are in elements of whose ids ``names`` has some, and in those whose text a script sets by another selector. "0
    euros by 0 donors" would be a false statement; an ellipsis takes the place of a number.
    """
    if "<script" not in text.lower():
        return text
    tree = parse(text)
    sources = [source_of(script) for script in tree.iter_elements("script")]
    named = {*names, *(match[1] for source in sources for match in _VARIABLE.finditer(source))}
    found = {element for source in sources for element in _elements_set(tree, source)}
    found.update(tree.select(_BOUND))
    loaders = (element for element in tree.select("div, p, section") if element.text.strip() and is_loader(element))
    splices = [Splice(*span) for element in loaders if (span := element_span(element))]
    for element in tree.select(_PLACES) if named or found else ():
        span = content_span(element) if element in found or element.attr("id") in named else None
        if span is not None and _WAITING.fullmatch(text, *span):
            splices.append(Splice(*span, insert=_ELLIPSIS if _VALUE.search(text, *span) else ""))
    return spliced(text, splices)


def _elements_set(tree: Document, source: str) -> Iterator[Element]:
    for match in _SELECTED.finditer(source):
        try:
            yield from tree.select(f".{match[3]}" if match[1] else match[3])
        except SelectorSyntaxError:  # of jQuery
            continue


_LOADERS = frozenset({"preloader", "preload", "loader", "loading", "spinner", "splash"})
_USEFUL = "a[href], input, form, table, h1, h2, h3, noscript, img[alt]:not([alt=''])"
_LONGEST_NOTICE = 60  # characters: "Loading, please wait"


def is_loader(element: Element) -> bool:
    """Whether an element is shown while scripts load the rest."""
    if _LOADERS.isdisjoint(class_words(element)):
        return False
    return len(element.text.strip()) <= _LONGEST_NOTICE and element.select_one(_USEFUL) is None


# ---- What scripts do at once: headers and menus that the pages of a site share, and the theme of a first visit

_WRITES = (
    "document.write", "innerHTML", "textContent", "innerText", "insertAdjacentHTML", ".html(", ".append(", ".prepend(",
)  # fmt: skip
_DRESSES = ("documentElement", "document.body", "querySelector")
# Characters of scripts that write, and of others: libraries do nothing at once that is for readers
_LONGEST_WRITING, _LONGEST = 50_000, 10_000
_MODULE = "module"  # cannot write into the document
_TYPES = frozenset({
    "", _MODULE, "text/javascript", "application/javascript", "text/ecmascript", "application/ecmascript",
})  # fmt: skip
_INERT = pattern(r"<\s*/?\s*(?:script|iframe|object|embed|frame)\b", re.IGNORECASE)
_SCRIPTS = pattern(r"<script\b.*?</script", re.IGNORECASE | re.DOTALL)
_MARKUP = pattern(r"<[^>]*>")
_BEFORE, _AFTER = r"(?:\s*(?:[-\u2013\u2014]|&[nm]dash;))?\s*", r"(?:\s*,)?"
_BEFORE_YEAR, _AFTER_YEAR, _YEARS = (re.compile(each) for each in (_BEFORE + r"\Z", _AFTER, _BEFORE + YEAR + _AFTER))
_YEAR_OF = "getFullYear()"
_LONGEST_SIGN, _SHORTEST_PROSE, _LONGEST_OF_YEAR = 20, 60, 200
# An attribute, or the class, by which sheets know a theme; others say that scripts run, which is not so
_THEME = pattern(r"theme|scheme|mode|skin", re.IGNORECASE)
_COLOURS = pattern(r"light|dark|day|night", re.IGNORECASE)


def insert_literals(text: str, source_of: SourceOf) -> str:
    """Return the page's text with what its scripts write at once, and in the theme that they choose on a first visit.

    What ``document.write`` writes stands after its script, what is assigned to the content of an element in it, and
    what is inserted next to one there. A script counts if all that it writes is known (``Evaluator``); one that writes
    scripts or frames does not, and one in the head neither.
    """
    if "<script" not in text.lower():
        return text
    tree = parse(text)
    sources = [(script, source_of(script)) for script in tree.iter_elements("script") if _runs_in_order(script)]
    if not any(word in source for _, source in sources for word in (*_WRITES, *_DRESSES, _YEAR_OF)):
        return text
    shown = _words(_SCRIPTS.sub(" ", text))
    longest = {True: _LONGEST_WRITING, False: _LONGEST}
    effects = _effects(tuple(source if len(source) <= longest[_WRITES[0] in source] else "" for _, source in sources))
    splices = list[Splice]()
    for (script, _), own in zip(sources, effects, strict=True):
        splices += _writings(text, script, shown, "".join(each.value or "" for each in own if each.kind == "write"))
    changes = [each for own in effects for each in own]
    splices += _fillings(tree, shown, changes)
    splices += _insertions(tree, shown, changes)
    themes: dict[tuple[str, str], list[str]] = {}
    for effect in changes:
        if effect.kind in ("attribute", "class", "no-class"):
            _dress(tree, effect, themes)
    splices += (splice for key, value in themes.items() for splice in _dressed(tree, *key, " ".join(value)))
    return spliced(text, splices)


def _writings(text: str, script: Element, shown: str, written: str) -> Iterator[Splice]:
    """Yield what a script writes in its place."""
    location, literal = script.source_location, _readable(written)
    if not (location and location.end_tag and script.closest("body")) or _type(script) == _MODULE:
        return
    start, end = location.start_tag.start_offset, location.end_tag.end_offset
    if literal and not _holds(shown, literal):
        yield Splice(end, end, insert=literal)
        yield from _instead(script)
    elif written.strip() == YEAR or (len(script.text) <= _LONGEST_OF_YEAR and _YEAR_OF in script.text):
        yield _without_signs(text, start, end)


def _without_signs(text: str, start: int, end: int) -> Splice:
    """Return the removal of a script that writes the year of today, with the signs around it: "2015 - ..., made by".

    The year itself cannot be written: equal sites have equal trees, whenever they are built.
    """
    before, after = _BEFORE_YEAR.search(text, max(0, start - _LONGEST_SIGN), start), _AFTER_YEAR.match(text, end)
    return Splice(before.start() if before else start, after.end() if after else end)


@lru_cache(maxsize=32)
def _effects(scripts: tuple[str, ...]) -> tuple[Sequence[Effect], ...]:
    """Return the effects of each script of a page: those of other pages, and of the page at other levels, are the same.

    ``""`` stands for one that is too long.
    """
    evaluator = Evaluator()
    return tuple(evaluator.run(script) if script else () for script in scripts)


def _instead(script: Element) -> Iterator[Splice]:
    """Yield the removal of what is there for those without scripts, right after a script that wrote."""
    following = next((each for each in script.next_siblings if not isinstance(each, Text) or each.data.strip()), None)
    span = element_span(following) if isinstance(following, Element) and following.tag == "noscript" else None
    if span is not None:
        yield Splice(*span)


def _runs_in_order(script: Element) -> bool:
    return _type(script) in _TYPES and "async" not in script.attrs


def _type(script: Element) -> str:
    return (script.attr("type") or "").strip().lower()


def _readable(literal: str) -> str:
    """Return what is written, without the year of today; nothing if it is not for readers, or more than markup."""
    markup = _YEARS.sub(" ", literal) if YEAR in literal else literal
    is_readable = _MARKUP.sub("", markup).strip() or "<a " in markup or "<input" in markup
    return markup if is_readable and _INERT.search(markup) is None else ""


def _words(markup: str) -> str:
    return " ".join(_MARKUP.sub(" ", markup).split())


def _holds(shown: str, literal: str) -> bool:
    """Whether a page holds what its script writes: it is what a browser made of it."""
    words = _words(literal)
    return bool(words) and words in shown


def _fillings(tree: Document, shown: str, changes: Iterable[Effect]) -> Iterator[Splice]:
    """Yield the contents of elements that scripts fill; what holds more than words is left as it is."""
    contents = {each.target: each.value or "" for each in changes if each.kind == "content"}
    for target, content in contents.items():
        literal = _readable(content)
        for element in _found(tree, target) if literal and not _holds(shown, literal) else ():
            span = content_span(element)
            if span and element.select_one("*") is None:
                yield Splice(*span, insert=literal)


def _found(tree: Document, target: str) -> Sequence[Element]:
    """Return the element that a script selects, or all custom elements of a name."""
    found = tree.select(target)
    return found if "-" in target and target[0].isalpha() else found[:1]


def _insertions(tree: Document, shown: str, changes: Iterable[Effect]) -> Iterator[Splice]:
    """Yield what scripts insert next to elements or at an end of their content: where it goes after a tag, last first.

    A few words without a link are those of a control: "Toggle main menu visibility".
    """
    inserted: dict[tuple[str, str], list[str]] = {}
    for each in changes:
        if each.kind == "insert":
            inserted.setdefault((each.target, each.name), []).append(each.value or "")
    for (target, position), texts in inserted.items():
        literals = [each for each in map(_readable, texts) if each and not _holds(shown, each)]
        literals = [each for each in literals if "<a " in each or len(_words(each)) >= _SHORTEST_PROSE]
        for element in _found(tree, target)[:1] if literals else ():
            location = element.source_location
            tag = location and (location.start_tag if position.endswith("begin") else location.end_tag)
            if tag and element.closest("head") is None:
                place = tag.start_offset if position.startswith("before") else tag.end_offset
                is_turned = position.startswith("after")
                yield Splice(place, place, insert="".join(reversed(literals) if is_turned else literals))


def _dress(tree: Document, effect: Effect, themes: dict[tuple[str, str], list[str]]) -> None:
    """Note an attribute of ``html`` or ``body``, if sheets may know a theme by it."""
    root, value = tree.select_one(effect.target), effect.value or ""
    if root is None or not (_COLOURS.search(value) or (effect.name != "class" and _THEME.search(effect.name))):
        return
    key = effect.target, effect.name
    names = themes.setdefault(key, (root.attr(effect.name) or "").split())
    if effect.kind == "attribute":
        names[:] = [] if effect.value is None else [value]
    elif effect.kind == "class":
        names[:] = [*(each for each in names if each != value), value]
    else:
        names[:] = [each for each in names if each != value]


def _dressed(tree: Document, tag: str, name: str, value: str) -> Iterator[Splice]:
    root = tree.select_one(tag)
    location = root.source_location if root is not None else None
    if root is None or location is None or location.start_tag is None:
        return
    span = attribute_span(root, name)
    if span is None:
        start = location.start_tag.start_offset + 1 + len(tag)
        yield Splice(start, start, insert=f" {attribute_markup(name, value)}")
    else:
        yield Splice(*span, insert=attribute_markup(name, value))


# ---- Parts of a page that React streams after the rest: at its end, with a script that moves each to its place
# A part that comes late has a placeholder (``<template id="B:0">``) with a fallback after it, up to the comment ``/$``.
# The part itself follows as ``<div hidden id="S:0">``, and ``$RC("B:0","S:0")`` moves it. Pages that are rendered when
# a site is built have such parts, too (Next.js).

_MOVES = pattern(r"""\$R[CRS]\(\s*["']([^"']+)["']\s*,\s*["']([^"']+)["']""")
_OPENING, _CLOSING = ("$", "$?", "$!", "$~"), "/$"


def has_streamed_parts(text: str) -> bool:
    """Whether scripts of a page move parts of it to their places."""
    return "$RC(" in text or "$RS(" in text


def place_streamed_parts(text: str) -> str:
    """Return the page's text with each streamed part in its place; what was shown until it came is hidden."""
    if not has_streamed_parts(text):
        return text
    tree = parse(text)
    splices = sorted(_splices(tree), key=lambda splice: splice.start)
    return _Splicer(text, splices).render(0, len(text))


@dataclass(frozen=True, slots=True)
class Splice:
    """The text from ``start`` to ``end`` becomes ``insert``, and the text between ``content``, spliced too."""

    start: int
    end: int
    insert: str = ""
    content: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Splicer:
    text: str
    splices: list[Splice]

    def render(self, start: int, end: int) -> str:
        pieces, position = [], start
        for splice in self.splices:
            if position <= splice.start and splice.end <= end:
                part = self.render(*splice.content) if splice.content is not None else ""
                pieces += [self.text[position : splice.start], splice.insert, part]
                position = splice.end
        return "".join([*pieces, self.text[position:end]])


def _moves(tree: Document) -> Iterator[tuple[Element, Element]]:
    """Yield each placeholder with the element that holds its part."""
    by_id = {each.attr("id"): each for each in tree.select("[id]")}
    for pair in dict.fromkeys(move for script in tree.iter_elements("script") for move in _MOVES.findall(script.text)):
        first, second = (by_id.get(name) for name in pair)
        if first is None or second is None:
            continue
        place, part = (first, second) if first.tag == "template" else (second, first)
        if place.tag == "template" and "hidden" in part.attrs:
            yield place, part


def _splices(tree: Document) -> Iterator[Splice]:
    for place, part in _moves(tree):
        span, part_span, content = element_span(place), element_span(part), content_span(part)
        if span and part_span and content:
            yield Splice(*span, content=content)
            yield Splice(*part_span)
            yield from map(_hiding, _fallback(place))


def element_span(element: Element) -> tuple[int, int] | None:
    location = element.source_location
    if location is None or location.end_tag is None:
        return None
    return location.start_tag.start_offset, location.end_tag.end_offset


def content_span(element: Element) -> tuple[int, int] | None:
    location = element.source_location
    if location is None or location.end_tag is None:
        return None
    return location.start_tag.end_offset, location.end_tag.start_offset


def _fallback(place: Element) -> Iterator[Element]:
    """Yield the elements between a placeholder and the end of its boundary."""
    depth = 0
    for node in place.next_siblings:
        if isinstance(node, Comment):
            if node.data == _CLOSING and depth == 0:
                return
            depth += (node.data in _OPENING) - (node.data == _CLOSING)
        elif isinstance(node, Element) and node.source_location is not None and "hidden" not in node.attrs:
            yield node


def _hiding(element: Element) -> Splice:
    location = element.source_location
    assert location is not None
    start = location.start_tag.start_offset + 1 + len(element.tag)
    return Splice(start, start, " hidden")


# ---- Declarative shadow roots (WHATWG HTML, ``<template shadowrootmode>``), which a parser keeps apart from the page

_TAG = pattern(r"""<(?P<end>/?)template\b(?P<attributes>(?:[^>"']|"[^"]*"|'[^']*')*)>""", re.IGNORECASE)


def open_shadow_roots(text: str) -> str:
    """Return the page's text with the content of each shadow root in a ``<div>``, in front of its host's own content.

    That is for those who read the text: style sheets of a shadow root would apply to the whole page.
    """
    if "shadowrootmode" not in text:
        return text
    opened: list[bool] = []

    def replace(tag: re.Match[str]) -> str:
        if not tag["end"]:
            opened.append("shadowrootmode" in tag["attributes"].lower())
            return "<div>" if opened[-1] else tag[0]
        return "</div>" if opened and opened.pop() else tag[0]

    return _TAG.sub(replace, text)


# ---- E-mail addresses that Cloudflare hides from robots: a key, and the address by exclusive or, in hexadecimal digits

_HIDDEN_ADDRESSES = "data-cfemail", "/cdn-cgi/l/email-protection#"
_HEX = pattern(r"(?:[0-9a-f]{2}){2,400}", re.IGNORECASE)


def decode_addresses(text: str) -> str:
    """Return the page's text with the addresses that a script of Cloudflare would decode, as links to write to them."""
    attribute, path = _HIDDEN_ADDRESSES
    if attribute not in text and path not in text:
        return text
    splices: list[Splice] = []
    for element in parse(text).select(f'[{attribute}], a[href*="{path}"]'):
        encoded = element.attr(attribute)
        address = _decoded(encoded or (element.attr("href") or "").partition(path)[2])
        span = element_span(element) if encoded else attribute_span(element, "href")
        if address and span:
            splices.append(Splice(*span, insert=_written_address(element, address, whole=bool(encoded))))
    return spliced(text, splices)


def _decoded(encoded: str) -> str:
    match = _HEX.match(encoded)
    if match is None:
        return ""
    key, *characters = bytes.fromhex(match[0])
    address = bytes(key ^ each for each in characters).decode("utf-8", "replace")
    return address if "@" in address and address.isprintable() else ""


def _written_address(element: Element, address: str, *, whole: bool) -> str:
    link = attribute_markup("href", f"mailto:{address}")
    if not whole:
        return link
    return f"<a {link}>{text_markup(address)}</a>" if element.tag == "a" else text_markup(address)


# ---- splices


def attribute_span(element: Element, name: str) -> tuple[int, int] | None:
    location = element.source_location
    span = location.attrs.get(name) if location is not None else None
    return None if span is None else (span.start_offset, span.end_offset)


def spliced(text: str, splices: Iterable[Splice]) -> str:
    ordered = sorted(splices, key=lambda splice: (splice.start, splice.end))
    return _Splicer(text, ordered).render(0, len(text)) if ordered else text
