"""The references of an SVG file: links, images, scripts, style sheets and ``url()``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from adaptc.core.model import Reference, Role
from adaptc.formats.css.references import css_references
from adaptc.formats.svg.parse import XLINK_HREF, SvgMalformedError, local_name, parse_svg

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
