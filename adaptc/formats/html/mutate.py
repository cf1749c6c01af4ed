"""Edits as values, and their meaning: a mutation of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from turbohtml import Document, DocumentFragment, Element, Namespace, Node, Text, parse_fragment


class ImpossibleEdit(Exception):
    """The tree has no place for this edit."""


@dataclass(frozen=True, slots=True)
class AttributeRemoval:
    """Marks an attribute that is to be removed."""


REMOVED: Final = AttributeRemoval()


@dataclass(slots=True)
class ElementEdits:
    """The edits of one element; markup inserted at one place is in the order of the calls.

    ``replacement`` replaces the element with its content; ``raw`` its content alone.
    """

    attributes: dict[str, str | AttributeRemoval | None] = field(default_factory=dict)
    raw: str | None = None
    replacement: str | None = None
    before: str = ""
    after: str = ""
    appended: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is no edit."""
        texts = (self.before, self.after, self.appended)
        return not (self.attributes or any(texts)) and self.raw is None and self.replacement is None


Edits = dict[Element, ElementEdits]


def effective_edits(edits: Edits) -> Edits:
    """Drop edits that do nothing, and those inside of an element that is removed or gets other content."""
    replaced = {element for element, edit in edits.items() if edit.replacement is not None or edit.raw is not None}
    return {
        element: edit
        for element, edit in edits.items()
        if not edit.is_empty and not (replaced and any(ancestor in replaced for ancestor in element.ancestors))
    }


def mutate(edits: Edits, counterpart: Callable[[Element], Element | None], *, scripting: bool) -> None:
    """Apply edits to the tree of the elements that ``counterpart`` returns; ``None`` leaves an edit out.

    Raises ``ImpossibleEdit``.
    """
    targets = [(counterpart(element), edit) for element, edit in edits.items()]
    changed = [
        parent for target, edit in targets if target is not None for parent in _mutate_element(target, edit, scripting)
    ]
    for parent in dict.fromkeys(changed):  # once each: a list may lose a thousand items
        merge_texts(parent)


def _mutate_element(target: Element, edit: ElementEdits, scripting: bool) -> Iterator[Node]:
    """Do the edits of one element; yield the nodes whose children changed."""
    yield from _mutate_content(target, edit, scripting)
    parent = target.parent
    if not (edit.before or edit.after or edit.replacement is not None):
        return
    if parent is None or isinstance(parent, Document):
        raise ImpossibleEdit("nothing can be inserted next to the root element")
    _insert(parent, edit.before, target.insert_before, scripting)
    if edit.replacement is not None:
        _insert(parent, edit.replacement, target.insert_before, scripting)
    _insert(parent, edit.after, target.insert_after, scripting)
    if edit.replacement is not None:
        target.decompose()
    yield parent


def _mutate_content(target: Element, edit: ElementEdits, scripting: bool) -> Iterator[Node]:
    for name, value in edit.attributes.items():
        if isinstance(value, AttributeRemoval):
            target.attrs.pop(name, None)
        else:
            target.attrs[name] = value or ""
    if edit.raw is not None:
        target.clear()
        if edit.raw:
            target.append(Text(edit.raw))
        return
    if edit.appended:
        content = content_node(target)
        for node in _nodes(edit.appended, content, scripting):
            content.append(node)
        yield content


def content_node(element: Element) -> Element | DocumentFragment:
    """Return the node that holds an element's content: for a template its fragment."""
    first = element.children[0] if element.tag == "template" and element.children else None
    return first if isinstance(first, DocumentFragment) else element


def _insert(parent: Node, html: str, put: Callable[..., None], scripting: bool) -> None:
    if html:
        put(*_nodes(html, parent, scripting))


def _nodes(html: str, context: Node, scripting: bool) -> list[Node]:
    """Parse markup as the content of ``context`` and return its nodes, detached."""
    if not html:
        return []
    if isinstance(context, Element) and context.namespace is not Namespace.HTML:
        return _foreign_nodes(html, context)
    tag = _fragment_context(context.tag) if isinstance(context, Element) else "template"
    holder = parse_fragment(html, tag, scripting=scripting, allow_declarative_shadow_roots=False)
    return _detached(holder.children)


@lru_cache(maxsize=256)
def _fragment_context(tag: str) -> str:
    """Return a context in which turbohtml parses fragments as in ``tag``: it refuses a name that it does not know.

    The fragment parsing algorithm treats such an element (``my-app``, ``o:p``) as it treats a div (WHATWG HTML,
    "reset the insertion mode appropriately").
    """
    try:
        parse_fragment("", tag)
    except ValueError:
        return "div"
    return tag


def _foreign_nodes(html: str, context: Element) -> list[Node]:
    """Parse in an SVG or MathML element: ``foreignObject`` and the like hold HTML, others their own names."""
    root = "svg" if context.namespace is Namespace.SVG else "math"
    markup = f"<{root}>" if context.tag == root else f"<{root}><{context.tag}>"
    holder = parse_fragment(markup).children[0]
    if context.tag != root:
        holder = holder.children[0]
    if not isinstance(holder, Element) or holder.tag != context.tag:
        raise ImpossibleEdit(f"<{context.tag}> cannot be written again")
    holder.insert_adjacent_html("beforeend", html)
    return _detached(holder.children)


def _detached(nodes: Iterable[Node]) -> list[Node]:
    return [node.extract() for node in list(nodes)]


def merge_texts(parent: Node) -> None:
    """Join neighbouring text nodes, as the parser does, and drop empty ones."""
    previous: Text | None = None
    for child in list(parent.children):
        if not isinstance(child, Text):
            previous = None
        elif previous is not None or not child.data:
            if previous is not None:
                previous.data += child.data
            child.decompose()
        else:
            previous = child
