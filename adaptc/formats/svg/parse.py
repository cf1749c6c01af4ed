"""SVG as XML, without loading or expanding anything from outside the file: its nodes, its scale and its references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import hypot, inf, isfinite
from typing import Any

from adaptc.core.model import Reference, Role
from adaptc.core.shortage import raise_shortage
from adaptc.formats.css.references import css_references

SVG_NAMESPACE = "http://www.w3.org/2000/svg"
XHTML_NAMESPACE = "http://www.w3.org/1999/xhtml"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"

# Declarations of a DTD that change the document. They are refused in a comment too, where they are harmless.
_DECLARATIONS = (b"<!ENTITY", b"<!ATTLIST", b"<!ELEMENT", b"<!NOTATION")
# Drawing programs write the DTD of SVG 1.0 or 1.1 into each file; no browser loads it, and it declares no entity.
_KNOWN_DTD = "http://www.w3.org/"


class SvgMalformedError(ValueError):
    """The content is not well-formed XML; the message is the parser's."""


def parse_svg(content: bytes, *, recover: bool = False) -> Any:
    """Return the root element (lxml).

    Entities are not expanded, no DTD is loaded, nothing is fetched, and libxml2's limits on depth, length and
    amplification are on. Raises ``SvgMalformedError``, with ``recover`` only if there is no element at all.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        attribute_defaults=False,
        dtd_validation=False,
        recover=recover,
        strip_cdata=False,
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise_shortage(error)
        raise SvgMalformedError(error.msg or "empty") from None
    if root is None:
        raise SvgMalformedError("no element")
    return root


def has_declarations(content: bytes) -> bool:
    """Whether the file may declare entities or default attributes; to be checked before parsing it."""
    return any(declaration in content for declaration in _DECLARATIONS)


def has_unknown_dtd(root: Any) -> bool:
    """Whether the DOCTYPE names an external DTD other than those of SVG itself."""
    url = root.getroottree().docinfo.system_url
    return bool(url) and not url.startswith(_KNOWN_DTD)


def local_name(tag: str) -> str:
    """Return a tag without its namespace."""
    return tag.rpartition("}")[2]


def namespace(tag: str) -> str:
    """Return the namespace of a tag or an attribute, empty if it has none."""
    return tag[1:].partition("}")[0] if tag.startswith("{") else ""


# Elements whose content must not change: white space is text there (SVG 2, section 11.7), or it is CSS.
VERBATIM = frozenset(
    f"{{{SVG_NAMESPACE}}}{name}" for name in ("text", "tspan", "textPath", "tref", "a", "title", "desc", "style")
)
_METADATA = f"{{{SVG_NAMESPACE}}}metadata"

# Namespaces of drawing programs and of <metadata>: their elements and attributes draw nothing.
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


def is_rendered(node: Any) -> bool:
    """Whether a node is an element that may affect the rendering."""
    if not isinstance(node.tag, str) or node.tag == _METADATA:
        return False
    return namespace(node.tag) not in EDITOR_NAMESPACES


# ---- How far the points of paths may move, where the level allows it

# A number, in path data too (SVG 2, section 9.3)
NUMBER = r"([+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
# Elements that neither draw paths at other sizes than the drawing's, nor by thresholds (filters, markers)
_PLAIN = frozenset(
    f"{{{SVG_NAMESPACE}}}{name}"
    for name in (
        *("g", "path", "rect", "circle", "ellipse", "line", "polygon", "polyline", "defs", "use", "clipPath", "mask"),
        *("linearGradient", "radialGradient", "stop", "style", "title", "desc", "image", "text", "tspan"),
    )
)
_REUSED = frozenset(f"{{{SVG_NAMESPACE}}}{name}" for name in ("use", "clipPath", "mask"))
_UNSURE_ATTRIBUTES = frozenset({
    *("filter", "shape-rendering", "marker-start", "marker-mid", "marker-end", "clipPathUnits", "maskUnits"),
    "maskContentUnits",
})  # fmt: skip
# Joins and ends of a stroke may look different where a line turns a little
_UNSURE_STYLE = re.compile(
    r"transform|zoom|scale|rotate|filter|marker|shape-rendering|path\s*\(|/\*|\\\\|stroke\s*:(?!\s*none)", re.IGNORECASE
)
_TRANSFORM = re.compile(r"(translate|rotate|scale|matrix)\s*\(([^()]*)\)[\s,]*")
_LENGTH = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(?:px)?")


def allowed_shift(root: Any, share: float) -> float:
    """Return how far a path's point may move in its own coordinates: ``share`` of the drawing's longer side, or 0."""
    nodes = [node for node in root.iter() if is_rendered(node)] if share else []
    if not nodes or not all(map(_is_plain, nodes[1:])) or _is_unsure(root):
        return 0
    scales: dict[Any, float] = {}
    for node in nodes:
        scales[node] = scales.get(node.getparent(), 1) * _scale(node.get("transform", ""))
    if not all(map(isfinite, scales.values())):
        return 0
    drawn = [scale for node, scale in scales.items() if "d" in node.attrib]
    if any(node.tag in _REUSED for node in nodes):
        # Drawn again within elements with transforms of their own
        drawn = [1 if max(scales.values()) <= 1 else inf]
    return share * _size(root) / (max(drawn, default=inf) or inf)


def _is_plain(node: Any) -> bool:
    return node.tag in _PLAIN and not _is_unsure(node)


def _is_unsure(node: Any) -> bool:
    style = node.text or "" if node.tag.endswith("}style") else node.get("style", "")
    is_stroked = node.get("stroke", "none") != "none"
    return is_stroked or bool(_UNSURE_ATTRIBUTES & set(node.attrib)) or _UNSURE_STYLE.search(style) is not None


def _scale(transform: str) -> float:
    """Return by how much a transform makes lengths longer at most; infinite if that is not known."""
    scale, end, text = 1.0, 0, transform.strip()
    while end < len(text):
        found = _TRANSFORM.match(text, end)
        if found is None:
            return inf
        end = found.end()
        numbers = [float(number) for number in re.findall(NUMBER, found[2])]
        if found[1] in ("scale", "matrix"):
            scale *= hypot(*numbers[:4]) if found[1] == "matrix" else max(map(abs, numbers), default=inf)
    return scale


def _size(root: Any) -> float:
    """Return the longer side of the drawing, in its own coordinates; 0 if it is not known."""
    ratio = root.get("preserveAspectRatio", "")
    if "none" in ratio or "slice" in ratio:
        return 0
    sides = root.get("viewBox", "").replace(",", " ").split()[2:] or [root.get("width", ""), root.get("height", "")]
    found = [_LENGTH.fullmatch(side) for side in sides]
    known = [float(side[1]) for side in found if side]
    return max(known) if len(known) == len(sides) == 2 else 0


# ---- The references of an SVG file: links, images, scripts, style sheets and ``url()``

_HREFS = ("href", XLINK_HREF)
_ROLES = {
    "a": Role.LINK,
    "image": Role.IMAGE,
    "feImage": Role.IMAGE,
    "use": Role.IMAGE,
    "script": Role.SCRIPT,
    "link": Role.STYLESHEET,  # XHTML in foreignObject
    "img": Role.IMAGE,
    "iframe": Role.FRAME,
    "embed": Role.OBJECT,
    "video": Role.MEDIA,
    "audio": Role.MEDIA,
    "source": Role.MEDIA,
    "track": Role.MEDIA,
}
# The href of other elements is one to inherit from or to draw along: a gradient, a pattern, a path.
_OTHER_ROLE = Role.OBJECT
_SRC_ELEMENTS = frozenset({"script", "img", "iframe", "embed", "video", "audio", "source", "track"})
_PSEUDO_HREF = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')""")  # xml-stylesheet, section 3


