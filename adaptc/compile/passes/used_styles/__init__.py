"""used-styles: the rules that a page uses, in the page itself."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import lru_cache

from adaptc.compile.page.context import KEPT, PageContext, Report
from adaptc.compile.page.script_reach import Outsiders, ScriptReach, script_reach
from adaptc.compile.page.sheets import rebase_sheet
from adaptc.compile.passes.used_styles.icons import hide_icons
from adaptc.compile.passes.used_styles.page_styles import PageStyle, group_styles, handles_markup, page_styles
from adaptc.compile.passes.used_styles.rest import EVERYTHING, MARK, Rest, find_rest, names_seen
from adaptc.compile.view import Options, View
from adaptc.core.model import Action
from adaptc.formats.css.fonts import is_font_service
from adaptc.formats.css.images import drop_fonts_and_images
from adaptc.formats.css.minify import escape_non_ascii
from adaptc.formats.css.prune import prune_sheets
from adaptc.formats.css.sheet_text import escape_for_style_element
from adaptc.formats.html.cascade import PageMatches, inline_declarations
from adaptc.formats.html.document import is_quirks
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup
from adaptc.formats.script.names import Names, ScriptNames

NAME = "used-styles"


def inline_used_styles(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Put the rules that the page uses in ``<style>`` elements, without what else they load (an option).

    Not under a Content-Security-Policy, which may disable style elements. While the page has scripts, which may
    set any class, an option says whether what their texts name counts as used.
    """
    report = Report()
    reach = _reach(editor, page, view, options)
    reason = _reason_to_leave(page, reach, options)
    if reason is None:
        styles = _UsedStyles(editor, page, view, reach, options)
        reason = styles.reason_to_leave()
    if reason is not None:
        report.actions.append(Action(NAME, KEPT, "style sheets", reason))
        return report
    styles.run(report)
    return report


def _reason_to_leave(page: PageContext, reach: ScriptReach | None, options: Options) -> str | None:
    if page.has_policy:
        return "a Content-Security-Policy restricts the page"
    if page.base_path is None:
        return "the page's base URL is on another site"
    if reach is None:
        return None
    if options["scripts"] == "none":
        return "the page has scripts, which may set any class"
    is_known = reach.unknown is None or page.evidence is not None
    if is_known and any(script.looks_for_sheets for script in reach.scripts):
        return "a script of the page looks for style sheets"
    return None if is_known else reach.unknown


def _reach(editor: Editor, page: PageContext, view: View, options: Options) -> ScriptReach | None:
    """Return what the page's scripts may bring in, ``None`` if it has no scripts."""
    if not page.has_scripts:
        return None
    if options["scripts"] == "none" or page.has_policy or page.base_path is None:
        return ScriptReach()
    return script_reach(editor.tree, page, view, Outsiders.of(options["apart"], options["libraries"]))


