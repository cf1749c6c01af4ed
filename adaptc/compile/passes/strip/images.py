"""The images of a page that strip removes: in its markup, and as backgrounds in its own CSS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from turbohtml import Document, Element

from adaptc.compile.analyse.harm import ShownImage
from adaptc.compile.page.backgrounds import UNREADABLE, ClearedCss, RemovableImage, clear_backgrounds
from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.image_labels import LOGO_STORY, LabelledImage, logo_and_story
from adaptc.compile.page.placeholders import Placeholders, names_image, picture_of, sources_of
from adaptc.compile.page.pricing import Pricing
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.page.touched_images import BY_ADDRESS
from adaptc.compile.view import DerivingView, Options
from adaptc.core.model import Action
from adaptc.formats.css.address_selectors import AddressSelectors
from adaptc.formats.css.sheet_text import is_balanced
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.syntax import attribute_markup, text_markup
from adaptc.formats.html.visible_text import content_texts

NAME = "strip"
STRIPPED = "stripped"  # the verb of its actions
_OPAQUE = 0.5  # share of pixels from which an image hides what is behind it


class Selection:
    """The references of a page to remove."""

    def __init__(self, labelled: dict[str, LabelledImage], options: Options, view: DerivingView) -> None:
        self.labelled, self.options, self.view = labelled, options, view
        self.is_hard = options["keep"] == LOGO_STORY
        self.logo_and_story = logo_and_story(labelled) if self.is_hard else frozenset()
        self.references = frozenset(ref for ref, image in labelled.items() if self._removes(ref, image))

    def _removes(self, ref: str, image: LabelledImage) -> bool:
        if self.is_hard:
            return ref not in self.logo_and_story and not image.is_wanted
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
        self, editor: Editor, page: PageContext, view: DerivingView, report: Report, selection: Selection
    ) -> None:
        self.editor, self.page, self.view, self.report, self.selection = editor, page, view, report, selection
        self.boxes = Placeholders(editor, page, view)
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
        if reason is None and not self.selection.is_hard and self.selectors.may_choose(image.attrs):
            reason = BY_ADDRESS
        if reason is not None:
            self.remaining.update(label.subject for label in labels)
            self._keep(labels[0].subject, reason)
            return
        if self.selection.is_hard and not self._keeps_box(image, labels[0]):
            self.editor.replace_element(picture_of(image) or image, replacement_markup(image, labels[0]))
        else:
            self.boxes.empty(image, _link_text(image) if labels[0].is_ad and labels[0].is_all_of_a_link else "")
        self.removed.update(path for label in labels if (path := label.path))
        self.report.actions.append(Action(NAME, STRIPPED, labels[0].subject, labels[0].reason))

    def _keeps_box(self, image: Element, label: LabelledImage) -> bool:
        """Keep the box of an image that gives a card its height, in its colour: the text over it stays readable."""
        if not self.cards.holds(image) or self.boxes.reason_to_stay(image, is_ad=True) is not None:
            return False
        evidence = None if label.path is None else self.view.evidence(label.path)
        if evidence is None or not evidence.width or not evidence.height:
            return False
        if evidence.colour is not None and (evidence.opaque or 0) > _OPAQUE:
            style = (image.attr("style") or "").rstrip("; ")
            colour = f"background:#{''.join(f'{part:02x}' for part in evidence.colour)}"
            self.editor.set_attribute(image, "style", f"{style};{colour}" if style else colour)
        return True

    @cached_property
    def selectors(self) -> AddressSelectors:
        """The selectors of the page's sheets that look at addresses."""
        return AddressSelectors.of(self._sheets())

    @cached_property
    def cards(self) -> Cards:
        """The cards of the page."""
        return Cards(self.editor.tree, self._sheets())

    def _keep(self, subject: str, reason: str) -> None:
        self.report.actions.append(Action(NAME, KEPT, subject, reason))

    def _reason_to_stay(self, image: Element, labels: list[LabelledImage]) -> str | None:
        if self.selection.is_hard:
            return "it is an image map" if "usemap" in image.attrs or "ismap" in image.attrs else None
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


