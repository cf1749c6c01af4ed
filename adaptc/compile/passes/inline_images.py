"""inline-images: small images as data URIs (RFC 2397), under a byte budget a page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.guarded_images import GuardedImages
from adaptc.compile.page.inlining import ALL, CROWD, INLINED, data_uri, should_inline
from adaptc.compile.page.sheets import page_sheets, selects_by_source
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

_MEDIA_TYPES = frozenset({media.PNG, media.GIF, media.JPEG, media.WEBP, media.SVG})
# srcset and sizes choose between files; ismap sends a request; an id or a name is a handle for scripts of other pages.
_HANDLES = frozenset({"id", "name"})
_REFUSED = frozenset({"srcset", "sizes", "ismap", "crossorigin", "longdesc"})
# Bytes that the second and further uses of an image may take for a crowd: a content coding makes them a few
_REPEATED = 1024


def inline_images(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Give small images of a page as data URIs, smallest first, until the budget is spent."""
    report = Report()
    images = [image for image in editor.tree.iter_elements("img") if image.attr("src")]
    is_own = options.get("readers") in (CROWD, ALL)
    # the guard takes more bytes than a request, so that a page has it only where scripts write addresses at all
    guarded = GuardedImages(editor, page) if is_own and page.changes_images() else None
    if not images or page.has_policy or (not is_own and page.touches_addresses()):
        return report
    candidates = _candidates(images, editor.text, page, view, options)
    if not candidates or _selected_by_source(editor, page, view):
        return report
    spent = 0
    for size, path, image in sorted(candidates, key=lambda candidate: candidate[:2]):
        uri = data_uri(view.artifact(path), view.media_type(path))
        cost = size if _is_compressed(path, view, options) else len(uri)
        if spent + cost > (options["budget"] or view.settings.data_uri_budget):
            report.actions.append(Action("inline-images", KEPT, path, "the page's budget for data URIs is spent"))
            continue
        spent += cost
        if guarded is not None and guarded.is_needed:
            guarded.show(image, uri.replace(" ", "%20"))
        else:
            editor.set_attribute(image, "src", uri)
        report.actions.append(Action("inline-images", "inlined", path, INLINED))
    if guarded is not None:
        guarded.finish()
    return report


def _selected_by_source(editor: Editor, page: PageContext, view: View) -> bool:
    """Whether ``img[src$=".png"]`` may be in a sheet of the page."""
    sheets = page_sheets(editor.tree, page.base, view)
    return not sheets.complete or any(map(selects_by_source, sheets.texts))


def _candidates(
    images: list[Element], text: str, page: PageContext, view: View, options: Options
) -> list[tuple[int, str, Element]]:
    destinations = [view.follow(page.base, image.attr("src") or "") for image in images]
    uses = Counter(destination.path for destination in destinations)
    repeated = options.get("repeated", _REPEATED if options.get("readers") == CROWD else 0)
    candidates = []
    for destination, image in zip(destinations, images, strict=True):
        path = destination.path
        # a fragment chooses a part of an SVG
        if (
            path is None
            or path in page.preloaded
            or page.names_file(path)
            or "#" in destination.target.suffix
            or not _is_fit(image, path, view, text, options)
        ):
            continue
        size = transfer_size(path, view) if _is_compressed(path, view, options) else len(view.artifact(path))
        if (uses[path] - 1) * size > repeated:
            continue
        if size <= (options["largest"] or view.settings.data_uri_max):
            candidates.append((size, path, image))
    fit = Counter(path for _, path, _ in candidates)
    return [candidate for candidate in candidates if fit[candidate[1]] == uses[candidate[1]]]


def _is_compressed(path: str, view: View, options: Options) -> bool:
    """Whether the compressed size of an image counts, in a file as in a page: of drawings, for a crowd."""
    return options.get("readers") == CROWD and media.is_compressible(view.media_type(path))


def _is_fit(image: Element, path: str, view: View, text: str, options: Options) -> bool:
    refused = _REFUSED if options.get("readers") == ALL else _REFUSED | _HANDLES
    return (
        view.media_type(path) in _MEDIA_TYPES
        and not refused & set(image.attrs)
        and should_inline(path, view, options)
        and getattr(image.parent, "tag", None) != "picture"
        and not is_isolated(image, text)
    )
