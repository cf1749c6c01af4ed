"""Rules for single elements of a page: numbered, with an attribute that lists the numbers of an element's rules."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

MARK = "data-adaptc-shown"
# Two ids in specificity, so that no "!important" of the page's wins
_STRONG = ":not(#_):not(#_)"


class Marks:
    """The rules that a pass adds to a page, each for the elements that it concerns."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self._next = count(1)
        self._rules: dict[str, int] = {}
        self._names: dict[Element, int] = {}
        self._numbers: dict[Element, list[int]] = {}

    def add(self, element: Element, rule: str) -> None:
        """Apply a rule to an element, which it calls ``&``."""
        number = self._rules.get(rule)
        if number is None:
            number = self._rules[rule] = next(self._next)
        numbers = self._numbers.setdefault(element, [])
        if number not in numbers:
            numbers.append(number)

    def selector_of(self, element: Element) -> str:
        """Return a selector for an element alone, which rules of others may name."""
        number = self._names.get(element)
        if number is None:
            number = self._names[element] = next(self._next)
            self._numbers.setdefault(element, []).append(number)
        return _selector(number)

    def write(self, others: str) -> None:
        """Write the rules, and ``others``, at the end of the head."""
        for element, numbers in self._numbers.items():
            self.editor.set_attribute(element, MARK, " ".join(map(str, numbers)))
        own = (rule.replace("&", f"{_selector(number)}{_STRONG}") for rule, number in self._rules.items())
        text = "".join(own) + others
        head = self.editor.tree.select_one("head")
        if text and head is not None:
            self.editor.append(head, f"<style>{text}</style>")


def _selector(number: int) -> str:
    return f'[{MARK}~="{number}"]'
