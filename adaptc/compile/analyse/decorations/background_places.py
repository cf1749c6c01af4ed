"""The elements that show a background: what they hold, whether they are controls, and which stand side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from turbohtml import Element

from adaptc.compile.analyse.decorations.evidence import UseEvidence
from adaptc.compile.analyse.decorations.image_rules import ImageRule
from adaptc.compile.analyse.decorations.surroundings import shown_text
from adaptc.formats.html.class_names import class_words

_BANDS = frozenset({"section", "header", "footer", "main", "nav"})
_CONTROL_ROLES = frozenset({"button", "tab", "switch", "checkbox", "radio", "menuitem", "slider"})


def background_use(use: UseEvidence, rule: ImageRule, elements: list[Element]) -> UseEvidence:
    """Return a use with what a rule says of its image, and the first of the elements that show it."""
    element = elements[0]
    return replace(
        use,
        width=rule.width,
        height=rule.height,
        property=rule.property,
        repeat=rule.repeat,
        cover=rule.size in ("cover", "contain"),
        pseudo=rule.pseudo,
        is_loaded=rule.is_loaded,
        body=element.tag in ("html", "body"),
        places=len(elements),
        holds_text=len(" ".join(shown_text(element).split())) if element.tag not in ("html", "body") else 0,
        control=_is_control(element),
        replaces_text=use.replaces_text or rule.hides_text,
    )


def _is_control(element: Element) -> bool:
    """Whether an element is a control that shows no text of its own; a button shows its value."""
    if element.tag == "input":
        return not (element.attr("value") or "").strip()
    is_control = element.tag in ("button", "select") or (element.attr("role") or "").lower() in _CONTROL_ROLES
    return is_control and not shown_text(element).strip()


def rows(element: Element, bands: frozenset[str]) -> Iterator[object]:
    """Yield what elements side by side share: their tags and an element around them, one to three levels up.

    A part of the page that stretches from side to side, with a word of ``bands`` in its class, stands alone.
    """
    if element.tag in _BANDS or not bands.isdisjoint(class_words(element)):
        return
    tags = [element.tag]
    for ancestor in list(element.ancestors)[:3]:
        if not isinstance(ancestor, Element) or ancestor.tag in ("body", "html"):
            return
        yield ("row", tuple(tags), ancestor)
        tags.append(ancestor.tag)
