"""Placeholders for images and frames that are removed: nothing to see, the same size, and no request.

An empty SVG has the size that it states, so that the box stays whatever style sheets do with it: with both dimensions
set, with one, with none, with ``max-width`` (checked in Chromium). A transparent pixel with ``width`` and ``height``
attributes would lose its ratio under ``height: auto``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from adaptc.compile.page.context import PageContext
from adaptc.compile.page.guarded_images import GuardedImages
from adaptc.compile.view import View
from adaptc.core import media
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.references import LAZY_ATTRIBUTES, LAZY_SRCSETS
from adaptc.formats.html.syntax import parse_srcset

if TYPE_CHECKING:
    from turbohtml import Element


_SOURCE_SETS = ("srcset", "sizes", *sorted(LAZY_SRCSETS))


class Placeholders:
    """The images and frames of one page.

    Advertisements of unknown size get a box of one pixel (``is_ad``).
    """

    def __init__(self, editor: Editor, page: PageContext, view: View, guarded: GuardedImages) -> None:
        self.editor, self.page, self.view, self.guarded = editor, page, view, guarded

    def path(self, element: Element) -> str | None:
        """Return the file that an element shows, if it is on the site."""
        return self.view.follow(self.page.base, element.attr("src") or "").path

    def subject(self, element: Element) -> str:
        """Return what actions call the object of an element."""
        return self.path(element) or element.attr("src") or element.tag

    def reason_to_stay(self, element: Element, *, is_ad: bool = False) -> str | None:
        """Return why an element cannot be emptied, or ``None``."""
        return next(self._reasons(element, is_ad), None)

    def _reasons(self, element: Element, is_ad: bool) -> Iterator[str]:
        if element.tag != "img":
            return
        if "usemap" in element.attrs or "ismap" in element.attrs:
            yield "it is an image map"
        if any("media" in source.attrs for source in sources_of(element)):
            yield "its size depends on the media query of a source"
        if not is_ad and any(_by_width(element.attr(name) or "") for name in ("srcset", *LAZY_SRCSETS)):
            yield "its size depends on the width of the window"
        if not is_ad and self._placeholder(element) is None:
            yield "its size is not known"

    def empty(self, element: Element, text: str = "") -> None:
        """Point an image, and what a script would load later, at a placeholder; remove the address of a frame.

        The placeholder shows ``text`` where the image was all that could be seen of a link. Where a script may look,
        the image keeps its ``src``, and its picture the sources.
        """
        if element.tag != "img":
            self.editor.remove_attribute(element, "src")
            return
        address = self._placeholder(element, text) or placeholder(1, 1)
        is_guarded = self.guarded.is_needed and "src" in element.attrs
        candidate = address.replace(" ", "%20")  # white space separates candidates
        for source in sources_of(element):
            if is_guarded:
                self.editor.set_attribute(source, "srcset", candidate)
            else:
                self.editor.remove_element(source)
        if is_guarded:
            self.guarded.show(element, candidate)
        for name in _SOURCE_SETS:
            if name != "srcset" or not is_guarded:
                self.editor.remove_attribute(element, name)
        for name in element.attrs:
            if name in LAZY_ATTRIBUTES and _looks_like_address(element.attr(name) or ""):
                self.editor.set_attribute(element, name, address)
        if not is_guarded:
            self.editor.set_attribute(element, "src", address)

    def _placeholder(self, image: Element, text: str = "") -> str | None:
        """Return the address of an image of the same size with nothing but ``text``; ``None`` if that is unknown."""
        path = self._shown(image)
        if path is None:
            width, height = _length(image, "width"), _length(image, "height")
            return placeholder(width, height, text) if width and height else None
        if self.view.media_type(path) == media.SVG:
            return svg_placeholder(self.view.read(path), text)
        evidence = self.view.evidence(path)
        return placeholder(evidence.width, evidence.height, text) if evidence.width and evidence.height else None

    def _shown(self, image: Element) -> str | None:
        """Return the file that an image shows in the end: the ``src`` of a lazy image is temporary."""
        lazy = [image.attr(name) or "" for name in image.attrs if name in LAZY_ATTRIBUTES]
        addresses = (*filter(_looks_like_address, lazy), image.attr("src") or "")
        paths = (self.view.follow(self.page.base, address).path for address in addresses)
        return next((path for path in paths if path and self.view.media_type(path).startswith("image/")), None)


def sources_of(image: Element) -> Iterable[Element]:
    """Return the ``<source>`` elements of the ``<picture>`` around an image."""
    picture = picture_of(image)
    return () if picture is None else picture.find_all("source")


def picture_of(image: Element) -> Element | None:
    """Return the ``<picture>`` around an image, or ``None``."""
    parent = image.parent
    return cast("Element", parent) if getattr(parent, "tag", None) == "picture" else None


def names_image(name: str) -> bool:
    """Whether an attribute of an image, or of a source, names what is shown."""
    return name in ("src", "srcset") or name in LAZY_ATTRIBUTES or name in LAZY_SRCSETS


def _by_width(srcset: str) -> bool:
    """Whether the natural size of the image depends on the ``sizes`` attribute (HTML, 4.8.4.3.10)."""
    return any(descriptor.endswith("w") for candidate in parse_srcset(srcset) for descriptor in candidate.descriptors)


def _looks_like_address(value: str) -> bool:
    return "/" in value or "." in value


def _length(element: Element, name: str) -> float | None:
    value = (element.attr(name) or "").strip().removesuffix("px")
    return float(value) if value.isascii() and value.isdigit() else None


# What sizes an SVG image (SVG 2, section 8.12)
_SIZING = ("width", "height", "viewBox")
_GREY = "#808080"  # can be read on white and on black
_ESCAPED = str.maketrans({character: f"%{ord(character):02X}" for character in '\t\n\r"#%&'})


def placeholder(width: float, height: float, text: str = "") -> str:
    """Return the address of an image of this size in CSS pixels that shows nothing but ``text``."""
    return _data_uri({"width": f"{width:g}", "height": f"{height:g}"}, _text_markup(text, width, height))


@lru_cache(maxsize=256)
def svg_placeholder(content: bytes, text: str = "") -> str | None:
    """Return the address of an image with nothing but ``text`` that is sized as an SVG file is.

    ``None`` where the file is broken.
    """
    from adaptc.formats.svg.parse import SvgMalformedError, parse_svg

    try:
        root = parse_svg(content, recover=True)
    except SvgMalformedError:
        return None
    sizing = {name: value for name in _SIZING if (value := root.get(name)) and not set(value) & set("'<>")}
    return _data_uri(sizing, _text_markup(text, *_user_units(sizing)))


def _user_units(sizing: Mapping[str, str]) -> tuple[float, float]:
    """Return width and height of an SVG in its own units, zeros where they are not stated."""
    box = sizing.get("viewBox", "").replace(",", " ").split()
    stated = box[2:4] if len(box) == 4 else (sizing.get("width", ""), sizing.get("height", ""))
    width, height = (float(part) if part.replace(".", "", 1).isdigit() else 0.0 for part in stated)
    return width, height


def _text_markup(text: str, width: float, height: float) -> str:
    """Return SVG for a line of text in the middle, as large as fits; nothing where the size is not known."""
    size = round(min(height * 0.6, width * 1.6 / max(len(text), 1)), 1)
    if not text or size <= 0:
        return ""
    style = f"font-family='sans-serif' font-size='{size:g}' text-anchor='middle' dominant-baseline='central'"
    return f"<text x='50%' y='50%' fill='{_GREY}' {style}>{escape(text, quote=False)}</text>"


def _data_uri(attributes: Mapping[str, str], content: str = "") -> str:
    markup = "".join(f" {name}='{value}'" for name, value in attributes.items())
    end = f">{content}</svg>" if content else "/>"
    text = f"<svg xmlns='http://www.w3.org/2000/svg'{markup}{end}".translate(_ESCAPED)
    return "data:image/svg+xml," + "".join(letter if letter.isascii() else quote(letter) for letter in text)
