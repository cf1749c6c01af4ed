"""The place of a page's encoding declaration: browsers look for it in the first 1,024 bytes (WHATWG HTML, 4.2.5.4)."""

from __future__ import annotations

from dataclasses import replace

from turbohtml import Document, Element

from adaptc.formats.html.encoding import PRESCANNED, declared_label, early_encoding
from adaptc.formats.html.mutate import Edits, ElementEdits

__all__ = ["is_pushed_back", "move_to_front"]


def is_pushed_back(before: str, after: str) -> bool:
    """Whether edits pushed the declaration out of the first 1,024 bytes."""
    if before[:PRESCANNED] == after[:PRESCANNED]:
        return False
    early = _early(before)
    return early is not None and _early(after) != early


def _early(text: str) -> str | None:
    return early_encoding(text[:PRESCANNED].encode("utf-8", "replace"))


def move_to_front(text: str, tree: Document, edits: Edits) -> Edits:
    """Return edits that also put the declaring ``<meta>`` before all other elements of the head.

    The edits are returned as they are where it is there already, or is not in the head, or is edited itself.
    """
    meta = next((element for element in tree.iter_elements("meta") if _declares(element)), None)
    head = meta.parent if meta is not None else None
    if meta is None or meta in edits or not isinstance(head, Element) or head.tag != "head":
        return edits
    first = next(child for child in head.children if isinstance(child, Element))
    location = meta.source_location
    if first == meta or first.source_location is None or location is None:
        return edits
    markup = text[location.start_tag.start_offset : location.start_tag.end_offset]
    others = edits.get(first) or ElementEdits()
    return {**edits, meta: ElementEdits(replacement=""), first: replace(others, before=markup + others.before)}


def _declares(meta: Element) -> bool:
    return declared_label(meta.attr("charset"), meta.attr("http-equiv"), meta.attr("content")) is not None
