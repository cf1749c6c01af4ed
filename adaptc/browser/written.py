"""What scripts write into a page, as a browser saw it: the page has it in its markup until they run (``wake.js``).

``look.py`` writes it, and looks whether the page then shows without scripts what it shows with them, at each width;
pass ``prerendered`` writes it the same way.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from adaptc.core.values import dataclass, field, replace
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.syntax import VOID, attribute_markup, class_names, class_words, split_tokens
from adaptc.formats.html.visible_text import fold_space

if TYPE_CHECKING:
    from turbohtml import Document

# What the markup after scripts lacks; what tells screen readers that the route changed is no part of a page either
_LEFT_OUT = frozenset({"script", "noscript", "canvas"})
_EARLY = frozenset({"modulepreload", "preload", "prefetch"})
# What cannot be written twice; what a parser moves, or has text alone
_SINGLE = "script, noscript, link, canvas, iframe, object, embed, video, audio, template, form"
_STRICT = frozenset({"table", "thead", "tbody", "tfoot", "tr", "colgroup", "select", "optgroup", "option", "textarea"})
# The day on which pages are looked at (``freeze.js``), its year alone, and what shows the year of today
_YEAR = re.compile(r"(?<!\d)2023(?!\d)")
_DAY = re.compile(r"(?<!\d)14(?!\d)|\bNov")
_DATED = re.compile(r"\b1?1[./-]14\b|\b14[./-]11\b")
_NOTICE = re.compile(r"©|\(c\)|\bcopyright\b", re.IGNORECASE)
_HERE, THIS_YEAR = "adaptc-this-year", "<script>document.currentScript.replaceWith((new Date).getFullYear())</script>"
YEAR_SEEN = "2023"
# A script in these is text
_WITHOUT_SCRIPTS = frozenset({"option", "textarea"})
# Attributes that scripts may change in an element; what else tells two elements apart
_CHANGED = frozenset({
    "class", "style", "title", "hidden", "role", "tabindex", "disabled", "href", "src", "srcset", "sizes", "loading",
    "width", "height", "alt", "open", "inert", "dir", "lang", "target", "rel", "placeholder", "draggable",
})  # fmt: skip
_FLAGS = frozenset({"checked", "disabled", "hidden", "open", "selected"})  # any value of them says the same
# What says which device it is: that of the browser that looked, which others may not have
_DEVICE = re.compile(
    r"\b(?:Linux|Ubuntu|Debian|Windows|macOS|Mac OS X?|OS X|iOS|iPhone|iPad|Android|Chrome|Chromium)\b"
)
# What visitors answer once, and see no more
_ASKED_ONCE = re.compile(r"\bcookies?\b|\bconsent\b|\bGDPR\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """What scripts write into a page, which is ``after`` then: by elements of the page, and their like in ``after``.

    ``filled`` have another content, ``changed`` other attributes, and ``added`` are new: (element, place, new ones)
    says that these are put "before" or "after" an element, or at the "end" of its content. ``head`` are new in the
    head, each with the number of the sheet that comes after it there, ``None`` at the end.
    """

    after: Document
    filled: Mapping[Element, Element] = field(default_factory=dict)
    changed: Mapping[Element, Element] = field(default_factory=dict)
    added: Sequence[tuple[Element, str, Sequence[Element]]] = ()
    head: Sequence[tuple[int | None, Element]] = ()

    def new(self) -> Iterator[Element]:
        """Yield the elements of ``after`` that the page does not have, and those with another content."""
        return chain(self.filled.values(), *(elements for _, _, elements in self.added))


def find_written(tree: Document, after: Document, source: Document | None = None) -> Written | None:
    """Return what scripts write into a page, ``None`` if that is nothing, or if it cannot be written before they run.

    ``after`` is the page that they make of ``tree``, at each width (``join_views``). What may be another thing tomorrow
    or for another visitor is not written. ``source`` is the page with the head of which the browser saw it.
    """
    pages = (tree, source or tree, after)
    heads, bodies = (tuple(filter(None, (page.select_one(tag) for page in pages))) for tag in ("head", "body"))
    if len(heads) < len(pages) or len(bodies) < len(pages) or not _is_classed(bodies[0], bodies[-1]):
        return None
    head = _added_to_head(*heads[1:])
    counts = {len(_head_elements(each)[0]) for each in heads[:2]}
    if head is None or (len(counts) > 1 and any(number is not None for number, _ in head)):
        return None
    found = _Comparison(bodies[0], bodies[-1]).written(after)
    return None if found is None else replace(found, head=head)


class _Comparison:
    """A comparison of a page's body with that after scripts."""

    def __init__(self, own: Element, other: Element) -> None:
        self.body = own
        self.filled: dict[Element, Element] = {}
        self.changed: dict[Element, Element] = {}
        self.added: list[tuple[Element, str, Sequence[Element]]] = []
        waiting = [(own, other)]
        while waiting:
            waiting += self._compare(*waiting.pop())

    def written(self, after: Document) -> Written | None:
        """Return what is to be written, unless that cannot be."""
        outermost = {own: other for own, other in self.filled.items() if self.filled.keys().isdisjoint(own.ancestors)}
        changed = {own: other for own, other in self.changed.items() if outermost.keys().isdisjoint(own.ancestors)}
        added = [each for each in self.added if outermost.keys().isdisjoint((each[0], *each[0].ancestors))]
        found = Written(after, outermost, changed, added)
        if not (outermost or changed or added) or self.body in outermost:
            return None
        can_be = not any(own.select_one(_SINGLE) for own in outermost) and all(map(_may_be_written, found.new()))
        is_timeless = not any(_are_dated(each.attrs.values()) for _, _, elements in added for each in elements)
        return found if can_be and is_timeless and all(_may_change(*pair) for pair in changed.items()) else None

    def _compare(self, own: Element, other: Element) -> list[tuple[Element, Element]]:
        """Compare two elements that are the same; return the pairs of elements in them that are."""
        if own is not self.body and _changes(own, other):
            self.changed[own] = other
        if _CONTENT in split_tokens(other.attr(_VARIES) or ""):
            return []
        mine, theirs = _content(own), _content(other)
        pairs = _paired(mine, theirs) if mine or not theirs else None
        if own is self.body and pairs is not None:
            pairs = [(one, two) for one, two in pairs if one is not None or not _is_place(two)]
        added = None if pairs is None else _places(own, pairs)
        if pairs is None or added is None:
            while own.tag in _STRICT and isinstance(own.parent, Element) and isinstance(other.parent, Element):
                own, other = own.parent, other.parent
            self.filled[own] = other
            return []
        self.added += added
        return [(one, two) for one, two in pairs if isinstance(one, Element) and isinstance(two, Element)]


