"""SVG as XML, without loading or expanding anything from outside the file: its nodes and its references."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
