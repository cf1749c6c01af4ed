"""What a page shows while scripts load the rest: covers, and placeholders of lazy images."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptc.formats.html.edit import Editor
from adaptc.formats.html.landmarks import class_words
from adaptc.formats.html.syntax import parse_srcset
from adaptc.formats.html.visible_text import content_length

if TYPE_CHECKING:
    from turbohtml import Element


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


def load_lazy_images(editor: Editor) -> int:
    """Give each lazy image its source; one that a ``<noscript>`` repeats is removed. Returns their number."""
    count = 0
    for image in editor.tree.iter_elements(("img", "source")):
        sources = [(name, image.attr(name) or "") for name in _SOURCES if _is_url(image.attr(name))]
        sets = [(name, image.attr(name) or "") for name in _SOURCE_SETS if parse_srcset(image.attr(name) or "")]
        if (sources or sets) and _shows_nothing(image):
            _load(editor, image, sources[0][1] if sources else "", sets[0][1] if sets else "")
            count += 1
    return count


def _load(editor: Editor, image: Element, source: str, sources: str) -> None:
    if image.tag == "img" and _has_twin(image, source):
        editor.remove_element(image)
        return
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
    return not source or _PLACEHOLDER.search(source.partition("?")[0]) is not None


def _has_twin(image: Element, source: str) -> bool:
    """Whether the next element, from a ``<noscript>``, is the same picture for browsers without scripts."""
    from turbohtml import Element

    twin = next((each for each in image.next_siblings if isinstance(each, Element)), None)
    return twin is not None and twin.tag == "img" and bool(source) and twin.attr("src") == source


_NAMES = frozenset({"preloader", "preload", "loader", "loading", "spinner", "splash", "pageloader", "siteloader"})
_SMALL = 40  # characters of text in a cover, at most: "Loading, please wait"
_CONTENT = "a[href], form, input, p, h1, h2, h3, table, ul, main, article"


def remove_covers(editor: Editor) -> int:
    """Remove covers, or hide those with an id or a text ("Loading"); returns their number."""
    covers = [each for each in editor.tree.select("body *") if _is_cover(each)]
    for element in covers:
        if element.text.strip() or "id" in element.attrs or element.select_one("[id]") is not None:
            editor.set_attribute(element, "style", "display:none!important")
        else:
            editor.remove_element(element)
    return len(covers)


def _is_cover(element: Element) -> bool:
    if element.tag not in ("div", "section", "span", "aside", "figure") or _NAMES.isdisjoint(class_words(element)):
        return False
    return content_length(element) <= _SMALL and element.select_one(_CONTENT) is None
