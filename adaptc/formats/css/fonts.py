"""The fonts of a style sheet, and which of them draw icons instead of text (CSS Fonts 4).

Icon fonts are kept where text fonts are dropped: without one, a page shows boxes instead of arrows and magnifiers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from adaptc.formats.css.imports import head_imports
from adaptc.formats.css.references import css_references
from adaptc.formats.css.rules import Item, declaration_items, sheet_items
from adaptc.formats.css.scanner import unescape

__all__ = [
    "drop_fetched_fonts",
    "drop_font_imports",
    "drop_fonts",
    "drop_missing_fonts",
    "font_face_items",
    "font_family",
    "has_private_use",
    "icon_families",
    "is_font_service",
    "is_icon_service",
]

# Services whose sheets contain only @font-face rules
_SERVICES = re.compile(
    r"(?:fonts\.googleapis\.com|fonts\.bunny\.net|fonts\.cdnfonts\.com|use\.typekit\.net|(?:use|kit)\.fontawesome\.com|"
    r"cloud\.typography\.com|fast\.fonts\.(?:net|com)|bootstrapcdn\.com/font-awesome|"
    r"cdnjs\.cloudflare\.com/ajax/libs/font-awesome|(?:jsdelivr\.net|unpkg\.com)/[^?]*(?:icons?|font)[^?]*)",
    re.IGNORECASE,
)
_ICON_SERVICE = re.compile(r"icon|awesome|symbols", re.IGNORECASE)

# Whole words in the names of icon fonts, as in twelve widespread ones
_ICON_NAME = re.compile(
    r"(?:^|[^a-z])(?:fa|mdi|icomoon|fontello|glyphicons?|[a-z]*awesome|dashicons?|ionicons?|octicons?|icons?|symbols?|"
    r"typicons?|themify|weathericons?|linearicons?|lnr|simple-line-icons?|material-?icons?|webdings|wingdings|slick|"
    r"[a-z]*icons?|[a-z]*glyphs?)(?:$|[^a-z])"
)
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
_PRIVATE_CHARACTER = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_MAY_HAVE_FACES = re.compile(r"@(?:font-face|[-\w]*\\)", re.IGNORECASE)
_RANGE = re.compile(r"u\+([0-9a-f?]{1,6})(?:-([0-9a-f]{1,6}))?", re.IGNORECASE)
_CLASS_WORD = re.compile(r"\.([A-Za-z][\w]*)|\[class[\^*|~]?=[\"']?\s*([A-Za-z][\w]*)")
_GENERIC = frozenset({"serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui", "inherit", "initial"})


def font_family(body: str) -> str:
    """Return the family that the declarations of an ``@font-face`` name, in lower case, or ``""``."""
    return _normalise_family(_value(body, "font-family"))


def drop_fonts(text: str, keep: Callable[[str], bool], *, foreign: bool = False) -> str:
    """Return the sheet without ``@font-face`` rules, except for icon fonts and families for which ``keep`` is true.

    ``keep`` gets a family in lower case, so that callers can keep what ``icon_families`` finds in several sheets.
    With ``foreign`` only fonts are dropped whose files are all on other hosts.
    """
    icons = icon_families((text,))

    def is_dropped(body: str) -> bool:
        family = font_family(body)
        return bool(family) and family not in icons and not keep(family) and (not foreign or _is_foreign(body))

    return _without_faces(text, is_dropped)


def drop_fetched_fonts(text: str) -> str:
    """Return the sheet without the ``@font-face`` rules that name a file."""
    return _without_faces(text, _is_fetched)


def drop_missing_fonts(text: str, is_missing: Callable[[str], bool]) -> str:
    """Return the sheet without the ``@font-face`` rules that name files, all of which are missing."""

    def is_dropped(body: str) -> bool:
        urls = [reference.url for reference in css_references(body, declarations=True)]
        return bool(urls) and "local(" not in body.lower() and all(map(is_missing, urls))

    return _without_faces(text, is_dropped)


def _is_foreign(body: str) -> bool:
    urls = [reference.url.lower() for reference in css_references(body, declarations=True)]
    return bool(urls) and all(url.startswith(("http://", "https://", "//")) for url in urls)


def _is_fetched(body: str) -> bool:
    references = css_references(body, declarations=True)
    return any(not reference.url.lower().startswith("data:") for reference in references)


def _without_faces(text: str, is_dropped: Callable[[str], bool]) -> str:
    """Return the sheet without the ``@font-face`` rules for whose declarations ``is_dropped`` is true.

    Licence comments before them are kept.
    """
    pieces: list[str] = []
    position = 0
    for item in font_face_items(text):
        if is_dropped(text[item.body : item.close]):
            pieces.append(text[position : item.start if "/*!" in text[item.gap : item.start] else item.gap])
            position = item.end
    return "".join(pieces) + text[position:]


def has_private_use(text: str) -> bool:
    """Whether a text has characters of the private use areas, for which only icon fonts have glyphs."""
    return _PRIVATE_CHARACTER.search(text) is not None


def is_font_service(url: str) -> bool:
    """Whether a URL is one of a font service, such as Google Fonts."""
    return "//" in url[:8] and _SERVICES.search(url) is not None


def is_icon_service(url: str) -> bool:
    """Whether a URL is one of a font service, for fonts that draw icons."""
    return is_font_service(url) and _ICON_SERVICE.search(url) is not None


def drop_font_imports(text: str, *, icons_too: bool = True) -> str:
    """Return the sheet without ``@import`` rules of font services; without ``icons_too`` those of icon fonts stay."""
    pieces, position = [], 0
    for statement in head_imports(text):
        url = next((reference.url for reference in css_references(text[statement.start : statement.end])), "")
        if is_font_service(url) and (icons_too or not is_icon_service(url)):
            pieces.append(text[position : statement.start])
            position = statement.end
    return "".join([*pieces, text[position:]])


@lru_cache(maxsize=64)
def icon_families(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the families of ``@font-face`` rules that draw icons, in lower case.

    Evidence is the family's name, a ``unicode-range`` within the private use areas, or a rule whose ``content`` has a
    character of these areas. Such a rule sets the family itself, or shares the first word of a class with a rule that
    does (``.fa`` and ``.fa-home``).
    """
    faces = {family: body for text in texts for family, body in _faces(text)}
    if not faces:
        return frozenset()
    named = {family for family, body in faces.items() if _ICON_NAME.search(family) or _is_private(body)}
    return frozenset(named | (_families_of_private_content(texts) & faces.keys()))


