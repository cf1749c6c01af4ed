"""used-styles: the rules that a page uses, in the page; nothing else that style sheets load."""

from __future__ import annotations

from adaptc.css.inline import for_style_element
from adaptc.css.lighten import lighten
from adaptc.css.minify import ascii_sheet
from adaptc.css.used import used_sheets
from adaptc.html.edit import Editor
from adaptc.html.matching import PageMatches, inline_declarations
from adaptc.html.quoting import attribute_markup
from adaptc.model import Action
from adaptc.passes.icon_words import hide_icons
from adaptc.passes.inline_styles import rebased
from adaptc.passes.page import KEPT, PageContext, Report
from adaptc.passes.page_styles import PageStyle, page_styles, runs
from adaptc.passes.view import Options, View

__all__ = ["used_styles"]

NAME = "used-styles"


def used_styles(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Put the rules that the page uses in ``<style>`` elements, without fonts and (an option) images.

    Not while the page has scripts, which may set any class, nor under a Content-Security-Policy, which may not let
    style elements count.
    """
    report = Report()
    reason = _reason_to_leave(page)
    if reason is not None:
        report.actions.append(Action(NAME, KEPT, "style sheets", reason))
        return report
    _Using(editor, page, view, keep_images=options["backgrounds"] == "keep").run(report)
    return report


def _reason_to_leave(page: PageContext) -> str | None:
    if page.has_scripts:
        return "the page has scripts, which may set any class"
    if page.has_policy:
        return "a Content-Security-Policy restricts the page"
    return "the page's base URL is on another site" if page.base_path is None else None


class _Using:
    """The sheets of one page."""

    def __init__(self, editor: Editor, page: PageContext, view: View, *, keep_images: bool) -> None:
        self.editor, self.page, self.view, self.keep_images = editor, page, view, keep_images

    def run(self, report: Report) -> None:
        """Edit the page."""
        styles = page_styles(self.editor, self.page, self.view)
        texts = [style.text or "" for style in styles]
        inline = inline_declarations(self.editor.tree)
        used = used_sheets(texts, PageMatches(self.editor.tree), inline=inline)
        light = [lighten(text, keep_images=self.keep_images) for text in used]
        written = {id(style): self._text(style, text) for style, text in zip(styles, light, strict=True)}
        settled = [style if written[id(style)] is not None else _staying(style) for style in styles]
        for run in runs(settled):
            self._write(run, [written[id(style)] or "" for style in run], report)
        report.actions += [Action(NAME, KEPT, _subject(one), one.reason) for one in settled if one.text is None]
        self._attributes()
        if labelled := hide_icons(self.editor):
            report.actions.append(Action(NAME, "labelled", "links that were an icon", count=labelled))

    def _text(self, style: PageStyle, text: str) -> str | None:
        """Return the text of a sheet as it can stand in the page, ``None`` where it cannot."""
        if style.text is None:
            return None
        moved = text if style.path is None else rebased(style.path, text, self.page, self.view)
        safe = None if moved is None else for_style_element(moved.strip())
        if safe is None or self.page.can_hold(safe):
            return safe
        return ascii_sheet(safe)

    def _write(self, run: list[PageStyle], texts: list[str], report: Report) -> None:
        """Put the sheets of a run in the place of the first."""
        is_wrapped = not run[0].starts
        pieces = [
            f"@media {style.media}{{{text}}}" if text and style.media and is_wrapped else text
            for style, text in zip(run, texts, strict=True)
        ]
        text = "\n".join(filter(None, pieces))
        medium = "" if is_wrapped or not run[0].media else " " + attribute_markup("media", run[0].media)
        for style in run[1:]:
            self.editor.remove_element(style.element)
        self.editor.replace_element(run[0].element, f"<style{medium}>{text}</style>" if text else "")
        for style, piece in zip(run, texts, strict=True):
            report.actions.append(Action(NAME, "reduced", _subject(style), f"{len(piece)} characters are used"))

    def _attributes(self) -> None:
        """Take the images out of style attributes, and those that attributes put behind text."""
        if self.keep_images:
            return
        for element in self.editor.tree.select('[style*="("]'):
            style = element.attr("style") or ""
            lightened = lighten(style, declarations=True)
            if lightened != style:
                self.editor.set_attribute(element, "style", lightened)
        for element in self.editor.tree.select("[background]"):
            self.editor.remove_attribute(element, "background")


def _staying(style: PageStyle) -> PageStyle:
    reason = style.reason or "its text cannot stand in the page"
    return PageStyle(style.element, None, reason, style.path, style.media)


def _subject(style: PageStyle) -> str:
    return style.path or (style.element.attr("href") or "<style>")
