"""Make an SVG file smaller: remove what is not rendered, write path data in fewer characters.

The XML declaration, the DOCTYPE, comments, ``<metadata>``, elements and attributes of editors and white space
between elements are removed. The result is parsed and compared with the original: paths reach the same points, in
the single precision of browsers, or such as are off by no more than what was allowed. svgo was rejected: of 203
drawings of npm packages that browsers show before and after its default plugins, 141 had other pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from typing import Any

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.quantities import sent_size
from adaptc.core.values import dataclass
from adaptc.formats.svg.parse import (
    EDITOR_NAMESPACES,
    SVG_NAMESPACE,
    VERBATIM,
    XHTML_NAMESPACE,
    SvgMalformedError,
    allowed_shift,
    has_declarations,
    has_unknown_dtd,
    is_rendered,
    local_name,
    namespace,
    parse_svg,
)
from adaptc.formats.svg.paths import is_same_path, shorten_path


@dataclass(frozen=True, slots=True)
class CleanedSvg:
    """``content`` is the smaller file, or ``None`` if the original is kept; ``reason`` says why."""

    content: bytes | None
    reason: str
    diagnostics: tuple[Diagnostic, ...] = ()


def clean_svg(content: bytes, path: str, share: float = 0) -> CleanedSvg:
    """Return a smaller SVG file that renders the same, or the reason why there is none.

    With a ``share`` the points of filled paths may move by that share of the drawing's longer side.
    Ids, classes, references, texts, styles and all attributes except those of editors are kept. Diagnostics:
    ``svg-entity``, ``svg-malformed``, ``svg-unchanged``.
    """
    if has_declarations(content):
        return _unchanged(path, "svg-entity")
    try:
        root = parse_svg(content)
    except SvgMalformedError as error:
        return _unchanged(path, "svg-malformed", problem=error)
    if has_unknown_dtd(root):
        return _unchanged(path, "svg-entity")
    reason = _reason_to_keep(root)
    return (
        _unchanged(path, "svg-unchanged", reason=reason)
        if reason
        else _clean(content, root, path, allowed_shift(root, share))
    )


def _unchanged(path: str, kind: str, **fields: Any) -> CleanedSvg:
    diagnostic = diagnose(kind, Location(path), **fields)
    return CleanedSvg(None, diagnostic.message, (diagnostic,))


def _clean(content: bytes, root: Any, path: str, shift: float) -> CleanedSvg:
    expected = _outline(root)
    # Where no point may move, digits are saved by relative coordinates alone, and some texts compress worse with them
    shortens = [cache(partial(shorten_path, shift=shift, keeps_letters=kept)) for kept in {not shift, False}]
    cleaned = min((_serialise_smaller(deepcopy(root), shorten) for shorten in shortens), key=sent_size).encode()
    if not _is_same(expected, _outline(parse_svg(cleaned)), shift):
        return _unchanged(path, "svg-unchanged", reason="cleaning would change its elements, attributes or texts")
    if len(cleaned) >= len(content):
        return CleanedSvg(None, "already smallest")
    return CleanedSvg(cleaned, f"{len(content) - len(cleaned):,} bytes saved, drawing unchanged")


_ANIMATION = "it is animated"
_SCRIPT = "it contains a script"
_ELEMENTS = {
    "script": _SCRIPT,
    "handler": _SCRIPT,
    "listener": _SCRIPT,
    "foreignObject": "it contains foreign content",
    "animate": _ANIMATION,
    "animateColor": _ANIMATION,
    "animateMotion": _ANIMATION,
    "animateTransform": _ANIMATION,
    "discard": _ANIMATION,
    "set": _ANIMATION,
}
# Signs of selectors that depend on an element's position or on any attribute, of animations, and of @import, whose
# sheet may have either
_STYLE_SIGNS = (
    *("[", "+", "~", "@keyframes", "animation", "transition", "@import"),
    *(":first", ":last", ":nth", ":only", ":empty", ":has", ":not", ":is", ":where"),
)


def _reason_to_keep(root: Any) -> str | None:
    """Return why cleaning might change the rendering, to follow "is copied as it is:", or ``None``."""
    if root.tag != f"{{{SVG_NAMESPACE}}}svg":
        return "its root is no svg element"
    encoding = root.getroottree().docinfo.encoding
    if encoding and encoding.upper() not in ("UTF-8", "US-ASCII", "ASCII"):
        return f"its encoding is {encoding}"
    outside = [*root.itersiblings(preceding=True), *root.itersiblings()]
    nodes = (*outside, *root.iter())
    return next(filter(None, map(_reason_in, nodes)), None)


def _reason_in(node: Any) -> str | None:
    if not isinstance(node.tag, str):
        return "it contains a processing instruction" if getattr(node, "target", None) else None
    name = local_name(node.tag)
    if name in _ELEMENTS:
        return _ELEMENTS[name]
    if namespace(node.tag) == XHTML_NAMESPACE:
        return "it contains HTML"
    if any(attribute.startswith("on") for attribute in node.attrib):
        return _SCRIPT
    return _reason_in_style("".join(node.itertext())) if name == "style" else None


def _reason_in_style(text: str) -> str | None:
    lowered = text.lower()
    return "its style depends on more than ids and classes" if any(sign in lowered for sign in _STYLE_SIGNS) else None


_IDLE = frozenset({"enable-background"})
# Positions of the root have no effect, either (SVG 2, 8.2)
_IDLE_IN_ROOT = _IDLE | {"version", "baseProfile", "x", "y"}
_DESCRIPTION = f"{{{SVG_NAMESPACE}}}desc"
_Entry = tuple[str, tuple[tuple[str, str], ...], str]


def _outline(root: Any) -> list[_Entry]:
    """Return what cleaning must not change: the rendered elements with their attributes, texts and ends."""
    entries: list[_Entry] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            entries.append((node, (), ""))
            continue
        entries.append((node.tag, _attributes(node), _own_text(node)))
        stack.append("/")
        stack += reversed([child for child in node if _is_kept(child)])
    return entries


def _attributes(node: Any) -> tuple[tuple[str, str], ...]:
    idle = set(_idle_attributes(node))
    return tuple(sorted(item for item in node.attrib.items() if item[0] not in idle))


def _idle_attributes(node: Any) -> list[str]:
    """Return the names of attributes that no browser reads: those of editors, and of SVG 1.1 without an effect."""
    idle = _IDLE_IN_ROOT if node.getparent() is None else _IDLE
    return [name for name in node.attrib if name in idle or namespace(name) in EDITOR_NAMESPACES]


def _is_kept(node: Any) -> bool:
    """Whether a node is more than a note of editors: one that may be drawn, or a description."""
    is_note = node.tag == _DESCRIPTION and len(node) == 0 and (node.text or "").startswith("Created with ")
    return is_rendered(node) and not is_note


def _is_same(expected: list[_Entry], actual: list[_Entry], shift: float) -> bool:
    """Whether both are the same drawing, no point of a path off by more than ``shift``."""
    same_path = cache(partial(is_same_path, shift=shift))
    return len(expected) == len(actual) and all(
        one == other
        or (
            (one[0], one[2], len(one[1])) == (other[0], other[2], len(other[1]))
            and all(
                pair == changed or (pair[0] == changed[0] == "d" and same_path(pair[1], changed[1]))
                for pair, changed in zip(one[1], other[1], strict=True)
            )
        )
        for one, other in zip(expected, actual, strict=True)
    )


def _own_text(node: Any) -> str:
    """Return the text directly in a node, with NUL for each child element."""
    pieces = [node.text or ""]
    for child in node:
        pieces += ["\0" if _is_kept(child) else "", child.tail or ""]
    text = "".join(pieces)
    return text if node.tag in VERBATIM else "\0".join(part.strip() for part in text.split("\0"))


def _serialise_smaller(root: Any, shorten: Callable[[str], str]) -> str:
    """Return the cleaned document, to be UTF-8, without XML declaration and DOCTYPE; changes ``root`` (lxml)."""
    from lxml import etree

    stack = [root]
    while stack:
        node = stack.pop()
        _clean_attributes(node, shorten)
        if node.tag not in VERBATIM:
            _clean_children(node)
        stack += [child for child in node if isinstance(child.tag, str)]
    etree.cleanup_namespaces(root)
    text: str = etree.tostring(root, encoding="unicode", with_tail=False)
    return text


def _clean_attributes(node: Any, shorten: Callable[[str], str]) -> None:
    for name in _idle_attributes(node):
        del node.attrib[name]
    if "d" in node.attrib:
        node.set("d", shorten(node.get("d")))


def _clean_children(node: Any) -> None:
    """Remove children that are not rendered and white space between the others; other text is kept."""
    node.text = _without_blank(node.text)
    previous = None
    for child in list(node):
        child.tail = _without_blank(child.tail)
        if _is_kept(child):
            previous = child
        else:
            _remove(node, previous, child)


def _remove(parent: Any, previous: Any, child: Any) -> None:
    """Remove ``child``; the text after it, which lxml stores with it, moves to the node before it."""
    if child.tail and previous is not None:
        previous.tail = (previous.tail or "") + child.tail
    elif child.tail:
        parent.text = (parent.text or "") + child.tail
    parent.remove(child)


def _without_blank(text: str | None) -> str | None:
    return text if text and text.strip(" \t\r\n") else None
