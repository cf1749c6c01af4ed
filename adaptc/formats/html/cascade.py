"""Whether an element is seen: the cascade of a few properties over a page (CSS Cascade 5, section 6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from turbohtml import Document, Element, SelectorSyntaxError

from adaptc.formats.css.selectors import required_names
from adaptc.formats.css.visibility import VisibilityRule, inline_visibility_rule, visibility_rules

__all__ = ["HIDING", "Cascade", "is_hiding"]

# Property -> the values that hide an element; the last two move it out of the window
HIDING = {
    "display": re.compile(r"none$"),
    "visibility": re.compile(r"(?:hidden|collapse)$"),
    "opacity": re.compile(r"0?(?:\.0+)?%?$"),
    "max-height": re.compile(r"0(?:px)?$"),
    "height": re.compile(r"0(?:px)?$"),
    "transform": re.compile(r"translate(?:x|3d)?\(\s*-?(?:1\d\d%|100(?:vw|%)|[2-9]\d\dpx)"),
    "left": re.compile(r"-(?:[2-9]\d\d|\d{4,5})px$|-1\d\d%$"),
}


def is_hiding(name: str, value: str) -> bool:
    """Whether a value of a property hides an element."""
    return bool(value) and HIDING[name].match(value) is not None


class Cascade:
    """Answers for one page; ``texts`` are its sheets in order."""

    def __init__(self, tree: Document, texts: Sequence[str]) -> None:
        self.tree = tree
        self.rules = [said for text in texts for said in visibility_rules(text)]
        self._matched: dict[Element, list[VisibilityRule]] = {}

    def value(self, element: Element, name: str, width: float) -> str:
        """Return the value that a property has at some width of the window, ``""`` where nothing is said of it."""
        best, rank = "", (False, -1)
        for said in self._of(element):
            if said.is_state or not any(low <= width <= high for low, high in said.widths):
                continue
            for one, value, important in said.values:
                if one == name and (important, said.specificity) >= rank:
                    best, rank = value, (important, said.specificity)
        return best or ("none" if name == "display" and "hidden" in element.attrs else "")

    def hiding(self, element: Element, width: float) -> tuple[str, ...]:
        """Return the properties that hide an element at some width."""
        return tuple(name for name in HIDING if is_hiding(name, self.value(element, name, width)))

    def is_shown_by_state(self, element: Element, name: str) -> bool:
        """Whether a visitor gets to see an element by pointing at something, say, without a script."""
        return any(
            said.is_state and any(one == name and not is_hiding(name, value) for one, value, _ in said.values)
            for said in self._of(element)
        )

    def hidden_by(self, *names: str) -> Iterator[Element]:
        """Yield the elements that some rule hides by one of these properties, each once."""
        hiding = (said.selector for said in self.rules if not said.is_state and _hides(said, names))
        seen: dict[Element, None] = {}
        for selector in dict.fromkeys(hiding):
            seen |= dict.fromkeys(self._select(selector))
        yield from seen

    def _select(self, selector: str) -> list[Element]:
        try:
            return self.tree.select(selector)
        except SelectorSyntaxError:
            return []

    def _of(self, element: Element) -> list[VisibilityRule]:
        found = self._matched.get(element)
        if found is None:
            names = _names(element)
            found = [said for said in self.rules if _subject_fits(said.selector, names) and _matches(element, said)]
            if element.attr("style"):
                found.append(inline_visibility_rule(element.attr("style") or ""))
            self._matched[element] = found
        return found


def _hides(said: VisibilityRule, names: Sequence[str]) -> bool:
    return any(name in names and is_hiding(name, value) for name, value, _ in said.values)


def _matches(element: Element, said: VisibilityRule) -> bool:
    try:
        return element.matches(said.selector)
    except SelectorSyntaxError:
        return False


def _names(element: Element) -> frozenset[str]:
    """Return what can be required of an element and what stands around it."""
    around = [element, *(each for each in element.ancestors if isinstance(each, Element))]
    names = {f".{name}" for each in around for name in (each.attr("class") or "").split()}
    names.update(f"#{each.attr('id')}" for each in around if each.attr("id"))
    return frozenset(names)


def _subject_fits(selector: str, names: frozenset[str]) -> bool:
    """Whether the names of a selector without siblings are there: spares asking the engine about nearly all rules."""
    if "+" in selector or "~" in selector or ":" in selector:
        return True
    return all(name in names for name in required_names(selector) if name[0] in ".#")
