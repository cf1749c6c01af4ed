"""The part of a page that a framework serves: where controls do nothing once it is not hydrated."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adaptc.formats.html.class_names import class_names

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["Scope"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The elements that are hydrated, by their ``roots``; ``names`` are those that the page's other scripts know."""

    roots: Sequence[Element]
    names: Container[str]

    def is_hydrated(self, element: Element) -> bool:
        """Whether an element is in such a part, and no other script knows its id or one of its classes."""
        return self._is_inside(element) and not any(name in self.names for name in _names(element))

    def _is_inside(self, element: Element) -> bool:
        lineage = {element, *element.ancestors}
        return any(root in lineage for root in self.roots)


def _names(element: Element) -> list[str]:
    return [*class_names(element), *filter(None, [element.attr("id")])]
