"""markup: shorter syntax for the same tree."""

from __future__ import annotations

import re

from adaptc.html.markup import minify_markup
from adaptc.passes.page import PageContext
from adaptc.passes.view import Options

# A template engine or a client-side framework fills such an attribute in: its quotes may be needed then.
_TEMPLATE_ATTRIBUTE = re.compile(r"""=\s*["'][^"'>]*(?:\{\{|\{%|<%|\$\{)""")


def shorten_markup(text: str, page: PageContext, options: Options) -> str | None:
    """Return the page in shorter markup, or ``None``; comments go where no script can see them."""
    if _TEMPLATE_ATTRIBUTE.search(text):
        return None
    keep = options["comments"] == "keep" or (options["comments"] == "keep-with-scripts" and page.has_scripts)
    return minify_markup(text, keep_comments=keep, declared=page.page.declared)
