"""loading: what a page shows first is fetched first, and images far below it when a reader comes near them.

The largest image of the first window has a high priority; where it is the background of an element, which a browser
finds after the sheets, it is preloaded. Images below are lazy: only those whose box is known before they load, so that
nothing moves, and not on pages whose scripts wait for images.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from adaptc.browser.evidence import ImageSeen, WidthEvidence
from adaptc.compile.page.context import PageContext, Report, is_isolated
from adaptc.compile.page.guarded_images import NamedImages, defer_images
from adaptc.compile.page.image_sizes import PageSizing
from adaptc.compile.page.sheets import page_sheets, sheets_with_bases, url_like
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.passes.dimensions import is_styled, natural_size, own_ratio
from adaptc.compile.view import DerivingView, Options
from adaptc.core.facts import FactKind
from adaptc.core.model import Action
from adaptc.core.urls import is_rooted
from adaptc.formats.css.references import css_references
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import is_style_sheet, preloads
from adaptc.formats.html.visible_text import fold_space

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["set_loading"]

NAME = "loading"
# Square pixels of the smallest image that matters for the first window: a logo does not
_LEAST_AREA = 10_000
# Bits for each square pixel of an image that Chromium takes for content: a small icon in a large box is none
_LEAST_BITS = 0.05
# Without a browser: images and characters of text before a lazy image; a laptop shows 40 lines of 150 characters
_IMAGES_BEFORE, _TEXT_BEFORE = 5, 6000
# CSS pixels by which attributes and the image's own shape may differ
_CLOSE = 1.0
# Scripts that measure images once they are loaded, or wait for all of them
_WAITING = re.compile(r"naturalWidth|naturalHeight|imagesLoaded", re.IGNORECASE)
# Parts of selectors that an image with a style attribute could match, and what they ask for besides names
_STYLE_READER = re.compile(r"[^\s>+~,(){};]*\[\s*style\b[^\]]*\][^\s>+~,(){};]*", re.IGNORECASE)
_CONDITION = re.compile(r"\[[^\]]*\]|::?[\w-]+")
_IMAGE_SET = re.compile(r"image-set\((?:[^()]|\([^()]*\))*\)", re.IGNORECASE)
_TYPE = re.compile(r"""type\(["']([^"']*)["']\)""")


def set_loading(editor: Editor, page: PageContext, view: DerivingView, options: Options) -> Report:
    """Set ``fetchpriority``, ``loading`` and ``decoding`` of images, and preload a background, by what was seen.

    With ``priority`` the largest image of the first window is fetched first, where a browser looked at the page. With
    ``lazy`` images are lazy that no window showed first; without a browser those after much text and other images.
    """
    report = Report()
    if page.base_path is None:
        return report
    images = [each for each in editor.tree.iter_elements("img") if not is_isolated(each, editor.text)]
    loading = _Loading(editor, page, view, report)
    if options["priority"] and page.evidence is not None:
        loading.prefer(images)
    if options["lazy"] and not any(view.facts(_WAITS, script) for script in page.scripts):
        loading.defer(images)
    return report


class _Loading:
    """The images of one page."""

    def __init__(self, editor: Editor, page: PageContext, view: DerivingView, report: Report) -> None:
        self.editor, self.page, self.view, self.report = editor, page, view, report
        self.widths = page.evidence.widths if page.evidence is not None else ()

    def _path(self, image: Element) -> str | None:
        return self.view.follow(self.page.base, image.attr("src") or "").path

    # ---- the first window

    def prefer(self, images: list[Element]) -> None:
        """Fetch the largest images of the first windows first."""
        largest = [self._largest(width) for width in self.widths]
        for seen in dict.fromkeys(image.path for image in largest if image is not None and not image.is_background):
            first = next((image for image in images if self._path(image) == seen), None)
            if first is not None and not {"loading", "fetchpriority"} & set(first.attrs):
                self.editor.set_attribute(first, "fetchpriority", "high")
                self.report.absorbed += len('fetchpriority="high" ')
                self.report.actions.append(Action(NAME, "preferred", seen, "the largest of the first window"))
        paths = {image.path if image is not None and image.is_background else None for image in largest}
        if len(paths) == 1 and (path := paths.pop()) is not None:
            self._preload(path)

    def _largest(self, width: WidthEvidence) -> ImageSeen | None:
        shown = [each for each in width.images if each.is_first and not each.is_by_script and self._is_content(each)]
        return max(shown, key=lambda image: image.width * image.height, default=None)

    def _is_content(self, image: ImageSeen) -> bool:
        area = image.width * image.height
        return area >= _LEAST_AREA and 8 * transfer_size(image.path, self.view) >= _LEAST_BITS * area

    def _preload(self, path: str) -> None:
        """Preload a background that is the largest image at every width."""
        head = self.editor.tree.select_one("head")
        place = next((each for each in (head.iter_elements(("link", "script", "style")) if head else ())), None)
        found = next(self._backgrounds(path), None)
        if place is None or found is None or is_isolated(place, self.editor.text):
            return
        url, kind, size = found
        typed = f' type="{kind}"' if kind else ""
        markup = f'<link rel="preload" as="image" href="{url}"{typed} fetchpriority="high">'
        links = self.editor.tree.iter_elements("link")
        if not any(preloads(link, "image") for link in links):  # else the author knows better
            self.editor.insert_before(place, markup)
            self.report.absorbed += size + len(markup)
            self.report.actions.append(Action(NAME, "preloaded", path, "the largest of the first window"))

    def _backgrounds(self, path: str) -> Iterator[tuple[str, str, int]]:
        """Yield the address, media type and bytes of what browsers load for a background: the first choice."""
        texts = [(each.attr("style") or "", self.page.base) for each in self.editor.tree.select('[style*="("]')]
        for text, base in [*texts, *sheets_with_bases(self.editor.tree, self.page.base, self.view)]:
            for match in _IMAGE_SET.finditer(text):
                urls = [each.url for each in css_references(f"background:{match[0]}", declarations=True)]
                if path in (self.view.follow(base, url).path for url in urls):
                    target = self.view.follow(base, urls[0]).target.path
                    copy, kind = self.view.derived.get(target), _TYPE.search(match[0])
                    if copy is not None and kind is not None:
                        yield self._address(target, urls[0], base), kind[1], copy.size + _REQUEST
            urls = [each.url for each in css_references(text, declarations=False)]
            for url in (url for url in urls if self.view.follow(base, url).path == path):
                yield self._address(path, url, base), "", len(self.view.artifact(path)) + _REQUEST

    def _address(self, path: str, url: str, base: str) -> str:
        """Return the URL of what ``url`` leads to, relative to ``base``, rooted if that, or a sheet of the page, is."""
        if base != self.page.base:
            sheets = filter(is_style_sheet, self.editor.tree.iter_elements("link"))
            url = next(filter(is_rooted, (each.attr("href") or "" for each in sheets)), url)
        return url_like(url, self.page.base_path or "", path, self.view)

    # ---- below it

    def defer(self, images: list[Element]) -> None:
        """Make images lazy that the first window does not show."""
        if self.page.unseen_scripts and (self.page.has_policy or self.editor.tree.select_one("head") is None):
            return  # no place for the script that they need
        sheets = page_sheets(self.editor.tree, self.page.base, self.view)
        sizing = PageSizing(sheets.texts)
        styled = self._style_readers(sheets.texts) if sheets.are_known else None
        named = NamedImages(self.editor.tree, self.page)
        deferred: dict[Element, tuple[int, int]] = {}
        for number, image in enumerate(images):
            path = self._path(image)
            if path is None or "loading" in image.attrs or named.includes(image) or not self._is_below(image, number):
                continue
            natural = natural_size(self.view.artifact(path), self.view)
            if natural is None:
                continue
            if not self._has_known_box(image, natural, sizing):
                if styled is None or any(_matches(each, image) for each in styled):
                    continue
                ratio, style = f"aspect-ratio:auto {natural[0]}/{natural[1]}", image.attr("style") or ""
                if not self._is_held(path) or (style != own_ratio(natural) and not _is_plain(image, style)):
                    continue
                if style != own_ratio(natural):
                    self.editor.set_attribute(image, "style", f"{ratio};{style}" if style else ratio)
            deferred[image] = natural
            self.report.absorbed += _REQUEST  # which most visitors do not send before they scroll
            self.report.actions.append(Action(NAME, "deferred", path, "it is below the first window"))
        defer_images(self.editor, deferred, self.page)

    def _style_readers(self, sheets: Iterable[str]) -> list[str] | None:
        """Return the selectors of elements whose style attribute may matter; ``None`` where none can be written."""
        handles = (facts.handles.attributes for facts in self.page.scripts.values())
        if self.page.has_policy or any("style" in each for each in handles):
            return None
        readers = (match for text in sheets for match in _STYLE_READER.findall(text))
        return list(dict.fromkeys(_CONDITION.sub("", each) or "*" for each in readers))

    def _is_held(self, path: str) -> bool:
        """Whether a browser saw at each width that the box of an image does not depend on its being loaded.

        What it needs for that is its shape, which an image has of its own once it is loaded: ``aspect-ratio: auto``
        says nothing then (CSS Sizing 4, section 5.1).
        """
        seen = [each for width in self.widths for each in width.images if each.path == path]
        return len(seen) == len(self.widths) and all(each.is_held for each in seen)

    def _is_below(self, image: Element, number: int) -> bool:
        if self.widths:
            path = self._path(image)
            seen = [each for width in self.widths for each in width.images if each.path == path]
            return bool(seen) and not any(each.is_first or each.is_by_script for each in seen)
        if self.page.has_scripts or number < _IMAGES_BEFORE or image.source_location is None:
            return False
        before = self.editor.text[: image.source_location.start_tag.start_offset]
        return len(fold_space(_TAGS.sub("", before))) >= _TEXT_BEFORE

    def _has_known_box(self, image: Element, natural: tuple[int, int], sizing: PageSizing) -> bool:
        """Whether attributes give the box of an image before it loads, in the shape that it has."""
        width, height = image.attr("width") or "", image.attr("height") or ""
        if not (width.isascii() and width.isdigit() and height.isascii() and height.isdigit()) or not int(width):
            return False
        if abs(int(width) * natural[1] / natural[0] - int(height)) > _CLOSE:
            return False
        return (
            image.attr("style") in (None, own_ratio(natural)) and not is_styled(image) and not sizing.may_stretch(image)
        )


def _is_plain(image: Element, style: str) -> bool:
    return "aspect-ratio" not in style.lower() and not {"srcset", "sizes"} & set(image.attrs)


def _matches(selector: str, image: Element) -> bool:
    from turbohtml import SelectorSyntaxError

    try:
        return image.matches(selector)
    except SelectorSyntaxError:
        return True


# Bytes of a request without the body, as those of ``adaptc.compile.verify``: a preload adds none
_REQUEST = 100
# What is no text of a page, roughly: more of it makes fewer images lazy
_TAGS = re.compile(r"<(script|style|head|svg|noscript)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)


def _waits_for_images(text: str) -> bool:
    return _WAITING.search(text) is not None


_WAITS = FactKind("waits for images", _waits_for_images, False)