def font_face_items(text: str) -> Iterator[Item]:
    """Yield the ``@font-face`` rules of a style sheet."""
    return _font_faces(sheet_items(text) if _MAY_HAVE_FACES.search(text) else ())


def _faces(text: str) -> Iterator[tuple[str, str]]:
    for item in font_face_items(text):
        body = text[item.body : item.close]
        yield font_family(body), body


def _font_faces(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        if item.name == "@font-face" and item.body >= 0:
            yield item
        yield from _font_faces(item.items)


def _is_private(body: str) -> bool:
    """Whether the ``unicode-range`` of a font is within the private use areas."""
    bounds = [_bounds(match) for match in _RANGE.finditer(_value(body, "unicode-range"))]
    return bool(bounds) and all(any(low <= a and b <= high for low, high in _PRIVATE_USE) for a, b in bounds)


def _bounds(match: re.Match[str]) -> tuple[int, int]:
    first, last = match[1], match[2] or match[1]
    return int(first.replace("?", "0"), 16), int(last.replace("?", "F"), 16)


def _families_of_private_content(texts: Sequence[str]) -> set[str]:
    """Return the families of rules whose ``content`` has private characters, or that share a class with one."""
    class_words: dict[str, set[str]] = {}  # by family
    icon_words: set[str] = set()
    families: set[str] = set()
    for text in texts:
        for item in _style_rules(sheet_items(text)):
            values = dict(_declarations(text, item.items))
            family = _first_family(values)
            words = {(a or b).lower() for a, b in _CLASS_WORD.findall(text[item.start : item.prelude])}
            if family:
                class_words.setdefault(family, set()).update(words)
            if has_private_use(unescape(values.get("content", ""))):
                icon_words |= words
                families.add(family)
    return families | {family for family, words in class_words.items() if words & icon_words}


def _style_rules(items: Sequence[Item]) -> Iterator[Item]:
    for item in items:
        if item.is_rule:
            yield item
        yield from _style_rules([inner for inner in item.items if not inner.is_declaration])


def _value(body: str, name: str) -> str:
    """Return the first value of a property in a block of declarations, or ``""``."""
    return next((value for property, value in _declarations(body, declaration_items(body)) if property == name), "")


def _declarations(text: str, items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    return ((item.name, text[item.body : item.close]) for item in items if item.is_declaration)


_SIZE = re.compile(r"^.*?(?<![\w.%])\.?\d[\w.%]*+(?:\s*/\s*[\w.%]+)?\s+", re.DOTALL)


def _first_family(values: dict[str, str]) -> str:
    """Return the first family that a rule sets, or ``""`` for a generic one."""
    value = values.get("font-family", "") or _SIZE.sub("", values.get("font", ""), count=1)
    family = _normalise_family(value.split(",")[0])
    return "" if family in _GENERIC else family


def _normalise_family(value: str) -> str:
    return " ".join(unescape(value.replace("!important", "").strip().strip("\"'")).lower().split())
