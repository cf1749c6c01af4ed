"""prerendered: pages that a framework rendered when the site was built show before, and mostly without, its scripts.

Those that build the page once more in the browser wait until a visitor uses what the page cannot serve by itself: a
link is followed without them, a button wakes them, and is pressed again for them once they listen (``wake.js``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from turbohtml import Element

from adaptc.browser.written import Written, find_written, write_content, write_frame
from adaptc.compile.page.context import KEPT, PageContext, Report
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.passes.prerendered.dependence import (
    SHORT,
    absence_reason,
    dependence_reason,
    fetching_reason,
    held_facts,
    held_imports,
    let_followers_run,
    not_asked_for,
    styling_reason,
)
from adaptc.compile.passes.prerendered.hydration import ANY, MATERIAL, Framework, Hydration, find_framework
from adaptc.compile.passes.prerendered.vitepress import (
    DEPTHS,
    OFFSETS,
    keep_scroll_offset,
    label_switch,
    write_bar,
    write_outline,
    write_side_bar,
    writes_headings,
)
from adaptc.compile.view import REQUEST_BYTES, Options, View
from adaptc.core.fs import package_file
from adaptc.core.model import HELD_TYPE, Action, Role
from adaptc.formats.html.document import parse_bare
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.references import embedded_references
from adaptc.formats.html.static_text import has_streamed_parts, place_streamed_parts
from adaptc.formats.html.syntax import class_words
from adaptc.formats.html.visible_text import content_length
from adaptc.formats.script.minify import minify_script

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.browser.evidence import PageEvidence

NAME = "prerendered"


def adapt_prerendered(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Let the hydration of a page whose HTML can be read as it is wait for visitors.

    Other scripts stay as they are. A page that a browser saw keeps its hydration unless it shows the same without
    scripts, by itself or with what they write. ``hydration`` says where: "keep" nowhere, "drop" everywhere,
    "applications" on pages that scripts write into an empty element.
    """
    chosen = options["hydration"]
    if chosen == "keep" or not page.has_scripts or (chosen == "applications" and page.evidence is None):
        return Report()
    framework = find_framework(editor)
    is_material = framework is not None and framework.name == MATERIAL  # ``material.js`` writes what its scripts do
    written = None if is_material else _written(editor, page, view)
    filled = () if written is None else tuple(written.filled)
    if framework is None and len(filled) == 1 and not filled[0].text.strip():
        framework = ANY  # of a page that is an empty element
    is_application = bool(filled) and not any(map(content_length, editor.tree.select("body")))
    if framework is None or (chosen == "applications" and not is_application):
        return Report()
    hydration = Hydration.of(editor.tree, framework)
    if framework.has_modules:
        hydration = let_followers_run(hydration, editor.tree, page, view)
    if not hydration.scripts:
        return Report()
    depths = held_facts(DEPTHS, hydration, page, view) if framework.name == "VuePress" else frozenset[str]()
    evidence = page.evidence
    is_other = evidence is not None and not evidence.is_same_without_scripts
    if is_other and written is None and writes_headings(editor.tree, depths):
        evidence = None  # it will show more than the browser saw without scripts
    reason = _reason_to_run(editor, page, view, (framework, hydration), evidence, written)
    subject = f"hydration by {framework.name}"
    if reason:
        return Report([Action(NAME, KEPT, subject, reason)])
    if framework.name == "VitePress":
        offsets = held_facts(OFFSETS, hydration, page, view)
        keep_scroll_offset(editor, screen_sheets(editor.tree, page.base, view), offsets)
    images = _written_images(written, page, view)
    actions = [Action(NAME, "held", subject, "it runs once a visitor uses what it serves", len(hydration.scripts))]
    actions += _write(editor, written, images)
    roots = hydration.islands or editor.tree.select(framework.root)[:1]
    actions += _adapt(editor, roots, depths, has_written=written is not None)
    script = _wake_script(fills=written is not None) + (";" + _material_script()) * is_material
    _hold(editor, hydration, script)
    return _report(actions, images, hydration, editor.tree, page, view)


