"""What a page's article is, and whether an adapted page still has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from turbohtml import Document, Element, Node, Text

from adaptc.formats.html.controls import Forms, find_forms
from adaptc.formats.html.labels import is_followed, link_label
from adaptc.formats.html.landmarks import UNSEEN, Landmarks, is_hidden, landmarks, walk
from adaptc.formats.html.navigation import navigation_links

__all__ = ["article_kept", "content_links"]

_SHOWN = 3  # pieces of text that a sentence quotes
_QUOTED = 40  # characters of each
# Written in other words, or as one of the page's own parts.
_APART = UNSEEN | {"math", "noscript", "button", "select", "textarea", "iframe", "video", "audio", "object", "dialog"}


def article_kept(before: Document, after: Document) -> list[str]:
    """Return what of the article's text, its links, anchors and working forms is missing, as sentences.

    The article is the main content, or everything but the navigation where none stands out. Images count by
    nothing here; the order of the parts may change, that of the text within a part is checked piece by piece.
    """
    found = landmarks(before)
    return [
        *_lost_text(before, after, found),
        *_lost_links(before, after, found),
        *_lost_anchors(before, after),
        *_lost_forms(before, after),
    ]


def content_links(tree: Document, found: Landmarks) -> list[str]:
    """Return the URLs, as written, of the links outside of the navigation that a visitor can follow."""
    apart = set(found.navigation)
    root = tree.select_one("body")
    return [] if root is None else [href for node in _content(root, apart) if (href := _followed(node))]


def _content(root: Node, apart: set[Element]) -> Iterator[Text | Element]:
    return walk(root, lambda each: each not in apart and each.tag not in _APART and not is_hidden(each))


def _followed(node: Text | Element) -> str:
    if isinstance(node, Text) or node.tag != "a" or not is_followed(node.attr("href")):
        return ""
    return (node.attr("href") or "") if link_label(node) else ""


def _lost_text(before: Document, after: Document, found: Landmarks) -> Iterator[str]:
    root = found.main if found.main is not None else before.select_one("body")
    body = after.select_one("body")
    if root is None:
        return
    text = _compact(body) if body is not None else ""
    lost = list(_missing(_pieces(root, set(found.navigation)), text))
    if lost:
        shown = ", ".join(repr(piece[:_QUOTED]) for piece in lost[:_SHOWN]) + (", ..." if len(lost) > _SHOWN else "")
        yield f"text of the article is gone: {shown}"


def _missing(pieces: Iterator[str], text: str) -> Iterator[str]:
    """Yield the pieces that are not in ``text``, looked for behind the piece before, and then anywhere."""
    position = 0
    for piece in pieces:
        at = text.find(piece, position)
        if at < 0:
            at = text.find(piece)
        if at < 0:
            yield piece
        else:
            position = at + len(piece)


def _pieces(node: Node, apart: set[Element]) -> Iterator[str]:
    """Yield the text nodes that a visitor reads, without white space."""
    for child in _content(node, apart):
        if isinstance(child, Text) and (piece := "".join(child.data.split())):
            yield piece


def _compact(body: Element) -> str:
    found = walk(body, lambda each: each.tag not in ("script", "style", "template"))
    return "".join("".join(node.data.split()) for node in found if isinstance(node, Text))


def _lost_links(before: Document, after: Document, found: Landmarks) -> Iterator[str]:
    content = content_links(before, found)
    wanted = dict.fromkeys([*content, *(link.href for link in navigation_links(found, content))])
    kept = {link.attr("href") for link in after.select("a[href], area[href]")}
    lost = [href for href in wanted if href not in kept]
    if lost:
        shown = ", ".join(lost[:_SHOWN]) + (", ..." if len(lost) > _SHOWN else "")
        yield f"{len(lost)} links are gone: {shown}" if len(lost) > 1 else f"1 link is gone: {shown}"


def _lost_anchors(before: Document, after: Document) -> Iterator[str]:
    """Say which links within the page lead nowhere now, and did before."""
    wanted = {(link.attr("href") or "")[1:] for link in after.select('a[href^="#"]')}
    lost = sorted(wanted & _anchors(before) - _anchors(after))
    if lost:
        yield f"links within the page lead to what is gone: {', '.join(lost[:_SHOWN])}"


def _anchors(tree: Document) -> set[str]:
    named = [
        *(each.attr("id") for each in tree.select("[id]")),
        *(each.attr("name") for each in tree.select("a[name]")),
    ]
    return {name for name in named if name}


def _lost_forms(before: Document, after: Document) -> Iterator[str]:
    lost = _sent(find_forms(before)) - _sent(find_forms(after))
    for method, action, names in lost:
        yield f"a form is gone or sends less: {method} {action} ({', '.join(sorted(names))})"


def _sent(forms: Forms) -> Counter[tuple[str, str, frozenset[str]]]:
    """Count the working forms by where they send to, and the names of what they send."""
    names: dict[Element, set[str]] = {form: set() for form in forms.working}
    for control, form in forms.owner.items():
        is_sent = (control.attr("type") or "").lower() not in ("button", "reset") and control.attr("name")
        if form in names and is_sent:
            names[form].add(control.attr("name") or "")
    return Counter(
        ((form.attr("method") or "get").lower(), form.attr("action") or "", frozenset(sent))
        for form, sent in names.items()
    )
