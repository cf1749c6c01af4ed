"""The images of a page whose addresses its scripts may change, one by one; what a known library loads late is known.

An image is touched if a selector by which a script finds what it changes finds the image, or if its own event handler
changes it. Where a script changes elements that it gets from elsewhere (a plug-in), those images are touched that any
script of the page may hand over: it names them, or an element around them, in a selector.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext
from adaptc.formats.css.selectors import static_selectors
from adaptc.formats.html.syntax import split_tokens
from adaptc.formats.script.addresses import ImageChanges
from adaptc.formats.script.facts import ScriptFacts
from adaptc.formats.script.lookups import Handles, union_of

if TYPE_CHECKING:
    from turbohtml import Document, Element

# The reasons for an action
TOUCHED = "a script may change its address"
BY_ADDRESS = "a style sheet selects images by their addresses"

_SELF = ":scope"
# Classes that scripts give to one element after the other
STATE_CLASSES = r"(?:in|on|hover|(?:is|has|js)-[\w-]+|[\w-]*(?:active|current|focus|open|select|selected|show|visible))"
_STATE = re.compile(rf"\.{STATE_CLASSES}\Z")
_COMPOUND = re.compile(r"(\s*[>+~]\s*|\s+)")
_SIMPLE = re.compile(r"[.#](?:[\w-]|\\.|[^\x00-\x7f])+|\[[^\]]*\]|[^.#\[]+")


class TouchedImages:
    """The images of one page that its scripts may change.

    With ``by_any_name`` every script counts as one that changes images that it gets from elsewhere.
    """

    def __init__(self, tree: Document, page: PageContext, *, by_any_name: bool = False) -> None:
        self.tree = tree
        changing = {script: facts for script, facts in page.scripts.items() if facts.image_changes != ImageChanges()}
        self.elements: set[Element] = set()
        self.handles: Handles | None = None
        if changing:
            self._search(page, changing)
        if by_any_name:
            self._add_named(page)

    def includes(self, image: Element) -> bool:
        """Whether a script may change the address of an image, or of the ``<picture>`` around it."""
        if image in self.elements or image.parent in self.elements:
            return True
        return self.handles is not None and any(map(self._is_named, (image, *image.ancestors)))

    def _search(self, page: PageContext, changing: Mapping[str | bytes, ScriptFacts]) -> None:
        handled = {element: _handler(element) for element in self.tree.select("*") if _handler(element)}
        scripts = changing.keys() - set(handled.values())
        selectors = {selector for script in scripts for selector in changing[script].image_changes.selectors} - {_SELF}
        self._select(selectors)
        for element, text in handled.items():
            if text in changing:
                self._add_handler(element, changing[text].image_changes.selectors)
        if any(facts.image_changes.others for facts in changing.values()):
            self._add_named(page)

    def _add_named(self, page: PageContext) -> None:
        """Add what any script names, and what an event handler may lead to."""
        self.handles = union_of([facts.handles for facts in page.scripts.values()])
        self._select(self.handles.selectors)
        handled = (element for element in self.tree.select("*") if _handler(element))
        self.elements.update(element for each in handled for element in (each, *each.find_all("img")))

    def _add_handler(self, element: Element, selectors: Iterable[str]) -> None:
        """Add what the handler of an element changes: itself, and what selectors find in it."""
        for selector in selectors:
            if selector.startswith(_SELF):
                self.elements.update((element, *element.find_all("img")) if selector != _SELF else (element,))
        self._select(selector for selector in selectors if not selector.startswith(_SELF))

    def _select(self, selectors: Iterable[str]) -> None:
        for selector in sorted(selectors):
            for static in static_selectors(selector) or ("img",):
                present = self._present(static)
                if present:
                    self.elements.update(self.tree.select(present))

    def _present(self, selector: str) -> str:
        """Return a selector without states; empty if it names what the page does not have, and a script may make."""
        parts = [part if _COMPOUND.fullmatch(part) else self._compound(part) for part in _COMPOUND.split(selector)]
        return "".join(parts) if all(parts) else ""

    def _compound(self, text: str) -> str:
        lasting = [part for part in _SIMPLE.findall(text) if not _STATE.match(part)]
        if any(part[0] in ".#[" and self.tree.select_one(part) is None for part in lasting):
            return ""
        return "".join(lasting) or "*"

    def _is_named(self, element: object) -> bool:
        """Whether a selector names an element; those for the whole page say nothing of an image."""
        attributes = getattr(element, "attrs", None)
        if not attributes or self.handles is None or getattr(element, "tag", "") in ("html", "body"):
            return False
        names = self.handles
        return (
            str(attributes.get("id")) in names.ids
            or str(attributes.get("name")) in names.ids
            or not names.classes.isdisjoint(_class_names(attributes.get("class")))
            or any(name in names.attributes for name in attributes if name not in ("id", "class", "src", "alt"))
        )


def _class_names(value: object) -> Iterator[str]:
    yield from (
        split_tokens(value) if isinstance(value, str) else map(str, value) if isinstance(value, (list, tuple)) else ()
    )


def _handler(element: Element) -> str:
    """Return the event handlers of an element as ``PageContext.scripts`` has them."""
    return ";".join(str(value) for name, value in element.attrs.items() if name.startswith("on"))


# ---- Images that a known library loads late: it copies ``data-src`` to ``src``, and ``data-srcset`` to ``srcset``
# Of lazysizes, lozad and vanilla-lazyload that is known. Others, which copy the address alone, leave no way to say
# the size of a smaller copy.

# What the text of each library holds
_MARKS = (
    ("lazySizesConfig", 'srcsetAttr:"data-srcset"'),
    ("lozad", 'getAttribute("data-srcset")'),
    ('data_src:"src"', 'data_srcset:"srcset"'),
)
_LARGEST = 40_000  # characters of a library: a larger file has other code as well
_SPACE = re.compile(r"\s+")
_READS = re.compile(r"""data-src\b|\bdataset\.src\b|\bdata\(\s*["']src["']""")
_OTHER = frozenset({"srcset", "sizes", "data-srcset", "data-sizes"})


def without_lazy_loader(page: PageContext) -> PageContext | None:
    """Return the page with its other scripts, ``None`` if it has no such library or another script reads ``data-src``.

    The library changes no other image, and the address of the ones that it loads in no other way.
    """
    others = {script: facts for script, facts in page.scripts.items() if not _is_loader(script)}
    if len(others) == len(page.scripts) or any(map(_reads_source, others)):
        return None
    return replace(page, scripts=others)


def lazy_source(image: Element) -> str | None:
    """Return the address that the library gives an image, ``None`` if there is a choice of others."""
    return None if not _OTHER.isdisjoint(image.attrs) else image.attr("data-src")


@lru_cache(maxsize=256)
def _is_loader(script: str | bytes) -> bool:
    if len(script) > _LARGEST:
        return False
    code = _SPACE.sub("", _text(script)).replace("'", '"')
    return any(all(mark in code for mark in marks) for marks in _MARKS)


@lru_cache(maxsize=256)
def _reads_source(script: str | bytes) -> bool:
    return _READS.search(_text(script)) is not None


def _text(script: str | bytes) -> str:
    return script if isinstance(script, str) else script.decode("utf-8", "replace")