class _UsedStyles:
    """The sheets of one page."""

    def __init__(
        self, editor: Editor, page: PageContext, view: View, reach: ScriptReach | None, options: Options
    ) -> None:
        self.editor, self.page, self.view, self.reach = editor, page, view, reach
        self.keep_images, self.keep_fonts = options["loads"] != "nothing", options["loads"] == "everything"

        self.styles = page_styles(editor, page, view, keep_fonts=self.keep_fonts)
        self.matches = PageMatches(editor.tree)
        self.names = self._names()
        self.rest = self._rest() if self.keep_fonts else None

    def reason_to_leave(self) -> str | None:
        """Return why the sheets stay after all, or ``None``."""
        return None if self.reach is None or self.rest is not None else self.reach.unknown

    def run(self, report: Report) -> None:
        """Edit the page."""
        styles, used = self.styles, self._used({} if self.rest is None else self.rest.narrower)
        texts = {id(style): self._text(style, text) for style, text in zip(styles, used, strict=True)}
        styles = [style if texts[id(style)] is not None else _keep(style) for style in styles]
        runs = list(group_styles(styles, self.page, keeps_files_last=self.rest is not None))
        late = [run for run in runs if run[-1].path is not None] if self.rest is not None else []
        for run in runs:
            script = self.rest.script(late) if self.rest is not None and late and run is late[-1] else ""
            self._write(run, [texts[id(style)] or "" for style in run], report, is_late=run in late, script=script)
        report.actions += [Action(NAME, KEPT, _subject(style), style.reason) for style in styles if style.text is None]
        if not self.keep_images:
            self._attributes()
        if not self.keep_fonts:
            self._icons([style.text or "" for style in styles], report)

    def _used(self, narrower: Mapping[int, Container[str]]) -> Sequence[str]:
        used = prune_sheets(
            [style.text or "" for style in self.styles],
            self.matches,
            keep_names=self.names,
            narrower=narrower,
            inline=inline_declarations(self.editor.tree),
            is_partial=any(
                each.text is None and not is_font_service(each.element.attr("href") or "") for each in self.styles
            ),
        )
        return used if self.keep_fonts else [drop_fonts_and_images(text, keep_images=self.keep_images) for text in used]

    def _names(self) -> Container[str] | None:
        """Return the names that scripts may bring into the page."""
        if self.reach is None:
            return None
        if self.reach.unknown is not None:
            return EVERYTHING
        parts = (*(script.names for script in self.reach.scripts), *self.reach.data)
        return _script_names(parts).of_page(self.page.page.text)

    def _rest(self) -> Rest | None:
        """Return what may wait in the files of the sheets; ``None`` if that saves little."""
        if self.page.evidence is None or self.names is None or is_quirks(self.editor.tree):
            return None  # in quirks mode names match in any case
        rest = find_rest(self.styles, self.matches, names_seen(self.page.evidence), self.names)
        if rest is None:
            return None
        before, after = (len("".join(self._used(narrower))) for narrower in ({}, rest.narrower))
        return rest if before - after > rest.cost() else None

    def _text(self, style: PageStyle, text: str) -> str | None:
        """Return the text of a sheet for a style element of the page, ``None`` if it cannot be written there."""
        if style.text is None:
            return None
        reference = style.element.attr("href") or ""
        moved = text if style.path is None else rebase_sheet(style.path, text, self.page, self.view, reference)
        safe = None if moved is None else escape_for_style_element(moved.strip())
        if safe is None or self.page.can_hold(safe):
            return safe
        return escape_non_ascii(safe)

    def _write(
        self, run: list[PageStyle], texts: list[str], report: Report, *, is_late: bool = False, script: str = ""
    ) -> None:
        """Replace the first element of a group by its sheets, and a ``script``; remove the others."""
        is_wrapped = not run[0].starts
        pieces = [
            f"@media {style.media}{{{text}}}" if text and style.media and is_wrapped else text
            for style, text in zip(run, texts, strict=True)
        ]
        text = "\n".join(filter(None, pieces))
        handles = attributes = handles_markup(run[0].element, self.page)
        if not is_wrapped and run[0].media:
            attributes += " " + attribute_markup("media", run[0].media)
        if is_late:
            handles = attributes = f"{attributes} {MARK}"
        for style in run[1:]:
            self.editor.remove_element(style.element)
        element = f"<style{attributes}>{text}</style>" if text or handles else ""
        self.editor.replace_element(run[0].element, f"{element}<script>{script}</script>" if script else element)
        for style, piece in zip(run, texts, strict=True):
            used = "in use; the rest comes when it is needed" if is_late and style.path is not None else "used"
            report.actions.append(Action(NAME, "reduced", _subject(style), f"{len(piece)} characters are {used}"))

    def _icons(self, sheets: list[str], report: Report) -> None:
        if labelled := hide_icons(self.editor, sheets, has_scripts=self.reach is not None):
            report.actions.append(Action(NAME, "labelled", "links and buttons that were an icon", count=labelled))

    def _attributes(self) -> None:
        """Remove the images of style attributes and ``background`` attributes."""
        for element in self.editor.tree.select('[style*="("]'):
            style = element.attr("style") or ""
            lightened = drop_fonts_and_images(style, declarations=True)
            if lightened != style:
                self.editor.set_attribute(element, "style", lightened)
        for element in self.editor.tree.select("[background]"):
            self.editor.remove_attribute(element, "background")


# The same scripts are in all pages of a batch
@lru_cache(maxsize=16)
def _script_names(parts: tuple[Names, ...]) -> ScriptNames:
    return ScriptNames(parts)


def _keep(style: PageStyle) -> PageStyle:
    reason = style.reason or "its text cannot be written in the page"
    return PageStyle(style.element, None, reason, style.path, style.media)


def _subject(style: PageStyle) -> str:
    return style.path or (style.element.attr("href") or "<style>")
