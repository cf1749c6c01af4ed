"""page-icons: one icon for a page, in the page itself if it is small."""

from __future__ import annotations

import io
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.inlining import INLINED, NAMED, data_uri
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.core.shortage import raise_shortage
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import ICONS, rel_tokens
from adaptc.formats.image.probe import BROKEN, open_image

if TYPE_CHECKING:
    from turbohtml import Element

NAME = "page-icons"
# For bookmarks on the start screens of telephones, and for pinned tabs
_OTHERS = ICONS - {"icon"}
_MEDIA_TYPES = frozenset({media.PNG, media.GIF, media.JPEG, media.WEBP, media.SVG})
_RASTER = _MEDIA_TYPES - {media.SVG} | {media.ICO}


def reduce_icons(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Keep the icon with the fewest bytes, as a data URI of up to ``largest`` bytes or a PNG of that size.

    Others are removed, those of other sites and missing ones as well.

    Icons with a ``media`` attribute are a set for light and dark tabs, and stay all of them.
    """
    report = Report()
    if any(map(_looks_for_icons, page.scripts)):
        report.actions.append(Action(NAME, KEPT, "icons", "a script looks for them"))
        return report
    links = [link for link in editor.tree.iter_elements("link") if not is_isolated(link, editor.text)]
    icons = [link for link in links if "icon" in rel_tokens(link)]
    others = [link for link in links if not _OTHERS.isdisjoint(rel_tokens(link)) and link not in icons]
    icon = _smallest(icons, page, view)
    for link in [*others, *(icons if icon is not None else ())]:
        if link is not icon:
            editor.remove_element(link)
            report.actions.append(Action(NAME, "removed", link.attr("href") or "", "one icon is enough"))
    if icon is not None and not page.has_policy:
        _inline(icon, editor, page, view, options["largest"], report)
    return report


@lru_cache(maxsize=256)
def _looks_for_icons(script: str | bytes) -> bool:
    text = script if isinstance(script, str) else script.decode("utf-8", "replace")
    return re.search(r"\[rel[~*^|$]?=\W{0,3}(?:shortcut |apple-touch-|mask-|fluid-)?icon", text) is not None


def _smallest(icons: list[Element], page: PageContext, view: View) -> Element | None:
    """Return the icon to keep, ``None`` to keep all: none is a file of this site, or they are a set."""
    if any("media" in icon.attrs for icon in icons):
        return None
    paths = [view.follow(page.base, icon.attr("href") or "").path for icon in icons]
    sizes = [(transfer_size(path, view), place) for place, path in enumerate(paths) if path is not None]
    return icons[min(sizes)[1]] if sizes else None


def _inline(icon: Element, editor: Editor, page: PageContext, view: View, largest: int, report: Report) -> None:
    path = view.follow(page.base, icon.attr("href") or "").path
    uri = None if path is None else _icon_uri(path, view, largest)
    if path is None or uri is None:
        return
    if page.names_file(path):  # of a framework that writes the head again
        report.actions.append(Action(NAME, KEPT, path, NAMED))
        return
    editor.set_attribute(icon, "href", uri)
    if not uri.startswith(f"data:{view.media_type(path)}"):
        for name in ("type", "sizes"):
            editor.remove_attribute(icon, name)
    report.actions.append(Action(NAME, "inlined", path, INLINED))


def _icon_uri(path: str, view: View, largest: int) -> str | None:
    """Return the data URI of an icon, as it is or as a smaller PNG, ``None`` if it is too large or not an image."""
    content, media_type = view.artifact(path), view.media_type(path)
    if media_type in _MEDIA_TYPES and len(content) <= largest:
        return data_uri(content, media_type)
    if media_type not in _RASTER:
        return None
    smaller = small_icon(content, view.settings.limit_pixels)
    return None if smaller is None or len(smaller) > largest else data_uri(smaller, media.PNG)


# ---- A small icon: files of it hold up to ten sizes, of which a tab shows one

# Device pixels of an icon on a tab: 16 CSS pixels on a screen of 2x
ICON_SIDE = 32
_COLOURS = 64


@lru_cache(maxsize=16)
def small_icon(content: bytes, limit_pixels: int) -> bytes | None:
    """Return an icon as a PNG of at most 32 by 32 pixels in 64 colours; ``None`` if it cannot be read."""
    from PIL import Image

    try:
        icon = open_image(content)
        if icon.width * icon.height > limit_pixels:
            return None
        sizes = icon.info.get("sizes", ())  # of an ICO
        fitting = min((size for size in sizes if min(size) >= ICON_SIDE), default=None)
        if fitting is not None:
            icon.size = fitting  # type: ignore[misc]  # chooses the picture (Pillow, "ICO")
        pixels = icon.convert("RGBA")
    except BROKEN as problem:
        raise_shortage(problem)
        return None
    if max(pixels.size) > ICON_SIDE:
        pixels.thumbnail((ICON_SIDE, ICON_SIDE), Image.Resampling.LANCZOS)
    output = io.BytesIO()
    pixels.quantize(_COLOURS, Image.Quantize.FASTOCTREE).save(output, "PNG", optimize=True)
    return output.getvalue()
