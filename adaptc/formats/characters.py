"""The characters that files of a site write, by which fonts are reduced to what the site shows.

They are found generously: what a text may write counts, whether it is shown or not. Icons are the exception: a sheet
has a rule for each icon of its font, of which a site uses some. So does a script that draws icons.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.core.values import dataclass, pattern
from adaptc.formats.html.syntax import class_names

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.formats.css.rules import Item

__all__ = [
    "ANY_ICON",
    "FEATURES",
    "NOTHING_WRITTEN",
    "IconRule",
    "Writing",
    "drop_icons",
    "holds_icons",
    "icons_named",
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
# The classes of elements that a script makes, as it writes them out: in markup, as a property, by calls
_CLASSES_WRITTEN = pattern(
    r"""(?:\bclass(?:Name)?["']?\s*[=:]|(?:[a-z]Class|\bclassList\.[a-z]+)\()\s*\\?["'`]\s*([\w-][\w\s-]*)"""
)


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
    scripts that it may show.
    """

    characters: str = ""
    icons: tuple[IconRule, ...] = ()
    classes: tuple[str, ...] = ()
    icons_named: tuple[str, ...] = ()


NOTHING_WRITTEN = Writing()


def text_writing(text: str) -> Writing:
    """Return what a script or another text without rules and elements writes."""
    classes = tuple(sorted(_written_classes(text)))
    return Writing(written_characters(text) + _features(text), classes=classes, icons_named=icons_named(text))


def _written_classes(text: str) -> set[str]:
    return {name for names in _CLASSES_WRITTEN.findall(text) for name in names.split() if "-" in name}


def _features(text: str) -> str:
    return FEATURES if _TURNED_ON.search(text.lower()) else ""


def _loads_of_others(tree: Document) -> bool:
    """Whether a page loads sheets or scripts of which nobody knows what they say."""
    loads = (element.attr("href") or element.attr("src") or "" for element in tree.select("link[rel], script[src]"))
    return any(_OF_OTHERS.match(url.strip()) for url in loads)


def page_writing(text: str, tree: Document) -> Writing:
    """Return what a page writes."""
    classed = [(element, class_names(element)) for element in tree.select("[class]")]
    names = {name for _, own in classed for name in own}
    named = icons_named(text)
    if not names.isdisjoint(_STYLES):  # a glyph, or the name of an icon, as text
        is_text = any(not _STYLES.isdisjoint(own) and element.text.strip() for element, own in classed)
        named = (ANY_ICON, *named) if is_text and ANY_ICON not in named else named
    features = FEATURES if _loads_of_others(tree) else _features(text)
    written = _written_classes(" ".join(script.text for script in tree.select("script")))
    classes = tuple(sorted(written.union(name for name in names if "-" in name)))
    return Writing(written_characters(text) + features, (), classes, named)


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
    if _QUOTED.search(text):
        plain += _QUOTES
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


# What browsers write by themselves: hyphens, bullets, the ellipsis of a text that is cut; and dashes and apostrophes,
# which data from elsewhere often has
_BY_BROWSERS = "\xa0\xad\u2010\u2013\u2014\u2019\u2022\u2026"
# And around <q>, or where a sheet asks for quotes
_QUOTES = "\xab\xbb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_QUOTED = pattern(r"<q[\s>]|\bopen-quote\b", re.IGNORECASE)


def shown_characters(written: Iterable[str]) -> frozenset[int]:
    """Return the code points that pages may show whose files write ``written``: both cases of letters, and ASCII.

    A font whose range has no space would not be the first of its family (CSS Fonts 4, section 5.2). For the tabs and
    ends of lines of preformatted text browsers look for a font that has them.
    """
    characters = {other for each in written for other in (each, *each.upper(), *each.lower())} - {FEATURES}
    return frozenset((*range(0x7F), *map(ord, _BY_BROWSERS), *map(ord, characters)))


# ---- Icons that a script holds as data, as Font Awesome's do, of which a site shows a few of two thousand
# A set is an object literal: each value is [width, height, other names, code, path], the ``IconDefinition`` of Font
# Awesome 5 to 7. Elements name an icon by the class ``fa-NAME``, and the library draws it in their place.

ANY_ICON = "*"
"""Stands for a text that may ask for icons by names which it does not write out."""

# What a text that names no icon has not
_MARKS = ("fa-", "ontAwesome", "iconName", "seudo", "shims")
# The classes of the sets, by which the text of an element is an icon, too
_STYLES = frozenset({
    "fa", "fas", "far", "fab", "fal", "fad", "fat", "fass", "fasr", "fasl", "fast", "fa-solid", "fa-regular",
    "fa-brands", "fa-light", "fa-thin", "fa-duotone", "fa-sharp",
})  # fmt: skip
# Of the library; what is in its own files says nothing of the site
_LIBRARY = "___FONT_AWESOME___"
_NAMED = pattern(r"\bfa-([a-z0-9][a-z0-9-]*)")
# "fa-" + name, `fa-${name}`, the library's functions and data, and icons in place of pseudo-elements
_COMPOSED = pattern(
    r"""\bfa-(?:["'`]|\$\{|\\u|\\x)|\bFontAwesome\s*[.[]\s*\w|\biconName\b|earch-?[Pp]seudo-?[Ee]lements"""
)
# Old names, each with its style and its new name: ["close", null, "times"]
_RENAMED = pattern(r'\[\s*"[\w-]+"\s*,\s*(?:null|"fa[a-z-]*")\s*,\s*"([\w-]+)"\s*\]')
# A map of a script's source, which pages do not read
_SOURCE_MAP = pattern(r'\s*\{\s*"version"\s*:\s*3\b')

_ICON = pattern(
    r"""(?<![\w$-])(?:"(?P<quoted>[\w-]+)"|'(?P<single>[\w-]+)'|(?!icon\b)(?P<bare>[\w$]+))\s*:
    \s*\[\s*[\d.e]+\s*,\s*[\d.e]+\s*,\s*\[(?P<others>[^\[\]]*)\]\s*,\s*["'][0-9a-f]{1,6}["']\s*,
    \s*(?:"[^"\\\n]*"|'[^'\\\n]*'|\[[^\[\]]*\])\s*\]\s*,?""",
    re.VERBOSE,
)
_OTHER = pattern(r"""["']([\w-]+)["']""")
# Icons that make a set, and how many times a script must be as long: a larger one is more than icons
_FEWEST, _MOST_TIMES = 50, 2


def icons_named(text: str) -> tuple[str, ...]:
    """Return the names of icons that a page, a script or data may show, in order; ``ANY_ICON`` for all of them."""
    if not any(mark in text for mark in _MARKS) or _SOURCE_MAP.match(text):
        return ()
    renamed = _RENAMED.findall(text) if "shims" in text else []
    if _LIBRARY in text:
        return tuple(sorted(set(renamed)))
    composed = [ANY_ICON] if _COMPOSED.search(text) else []
    return tuple(sorted({*_NAMED.findall(text), *renamed, *composed}))


def holds_icons(text: str) -> bool:
    """Whether a script is mostly icons."""
    return bool(_icons(text))


def drop_icons(text: str, used: Container[str]) -> tuple[str, int] | None:
    """Return a script without the icons that have none of the names in ``used``, and how many these are.

    ``None`` for a script that is not mostly icons, and where nothing goes.
    """
    icons = _icons(text)
    dropped = [span for names, span in icons if not any(name in used for name in names)]
    if not dropped:
        return None
    pieces, position = list[str](), 0
    for start, end in dropped:
        pieces.append(text[position:start])
        position = end
    shorter = "".join([*pieces, text[position:]])
    return (shorter, len(dropped)) if _is_rest(text, dropped, shorter) else None


@lru_cache(maxsize=4)  # the same at each level
def _icons(text: str) -> tuple[tuple[frozenset[str], tuple[int, int]], ...]:
    """Return the icons of a script that is mostly icons: the names of each, and where it is."""
    found = list(_ICON.finditer(text)) if _LIBRARY in text else []
    length = sum(match.end() - match.start() for match in found)
    icons = [(_names(match), match.span()) for match in found]
    is_set = len({name for names, _ in icons for name in names}) >= _FEWEST
    return tuple(icons) if is_set and length * _MOST_TIMES >= len(text) else ()


def _names(icon: re.Match[str]) -> frozenset[str]:
    name = icon["quoted"] or icon["single"] or icon["bare"]
    return frozenset((name, *_OTHER.findall(icon["others"])))


def _is_rest(text: str, dropped: list[tuple[int, int]], shorter: str) -> bool:
    """Whether a script has the tokens of another but for those in ``dropped``, none of which begins or ends in one."""
    from adaptc.formats.script.lexer import tokenize

    tokens, rest = tokenize(text), tokenize(shorter)
    if tokens is None or rest is None:
        return False
    kept, spans = list[str](), iter([*dropped, (len(text), len(text))])
    start, end = next(spans)
    for token in tokens:
        while token.start >= end:
            start, end = next(spans, (len(text) + 1, len(text) + 1))
        if token.start < start < token.end or token.start < end < token.end:
            return False
        if token.end <= start:
            kept.append(token.text)
    return kept == [token.text for token in rest]
