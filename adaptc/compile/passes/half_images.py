"""half-images: the images of a page at half resolution, in the same boxes; half-objects: those of its upper half alone.

The second is the action "halfobject" of Krishnamurthy and others (WWW2003).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.copies import (
    Copies,
    Copy,
    SourceSet,
    halve_css,
    halve_srcset,
    replace_source_set,
    shows_as_stored,
    single_source_set,
)
from adaptc.compile.page.guarded_images import BY_ADDRESS, MARK, GuardedImages, has_lazy_loader, lazy_source
from adaptc.compile.page.image_sizes import PageSizing, ShownImages
from adaptc.compile.page.inlining import data_uri
from adaptc.compile.page.placeholders import Placeholders
from adaptc.compile.page.pricing import Pricing, images_of_page
from adaptc.compile.page.sheets import page_sheets
from adaptc.compile.passes.dimensions import OwnShapes, names_by_script, own_ratio
from adaptc.compile.view import DerivingView, Options, View
from adaptc.core.model import Action, Role
from adaptc.core.urls import join
from adaptc.formats.css.selectors import AddressSelectors
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import preloads
from adaptc.formats.html.references import embedded_references
from adaptc.formats.html.syntax import parse_srcset
from adaptc.formats.image.halve import CLOSE, slack

if TYPE_CHECKING:
    from turbohtml import Element

NAME = "half-images"
_MAY_SHOW_IMAGES = re.compile(r"<img|<source|url\(|preload", re.IGNORECASE)
_SHOWING = frozenset({"img", "source"})
# Attributes that need an image in a file: another choice, a request by coordinates, an id for scripts
_CHOICES = frozenset({"srcset", "sizes"})
_CHOICE = _CHOICES | {"loading"}
_BOUND = _CHOICE | {"ismap", "usemap", "crossorigin", "id", "name"}


def halve_images(editor: Editor, page: PageContext, view: DerivingView, options: Options) -> Report:
    """Point ``<img>``, ``<source>``, preloads and ``url()`` of the page's own CSS to copies at half resolution.

    On a page with scripts the ``src`` of an image stays, and counts again once a script writes it. All images stay of a
    page under a Content-Security-Policy, which may name paths or hold hashes of styles, and those that a browser saw a
    script replace. Posters, SVG images, ``<input>`` and ``background`` attributes stay: nothing could keep their size.
    """
    report = Report()
    if not _MAY_SHOW_IMAGES.search(editor.text):
        return report
    halving = _ImageHalver(editor, page, view, options)
    reason = halving.reason_to_leave()
    if reason is not None:
        report.actions.append(Action(NAME, KEPT, "images", reason))
        return report
    halving.run()
    report.actions.extend(halving.copies.actions)
    return report


class _ImageHalver:
    """The images of one page."""

    def __init__(self, editor: Editor, page: PageContext, view: DerivingView, options: Options) -> None:
        self.editor, self.page, self.view, self.options = editor, page, view, options
        self.shown = ShownImages(page.evidence)
        images = images_of_page(editor.tree, page, view, self.shown) if options.get("price") else None
        pricing = Pricing.of(options, view, images)
        sheets = page_sheets(editor.tree, page.base, view)
        as_stored = shows_as_stored(editor.text, page, sheets, view)
        given = (view, page.base, page.base_path or "", options, NAME, self.shown, pricing)
        self.copies = Copies(*given, as_stored=as_stored, preloaded=page.preloaded)
        self.data_uris: dict[str, str] = {}  # data URIs by the URL of the image
        self.guarded = GuardedImages(editor, page)
        self.has_lazy_loader = has_lazy_loader(page)
        self.selectors = AddressSelectors.of(sheets.texts)
        self._sheets = sheets

    @cached_property
    def _own_shapes(self) -> OwnShapes:
        named = names_by_script(self.editor, self.page) if self.page.scripts else None
        return OwnShapes(self.page, self._sheets, PageSizing(self._sheets.texts, (), named))

    def reason_to_leave(self) -> str | None:
        """Return why all images of the page stay, or ``None``."""
        if self.page.base_path is None:
            return "the page's base is not on this site"
        if self.page.has_policy:
            return "a Content-Security-Policy restricts the page"
        if self.page.draws_parts():
            return "a script counts pixels of images that it draws"
        return None

    def run(self) -> None:
        """Edit the page."""
        elements = self.editor.tree.iter_elements(("img", "source", "style", "link"))
        candidates = [each for each in elements if not is_isolated(each, self.editor.text)]
        late = [each for each in candidates if self._is_loaded_late(each)]
        images = [each for each in candidates if each not in late and not self._stays(each)]
        self.data_uris = self._choose_data_uris(images)
        self._style_attributes()
        for image in late:
            self._lazy_img(image)
        for element in images:
            if element.tag in _REWRITE:
                _REWRITE[element.tag](self, element)
        for element in images:
            if element.tag == "link":
                self._preload(element)
        self.guarded.finish()

    def _is_loaded_late(self, element: Element) -> bool:
        """Whether a known library loads an image, and nothing else changes it."""
        is_alone = self.has_lazy_loader and element.tag == "img" and not _in_picture(element)
        return is_alone and lazy_source(element) is not None and not self._stays(element)

    def _lazy_img(self, image: Element) -> None:
        """Give the library the copy to load; what the image shows until then stays."""
        copy = self.copies.of(lazy_source(image) or "")
        if copy is not None:
            source_set = single_source_set(copy)
            self._set_source_set(image, source_set, "data-srcset", "sizes")
            self.editor.set_attribute(image, "data-src", copy.url)

    def _stays(self, element: Element) -> bool:
        """Whether an image shows something else, a script replaces it, or a selector may match it by its addresses."""
        if element.tag not in _SHOWING:
            return False
        path = self.view.follow(self.page.base, element.attr("src") or "").path
        is_guarded = self.guarded.is_needed
        if MARK in element.attrs or (is_guarded and path is not None and self.shown.is_by_script(path)):
            return True
        if not self.selectors.may_choose(element.attrs, has_new_src=not is_guarded):
            return False
        if element.tag == "img":
            self.copies.actions.append(Action(NAME, KEPT, path or element.attr("src") or "img", BY_ADDRESS))
        return True

    def _copy(self, image: Element) -> Copy | None:
        source = image.attr("src")
        return self.copies.of(source) if source else None

    def _style_attributes(self) -> None:
        for element in self.editor.tree.select('[style*="("]'):
            style = element.attr("style") or ""
            halved = style if is_isolated(element, self.editor.text) else self._half_css(style, is_attribute=True)
            if halved != style:
                self.editor.set_attribute(element, "style", halved)

    def _half_css(self, text: str, *, is_attribute: bool) -> str:
        return halve_css(text, self.copies.of_sheet, declarations=is_attribute)

    def _style(self, element: Element) -> None:
        if (element.attr("type") or "text/css").lower() == "text/css":
            self.editor.set_raw_text(element, self._half_css(element.text, is_attribute=False))

    def _source(self, element: Element) -> None:
        source_set = self._source_set(element, "srcset", "sizes") if _in_picture(element) else None
        if source_set is None or ("type" in element.attrs and source_set.media_type is None):
            return
        self._set_source_set(element, source_set, "srcset", "sizes")
        self._set_type(element, source_set.media_type)

    def _choose_data_uris(self, elements: list[Element]) -> dict[str, str]:
        """Return data URIs of small copies, in the order of the bytes that they add in all their places.

        The budget counts a copy at each place: gzip finds a repetition only close to the first.
        """
        budget, largest = self.options.get("budget", 0), self.options.get("largest", 0)
        images = [element for element in elements if element.tag == "img"] if budget else []
        uses = Counter(str(image.attr("src")) for image in images)
        bound = {str(image.attr("src")) for image in images if not self._is_alone(image)}
        copies = ((url, self.copies.of(url)) for url in uses if url not in bound)
        sized = ((uses[url] * copy.file.size, url, copy.file) for url, copy in copies if copy)
        small = [each for each in sized if each[0] <= largest]
        uris = {}
        for _, url, file in sorted(small, key=lambda each: each[:2]):
            uri = data_uri(self.view.copy_content(file), file.media_type)
            budget -= uses[url] * len(uri)
            if budget < 0:
                break
            uris[url] = uri
        return uris

    def _img(self, image: Element) -> None:
        copy, srcset = self._copy(image), image.attr("srcset") or ""
        uri = self.data_uris.get(image.attr("src") or "")
        if copy is not None and uri is not None:
            copy = Copy(uri, copy.file)
            source_set: SourceSet | None = replace_source_set(copy, srcset)
        elif parse_srcset(srcset):
            source_set = self._source_set(image, "srcset", "sizes", image.attr("src"))
        else:
            source_set = None if copy is None else replace_source_set(copy, srcset)
        if source_set is None:
            return
        if copy is not None and not srcset:
            self._keep_shape(image, copy)
        if self.guarded.is_needed:
            self.guarded.show(image, source_set.srcset, source_set.sizes)
            return
        self._set_source_set(image, source_set, "srcset", "sizes")
        if uri is not None and not self.selectors.need_src:
            self.editor.remove_attribute(image, "src")
        elif copy is not None:
            self.editor.set_attribute(image, "src", copy.url if uri is None else "data:,")

    def _keep_shape(self, image: Element, copy: Copy) -> None:
        """Write the shape of the original where the copy has another: what comes after it would move otherwise."""
        natural = (copy.file.natural_width, copy.file.natural_height)
        if slack(natural, (copy.file.width, copy.file.height)) > CLOSE and self._own_shapes.takes(image):
            self.editor.set_attribute(image, "style", own_ratio(natural))

    def _is_alone(self, image: Element) -> bool:
        """Whether an image has one source, and no attribute that needs it in a file."""
        return bool(image.attr("src")) and not _in_picture(image) and not _BOUND & set(image.attrs)

    def _preload(self, link: Element) -> None:
        """Preload the copy where the page shows it: the original would be fetched for nothing."""
        if not preloads(link, "image"):
            return
        source_set = self._source_set(link, "imagesrcset", "imagesizes")
        copy = self.copies.of(link.attr("href") or "") if link.attr("href") else None
        if source_set is not None:
            self._set_source_set(link, source_set, "imagesrcset", "imagesizes")
        if copy is not None:
            self.editor.set_attribute(link, "href", copy.url)
        self._set_type(
            link, source_set.media_type if source_set else copy.file.media_type if copy else link.attr("type")
        )

    def _source_set(self, element: Element, srcset: str, sizes: str, src: str | None = None) -> SourceSet | None:
        return halve_srcset(element.attr(srcset) or "", element.attr(sizes), self.copies.of, src)

    def _set_source_set(self, element: Element, source_set: SourceSet, srcset: str, sizes: str) -> None:
        self.editor.set_attribute(element, srcset, source_set.srcset)
        if source_set.sizes is not None:
            self.editor.set_attribute(element, sizes, source_set.sizes)

    def _set_type(self, element: Element, media_type: str | None) -> None:
        if "type" not in element.attrs:
            return
        if media_type is None:
            self.editor.remove_attribute(element, "type")
        else:
            self.editor.set_attribute(element, "type", media_type)


def _in_picture(element: Element) -> bool:
    return getattr(element.parent, "tag", None) == "picture"


_REWRITE = {"img": _ImageHalver._img, "source": _ImageHalver._source, "style": _ImageHalver._style}


# ---- half-objects

OBJECTS = "half-objects"
_REMOVABLE = ("img", "iframe")


# What a hint names is loaded by another reference, if at all
_APART = frozenset({Role.ICON, Role.PRELOAD})


def halve_objects(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Remove the bottom half of a page's embedded objects (action "halfobject": a client fetches the top half).

    Of n different objects that the markup embeds n // 2 are removed, from the bottom up. Style sheets and scripts count
    and stay: the paper measured times only, and without them it would be another page. Images and frames go instead, as
    far as there are any; a box of the same size stays.
    """
    report = Report()
    if page.has_policy:
        report.actions.append(Action(OBJECTS, KEPT, "images", "a Content-Security-Policy restricts the page"))
        return report
    objects = dict.fromkeys(
        _object(each.url, page, view) for each in embedded_references(editor.tree) if each.role not in _APART
    )
    excess = len(objects) // 2
    placeholders = Placeholders(editor, page, view, GuardedImages(editor, page))
    for elements in _from_the_bottom(editor, page, view):
        if excess == 0:
            break
        excess -= _empty(elements, placeholders, report)
    return report


def _object(url: str, page: PageContext, view: View) -> str:
    return view.follow(page.base, url).path or join(page.base, url) or url


def _from_the_bottom(editor: Editor, page: PageContext, view: View) -> Iterator[list[Element]]:
    """Yield the elements that show the same object, the object first that begins lowest on the page."""
    elements: dict[str, list[Element]] = {}
    for element in editor.tree.iter_elements(_REMOVABLE):
        if element.attr("src") and not is_isolated(element, editor.text):
            elements.setdefault(_object(element.attr("src") or "", page, view), []).append(element)
    yield from reversed(elements.values())


def _empty(elements: list[Element], placeholders: Placeholders, report: Report) -> bool:
    """Empty all elements that show an object, or none: a single one would save no request."""
    reason = next((reason for element in elements if (reason := placeholders.reason_to_stay(element))), None)
    subject = placeholders.subject(elements[0])
    if reason is not None:
        report.actions.append(Action(OBJECTS, KEPT, subject, reason))
        return False
    for element in elements:
        placeholders.empty(element)
    report.actions.append(
        Action(OBJECTS, "stripped", subject, "in the bottom half of the embedded objects", len(elements))
    )
    return True
