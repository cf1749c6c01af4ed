"""The parser against a second engine (lexbor, by selectolax) and the expected trees of html5lib-tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborHTMLParser
from turbohtml import Comment, Doctype, DocumentFragment, Element, Namespace, Node, Text

from tests.samples.html5lib import DATA, sections

from adaptc.formats.html.document import parse


def outline(node: Node, depth: int = 0) -> Iterator[str]:
    """Write a tree as html5lib-tests does."""
    indent = "| " + "  " * depth
    if isinstance(node, DocumentFragment):
        yield indent + "content"
    elif isinstance(node, Element):
        prefix = {Namespace.HTML: "", Namespace.SVG: "svg ", Namespace.MATHML: "math "}[node.namespace]
        yield f"{indent}<{prefix}{node.tag}>"
        for name in sorted(node.attrs, key=lambda each: each.replace(":", " ")):
            shown = name.replace(":", " ") if name.startswith(("xlink:", "xml:", "xmlns:")) and prefix else name
            yield f'{indent}  {shown}="{node.attr(name)}"'
    elif isinstance(node, Comment):
        yield f"{indent}<!-- {node.data} -->"
    elif isinstance(node, Doctype):
        ids = f' "{node.public_id or ""}" "{node.system_id or ""}"'
        yield f"{indent}<!DOCTYPE {node.name}{ids if node.public_id or node.system_id else ''}>"
    elif isinstance(node, Text):
        yield f'{indent}"{node.data}"'
    for child in node.children:
        yield from outline(child, depth + 1)


def cases() -> Iterator[tuple[str, str]]:
    for path in sorted((DATA / "html5lib-tree").glob("*.dat")):
        for case in sections(path):
            if "document-fragment" not in case and "script-on" not in case:
                yield (
                    case["data"].decode("utf-8", "replace"),
                    case["document"].decode("utf-8", "replace").strip("\n"),
                )


def test_expected_trees() -> None:
    """The copy of html5lib-tests is of 2020; the standard has changed since for some thirty of them."""
    tried = list(cases())
    wrong = [
        text
        for text, expected in tried
        if "\n".join(line for child in parse(text).children for line in outline(child)) != expected
    ]
    assert len(tried) > 1200
    assert len(wrong) < 0.04 * len(tried), wrong[:20]


def test_a_second_engine_builds_the_same_body() -> None:
    differs = [text for text, _ in islice(cases(), 0, None, 3) if not agree(text)]
    assert len(differs) < 25, differs


def agree(text: str) -> bool:
    body = LexborHTMLParser(text).body
    ours = parse(text).select("body")
    if body is None or not ours or ours[0].parent is None:
        return True
    return [node.tag.lower() for node in ours[0].select("*")] == [
        node.tag.lower() for node in body.css("*") if node.mem_id != body.mem_id
    ]
