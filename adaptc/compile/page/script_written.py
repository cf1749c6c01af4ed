"""Whether scripts write what a page shows: an application, of which nothing is left without them.

The markup of such a page is a shell, often with a header and a footer, around an element that a script fills. A page
counts as one if it holds no text, or hardly any apart from its navigation while a script names an element without
content; or if it shows the placeholders of a template. What scripts would write is not known, so a page with content of
its own does not count, unless the script holds other prose as data, a third of the page's or more (of a whole article
as much).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from adaptc.compile.page.context import PageContext, page_context, script_source
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.page.transfer_sizes import compressed_size
from adaptc.compile.view import View
from adaptc.core.values import dataclass, pattern, replace
from adaptc.formats.html.document import Page, page_of_markup, parse_bare
from adaptc.formats.html.landmarks import find_landmarks
from adaptc.formats.html.reader_text import turn_round
from adaptc.formats.html.shown import VIEWPORTS, ShownPage
from adaptc.formats.html.static_text import is_loader, open_shadow_roots, static_text
from adaptc.formats.html.syntax import class_words
from adaptc.formats.html.visible_text import UNSEEN, content_texts, is_hidden, rendered_texts, walk
from adaptc.formats.script.lexer import Kind, tokenize, unescape

if TYPE_CHECKING:
    from turbohtml import Document


__all__ = ["WrittenPage", "page_after_scripts", "script_mounts", "script_written", "settled_text"]

_PROSE_SHARE = 3  # times the prose of a script that a page may hold itself for the script to count
_ARTICLE = 3000  # characters of a page with a whole article: there must be as much prose as that
_FEWEST = 160  # characters of text that are content, white space left out: two sentences
_LONGEST_PLACEHOLDER = 60  # characters: "Loading, please wait"
_PICTURE = 20  # characters that a picture or a control counts for
_COUNTED = frozenset({"img", "picture", "video", "audio", "iframe", "object", "embed", "input", "select", "textarea"})
_UNREAD = (UNSEEN | {"noscript"}) - {"svg", "canvas", "template"}
_LOADING = pattern(
    r"load|wait|initiali[sz]|render|\.\.\.|\u2026|lade|charg|carg|attend|\u8aad|\u52a0\u8f7d", re.IGNORECASE
)
_NOTICE = pattern(r"(?:enabl|requir|activat|need|without|turn).{0,60}java\s?script|"
                     r"java\s?script.{0,60}(?:enabl|requir|disabl|activat|need|turned)", re.IGNORECASE)  # fmt: skip
_BOXES = frozenset({"div", "main", "section", "article", "span", "nav", "aside", "ul", "ol", "tbody", "form"})
_FILLING = "a[href], img, svg, video, audio, iframe, object, input, select, textarea, table, p, h1, h2, h3"
# Names of boxes that are not the content: menus, and what opens over the page
_AROUND = frozenset({
    "nav", "menu", "navigation", "sidebar", "toc", "breadcrumb", "header", "footer", "search", "modal", "toast",
    "toasts", "tooltip", "popup", "overlay", "cookie", "consent", "ad", "ads", "backdrop", "lightbox", "announcer",
    "taboola", "outbrain", "disqus", "comments", "recirc", "related", "share", "social", "newsletter",
})  # fmt: skip
_PLACEHOLDER = pattern(r"\{\{(?:(?!\{\{|\}\}).)+\}\}", re.DOTALL)
_CODE = frozenset({"pre", "code", "samp", "kbd", "textarea"})
_FEWEST_PLACEHOLDERS = 3


def settled_text(text: str, page: PageContext, view: View, sheets: Sequence[str]) -> str:
    """Return the text of a page as those read it who run no scripts (``adaptc.formats.html.static_text``).

    ``sheets`` are the style sheets of the page.
    """

    def source_of(script: Element) -> str:
        source = script_source(script, page.base, view)
        return source.decode("utf-8", "replace") if isinstance(source, bytes) else source or ""

    static = static_text(text, source_of=source_of, names=page.names_in_scripts())
    return turn_round(static, sheets)


def script_written(tree: Document, page: PageContext) -> str | None:
    """Return why the content of a page counts as written by its scripts, or ``None``."""
    body = tree.select_one("body")
    if not page.has_scripts or body is None:
        return None
    if not _amount(body, is_loader, enough=1):
        return "it holds no content"
    if _count_placeholders(body) >= _FEWEST_PLACEHOLDERS:
        return "it shows the placeholders of a template"
    return _empty_mount(tree, body, page)


def _empty_mount(tree: Document, body: Element, page: PageContext) -> str | None:
    mains = tree.select("main, [role=main]")
    # most pages have content: that is known before their scripts are searched
    roots, navigation = mains or [body], set(find_landmarks(tree).navigation)
    has_content = _main_amount(roots, is_loader, navigation, enough=_FEWEST) >= _FEWEST
    around = set(mains)
    mounts = (each for each in script_mounts(tree, page) if _AROUND.isdisjoint(class_words(each)))
    mounts = (each for each in mounts if not mains or not around.isdisjoint((each, *each.ancestors)))
    if has_content:
        shown = _compact("".join(rendered_texts(tree)))
        mounts = (
            each
            for each in mounts
            if (prose := _prose_for(each, page, shown)) >= 2 * _FEWEST
            and (amount := _main_amount(roots, is_loader, navigation, enough=_PROSE_SHARE * prose))
            <= (_PROSE_SHARE * prose if amount < _ARTICLE else prose)
        )
    mount = next(mounts, None)
    return None if mount is None else f"a script fills <{_describe(mount)}>"


def _prose_for(mount: Element, page: PageContext, shown: str) -> int:
    """Return the length of the prose that a script holds which names an element: questions of a list, say.

    What the page shows already does not count: a script may hold the state that the page was written from.
    """
    name = _script_name(mount)
    scripts = (text for text, facts in page.scripts.items() if name in facts.quoted)
    return max((sum(len(each) for each in _prose(text) if each not in shown) for text in scripts), default=0)


def _main_amount(
    roots: list[Element], skips: Callable[[Element], bool], navigation: set[Element], *, enough: int
) -> int:
    """Return the amount of content outside of navigation, footers and boxes that may be filled."""

    def is_apart(element: Element) -> bool:
        return element in navigation or element.tag == "footer" or skips(element) or _may_be_mount(element)

    return sum(0 if is_apart(root) else _amount(root, is_apart, enough=enough) for root in roots)


def _may_be_mount(element: Element) -> bool:
    return bool(_script_name(element)) and _is_empty(element)


def script_mounts(tree: Document, page: PageContext) -> Iterator[Element]:
    """Yield the elements without content that a script of the page names."""
    quoted = page.names_in_scripts()
    for element in tree.iter_elements():
        if _may_be_mount(element) and (page.unseen_scripts or _script_name(element) in quoted):
            yield element


def _script_name(element: Element) -> str:
    """Return by what a script finds a box: its id, or the tag of a custom element."""
    if "-" in element.tag:
        return element.tag
    return (element.attr("id") or "") if element.tag in _BOXES else ""


def _is_empty(element: Element) -> bool:
    if element.select_one(_FILLING) is not None:
        return False
    text = element.text.strip()
    return not text or (len(text) <= _LONGEST_PLACEHOLDER and _LOADING.search(text) is not None)


def _amount(root: Element, skips: Callable[[Element], bool], *, enough: int) -> int:
    """Return the amount of content in characters, at least up to ``enough``; a request to enable scripts is none."""
    amount = 0
    for node in walk(root, lambda each: not _is_unread(each) and not skips(each)):
        amount += _weight(node)
        if amount >= enough:
            break
    return amount


def _is_unread(element: Element) -> bool:
    if element.tag == "template":
        return "shadowrootmode" not in element.attrs
    return element.tag in _UNREAD or is_hidden(element)


def _weight(node: Text | Element) -> int:
    if isinstance(node, Text):
        return 0 if _NOTICE.search(node.data) else len("".join(node.data.split()))
    if node.tag == "template":  # of a shadow root: all of what its host shows
        return _FEWEST
    return _PICTURE if node.tag in _COUNTED else 0


def _count_placeholders(body: Element) -> int:
    texts = (text for text in content_texts(body) if "{{" in text.data and not _is_code(text))
    return sum(len(_PLACEHOLDER.findall(text.data)) for text in texts)


def _is_code(text: Text) -> bool:
    return any(isinstance(each, Element) and each.tag in _CODE for each in text.ancestors)


def _describe(element: Element) -> str:
    identity = element.attr("id")
    return f"{element.tag} id={identity}" if identity else element.tag


# ---- Prose that a script holds as data, to write it into its page

# Five words in a row, apart from tags
_PROSE = pattern(r"[^\W\d_]+(?:[,;:'\u2019-]?\s?[^\W\d_]+){4,}")
_TAG = pattern(r"<[^<>]*>")
_TEXTS = frozenset({Kind.STRING, Kind.TEMPLATE})


@lru_cache(maxsize=512)
def _prose(script: str | bytes) -> tuple[str, ...]:
    """Return the prose in values of objects, without white space.

    What a script says of its errors is an argument, and no value; lists of names begin with a small letter.
    """
    text = script if isinstance(script, str) else script.decode("utf-8", "replace")
    tokens = tokenize(text) or ()
    values = (token.text[1:-1] for before, token in pairwise(tokens) if before.text == ":" and token.kind in _TEXTS)
    sentences = (_TAG.sub(" ", unescape(value)) for value in values if value and not value[0].islower())
    return tuple(_compact(match[0]) for sentence in sentences for match in _PROSE.finditer(sentence))


def _compact(text: str) -> str:
    return "".join(text.split())


# ---- The page as its scripts left it, which a browser saw: where it shows more, levels without scripts are made of it
# The markup stays their source where it holds what a visitor reads. Scripts hide panels and remove rows of tables as
# well as adding text, and what they measured in one window is wrong in others.

_FEWEST_CHARACTERS = 80  # of different words that the markup does not have: two sentences
_FEWEST_LINKS = 3
# Compressed bytes that scripts may add to a page with content of its own. The index of a whole manual, in each of its
# pages, takes 120,000: a level for the fewest bytes is better without.
_MOST_ADDED = 32_768
_WORD = pattern(r"\w+")


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
