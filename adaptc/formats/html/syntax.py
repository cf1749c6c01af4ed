"""The syntax of HTML below the tree: kinds of elements, attributes and text, ``srcset``, refresh, names of classes.

No function here parses a page, so that this module imports no parser.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache, lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

from adaptc.core.fs import package_file
from adaptc.core.values import dataclass, pattern

if TYPE_CHECKING:
    from turbohtml import Element

# Element names (WHATWG HTML, "writing HTML documents" and "parsing HTML documents")

VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
# Elements whose end tag may be left out: another tag, or the parent's end, closes them
IMPLIED_END = frozenset({
    "p", "li", "dt", "dd", "option", "optgroup", "rb", "rt", "rp", "rtc", "caption", "colgroup", "thead",
    "tbody", "tfoot", "tr", "td", "th", "head",
})  # fmt: skip
# Elements that may exist with no tag in the source at all
IMPLIED_START = frozenset({"html", "head", "body", "tbody", "colgroup", "tr"})
# Elements whose content is text without character references (noscript only with scripting)
RAW_TEXT = frozenset({"style", "script", "xmp", "iframe", "noembed", "noframes", "plaintext"})
# Elements whose start tag swallows a newline after it
DROPS_NEWLINE = frozenset({"pre", "textarea", "listing"})


# Sets of tokens (Infra, "strings": only these characters are white space, and only ASCII letters have a case)

ASCII_SPACE = "\t\n\f\r "
_TOKEN = pattern(r"[^\t\n\f\r ]+")
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def split_tokens(value: str) -> list[str]:
    """Split the value of an attribute such as ``class`` or ``rel`` into its tokens."""
    return _TOKEN.findall(value)


def ascii_lower(value: str) -> str:
    """Return a value in lower case as it is compared."""
    return value.lower() if value.isascii() else value.translate(_LOWER)


# Attributes and text as markup (WHATWG HTML, "attributes" and "serialising HTML fragments")

_ENDS_UNQUOTED = frozenset("\t\n\f\r \"'=<>`")


def attribute_markup(name: str, value: str | None, following: str = ">") -> str:
    """Return the shortest safe ``name=value``; ``following`` is the character after it.

    A value of ``None`` or ``""`` gives the name alone: both are the empty string in the tree.
    """
    if not value:
        return name
    written = _reference_safe(value)
    # "/" after an unquoted value would be read as a part of it.
    if _ENDS_UNQUOTED.isdisjoint(written) and following != "/":
        return f"{name}={written}"
    if written.count('"') > written.count("'"):
        return f"{name}='{written.replace(chr(39), '&#39;')}'"
    return f'{name}="{written.replace(chr(34), "&#34;")}"'


def attributes_markup(element: Element, names: Iterable[str]) -> str:
    """Write those of an element's attributes, each with a space before it."""
    attrs = element.attrs
    return "".join(" " + attribute_markup(name, element.attr(name)) for name in names if name in attrs)


def text_markup(text: str) -> str:
    """Escape text for a place where character references are resolved (elements, title, textarea)."""
    return _reference_safe(text).replace("<", "&lt;")


def resolve_references(text: str) -> str:
    """Return a text with its character references resolved."""
    from turbohtml import unescape

    return unescape(text)


def _reference_safe(text: str) -> str:
    """Escape ampersands, but only where one of them would be read as a reference; a CR would become a LF."""
    if "&" in text:
        from turbohtml import unescape

        text = text.replace("&", "&amp;") if unescape(text + ";") != text + ";" else text
    return text.replace("\r", "&#13;")


# srcset (WHATWG HTML, "parsing a srcset attribute")

