"""Scripts that read or write the addresses of images and style sheets.

In a page with such a script, images must not become data URIs, nor links style elements:
``img.src.replace("small", "large")`` would get another address than the author's. ``touches_addresses`` is the wide
question; ``image_changes`` is narrower, for pages in which an image keeps its ``src`` and gets a ``srcset``: a script
that writes ``src`` then has no effect, and one that makes "large.jpg" of "small.jpg" gets another name. Comparing,
logging and preloading addresses is harmless, and so are images that the script itself created.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from adaptc.formats.script.denoted_elements import NONE, Elements, Finder
from adaptc.formats.script.introspection import looks_for_style_sheets
from adaptc.formats.script.script import Script
from adaptc.formats.script.structure import Function, Span, Structure

_SOURCES = frozenset({"src", "srcset", "currentSrc"})
_SOURCE = r"(?:src|srcset|currentSrc)"
_TAKES_APART = frozenset({
    "replace", "replaceAll", "split", "substr", "substring", "slice", "match", "indexOf", "lastIndexOf", "search",
    "endsWith", "includes",
})  # fmt: skip
_SETS = frozenset({"setAttribute", "attr", "prop"})
_REMOVES = frozenset({"removeAttribute", "removeAttr"})
_READS = frozenset({"getAttribute", "attr", "prop"})
_MEMBERS = _SOURCES | _SETS | _REMOVES | _READS | {mark + name + mark for name in _SOURCES for mark in "\"'`"}
# In ``Script.code``: without it there is nothing to search for
_MAY_CHANGE = re.compile(
    rf'\.{_SOURCE}(?:\+?=(?![=>])|\.)|(?:[sg]etAttribute|removeA\w+|attr|prop)\("{_SOURCE}"'
    rf'|(?:attr|prop)\(\{{[^{{}}]*"?{_SOURCE}"?:|\["{_SOURCE}"\]'
)
_SPACE = re.compile(r"\s+")
# frame.src = "javascript:", String("java" + name + ":"): no address of an image. core-js opens such a frame.
_NO_ADDRESS = re.compile(r'(?:String\()?"java(?:script:|"\+[\w$]+\+":")')
# const s = document.createElement("script"), i = new Image: elements that the script creates
_CREATED = re.compile(r'(?<![\w$])([\w$]++)=(?:[\w$]++\.)*+(?:createElement\("\w+"\)|new Image\b(?!\.))')
_ASSIGNED = re.compile(r"(?<![\w$.])([\w$]+)=(?!=|>)")
# image.dataset.src, image.getAttribute("data-src"), $(this).data("src"), $(this).attr("data-src")
_DATA = r'\.(?:dataset\.[\w$]+|getAttribute\("data-[\w-]+"\)|data\("[\w-]+"\)|attr\("data-[\w-]+"\))'
_ANY_DATA = re.compile(rf"[\w$.()]+{_DATA}")


@dataclass(frozen=True, slots=True)
class ImageChanges:
    """The images whose addresses a script may write or take apart: those that ``selectors`` find, and ``others``.

    ``is_lazy`` says that it gives images the addresses in their ``data-`` attributes; such images are not among them.
    Nor are images that the script itself creates.
    """

    selectors: frozenset[str] = frozenset()
    others: bool = False
    is_lazy: bool = False


def image_changes(script: Script) -> ImageChanges:
    """Return whose addresses a script may change. The result errs on the side of more."""
    tokens = script.structure if _MAY_CHANGE.search(script.code) else None
    if tokens is None:
        return ImageChanges(others=_MAY_CHANGE.search(_SPACE.sub("", script.code)) is not None)
    elements, is_lazy = NONE, False
    for receiver, value in _changes(tokens):
        if value is not None and _is_own_data(tokens, receiver, value):
            is_lazy = True
        elif value is None or not _NO_ADDRESS.match(_code(tokens, value)):
            elements |= _receiver(tokens, receiver)
    return ImageChanges(elements.selectors, not elements.is_known, is_lazy)


def _changes(script: Structure) -> Iterator[tuple[Span, Span | None]]:
    """Yield what stands before ``.src`` and the like where it is changed, with the new value."""
    for place, text in enumerate(islice(script.tokens, 2, None), 1):
        if text in _MEMBERS and (end := _changed(script, place)) is not None:
            yield (script.chain_start(place), place), end


def _changed(script: Structure, place: int) -> Span | None:
    """Return the tokens of the new value if an address is changed by the member that starts at ``place``."""
    name, after = script.text(place + 1), script.text(place + 2)
    if script.text(place) in (".", "?.") and name in _SOURCES:
        return _written(script, place + 2)
    if script.text(place) == "[" and name[1:-1] in _SOURCES and after == "]":
        return _written(script, place + 3)
    if script.text(place) not in (".", "?.") or after != "(":
        return None
    arguments = script.arguments(place + 2)
    names = [script.text(start) for start in range(*arguments[0])] if arguments else []
    is_source = len(names) == 1 and names[0][1:-1] in _SOURCES
    if name in _SETS and is_source and len(arguments) > 1:
        return arguments[1]
    if (name in _REMOVES and is_source) or (
        name in _SETS and names[:1] == ["{"] and not _SOURCES.isdisjoint(_keys(names))
    ):
        return arguments[0]
    closing = script.pairs[place + 2]
    return _written(script, closing + 1) if name in _READS and is_source else None


def _keys(names: list[str]) -> Iterator[str]:
    return (name.strip("\"'") for name, after in pairwise(names) if after == ":")


def _written(script: Structure, place: int) -> Span | None:
    """Return the new value after an address, or its parts that are read."""
    if script.text(place) in ("=", "+=", "||=", "??="):
        return place + 1, script.expression_end(place + 1)
    if script.text(place) in (".", "?.") and script.text(place + 1) in _TAKES_APART and script.text(place + 2) == "(":
        return place, place
    return None


def _receiver(script: Structure, span: Span) -> Elements:
    """Return the elements before ``.src``. ``this`` in a method is an object of the script's own."""
    if span[1] - span[0] == 1 and script.text(span[0]) == "this":
        function = script.enclosing(span[0])
        if function is not None and not function.is_arrow and _is_method(script, function):
            return NONE
    return Finder(script).of(span)


