"""The characters that files of a site write, by which fonts are reduced to what the site shows.

They are found generously: what a text may write counts, whether it is shown or not. Icons are the exception: a sheet
has a rule for each icon of its font, of which a site uses some.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.core.values import dataclass, pattern
from adaptc.formats.html.syntax import class_names
from adaptc.formats.icon_sets import icons_named

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.formats.css.rules import Item

__all__ = [
    "FEATURES",
    "NOTHING_WRITTEN",
    "IconRule",
    "Writing",
    "page_writing",
    "sheet_writing",
    "shown_characters",
    "text_writing",
    "used_icons",
]

# A character as CSS, scripts and markup write it: \f015, "\uf015", "\u{f015}"; html.unescape reads &#xf015;
_ESCAPED = pattern(r"(?<!\\)\\++u?\{?([0-9a-fA-F]{2,6})")
_LAST = 0x10FFFF
_PRIVATE_USE = pattern(
    "[\ue000-\uf8ff\U000f0000-\U0010ffff]"  # or escaped, of four digits or five
    r"|\\0{0,2}(?:[eE][0-9a-fA-F]|[fF][0-8]|[fF][0-9a-fA-F]{2})[0-9a-fA-F]{2}(?![0-9a-fA-F])"
)
_CLASS = pattern(r"\.([A-Za-z_][\w-]*-[\w-]*)")


FEATURES = "\uffff"
"""Stands for a text that may turn on features of fonts which browsers do not use by themselves: no character."""

# Small capitals, old figures and the like, but for what says that there are none, or names what is on anyway; in small
# letters, since a pattern that ignores case takes four times as long
_TURNED_ON = pattern(
    r"""(?:feature-?settings|font-?variant)(?![\w-]|['"]?\s*:\s*(?:normal|inherit|initial|unset|none
    |(["'])(?:liga|kern|calt|clig)\1(?:\s+(?:1|on))?)\s*[;}!"'])
    |variant-?(?:caps|numeric|ligatures|alternates|east-?asian|position)|feature-values|small-?caps
    |@import\b[^;]*//""",
    re.VERBOSE,
)
_OF_OTHERS = pattern(r"(?:[a-z]+:)?//", re.IGNORECASE)

# The private characters of a rule, and the classes of each of its selectors: those with a hyphen, as icons have
IconRule = tuple[str, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True, slots=True)
class Writing:
    """What a file writes: characters beyond ASCII without those of ``icons``, and ``classes`` of elements.

    ``FEATURES`` is among the characters of one that may turn on features of fonts. ``icons_named`` are the icons of
    scripts (``adaptc.formats.icon_sets``) that it may show.
    """

    characters: str = ""
    icons: tuple[IconRule, ...] = ()
    classes: tuple[str, ...] = ()
    icons_named: tuple[str, ...] = ()


NOTHING_WRITTEN = Writing()


def text_writing(text: str) -> Writing:
    """Return what a script or another text without rules and elements writes."""
    return Writing(written_characters(text) + _features(text), icons_named=icons_named(text))


def _features(text: str) -> str:
    return FEATURES if _TURNED_ON.search(text.lower()) else ""


def _loads_of_others(tree: Document) -> bool:
    """Whether a page loads sheets or scripts of which nobody knows what they say."""
    loads = (element.attr("href") or element.attr("src") or "" for element in tree.select("link[rel], script[src]"))
    return any(_OF_OTHERS.match(url.strip()) for url in loads)


def page_writing(text: str, tree: Document) -> Writing:
    """Return what a page writes."""
    names = {name for element in tree.select("[class]") for name in class_names(element)}
    features = FEATURES if _loads_of_others(tree) else _features(text)
    classes = tuple(sorted(name for name in names if "-" in name))
    return Writing(written_characters(text) + features, (), classes, icons_named(text))


def sheet_writing(text: str) -> Writing:
    """Return what a style sheet writes."""
    from adaptc.formats.css.rules import sheet_items

    rules, pieces, position = list[IconRule](), [], 0
    for item in _icon_items(text, sheet_items(text)) if _PRIVATE_USE.search(text) else ():
        selectors = tuple(tuple(_CLASS.findall(each)) for each in text[item.start : item.prelude].split(","))
        rules.append((written_characters(text[item.body : item.close]), selectors))
        pieces.append(text[position : item.start])
        position = item.end
    return Writing(written_characters("".join([*pieces, text[position:]])) + _features(text), tuple(rules))


def used_icons(icons: Iterable[IconRule], classes: Container[str]) -> str:
    """Return the characters of rules that elements with these classes show; a rule without classes counts."""
    used = (
        characters
        for characters, selectors in icons
        if any(all(name in classes for name in selector) for selector in selectors)
    )
    return "".join(sorted(set("".join(used))))


@lru_cache(maxsize=1)  # what a page writes is asked for its fonts and for its backgrounds
def written_characters(text: str) -> str:
    """Return the characters beyond ASCII that a text writes, escaped ones included, in order of code points."""
    plain = html.unescape(text) if "&" in text else text
    escaped = (int(digits, 16) for digits in set(_ESCAPED.findall(text) if "\\" in text else ()))
    found = (set() if plain.isascii() else set(plain)) | {chr(code) for code in escaped if code <= _LAST}
    return "".join(sorted(each for each in found if ord(each) > 0x7F and not 0xD800 <= ord(each) < 0xE000))


def _icon_items(text: str, items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        if (
            item.is_rule
            and not any(each.is_rule for each in item.items)
            and _PRIVATE_USE.search(text, item.body, item.close)
        ):
            yield item
        elif item.items:
            yield from _icon_items(text, item.items)


# What browsers write by themselves: quotes, hyphens, bullets, the ellipsis of a text that is cut
_BY_BROWSERS = (
    "\xa0\xab\xad\xbb\u2010\u2011\u2012\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u2022\u2026\u2039\u203a"
)


def shown_characters(written: Iterable[str]) -> frozenset[int]:
    """Return the code points that pages may show whose files write ``written``: both cases of letters, and ASCII.

    A font whose range has no space would not be the first of its family (CSS Fonts 4, section 5.2). For the tabs and
    ends of lines of preformatted text browsers look for a font that has them.
    """
    characters = {other for each in written for other in (each, *each.upper(), *each.lower())} - {FEATURES}
    return frozenset((*range(0x7F), *map(ord, _BY_BROWSERS), *map(ord, characters)))