_URL = pattern(r"[^\t\n\f\r ,][^\t\n\f\r ]*")  # after spaces and stray commas
# One descriptor: characters up to a space, parentheses and their content included.
_DESCRIPTOR = pattern(r"(?:[^\t\n\f\r ,(]|\([^)]*\)?)+")
_WIDTH = pattern(r"\d+w")
_HEIGHT = pattern(r"\d+h")
_DENSITY = pattern(r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?x")


@dataclass(frozen=True, slots=True)
class ImageCandidate:
    """One image of a srcset; ``descriptors`` as written: ``("200w",)``, ``("2x",)``, ``()``."""

    url: str
    descriptors: tuple[str, ...] = ()


def parse_srcset(value: str) -> list[ImageCandidate]:
    """Return the candidates that a browser considers, in order; not those with invalid descriptors."""
    candidates: list[ImageCandidate] = []
    position = 0
    while url := _URL.search(value, position):
        if url[0].endswith(","):
            candidates.append(ImageCandidate(url[0].rstrip(",")))
            position = url.end()
            continue
        descriptors, position = _read_descriptors(value, url.end())
        if _are_valid(descriptors):
            candidates.append(ImageCandidate(url[0], descriptors))
    return candidates


def serialise_srcset(candidates: Iterable[ImageCandidate]) -> str:
    """Write candidates so that ``parse_srcset`` reads them back; spaces and outer commas are escaped."""
    return ", ".join(" ".join((_escaped(candidate.url), *candidate.descriptors)) for candidate in candidates)


def _read_descriptors(value: str, position: int) -> tuple[tuple[str, ...], int]:
    """Read descriptors up to the comma that ends the candidate; return them and the offset after it."""
    descriptors: list[str] = []
    while position < len(value) and value[position] != ",":
        descriptor = _DESCRIPTOR.match(value, position)
        if descriptor:
            descriptors.append(descriptor[0])
        position = descriptor.end() if descriptor else position + 1
    return tuple(descriptors), position + 1


def _are_valid(descriptors: tuple[str, ...]) -> bool:
    widths = [float(d[:-1]) for d in descriptors if _WIDTH.fullmatch(d)]
    heights = [float(d[:-1]) for d in descriptors if _HEIGHT.fullmatch(d)]
    densities = [float(d[:-1]) for d in descriptors if _DENSITY.fullmatch(d)]
    if len(widths) + len(heights) + len(densities) != len(descriptors):
        return False
    if len(widths) > 1 or len(heights) > 1 or len(densities) > 1 or 0 in widths + heights:
        return False
    if densities:
        return not widths and not heights and densities[0] >= 0
    return bool(widths) or not heights


def _escaped(url: str) -> str:
    for space in ASCII_SPACE:
        url = url.replace(space, f"%{ord(space):02X}")
    inner = url.strip(",")
    leading = len(url) - len(url.lstrip(","))
    trailing = len(url) - len(inner) - leading
    return "%2C" * leading + inner + "%2C" * trailing


# The content of <meta http-equiv=refresh> (WHATWG HTML, "shared declarative refresh steps")

_OPTIONAL_SPACE = r"[\t\n\f\r ]*"
_REFRESH = pattern(
    rf"{_OPTIONAL_SPACE}(?P<seconds>\d+|(?=\.))[\d.]*"  # the time; what follows the first dot is ignored
    rf"(?:(?P<gap>{_OPTIONAL_SPACE}[;,]?{_OPTIONAL_SPACE})(?P<rest>.*))?",
    re.DOTALL,
)
_URL_PREFIX = pattern(rf"[uU][rR][lL]{_OPTIONAL_SPACE}={_OPTIONAL_SPACE}")


@dataclass(frozen=True, slots=True)
class Refresh:
    """A declarative refresh: whole seconds to wait, and the URL as written, or ``None`` for the page itself.

    ``start`` and ``end`` bound the URL in the content, so that it can be replaced.
    """

    seconds: int
    url: str | None
    start: int
    end: int


def parse_refresh(content: str) -> Refresh | None:
    """Parse the ``content`` attribute; ``None`` when a browser ignores it."""
    match = _REFRESH.match(content)
    if not match:
        return None
    seconds, rest, gap = int(match["seconds"] or 0), match["rest"], match["gap"]
    if rest and not gap:
        return None
    if not rest:
        return Refresh(seconds, None, len(content), len(content))
    start, end = _url_bounds(content, match.start("rest"))
    return Refresh(seconds, content[start:end], start, end)


def _url_bounds(content: str, start: int) -> tuple[int, int]:
    """Skip ``url =`` and a quote; a quoted URL ends at the same quote, any other at the end."""
    prefix = _URL_PREFIX.match(content, start)
    start = prefix.end() if prefix else start
    if content[start : start + 1] not in ("'", '"'):
        return start, len(content)
    closing = content.find(content[start], start + 1)
    return start + 1, closing if closing >= 0 else len(content)


# ---- the names that authors give elements: their classes, and the words of which classes and ids are made

_WORD = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def class_names(element: Element) -> list[str]:
    """Return the classes of an element, in their order."""
    return split_tokens(element.attr("class") or "")


def class_words(element: Element) -> tuple[str, ...]:
    """Return the words of an element's classes and id, in lower case: ``mainNav`` has "main" and "nav"."""
    return name_words(f"{element.attr('class') or ''} {element.attr('id') or ''}")


@lru_cache(maxsize=4096)
def name_words(names: str) -> tuple[str, ...]:
    """Return the words of names in lower case: ``siteLogo-small2`` is site, logo, small, 2."""
    return tuple(word.lower() for word in _WORD.findall(names))


def vocabulary(name: str) -> frozenset[str]:
    """Return the words that authors have for something (``rules/vocabulary.toml``)."""
    return frozenset(_vocabulary()[name])


@cache
def _vocabulary() -> dict[str, list[str]]:
    return tomllib.loads(package_file("adaptc.rules", "vocabulary.toml").read_text("utf-8"))
