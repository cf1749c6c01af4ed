"""inline-images: small images as data URIs (RFC 2397), under a byte budget a page."""

from __future__ import annotations

import base64
from collections import Counter
from typing import TYPE_CHECKING

from adaptc import media
from adaptc.html.edit import Editor
from adaptc.model import Action
from adaptc.passes.page import INLINED, PageContext, Report, stands_apart
from adaptc.passes.view import Options, View

if TYPE_CHECKING:
    from turbohtml import Element

_MEDIA_TYPES = frozenset({media.PNG, media.GIF, media.JPEG, media.WEBP, media.SVG})
# srcset and sizes choose between files; usemap and ismap need the element as it is.
_REFUSED = frozenset({"srcset", "sizes", "ismap", "crossorigin", "id", "name", "longdesc"})


def inline_images(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Give small images that a page uses once as data URIs, cheapest first, until the budget is spent."""
    report = Report()
    images = [image for image in editor.tree.iter_elements("img") if image.attr("src")]
    if not images or page.has_policy or page.touches_sources():
        return report
    spent = 0
    for size, path, image in sorted(_candidates(images, page, view), key=lambda candidate: candidate[:2]):
        uri = _data_uri(view.artifact(path), view.media_type(path))
        if spent + len(uri) > view.settings.data_uri_budget:
            report.actions.append(Action("inline-images", "kept", path, "the page's budget for data URIs is spent"))
            continue
        spent += len(uri)
        editor.set_attribute(image, "src", uri)
        report.inlined.append((path, size))
        report.actions.append(Action("inline-images", "inlined", path, INLINED))
    return report


def _candidates(images: list[Element], page: PageContext, view: View) -> list[tuple[int, str, Element]]:
    paths = [view.follow(page.base, image.attr("src") or "").path for image in images]
    uses = Counter(paths)
    found = []
    for path, image in zip(paths, images, strict=True):
        if path is None or uses[path] > 1 or not _is_fit(image, path, view):
            continue
        size = len(view.artifact(path))
        if size <= view.settings.data_uri_max:
            found.append((size, path, image))
    return found


def _is_fit(image: Element, path: str, view: View) -> bool:
    return (
        view.media_type(path) in _MEDIA_TYPES
        and not _REFUSED & set(image.attrs)
        and view.placement(path).inline
        and getattr(image.parent, "tag", None) != "picture"
        and not stands_apart(image)
    )


def _data_uri(content: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"
