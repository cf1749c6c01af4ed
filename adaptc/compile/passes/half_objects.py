"""half-objects: remove the bottom half of a page's embedded objects (Krishnamurthy et al. 2003, action "halfobject").

The paper's client "retrieves (top) half of the embedded objects". Top is taken as the order of the page: of n different
objects that the markup embeds, style sheets and scripts among them, n // 2 are removed, from the bottom up. Style
sheets and scripts count and stay: the paper measured times only, and a page without them would be another page. So
images and frames are removed instead, as far as there are any. A box of the same size stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.guarded_images import GuardedImages
from adaptc.compile.page.placeholders import Placeholders
from adaptc.compile.view import Options, View
from adaptc.core.model import Action, Role
from adaptc.core.urls import join
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.references import embedded_references

if TYPE_CHECKING:
    from turbohtml import Element

NAME = "half-objects"
_REMOVABLE = ("img", "iframe")


# What a hint names is loaded by another reference, if at all
_APART = frozenset({Role.ICON, Role.PRELOAD})


def halve_objects(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Empty images and frames from the bottom up until half of the embedded objects are removed."""
    report = Report()
    if page.has_policy:
        report.actions.append(Action(NAME, KEPT, "images", "a Content-Security-Policy restricts the page"))
        return report
    objects = dict.fromkeys(
        _object(each.url, page, view) for each in embedded_references(editor.tree) if each.role not in _APART
    )
    excess = len(objects) // 2
    placeholders = Placeholders(editor, page, view, GuardedImages(editor, page))
    for elements in _from_the_bottom(editor, page, view):
        if excess == 0:
            break
        excess -= _empty(elements, placeholders, report)
    return report


def _object(url: str, page: PageContext, view: View) -> str:
    return view.follow(page.base, url).path or join(page.base, url) or url


def _from_the_bottom(editor: Editor, page: PageContext, view: View) -> Iterator[list[Element]]:
    """Yield the elements that show the same object, the object first that begins lowest on the page."""
    elements: dict[str, list[Element]] = {}
    for element in editor.tree.iter_elements(_REMOVABLE):
        if element.attr("src") and not is_isolated(element, editor.text):
            elements.setdefault(_object(element.attr("src") or "", page, view), []).append(element)
    yield from reversed(elements.values())


def _empty(elements: list[Element], placeholders: Placeholders, report: Report) -> bool:
    """Empty all elements that show an object, or none: a single one would save no request."""
    reason = next((reason for element in elements if (reason := placeholders.reason_to_stay(element))), None)
    subject = placeholders.subject(elements[0])
    if reason is not None:
        report.actions.append(Action(NAME, KEPT, subject, reason))
        return False
    for element in elements:
        placeholders.empty(element)
    report.actions.append(
        Action(NAME, "stripped", subject, "in the bottom half of the embedded objects", len(elements))
    )
    return True
