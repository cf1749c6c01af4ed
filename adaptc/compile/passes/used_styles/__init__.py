"""used-styles: the rules that a page uses, in the page itself."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, script_source
from adaptc.compile.page.sheets import rebase_sheet
from adaptc.compile.passes.used_styles.page_styles import PageStyle, group_styles, handles_markup, page_styles
from adaptc.compile.passes.used_styles.rest import LEAST_OF_SHEET, Rest, find_rest
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.model import HELD_TYPE, Action
from adaptc.core.urls import join
from adaptc.core.values import dataclass, field
from adaptc.formats.css.fonts import is_font_service
from adaptc.formats.css.minify import escape_non_ascii
from adaptc.formats.css.prune import LivePruning, prune_sheets
from adaptc.formats.css.sheet_text import escape_for_style_element
from adaptc.formats.html.cascade import PageMatches, inline_declarations
from adaptc.formats.html.document import is_quirks
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup, split_tokens
from adaptc.formats.script.facts import SCRIPT, ScriptFacts
from adaptc.formats.script.inert import REFLECTED, are_inert
from adaptc.formats.script.lookups import WORD, Handles, LikelyNames

if TYPE_CHECKING:
    from turbohtml import Document, Element

    from adaptc.compile.view import View

NAME = "used-styles"


def inline_used_styles(editor: Editor, page: PageContext, view: View, _options: Options) -> Report:
    """Put the rules that the page uses in ``<style>`` elements.

    Not under a Content-Security-Policy, which may disable style elements. Where scripts run, which may set any class,
    the other rules wait in their files.
    """
    report = Report()
    is_live = page.has_scripts or _is_changed_otherwise(editor.tree, page, view)
    reach = script_reach(editor.tree, page, view) if is_live else None
    reason = _reason_to_leave(page, reach)
    if reason is not None:
        report.actions.append(Action(NAME, KEPT, "style sheets", reason))
        return report
    _UsedStyles(editor, page, view, reach).run(report)
    return report


def _reason_to_leave(page: PageContext, reach: ScriptReach | None) -> str | None:
    if page.has_policy:
        return "a Content-Security-Policy restricts the page"
    if page.base_path is None:
        return "the page's base URL is on another site"
    if reach is not None and (page.looks_for_sheets() or any(each.looks_for_sheets for each in reach.scripts.values())):
        return "a script of the page looks for style sheets"
    return None


class _UsedStyles:
    """The sheets of one page."""

    def __init__(self, editor: Editor, page: PageContext, view: View, reach: ScriptReach | None) -> None:
        self.editor, self.page, self.view, self.reach = editor, page, view, reach
        self.styles = page_styles(editor, page, view)
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
            used: Sequence[str] = prune_sheets(whole, self.matches, inline=self.inline, is_partial=self.is_partial)
        elif self.reach.is_inert:
            used = self._pruning(self._likely(self.reach.names | REFLECTED), whole, frozenset()).texts
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

    def _rest(self, reach: ScriptReach, whole: Sequence[str]) -> Rest | None:
        """Return what may wait in the files of the sheets; ``None`` if that saves little."""
        seen = self.page.evidence
        chunks = (
            [] if seen is not None and seen.document is not None else _chunks(self.editor.tree, self.page, self.view)
        )
        if len(chunks) > _MOST_CHUNKS:
            return None  # a page with its rules and the whole sheet, which most wake as they load, is larger than above
        names = frozenset[str]() if seen is None else frozenset[str]().union(*(width.names for width in seen.widths))
        if seen is None or any(each.attr("type") == HELD_TYPE for each in self.editor.tree.iter_elements("script")):
            names |= reach.names  # nobody saw what the others do while some wait
        names = names.union(*(self.view.facts(SCRIPT, self.view.artifact(path)).names for path in chunks))
        # A script that changes the medium of a sheet which it knows, or disables it, would not know its link
        handles = [script.handles for script in reach.scripts.values()]
        is_known = [
            (style.media and handles_markup(style.element, self.page)) or _is_selected(style.element, handles)
            for style in self.styles
        ]
        without_file = {place for place, style in enumerate(self.styles) if style.path is None or is_known[place]}
        likely = self._likely(names)
        pruning = self._pruning(likely, whole, without_file)
        kept = {
            place
            for place, (text, part) in enumerate(zip(whole, pruning.texts, strict=True))
            if len(text) > len(part) > (1 - LEAST_OF_SHEET) * len(text)
        }
        if kept:
            pruning = self._pruning(likely, whole, without_file | kept)
        # names that come and no selector has may begin as those do that wait
        added = (self.view.facts(_ADDED, source) for source in reach.scripts)
        kinds, come = (("", ".", "[", "#"), names) if seen is not None else ((".",), frozenset[str]().union(*added))
        markup = (*self.matches.names, *(f"{kind}{name}" for kind in kinds for name in come))
        return find_rest(pruning, markup, folds=is_quirks(self.editor.tree))

    def _likely(self, names: frozenset[str]) -> LikelyNames:
        return LikelyNames(names, folds=is_quirks(self.editor.tree))

    def _pruning(self, likely: LikelyNames, texts: Sequence[str], whole: Container[int]) -> LivePruning:
        return LivePruning(texts, self._has, likely, whole=whole, inline=self.inline, is_partial=self.is_partial)

    def _has(self, name: str) -> bool:
        return self.matches.has(name) or (bool(self.page.unseen_scripts) and name in _INSERTED)

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
        handles = attributes = handles_markup(run[0].element, self.page)
        is_wrapped = not run[0].starts and not handles  # whoever knows an element may change its medium
        pieces = [
            f"@media {style.media}{{{text}}}" if text and style.media and is_wrapped else text
            for style, text in zip(run, texts, strict=True)
        ]
        text = "\n".join(filter(None, pieces))
        if not is_wrapped and run[0].media:
            attributes += " " + attribute_markup("media", run[0].media)
        for style in run[1:]:
            self.editor.remove_element(style.element)
        element = f"<style{attributes}>{text}</style>" if text or handles else ""
        self.editor.replace_element(run[0].element, element + after)
        for style, piece in zip(run, texts, strict=True):
            used = "in use; the rest comes when it is needed" if after and style is run[-1] else "used"
            report.actions.append(Action(NAME, "reduced", _subject(style), f"{len(piece)} characters are {used}"))


_ADDING = re.compile(
    r"(?:\b(?:add|toggle)Class\(|\bclassList\.(?:add|toggle)\(|\bclassName\s*\+?=)[^();\n]{0,200}"
    r"""|\bclass(?:=\\?|(?:Name)?["']?:\s?)["'][^"'\\<>]{0,200}"""  # in markup, or a property of JSX
)


def _added_classes(text: str) -> frozenset[str]:
    """Return the words with which a script gives classes to elements, and those by which it does."""
    return frozenset(name for match in _ADDING.finditer(text) for name in WORD.findall(match[0]))


_ADDED = FactKind("added classes", _added_classes, frozenset[str]())

# What scripts of other sites insert as a page loads (icons, widgets, advertisements): elements, and attributes of those
_INSERTED = frozenset({
    "a", "button", "canvas", "div", "form", "iframe", "img", "input", "ins", "label", "li", "p", "path", "span",
    "style", "svg", "textarea", "ul", "[alt", "[aria-hidden", "[aria-label", "[class", "[height", "[hidden", "[href",
    "[id", "[name", "[role", "[src", "[style", "[tabindex", "[target", "[title", "[type", "[width",
})  # fmt: skip


def _is_selected(element: Element, handles: Iterable[Handles]) -> bool:
    classes = split_tokens(element.attr("class") or "")
    return any(each.may_be_id(element.attr("id")) or not each.classes.isdisjoint(classes) for each in handles)


def _keep(style: PageStyle) -> PageStyle:
    reason = style.reason or "its text cannot be written in the page"
    return PageStyle(style.element, None, reason, style.path, style.media)


def _subject(style: PageStyle) -> str:
    return style.path or (style.element.attr("href") or "<style>")


# ---- the scripts that are likely to run in a page: its own, and those in files that they write out


@dataclass(slots=True)
class ScriptReach:
    """The scripts that are likely to run in a page, and the words that attributes hold for them.

    ``is_inert`` says that there are no others, and that none can bring a name into the page but those it writes out.
    """

    scripts: dict[str | bytes, ScriptFacts] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    is_inert: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The names of all scripts, and those held for them."""
        return self.held.union(*(script.names for script in self.scripts.values()))


def script_reach(tree: Document, page: PageContext, view: View) -> ScriptReach:
    """Return what the scripts of a page in its present state are likely to bring in."""
    reach = ScriptReach(held=frozenset(_held_words(tree)))
    elements = [(script_source(each, page.base, view), each.attr("src")) for each in tree.iter_elements("script")]
    # handlers, and what is an address now: last, since files name others relative to themselves
    pending = [(source, page.base) for source in page.scripts]
    pending += [(source, join(page.base, url or "") or page.base) for source, url in elements if source]
    while pending:
        source, url = pending.pop()
        if source in reach.scripts:
            continue
        reach.scripts[source] = facts = view.facts(SCRIPT, source)
        paths = {view.follow(base, address).path for address in facts.files for base in (url, page.base)}
        for path in sorted(filter(None, paths)):
            if view.media_type(path) == media.JS:
                pending.append((view.artifact(path), join(page.base, view.url_of(path)) or page.base))
    for module, facts in page.find_modules().items():
        reach.scripts[module] = facts
    is_closed = not page.unseen_scripts and tree.select_one(_LIVE) is None and not _CODE_ADDRESS.search(page.page.text)
    reach.is_inert = is_closed and are_inert([script.inertness for script in reach.scripts.values()])
    return reach


_MOST_CHUNKS = 64


def _chunks(tree: Document, page: PageContext, view: View) -> list[str]:
    """Return the scripts of the site whose names a loader composes: some run as the page loads, nobody knows which.

    A browser knows it of a page at which it looked, and not of others like that. Loaders that wait for a visitor do not
    count: nothing that they bring comes as the page loads.
    """
    sources = (script_source(each, page.base, view) for each in tree.iter_elements("script"))
    loaders = [facts for facts in (view.facts(SCRIPT, source) for source in sources if source) if facts.is_loader]
    return [path for path in view.scripts() if any(each.loads_chunk(path) for each in loaders)] if loaders else []


# Attributes whose values are for browsers; libraries read the others (``x-bind:class``, ``data-toggle``)
_PLAIN = frozenset({
    "alt", "class", "content", "d", "height", "href", "id", "points", "sizes", "src", "srcdoc", "srcset", "style",
    "viewBox", "width",
})  # fmt: skip


def _held_words(tree: Document) -> Iterator[str]:
    """Yield the words of attributes that are for scripts."""
    for element in tree.iter_elements():
        for name, value in element.attrs.items():
            if name not in _PLAIN and value:
                yield from WORD.findall(str(value))


# Where visitors write, browsers insert elements, and what is pasted has classes
_WRITTEN_IN = "[contenteditable]:not([contenteditable=false i])"
# What has scripts, or markup for them, of its own
_LIVE = f"iframe, frame, object, embed, template, animate, set, {_WRITTEN_IN}"
_FRAMES = ("iframe", "frame", "object", "embed")
_SCRIPTED = re.compile(r"<script|\son[a-z]+\s*=|javascript:", re.IGNORECASE)
_CODE_ADDRESS = re.compile(r"javascript:(?!\s*(?:void\s*\(?0\)?|[;\"'>]|//))", re.IGNORECASE)


def _is_changed_otherwise(tree: Document, page: PageContext, view: View) -> bool:
    """Whether something but its scripts changes a page: code in addresses, SVG, a visitor who writes, a frame."""
    return (
        _CODE_ADDRESS.search(page.page.text) is not None
        or tree.select_one(_WRITTEN_IN) is not None
        or any(each.attr("attributeName") == "class" for each in tree.iter_elements(("set", "animate")))
        or any(_SCRIPTED.search(text) for text in _framed_texts(tree, page, view))
    )


def _framed_texts(tree: Document, page: PageContext, view: View) -> Iterator[str]:
    """Yield the documents of this site in frames: their scripts reach the page around them."""
    for frame in tree.iter_elements(_FRAMES):
        yield frame.attr("srcdoc") or ""
        path = view.follow(page.base, frame.attr("src") or frame.attr("data") or "").path
        if path not in (None, page.path) and view.media_type(path) in (media.HTML, media.SVG):
            yield view.read(path).decode("utf-8", "replace")
