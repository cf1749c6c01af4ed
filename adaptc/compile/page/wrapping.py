"""Which images can get a ``<picture>`` around them: every rule of the page matches the same elements as before.

The element has no box (``display: contents``), so that an image stays the flex or grid item that it is. What is left
are selectors (``p > img``, ``img + p``, ``:first-child``) and what an image inherits. Those that could match otherwise
are matched with the page as it was and as it would be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.page.touched_images import STATE_CLASSES
from adaptc.formats.css.rules import GROUPS, Item, sheet_items
from adaptc.formats.css.selectors import required_names, selector_names, static_selectors
from adaptc.formats.html.class_names import class_names
from adaptc.formats.html.document import parse_bare

if TYPE_CHECKING:
    from turbohtml import Document, Element

__all__ = ["OPENING", "start_tag", "wrappable_images"]

OPENING = '<picture style="display:contents">'
# The same while selectors are compared, so that a page's own pictures are told apart
_MARK = "data-wrapping"
_MARKED = f'<picture style="display:contents" {_MARK}>'
# What a selector needs to match otherwise: a combinator but the descendant's, a structure, anything, a style
_DEPENDS = re.compile(r"[>+~:*]|\[\s*style\b|\bpicture\b", re.IGNORECASE)
_REACHES_OTHERS = re.compile(r"[+~]|:has\(", re.IGNORECASE)
_INHERITS = re.compile(r":\s*inherit\b", re.IGNORECASE)
_SHOWS = re.compile(r"(?<![-\w])(?:display|all)\s*:[^;]*(?:!\s*important|inherit)", re.IGNORECASE)
# In the place of a class that scripts give and take
_ANY = ":not(no-such-element)"
_STATE_CLASS = re.compile(rf"\.{STATE_CLASSES}(?![-\w])")


def wrappable_images(text: str, tree: Document, images: Sequence[Element], sheets: Iterable[str]) -> list[Element]:
    """Return those of ``images`` that can get a ``<picture>``; ``tree`` is that of ``text``, ``sheets`` are all of it.

    Classes of states (``active``, ``open``) count as set on every element.
    """
    rules = list(_relevant(tree, images, sheets))
    if any(rule.selector is None for rule in rules):
        return []
    chosen = [image for image in images if "inherit" not in (image.attr("style") or "").lower()]
    while chosen:
        disturbed = _Comparison(text, tree, chosen).disturbed(rules)
        if not disturbed:
            break
        chosen = [image for image in chosen if image not in disturbed]
    return chosen


def start_tag(image: Element) -> tuple[int, int]:
    """Return where the start tag of an image begins and ends in its text. Raises ``ValueError`` if it has none."""
    place = image.source_location
    if place is None:
        raise ValueError("the element has no tag in the text")
    return place.start_tag.start_offset, place.start_tag.end_offset


# ---- rules


@dataclass(frozen=True, slots=True)
class _Rule:
    """A selector, ``None`` for one of unknown syntax, and whether its declarations inherit, or give a box."""

    selector: str | None
    inherits: bool
    shows: bool


@lru_cache(maxsize=64)
def _rules(sheet: str) -> tuple[_Rule, ...]:
    return tuple(_rules_of(sheet, sheet_items(sheet), ()))


def _rules_of(sheet: str, items: Sequence[Item], parents: tuple[str, ...]) -> Iterator[_Rule]:
    for item in items:
        if item.name in GROUPS:
            yield from _rules_of(sheet, item.items, parents)
        elif item.is_rule:
            prelude, body = sheet[item.start : item.prelude], sheet[item.body : item.close]
            selectors = static_selectors(prelude, parents)
            inherits, shows = bool(_INHERITS.search(body)), bool(_SHOWS.search(body))
            if not selectors and _DEPENDS.search(prelude):
                yield _Rule(None, inherits, shows)
            for selector in selectors:
                if inherits or shows or _DEPENDS.search(selector):
                    yield _Rule(_STATE_CLASS.sub(_ANY, selector), inherits, shows)
            yield from _rules_of(sheet, [each for each in item.items if not each.is_declaration], selectors)


def _relevant(tree: Document, images: Sequence[Element], sheets: Iterable[str]) -> Iterator[_Rule]:
    """Yield the rules that may match something of the page, and an image or what follows one."""
    names = set().union(*map(_names, tree.select("*")), {"picture"})
    subjects = {"", "picture"}.union(*map(_names, images))
    for rule in dict.fromkeys(rule for sheet in sheets for rule in _rules(sheet)):
        if rule.selector is None or _may_concern(rule.selector, names, subjects):
            yield rule


def _may_concern(selector: str, names: set[str], subjects: set[str]) -> bool:
    if not {name.lower() for name in required_names(selector)} <= names:
        return False
    return bool(_REACHES_OTHERS.search(selector)) or selector_names(selector).subject.lower() in subjects


def _names(element: Element) -> set[str]:
    """Return the names of an element as those of selectors, in lower case: in quirks mode case does not count."""
    classes = map(str.lower, class_names(element))
    attributes = (f"[{name}" for name in element.attrs)
    return {element.tag, f"#{(element.attr('id') or '').lower()}", *(f".{name}" for name in classes), *attributes}


# ---- the page before and after


class _Comparison:
    """A page, and the same with ``images`` in pictures."""

    def __init__(self, text: str, tree: Document, images: Sequence[Element]) -> None:
        self.tree, self.images = tree, images
        self.after = parse_bare(_wrapped(text, images))
        self.elements = tree.select("*")
        self.counterparts = [each for each in self.after.select("*") if not _is_wrapper(each)]
        self._numbers = {element: number for number, element in enumerate(self.elements)}
        self._later_numbers = {element: number for number, element in enumerate(self.counterparts)}

    def disturbed(self, rules: Iterable[_Rule]) -> set[Element]:
        """Return the images whose pictures let a rule match otherwise; all of them where that is not known."""
        if [each.tag for each in self.elements] != [each.tag for each in self.counterparts]:
            return set(self.images)
        return set().union(*map(self._disturbed_by, rules))

    def _disturbed_by(self, rule: _Rule) -> set[Element]:
        from turbohtml import SelectorSyntaxError

        assert rule.selector is not None
        try:
            before = {self._numbers[each] for each in self.tree.select(rule.selector) if each in self._numbers}
            matched = self.after.select(rule.selector)
        except SelectorSyntaxError:
            return set(self.images)
        after = {self._later_numbers[each] for each in matched if not _is_wrapper(each)}
        found = {culprit for number in before ^ after for culprit in self._culprits(self.elements[number])}
        wrapped = {self._wrapped_by(each) for each in matched if _is_wrapper(each)}
        found.update(self.elements[number] for number in wrapped if rule.shows or number not in after)
        if rule.inherits:
            found.update(image for image in self.images if self._numbers[image] in after - wrapped)
        return found

    def _culprits(self, element: Element) -> Iterable[Element]:
        """Return the images around which pictures may change what matches an element."""
        if element in self.images:
            return (element,)
        return [image for image in self.images if image.parent == element.parent] or self.images

    def _wrapped_by(self, picture: Element) -> int:
        return self._later_numbers[next(iter(picture.iter_elements("img")))]


def _wrapped(text: str, images: Iterable[Element]) -> str:
    pieces, end = [], 0
    for start, stop in sorted(start_tag(image) for image in images):
        pieces += [text[end:start], _MARKED, text[start:stop], "</picture>"]
        end = stop
    return "".join([*pieces, text[end:]])


def _is_wrapper(element: Element) -> bool:
    return element.tag == "picture" and _MARK in element.attrs
