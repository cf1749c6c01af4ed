"""dimensions: width and height of images, where they cannot move the layout.

With both attributes a browser knows the box before the picture arrives, and the text does not jump. The pass writes
them only if they state what the layout becomes anyway: nothing gives the image another size than its natural one, or
only another width, with the height that follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, is_isolated
from adaptc.compile.page.guarded_images import NamedImages
from adaptc.compile.page.image_sizes import PageSizing, ShownImages
from adaptc.compile.page.sheets import PageSheets, lasting_sheets, page_sheets
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.model import Action
from adaptc.core.shortage import raise_shortage
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import class_names
from adaptc.formats.script.lookups import union_of

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["OwnShapes", "add_dimensions", "is_styled", "names_by_script", "natural_size", "own_ratio"]

_RASTER = frozenset({media.PNG, media.GIF, media.JPEG, media.WEBP})
_REFUSED = frozenset({"width", "height", "style", "sizes", "srcset"})
# Parts of an ancestor's style attribute that reach the image
_REACHING = ("contents", "image-orientation", "zoom", "var(", "all")
# The largest side: Chromium scales down larger pictures
_LARGEST = 16384


def add_dimensions(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Give images of the site the size that their header says.

    On pages with scripts that may measure, size or move images only those that a browser saw left alone, and that no
    script names. Scripts of other sites are written for any page, and know no names of this one.
    """
    report = Report()
    may_size = bool(page.unseen_scripts) or any(view.facts(_SIZES, script) for script in page.scripts)
    if may_size and (page.evidence is None or page.looks_for_sheets()):
        return report
    images = list(_candidates(editor, page, view))
    sheets = page_sheets(editor.tree, page.base, view) if images else None
    if sheets is None or not sheets.are_known:
        return report
    lasting = lasting_sheets(editor.tree, editor.text, page.base, view)
    sizing = PageSizing(sheets.texts, lasting, names_by_script(editor, page) if may_size else None)
    is_left_alone = _left_alone(editor, page) if may_size else _always
    for path, image, parent in images:
        is_sure = is_left_alone(image, path) and sizing.keeps_shape(image, parent)
        size = natural_size(view.artifact(path), view) if is_sure else None
        if size is not None:
            editor.set_attribute(image, "width", str(size[0]))
            editor.set_attribute(image, "height", str(size[1]))
            report.actions.append(Action("dimensions", "added", path, f"its own size is {size[0]}x{size[1]}"))
    return report


def _always(image: Element, path: str) -> bool:
    return True


def _left_alone(editor: Editor, page: PageContext) -> Callable[[Element, str], bool]:
    """Return whether scripts leave an image alone: none names it or what is around it, and a browser saw none at it."""
    shown, named = ShownImages(page.evidence), NamedImages(editor.tree, page, by_any=True)
    return lambda image, path: shown.is_unchanged(path) and not named.includes(image)


def names_by_script(editor: Editor, page: PageContext) -> Callable[[str], bool]:
    """Return whether a script may give a name to an element: it writes it in a string, or a browser saw it come."""
    handles = union_of([facts.handles for facts in page.scripts.values()])
    tree = editor.tree
    own = {name for element in tree.select("*") for name in (*element.attrs, *_words(element))}
    seen = {name for width in (page.evidence.widths if page.evidence else ()) for name in width.names} - own
    return (handles.ids | handles.classes | handles.attributes | seen).__contains__


def _words(element: Element) -> list[str]:
    return [*class_names(element), element.attr("id") or ""]


# What a script needs to measure, size, find or move an image, or to change classes and attributes, by which rules apply
_SIZING_CODE = re.compile(
    r"width|height|size|rect|img|image|class|attr|dataset|style|rule|css|html|write|append|prepend|insert|wrap|clone"
    r"|replace(?:with|child)|\b(?:prop|before|after|import|eval)\b|\[\s*[^\]\s\d'\"]",
    re.IGNORECASE,
)


def _may_size(text: str) -> bool:
    return _SIZING_CODE.search(text) is not None


_SIZES = FactKind("may size images", _may_size, True)


def _candidates(editor: Editor, page: PageContext, view: View) -> Iterator[tuple[str, Element, Element]]:
    from turbohtml import Element

    for image in editor.tree.iter_elements("img"):
        parent = image.parent
        has_handler = any(name.startswith("on") for name in image.attrs)
        if not isinstance(parent, Element) or parent.tag == "picture" or not _REFUSED.isdisjoint(image.attrs):
            continue
        path = view.follow(page.base, image.attr("src") or "").path
        if (
            path is not None
            and view.media_type(path) in _RASTER
            and not (has_handler or is_isolated(image, editor.text) or is_styled(image))
        ):
            yield path, image, parent


def is_styled(image: Element) -> bool:
    """Whether a style attribute around the image may reach it: that of the parent by its layout."""
    styles = [getattr(ancestor, "attrs", {}).get("style") or "" for ancestor in image.ancestors]
    return "display" in styles[0].lower() or any(mark in style.lower() for style in styles for mark in _REACHING)


def own_ratio(natural: tuple[int, int]) -> str:
    """Return the style of an image that has the shape of its file, whichever copy of it is shown."""
    return f"aspect-ratio:{natural[0]}/{natural[1]}"


_READS_STYLE = re.compile(r"\[\s*style\b", re.IGNORECASE)


class OwnShapes:
    """The images of a page that may say their shape in a style of their own, and nobody notices.

    Without it a copy of a slightly other shape (251x167 in place of 500x333) moves what comes after it.
    """

    def __init__(self, page: PageContext, sheets: PageSheets, sizing: PageSizing) -> None:
        handles = union_of([facts.handles for facts in page.scripts.values()])
        self._is_style_read = "style" in handles.attributes or any(map(_READS_STYLE.search, sheets.texts))
        self._sizing = sizing if sheets.are_known else None

    def takes(self, image: Element) -> bool:
        """Whether the style may be written."""
        if self._sizing is None or self._is_style_read or "style" in image.attrs:
            return False
        return self._sizing.takes_ratio(image)


def natural_size(content: bytes, view: View) -> tuple[int, int] | None:
    """Return width and height as shown in CSS pixels, or ``None`` if they are uncertain."""
    from adaptc.formats.image.probe import BROKEN, open_image, read_exif, read_orientation

    try:
        with open_image(content) as image:
            (width, height), exif = image.size, read_exif(image.info.get("exif", b""), image.size)
        orientation = read_orientation(content)
    except BROKEN as error:
        raise_shortage(error)
        return None
    if exif.has_density or not (0 < width <= _LARGEST and 0 < height <= _LARGEST):
        return None
    return (height, width) if orientation > 4 else (width, height)
