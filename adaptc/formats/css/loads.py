"""The URLs of a style sheet that a browser may load."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from adaptc.core.model import Role
from adaptc.formats.css.font_faces import idle_sources
from adaptc.formats.css.references import css_references
from adaptc.formats.css.rules import Item, sheet_items

__all__ = ["loaded_urls"]


def loaded_urls(text: str) -> list[str]:
    """Return the URLs that a sheet may load, imported sheets left out, each once.

    Of several declarations of a property in one block the last wins: what the others name is not loaded. Nor are those
    files of a font that a browser does not choose, or in a second rule with the same file: for other characters.
    """
    references = [each for each in css_references(text) if each.role is not Role.IMPORT]
    spans = sorted(_overridden(sheet_items(text))) if references else []
    starts = [start for start, _ in spans]

    def is_overridden(position: int) -> bool:
        index = bisect_right(starts, position) - 1
        return index >= 0 and position < spans[index][1]

    idle = idle_sources(text)
    return list(dict.fromkeys(each.url for each in references if not (is_overridden(each.start) or each.start in idle)))


def _overridden(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """Yield the spans of declarations that a later one in the same block replaces."""
    last = {item.name: item for item in items if item.is_declaration}
    for item in items:
        if item.is_declaration and last[item.name] is not item:
            yield item.start, item.end
        yield from _overridden(item.items)
