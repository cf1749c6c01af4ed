"""markup: shorter syntax for the same tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adaptc.html.markup import Minified, minify_markup
from adaptc.passes.page import PageContext
from adaptc.passes.view import Options

if TYPE_CHECKING:
    from turbohtml import Document

# A template engine or a client-side framework fills such an attribute in: its quotes may be needed then.
_TEMPLATE_ATTRIBUTE = re.compile(r"""=\s*["'][^"'>]*(?:\{\{|\{%|<%|\$\{)""")
# To look for its end first takes most pages a fifth of the time: patterns that start with a literal are the fastest.
_TEMPLATE_MARKS = (re.compile(r"\{[{%]"), re.compile(r"<%"), re.compile(r"\$\{"))


def shorten_markup(text: str, tree: Document | None, page: PageContext, options: Options) -> Minified | None:
    """Return the page in shorter markup, or ``None``; comments go where no script can see them.

    ``tree`` is what ``text`` parses to, where that is known; it may be changed.
    """
    if any(mark.search(text) for mark in _TEMPLATE_MARKS) and _TEMPLATE_ATTRIBUTE.search(text):
        return None
    keep = options["comments"] == "keep" or (options["comments"] == "keep-with-scripts" and page.has_scripts)
    return minify_markup(text, keep_comments=keep, declared=page.page.declared, tree=tree)
