"""The page as its scripts left it, which a browser saw: where it shows more, levels without scripts are made of it.

The markup stays their source where it holds what a visitor reads. Scripts hide panels and remove rows of tables as
well as adding text, and what they measured in one window is wrong in others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turbohtml import Text

from adaptc.compile.page.context import PageContext, page_context
from adaptc.compile.page.inlining import compressed_size
from adaptc.compile.page.script_written import script_written
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.view import View
from adaptc.formats.html.document import Page, page_of_markup, parse_bare
from adaptc.formats.html.shown import VIEWPORTS, ShownPage
from adaptc.formats.html.static_text import open_shadow_roots
from adaptc.formats.html.visible_text import rendered_texts

if TYPE_CHECKING:
    from turbohtml import Document

_FEWEST_CHARACTERS = 80  # of different words that the markup does not have: two sentences
_FEWEST_LINKS = 3
# Compressed bytes that scripts may add to a page with content of its own. The index of a whole manual, in each of its
# pages, takes 120,000: a level for the fewest bytes is better without.
_MOST_ADDED = 32_768
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page as its scripts left it, and what passes know of it: it counts as a page with the scripts of its source.

    ``reason`` says what it has more than its source.
    """

    page: Page
    context: PageContext
    reason: str


def page_after_scripts(source: PageContext, tree: Document, view: View, *, is_shell: bool) -> WrittenPage | None:
    """Return the page after its scripts if levels without scripts should be made of it.

    ``tree`` is that of the source; ``is_shell`` says that the source by itself has no content. The page after scripts
    must show 80 characters of words, or three links, that the source does not hold. If the source has content, that
    must be more than what is gone, and at most 32 kB, compressed.
    """
    markup = view.page_document(source.path)
    page = None if markup is None else page_of_markup(source.page, markup.decode("utf-8", "replace"))
    if page is None:
        return None
    after = parse_bare(page.text)
    context = replace(
        page_context(source.path, page, after, view),
        has_scripts=True,
        scripts=source.scripts,
        unseen_scripts=source.unseen_scripts,
    )
    if script_written(after, context) is not None:
        return None
    opened = parse_bare(open_shadow_roots(page.text))
    gain, loss = _surplus(opened, context, tree, view), _surplus(tree, source, opened, view)
    if not gain.is_enough or not (is_shell or (gain.exceeds(loss) and _is_small(source.page, page))):
        return None
    return WrittenPage(page, context, f"scripts write {gain.characters:,} characters and {gain.links} links of it")


@dataclass(frozen=True, slots=True)
class _Surplus:
    """What one version of a page shows and another does not hold."""

    characters: int
    links: int

    @property
    def is_enough(self) -> bool:
        return self.characters >= _FEWEST_CHARACTERS or self.links >= _FEWEST_LINKS

    def exceeds(self, other: _Surplus) -> bool:
        return self.characters >= other.characters and self.links >= other.links


def _surplus(tree: Document, context: PageContext, other: Document, view: View) -> _Surplus:
    shown = ShownPage(tree, screen_sheets(tree, context.base, view))
    texts = (node.data for width in VIEWPORTS for node in shown.nodes(width) if isinstance(node, Text))
    links = set[str]().union(*(shown.links(width) for width in VIEWPORTS))
    words = _words(texts) - _words(rendered_texts(other))
    return _Surplus(sum(map(len, words)), len(links - {each.attr("href") for each in other.select("a[href]")}))


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _is_small(source: Page, page: Page) -> bool:
    before, after = (compressed_size(each.text.encode("utf-8", "replace")) for each in (source, page))
    return after - before <= _MOST_ADDED