def _report(
    actions: list[Action],
    written_images: frozenset[str],
    hydration: Hydration,
    tree: Document,
    page: PageContext,
    view: View,
) -> Report:
    """Return the report of a page whose hydration waits; ``tree`` is that of its source."""
    references = tuple(embedded_references(tree))
    files = frozenset(path for url in hydration.urls() if (path := view.follow(page.base, url).path) is not None)
    marked = files.union(view.follow(page.base, each.url).path for each in references)
    imports = [path for path in held_imports(hydration, page, view) if path not in marked]
    actions += [Action(NAME, "held", path, "only scripts that wait load it") for path in imports]
    absorbed = sum(REQUEST_BYTES + transfer_size(path, view) for path in imports)
    images = {view.follow(page.base, each.url).path for each in references if each.role is Role.IMAGE} - {None}
    late = frozenset(not_asked_for(filter(None, images), hydration, page, view))
    # images that are written are loaded by scripts at the levels above, where they do not count
    return Report(actions, absorbed=absorbed, held=files | (written_images - marked), late=late)


def _reason_to_run(
    editor: Editor,
    page: PageContext,
    view: View,
    found: tuple[Framework, Hydration],
    evidence: PageEvidence | None,
    written: Written | None,
) -> str | None:
    """Return why the scripts that hydrate a page cannot wait, if so; ``evidence`` is what a browser saw of it.

    ``written`` is what its scripts write, if the page can have it before they run.
    """
    framework, hydration = found
    if evidence is not None and not evidence.is_same_without_scripts and written is None:
        unseen = "; it looked at pages like this one (--browser=all looks at each)" * (evidence.document is None)
        return f"without scripts, a browser does not show the same{unseen}"
    sheets, tree = screen_sheets(editor.tree, page.base, view), editor.tree
    if has_streamed_parts(editor.text):
        tree = parse_bare(place_streamed_parts(editor.text))  # as inline scripts, which stay, move them

    def brought_reason() -> str | None:
        return (
            absence_reason(tree, framework.root, sheets)
            or fetching_reason(hydration, page, view)
            or styling_reason(hydration, page, view, editor.tree)
        )

    reason = dependence_reason(tree if written is None else written.after, framework.root, sheets)
    if reason == SHORT and evidence is not None and brought_reason() is None:
        reason = dependence_reason(tree, framework.root, sheets, least=1)  # as error pages, which a browser saw
    if reason:
        return reason
    if framework.needs.search(editor.text):
        return "scripts run before a visitor uses anything"
    if evidence is None:
        reason = "only a browser says what it shows without scripts" if framework.needs_evidence else brought_reason()
    if framework.name == MATERIAL and page.has_policy:
        return "a Content-Security-Policy restricts the page"
    if not reason and not page.policy.allows_script(_wake_script(fills=written is not None)):
        reason = "its Content-Security-Policy forbids the script that waits for visitors"
    return reason


def _adapt(editor: Editor, roots: Sequence[Element], depths: frozenset[str], *, has_written: bool) -> Iterator[Action]:
    if not has_written:
        write_bar(editor)
        label_switch(editor)
    if count := not has_written and (
        write_outline(editor, f"{_OWN}-new") or write_side_bar(editor, depths, f"{_OWN}-new")
    ):
        yield Action(NAME, "written", "links to headings of the page", count=count)
    if count := load_lazy_images(editor) + show_images(editor, roots):
        yield Action(NAME, "loaded", "images that a script would load", count=count)
    for button in {each: None for root in roots for each in root.select("button[disabled]")}:
        editor.remove_attribute(button, "disabled")
        editor.set_attribute(button, _OWN, None)


def _written(editor: Editor, page: PageContext, view: View) -> Written | None:
    """Return what scripts write into a page, as a browser saw it, if the page can have it."""
    markup = None if page.has_policy or page.evidence is None else view.page_written(page.path)
    if markup is None:
        return None
    return find_written(editor.tree, parse_bare(markup.decode("utf-8", "replace")), parse_bare(page.page.text))


def _write(editor: Editor, written: Written | None, images: frozenset[str]) -> Iterator[Action]:
    if written is not None:
        write_content(editor, written, _OWN)
        write_frame(editor, written, _OWN)
        count = len(written.filled) + len(written.changed) + len(written.added)
        yield Action(NAME, "written", "what scripts write, until they run", count=count)
    yield from (Action(NAME, "written", path, "scripts would load it") for path in sorted(images))


