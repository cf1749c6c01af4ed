"""What the rules of a style sheet ask of a page: does anything match this selector?"""

from __future__ import annotations

from collections.abc import Iterable

from turbohtml import Document, SelectorSyntaxError

from adaptc.formats.css.selectors import required_names
from adaptc.formats.html.quirks import is_quirks

__all__ = ["PageMatches", "inline_declarations"]


class PageMatches:
    """Tells whether an element of a page matches a selector; true where the engine does not know the selector.

    Several trees are the same page as it is built with and without scripting. Most selectors of a large sheet
    name a class that the page does not have, so names are looked up before the engine is asked: the 1,300 rules
    of Bootstrap 3 take 3.5 ms. In quirks mode classes and ids match in any case (Selectors 4, section 6.6), which the
    engine does not know: a name that is there in another case counts as a match.
    """

    def __init__(self, *trees: Document) -> None:
        self._trees = trees
        self._names = frozenset().union(*map(_names, trees))
        is_folding = any(is_quirks(tree) for tree in trees)
        self._folded = frozenset(name.lower() for name in self._names) if is_folding else None
        self._answers: dict[str, bool] = {}

    def __call__(self, selector: str) -> bool:
        answer = self._answers.get(selector)
        if answer is None:
            answer = self._answers[selector] = self._matches(selector)
        return answer

    def _matches(self, selector: str) -> bool:
        required = required_names(selector)
        if not required <= self._names:
            return self._folded is not None and self._folded.issuperset(name.lower() for name in required)
        try:
            return any(tree.select_one(selector) is not None for tree in self._trees)
        except SelectorSyntaxError:
            return True


def inline_declarations(tree: Document) -> str:
    """Return the declarations of the page's attributes, joined with ``;``: they may use what the sheets define."""
    found = [str(value) for value in _strings(tree, "//@style")]
    fonts = [f"font-family:{value}" for value in _strings(tree, "//@font-family | //font/@face")]
    uses = [f"used:{value}" for value in _strings(tree, "//@*[contains(., 'var(')]")]
    return ";".join(dict.fromkeys([*found, *fonts, *uses]))


def _names(tree: Document) -> frozenset[str]:
    """Return what ``required_names`` may ask for: ``.class``, ``#id``, ``[attribute``, ``type``."""
    names: set[str] = set()
    classes: set[str] = set()
    for element in tree.iter_elements():
        names.add(element.tag)
        for name in element.attrs:
            names.add(f"[{name}")
        if "class" in element.attrs:
            classes.add(element.attr("class") or "")
        if "id" in element.attrs:
            names.add(f"#{element.attr('id')}")
    names.update(f".{name}" for value in classes for name in value.split())
    return frozenset(name if name[0] in ".#[" else name.lower() for name in names)


def _strings(tree: Document, expression: str) -> Iterable[object]:
    found = tree.xpath(expression)
    return found if isinstance(found, list) else ()
