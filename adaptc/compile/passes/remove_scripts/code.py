"""Remove what runs scripts or waits for one: elements, event handlers, ``javascript:`` URLs, hints to fetch scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import preloads, rel_tokens
from adaptc.formats.html.syntax import attribute_markup, text_markup
from adaptc.formats.script import is_javascript_type

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["is_script_url", "remove_code"]

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
