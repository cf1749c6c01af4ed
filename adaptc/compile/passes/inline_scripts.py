"""inline-scripts: put small or rarely shared classic scripts into the page, each in an element of its own.

A deferred script stays deferred: its text becomes the address (a data URI, RFC 2397), since ``defer`` means nothing
without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated, script_source
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
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.view import REQUEST_BYTES, Options, View
from adaptc.core import media
from adaptc.core.model import MOVED_TYPE, Action
from adaptc.core.values import dataclass, field
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup
from adaptc.formats.script import (
    escape_for_script_element,
    is_javascript_type,
    is_module_type,
)
from adaptc.formats.script.facts import SCRIPT, ScriptFacts
from adaptc.formats.script.introspection import may_load_chunks, with_own_address

if TYPE_CHECKING:
    from turbohtml import Element

# async, type=module and nomodule change when a script runs; event attributes and ids refer to the element.
_ALLOWED = frozenset({"src", "type", "language", "charset", "integrity", "crossorigin", "referrerpolicy"})
# For a crowd: a script as a data URI costs a few bytes more than its text, but has its time and its load event. The
# file exists, so that there is no error event. An async script may run at any time, and does when the page is parsed.
_MEANT = frozenset({"src", "language", "defer", "async", "onload", "onerror", "blocking"})


def inline_scripts(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Give ``<script src>`` its text in place: it runs at the same moment, in the same order."""
    moves = _Moves(editor, page, view, options)
    framed = framed_files(editor.tree, page, view)
    for element in editor.tree.iter_elements("script"):
        source = element.attr("src")
        path = None if source is None else view.follow(page.base, source).path
        if path in framed:
            moves.report.actions.append(Action("inline-scripts", KEPT, path, FRAMED))
        elif path is not None:
            moves.consider(element, path)
    report = moves.report
    if options["readers"] != CROWD:
        return report
    if any(b"resize" in view.artifact(path) for path in moves.moved.values()):
        _ignore_first_resize(next(iter(moves.moved)), editor, page)
    if moves.may_grow:
        moves.carry_chunks()
    moves.write_chunks()
    if moves.may_grow:
        from adaptc.compile.passes.module_graph import inline_modules

        modules = inline_modules(editor, page, view, options, frozenset(moves.moved))
        report.actions += modules.actions
        report.absorbed, report.held = report.absorbed + modules.absorbed, report.held | modules.held
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


@dataclass
class _Moves:
    """The scripts of a page that move into it, by the elements that had them; ``chunks`` are written at its end."""

    editor: Editor
    page: PageContext
    view: View
    options: Options
    report: Report = field(default_factory=Report)
    moved: dict[Element, str] = field(default_factory=dict)
    chunks: list[str] = field(default_factory=list)

    @property
    def may_grow(self) -> bool:
        """Whether modules and chunks may move; with the budget 0 not, as the page would be larger than above."""
        return bool(self.options.get("budget", 1))

    def consider(self, element: Element, path: str) -> None:
        """Move one script into the page if nothing is against it."""
        reason = next(_reasons_against(element, path, self), None)
        text = None if reason else _text(path, element.attr("src") or "", self.page, self.view)
        if text is None:
            reason = reason or "its text cannot be written in the page"
            self.report.actions.append(Action("inline-scripts", KEPT, path, reason))
            return
        self._write(element, path, text)
        self.moved[element] = path
        self.report.actions.append(Action("inline-scripts", "inlined", path, INLINED))

    def _write(self, element: Element, path: str, text: str) -> None:
        stays = self.is_for_crowd and self.is_looked_for(element, path)
        if stays:
            self.report.held |= {path}
        names = "" if stays else carried_markup(element)
        left = _without_script(element) if stays else ""
        if self.is_for_crowd and _is_late(element) and "onload" not in element.attrs and self._is_early(path):
            self.chunks.append(f"<script{names}>{text}</script>")
        else:
            left += _markup(element, text, names)
        if left:
            self.editor.replace_element(element, left)
        else:
            self.editor.remove_element(element)

    def _is_early(self, path: str) -> bool:
        """Whether a script is a chunk that may come before the page is parsed, since its loader comes after that."""
        return self.is_chunk(path) and not self._has_early_loader

    @cached_property
    def _has_early_loader(self) -> bool:
        scripts = [each for each in self.editor.tree.iter_elements("script") if not _is_late(each)]
        sources = (script_source(each, self.page.base, self.view) for each in scripts)
        has_body = self.editor.tree.select_one("body") is not None
        return not has_body or any(source and may_load_chunks(source) for source in sources)

    @property
    def is_for_crowd(self) -> bool:
        """Whether the page is for a crowd, of which each reads one page."""
        return bool(self.options["readers"] == CROWD)

    def is_chunk(self, path: str) -> bool:
        """Whether a script does nothing but hand modules to a loader, so that it may run at any time before that."""
        return self.view.facts(SCRIPT, self.view.artifact(path)).is_chunk

    def is_looked_for(self, element: Element, path: str) -> bool:
        """Whether a script of the page may look for the element by its address, to know that the file is there."""
        if self.page.selects_other_scripts() or self.page.selects("src", element.attr("src") or ""):
            return True
        return self.is_chunk(path) and self.page.names_file(path, self.view.artifact(path))

    def carry_chunks(self) -> None:
        """Add the chunks that a browser saw this page load; the loader, which runs later, finds them there."""
        evidence = self.page.evidence
        if evidence is None or evidence.document is None or self.page.has_policy or self._has_early_loader:
            return  # without a document, the evidence is that of other pages of the template, which load other chunks
        apart = {*self.moved.values(), *evidence.hinted}
        loaded = [each for each in evidence.loaded if each not in apart and self.view.media_type(each) == media.JS]
        for path in filter(self._may_carry, loaded):
            text = _text(path, "", self.page, self.view)
            if text is not None:
                self.chunks.append(f"<script>{text}</script>")
                self.report.absorbed += REQUEST_BYTES + transfer_size(path, self.view)
                self.report.held |= {path}
                self.report.actions.append(Action("inline-scripts", "carried", path, INLINED))

    def _may_carry(self, path: str) -> bool:
        is_free = path not in self.page.preloaded and self.view.pinned(path) is None
        has_number = b"currentScript" not in self.view.artifact(path)  # the loader does not know it by its address
        if not (is_free and has_number and self.is_chunk(path) and should_inline(path, self.view, self.options)):
            return False
        loaders = [each for each in self.editor.tree.iter_elements("script") if self._loads(each, path)]
        return bool(loaders) and all(each in self.moved or "defer" in each.attrs for each in loaders)

    def _loads(self, element: Element, path: str) -> bool:
        source = script_source(element, self.page.base, self.view)
        return source is not None and self.view.facts(SCRIPT, source).loads_chunk(path)

    def write_chunks(self) -> None:
        """Write the chunks at the end of the body, where what comes before them is shown."""
        if self.chunks:
            self.editor.append(self.editor.tree.select("body")[-1], "".join(self.chunks))


