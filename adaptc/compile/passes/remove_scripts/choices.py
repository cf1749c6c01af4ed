"""Panels that radio buttons choose, as the tabs of code blocks in VitePress: they change without scripts, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adaptc.compile.passes.remove_scripts.marks import Marks
from adaptc.compile.passes.remove_scripts.widths import WIDTHS
from adaptc.formats.html.cascade import Cascade

if TYPE_CHECKING:
    from turbohtml import Element

_WIDTH = WIDTHS[-1]


def choice_panels(cascade: Cascade) -> dict[Element, Element]:
    """Return the panels that radio buttons choose, each with its radio button."""
    return {panel: radio for radios in _groups(cascade) for radio, panel in _pairs(cascade, radios)}


def add_choice(marks: Marks, panel: Element, radio: Element) -> None:
    """Add the rules by which a radio button shows its panel while it is checked."""
    chosen = marks.selector_of(radio)
    marks.add(panel, f":root:has({chosen}:checked) &{{display:revert!important}}")
    marks.add(panel, f":root:has({chosen}:not(:checked)) &{{display:none!important}}")


def _groups(cascade: Cascade) -> Iterator[list[Element]]:
    """Yield the radio buttons of one parent and name."""
    groups: dict[tuple[object, str], list[Element]] = {}
    for radio in cascade.tree.select("input[type=radio][name]"):
        if radio.parent is not None:
            groups.setdefault((radio.parent, radio.attr("name") or ""), []).append(radio)
    return (radios for radios in groups.values() if len(radios) > 1)


def _pairs(cascade: Cascade, radios: list[Element]) -> list[tuple[Element, Element]]:
    """Pair radio buttons with the panels after them: as many, with only that of the checked button visible."""
    parent = radios[0].parent
    box = next(_elements(parent.next_siblings), None) if parent is not None else None
    panels = list(_elements(box.children)) if box is not None else []
    if len(panels) != len(radios):
        return []
    pairs = list(zip(radios, panels, strict=True))
    hidden = {panel for panel in panels if "display" in cascade.hiding(panel, _WIDTH)}
    is_chosen = all(("checked" in radio.attrs) == (panel not in hidden) for radio, panel in pairs)
    if len(hidden) != len(panels) - 1 or not is_chosen:
        return []
    return [] if any(cascade.is_shown_by_state(panel, "display") for panel in hidden) else pairs


def _elements(nodes: Iterable[object]) -> Iterator[Element]:
    from turbohtml import Element

    return (each for each in nodes if isinstance(each, Element))
