"""markup: shorter syntax for the same tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext
from adaptc.compile.view import Options
from adaptc.formats.html.minify import MinifiedMarkup, minify_markup
from adaptc.formats.html.template_marks import has_template_attribute

if TYPE_CHECKING:
    from turbohtml import Document


def shorten_markup(text: str, tree: Document | None, page: PageContext, options: Options) -> MinifiedMarkup | None:
    """Return the page in shorter markup, or ``None``; comments are removed if no script can see them.

    ``tree`` is what ``text`` parses to, where that is known; it may be changed.
    """
    if has_template_attribute(text):
        return None
    keep = options["comments"] == "keep" or (options["comments"] == "keep-with-scripts" and page.has_scripts)
    return minify_markup(text, keep_comments=keep, declared=page.page.declared, tree=tree)
