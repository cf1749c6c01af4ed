"""strip: remove decorations, advertisements and trackers, and keep the layout.

A removed image leaves a box of its size that costs no request. Image maps stay, the only content of a link or button,
and what scripts or style sheets find by its address; and so does everything under a Content-Security-Policy, which may
forbid data URIs or hold hashes of styles.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.rules import Ads
from adaptc.compile.analyse.decorations.surroundings import ATTRIBUTE
from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.guarded_images import GuardedImages
from adaptc.compile.page.image_labels import Blocking, dropped_blocks, labelled_images
from adaptc.compile.page.placeholders import Placeholders
from adaptc.compile.passes.strip.images import Images, Selection, strip_styles
from adaptc.compile.view import DerivingView, Options
from adaptc.core.facts import FactKind
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import CONNECTIONS, rel_tokens

if TYPE_CHECKING:
    from turbohtml import Element


NAME = "strip"


def strip(editor: Editor, page: PageContext, view: DerivingView, options: Options) -> Report:
    """Remove what the options name: ``decorations`` and ``ads``."""
    report = Report()
    if page.has_policy:
        report.actions.append(Action(NAME, KEPT, "images", "a Content-Security-Policy restricts the page"))
        return report
    guarded = GuardedImages(editor, page)
    if options["decorations"]:
        drop_blocks(editor, page, view, report, guarded)
    if options["ads"]:
        strip_third_parties(editor, page, view, report)
    labelled = labelled_images(editor.tree, page, view)
    removal = Selection(labelled, options, view)
    if removal.references:
        Images(editor, page, view, report, removal, guarded).run()
        strip_styles(editor, page, view, {ref: labelled[ref] for ref in removal.references}, report)
    if options["ads"]:
        hide_filtered_elements(editor, page, view, report, guarded)
    guarded.finish()
    return report


# Tag -> attribute with the address, and what filters call such a load
_LOADS = {"script": ("src", "script"), "iframe": ("src", "subdocument"), "link": ("href", "other")}
# Links that open a connection, or load a file for removed scripts; others belong to the site
_HINTS = CONNECTIONS | {"preload", "prefetch", "modulepreload"}
_HIDDEN = "display:none!important"


def strip_third_parties(editor: Editor, page: PageContext, view: DerivingView, report: Report) -> None:
    """Remove scripts and hints of third parties by rules and filters; frames of theirs stay as empty boxes.

    Scripts stay if a script of the page uses what they define, or if they show posts that the page quotes; the site's
    own scripts stay anyway.
    """
    blocking = Blocking(page, view)
    elements = (each for each in editor.tree.iter_elements(tuple(_LOADS)) if not is_isolated(each, editor.text))
    blocked = [(element, reason) for element in elements if (reason := _reason(element, blocking))]
    has_scripts = any(element.tag == "script" for element, _ in blocked)
    needed = _needed(page, view, blocking.rules.ads) if has_scripts else frozenset()
    for element, reason in blocked:
        subject = blocking.url(_address(element)).partition("//")[2].partition("/")[0]
        if element.tag == "script" and needed:
            report.actions.append(Action("strip", KEPT, subject, f"a script of the page uses {min(needed)}"))
            continue
        if element.tag == "script" and _is_embedding(editor, subject):
            report.actions.append(Action("strip", KEPT, subject, "it shows a quotation of the page"))
            continue
        if element.tag == "iframe":
            editor.remove_attribute(element, "src")
        else:
            editor.remove_element(element)
        report.actions.append(Action("strip", "stripped", subject, f"<{element.tag}>: {reason}"))


def _is_embedding(editor: Editor, host: str) -> bool:
    """Whether a page quotes a post of the network at a host, which its script shows: ``blockquote.twitter-tweet``."""
    network = host.split(".")[-2:][0].lower()
    return any(network in (quote.attr("class") or "").lower() for quote in editor.tree.iter_elements("blockquote"))


def _address(element: Element) -> str:
    return element.attr(_LOADS[element.tag][0]) or ""


def _reason(element: Element, blocking: Blocking) -> str | None:
    address = _address(element)
    if not address or (element.tag == "link" and _HINTS.isdisjoint(rel_tokens(element))):
        return None
    if element.tag != "iframe" and not blocking.is_external(address):
        return None
    return blocking.reason(address, _LOADS[element.tag][1])


def hide_filtered_elements(
    editor: Editor, page: PageContext, view: DerivingView, report: Report, guarded: GuardedImages
) -> None:
    """Hide the elements that filter lists name; their images and frames are not loaded.

    This comes last: it may write a style attribute again that lost its background, since browsers do not load the
    backgrounds of hidden elements.
    """
    boxes, blocking = Placeholders(editor, page, view, guarded), Blocking(page, view)
    for selector in blocking.rules.filters.hidden(blocking.host, editor.text):
        for element in editor.tree.select(selector):
            if is_isolated(element, editor.text) or element.tag in ("html", "body"):
                continue
            _hide(element, editor, boxes)
            report.actions.append(Action("strip", "stripped", f"<{element.tag}>", f"the filter ##{selector} hides it"))


def _hide(element: Element, editor: Editor, boxes: Placeholders) -> None:
    style = (element.attr("style") or "").rstrip("; ")
    editor.set_attribute(element, "style", f"{style};{_HIDDEN}" if style else _HIDDEN)
    for inner in (element, *element.find_all("img"), *element.find_all("iframe")):
        if inner.tag in ("img", "iframe") and boxes.reason_to_stay(inner, is_ad=True) is None:
            boxes.empty(inner)


def drop_blocks(editor: Editor, page: PageContext, view: DerivingView, report: Report, guarded: GuardedImages) -> None:
    """Remove the blocks that their author drops (``data-adapt="drop"``); on a page with scripts they are hidden."""
    boxes = Placeholders(editor, page, view, guarded)
    for element, reason in dropped_blocks(editor.tree, editor.text, view.labelling.levels):
        if reason is not None:
            report.actions.append(Action(NAME, KEPT, f"<{element.tag}>", reason))
            continue
        if page.has_scripts:
            _hide(element, editor, boxes)
        else:
            editor.remove_element(element)
        tag = " ".join((element.attr(ATTRIBUTE) or "").split())
        report.actions.append(Action(NAME, "stripped", f"<{element.tag}>", f'{ATTRIBUTE}="{tag}"'))


def _needed(page: PageContext, view: DerivingView, ads: Ads) -> frozenset[str]:
    """Return the names of third parties that scripts of the page use and do not define themselves."""
    return ads.globals & frozenset().union(*(view.facts(_RELIED_ON, script) for script in page.scripts))


_LOOKED_INTO = re.compile(r"(?<![\w$.])([A-Za-z_$][\w$]*)\s*[.(]")
_GIVEN = re.compile(r"(?:(?<![\w$.])|window\.)([A-Za-z_$][\w$]*)\s*=(?!=)|function\s+([A-Za-z_$][\w$]*)")


def _find_relied_on(text: str) -> frozenset[str]:
    """Return the names that a script calls or looks into, and never gives a value; single letters are local."""
    given = frozenset(chain.from_iterable(_GIVEN.findall(text)))
    return frozenset(name for name in _LOOKED_INTO.findall(text) if len(name) > 1) - given


_RELIED_ON = FactKind("relied on", _find_relied_on, frozenset[str]())
