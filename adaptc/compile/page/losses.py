"""What a page lost besides its images: words, links, controls, embedded media, scripts and styles, from two trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptc.compile.analyse.harm import WINDOW_HEIGHT, WINDOW_WIDTH
from adaptc.core.model import Role
from adaptc.formats.html.class_names import class_names
from adaptc.formats.html.forms import control_type, pointed_at, script_controls
from adaptc.formats.html.references import script_role
from adaptc.formats.html.visible_text import is_followable, rendered_texts

if TYPE_CHECKING:
    from turbohtml import Document, Element

# The harm where all of a kind is lost, in windows of content. Judgements, like the weights of labels: a page without
# its words is as bad as ten windows of pictures that are gone.
WORDS, LINKS, CONTROLS, STYLES, SCRIPTS = 10.0, 2.0, 2.0, 2.0, 0.25

_CONTROLS = ("input", "select", "textarea", "button")
_MEDIA = ("iframe", "video", "audio", "object", "embed")
_MEDIA_SIZE = (640, 360)  # CSS pixels where the markup has none


@dataclass(frozen=True, slots=True)
class PageContent:
    """What counts of a page besides images.

    ``controls`` are without buttons that only open a part of the page. ``media`` is what frames and media cover, in
    windows; ``classes`` counts elements by tag and class name.
    """

    words: Counter[str]
    links: frozenset[str]
    controls: Counter[tuple[str, str, str]]
    media: float
    classes: Counter[tuple[str, str]]
    has_scripts: bool
    has_styles: bool

    @classmethod
    def of(cls, tree: Document, *, has_styles: bool) -> PageContent:
        """Read a page."""
        return cls(
            Counter(word for text in rendered_texts(tree) for word in text.split()),
            frozenset(link for each in tree.iter_elements("a") if is_followable(link := each.attr("href")) and link),
            Counter(_controls(tree)),
            sum(_area(each) for each in tree.iter_elements(_MEDIA)),
            Counter(_classes(tree)),
            any(
                script_role(each) in (Role.SCRIPT, Role.MODULE) and _runs(each) for each in tree.iter_elements("script")
            ),
            has_styles,
        )


def harm_of_losses(before: PageContent, after: PageContent) -> float:
    """Return the harm of what ``after`` lacks."""
    looks = _kept(before.classes, after.classes) if after.has_styles else 0.0
    return (
        WORDS * (1 - _kept(before.words, after.words))
        + LINKS * (1 - _share(len(before.links & after.links), len(before.links)))
        + CONTROLS * (1 - _kept(before.controls, after.controls))
        + max(0.0, before.media - after.media)
        + (STYLES * (1 - looks) if before.has_styles else 0.0)
        + (SCRIPTS if before.has_scripts and not after.has_scripts else 0.0)
    )


def _kept(before: Counter[Any], after: Counter[Any]) -> float:
    return _share((before & after).total(), before.total())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _controls(tree: Document) -> Iterator[tuple[str, str, str]]:
    openers = set(_openers(tree))
    for each in tree.iter_elements(_CONTROLS):
        kind = control_type(each)
        if kind != "hidden" and "disabled" not in each.attrs and each not in openers:
            yield each.tag, each.attr("name") or "", kind


def _openers(tree: Document) -> Iterator[Element]:
    """Yield the buttons that open a part of the page and do nothing else.

    They count by the words, links and controls of that part: a level without scripts may show it all the time, or put a
    link in their place.
    """
    identities = {each.attr("id") for each in tree.select("[id]")}
    for each in script_controls(tree):
        does_send = control_type(each) == "submit" and each.closest("form") is not None
        if each.tag == "button" and not does_send and not identities.isdisjoint(pointed_at(each)):
            yield each


def _area(element: Element) -> float:
    if element.tag != "video" and not any(element.attr(name) for name in ("src", "data", "srcdoc")):
        return 0.0
    sides = (_pixels(element.attr(name), usual) for name, usual in zip(("width", "height"), _MEDIA_SIZE, strict=True))
    width, height = sides
    return min(width, WINDOW_WIDTH) * height / (WINDOW_WIDTH * WINDOW_HEIGHT)


def _pixels(value: str | None, usual: int) -> int:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 5 else usual


def _classes(tree: Document) -> Iterator[tuple[str, str]]:
    elements: Iterable[Element] = tree.select("body [class]")
    return ((each.tag, name) for each in elements for name in class_names(each))


def _runs(script: Element) -> bool:
    return bool(script.attr("src")) or bool(script.text.strip())
