"""dimensions: width and height of images, where they cannot move the layout.

With both attributes a browser knows the box before the picture comes, and the text does not jump. They are written only
where they say what the layout would become anyway: the image has its own size, since nothing gives it another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, stands_apart
from adaptc.compile.page.sheets import page_sheets
from adaptc.compile.passes.sizing import SizingOf
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

_RASTER = frozenset({media.PNG, media.GIF, media.JPEG, media.WEBP})
_REFUSED = frozenset({"width", "height", "style", "sizes", "srcset"})
# What an ancestor's style attribute may say that reaches the image.
_REACHING = ("contents", "image-orientation", "zoom", "var(", "all")
# The largest side that is believed: beyond it Chromium scales pictures down.
_LARGEST = 16384


def add_dimensions(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Give images of the site the size that their header says; not on pages with scripts, which may measure them."""
    report = Report()
    if page.has_scripts:
        return report
    images = list(_candidates(editor, page, view))
    sheets = page_sheets(editor.tree, page.base, view) if images else None
    if sheets is None or not sheets.complete:
        return report
    sizing = SizingOf(sheets.texts)
    for path, image, parent in images:
        size = None if sizing.may_size(image, parent) else _natural_size(view.artifact(path), view)
        if size is not None:
            editor.set_attribute(image, "width", str(size[0]))
            editor.set_attribute(image, "height", str(size[1]))
            report.actions.append(Action("dimensions", "added", path, f"its own size is {size[0]}x{size[1]}"))
    return report


def _candidates(editor: Editor, page: PageContext, view: View) -> Iterator[tuple[str, Element, Element]]:
    from turbohtml import Element

    for image in editor.tree.iter_elements("img"):
        parent = image.parent
        if not isinstance(parent, Element) or parent.tag == "picture" or not _REFUSED.isdisjoint(image.attrs):
            continue
        path = view.follow(page.base, image.attr("src") or "").path
        if (
            path is not None
            and view.media_type(path) in _RASTER
            and not (stands_apart(image, editor.text) or _is_styled(image))
        ):
            yield path, image, parent


def _is_styled(image: Element) -> bool:
    """Whether a style attribute around the image may reach it: that of the parent by its layout."""
    styles = [getattr(ancestor, "attrs", {}).get("style") or "" for ancestor in image.ancestors]
    return "display" in styles[0].lower() or any(mark in style.lower() for style in styles for mark in _REACHING)


def _natural_size(content: bytes, view: View) -> tuple[int, int] | None:
    """Return width and height as shown in CSS pixels, or ``None`` when they are not certain."""
    from adaptc.formats.image.exif import read_exif
    from adaptc.formats.image.pillow import BROKEN, open_image

    try:
        with open_image(content) as image:
            (width, height), exif = image.size, read_exif(image.info.get("exif", b""))
    except BROKEN:
        return None
    if exif.density or not (0 < width <= _LARGEST and 0 < height <= _LARGEST):
        return None
    return (height, width) if exif.orientation > 4 else (width, height)
