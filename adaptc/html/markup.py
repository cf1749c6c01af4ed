"""Shorter markup for the same tree: no optional tags, no needless quotes, no comments that nobody reads.

Text is not touched (its whitespace may matter to CSS). The result is parsed and compared, without and with
scripting.
"""

from __future__ import annotations

from turbohtml import Comment, Document, Html, Minify, Namespace

from adaptc.html.document import parse, same_tree, scripting_modes
from adaptc.html.mutate import merge_texts
from adaptc.html.serialise import is_forced_quirks

_LAYOUT = Html(
    layout=Minify(collapse_whitespace=False, omit_optional_tags=True, unquote_attributes=True, strip_comments=False)
)
_COMMENTS = "//comment()[not(ancestor::template or ancestor::noscript)]"
# What a comment starts with, or holds, when a program or a lawyer reads it: conditional comments, licences,
# server side includes, Knockout, Edge Side Includes, search engine marks, marks of template engines and
# frameworks.
_KEPT_STARTS = (
    "[if", "[endif", "<![endif", "!", "#", "ko ", "ko:", "/ko", "esi", "googleoff", "googleon", "noindex",
    "/noindex", "sphider", "htdig", "$", "/$", "?", "[", "]", "{", "}", "%", "wp:", "/wp:", "more",
    "nextpage", "instancebegin", "instanceend", "#include", "templatebegin", "templateend", "beginnoindex",
    "endnoindex", "uid", "robots", "mfunc", "/mfunc", "mclude", "dynamic-cached", "ng", "lit-", "vue-",
    "framer", "cloak",
)  # fmt: skip
_KEPT_MARKS = (
    "@license", "@preserve", "@cc_on", "copyright", "(c)", "©", "license", "licence", "{{", "{%", "<%", "<?",
    "[[", "spdx", "created with", "creativecommons", "rdf:", "<esi:", "cc-by",
)  # fmt: skip


def minify_markup(text: str, *, keep_comments: bool, declared: bool = True) -> str | None:
    """Return shorter markup that parses to the same tree but for comments; ``None`` when there is none.

    ``keep_comments`` keeps every comment: scripts may count on child nodes. Comments in templates and in
    ``<noscript>`` stay in any case. ``declared`` is that of the page: character references become characters,
    which must not happen where a browser guesses the encoding.
    """
    # What forces quirks mode is not in the tree and would be lost.
    if is_forced_quirks(text) or not (declared or text.isascii()):
        return None
    intended = {mode: parse(text, scripting=mode) for mode in scripting_modes(text)}
    if not keep_comments:
        for tree in intended.values():
            _drop_comments(tree)
    # With scripting a noscript holds text, which is written as it stands and so survives in both modes.
    serialised = intended[max(intended)].serialize(_LAYOUT)
    if not declared:
        serialised = "".join(c if c.isascii() else f"&#{ord(c)};" for c in serialised)
    shortened = _close_foreign(serialised)
    if declared:
        shortened = shortened.replace("&nbsp;", "\xa0")
    for minified in (shortened, serialised):
        if len(minified) < len(text) and _meets(minified, intended):
            return minified
    return None


def is_kept_comment(comment: str) -> bool:
    """Whether a comment means something to a program, or to a person other than the author."""
    lowered = comment.strip().lower()
    return lowered.startswith(_KEPT_STARTS) or any(mark in lowered for mark in _KEPT_MARKS)


def _meets(text: str, intended: dict[bool, Document]) -> bool:
    return all(same_tree(text, tree, scripting=mode) for mode, tree in intended.items())


def _close_foreign(text: str) -> str:
    """Write SVG and MathML elements without content as ``<path/>``; the standard writes both tags."""
    if "<svg" not in text and "<math" not in text:
        return text
    pieces: list[str] = []
    position = 0
    for element in parse(text).select("svg *, math *"):
        place = element.source_location
        if place is None or place.end_tag is None or element.namespace is Namespace.HTML:
            continue
        start, end = place.start_tag.end_offset, place.end_tag.end_offset
        if start == place.end_tag.start_offset and position < start:
            # An unquoted value would take the slash in.
            slash = "/>" if text[start - 2] in "\"'" or not place.attrs else " />"
            pieces += (text[position : start - 1], slash)
            position = end
    return "".join([*pieces, text[position:]])


def _drop_comments(tree: Document) -> None:
    for comment in tree.xpath(_COMMENTS):  # type: ignore[union-attr]  # a list of nodes for this expression
        if isinstance(comment, Comment) and not is_kept_comment(comment.data):
            parent = comment.parent
            comment.decompose()
            if parent is not None and not isinstance(parent, Document):
                merge_texts(parent)