_Node = Element | str


def _paired(mine: Sequence[_Node], theirs: Sequence[_Node]) -> list[tuple[_Node | None, _Node]] | None:
    """Return pairs of what an element has before and after scripts if they only add elements, else ``None``."""
    pairs, at = list[tuple[_Node | None, _Node]](), 0
    own, others = ([_markup(each) for each in nodes] if len(mine) < len(theirs) else [] for nodes in (mine, theirs))
    last = {markup: place for place, markup in enumerate(others)}
    for place, each in enumerate(theirs):
        is_left = at < len(mine)
        comes_later = is_left and bool(last) and others[place] != own[at] and last.get(own[at], place) > place
        if is_left and not comes_later and _is_same(mine[at], each):
            pairs.append((mine[at], each))
            at += 1
        elif isinstance(each, Element):
            pairs.append((None, each))
        else:
            return None
    return pairs if at == len(mine) else None


def _markup(node: _Node) -> str:
    return node.html if isinstance(node, Element) else node


def _places(
    own: Element, pairs: Sequence[tuple[_Node | None, _Node]]
) -> list[tuple[Element, str, Sequence[Element]]] | None:
    """Return where new elements are put; ``None`` if that is between texts."""
    found, new = list[tuple[Element, str, Sequence[Element]]](), list[Element]()
    last: _Node | None = None
    for one, two in [*pairs, (own, own)]:
        if one is None and isinstance(two, Element):
            new.append(two)
            continue
        if new and one is own:
            found.append((own, "end", new))
        elif new and isinstance(one, Element):
            found.append((one, "before", new))
        elif new and isinstance(last, Element):
            found.append((last, "after", new))
        elif new:
            return None
        last, new = one, []
    return found


def _is_same(own: _Node, other: _Node) -> bool:
    """Whether a script may have left an element or a text, or changed attributes of it."""
    if not (isinstance(own, Element) and isinstance(other, Element)):
        return own == other
    if own.tag != other.tag or (own.tag == "style" and own.text != other.text):
        return False
    before, after, classes = _attributes(own), _attributes(other), frozenset(class_names(own))
    fixed = (name for name in {**before, **after} if name not in _CHANGED and not name.startswith(("aria-", "data-")))
    has_same = all(before.get(name) == after.get(name) or ("-" in name and name not in before) for name in fixed)
    return has_same and (not classes or not classes.isdisjoint(class_names(other)))


