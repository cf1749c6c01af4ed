"""Icons that a script holds as data, as Font Awesome's do, of which a site shows a few of two thousand.

A set is an object literal: each value is [width, height, other names, code, path], the ``IconDefinition`` of Font
Awesome 5 to 7. Elements name an icon by the class ``fa-NAME``, and the library draws it in their place.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache

from adaptc.core.values import pattern
from adaptc.formats.script.lexer import tokenize

__all__ = ["ANY_ICON", "drop_icons", "holds_icons", "icons_named"]

ANY_ICON = "*"
"""Stands for a text that may ask for icons by names which it does not write out."""

_PREFIX = "fa-"
# Of the library; what is in its own files says nothing of the site
_LIBRARY = "___FONT_AWESOME___"
_NAMED = pattern(r"\bfa-([a-z0-9][a-z0-9-]*)")
# "fa-" + name, `fa-${name}`, the library's functions and data, icons in place of pseudo-elements, and glyphs as text
_COMPOSED = pattern(
    r"""\bfa-(?:["'`]|\$\{|\\u|\\x)|\bFontAwesome\s*[.[]\s*\w|\biconName\b|earch-?[Pp]seudo-?[Ee]lements"""
    r"""|class=["']?[^"'<>]*\bfa[a-z]?(?:-[a-z]+)*(?:\s[^"'<>]*)?["']?\s*>\s*(?:&\#?\w+;|[^\s<&])"""
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
    if _PREFIX not in text and "ontAwesome" not in text and '"shims"' not in text and ".shims" not in text:
        return ()
    if _SOURCE_MAP.match(text):
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
