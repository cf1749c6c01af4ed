"""How style sheets apply to a page: which selectors match it, and whether an element is visible.

The cascade (CSS Cascade 5, section 6) is worked out for the few properties that hide elements.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter

from turbohtml import Document, Element, SelectorSyntaxError

from adaptc.core.values import pattern
from adaptc.formats.css.selectors import required_names
from adaptc.formats.css.visibility import (
    VISIBILITY_PROPERTIES,
    VisibilityRule,
    inline_visibility_rule,
    visibility_index,
    visibility_names,
    visibility_rules,
)
from adaptc.formats.html.document import is_quirks
from adaptc.formats.html.syntax import class_names, split_tokens

__all__ = ["HIDING", "Cascade", "PageMatches", "inline_declarations", "is_hiding"]

# Far enough to be out of the window
_FAR_AWAY = pattern(r"-(?:(?:[2-9]\d\d|\d{4,5})px|\d{2,4}r?em|1\d\d(?:%|vw))$")
# Property -> the values that hide an element; the last four move it out of the window
HIDING = {
    "display": re.compile(r"none$"),
    "visibility": re.compile(r"(?:hidden|collapse)$"),
    "opacity": re.compile(r"0?(?:\.0+)?%?$"),
    "max-height": re.compile(r"0(?:px)?$"),
    "height": re.compile(r"0(?:px)?$"),
    "transform": re.compile(
        r"translate[xy]?(?:3d)?\(\s*(?:0(?:px)?\s*,\s*)?-?(?:[1-9]\d\d%|[1-9]\d\dv[wh]|[2-9]\d\dpx|[12]\d(?:\.\d+)?r?em)"
        r"|scale[xy]?\(\s*0(?:\.0+)?\s*[,)]"
    ),
    "left": _FAR_AWAY,
    "right": _FAR_AWAY,
    "margin-left": _FAR_AWAY,
}


_NO_NAMES: frozenset[str] = frozenset()
_MOST_SHEETS = 8  # more of them are joined
_Index = Mapping[str, Sequence[tuple[int, VisibilityRule]]]
_NO_VALUE = (False, 0, "")


def is_hiding(name: str, value: str) -> bool:
    """Whether a value of a property hides an element."""
    return bool(value) and HIDING[name].match(value) is not None


class Cascade:
    """The cascade of one page for some properties; ``texts`` are its style sheets in order."""

    def __init__(
        self, tree: Document, texts: Sequence[str], properties: frozenset[str] = VISIBILITY_PROPERTIES
    ) -> None:
        self.tree = tree
        self.rules = [rule for text in texts for rule in visibility_rules(text, properties)]
        self._texts, self._properties = texts, properties
        self._indexes = _joined([visibility_index(text, properties) for text in texts])
        self._matched: dict[Element, list[VisibilityRule]] = {}
        self._required = frozenset().union(*(visibility_names(text, properties) for text in texts))
        self._names: dict[Element, frozenset[str]] = {}

    def value(self, element: Element, name: str, width: float) -> str:
        """Return the value that a property has at some width of the window, ``""`` where no rule sets it."""
        best, rank = "", (False, -1)
        for rule in self._rules_of(element):
            if rule.is_state or not any(low <= width <= high for low, high in rule.widths):
                continue
            for declared, value, important in rule.values:
                if declared == name and (important, rule.specificity) >= rank:
                    best, rank = value, (important, rule.specificity)
        return best or ("none" if name == "display" and "hidden" in element.attrs else "")

    def hiding(self, element: Element, width: float) -> tuple[str, ...]:
        """Return the properties that hide an element at some width."""
        best: dict[str, tuple[bool, int, str]] = {}  # property -> is important, specificity, value: as ``value`` has it
        for rule in self._rules_of(element):
            if rule.is_state or not any(low <= width <= high for low, high in rule.widths):
                continue
            for name, value, important in rule.values:
                if name not in best or (important, rule.specificity) >= best[name][:2]:
                    best[name] = (important, rule.specificity, value)
        if "hidden" in element.attrs and not best.get("display", _NO_VALUE)[2]:
            best["display"] = (False, 0, "none")
        return tuple(name for name in HIDING if name in best and is_hiding(name, best[name][2])) if best else ()

    def is_shown_by_state(self, element: Element, name: str) -> bool:
        """Whether a visitor can make an element visible without a script, for example by pointing at something."""
        return any(
            rule.is_state and any(declared == name and not is_hiding(name, value) for declared, value, _ in rule.values)
            for rule in self._rules_of(element)
        )

    def hidden_by(self, *names: str) -> Iterator[Element]:
        """Yield the elements that some rule or their own attributes hide by one of these properties, each once."""
        rules = (rule for text in self._texts for rule in _hiding_rules(text, self._properties))
        selectors = (selector for selector, hiding in rules if not hiding.isdisjoint(names))
        yield from self._selected(selectors) | dict.fromkeys(self._hidden_by_attributes(names))

    def _hidden_by_attributes(self, names: Sequence[str]) -> Iterator[Element]:
        for element in self.tree.select("[style], [hidden]"):
            style = element.attr("style") or ""
            is_hidden = "hidden" in element.attrs and "display" in names
            is_named = any(name in style.lower() for name in names)
            if is_hidden or (is_named and not _hiding_names(inline_visibility_rule(style)).isdisjoint(names)):
                yield element

    def elements_with(self, name: str, value: str) -> Iterator[Element]:
        """Yield the elements for which some rule or their own style declares a value of a property, each once."""
        rules = (rule for rule in self.rules if not rule.is_state and _declares(rule, name, value))
        styled = self._select(f'[style*="{value}" i]')
        inline = ((each, inline_visibility_rule(each.attr("style") or "", self._properties)) for each in styled)
        own = (each for each, rule in inline if _declares(rule, name, value))
        yield from dict.fromkeys((*self._selected(rule.selector for rule in rules), *own))

    def _selected(self, selectors: Iterable[str]) -> dict[Element, None]:
        return dict.fromkeys(each for selector in dict.fromkeys(selectors) for each in self._select(selector))

    def _select(self, selector: str) -> list[Element]:
        try:
            return self.tree.select(selector)
        except SelectorSyntaxError:
            return []

    def _rules_of(self, element: Element) -> list[VisibilityRule]:
        rules = self._matched.get(element)
        if rules is None:
            names = self._names_around(element)
            rules = [rule for rule in self._rules_for(element) if _may_match(rule, names) and _matches(element, rule)]
            if element.attr("style"):
                rules.append(inline_visibility_rule(element.attr("style") or "", self._properties))
            self._matched[element] = rules
        return rules

    def _rules_for(self, element: Element) -> Iterator[VisibilityRule]:
        """Yield the rules, in order, whose subject has no other name than the element."""
        names = [
            "",
            element.tag.lower(),
            *(f".{name}" for name in dict.fromkeys(class_names(element))),
        ]
        names += [f"#{element.attr('id')}"] if element.attr("id") else ()
        for index in self._indexes:
            places = [place for name in names for place in index.get(name, ())]
            yield from (rule for _, rule in sorted(places, key=itemgetter(0)))

    def _names_around(self, element: Element) -> frozenset[str]:
        """Return the classes and ids of an element and its ancestors that rules name, as selectors write them.

        Those of the parent are remembered: elements may be 20,000 deep.
        """
        lineage = []
        for each in (element, *element.ancestors) if element not in self._names else ():
            if not isinstance(each, Element) or each in self._names:
                break
            lineage.append(each)
        for each in reversed(lineage):
            around = self._names.get(each.parent, _NO_NAMES)  # type: ignore[arg-type]
            own = {f".{name}" for name in class_names(each)} | {f"#{each.attr('id')}"}
            self._names[each] = around if own & self._required <= around else around | (own & self._required)
        return self._names[element]


def _joined(indexes: Sequence[_Index]) -> Sequence[_Index]:
    """Return one index of many sheets: each would be asked for each element."""
    if len(indexes) <= _MOST_SHEETS:
        return indexes
    joined: defaultdict[str, list[tuple[int, VisibilityRule]]] = defaultdict(list)
    first = 0
    for index in indexes:
        for name, rules in index.items():
            joined[name] += ((first + place, rule) for place, rule in rules)
        first += sum(map(len, index.values()))
    return [joined]


def _hiding_names(rule: VisibilityRule) -> frozenset[str]:
    return frozenset(name for name, value, _ in rule.values if name in HIDING and is_hiding(name, value))


# Levels and passes ask of the same sheets
@lru_cache(maxsize=128)
def _hiding_rules(text: str, properties: frozenset[str]) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the selectors by which a sheet hides elements in every state, with the properties that do so."""
    rules = (rule for rule in visibility_rules(text, properties) if not rule.is_state)
    return tuple((rule.selector, hiding) for rule in rules if (hiding := _hiding_names(rule)))