def _changes(own: Element, other: Element) -> dict[str, str | None]:
    """Return the attributes that a script changes, with their values, ``None`` for those that it removes."""
    before, after = _attributes(own), _attributes(other)
    varying = split_tokens(other.attr(_VARIES) or "")
    names = [name for name in {**before, **after} if name not in varying and before.get(name) != after.get(name)]
    changes = {name: other.attr(name) for name in names if name != _VARIES}
    if "class" in varying:
        joined = " ".join(dict.fromkeys([*class_names(own), *class_names(other)]))
        changes |= {} if joined == " ".join(class_names(own)) else {"class": joined}
    if "class" in changes and not changes["class"] and not own.attr("class"):
        del changes["class"]
    return changes


# ---- What a page has after its scripts at each width

# Says in the page after scripts which attributes of an element are others at another width, or that its "content" is
_VARIES = "adaptc-varies"
_CONTENT = "content"
# Nodes of an element, times those of its like, that are compared
_MOST_PAIRS = 1_000_000


def join_views(after: Document, other: Document) -> None:
    """Leave in the page ``after`` scripts what the page has at another width as well, and say what varies.

    What only one of them has is removed. An element whose text varies has that of neither.
    """
    roots = (after.select_one("html"), other.select_one("html"))
    waiting = [roots]
    while waiting:
        one, two = waiting.pop()
        if one is None or two is None:
            continue
        varying = [name for name in dict.fromkeys((*one.attrs, *two.attrs)) if one.attr(name) != two.attr(name)]
        pairs = _matched(one, two)
        if pairs is None:
            varying.append(_CONTENT)
        for name in varying:
            if name == "class":
                one.attrs["class"] = " ".join(each for each in class_names(one) if each in class_names(two))
            elif name in one.attrs:
                del one.attrs[name]
        if varying:
            one.attrs[_VARIES] = " ".join(sorted(varying))
        waiting += pairs or ()


def _matched(one: Element, two: Element) -> list[tuple[Element | None, Element | None]] | None:
    """Return the pairs of elements that two views have in an element, and remove what one alone has.

    Returns ``None`` if their texts are not the same.
    """
    mine, theirs = _content(one), _content(two)
    keys, others = ([_key(each) for each in nodes] for nodes in (mine, theirs))
    if keys == others:
        pairs = list(zip(mine, theirs, strict=True))
    elif len(keys) * len(others) > _MOST_PAIRS:
        return None
    else:
        blocks = SequenceMatcher(None, keys, others, autojunk=False).get_matching_blocks()
        pairs = [(mine[at + n], theirs[there + n]) for at, there, size in blocks for n in range(size)]
        kept = frozenset(own for own, _ in pairs if isinstance(own, Element))
        count = sum(isinstance(own, str) for own, _ in pairs)
        if any(sum(isinstance(each, str) for each in nodes) != count for nodes in (mine, theirs)):
            return None
        for each in mine:
            if isinstance(each, Element) and each not in kept:
                each.decompose()
    return [(own, other) for own, other in pairs if isinstance(own, Element) and isinstance(other, Element)]


def _key(node: _Node) -> tuple[str, ...]:
    if isinstance(node, str):
        return (node,)
    return (node.tag, node.attr("id") or "", node.text if node.tag == "style" else "")


# What is seen without text, and what a link may lead to
_SHOWN = (
    "[id], img, svg, video, audio, canvas, iframe, object, embed, input, button, select, textarea, hr, progress, meter"
)
# Where classes say what the device of a visitor is, they were those of the browser that looked
_DEVICES = frozenset(
    {"desktop", "mobile", "touch", "phone", "tablet", "ios", "android", "mac", "windows", "win", "linux"}
)


def _is_classed(own: Element, other: Element) -> bool:
    """Whether two bodies have the same attributes, but for classes that scripts add (``chakra-ui-light``)."""
    lost = frozenset(class_names(own)) - frozenset(class_names(other))
    is_kept = not lost or "class" in split_tokens(other.attr(_VARIES) or "")
    return _changes(own, other).keys() <= {"class"} and is_kept and _may_change(own, other)


def _may_change(own: Element, other: Element) -> bool:
    """Whether attributes that a script changes say nothing of the day or the device."""
    added = frozenset(class_words(other)) - frozenset(class_words(own))
    values = [value or "" for value in _changes(own, other).values()]
    return not _are_dated(values) and added.isdisjoint(_DEVICES) and not any(map(_DEVICE.search, values))


