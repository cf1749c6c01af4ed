"""Why a well-formed SVG is left as it is: anything that could look at what cleaning removes."""

from __future__ import annotations

from typing import Any

from adaptc.formats.svg.parse import SVG_NAMESPACE, XHTML_NAMESPACE, local_name, namespace

_ANIMATION = "it is animated"
_SCRIPT = "it holds a script"
_ELEMENTS = {
    "script": _SCRIPT,
    "handler": _SCRIPT,
    "listener": _SCRIPT,
    "foreignObject": "it holds foreign content",
    "animate": _ANIMATION,
    "animateColor": _ANIMATION,
    "animateMotion": _ANIMATION,
    "animateTransform": _ANIMATION,
    "discard": _ANIMATION,
    "set": _ANIMATION,
}
# Marks of selectors that see an element's place or any attribute, and of styles that move; @import hides
# either.
_STYLE_MARKS = (
    *("[", "+", "~", "@keyframes", "animation", "transition", "@import"),
    *(":first", ":last", ":nth", ":only", ":empty", ":has", ":not", ":is", ":where"),
)


def reason_to_leave(root: Any) -> str | None:
    """Return why the document is left, in words that follow "is copied as it is:", or ``None``."""
    if root.tag != f"{{{SVG_NAMESPACE}}}svg":
        return "its root is no svg element"
    encoding = root.getroottree().docinfo.encoding
    if encoding and encoding.upper() not in ("UTF-8", "US-ASCII", "ASCII"):
        return f"its encoding is {encoding}"
    outside = [*root.itersiblings(preceding=True), *root.itersiblings()]
    nodes = (*outside, *root.iter())
    return next(filter(None, map(_reason_of, nodes)), None)


def _reason_of(node: Any) -> str | None:
    if not isinstance(node.tag, str):
        return "it holds a processing instruction" if getattr(node, "target", None) else None
    name = local_name(node.tag)
    if name in _ELEMENTS:
        return _ELEMENTS[name]
    if namespace(node.tag) == XHTML_NAMESPACE:
        return "it holds HTML"
    if any(attribute.startswith("on") for attribute in node.attrib):
        return _SCRIPT
    return _reason_of_style("".join(node.itertext())) if name == "style" else None


def _reason_of_style(text: str) -> str | None:
    lowered = text.lower()
    return "its style depends on more than ids and classes" if any(m in lowered for m in _STYLE_MARKS) else None