def _is_method(script: Structure, function: Function) -> bool:
    before, name = script.text(function.start - 1), script.text(function.start - 2)
    return function.is_method or (before in ("=", ":") and not name.startswith("on"))


def _is_own_data(script: Structure, receiver: Span, value: Span) -> bool:
    """Whether an image gets the address in its own ``data-`` attribute, directly or through a variable."""
    image, address = _code(script, receiver), _code(script, value)
    if address.startswith(image) and re.fullmatch(_DATA, address[len(image) :]):
        return True
    function = script.enclosing(receiver[0])
    if function is None or value[1] - value[0] != 1 or not script.is_word(value[0]):
        return False
    places = list(script.assignments(function.body, address))
    values = (_code(script, (place + 2, script.expression_end(place + 2))) for place in places)
    return bool(places) and all(map(_ANY_DATA.fullmatch, values))


def _code(script: Structure, span: Span) -> str:
    return Script(" ".join(script.tokens[span[0] : span[1]])).code


def has_lazy_address(attributes: Mapping[str, Any]) -> bool:
    """Whether an image has a ``data-`` attribute that may be an address for a lazy loader."""
    values = (str(value) for name, value in attributes.items() if name.startswith("data-") and value)
    return any("/" in value or "." in value for value in values)


_IMAGE = r"(?:src|srcset|currentSrc|poster|imagesrcset|backgroundImage|background-image|listStyleImage)"

# Of href only writing counts, and selecting by a style sheet's name: scripts read the href of anchors, and
# ``looks_for_style_sheets`` covers links. Markup for new elements ("<img src=") affects no existing ones.
_TOUCHES = re.compile(
    "|".join([
        rf"\.{_IMAGE}\b",
        rf'"{_IMAGE}"(?!:)',
        rf"\[{_IMAGE}\b",
        r'[{,]"?(?:src|srcset|poster)"?:',
        r"\.href=(?!=)",
        r'"href",',
        r'[{,]"?href"?:(?!"#)',
        r'"href"\]=(?!=)',
        r"\[href[^\]\[]*\.css",
    ])
)  # fmt: skip

# Navigation to another page
_NAVIGATION = re.compile(r'\blocation(?:\.href\b|\["href"\])')


def touches_addresses(script: Script) -> bool:
    """Whether a script may read or write addresses of images or style sheets that it did not create.

    The result errs on the side of yes: it is true for a library such as jQuery, which does so for its callers.
    """
    if looks_for_style_sheets(script):
        return True
    code = _NAVIGATION.sub(" ", script.code)
    if not _TOUCHES.search(code):
        return False
    return _TOUCHES.search(_drop_created(code)) is not None


def _drop_created(code: str) -> str:
    """Remove ``name.src`` and ``name.href`` if every value of ``name`` is an element created there."""
    created, assigned = Counter(_CREATED.findall(code)), Counter(_ASSIGNED.findall(code))
    own = [name for name, count in created.items() if assigned[name] == count and not _is_parameter(code, name)]
    if not own:
        return code
    return re.sub(rf"(?<![\w$.])(?:{'|'.join(map(re.escape, own))})\.(?:src|href)\b", " ", code)


def _is_parameter(code: str, name: str) -> bool:
    """Whether a parameter has this name; it gets its value elsewhere."""
    own = re.escape(name)
    return re.search(rf"[(,]{own}(?:,[\w$,]*)?\)(?:=>|\{{)|(?<![\w$.]){own}=>", code) is not None