def _are_dated(values: Iterable[object]) -> bool:
    """Whether values of attributes name the day on which the page was looked at, or its year."""
    return any(isinstance(value, str) and (_YEAR.search(value) or _DATED.search(value)) for value in values)


def _added_to_head(own: Element, other: Element) -> list[tuple[int | None, Element]] | None:
    """Return what scripts add to a head (``Written.head``), if that is sheets, ``<meta>`` and a title.

    ``other`` is the head after them. Elements other than sheets may be in any order: React puts its own where it likes.
    """
    (sheets, rest), (other_sheets, other_rest) = _head_elements(own), _head_elements(other)
    counts, other_counts = (Counter(each.html for each in elements) for elements in (rest, other_rest))
    lost = [each for each in rest if each.html not in other_counts and each.tag != "title"]
    added: list[tuple[int | None, Element]] = [(None, each) for each in other_rest if each.html not in counts]
    if lost or not all(_may_be_added(each) for _, each in added):
        return None
    at = 0
    for sheet in other_sheets:
        if at < len(sheets) and sheets[at].html == sheet.html:
            at += 1
        elif sheet.tag == "style":
            added.append((at if at < len(sheets) else None, sheet))
        else:
            return None
    return added if at == len(sheets) else None


def _may_be_added(element: Element) -> bool:
    is_known = element.tag == "title" or (element.tag == "meta" and element.attr("http-equiv") is None)
    return is_known and not _YEAR.search(element.html) and not _DATED.search(element.html)


def _head_elements(head: Element) -> tuple[list[Element], list[Element]]:
    """Return the sheets of a head, and all else that counts."""
    found = [each for each in head.children if isinstance(each, Element) and not _is_left_out(each)]
    sheets = [each for each in found if each.tag == "style" or "stylesheet" in rel_tokens(each)]
    return sheets, [each for each in found if each not in sheets]


def _content(element: Element) -> list[Element | str]:
    """Return the elements and texts in an element that both versions of a page have."""
    found, text = list[Element | str](), ""
    for node in element.children:
        if isinstance(node, Text):
            text += node.data
        elif isinstance(node, Element) and not _is_left_out(node):
            found += [text, node]
            text = ""
    folded = (each if isinstance(each, Element) else fold_space(each).strip() for each in (*found, text))
    return [each for each in folded if each != ""]


def _is_left_out(element: Element) -> bool:
    is_early = element.tag == "link" and not _EARLY.isdisjoint(rel_tokens(element))
    return is_early or element.tag in _LEFT_OUT or "aria-live" in element.attrs or element.tag.endswith("-announcer")


def _is_place(node: _Node) -> bool:
    """Whether an element shows nothing and has no name: a place for what opens later."""
    return isinstance(node, Element) and not node.text.strip() and node.select_one(_SHOWN) is None


def _attributes(element: Element) -> dict[str, object]:
    """Return the attributes of an element as they count.

    Its style is without spaces and a last ``;``, as scripts write that.
    """
    style = element.attr("style") or ""
    for mark in ",:;":
        style = mark.join(part.strip() for part in style.split(mark))
    flags = {name: "" for name in _FLAGS if name in element.attrs}
    return {**element.attrs, **flags, "style": style.rstrip(";")}


def _may_be_written(element: Element) -> bool:
    """Whether what scripts write can be in a page twice, and is the same for each visitor at any time."""
    is_single = element.matches(_SINGLE) or element.select_one(_SINGLE) is not None
    varies = f"[{_VARIES}~={_CONTENT}]"
    text = element.text
    return not (
        is_single
        or element.matches(varies)
        or element.select_one(varies) is not None
        or _DEVICE.search(text)
        or _ASKED_ONCE.search(text)
        or _is_dated(element)
    )


def _is_dated(element: Element) -> bool:
    """Whether an element shows the day on which it was looked at, other than by the year of a copyright notice."""
    texts = _years(element)
    shown = (each for each in element.select("*") if each.closest("svg") is None)
    named = (value for each in shown for value in each.attrs.values() if isinstance(value, str))
    if any(_YEAR.search(value) for value in named if not value.startswith("data:")) or _DATED.search(element.text):
        return True
    return not all(isinstance(text.parent, Element) and _is_notice(text.parent) for text in texts)


def _years(element: Element) -> list[Text]:
    return [node for node in element.descendants if isinstance(node, Text) and _YEAR.search(node.data)]


