"""Kinds of nodes: what draws, what only an editor reads, and where white space is text."""

from __future__ import annotations

from typing import Any

from adaptc.formats.svg.parse import SVG_NAMESPACE, namespace

# Elements whose content is kept as it is, comments and all: white space is text there (SVG 2, 11.7), or CSS.
VERBATIM = frozenset(
    f"{{{SVG_NAMESPACE}}}{name}" for name in ("text", "tspan", "textPath", "tref", "a", "title", "desc", "style")
)
_METADATA = f"{{{SVG_NAMESPACE}}}metadata"

# Drawing programs and the vocabulary of <metadata>: elements and attributes of these namespaces draw nothing.
EDITOR_NAMESPACES = frozenset({
    "http://creativecommons.org/ns#",
    "http://inkscape.sourceforge.net/DTD/sodipodi-0.dtd",
    "http://krita.org/namespaces/svg/krita",
    "http://ns.adobe.com/AdobeIllustrator/10.0/",
    "http://ns.adobe.com/AdobeSVGViewerExtensions/3.0/",
    "http://ns.adobe.com/Extensibility/1.0/",
    "http://ns.adobe.com/Flows/1.0/",
    "http://ns.adobe.com/Graphs/1.0/",
    "http://ns.adobe.com/ImageReplacement/1.0/",
    "http://ns.adobe.com/SaveForWeb/1.0/",
    "http://ns.adobe.com/Variables/1.0/",
    "http://ns.adobe.com/XPath/1.0/",
    "http://purl.org/dc/elements/1.1/",
    "http://schemas.microsoft.com/visio/2003/SVGExtensions/",
    "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd",
    "http://www.bohemiancoding.com/sketch/ns",
    "http://www.figma.com/figma/ns",
    "http://www.inkscape.org/namespaces/inkscape",
    "http://www.serif.com/",
    "http://www.vector.evaxdesign.sk",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "https://boxy-svg.com",
})  # fmt: skip


def draws(node: Any) -> bool:
    """Whether a node is an element that a renderer may look at."""
    if not isinstance(node.tag, str) or node.tag == _METADATA:
        return False
    return namespace(node.tag) not in EDITOR_NAMESPACES
