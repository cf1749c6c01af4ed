"""used-styles: the rules that a page uses, in the page itself."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache

from adaptc.compile.page.context import KEPT, PageContext, Report
from adaptc.compile.page.script_reach import ScriptReach, runs_other_code, script_reach
from adaptc.compile.page.sheets import rebase_sheet
from adaptc.compile.passes.used_styles.icons import hide_icons
from adaptc.compile.passes.used_styles.page_styles import PageStyle, group_styles, handles_markup, page_styles
from adaptc.compile.passes.used_styles.rest import Rest, find_rest
from adaptc.compile.view import Options, View
from adaptc.core.model import Action
from adaptc.formats.css.fonts import is_font_service
from adaptc.formats.css.images import drop_fonts_and_images
from adaptc.formats.css.minify import escape_non_ascii
from adaptc.formats.css.prune import LivePruning, prune_sheets
from adaptc.formats.css.sheet_text import escape_for_style_element
from adaptc.formats.html.cascade import PageMatches, inline_declarations
from adaptc.formats.html.document import is_quirks
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup
from adaptc.formats.script.names import LikelyNames, Names

NAME = "used-styles"


def inline_used_styles(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Put the rules that the page uses in ``<style>`` elements, without what else they load (an option).

    Not under a Content-Security-Policy, which may disable style elements. Where scripts run, which may set any class,
    the other rules wait in their files (an option), or the page keeps its sheets.
    """
    report = Report()
    may_wait = options["scripts"] == "own" and options["loads"] == "everything"  # the files load everything
    is_live = page.has_scripts or (may_wait and runs_other_code(page.page.text))
    reach = script_reach(editor.tree, page, view) if is_live and may_wait else None
    reason = _reason_to_leave(page, reach, options)
    if reason is not None:
        report.actions.append(Action(NAME, KEPT, "style sheets", reason))
        return report
    _UsedStyles(editor, page, view, reach, options).run(report)
    return report


def _reason_to_leave(page: PageContext, reach: ScriptReach | None, options: Options) -> str | None:
    if page.has_policy:
        return "a Content-Security-Policy restricts the page"
    if page.base_path is None:
        return "the page's base URL is on another site"
    if page.has_scripts and reach is None:
        return "the page has scripts, which may set any class"
    if reach is not None and any(script.looks_for_sheets for script in reach.scripts.values()):
        return "a script of the page looks for style sheets"
    return None


class _UsedStyles:
    """The sheets of one page."""

    def __init__(
        self, editor: Editor, page: PageContext, view: View, reach: ScriptReach | None, options: Options
    ) -> None:
        self.editor, self.page, self.view, self.reach = editor, page, view, reach
        self.keep_images, self.keep_fonts = options["loads"] != "nothing", options["loads"] == "everything"

        self.styles = page_styles(editor, page, view, keep_fonts=self.keep_fonts)
        self.matches = PageMatches(editor.tree)
        self.inline = inline_declarations(editor.tree)
        self.is_partial = any(
            each.text is None and not is_font_service(each.element.attr("href") or "") for each in self.styles
        )

    def run(self, report: Report) -> None:
        """Edit the page."""
        whole = [style.text or "" for style in self.styles]
        rest = None if self.reach is None or self.reach.is_inert else self._rest(self.reach, whole)
        if self.reach is None:
            used = self._used(whole)
        elif self.reach.is_inert:
            used = self._pruning(self.reach.names, whole, frozenset()).texts
        else:
            used = whole if rest is None else rest.texts
        texts = {id(style): self._text(style, text) for style, text in zip(self.styles, used, strict=True)}
        styles = [style if texts[id(style)] is not None else _keep(style) for style in self.styles]
        runs = list(group_styles(styles, self.page, ends_with_file=rest is not None))
        cut = {id(style) for style, text, all_ in zip(styles, used, whole, strict=True) if text != all_}
        late = [run for run in runs if id(run[-1]) in cut] if rest is not None else []
        for run in runs:
            after = rest.link(run[-1]) if rest is not None and run in late else ""
            after += f"<script>{rest.script}</script>" if rest is not None and late and run is late[-1] else ""
            self._write(run, [texts[id(style)] or "" for style in run], report, after)
        report.actions += [Action(NAME, KEPT, _subject(style), style.reason) for style in styles if style.text is None]
        if not self.keep_images:
            self._attributes()
        if not self.keep_fonts:
            self._icons([style.text or "" for style in styles], report)

    def _used(self, whole: Sequence[str]) -> Sequence[str]:
        used = prune_sheets(whole, self.matches, inline=self.inline, is_partial=self.is_partial)
        return used if self.keep_fonts else [drop_fonts_and_images(text, keep_images=self.keep_images) for text in used]

    def _rest(self, reach: ScriptReach, whole: Sequence[str]) -> Rest | None:
        """Return what may wait in the files of the sheets; ``None`` if that saves little."""
        seen = self.page.evidence
        parts = reach.names if seen is None else (Names(frozenset().union(*(width.names for width in seen.widths))),)
        without_file = frozenset(place for place, style in enumerate(self.styles) if style.path is None)
        has_blocks = seen is None and any("__" in name for name in self.matches.names)
        pruning = self._pruning(parts, whole, without_file, has_blocks=has_blocks)
        return find_rest(pruning, self.inline, self.matches.names, folds=is_quirks(self.editor.tree))

    def _pruning(
        self, parts: tuple[Names, ...], texts: Sequence[str], whole: Container[int], *, has_blocks: bool = False
    ) -> LivePruning:
        names = _likely_names(parts, is_quirks(self.editor.tree))
        return LivePruning(
            texts,
            self.matches.has,
            names,
            whole=whole,
            inline=self.inline,
            is_partial=self.is_partial,
            has_blocks=has_blocks,
        )

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

    def _write(self, run: list[PageStyle], texts: list[str], report: Report, after: str) -> None:
        """Replace the first element of a group by its sheets and what comes ``after``; remove the others."""
        is_wrapped = not run[0].starts
        pieces = [
            f"@media {style.media}{{{text}}}" if text and style.media and is_wrapped else text
            for style, text in zip(run, texts, strict=True)
        ]
        text = "\n".join(filter(None, pieces))
        handles = attributes = handles_markup(run[0].element, self.page)
        if not is_wrapped and run[0].media:
            attributes += " " + attribute_markup("media", run[0].media)
        for style in run[1:]:
            self.editor.remove_element(style.element)
        element = f"<style{attributes}>{text}</style>" if text or handles else ""
        self.editor.replace_element(run[0].element, element + after)
        for style, piece in zip(run, texts, strict=True):
            used = "in use; the rest comes when it is needed" if after and style is run[-1] else "used"
            report.actions.append(Action(NAME, "reduced", _subject(style), f"{len(piece)} characters are {used}"))

    def _icons(self, sheets: list[str], report: Report) -> None:
        if labelled := hide_icons(self.editor, sheets, has_scripts=self.page.has_scripts):
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
def _likely_names(parts: tuple[Names, ...], folds: bool) -> LikelyNames:
    return LikelyNames(parts, folds=folds)


def _keep(style: PageStyle) -> PageStyle:
    reason = style.reason or "its text cannot be written in the page"
    return PageStyle(style.element, None, reason, style.path, style.media)


def _subject(style: PageStyle) -> str:
    return style.path or (style.element.attr("href") or "<style>")
