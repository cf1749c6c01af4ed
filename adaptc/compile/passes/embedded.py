"""embedded: minify what a page contains in other languages: style elements, scripts, JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, is_compared, is_isolated
from adaptc.compile.page.inlining import reads_tags
from adaptc.compile.view import Options, View
from adaptc.core.facts import FactKind
from adaptc.core.model import Action
from adaptc.formats.css.minify import minify_sheet
from adaptc.formats.css.prefixes import drop_dead_prefixes
from adaptc.formats.css.sheet_text import escape_for_style_element, is_balanced
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.minify import MinifiedMarkup, minify_markup
from adaptc.formats.html.template_marks import has_template_attribute
from adaptc.formats.script import (
    escape_for_script_element,
    is_javascript_type,
    minify_json,
    minify_script,
)
from adaptc.formats.script.facts import SCRIPT

if TYPE_CHECKING:
    from turbohtml import Document, Element

_JSON_TYPES = frozenset({"application/json", "application/ld+json", "importmap", "speculationrules"})


def minify_embedded(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Minify style and script elements; not under a policy, which may hold their hashes."""
    report = Report()
    if page.has_policy or not options["minify"]:
        return report
    for element in editor.tree.iter_elements(("style", "script")):
        text = element.text
        if element.tag == "style" and is_compared(element, editor.text):
            continue
        shorter = _shorter(element, text, view, options) if text and not is_isolated(element, editor.text) else None
        if shorter is not None and len(shorter) < len(text) and page.can_hold(shorter):
            editor.set_raw_text(element, shorter)
            report.actions.append(
                Action("embedded", "minified", f"<{element.tag}>", f"{len(text)} to {len(shorter)} characters")
            )
    return report


def _shorter(element: Element, text: str, view: View, options: Options) -> str | None:
    if element.tag == "style":
        minified = _LIVING_STYLE if options["prefixes"] == "drop" else _MINIFIED_STYLE
        return view.facts(minified, text) if _is_css(element) else None
    if element.attr("src") is not None:
        return None
    kind = (element.attr("type") or "").strip().lower()
    if kind in _JSON_TYPES:
        return minify_json(text)
    if not is_javascript_type(element.attr("type"), element.attr("language")):
        return None
    script = view.facts(SCRIPT, text)
    if script.introspection or script.writes_document:
        return None
    return view.facts(_RENAMED_SCRIPT if options["names"] else _MINIFIED_SCRIPT, text)


def _is_css(element: Element) -> bool:
    """Whether browsers read a style element (HTML, 4.2.6); others hold LESS or data for a script."""
    return (element.attr("type") or "text/css").lower() == "text/css"


def _minified_style(text: str) -> str | None:
    shorter = minify_sheet(text)
    return None if shorter is None else escape_for_style_element(shorter)


def _living_style(text: str) -> str | None:
    """Minify a style element, without what no browser of today knows."""
    living = drop_dead_prefixes(text) if is_balanced(text) else text
    return _minified_style(living) or (None if living == text else escape_for_style_element(living))


def _minified_script(text: str, *, short_names: bool = False) -> str | None:
    if "<!--" in text:
        return None
    shorter = minify_script(text, short_names=short_names)
    return None if shorter is None else escape_for_script_element(shorter)


_MINIFIED_STYLE: FactKind[str | None] = FactKind("minified style", _minified_style, None)
_LIVING_STYLE: FactKind[str | None] = FactKind("living style", _living_style, None)
_MINIFIED_SCRIPT: FactKind[str | None] = FactKind("minified script", _minified_script, None)
_RENAMED_SCRIPT: FactKind[str | None] = FactKind("renamed script", partial(_minified_script, short_names=True), None)


def shorten_markup(text: str, tree: Document | None, page: PageContext, options: Options) -> MinifiedMarkup | None:
    """Return the page in shorter markup, or ``None``; comments are removed if no script can see them.

    ``tree`` is what ``text`` parses to, where that is known; it may be changed.
    """
    if has_template_attribute(text):
        return None
    keep = options["comments"] == "keep" or (options["comments"] == "keep-with-scripts" and page.has_scripts)
    keep_tags = any(map(reads_tags, page.scripts))
    return minify_markup(
        text,
        keep_comments=keep,
        keep_tags=keep_tags,
        keep_doctype=options["doctype"] == "keep" or page.has_scripts,
        declared=page.page.declared,
        tree=tree,
    )
