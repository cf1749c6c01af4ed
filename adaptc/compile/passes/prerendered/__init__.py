"""prerendered: pages that a framework rendered when the site was built, without the scripts that render them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, script_source
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.passes.prerendered.frameworks import find_framework
from adaptc.compile.passes.prerendered.hydration import Hydration
from adaptc.compile.passes.prerendered.images import show_images
from adaptc.compile.passes.prerendered.losses import lost_functions
from adaptc.compile.passes.prerendered.readable import dependence_reason
from adaptc.compile.passes.prerendered.scope import Scope
from adaptc.compile.passes.remove_scripts.controls import disable_controls
from adaptc.compile.passes.remove_scripts.hidden import show_hidden
from adaptc.compile.passes.remove_scripts.loading import load_lazy_images
from adaptc.compile.view import Options, View
from adaptc.core.model import Action
from adaptc.formats.html.document import parse_bare
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.static_text import has_streamed_parts, place_streamed_parts, streamed_parts
from adaptc.formats.script.facts import SCRIPT
from adaptc.formats.script.names import Names, ScriptNames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turbohtml import Document, Element

__all__ = ["adapt_prerendered"]

NAME = "prerendered"
_OTHER = "without scripts, a browser does not show the same"


def adapt_prerendered(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Remove the hydration of a page whose HTML can be read and used as it is (``hydration``: "keep" or "drop").

    What only its scripts show is shown, as at levels without scripts, and their controls are disabled. Other scripts
    stay, and so do the controls that they name. A page that a browser saw keeps its hydration unless it shows the same
    without scripts.
    """
    framework = find_framework(editor.tree) if options["hydration"] == "drop" and page.has_scripts else None
    if framework is None:
        return Report()
    hydration = Hydration.of(editor.tree, framework)
    if not hydration.scripts:
        return Report()
    sheets = screen_sheets(editor.tree, page.base, view)
    is_other = page.evidence is not None and not page.evidence.is_same_without_scripts
    reason = _OTHER if is_other else dependence_reason(_streamed_tree(editor), framework.root, sheets)
    if reason:
        return Report([Action(NAME, KEPT, f"hydration by {framework.name}", reason)])
    names = ScriptNames([*_script_names(hydration.others, page, view)])
    roots = hydration.islands or editor.tree.select(framework.root)[:1]
    actions = _adapt(editor, Scope(roots, names), sheets)
    hydration.remove(editor)
    removed = Action(NAME, "removed", f"hydration by {framework.name}", count=len(hydration.scripts))
    return Report([removed, *actions], drops_scripts=True)


def _adapt(editor: Editor, scope: Scope, sheets: Sequence[str]) -> Iterator[Action]:
    for subject, count in lost_functions(editor.tree, scope.is_hydrated):
        yield Action(NAME, "lost", subject, "it needs the removed scripts", count)
    streamed = streamed_parts(editor.tree) if has_streamed_parts(editor.text) else frozenset()
    shown = show_hidden(editor, sheets, lambda element: element not in streamed and scope.is_hydrated(element))
    for verb, subject, count in (
        ("loaded", "images that a script would load", load_lazy_images(editor) + show_images(editor, scope.roots)),
        ("shown", "what a script would show", shown.count),
        ("settled", "buttons that only scripts listen to", disable_controls(editor, shown.openers, scope.is_hydrated)),
    ):
        if count:
            yield Action(NAME, verb, subject, count=count)


def _streamed_tree(editor: Editor) -> Document:
    """Return the tree of the page once inline scripts, which stay, have moved its streamed parts."""
    return parse_bare(place_streamed_parts(editor.text)) if has_streamed_parts(editor.text) else editor.tree


def _script_names(scripts: Sequence[Element], page: PageContext, view: View) -> Iterator[Names]:
    """Yield the names of scripts that are known; those of other sites serve no control of the framework's."""
    for script in scripts:
        yield view.facts(SCRIPT, script_source(script, page.base, view) or "").names
