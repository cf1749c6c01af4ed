"""Bars and dialogues that ask for consent to cookies, which nothing but a script can dismiss."""

from __future__ import annotations

import re

from turbohtml import Document, Element

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.class_names import class_words
from adaptc.formats.html.forms import control_type, find_forms, opens_natively
from adaptc.formats.html.visible_text import is_followable

__all__ = ["consent_bars"]

_TOPICS = frozenset({"cookie", "cookies", "consent", "gdpr", "ccpa"})
_FORMS = frozenset({
    "bar", "banner", "notice", "consent", "law", "popup", "modal", "message", "notification", "overlay", "alert",
    "dialog", "disclaimer", "warning", "toast", "box", "info", "container", "wrapper", "window", "sdk",
})  # fmt: skip
# Names of one word: of plug-ins and of services
_NAMES = frozenset({
    "cookiebar", "cookieconsent", "cookiebanner", "cookienotice", "cookielaw", "cookiebot", "onetrust", "gdpr", "osano",
    "usercentrics", "didomi", "quantcast", "trustarc", "truste", "iubenda", "cookieyes", "cookiefirst", "klaro",
    "borlabs", "complianz", "cmplz", "euconsent", "tarteaucitron",
})  # fmt: skip
_SUBJECT = re.compile(r"cookie|gdpr|dsgvo|rgpd|consent|privacy|datenschutz", re.IGNORECASE)
# What says so even where no name does
_CLEAR_SUBJECT = re.compile(r"cookie|gdpr|dsgvo|rgpd", re.IGNORECASE)
_DIALOGUES = "[role=dialog], [role=alertdialog], [aria-modal=true], dialog[open]"
_MAIN = "main, article, [role=main], h1"
_CONTROLS = "button, [role=button], input[type=button], input[type=submit], a"
_LONGEST = 4000  # characters: a list of purposes and partners
_SHARE = 0.5  # of the page's text, at most
_LOOKED_AT = 40  # elements in a wrapper that may be the one that lies over the page
_WIDTHS = (412, 1280)
_OVER = frozenset({"fixed", "sticky", "absolute"})


def consent_bars(cascade: Cascade) -> list[Element]:
    """Return the outermost elements that ask for consent and cannot be dismissed without scripts."""
    tree = cascade.tree
    named = [each for each in tree.select("body [class], body [id]") if _is_named(each)]
    candidates = dict.fromkeys((*named, *tree.select(_DIALOGUES)))
    longest = min(_LONGEST, _SHARE * len(tree.text))
    bars = [each for each in candidates if len(each.text) <= longest and _asks(each) and _lies_over(cascade, each)]
    scripted = [each for each in bars if _waits_for_script(each, tree)]
    return [each for each in scripted if set(scripted).isdisjoint(each.ancestors)]


def _is_named(element: Element) -> bool:
    words = frozenset(class_words(element))
    return not words.isdisjoint(_NAMES) or (not words.isdisjoint(_TOPICS) and len(words & (_FORMS | _TOPICS)) > 1)


def _asks(element: Element) -> bool:
    """Whether an element is about consent, and no part of the content."""
    if element.tag in ("body", "main", "article", "a", "button", "form") or element.select_one(_MAIN) is not None:
        return False
    subject = _SUBJECT if _is_named(element) else _CLEAR_SUBJECT
    return subject.search(element.text) is not None or not _NAMES.isdisjoint(class_words(element))


def _lies_over(cascade: Cascade, element: Element) -> bool:
    """Whether an element, or one in it, stays in the window or covers the page; or it is a bar of the body itself."""
    is_of_body = getattr(element.parent, "tag", None) == "body" and _CLEAR_SUBJECT.search(element.text) is not None
    if element.matches(_DIALOGUES) or (is_of_body and _is_named(element)):
        return True
    parts = (element, *element.select("*")[:_LOOKED_AT])
    return any(cascade.value(part, "position", width) in _OVER for part in parts for width in _WIDTHS)


def _waits_for_script(element: Element, tree: Document) -> bool:
    """Whether it has a control, and none that works without scripts."""
    forms = find_forms(tree)
    controls = element.select(_CONTROLS)
    buttons = [each for each in controls if each.tag != "a"]
    if any(forms.is_working(each) and control_type(each) == "submit" for each in buttons):
        return False
    is_native = any(opens_natively(each) or each.closest("form[method=dialog]") is not None for each in buttons)
    links = (each for each in controls if each.tag == "a")
    return not is_native and (bool(buttons) or any(not is_followable(each.attr("href")) for each in links))
