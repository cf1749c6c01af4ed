"""The rest of a page's sheets: it stays in their files until the page has a name that its rules need.

A rule cannot apply before the page has all names (of classes, ids, attributes, elements) that its selector requires.
Where scripts run, the rules go into the page all of whose names its markup has, or that are likely to come as it loads.
Each other rule lacks a name. A script (``wait.js``) waits for one of these in what other scripts insert and change, and
then links each whole sheet after its rules in the page. It repeats those in their order, so that the cascade is that of
the original at any time. So what nobody foresaw costs a request when it happens, and no rule.

The names are a Bloom filter: Bloom, B. H. "Space/time trade-offs in hash coding with allowable errors". Communications
of the ACM 13, 7 (1970). With 11 bits a name, 0.5 % of other names cost a request for nothing; those that the page is
known to have do not.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain

from adaptc.compile.passes.used_styles.page_styles import PageStyle
from adaptc.core.fs import package_file
from adaptc.core.values import dataclass
from adaptc.formats.css.prune import LivePruning
from adaptc.formats.html.syntax import attribute_markup

__all__ = ["LEAST_OF_SHEET", "Rest", "find_rest"]

_BITS_PER_NAME, _HASHES = 11, 8
# Compressed, a known name takes about as much as this many names in the filter
_NAMES_PER_KNOWN = 4
# Characters that must be saved: fewer are not worth the chance of another request
_FEWEST_SAVED = 1024
# The shares of a sheet, and of all that are cut, that must be saved, since one that comes after all comes whole
LEAST_OF_SHEET, _LEAST_SHARE = 0.125, 0.25
# Compressed, a character of the script takes as much as so many of a sheet
_SCRIPT_WEIGHT = 3
# What passes write into pages, and what is asked for elements without an id
_WRITTEN = (
    "#null", "html", "head", "body", "link", "style", "script", "picture", "source", "img", "[alt", "[async", "[class",
    "[data-used", "[decoding", "[defer", "[fetchpriority", "[height", "[href", "[id", "[loading", "[media", "[onerror",
    "[onload", "[rel", "[sizes", "[src", "[srcset", "[style", "[type", "[width",
)  # fmt: skip
# What may be closed, as ``wait.js`` knows it
_BOXES = frozenset({"dialog", "[popover"})
_SEPARATORS = re.compile(r"[\s\"',;:()]+")


@dataclass(frozen=True, slots=True)
class Rest:
    """What waits of the sheets of a page, whose ``texts`` are in the page, and the ``script`` that waits."""

    texts: tuple[str, ...]
    script: str

    @staticmethod
    def link(sheet: PageStyle) -> str:
        """Return the link to a sheet that waits: without a ``rel`` it loads nothing."""
        media = f" {attribute_markup('media', sheet.media)}" if sheet.media else ""
        return f"<link data-used {attribute_markup('href', sheet.element.attr('href') or '')}{media}>"


def find_rest(pruning: LivePruning, markup: Iterable[str], *, folds: bool) -> Rest | None:
    """Return what waits of the sheets of a page; ``None`` if that saves little.

    Of the names that a selector lacks, that one is waited for which most lack. ``markup`` are the names of the page's
    elements; with ``folds`` their case does not count.
    """
    if pruning.saved <= _FEWEST_SAVED:
        return None
    fold = str.lower if folds else str
    lacks = [[fold(name) for name in lacking] for lacking in pruning.lacking()]
    has = {fold(name) for name in (*_WRITTEN, *markup, *pruning.known)}
    keys, known = _keys(lacks, has)
    size = len(keys) * _BITS_PER_NAME | 1
    bits = _filter(keys, size)
    known |= {name for name in has - keys if any(_is_in(bits, size, each) for each in (name, *_beginnings(name)))}
    waiting = _script(
        BITS=b64encode(bits).decode(),
        SIZE=size,
        HASHES=_HASHES,
        KNOWN=" ".join(sorted(name for name in known if name.split() == [name])),
        WORDS=sorted({max(_SEPARATORS.split(name.lower()), key=len) for name in pruning.definitions}),
        HAS_WORDS=bool(pruning.definitions),
        IDS=any(key[0] == "#" for key in keys),
        FOLDS=folds,
        BOXES=not has.isdisjoint(_BOXES),
    )
    least = max(_FEWEST_SAVED + len(waiting), _LEAST_SHARE * pruning.cut_length + _SCRIPT_WEIGHT * len(waiting))
    return Rest(pruning.texts, waiting) if pruning.saved > least else None


def _most_shared(lacks: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return one name of each selector: that which most selectors lack."""
    counts = Counter(chain.from_iterable(lacks))
    return frozenset(max(lacking, key=lambda name: (counts[name], name)) for lacking in lacks)


