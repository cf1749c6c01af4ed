"""The images of a page that strip removes: in its markup, and as backgrounds in its own CSS."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from turbohtml import Element

from adaptc.compile.analyse.harm import ShownImage
from adaptc.compile.page.backgrounds import UNREADABLE, ClearedCss, RemovableImage, clear_backgrounds
from adaptc.compile.page.context import KEPT, PageContext, Report, is_compared, is_isolated
from adaptc.compile.page.guarded_images import BY_ADDRESS, GuardedImages
from adaptc.compile.page.image_labels import LabelledImage
from adaptc.compile.page.placeholders import Placeholders, names_image, sources_of
from adaptc.compile.page.pricing import Pricing
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.view import DerivingView, Options
from adaptc.core.model import Action
from adaptc.formats.css.selectors import AddressSelectors
from adaptc.formats.css.sheet_text import is_balanced
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import rel_tokens

NAME = "strip"
STRIPPED = "stripped"  # the verb of its actions
_OPAQUE = 0.5  # share of pixels from which an image hides what is behind it


class Selection:
    """The references of a page to remove."""

    def __init__(self, labelled: dict[str, LabelledImage], options: Options, view: DerivingView) -> None:
        self.labelled, self.options, self.view = labelled, options, view
        self.references = frozenset(ref for ref, image in labelled.items() if self._removes(image))

    def _removes(self, image: LabelledImage) -> bool:
        if image.is_ad or not image.is_decoration:
            return bool(self.options["ads"] and image.is_ad)
        return self.options["decorations"] and not self._is_worth_its_bytes(image)

    def _is_worth_its_bytes(self, image: LabelledImage) -> bool:
        """Whether a decoration is worth its bytes to a reader, where the level has a price."""
        pricing = Pricing.of(self.options, self.view)
        if pricing is None or image.path is None or image.is_dropped:
            return False
        shown = ShownImage.of(image.use.label, image.size, self.view.evidence(image.path))
        return shown is not None and pricing.is_worth_its_bytes(image.path, shown, self.options["request"], exact=False)


class Images:
    """The images of one page's markup."""

    def __init__(
        self,
        editor: Editor,
        page: PageContext,
        view: DerivingView,
        report: Report,
        selection: Selection,
        guarded: GuardedImages,
    ) -> None:
        self.editor, self.page, self.view, self.report, self.selection = editor, page, view, report, selection
        self.boxes = Placeholders(editor, page, view, guarded)
        self.removed: set[str] = set()
        self.remaining: set[str] = set()

    def run(self) -> None:
        """Edit the page."""
        images = [image for image in self.editor.tree.iter_elements("img") if not is_isolated(image, self.editor.text)]
        chosen = [(image, labels) for image in images if (labels := self._labels(image))]
        for image, labels in chosen:
            self._consider(image, labels)
        for link in self.editor.tree.iter_elements("link"):
            self._preload(link)

    def _is_chosen_by_address(self, image: Element) -> bool:
        return self.selectors.may_choose(image.attrs, has_new_src=not self.boxes.guarded.is_needed)

    def _sheets(self) -> tuple[str, ...]:
        return screen_sheets(self.editor.tree, self.page.base, self.view)

    def _labels(self, image: Element) -> list[LabelledImage]:
        """Return what an image and the sources of its ``<picture>`` refer to; nothing if some of it stays."""
        parts = (image, *sources_of(image))
        refs = [str(value) for part in parts for name, value in part.attrs.items() if names_image(name)]
        known = [self.selection.labelled[ref] for ref in refs if ref in self.selection.labelled]
        if all(label.use.ref in self.selection.references for label in known):
            return known
        self.remaining.update(label.subject for label in known)
        return []

    def _consider(self, image: Element, labels: list[LabelledImage]) -> None:
        reason = self._reason_to_stay(image, labels)
        if reason is None and self._is_chosen_by_address(image):
            reason = BY_ADDRESS
        if reason is not None:
            self.remaining.update(label.subject for label in labels)
            self._keep(labels[0].subject, reason)
            return
        self.boxes.empty(image, _link_text(image) if labels[0].is_ad and labels[0].is_all_of_a_link else "")
        self.removed.update(path for label in labels if (path := label.path))
        self.report.actions.append(Action(NAME, STRIPPED, labels[0].subject, labels[0].reason))

    @cached_property
    def selectors(self) -> AddressSelectors:
        """The selectors of the page's sheets that look at addresses."""
        return AddressSelectors.of(self._sheets())

    def _keep(self, subject: str, reason: str) -> None:
        self.report.actions.append(Action(NAME, KEPT, subject, reason))

    def _reason_to_stay(self, image: Element, labels: list[LabelledImage]) -> str | None:
        is_ad = all(label.is_ad for label in labels)
        if not is_ad and any(label.is_all_of_a_link for label in labels):
            return "nothing else can be seen of its link or button"
        is_foreign = is_ad and all(label.path is None for label in labels)
        return self.boxes.reason_to_stay(image, is_ad=is_foreign)

    def _preload(self, link: Element) -> None:
        """Drop a preload of a file that the page does not show any more."""
        if "preload" not in rel_tokens(link) or is_isolated(link, self.editor.text):
            return
        path = self.view.follow(self.page.base, link.attr("href") or "").path
        if path in self.removed and path not in self.remaining and not self._shown_by_sheets(path):
            self.editor.remove_element(link)
            self.report.actions.append(Action(NAME, STRIPPED, path, "its preload: nothing shows it any more"))

    def _shown_by_sheets(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return any(name in text for text in self._sheets())


def strip_styles(
    editor: Editor, page: PageContext, view: DerivingView, removals: Mapping[str, LabelledImage], report: Report
) -> None:
    """Remove the backgrounds in ``removals``, by reference as written."""
    styles = _Styles(editor, page, view, removals, report)
    for element in editor.tree.iter_elements("style"):
        styles.style_element(element)
    if not any(
        script.reads_backgrounds for script in page.scripts.values()
    ):  # a script for sliding backgrounds would load "none"
        for element in editor.tree.select('[style*="("]'):
            styles.style_attribute(element)
    for element in editor.tree.select("[background]"):
        styles.background_attribute(element)


class _Styles:
    def __init__(
        self,
        editor: Editor,
        page: PageContext,
        view: DerivingView,
        removals: Mapping[str, LabelledImage],
        report: Report,
    ) -> None:
        self.editor, self.page, self.view, self.removals, self.report = editor, page, view, removals, report

    def style_element(self, element: Element) -> None:
        if (element.attr("type") or "text/css").lower() != "text/css" or not is_balanced(element.text):
            return
        if is_compared(element, self.editor.text):
            return
        cleared = self._cleared(element, element.text, declarations=False)
        if cleared is not None and cleared.urls:
            self.editor.set_raw_text(element, cleared.text)

    def style_attribute(self, element: Element) -> None:
        cleared = self._cleared(element, element.attr("style") or "", declarations=True)
        if cleared is not None and cleared.urls:
            self.editor.set_attribute(element, "style", cleared.text)

    def background_attribute(self, element: Element) -> None:
        """Replace a ``background`` attribute, which tiles its image, by the colour of the image."""
        url = element.attr("background") or ""
        image = self._removable(url)
        if image is None or is_isolated(element, self.editor.text):
            return
        evidence = image.evidence
        if (
            "bgcolor" not in element.attrs
            and evidence is not None
            and evidence.colour
            and (evidence.opaque or 0) > _OPAQUE
        ):
            self.editor.set_attribute(element, "bgcolor", f"#{''.join(f'{part:02x}' for part in evidence.colour)}")
        self.editor.remove_attribute(element, "background")
        self._note((url,))

    def _cleared(self, element: Element, text: str, *, declarations: bool) -> ClearedCss | None:
        if "(" not in text or is_isolated(element, self.editor.text):
            return None
        cleared = clear_backgrounds(text, self._removable, declarations=declarations)
        self._note(cleared.urls)
        for url in cleared.unreadable:
            self.report.actions.append(Action("strip", KEPT, self.removals[url].subject, UNREADABLE))
        return cleared

    def _removable(self, url: str) -> RemovableImage | None:
        image = self.removals.get(url)
        if image is None:
            return None
        is_bare = image.is_ad or not any(place.holds_text or place.body for place in image.places)
        return RemovableImage(None if image.path is None else self.view.evidence(image.path), is_bare)

    def _note(self, urls: tuple[str, ...]) -> None:
        for image in map(self.removals.__getitem__, urls):
            self.report.actions.append(Action("strip", "stripped", image.subject, image.reason))


def _name(image: Element) -> str:
    """Return the accessible name of an image (HTML-AAM): label, alternative text, title."""
    names = ((image.attr(name) or "").strip() for name in ("aria-label", "alt", "title"))
    return next((name for name in names if any(map(str.isalnum, name))), "")


def _link_text(image: Element) -> str:
    """Return what a link says where its image went: a name, else the host to which it leads."""
    name = _name(image)
    host = str(_link_attributes(image).get("href") or "").partition("//")[2].partition("/")[0].removeprefix("www.")
    return (name if "/" not in name else "") or _link_name(image) or host or name


def _link_name(image: Element) -> str:
    attributes = _link_attributes(image)
    return str(attributes.get("aria-label") or attributes.get("title") or "").strip()


def _link_attributes(image: Element) -> Mapping[str, object]:
    link = next((ancestor for ancestor in image.ancestors if getattr(ancestor, "tag", None) in ("a", "button")), None)
    return getattr(link, "attrs", {})
