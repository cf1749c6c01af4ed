"""remove-scripts: a page that can be read and used without scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report
from adaptc.compile.page.script_written import settled_text
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.passes.remove_scripts.boxes import remove_covers, seen_covers, shrink_drawings
from adaptc.compile.passes.remove_scripts.controls import disable_controls
from adaptc.compile.passes.remove_scripts.hidden import show_hidden
from adaptc.compile.passes.remove_scripts.loading import load_lazy_images
from adaptc.compile.passes.remove_scripts.menus import write_script_menus
from adaptc.compile.view import Options, View
from adaptc.core.model import Action
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.document import show_noscript
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import preloads, rel_tokens
from adaptc.formats.html.syntax import attribute_markup, text_markup
from adaptc.formats.image.probe import LIMIT_PIXELS, ImageFacts, probe
from adaptc.formats.script import is_javascript_type

if TYPE_CHECKING:
    from turbohtml import Element

NAME = "remove-scripts"


def show_scriptless(text: str, page: PageContext, view: View) -> str:
    """Return the static text of a page, with what a ``<noscript>`` holds."""
    return show_noscript(settled_text(text, page, view))


def remove_scripts(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Remove all scripts from a page, and adapt what depends on them.

    ``show_scriptless`` ran before and replaced each ``<noscript>`` by its content. Structured data (JSON-LD) stays: no
    script of the page runs it.
    """
    report = Report(is_scriptless=True)
    if page.has_scripts:
        sheets = screen_sheets(editor.tree, page.base, view)
        covers = seen_covers(page.evidence, editor.tree)
        shown = show_hidden(editor, sheets, covers=covers)
        cascade = Cascade(editor.tree, sheets)
        counts = (
            ("written", "menus that a script would build", write_script_menus(editor, page, view, cascade)),
            ("shown", "what a script would show", shown.count),
            ("loaded", "images that a script would load", load_lazy_images(editor, _Blanks(page, view))),
            ("uncovered", "what covers the page until a script removes it", remove_covers(editor, cascade)),
            ("uncovered", "what a browser saw over the text", len(covers)),
            ("shrunk", "boxes that a script would draw in", shrink_drawings(editor, page, sheets)),
            ("settled", "buttons that only scripts listen to", disable_controls(editor, shown.openers)),
        )
        report.actions += [Action(NAME, verb, subject, count=count) for verb, subject, count in counts if count]
    if removed := remove_code(editor):
        report.actions.append(Action(NAME, "removed", "scripts, event handlers and templates", count=removed))
    return report


_DOT = 4  # CSS pixels of a side, at most, of an image that only holds a place
_DOT_BYTES = 1024


class _Blanks:
    """Tells whether the image at a URL of a page is too small to show anything."""

    def __init__(self, page: PageContext, view: View) -> None:
        self._page, self._view = page, view

    def __call__(self, url: str) -> bool:
        path = self._view.follow(self._page.base, url).path if url else None
        if path is None or not self._view.media_type(path).startswith("image/"):
            return False
        content = self._view.read(path)
        facts = probe(content, LIMIT_PIXELS) if len(content) <= _DOT_BYTES else None
        return isinstance(facts, ImageFacts) and max(facts.natural_size) <= _DOT


# ---- What runs scripts or waits for one: elements, event handlers, ``javascript:`` URLs, hints to fetch scripts

# Read by search engines and by nothing on the page (JSON-LD 1.1, section 7); other data blocks are for scripts
_KEPT_DATA = frozenset({"application/ld+json"})
_URLS = ("href", "action", "formaction", "src", "data", "xlink:href")
_MAY_HOLD_URL = "a, area, form, button, input, iframe, frame, object, embed"
_HINTS = frozenset({"preload", "prefetch", "modulepreload", "prerender"})
_IGNORED = re.compile(r"[\x00-\x20]")
_SHADOW = ("shadowrootmode", "shadowroot")


def remove_code(editor: Editor) -> int:
    """Remove the code from a page; returns the number of removed elements and attributes."""
    _apply_late_sheets(editor)
    return (
        _remove_scripts(editor)
        + _remove_handlers(editor)
        + _remove_script_urls(editor)
        + _remove_hints(editor)
        + _remove_templates_and_canvases(editor)
    )


def is_script_url(url: str) -> bool:
    """Whether a URL has the scheme ``javascript`` (URL Standard: controls and spaces before it do not count)."""
    return _IGNORED.sub("", url[:32]).lower().startswith(("javascript:", "vbscript:"))


def _apply_late_sheets(editor: Editor) -> None:
    """Apply the sheets that an ``onload`` would: a preload that becomes a sheet, a medium that becomes "all"."""
    for link in editor.tree.iter_elements("link"):
        handler, rel = link.attr("onload") or "", rel_tokens(link)
        if "stylesheet" in rel and "media" in handler:
            editor.remove_attribute(link, "media")
        elif _is_late(link):
            editor.set_attribute(link, "rel", "stylesheet")
            editor.remove_attribute(link, "as")


def _remove_scripts(editor: Editor) -> int:
    count = 0
    for script in editor.tree.iter_elements("script"):
        kind = (script.attr("type") or "").strip().lower()
        if kind not in _KEPT_DATA:
            editor.replace_element(script, _formula(script, kind))
            count += 1
    return count


def _formula(script: Element, kind: str) -> str:
    """Return the TeX of a formula that MathJax would have drawn."""
    is_formula = kind.split(";")[0] == "math/tex" and not is_javascript_type(kind, None)
    return f"<code>{text_markup(script.text.strip())}</code>" if is_formula else ""


def _remove_handlers(editor: Editor) -> int:
    count = 0
    for element in editor.tree.iter_elements():
        for name in [name for name in element.attrs if name.startswith("on")]:
            editor.remove_attribute(element, name)
            count += 1
    return count


def _remove_script_urls(editor: Editor) -> int:
    count = 0
    for element in editor.tree.select(_MAY_HOLD_URL):
        for name in _URLS:
            if name in element.attrs and is_script_url(element.attr(name) or ""):
                editor.remove_attribute(element, name)
                count += 1
    return count


def _is_late(link: Element) -> bool:
    return preloads(link, "style") and "stylesheet" in (link.attr("onload") or "")


def _remove_hints(editor: Editor) -> int:
    """Drop hints: they fetch scripts early, or files that this level inlines or removes."""
    hints = [link for link in editor.tree.iter_elements("link") if _is_hint(link) and not _is_late(link)]
    for link in hints:
        editor.remove_element(link)
    return len(hints)


def _is_hint(link: Element) -> bool:
    relations = rel_tokens(link)
    return "stylesheet" not in relations and not _HINTS.isdisjoint(relations)


def _remove_templates_and_canvases(editor: Editor) -> int:
    """Drop templates, which only scripts copy, and show what a canvas holds without scripts."""
    templates = [
        each for each in editor.tree.iter_elements("template") if not any(name in each.attrs for name in _SHADOW)
    ]
    for template in templates:
        editor.remove_element(template)
    canvases = list(editor.tree.iter_elements("canvas"))
    for canvas in canvases:
        editor.replace_element(canvas, _fallback(canvas))
    return len(templates) + len(canvases)


def _fallback(canvas: Element) -> str:
    words, identity = " ".join(canvas.text.split()), canvas.attr("id")
    if not (words or identity):
        return ""
    return f"<span{' ' + attribute_markup('id', identity) if identity else ''}>{text_markup(words)}</span>"
