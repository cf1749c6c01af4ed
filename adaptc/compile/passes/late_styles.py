"""late-styles: style sheets that a handler applies once they are loaded apply from the start.

Two patterns are in wide use: ``media=print onload="this.media='all'"``, and ``rel=preload as=style
onload="this.rel='stylesheet'"``. Both spare the reader a wait for a request. A sheet in the page costs none, and the
passes that move sheets into the page know plain links only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, is_isolated
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import preloads, rel_tokens

if TYPE_CHECKING:
    from turbohtml import Element

LATE = "late-styles"
# this.onload=null; this.media='all' and the like: nothing else may be in such a handler
_STATEMENT = re.compile(
    r"""(?:this\.)?onload\s*=\s*null|this\.removeAttribute\((?P<q>['"])onload(?P=q)\)"""
    r"""|(?:if\s*\(\s*(?:this\.)?media\s*!==?\s*(?P<q1>['"])[\w ]*(?P=q1)\s*\)\s*)?"""
    r"""(?:this\.)?media\s*=\s*(?P<q2>['"])(?P<medium>[\w ]*)(?P=q2)"""
    r"""|(?P<rel>(?:this\.)?rel\s*=\s*(?P<q3>['"])stylesheet(?P=q3))"""
)


def apply_late_styles(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Turn links to sheets of the site that apply when they are loaded into links that apply at once."""
    report = Report()
    if page.has_policy:
        return report
    for link in editor.tree.iter_elements("link"):
        medium = None if is_isolated(link, editor.text) else late_medium(link)
        path = None if medium is None else view.follow(page.base, link.attr("href") or "").path
        if medium is not None and path is not None and view.media_type(path) == media.CSS:
            _apply(link, medium, editor)
            report.actions.append(Action(LATE, "applied", path, "its handler would apply it when it is loaded"))
    return report


def late_medium(link: Element) -> str | None:
    """Return the medium of a sheet once its load handler ran; ``None`` if that is not all that the handler does."""
    handler, rel = link.attr("onload"), rel_tokens(link)
    matches = [_STATEMENT.fullmatch(part.strip()) for part in (handler or "").split(";") if part.strip()]
    if not matches:
        return None
    mediums, is_switched = [], False
    for match in matches:
        if match is None:
            return None
        is_switched = is_switched or match["rel"] is not None
        mediums += [match["medium"]] if match["medium"] is not None else []
    if not ("stylesheet" in rel or (is_switched and preloads(link, "style"))):
        return None
    return mediums[-1] if mediums else link.attr("media") or ""


def _apply(link: Element, medium: str, editor: Editor) -> None:
    editor.set_attribute(link, "rel", "stylesheet")
    for name in ("onload", "as"):
        editor.remove_attribute(link, name)
    if medium and medium != "all":
        editor.set_attribute(link, "media", medium)
    else:
        editor.remove_attribute(link, "media")