def _without_script(element: Element) -> str:
    """Return the element as one that loads nothing, which keeps its address."""
    kept = [attribute_markup(name, element.attr(name)) for name in element.attrs if name not in ("defer", "type")]
    return f"<script {' '.join(kept)} type={MOVED_TYPE}></script>"


def _is_late(element: Element) -> bool:
    return not _LATE.isdisjoint(element.attrs)


def _markup(element: Element, text: str, names: str) -> str:
    """Return the script in the page; ``names`` is the markup of the attributes that go along."""
    handler = element.attr("onload")
    if is_module_type(element.attr("type")):  # deferred, with its text or without
        return f"<script type=module{' async' if 'async' in element.attrs else ''}{names}>{text}</script>"
    is_late = _is_late(element)
    if not is_late and handler is None:
        return f"<script{names}>{text}</script>"
    event = "" if handler is None else " " + attribute_markup("onload", handler)
    return f"<script{' defer' if is_late else ''}{names}{event} {attribute_markup('src', script_uri(text))}></script>"


_LATE = frozenset({"defer", "async"})
_REFERS_TO_ITSELF = re.compile(r"\b(?:this|event)\b")


def _reasons_against(element: Element, path: str, moves: _Moves) -> Iterator[str]:
    page, view, options = moves.page, moves.view, moves.options
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
    facts = view.facts(SCRIPT, view.artifact(path))
    yield from _reasons_of_names(element, path, facts, moves)
    if is_isolated(element, moves.editor.text):
        yield "it is in a noscript, template or foreign element"
    if not should_inline(path, view, options):
        yield SHARED
    integrity = element.attr("integrity")
    if integrity is not None and not meets_integrity(view.read(path), integrity):
        yield MISMATCH
    yield from _reasons_of_scripts(facts, page, options)


def _reasons_of_names(element: Element, path: str, facts: ScriptFacts, moves: _Moves) -> Iterator[str]:
    """Yield why scripts that know the address of a file may miss it; for a crowd they find its element."""
    if not moves.is_for_crowd:
        if moves.page.selects("src", element.attr("src") or ""):
            yield "a script of the page looks for it by its address"
        return
    if not facts.is_chunk and moves.page.names_file(path, moves.view.artifact(path)):
        yield NAMED
    if not moves.may_grow and (facts.is_excused or moves.is_looked_for(element, path)):
        yield "the page would be larger than at the level above"


def _is_allowed(element: Element, page: PageContext, options: Options) -> bool:
    """Whether a policy lets the script run in the page; for a crowd there is another next to it, and data URIs."""
    if options["readers"] == CROWD:
        return page.policy.allows_inlining("script", None) and page.policy.allows_data("script")
    return page.policy.allows_inlining("script", element.attr("nonce"))


def _reasons_of_element(element: Element, page: PageContext, options: Options) -> Iterator[str]:
    unusual = first_unusual(element, page, _MEANT, None if options["readers"] == CROWD else _ALLOWED)
    if unusual is not None:
        yield f"the script element has the attribute {unusual}"
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
    if script.writes_document and options["readers"] != CROWD:  # in place it writes to the same point (HTML, 8.4.3)
        yield "it writes into the document (document.write)"


def script_uri(text: str) -> str:
    """Return a script as a data URI. Only characters that a URL would lose are encoded."""
    return "data:text/javascript;charset=utf-8," + _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


# URL, "URL parsing": tabs and line ends are removed anywhere, space and controls at the end; "#" begins the fragment.
_UNSAFE = re.compile(r"[%#\x00-\x1f\x7f]| \Z")


def _text(path: str, address: str, page: PageContext, view: View) -> str | None:
    """Return the text of a script as the page can hold it; ``address`` is the ``src`` of its element."""
    try:
        text = with_own_address(view.artifact(path).decode("utf-8-sig"), address)
    except UnicodeDecodeError:
        return None
    if text is None:
        return None
    if not text.isascii() and page.page.encoding.lower() != "utf-8":
        return None  # without a charset the browser reads the file in the page's encoding
    safe = escape_for_script_element(text)
    return safe if safe is not None and page.can_hold(safe) else None
