"""What scripts bring into a page: images as they come into view, lists that they fetch, and whole applications."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.syntax import attribute_markup, class_words, parse_srcset
from adaptc.formats.html.visible_text import fold_space

if TYPE_CHECKING:
    from turbohtml import Document


# The most frequent first (WordPress plug-ins, lazysizes, lozad, jQuery lazyload, unveil, b-lazy)
_SOURCES = (
    "data-src", "data-lazy-src", "data-original", "data-lazy", "data-lazyload", "data-echo", "data-ll-src",
    "data-orig-src", "data-cfsrc", "data-pagespeed-lazy-src", "data-rocket-src", "data-lazysrc", "data-img-src",
    "data-flickity-lazyload", "data-url", "lazy-src", "nitro-lazy-src",
)  # fmt: skip
_SOURCE_SETS = ("data-srcset", "data-lazy-srcset", "data-original-set", "data-ll-srcset", "data-lazysrcset")
_PLACEHOLDER = re.compile(
    r"(?:^data:|(?:^|[/_.-])(?:blank|placeholder|spacer|loading|loader|transparent|lazy|pixel|empty|dummy|grey|gray|1x1)"
    r"[^/]*\.(?:gif|png|svg|webp|jpe?g)$)",
    re.IGNORECASE,
)


# Class names of images that a script loads, whatever they show until then
_LAZY_NAMES = frozenset({"lazy", "lazyload", "lazyloading", "lazyloaded", "lozad", "unveil", "defer", "deferred"})


def load_lazy_images(editor: Editor) -> int:
    """Give each lazy image its source; returns their number."""
    count = 0
    for image in editor.tree.iter_elements(("img", "source")):
        sources = [(name, image.attr(name) or "") for name in _SOURCES if _is_url(image.attr(name))]
        sets = [(name, image.attr(name) or "") for name in _SOURCE_SETS if parse_srcset(image.attr(name) or "")]
        if (sources or sets) and _shows_nothing(image):
            _load(editor, image, sources[0][1] if sources else "", sets[0][1] if sets else "")
            count += 1
    return count


def _load(editor: Editor, image: Element, source: str, sources: str) -> None:
    if sources and (image.tag == "source" or not source):
        editor.set_attribute(image, "srcset", sources)
    elif "srcset" in image.attrs:
        editor.remove_attribute(image, "srcset")
    if image.tag == "img":
        editor.set_attribute(image, "src", source or parse_srcset(sources)[0].url)
    if (image.attr("sizes") or "").strip().lower() == "auto":
        editor.remove_attribute(image, "sizes")


def _is_url(value: str | None) -> bool:
    return bool(value) and value is not None and ("." in value or "/" in value) and value.strip()[:1] not in "{[<#"


def _shows_nothing(image: Element) -> bool:
    if image.tag == "source":
        return not parse_srcset(image.attr("srcset") or "")
    source = (image.attr("src") or "").strip()
    is_placeholder = not source or _PLACEHOLDER.search(source.partition("?")[0]) is not None
    return is_placeholder or not _LAZY_NAMES.isdisjoint(class_words(image))


# ---- What scripts write, as a browser saw it: a page shows it before they run, and then has its own markup

# What the markup after scripts lacks; what tells screen readers that the route changed is no part of a page either
_LEFT_OUT = frozenset({"script", "noscript", "canvas"})
_EARLY = frozenset({"modulepreload", "preload", "prefetch"})
# What cannot be written twice; what a parser moves, or has text alone
_SINGLE = "script, noscript, style, link, canvas, iframe, object, embed, video, audio, template, form"
_STRICT = frozenset(
    {"table", "thead", "tbody", "tfoot", "tr", "colgroup", "select", "optgroup", "option", "textarea", "p"}
)
# The day on which pages are looked at (``freeze.js``)
_DATED = re.compile(r"\b2023\b|\b1?1[./-]14\b|\b14[./-]11\b")


def find_written(tree: Document, after: Document) -> dict[Element, Element]:
    """Return the elements that scripts fill, each with what it is in the page ``after`` them.

    There are none where scripts change anything else, or write what may be another thing tomorrow.
    """
    roots = [(tree.select_one(tag), after.select_one(tag)) for tag in ("head", "body")]
    waiting = [(own, other) for own, other in roots if own is not None and other is not None and _is_like(own, other)]
    if len(waiting) < len(roots):
        return {}
    found: dict[Element, Element] = {}
    while waiting:
        own, other = waiting.pop()
        pairs = list(zip_longest(_content(own), _content(other)))
        if all(_is_like(*pair) for pair in pairs):
            waiting += [(one, two) for one, two in pairs if isinstance(one, Element) and isinstance(two, Element)]
            continue
        while own.tag in _STRICT and isinstance(own.parent, Element) and isinstance(other.parent, Element):
            own, other = own.parent, other.parent
        found[own] = other
    outermost = {own: other for own, other in found.items() if found.keys().isdisjoint(own.ancestors)}
    return outermost if all(_may_be_written(*pair) for pair in outermost.items()) else {}


def _content(element: Element) -> list[Element | str]:
    """Return the elements and texts in an element that both versions of a page have."""
    found, text = list[Element | str](), ""
    for node in element.children:
        if isinstance(node, Text):
            text += node.data
        elif isinstance(node, Element) and not _is_left_out(node):
            found += [text, node]
            text = ""
    folded = (each if isinstance(each, Element) else fold_space(each).strip() for each in (*found, text))
    return [each for each in folded if each != ""]


def _is_left_out(element: Element) -> bool:
    is_early = element.tag == "link" and not _EARLY.isdisjoint(rel_tokens(element))
    return is_early or element.tag in _LEFT_OUT or "aria-live" in element.attrs or element.tag.endswith("-announcer")


def _is_like(own: Element | str | None, other: Element | str | None) -> bool:
    if isinstance(own, Element) and isinstance(other, Element):
        return own.tag == other.tag and dict(own.attrs) == dict(other.attrs)
    return own == other


def _may_be_written(own: Element, other: Element) -> bool:
    is_single = own.select_one(_SINGLE) is not None or other.select_one(_SINGLE) is not None
    return not is_single and own.closest("body") not in (None, own) and _DATED.search(other.text) is None


def write_content(editor: Editor, written: Mapping[Element, Element], mark: str) -> int:
    """Write what scripts write; returns the number of elements.

    What an element had is in its attribute ``mark-html``, or hidden in it with the attribute ``mark``, if it has words.
    """
    for own, other in written.items():
        has_words, inner = bool(own.text.strip()), own.inner_html
        attributes = {**own.attrs, f"{mark}-html": "" if has_words else inner}
        start = "".join(f" {attribute_markup(name, str(value or ''))}" for name, value in attributes.items())
        kept = f"<span hidden {mark}>{inner}</span>" * has_words
        editor.replace_element(own, f"<{own.tag}{start}>{other.inner_html}{kept}</{own.tag}>")
    return len(written)