def _declares(rule: VisibilityRule, name: str, value: str) -> bool:
    return any(declared == name and each == value for declared, each, _ in rule.values)


def _matches(element: Element, rule: VisibilityRule) -> bool:
    try:
        return element.matches(rule.selector)
    except SelectorSyntaxError:
        return False


def _may_match(rule: VisibilityRule, names: frozenset[str]) -> bool:
    """Whether the names that a selector without siblings requires are there."""
    selector = rule.selector
    if "+" in selector or "~" in selector or ":" in selector:
        return True
    return all(name in names for name in required_names(selector) if name[0] in ".#")


class PageMatches:
    """Tells whether an element of a page matches a selector; true where the engine does not know the selector.

    Several trees are the same page as it is built with and without scripting. Most selectors of a large sheet
    name a class that the page does not have, so names are looked up before the engine matches: the 1,300 rules
    of Bootstrap 3 take 3.5 ms. In quirks mode classes and ids match in any case (Selectors 4, section 6.6), which the
    engine does not know: a name of the page in another case counts as a match. So does ``[viewbox]`` in every mode for
    an attribute of SVG with capitals, as in Chromium. ``names`` are those of the page.
    """

    def __init__(self, *trees: Document) -> None:
        self._trees = trees
        names = frozenset[str]().union(*map(_selectable_names, trees))
        self._lowered = frozenset(name.lower() for name in names if name[0] == "[") - names
        self.names = names | self._lowered
        is_folding = any(is_quirks(tree) for tree in trees)
        self._folded = frozenset(name.lower() for name in self.names) if is_folding else None
        self._results: dict[str, bool] = {}

    def __call__(self, selector: str) -> bool:
        result = self._results.get(selector)
        if result is None:
            result = self._results[selector] = self._matches(selector)
        return result

    def has(self, name: str) -> bool:
        """Whether an element has a name (``.class``, ``#id``, ``[attribute``, ``type``)."""
        return name in self.names or (self._folded is not None and name.lower() in self._folded)

    def _matches(self, selector: str) -> bool:
        required = required_names(selector)
        if not required <= self.names:
            return self._folded is not None and self._folded.issuperset(name.lower() for name in required)
        if not self._lowered.isdisjoint(required):
            return True
        try:
            return any(tree.select_one(selector) is not None for tree in self._trees)
        except SelectorSyntaxError:
            return True


def inline_declarations(tree: Document) -> str:
    """Return the declarations of the page's attributes, joined with ``;``: they may use what the sheets define."""
    declarations = [str(value) for value in _xpath_strings(tree, "//@style")]
    fonts = [f"font-family:{value}" for value in _xpath_strings(tree, "//@font-family | //font/@face")]
    uses = [f"used:{value}" for value in _xpath_strings(tree, "//@*[contains(., 'var(')]")]
    return ";".join(dict.fromkeys([*declarations, *fonts, *uses]))


def _selectable_names(tree: Document) -> frozenset[str]:
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
    names.update(f".{name}" for value in classes for name in split_tokens(value))
    return frozenset(name if name[0] in ".#[" else name.lower() for name in names)


def _xpath_strings(tree: Document, expression: str) -> Iterable[object]:
    strings = tree.xpath(expression)
    return strings if isinstance(strings, list) else ()
