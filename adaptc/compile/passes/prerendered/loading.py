"""Images that a script loads when they come into view: each gets its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import class_words, parse_srcset

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