def _written_images(written: Written | None, page: PageContext, view: View) -> frozenset[str]:
    new = () if written is None else tuple(written.new())
    images = (image for each in new for image in (each, *each.select("img")) if image.tag == "img")
    return frozenset(filter(None, (view.follow(page.base, each.attr("src") or "").path for each in images)))


# ---- Scripts and hints that wait

# The attribute that holds what a script or a link that waits has instead of its type or relation
_OWN = "data-later"


def _hold(editor: Editor, hydration: Hydration, code: str) -> None:
    editor.insert_before(hydration.scripts[0], f"<script>{code}</script>")
    for script in hydration.scripts:
        kind, address = script.attr("type"), script.attr("src")
        if kind is not None:
            editor.set_attribute(script, f"{_OWN}-type", kind)
        editor.set_attribute(script, "type", HELD_TYPE)
        if address is not None:
            editor.set_attribute(script, _OWN, address)
            editor.remove_attribute(script, "src")
    for link in hydration.hints:
        editor.set_attribute(link, _OWN, link.attr("rel") or "")
        editor.set_attribute(link, "rel", HELD_TYPE)


@cache
def _wake_script(*, fills: bool) -> str:
    """Return the script that waits for visitors; ``fills`` says that the page has what scripts write."""
    fill = _source(__name__, "fill.js") if fills else "null"
    return _filled(re.sub(r"\bFILL$", lambda _: fill, _source(__name__, "wake.js"), flags=re.MULTILINE))


@cache
def _material_script() -> str:
    """Return what does for a page what the bundle of Material would do, and did as a browser looked (``look.py``)."""
    return _filled(f"({_source('adaptc.browser', 'material.js')})()")


def _source(package: str, name: str) -> str:
    return package_file(package, name).read_text("utf-8").strip()


def _filled(source: str) -> str:
    filled = re.sub(r"\b(?:OWN|TYPE)\b", lambda match: HELD_TYPE if match[0] == "TYPE" else _OWN, source)
    return minify_script(filled, short_names=True) or filled


# ---- Images that a script loads as they come into view

# What shows nothing, and class names of images that a script loads, whatever they show until then
_PLACEHOLDER = re.compile(
    r"(?:^$|^data:|(?:^|[/_.-])(?:blank|placeholder|spacer|loading|loader|transparent|lazy|pixel|empty|dummy|gr[ae]y|1x1)"
    r"[^/]*\.(?:gif|png|svg|webp|jpe?g)$)",
    re.IGNORECASE,
)
_LAZY_NAMES = frozenset({"lazy", "lazyload", "lazyloading", "lazyloaded", "lozad", "unveil", "defer", "deferred"})


def load_lazy_images(editor: Editor) -> int:
    """Give each lazy image its source, from ``data-src`` and ``data-srcset``; returns their number."""
    count = 0
    for image in editor.tree.iter_elements(("img", "source")):
        shown = image.attr("srcset" if image.tag == "source" else "src") or ""
        is_lazy = _PLACEHOLDER.search(shown.partition("?")[0].strip()) or not _LAZY_NAMES.isdisjoint(class_words(image))
        sources = {name: (image.attr(f"data-{name}") or "").strip() for name in ("src", "srcset")}
        if is_lazy and any("." in each and each[0] not in "{[<#" for each in sources.values()):
            for name, value in sources.items():
                if value:
                    editor.set_attribute(image, name, value)
                elif name in image.attrs:
                    editor.remove_attribute(image, name)
            count += 1
    return count


# ---- Images that wait for hydration, with a copy in ``<noscript>``: those of Next.js 10 to 12, Gatsby, Nuxt Image


def show_images(editor: Editor, roots: Sequence[Element]) -> int:
    """Put the copies in the place of images that show nothing; returns their number."""
    count = 0
    for noscript in (each for root in roots for each in root.select("img + noscript")):
        waiting = next(each for each in noscript.previous_siblings if isinstance(each, Element))
        is_blank = (waiting.attr("src") or "").startswith("data:") and "data-src" not in waiting.attrs
        if is_blank and noscript.select_one("img") is not None:
            editor.remove_element(waiting)
            editor.replace_element(noscript, noscript.inner_html)
            count += 1
    return count
