"""Whether the HTML of a page holds what a visitor reads, or waits for a script to write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.forms import Forms, control_type, find_forms
from adaptc.formats.html.landmarks import find_landmarks
from adaptc.formats.html.visible_text import content_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turbohtml import Document, Element

__all__ = ["dependence_reason"]

# Characters of the main content that a page has at least; a shell has "Loading", an error page "404 Not found"
_LEAST = 60
# React's mark of a part that it leaves to the browser, islands without content, and parts that say that they load
_UNWRITTEN = "template[data-dgst=BAILOUT_TO_CLIENT_SIDE_RENDERING], astro-island[client=only]"
_LOADING = "[aria-busy=true]"
_WIDTHS = (412, 1280)
_TYPED = frozenset({
    "text", "email", "password", "tel", "url", "number", "date", "time", "datetime-local", "month", "week", "file",
    "textarea", "select",
})  # fmt: skip


def dependence_reason(tree: Document, selector: str, sheets: Sequence[str]) -> str | None:
    """Return why the part of a page that ``selector`` selects needs its scripts to be read or sent, if it does."""
    root = tree.select_one(selector)
    if root is None:
        return "its HTML does not have the element that scripts fill"
    main = _main_content(tree, root)
    if content_length(main) < _LEAST:
        return "its HTML holds hardly any text"
    if root.select_one(_UNWRITTEN) is not None or main.select_one(_LOADING) is not None:
        return "a script writes a part of it"
    if main.select_one("canvas") is not None:
        return "a script draws a part of it"
    if _has_scripted_form(tree, main):
        return "a script sends its form"
    return "it is hidden until a script shows it" if _is_hidden(tree, root, sheets) else None


def _main_content(tree: Document, root: Element) -> Element:
    """Return the main content: in a shell it is marked and empty, and the text of the page is in its header."""
    marked = root.select("main, [role=main]")
    main = max(marked, key=content_length) if marked else find_landmarks(tree).main
    return main if main is not None and root in (main, *main.ancestors) else root


def _has_scripted_form(tree: Document, main: Element) -> bool:
    """Whether the main content has a form without an action, with several fields to fill in, or one for much text.

    That of a search or a newsletter has a single field: the page can be read without.
    """
    forms = find_forms(tree)
    return any(_is_scripted(form, forms) for form in main.select("form"))


def _is_scripted(form: Element, forms: Forms) -> bool:
    if (form.attr("action") or "").strip():
        return False
    kinds = [control_type(control) for control, owner in forms.owner.items() if owner == form]
    return sum(kind in _TYPED for kind in kinds) > 1 or "textarea" in kinds


def _is_hidden(tree: Document, root: Element, sheets: Sequence[str]) -> bool:
    from turbohtml import Element

    cascade = Cascade(tree, sheets)
    lineage = [root, *(each for each in root.ancestors if isinstance(each, Element))]
    return any("display" in cascade.hiding(each, width) for each in lineage for width in _WIDTHS)
