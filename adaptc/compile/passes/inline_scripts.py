"""inline-scripts: put small or rarely shared classic scripts into the page, each in an element of its own.

A deferred script stays deferred: its text becomes the address (a data URI, RFC 2397), since ``defer`` means nothing
without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.page.inlining import (
    CROWD,
    FRAMED,
    INLINED,
    MISMATCH,
    SHARED,
    framed_files,
    meets_integrity,
    should_inline,
)
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup
from adaptc.formats.script import escape_for_script_element, introspection_reason, is_javascript_type, writes_document

if TYPE_CHECKING:
    from turbohtml import Element

# async, type=module and nomodule change when a script runs; event attributes and ids refer to the element. A deferred
# script as a data URI costs a few bytes more than its text: only for a crowd.
_ALLOWED = frozenset({"src", "type", "language", "charset", "integrity", "crossorigin", "referrerpolicy"})


def inline_scripts(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Give ``<script src>`` its text in place: it runs at the same moment, in the same order."""
    report = Report()
    framed = framed_files(editor.tree, page, view)
    for element in editor.tree.iter_elements("script"):
        source = element.attr("src")
        path = None if source is None else view.follow(page.base, source).path
        if path in framed:
            report.actions.append(Action("inline-scripts", KEPT, path, FRAMED))
        elif path is not None:
            _consider(element, path, editor, page, view, options, report)
    return report


def _consider(
    element: Element, path: str, editor: Editor, page: PageContext, view: View, options: Options, report: Report
) -> None:
    reason = next(_reasons_against(element, path, editor.text, page, view, options), None)
    text = None if reason else _text(path, page, view)
    if text is None:
        reason = reason or "its text cannot be written in the page"
        report.actions.append(Action("inline-scripts", KEPT, path, reason))
        return
    if "defer" in element.attrs:
        markup = f"<script defer {attribute_markup('src', script_uri(text))}></script>"
    else:
        markup = f"<script>{text}</script>"
    editor.replace_element(element, markup)
    report.actions.append(Action("inline-scripts", "inlined", path, INLINED))


def _reasons_against(
    element: Element, path: str, text: str, page: PageContext, view: View, options: Options
) -> Iterator[str]:
    unusual = set(element.attrs) - _ALLOWED - ({"defer"} if options["readers"] == CROWD else set())
    if unusual:
        yield f"the script element has the attribute {min(unusual)}"
    if not is_javascript_type(element.attr("type"), element.attr("language")) or view.media_type(path) != media.JS:
        yield "it is not a classic script"
    if (element.attr("charset") or "utf-8").strip().lower() != "utf-8":
        yield "the script element names an encoding"
    if page.has_policy:
        yield "the page has a Content-Security-Policy"
    if is_isolated(element, text):
        yield "it is in a noscript, template or foreign element"
    if not should_inline(path, view, options):
        yield SHARED
    integrity = element.attr("integrity")
    if integrity is not None and not meets_integrity(view.read(path), integrity):
        yield MISMATCH
    yield from _reasons_of_scripts(view.artifact(path).decode("utf-8", "replace"), page, options)


def _reasons_of_scripts(text: str, page: PageContext, options: Options) -> Iterator[str]:
    """Yield why scripts may notice. For a crowd, a script that looks for itself is assumed to look for nothing else."""
    if options["readers"] != CROWD and (reason := page.introspection()):
        yield reason
    if options["readers"] == CROWD and (reason := introspection_reason(text)):
        yield reason
    if options["readers"] == CROWD and page.selects_other_scripts():
        yield "a script of the page may look for scripts by their addresses"
    if writes_document(text):
        yield "it writes into the document (document.write)"


def script_uri(text: str) -> str:
    """Return a script as a data URI. Only characters that a URL would lose are encoded."""
    return "data:text/javascript;charset=utf-8," + _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


# URL, "URL parsing": tabs and line ends are removed anywhere, space and controls at the end; "#" begins the fragment.
_UNSAFE = re.compile(r"[%#\x00-\x1f\x7f]| \Z")


def _text(path: str, page: PageContext, view: View) -> str | None:
    try:
        text = view.artifact(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if not text.isascii() and page.page.encoding.lower() != "utf-8":
        return None  # without a charset the browser reads the file in the page's encoding
    safe = escape_for_script_element(text)
    return safe if safe is not None and page.can_hold(safe) else None
