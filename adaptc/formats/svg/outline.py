"""What must survive cleaning, as a value to compare: elements, attributes and texts without what may go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adaptc.formats.svg.kinds import EDITOR_NAMESPACES, VERBATIM, draws
from adaptc.formats.svg.parse import namespace

Entry = tuple[str, tuple[tuple[str, str], ...], str]


def outline(root: Any, shorten: Callable[[str], str]) -> list[Entry]:
    """Return each element in document order with its attributes and its own text, and where it closes.

    ``shorten`` respells path data, so that two spellings are one.
    """
    entries: list[Entry] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            entries.append((node, (), ""))
            continue
        entries.append((node.tag, _attributes(node, shorten), _own_text(node)))
        stack.append("/")
        stack += reversed([child for child in node if draws(child)])
    return entries


def _attributes(node: Any, shorten: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    kept = [
        (name, shorten(value) if name == "d" else value)
        for name, value in node.attrib.items()
        if namespace(name) not in EDITOR_NAMESPACES
    ]
    return tuple(sorted(kept))


def _own_text(node: Any) -> str:
    """Return the text directly in a node, with a mark where an element stands."""
    pieces = [node.text or ""]
    for child in node:
        pieces += ["\0" if draws(child) else "", child.tail or ""]
    text = "".join(pieces)
    return text if node.tag in VERBATIM else "\0".join(part.strip() for part in text.split("\0"))
