"""compose: the page is written anew from what it says, with one small sheet, in one request.

A page whose style sheet was made for its images and scripts cannot be cut down to text and stay a page. So it is read
into a model (``reader``) and written from that (``writer``).
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, sent_policies
from adaptc.compile.page.image_labels import may_drop_blocks, without_dropped_blocks
from adaptc.compile.page.inlining import POLICY
from adaptc.compile.page.script_written import settled_text
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.passes.composed.pictures import NO_PICTURES, PagePictures
from adaptc.compile.passes.composed.reader import Settings, compose
from adaptc.compile.passes.composed.witnesses import page_title, script_menus
from adaptc.compile.passes.composed.writer import BadTemplate
from adaptc.compile.view import DerivingView, Options, View
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.core.quantities import sent_size
from adaptc.core.urls import quote_path
from adaptc.formats.html.document import Irreversible, parse, parse_bare, read_page
from adaptc.formats.html.reader_text import keep_lines, show_panels
from adaptc.formats.html.static_text import open_shadow_roots
from adaptc.formats.policy import Policy

if TYPE_CHECKING:
    from turbohtml import Document

NAME = "compose"
_SETTINGS = frozenset(field.name for field in fields(Settings))


def compose_page(text: str, page: PageContext, view: DerivingView, options: Options) -> tuple[str | None, Report]:
    """Return the composed version of a page, or ``None`` if it has none."""
    pictures = PagePictures(page, view, options["budget"])
    wanted = without_dropped_blocks(text, view.labelling.levels) if may_drop_blocks(text) else text
    opened, tree = open_shadow_roots(wanted), parse(text)
    sheets = screen_sheets(tree if opened == wanted else parse(opened), page.base, view)
    settled = settled_text(opened, page, view, sheets)  # as the contract has it
    source = keep_lines(show_panels(settled), sheets)
    whole = inf if options["style"] else _bytes_of_source(text, tree, page, view)
    try:
        result = compose(
            source,
            tree=tree if source == text else parse(source),
            url_path=quote_path(page.path),
            title_of=lambda url: _target_title(view.follow(page.base, url).path, view),
            sheets_of=lambda tree: screen_sheets(tree, page.base, view),
            menus_of=lambda tree: script_menus(tree, page, view),
            settings=Settings(**{name: options[name] for name in _SETTINGS}),
            pictures=pictures if pictures.budget and _MAY_SHOW.search(source) else NO_PICTURES,
        )
    except BadTemplate as problem:
        result = f"its template fails: {problem}"
    if isinstance(result, str):
        return None, Report(refusal=result)
    left_out = [Action(NAME, "left out", f"<{tag}>", count=count) for tag, count in result.left_out]
    action = Action(NAME, "written", "the page", f"{len(text)} to {len(result.text)} characters")
    written, policy = result.text, Policy.of(sent_policies(page.path, view))
    for part, less in ((_DESCRIPTION, ""), (_STYLE, _BARE_STYLE), (_STYLE, "")):
        if part is _DESCRIPTION and (part.search(text) or not part.search(written)):
            continue
        if whole == inf or sent_size(written)[0] <= _MOST * whole:
            break
        written = part.sub(less, written)
    for pattern, is_allowed in ((_STYLE, policy.allows_style("")), (_ICON, policy.allows_data("image"))):
        if not is_allowed and pattern.search(written):  # browsers would ignore it, and report that
            written = pattern.sub("", written)
            left_out.append(Action(NAME, "left out", pattern.pattern.partition(">")[0] + ">", POLICY))
    return written, Report([action, *pictures.actions, *left_out], is_scriptless=True, is_composed=True)


# What a page with a picture has: an image, or the URL of a background in a style attribute
_MAY_SHOW = re.compile(
    r"""<im(?:g|age)\b|style\s*=\s*(?:"[^"]*?[(\\&]|'[^']*?[(\\&]|[^\s>"'=(\\&]*[=(\\&])""", re.IGNORECASE
)
# On a page of a few sentences the sheet would be more than what it says: browsers' own look does for it, in a column
_BARE_STYLE = (
    "<style>:root{color-scheme:light dark;background:Canvas}body{max-width:44rem;margin:auto;padding:0 1em}</style>"
)
_MOST = 0.97  # of the source, compressed: level moderate takes little from such a page


def _bytes_of_source(text: str, tree: Document, page: PageContext, view: View) -> float:
    """Return the bytes of a page with its scripts and sheets, which its composed version does not load.

    They pay for the sheet, and so do images; requests do not, as small files are in the page at the level above, nor do
    scripts of other sites, whose bytes nobody knows. ``text``, with its ``tree``, may be what scripts left of the page.
    """
    if page.evidence is not None and page.evidence.document is not None:
        text = read_page(view.read(page.path), view.sent_charset(page.path)).text
        tree = parse_bare(text)
    loading = tree.select("script[src], link[rel~=stylesheet i], img[src], iframe[src]")
    parts = [text]
    for element in (each for each in loading if each.closest("noscript") is None):
        path = view.follow(page.base, element.attr("src") or element.attr("href") or "").path
        if element.tag == "iframe" or (element.tag == "img" and path is not None):
            return inf
        if path is not None:
            parts.append(view.artifact(path).decode("utf-8", "replace"))
    return sent_size("".join(parts))[0]


_DESCRIPTION = re.compile(r"<meta name=\"?description\b[^>]*>", re.IGNORECASE)
# What the page has of its own that a policy may forbid
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_ICON = re.compile(r"<link rel=\"?icon\"? href=\"?data:,\"?>")


def _target_title(path: str | None, view: View) -> str:
    """Return the title of a page of the site, ``""`` for other files."""
    return "" if path is None or view.media_type(path) != media.HTML else _title(view.read(path))


@lru_cache(maxsize=64)
def _title(content: bytes) -> str:
    try:
        return page_title(parse_bare(read_page(content).text))
    except Irreversible:
        return ""
