"""strip: decorations, advertisements and trackers go, and the layout holds.

What goes leaves a box of its size that costs no request. An image map, the only content of a link or button, and what
scripts or style sheets know by its address stay, and so does everything under a Content-Security-Policy, which may
forbid data URIs or hold hashes of styles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, stands_apart
from adaptc.compile.page.image_labels import LOGO_STORY, LabelledImage, labelled_images, logo_and_story
from adaptc.compile.page.placeholders import Boxes, names_image, picture_of, sources_of
from adaptc.compile.page.sheets import page_sheets, selects_by_source
from adaptc.compile.passes.strip.images import strip_styles
from adaptc.compile.passes.strip.parties import hide_listed, strip_parties
from adaptc.compile.passes.words_for import words_for
from adaptc.compile.view import Options, View
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

NAME = "strip"
STRIPPED = "stripped"  # the verb of its actions


def strip(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Leave out what the options name: ``decorations``, ``ads``, and with ``keep = "logo-story"`` every other image.

    With that, words take the place of what is content: its alternative text.
    """
    report = Report()
    if page.has_policy:
        report.actions.append(Action(NAME, KEPT, "images", "a Content-Security-Policy restricts the page"))
        return report
    if options["ads"]:
        strip_parties(editor, page, view, report)
    labelled = labelled_images(editor.tree, page, view)
    going = _Going(labelled, options)
    if going.references:
        _Images(editor, page, view, report, going).run()
        strip_styles(editor, page, view, {ref: labelled[ref] for ref in going.references}, report)
    if options["ads"]:
        hide_listed(editor, page, view, report)
    return report


class _Going:
    """Which references of a page go, and why."""

    def __init__(self, labelled: dict[str, LabelledImage], options: Options) -> None:
        self.labelled, self.options = labelled, options
        self.is_hard = options["keep"] == LOGO_STORY
        self.kept = logo_and_story(labelled) if self.is_hard else frozenset()
        self.references = frozenset(ref for ref, one in labelled.items() if self._goes(ref, one))

    def _goes(self, ref: str, one: LabelledImage) -> bool:
        if self.is_hard:
            return ref not in self.kept and not one.is_wanted
        return self.options["ads"] if one.is_ad else self.options["decorations"] and one.is_decoration


class _Images:
    """The images of one page's markup."""

    def __init__(self, editor: Editor, page: PageContext, view: View, report: Report, going: _Going) -> None:
        self.editor, self.page, self.view, self.report, self.going = editor, page, view, report, going
        self.boxes = Boxes(editor, page, view)
        self.gone: set[str] = set()
        self.left: set[str] = set()

    def run(self) -> None:
        """Edit the page."""
        images = [one for one in self.editor.tree.iter_elements("img") if not stands_apart(one, self.editor.text)]
        chosen = [(image, found) for image in images if (found := self._labels(image))]
        if chosen and any(map(selects_by_source, self._sheets())):
            self._keep("images", "a style sheet selects images by their addresses")
            return
        for image, found in chosen:
            self._consider(image, found)
        for link in self.editor.tree.iter_elements("link"):
            self._preload(link)

    def _sheets(self) -> tuple[str, ...]:
        return page_sheets(self.editor.tree, self.page.base, self.view).texts

    def _labels(self, image: Element) -> list[LabelledImage]:
        """Return what an image and the sources of its picture refer to; nothing where some of it stays."""
        parts = (image, *sources_of(image))
        refs = [str(value) for part in parts for name, value in part.attrs.items() if names_image(name)]
        known = [self.going.labelled[ref] for ref in refs if ref in self.going.labelled]
        if all(one.use.ref in self.going.references for one in known):
            return known
        self.left.update(one.subject for one in known)
        return []

    def _consider(self, image: Element, found: list[LabelledImage]) -> None:
        reason = self._reason_to_stay(image, found)
        if reason is not None:
            self.left.update(one.subject for one in found)
            self._keep(found[0].subject, reason)
            return
        if self.going.is_hard:
            self.editor.replace_element(picture_of(image) or image, words_for(image, found[0]))
        else:
            self.boxes.empty(image)
        self.gone.update(path for one in found if (path := one.path))
        self.report.actions.append(Action(NAME, STRIPPED, found[0].subject, found[0].reason))

    def _keep(self, subject: str, reason: str) -> None:
        self.report.actions.append(Action(NAME, KEPT, subject, reason))

    def _reason_to_stay(self, image: Element, found: list[LabelledImage]) -> str | None:
        if self.going.is_hard:
            return "it is an image map" if "usemap" in image.attrs or "ismap" in image.attrs else None
        is_ad = all(one.is_ad for one in found)
        if not is_ad and any(one.is_all_of_a_link for one in found):
            return "nothing else can be seen of its link or button"
        return self.boxes.reason_to_stay(image, is_ad=is_ad)

    def _preload(self, link: Element) -> None:
        """Drop a preload of what nothing on the page shows any more."""
        if "preload" not in (link.attr("rel") or "").lower().split() or stands_apart(link, self.editor.text):
            return
        path = self.view.follow(self.page.base, link.attr("href") or "").path
        if path in self.gone and path not in self.left and not self._shown_by_sheets(path):
            self.editor.remove_element(link)
            self.report.actions.append(Action(NAME, STRIPPED, path, "its preload: nothing shows it any more"))

    def _shown_by_sheets(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return any(name in text for text in self._sheets())
