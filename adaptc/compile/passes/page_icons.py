"""page-icons: one icon for a page, in the page itself if it is small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, is_isolated
from adaptc.compile.page.inlining import INLINED, data_uri, transfer_size
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["reduce_icons"]

NAME = "page-icons"
# For bookmarks on the start screens of telephones, and for pinned tabs
_OTHERS = frozenset({
    "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon", "fluid-icon",
})  # fmt: skip
_MEDIA_TYPES = frozenset({media.PNG, media.GIF, media.JPEG, media.WEBP, media.SVG})


def reduce_icons(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Keep the icon with the fewest bytes, as a data URI of up to ``largest`` bytes; remove the others.

    Icons with a ``media`` attribute are a set for light and dark tabs, and stay all of them.
    """
    report = Report()
    links = [link for link in editor.tree.iter_elements("link") if not is_isolated(link, editor.text)]
    icons = [link for link in links if "icon" in _rel(link)]
    others = [link for link in links if not _OTHERS.isdisjoint(_rel(link)) and link not in icons]
    icon = _smallest(icons, page, view)
    for link in [*others, *(icons if icon is not None else ())]:
        if link is not icon:
            editor.remove_element(link)
            report.actions.append(Action(NAME, "removed", link.attr("href") or "", "one icon is enough"))
    if icon is not None and not page.has_policy:
        _inline(icon, editor, page, view, options["largest"], report)
    return report


def _rel(link: Element) -> set[str]:
    return set((link.attr("rel") or "").lower().split())


def _smallest(icons: list[Element], page: PageContext, view: View) -> Element | None:
    """Return the icon to keep, ``None`` to keep all: some are not files of this site, or are a set."""
    paths = [view.follow(page.base, icon.attr("href") or "").path for icon in icons]
    if not icons or None in paths or any("media" in icon.attrs for icon in icons):
        return None
    sizes = [(transfer_size(path, view), place) for place, path in enumerate(paths) if path is not None]
    return icons[min(sizes)[1]]


def _inline(icon: Element, editor: Editor, page: PageContext, view: View, largest: int, report: Report) -> None:
    path = view.follow(page.base, icon.attr("href") or "").path
    if path is None or view.media_type(path) not in _MEDIA_TYPES or len(view.artifact(path)) > largest:
        return
    editor.set_attribute(icon, "href", data_uri(view.artifact(path), view.media_type(path)))
    report.actions.append(Action(NAME, "inlined", path, INLINED))
