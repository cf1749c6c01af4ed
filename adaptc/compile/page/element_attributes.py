"""The attributes of a ``<link>`` or ``<script>`` whose file moves into the page.

Those that say how to fetch the file mean nothing there. Those by which others know the element (an id, a class,
``data-`` attributes) go along. Where a script of the page looks the element up by one of them, the element stays:
the script may want the address. Any other attribute has a meaning of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext
from adaptc.formats.html.syntax import attribute_markup, split_tokens

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["carried_markup", "first_unusual", "is_carried"]

# How the file is fetched, and notes of generators that no browser reads
_FETCHING = frozenset({
    "as", "charset", "crossorigin", "fetchpriority", "importance", "integrity", "itemprop", "property",
    "referrerpolicy", "type",
})  # fmt: skip
_CARRIED = frozenset({"class", "id", "nonce", "title"})


def first_unusual(element: Element, meant: frozenset[str], page: PageContext) -> str | None:
    """Return the first attribute, by name, that keeps the element as it is; those in ``meant`` do not."""
    return min(_unusual(element, meant, page), default=None)


def _unusual(element: Element, meant: frozenset[str], page: PageContext) -> Iterator[str]:
    for name in set(element.attrs) - _FETCHING - meant:
        if not is_carried(name) or any(map(page.looks_up, _names(name, element.attr(name) or ""))):
            yield name


def is_carried(name: str) -> bool:
    """Whether an attribute goes along with the text of a file."""
    return name in _CARRIED or name.startswith("data-")


def _names(name: str, value: str) -> list[str]:
    """Return what a script would look the element up by."""
    return split_tokens(value) if name in ("id", "class") else [name] if name.startswith("data-") else []


def carried_markup(element: Element) -> str:
    """Return the markup of the attributes that go along, each after a space."""
    carried = ((name, str(element.attr(name) or "")) for name in element.attrs if is_carried(name))
    return "".join(f" {attribute_markup(name, value)}" for name, value in carried)
