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
    NAMED,
    POLICY,
    PRELOADED,
    SHARED,
    carried_markup,
    first_unusual,
    framed_files,
    meets_integrity,
    reads_tags,
    should_inline,
)
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup
from adaptc.formats.script import (
    escape_for_script_element,
    is_javascript_type,
    is_module_type,
)
from adaptc.formats.script.facts import SCRIPT, ScriptFacts

if TYPE_CHECKING:
    from turbohtml import Element

# async, type=module and nomodule change when a script runs; event attributes and ids refer to the element.
_ALLOWED = frozenset({"src", "type", "language", "charset", "integrity", "crossorigin", "referrerpolicy"})
# For a crowd: a script as a data URI costs a few bytes more than its text, but has its time and its load event. The
# file exists, so that there is no error event. An async script may run at any time, and does when the page is parsed.
_MEANT = frozenset({"src", "language", "defer", "async", "onload", "onerror", "blocking"})


def inline_scripts(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Give ``<script src>`` its text in place: it runs at the same moment, in the same order."""
    report = Report()
    inlined: list[tuple[Element, str]] = []
    framed = framed_files(editor.tree, page, view)
    for element in editor.tree.iter_elements("script"):
        source = element.attr("src")
        path = None if source is None else view.follow(page.base, source).path
        if path in framed:
            report.actions.append(Action("inline-scripts", KEPT, path, FRAMED))
        elif path is not None and _consider(element, path, editor, page, view, options, report):
            inlined.append((element, path))
    if options["readers"] == CROWD and any(b"resize" in view.artifact(path) for _, path in inlined):
        _ignore_first_resize(inlined[0][0], editor, page)
    if options["readers"] == CROWD and options.get("budget", 1):  # 0: the page would be larger than above with modules
        from adaptc.compile.passes.module_graph import inline_modules

        modules = inline_modules(editor, page, view, options, frozenset(element for element, _ in inlined))
        report.actions += modules.actions
        report.absorbed, report.held = modules.absorbed, modules.held
    return report


def _ignore_first_resize(first: Element, editor: Editor, page: PageContext) -> None:
    """Keep the event that browsers on telephones send once they know the width of the page from those that missed it.

    It comes with the first frame: before scripts in files run, and after those in the page. The size is what it was.
    """
    if page.introspection() is None and not page.selects_other_scripts():
        editor.insert_before(first, f"<script>{_FIRST_RESIZE}</script>")


_FIRST_RESIZE = (
    "(function(d,w,h){addEventListener('resize',function f(e){if(e.isTrusted){removeEventListener('resize',f,true);"
    "if(d.clientWidth==w&&d.clientHeight==h)e.stopImmediatePropagation()}},true)})"
    "(document.documentElement,document.documentElement.clientWidth,document.documentElement.clientHeight)"
)


def _consider(
    element: Element, path: str, editor: Editor, page: PageContext, view: View, options: Options, report: Report
) -> bool:
    """Inline one script if nothing is against it; returns whether it is in the page now."""
    reason = next(_reasons_against(element, path, editor.text, page, view, options), None)
    text = None if reason else _text(path, page, view)
    if text is None:
        reason = reason or "its text cannot be written in the page"
        report.actions.append(Action("inline-scripts", KEPT, path, reason))
        return False
    editor.replace_element(element, _markup(element, text))
    report.actions.append(Action("inline-scripts", "inlined", path, INLINED))
    return True


def _markup(element: Element, text: str) -> str:
    names, handler = carried_markup(element), element.attr("onload")
    if is_module_type(element.attr("type")):  # deferred, with its text or without
        return f"<script type=module{' async' if 'async' in element.attrs else ''}{names}>{text}</script>"
    is_late = not _LATE.isdisjoint(element.attrs)
    if not is_late and handler is None:
        return f"<script{names}>{text}</script>"
    event = "" if handler is None else " " + attribute_markup("onload", handler)
    return f"<script{' defer' if is_late else ''}{names}{event} {attribute_markup('src', script_uri(text))}></script>"


_LATE = frozenset({"defer", "async"})
_REFERS_TO_ITSELF = re.compile(r"\b(?:this|event)\b")


def _reasons_against(
    element: Element, path: str, text: str, page: PageContext, view: View, options: Options
) -> Iterator[str]:
    yield from _reasons_of_element(element, page, options)
    if view.media_type(path) != media.JS:
        yield "it is not served as a script"
    if problem := _kind_problem(element, path, page, view, options):
        yield problem
    if (element.attr("charset") or "utf-8").strip().lower() != "utf-8":
        yield "the script element names an encoding"
    if not _is_allowed(element, page, options):
        yield POLICY
    if path in page.preloaded:
        yield PRELOADED
    if options["readers"] == CROWD and page.names_file(path, view.artifact(path)):
        yield NAMED
    if is_isolated(element, text):
        yield "it is in a noscript, template or foreign element"
    if not should_inline(path, view, options):
        yield SHARED
    integrity = element.attr("integrity")
    if integrity is not None and not meets_integrity(view.read(path), integrity):
        yield MISMATCH
    yield from _reasons_of_scripts(view.facts(SCRIPT, view.artifact(path)), page, options)


def _is_allowed(element: Element, page: PageContext, options: Options) -> bool:
    """Whether a policy lets the script run in the page; for a crowd there is another next to it, and data URIs."""
    if options["readers"] == CROWD:
        return page.policy.allows_inlining("script", None) and page.policy.allows_data("script")
    return page.policy.allows_inlining("script", element.attr("nonce"))


def _reasons_of_element(element: Element, page: PageContext, options: Options) -> Iterator[str]:
    unusual = first_unusual(element, page, _MEANT, None if options["readers"] == CROWD else _ALLOWED)
    if unusual is not None:
        yield f"the script element has the attribute {unusual}"
    if page.selects("src", element.attr("src") or ""):
        yield "a script of the page looks for it by its address"
    if _REFERS_TO_ITSELF.search(element.attr("onload") or ""):
        yield "its load event refers to it"


def _kind_problem(element: Element, path: str, page: PageContext, view: View, options: Options) -> str | None:
    """Return why a script of this type stays. A module without imports and exports runs at the same time in place."""
    if reads_tags(view.artifact(path)):
        return "it looks for tags in the text of pages"
    kind = element.attr("type")
    if is_javascript_type(kind, element.attr("language")):
        return None
    if options["readers"] != CROWD or not is_module_type(kind):
        return "it is not a classic script"
    content = view.artifact(path)
    if "onload" in element.attrs or not view.facts(SCRIPT, content).is_self_contained:
        return "it is a module that imports or exports"
    return None


def _reasons_of_scripts(script: ScriptFacts, page: PageContext, options: Options) -> Iterator[str]:
    """Yield why scripts may notice. For a crowd, a script that looks for itself is assumed to look for nothing else."""
    if options["readers"] != CROWD and (reason := page.introspection()):
        yield reason
    if options["readers"] == CROWD and script.self_inspection:
        yield script.self_inspection
    if options["readers"] == CROWD and page.selects_other_scripts():
        yield "a script of the page may look for scripts by their addresses"
    if script.writes_document and options["readers"] != CROWD:  # in place it writes to the same point (HTML, 8.4.3)
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
