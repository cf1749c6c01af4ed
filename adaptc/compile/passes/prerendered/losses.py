"""What visitors lose when a page is not hydrated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from adaptc.formats.html.forms import find_forms
from adaptc.formats.html.visible_text import fold_space

if TYPE_CHECKING:
    from turbohtml import Document, Element

__all__ = ["lost_functions"]

_SEARCH = re.compile(r"search|docsearch", re.IGNORECASE)
_THEME = re.compile(r"theme|appearance|color-?mode|colour|dark|light", re.IGNORECASE)
_COPY = re.compile(r"cop(?:y|ied)|clipboard", re.IGNORECASE)
_NAMING = ("class", "id", "aria-label", "title", "placeholder", "type", "name")
_BUTTONS = "button, [role=button], [role=switch], input[type=button]"


def lost_functions(tree: Document, is_lost: Callable[[Element], bool]) -> Iterator[tuple[str, int]]:
    """Yield what does not work without scripts, with its number, for the controls that ``is_lost`` is true for."""
    forms = find_forms(tree)
    fields = [each for each in tree.select("input, textarea") if is_lost(each) and not forms.is_working(each)]
    buttons = [each for each in tree.select(_BUTTONS) if is_lost(each) and not forms.is_working(each)]
    for name, pattern, controls in (
        ("search box", _SEARCH, [*fields, *buttons]),
        ("choice of theme", _THEME, buttons),
        ("button that copies", _COPY, buttons),
    ):
        if count := sum(pattern.search(_name(each)) is not None for each in controls):
            yield name, count


def _name(control: Element) -> str:
    return fold_space(" ".join([*(control.attr(name) or "" for name in _NAMING), control.text]))
