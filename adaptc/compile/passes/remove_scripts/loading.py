"""Images that a script loads when they come into view: each gets its source, and its placeholder goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from adaptc.formats.html.class_names import class_words
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import parse_srcset

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


def load_lazy_images(editor: Editor, is_blank: Callable[[str], bool] = lambda _: False) -> int:
    """Give each lazy image its source; one that a ``<noscript>`` repeats is removed. Returns their number.

    ``is_blank`` says whether the image at a URL is too small to show anything.
    """
    count = 0
    for image in editor.tree.iter_elements(("img", "source")):
        sources = [(name, image.attr(name) or "") for name in _SOURCES if _is_url(image.attr(name))]
        sets = [(name, image.attr(name) or "") for name in _SOURCE_SETS if parse_srcset(image.attr(name) or "")]
        if (sources or sets) and (_shows_nothing(image) or is_blank((image.attr("src") or "").strip())):
            _load(editor, image, sources[0][1] if sources else "", sets[0][1] if sets else "")
            count += 1
    return count


def _load(editor: Editor, image: Element, source: str, sources: str) -> None:
    if image.tag == "img" and _has_twin(image, source, sources):
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
    is_placeholder = not source or _PLACEHOLDER.search(source.partition("?")[0]) is not None
    return is_placeholder or not _LAZY_NAMES.isdisjoint(class_words(image))


def _has_twin(image: Element, source: str, sources: str) -> bool:
    """Whether the element before or after, from a ``<noscript>``, is the same picture for browsers without scripts."""
    addresses = {source, *(candidate.url for candidate in parse_srcset(sources))} - {""}
    twins = (twin for place in _places(image) for twin in _neighbours(place))
    return any(_is_same(image, twin, addresses) for twin in twins)


def _places(image: Element) -> Iterator[Element]:
    """Yield an image, and the ``<picture>`` around it."""
    from turbohtml import Element

    yield image
    if isinstance(image.parent, Element) and image.parent.tag == "picture":
        yield image.parent


def _neighbours(place: Element) -> Iterator[Element]:
    """Yield the images that the elements before and after consist of."""
    from turbohtml import Element

    for siblings in (place.next_siblings, place.previous_siblings):
        neighbour = next((each for each in siblings if isinstance(each, Element) and each.tag != "source"), None)
        if neighbour is not None and not neighbour.text.strip():
            yield from ([neighbour] if neighbour.tag == "img" else neighbour.select("img"))[:1]


def _is_same(image: Element, twin: Element, addresses: set[str]) -> bool:
    if any(name in twin.attrs for name in (*_SOURCES, *_SOURCE_SETS)):
        return False  # another lazy image
    shown = {twin.attr("src") or "", *(candidate.url for candidate in parse_srcset(twin.attr("srcset") or ""))}
    stems = {stem for url in addresses if (stem := _stem(url))}
    return not shown.isdisjoint(addresses) or any(_stem(url) in stems for url in shown if url)


# Of one picture in several sizes: "ship-300x200.jpg", "ship@2x.jpg", "ship-scaled.jpg"
_SIZE = re.compile(r"(?:[-_@](?:\d{2,4}x\d{2,4}|\dx|\d{3,4}w?|scaled))+$")


def _stem(url: str) -> str:
    """Return folder and name of a picture's file, without its extension and what tells its size."""
    return _SIZE.sub("", url.partition("?")[0].rpartition(".")[0])
