"""Writing a parsed SVG without what draws nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adaptc.formats.svg.kinds import EDITOR_NAMESPACES, VERBATIM, draws
from adaptc.formats.svg.parse import namespace


def write_smaller(root: Any, shorten: Callable[[str], str]) -> bytes:
    """Return the document as UTF-8 without XML declaration and DOCTYPE; ``root`` (lxml) is consumed.

    ``shorten`` respells path data.
    """
    from lxml import etree

    stack = [root]
    while stack:
        node = stack.pop()
        _clean_attributes(node, shorten)
        if node.tag not in VERBATIM:
            _clean_children(node)
        stack += [child for child in node if isinstance(child.tag, str)]
    etree.cleanup_namespaces(root)
    text = etree.tostring(root, encoding="unicode", with_tail=False)
    return text.encode()  # type: ignore[no-any-return]


def _clean_attributes(node: Any, shorten: Callable[[str], str]) -> None:
    for name in [name for name in node.attrib if namespace(name) in EDITOR_NAMESPACES]:
        del node.attrib[name]
    if "d" in node.attrib:
        node.set("d", shorten(node.get("d")))


def _clean_children(node: Any) -> None:
    """Remove the children that do not draw and the white space between the others; other text stays."""
    node.text = _text(node.text)
    previous = None
    for child in list(node):
        child.tail = _text(child.tail)
        if draws(child):
            previous = child
        else:
            _remove(node, previous, child)


def _remove(parent: Any, previous: Any, child: Any) -> None:
    """Remove ``child``; text behind it, which lxml keeps with it, moves to what is before it."""
    if child.tail and previous is not None:
        previous.tail = (previous.tail or "") + child.tail
    elif child.tail:
        parent.text = (parent.text or "") + child.tail
    parent.remove(child)


def _text(text: str | None) -> str | None:
    return text if text and text.strip(" \t\r\n") else None