def _is_notice(element: Element) -> bool:
    text = element.text
    return _NOTICE.search(text) is not None and _DAY.search(text) is None and element.tag not in _WITHOUT_SCRIPTS


def write_frame(editor: Editor, written: Written, mark: str) -> None:
    """Write what scripts give to a page around what they write in it.

    These are attributes of ``<html>``, unless a script in the page may set them, classes of the body, the title, and
    what is in the head. Neither sheets nor ``<meta>`` have the attributes by which scripts know them there. Sheets have
    ``mark``, and go once scripts have added theirs.
    """
    root, head, body = (editor.tree.select(tag)[0] for tag in ("html", "head", "body"))
    new_root, new_body = (written.after.select(tag)[0] for tag in ("html", "body"))
    is_set = any("documentElement" in script.text for script in editor.tree.select("script:not([src])"))
    changes = [(root, *each) for each in _changes(root, new_root).items() if not is_set]
    for element, name, value in [*changes, *((body, *each) for each in _changes(body, new_body).items())]:
        if value is not None:
            editor.set_attribute(element, name, value)
    sheets, _ = _head_elements(head)
    for number, element in written.head:
        if number is not None:
            editor.insert_before(sheets[number], _plain(element, mark))
        else:
            editor.append(head, _plain(element, mark))


_PLAIN = frozenset({"name", "property", "itemprop", "content", "media"})


def _plain(element: Element, mark: str) -> str:
    attributes = "".join(
        f" {attribute_markup(name, element.attr(name) or '')}" for name in element.attrs if name in _PLAIN
    )
    if element.tag == "meta":
        return f"<meta{attributes}>"
    if element.tag == "title":  # that of the source stays, for browsers without scripts
        title = json.dumps(element.text).replace("<", "\\u003c")
        return f"<script>document.title={title}</script>"
    return f"<{element.tag} {mark}{attributes}>{element.inner_html}</{element.tag}>"


def write_content(editor: Editor, written: Written, mark: str, year: str = THIS_YEAR) -> None:
    """Write what scripts write.

    What an element had is in its attribute ``mark-html``, or hidden in it with the attribute ``mark``, if it has words;
    its attributes are in ``mark-was``, as JSON. What is new has ``mark-new``. The year of a copyright notice is
    ``year``: that in which the page is read.
    """
    for own, other in written.filled.items():
        has_words, inner = bool(own.text.strip()), own.inner_html
        values = {name: own.attr(name) or "" for name in own.attrs}
        if own in written.changed:
            values = _changed_values(own, other, mark)
        attributes = {**values, f"{mark}-html": "" if has_words else inner}
        start = "".join(f" {attribute_markup(name, value)}" for name, value in attributes.items())
        kept = f"<span hidden {mark}>{inner}</span>" * has_words
        editor.replace_element(own, f"<{own.tag}{start}>{_content_markup(other, year)}{kept}</{own.tag}>")
    for own, other in written.changed.items():
        if own not in written.filled:
            for name, value in _changed_values(own, other, mark).items():
                editor.set_attribute(own, name, value)
            for name in (name for name, value in _changes(own, other).items() if value is None):
                editor.remove_attribute(own, name)
    for own, place, new in written.added:
        markup = "".join(_new_markup(each, mark, year) for each in new)
        {"before": editor.insert_before, "after": editor.insert_after, "end": editor.append}[place](own, markup)


def _changed_values(own: Element, other: Element, mark: str) -> dict[str, str]:
    """Return the attributes of an element as scripts leave them, and those that they change as they were."""
    changes = _changes(own, other)
    values = {name: own.attr(name) or "" for name in own.attrs if name not in changes}
    values |= {name: value for name, value in changes.items() if value is not None}
    was = {name: own.attr(name) for name in changes}
    return {**values, f"{mark}-was": json.dumps(was, ensure_ascii=False, separators=(",", ":"))}


def _content_markup(element: Element, year: str) -> str:
    """Return the content of an element after scripts, with the year in which it is read."""
    for text in _years(element):
        text.data = _YEAR.sub(_HERE, text.data)
    for each in element.select(f"[{_VARIES}]"):
        del each.attrs[_VARIES]
    return element.inner_html.replace(_HERE, year)


def _new_markup(element: Element, mark: str, year: str) -> str:
    content = _content_markup(element, year)
    names = [name for name in element.attrs if name != _VARIES]
    start = "".join(f" {attribute_markup(name, element.attr(name) or '')}" for name in names)
    end = "" if element.tag in VOID else f"{content}</{element.tag}>"
    return f"<{element.tag} {mark}-new{start}>{end}"