# Attributes that the text takes over: links and scripts use its id, and its language stays known
_KEPT = ("id", "lang", "dir")
_SEPARATORS = re.compile(r"[-_.+]+|%20")


def replacement_markup(image: Element, label: LabelledImage) -> str:
    """Return markup instead of an image: a ``<span>`` with its text, or nothing.

    Decorations and advertisements have no text, except as the only visible content of a link: the title of image or
    link, else the name of the file.
    """
    text = "" if label.is_decoration or label.is_ad else _name(image)
    if not text and label.is_all_of_a_link:
        text = _name(image) or _link_name(image) or _file_name(label)
    attributes = [attribute_markup(name, image.attr(name)) for name in _KEPT if image.attr(name)]
    if not text and not attributes:
        return ""
    return f"<span{''.join(f' {attribute}' for attribute in attributes)}>{text_markup(text)}</span>"


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


def _file_name(label: LabelledImage) -> str:
    """Return ``team photo`` for ``img/team-photo.jpg``."""
    stem = (label.path or label.use.ref.partition("?")[0]).rpartition("/")[2].rpartition(".")[0]
    return _SEPARATORS.sub(" ", stem).strip()


# ---- Cards: boxes whose height is that of an image, with text that lies over it, or is drawn up to it
# Without the image such a box has no height, and its text lies over what follows or goes before.

_POSITIONED = frozenset({"relative", "absolute", "fixed", "sticky"})
_WIDTHS = (412, 1280)
_LEVELS = 5  # from an image up to its card
_MARGINS = ("margin", "margin-top")
_UP = re.compile(r"-([\d.]+)(px|r?em)(?:\s|$)")
_LEAST = 20  # CSS pixels that text is drawn up, at least; less only closes a gap
_CONTROLS = "a[href], button, input, select"


class Cards:
    """The cards of one page."""

    def __init__(self, tree: Document, sheets: Iterable[str]) -> None:
        sheets = tuple(sheets)
        self._cascade = Cascade(tree, sheets)
        self._margins = Cascade(tree, sheets, frozenset(_MARGINS))
        over = [each for each in self._cascade.elements_with("position", "absolute") if _shows_something(each)]
        self._texts: dict[Element, list[Element]] = {}
        for each in over:
            container = self._container(each) if self._is_over(each) else None
            if container is not None:
                self._texts.setdefault(container, []).append(each)

    def holds(self, image: Element) -> bool:
        """Whether an image gives a card its height."""
        texts = (text for box in _boxes_around(image) for text in self._texts.get(box, ()))
        has_text_over = any(text not in image.ancestors for text in texts)
        return (has_text_over or self._is_before_drawn_up(image)) and not self._is_over(image)

    def _is_before_drawn_up(self, image: Element) -> bool:
        """Whether the next text after an image is drawn up by a negative margin: over it, or up to it."""
        for box in (image, *_boxes_around(image)):
            following = next((each for each in box.next_siblings if isinstance(each, Element)), None)
            if following is not None:
                return _shows_something(following) and any(self._is_drawn_up(following, width) for width in _WIDTHS)
        return False

    def _is_drawn_up(self, element: Element, width: int) -> bool:
        found = (_UP.match(self._margins.value(element, name, width)) for name in _MARGINS)
        return any(float(each[1]) * (1 if each[2] == "px" else 16) >= _LEAST for each in found if each is not None)

    def _is_over(self, element: Element) -> bool:
        return any(self._position(element, width) in ("absolute", "fixed") for width in _WIDTHS)

    def _container(self, element: Element) -> Element | None:
        """Return the box that an element is positioned in."""
        ancestors = (each for each in element.ancestors if isinstance(each, Element))
        return next((each for each in ancestors if self._position(each, _WIDTHS[-1]) in _POSITIONED), None)

    def _position(self, element: Element, width: int) -> str:
        return self._cascade.value(element, "position", width)


def _boxes_around(image: Element) -> Iterator[Element]:
    for level, each in enumerate(image.ancestors):
        if level == _LEVELS or not isinstance(each, Element) or each.tag in ("body", "main", "article"):
            return
        yield each


def _shows_something(element: Element) -> bool:
    return next(content_texts(element), None) is not None or element.matches(_CONTROLS)