def _keys(lacks: Sequence[Sequence[str]], has: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return what a filter has, names or what they begin with (``.carousel-``), and names of the page among those."""
    beginnings = _worthy_beginnings(set(chain.from_iterable(lacks)), has)

    def key_of(name: str) -> str:
        return next((each for each in _beginnings(name) if each in beginnings), name)

    keys = _most_shared([list(map(key_of, lacking)) for lacking in lacks])
    return keys, frozenset(name for name in has if not keys.isdisjoint(_beginnings(name)))


def _worthy_beginnings(lacking: Iterable[str], has: Iterable[str]) -> frozenset[str]:
    """Return the beginnings that are shorter in a page than the names that begin so, with those that it has."""
    sizes = Counter(chain.from_iterable(map(_beginnings, lacking)))
    sizes.subtract(each for name in has for each in _beginnings(name) for _ in range(_NAMES_PER_KNOWN))
    return frozenset(each for each, size in sizes.items() if size > 1)


def _beginnings(name: str) -> list[str]:
    """Return the beginnings of a name that a filter may have in its place, as in ``wait.js``."""
    first, last = name.find("-", 1), name.rfind("-")
    return [name[: place + 1] for place in ([first] if first == last else [first, last]) if place > 0]


def _filter(names: Iterable[str], size: int) -> bytearray:
    """Return a filter of ``size`` bits that has the names."""
    bits = bytearray(size // 8 + 1)
    for place in (each % size for name in names for each in _hashes(name)):
        bits[place >> 3] |= 1 << (place & 7)
    return bits


def _is_in(bits: bytearray, size: int, name: str) -> bool:
    places = (each % size for each in _hashes(name))
    return all(bits[place >> 3] >> (place & 7) & 1 for place in places)


@lru_cache(maxsize=1 << 16)
def _hashes(name: str) -> tuple[int, ...]:
    """Return the hashes of a name: FNV-1a of its characters, and what follows by multiplication."""
    value, hashes = 2166136261, []
    for character in name:
        value = (value ^ ord(character)) * 16777619 & 0xFFFFFFFF
    for _ in range(_HASHES):
        value = (value ^ value >> 15) * 739982445 & 0xFFFFFFFF
        hashes.append(value)
    return tuple(hashes)


_FLAGS = ("HAS_WORDS", "IDS", "FOLDS", "BOXES")
_PLACE = re.compile(rf"\b(?:{'|'.join(_FLAGS)}|BITS|SIZE|HASHES|KNOWN|WORDS)\b")


def _script(**values: object) -> str:
    """Return the script with values in the places of the names in capitals."""
    template = _template(*(values.get(name) is True for name in _FLAGS))
    return _PLACE.sub(lambda match: _literal(values[match[0]]), template)


def _literal(value: object) -> str:
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _template(*flags: bool) -> str:
    """Return the script without the parts that certain values need."""
    from turbohtml.clean import JSMinify, minify_js

    source = package_file(__package__, "wait.js").read_text("utf-8")
    values = dict(zip(_FLAGS, flags, strict=True))
    decided = _PLACE.sub(lambda match: _literal(values[match[0]]) if match[0] in values else match[0], source)
    return minify_js(decided, JSMinify(mangle=True, fold=True))