def svg_references(content: bytes) -> list[Reference]:
    """Return the references of an SVG file in document order; of a malformed file what can be parsed.

    URLs are as written, including those of fragments of the file itself. ``line`` is that of the element and
    ``column`` is 1, since lxml has no columns.
    """
    try:
        root = parse_svg(content, recover=True)
    except SvgMalformedError:
        return []
    return [*_stylesheets(root), *(reference for node in root.iter() for reference in _node_references(node))]


def _stylesheets(root: Any) -> Iterator[Reference]:
    """Yield the ``<?xml-stylesheet?>`` instructions, which precede the root."""
    for node in reversed(list(root.itersiblings(preceding=True))):
        target = getattr(node, "target", None)
        href = _PSEUDO_HREF.search(node.text or "") if target == "xml-stylesheet" else None
        if href is not None:
            yield Reference(Role.STYLESHEET, href[1] or href[2] or "", "xml-stylesheet", node.sourceline or 1, 1)


def _node_references(node: Any) -> Iterator[Reference]:
    if not isinstance(node.tag, str):  # a comment, an instruction or an entity
        return
    name, line = local_name(node.tag), node.sourceline or 1
    for attribute, value in node.attrib.items():
        yield from _attribute_references(name, attribute, value, line)
    if name == "style":
        for reference in css_references("".join(node.itertext())):
            yield Reference(reference.role, reference.url, "svg style", line + reference.line - 1, reference.column)


def _attribute_references(name: str, attribute: str, value: str, line: int) -> Iterator[Reference]:
    if attribute in _HREFS:
        yield Reference(_ROLES.get(name, _OTHER_ROLE), value, f"svg {name} href", line, 1)
    elif attribute == "src" and name in _SRC_ELEMENTS:
        yield Reference(_ROLES[name], value, f"svg {name} src", line, 1)
    elif "(" in value:
        text = value if attribute == "style" else f"{local_name(attribute)}:{value}"
        for reference in css_references(text, declarations=True):
            yield Reference(reference.role, reference.url, f"svg {name} {local_name(attribute)}", line, 1)
