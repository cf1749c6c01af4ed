"""The fonts of a style sheet, and which of them draw icons instead of text (CSS Fonts 4).

Icon fonts are kept where text fonts are dropped: without one, a page shows boxes instead of arrows and magnifiers.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Protocol

from adaptc.core.values import dataclass, pattern
from adaptc.formats.css.imports import head_imports
from adaptc.formats.css.references import CssReference, css_references, quote_url
from adaptc.formats.css.rules import Item, declaration_items, sheet_items
from adaptc.formats.css.scanner import unescape

__all__ = [
    "ALL_CODES", "CodeRanges", "OfferedFont", "chosen_source", "drop_fetched_fonts", "drop_font_imports", "drop_fonts",
    "drop_missing_fonts", "face_sources", "font_face_items", "font_family", "has_private_use", "icon_families",
    "idle_sources", "is_font_service", "is_icon_service", "loaded_faces", "offer_fonts", "replace_font_sources",
    "set_font_display", "unicode_ranges",
]  # fmt: skip

# Services whose sheets contain only @font-face rules
_SERVICES = pattern(
    r"(?:fonts\.googleapis\.com|fonts\.bunny\.net|fonts\.cdnfonts\.com|use\.typekit\.net|(?:use|kit)\.fontawesome\.com|"
    r"cloud\.typography\.com|fast\.fonts\.(?:net|com)|bootstrapcdn\.com/font-awesome|"
    r"(?:jsdelivr\.net|unpkg\.com|cdnjs\.cloudflare\.com/ajax/libs)/[^?]*(?:icons?|font)[^?]*)",
    re.IGNORECASE,
)
_ICON_SERVICE = pattern(r"icon|awesome|symbols", re.IGNORECASE)

# Whole words in the names of icon fonts, as in twelve widespread ones
_ICON_NAME = pattern(
    r"(?:^|[^a-z])(?:fa|mdi|icomoon|fontello|glyphicons?|[a-z]*awesome|dashicons?|ionicons?|octicons?|icons?|symbols?|"
    r"typicons?|themify|weathericons?|linearicons?|lnr|simple-line-icons?|material-?icons?|webdings|wingdings|slick|"
    r"[a-z]*icons?|[a-z]*glyphs?)(?:$|[^a-z])"
)
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
_PRIVATE_CHARACTER = pattern("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_MAY_HAVE_FACES = pattern(r"@(?:font-face|[-\w]*\\)", re.IGNORECASE)
_RANGE = pattern(r"u\+([0-9a-f?]{1,6})(?:-([0-9a-f]{1,6}))?", re.IGNORECASE)
_CLASS_WORD = pattern(r"\.([A-Za-z][\w]*)|\[class[\^*|~]?=[\"']?\s*([A-Za-z][\w]*)")
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


_SIZE = pattern(r"^.*?(?<![\w.%])\.?\d[\w.%]*+(?:\s*/\s*[\w.%]+)?\s+", re.DOTALL)


def _first_family(values: dict[str, str]) -> str:
    """Return the first family that a rule sets, or ``""`` for a generic one."""
    value = values.get("font-family", "") or _SIZE.sub("", values.get("font", ""), count=1)
    family = _normalise_family(value.split(",")[0])
    return "" if family in _GENERIC else family


def _normalise_family(value: str) -> str:
    return " ".join(unescape(value.replace("!important", "").strip().strip("\"'")).lower().split())


# ---- The files of ``@font-face`` rules, from which browsers choose (CSS Fonts 4, section 4.3)

_FORMAT = pattern(r"\s*format\(\s*[\"']?([\w-]+)[\"']?\s*\)", re.IGNORECASE)
_LOCAL = pattern(r"local\([^()]*\)", re.IGNORECASE)
# What every browser of today reads, by format and by the ending of an address without one
_FORMATS = frozenset({"woff2", "woff", "truetype", "opentype", "woff2-variations", "truetype-variations"})
_ENDINGS = (".woff2", ".woff", ".ttf", ".otf")


@dataclass(frozen=True, slots=True)
class _Face:
    """An ``@font-face`` rule: its ``src`` declarations with their spans in the sheet; the last one wins."""

    item: Item
    sources: tuple[Item, ...]
    value: str  # of the one that wins

    @property
    def start(self) -> int:
        """Where the declarations begin in the sheet."""
        return self.item.body

    def place_of(self, reference: CssReference) -> int:
        """Return where a reference of the value begins in the sheet."""
        return self.start + self.sources[-1].body + reference.start - len("src:")


def chosen_source(value: str) -> str | None:
    """Return the URL of the first file of a ``src`` that browsers read, ``None`` if there is none."""
    reference = _chosen_reference(value)
    return None if reference is None else reference.url


def _chosen_reference(value: str) -> CssReference | None:
    for reference in css_references(f"src:{value}", declarations=True):
        end = reference.end - len("src:")
        match = _FORMAT.match(value, end)
        path = reference.url.lower().partition("?")[0].partition("#")[0]
        if match[1].lower() in _FORMATS if match else path.endswith(_ENDINGS):
            return reference
    return None


@dataclass(frozen=True, slots=True)
class OfferedFont:
    """Copies of a font as WOFF2 by their URLs: the ``whole``, and a ``subset`` for the code points ``inside``.

    Others of its rule that the font draws are ``outside``. With ``replaces`` they come in the place of the original.
    """

    whole: str | None = None
    subset: str | None = None
    inside: frozenset[int] = frozenset()
    outside: frozenset[int] = frozenset()
    replaces: bool = False


# First and last code points, in their order, which do not meet
CodeRanges = tuple[tuple[int, int], ...]
ALL_CODES: CodeRanges = ((0, 0x10FFFF),)


class FontCopies(Protocol):
    """What makes copies of fonts."""

    def __call__(self, url: str, within: CodeRanges) -> OfferedFont | None:
        """Return the copies of the font at ``url`` for the code points of its rule, with a subset if there are any."""


def offer_fonts(text: str, copy: FontCopies) -> str:
    """Return the sheet with WOFF2 files offered first; ``copy`` gets the URL that browsers choose.

    Local fonts stay before them, all other files after them; a font that is in the sheet as a data URI, and the only
    choice, can be replaced. A subset gets a rule of its own before that of the whole,
    which browsers load where a page has other characters (``unicode-range``, CSS Fonts 4, section 4.5).
    """
    pieces, position = [], 0
    for face in _faces_with_sources(text):
        reference = _embedded_reference(face) or _chosen_reference(face.value)
        if reference is None:
            continue
        own = _own_range(text, face)
        within = _ranges(text[own.body : own.close]) if own is not None else ALL_CODES
        font = copy(reference.url, within)
        if font is None:
            continue
        start = face.place_of(reference)
        place = (start, face.start + face.sources[-1].close if font.replaces else start)
        pieces.append(text[position : face.item.start])
        whole = _source(font.whole, font)
        if font.subset is not None:
            inside, outside = unicode_ranges(font.inside, font.outside, within)
            ranged = own or face.item._replace(close=face.item.body)
            for source, characters in ((_source(font.subset, font), inside), (whole, outside)):
                value = characters if own is not None else f"unicode-range:{characters};"
                pieces.append(_replaced(text, face.item, [(*place, source), (ranged.body, ranged.close, value)]))
        else:
            pieces += [text[face.item.start : place[0]], whole, text[place[1] : face.item.end]]
        position = face.item.end
    return "".join([*pieces, text[position:]])


def _range_of(text: str, face: _Face) -> CodeRanges:
    own = _own_range(text, face)
    return ALL_CODES if own is None else _ranges(text[own.body : own.close])


_RANGES = pattern(rf"\s*{_RANGE.pattern}(?:\s*,\s*{_RANGE.pattern})*\s*", re.IGNORECASE)


def _own_range(text: str, face: _Face) -> Item | None:
    """Return the ``unicode-range`` of a rule, with its place in the sheet; of several the last one counts."""
    body = face.item.body
    items = declaration_items(text[body : face.item.close])
    own = [each for each in items if each.name == "unicode-range"]
    return own[-1]._replace(body=body + own[-1].body, close=body + own[-1].close) if own else None


def _ranges(value: str) -> CodeRanges:
    """Return the code points of a ``unicode-range``, none if it is not valid."""
    bounds = sorted(map(_bounds, _RANGE.finditer(value))) if _RANGES.fullmatch(value) else []
    merged: list[tuple[int, int]] = []
    for first, last in bounds:
        if not first <= last < _END:
            return ()
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)


def _source(url: str | None, font: OfferedFont) -> str:
    return "" if url is None else f'{quote_url(url)} format("woff2"){"" if font.replaces else ","}'


def _embedded_reference(face: _Face) -> CssReference | None:
    """Return the data URI of a font that is all that a rule has."""
    references = css_references(f"src:{face.value}", declarations=True)
    is_only = len(face.sources) == len(references) == 1 and "local(" not in face.value.lower()
    return references[0] if is_only and references[0].url[:5].lower() == "data:" else None


def _replaced(text: str, item: Item, changes: Iterable[tuple[int, int, str]]) -> str:
    """Return a rule with other texts at some of its places."""
    pieces, position = [], item.start
    for start, end, new in sorted(changes):
        pieces += [text[position:start], new]
        position = end
    return "".join([*pieces, text[position : item.end]])


def unicode_ranges(inside: Set[int], outside: Set[int], within: CodeRanges = ALL_CODES) -> tuple[str, str]:
    """Return two values of ``unicode-range`` that divide ``within``; each other code point is with the one before it.

    So a font of the reader's system, which may have more characters, draws what it would without the division.
    """
    runs = [(is_inside, next(codes)) for is_inside, codes in groupby(sorted(inside | outside), key=inside.__contains__)]
    starts = [0, *(start for _, start in runs[1:]), _END]
    ranges: dict[bool, list[str]] = {True: [], False: []}
    pending = deque(within)
    for (is_inside, _), (start, end) in zip(runs, pairwise(starts), strict=True):
        while pending and pending[0][0] < end:
            first, last = max(pending[0][0], start), min(pending[0][1], end - 1)
            if first <= last:
                ranges[is_inside].append(f"U+{first:X}" if first == last else f"U+{first:X}-{last:X}")
            if pending[0][1] >= end:
                break
            pending.popleft()
    return ",".join(ranges[True]), ",".join(ranges[False])


_END = 0x110000


def face_sources(text: str) -> Iterator[list[str]]:
    """Yield the URLs of the files of each ``@font-face`` that count, in the order in which browsers try them."""
    for face in _faces_with_sources(text):
        yield [reference.url for reference in css_references(f"src:{face.value}", declarations=True)]


def loaded_faces(text: str) -> Iterator[tuple[str, CodeRanges, list[str]]]:
    """Yield the fonts that browsers load where text of these code points has a family: URL, code points, selectors.

    Of the weights and styles of a family those of its first font count, whatever code points the others are for. The
    selectors are those of rules that name the family, in a property or variable; there are none where only other sheets
    can.
    """
    first, known = dict[str, tuple[str, ...]](), set[tuple[str, CodeRanges]]()
    faces = list(_faces_with_sources(text))
    rules = _style_rules(sheet_items(text)) if faces else ()
    values = [(text[rule.start : rule.prelude], text[rule.body : rule.close].lower()) for rule in rules]
    for face in faces:
        body, url, ranges = text[face.start : face.item.close], chosen_source(face.value), _range_of(text, face)
        family, look = font_family(body), tuple(_value(body, name) for name in ("font-weight", "font-style"))
        if not family or url is None or first.setdefault(family, look) != look or (family, ranges) in known:
            continue
        known.add((family, ranges))
        yield url, ranges, list(dict.fromkeys(selector for selector, value in values if family in value))


def idle_sources(text: str, is_shown: Callable[[CodeRanges], bool]) -> frozenset[int]:
    """Return where the sheet has the URLs of fonts that browsers do not load, most of the time.

    They choose one of a rule's files, and none where the code points of the rule are not shown. Of two rules with a
    file in common the second is for other characters.
    """
    idle, known = set[int](), set[str]()
    for face in _faces_with_sources(text):
        chosen = _chosen_reference(face.value)
        if chosen is None:
            continue
        found: dict[int, str] = {}
        for source in face.sources:
            place, value = face.start + source.body, text[face.start + source.body : face.start + source.close]
            references = css_references(f"src:{value}", declarations=True)
            found |= {place + each.start - len("src:"): each.url for each in references}
        if known.isdisjoint(found.values()) and is_shown(_range_of(text, face)):
            known.update(found.values())
            found.pop(face.place_of(chosen))
        idle.update(found)
    return frozenset(idle)


def set_font_display(text: str, display: str) -> str:
    """Return the sheet with ``font-display`` in the rules of fonts that have none (CSS Fonts 4, 11.1)."""
    pieces, position = [], 0
    for item in font_face_items(text):
        names = {each.name for each in declaration_items(text[item.body : item.close])}
        if "src" in names and "font-display" not in names:
            pieces += [text[position : item.body], f"font-display:{display};"]
            position = item.body
    return "".join([*pieces, text[position:]])


def replace_font_sources(text: str, replace: Callable[[str], str | None]) -> str:
    """Return the sheet with other fonts: ``replace`` gets the value of ``src``, and returns the address of a WOFF2.

    Local fonts of the value stay before it. With ``None`` the rule stays as it is.
    """
    pieces, position = [], 0
    for face in _faces_with_sources(text):
        last, url = face.sources[-1], replace(face.value)
        if url is None:
            continue
        for source in face.sources[:-1]:
            pieces.append(text[position : face.start + source.start])
            position = face.start + source.end
        written = ",".join([*_LOCAL.findall(face.value), f'url({url}) format("woff2")'])
        pieces += [text[position : face.start + last.body], written]
        position = face.start + last.close
    return "".join([*pieces, text[position:]])


def _faces_with_sources(text: str) -> Iterator[_Face]:
    for item in font_face_items(text):
        body = text[item.body : item.close]
        sources = tuple(each for each in declaration_items(body) if each.name == "src")
        if sources:
            yield _Face(item, sources, body[sources[-1].body : sources[-1].close])
