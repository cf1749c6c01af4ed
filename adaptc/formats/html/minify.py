"""Shorter markup for the same tree: no optional tags, no needless quotes, no comments without readers.

Text is not touched (its whitespace may matter to CSS). The result is parsed and compared, without and with
scripting.
"""

from __future__ import annotations

import re

from turbohtml import Comment, Doctype, Document, Html, Minify, Namespace, Node, Text

from adaptc.core.values import dataclass
from adaptc.formats.html.document import (
    doctype_source,
    is_forced_quirks,
    is_limited_quirks,
    is_quirks,
    parse_bare,
    parse_equal,
    scripting_modes,
)
from adaptc.formats.html.mutate import merge_texts
from adaptc.formats.html.syntax import attribute_markup, resolve_references

_LAYOUT = {
    omits: Html(
        layout=Minify(
            collapse_whitespace=False, omit_optional_tags=omits, unquote_attributes=True, strip_comments=False
        )
    )
    for omits in (False, True)
}
_LARGE = 1 << 20  # characters of a page
_PRIVATE = range(0xE000, 0xF900)  # characters that mean nothing (Unicode, private use area)
# A table, or what the parser drops outside of one (WHATWG HTML, "in body")
_TABLE_OR_PART = re.compile(
    r"<(?:(table|!doctype)|caption|col|colgroup|tbody|td|tfoot|th|thead|tr)(?=[\s/>])", re.IGNORECASE | re.ASCII
)
# What is in a page of its own, and in no part of one that scripts insert
_OF_WHOLE_PAGES = re.compile(r"<(?:!doctype|html|head|body|title|meta|frameset)(?=[\s/>])", re.IGNORECASE | re.ASCII)
_OPEN_ENDED = frozenset({"p", "li", "dt", "dd", "option", "optgroup", "rt", "rp"})
_COMMENTS = "//comment()[not(ancestor::template or ancestor::noscript)]"
# What a comment starts with, or contains, when a program or a lawyer reads it: conditional comments, licences,
# server side includes, Knockout, Edge Side Includes, search engine marks, marks of template engines and
# frameworks.
_MEANINGFUL_STARTS = (
    "[if", "[endif", "<![endif", "!", "#", "ko ", "ko:", "/ko", "esi", "googleoff", "googleon", "noindex",
    "/noindex", "sphider", "htdig", "$", "/$", "?", "[", "]", "{", "}", "%", "wp:", "/wp:", "more",
    "nextpage", "instancebegin", "instanceend", "#include", "templatebegin", "templateend", "beginnoindex",
    "endnoindex", "uid", "robots", "mfunc", "/mfunc", "mclude", "dynamic-cached", "ng", "lit-", "vue-",
    "framer", "cloak",
)  # fmt: skip
_MEANINGFUL_MARKS = (
    "@license", "@preserve", "@cc_on", "copyright", "(c)", "©", "license", "licence", "{{", "{%", "<%", "<?",
    "[[", "spdx", "created with", "creativecommons", "rdf:", "<esi:", "cc-by",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MinifiedMarkup:
    """Shorter markup, and the tree that it was verified to parse to, without source locations."""

    text: str
    tree: Document


def minify_markup(
    text: str,
    *,
    keep_comments: bool,
    keep_tags: bool = False,
    keep_doctype: bool = True,
    declared: bool = True,
    tree: Document | None = None,
) -> MinifiedMarkup | None:
    """Return shorter markup that parses to the same tree but for comments; ``None`` when there is none.

    ``keep_comments`` keeps every comment: scripts may count on child nodes. Comments in templates and in
    ``<noscript>`` stay in any case. ``keep_tags`` keeps optional tags: scripts may read the page as text. A part of a
    page keeps its last end tag: a script may put it in front of more, which would become a part of the element. Rows
    without their table stay as they are: a script inserts them into one. Without ``keep_doctype`` it is the shortest
    with which browsers show the page in the same mode. ``declared`` is that of the page: character
    references become characters, which must not happen where a browser guesses the encoding. ``tree`` is what
    ``text`` parses to, where that is known; it loses its comments.
    """
    # What forces quirks mode is not in the tree and would be lost.
    if is_forced_quirks(text) or not (declared or text.isascii()) or _has_loose_rows(text):
        return None
    expected, modes = _ExpectedTrees(text, tree, keep_comments=keep_comments), scripting_modes(text)
    # With scripting a noscript holds text, which is written unchanged and so survives in both modes.
    closed, serialised = _serialise_short(expected.tree(scripting=modes[-1]), text, _LAYOUT[not keep_tags])
    if _OF_WHOLE_PAGES.search(text) is None:
        end = _end_of(expected.tree(scripting=modes[-1]))
        closed, serialised = (each if each.endswith(end) else each + end for each in (closed, serialised))
    requoted = _requoted(closed)  # verified like the others: a script may have what looks like a tag
    if declared:
        requoted, closed = (each.replace("&nbsp;", "\xa0") for each in (requoted, closed))
    else:
        requoted, closed, serialised = map(_in_ascii, (requoted, closed, serialised))
    for minified in dict.fromkeys((requoted, closed, serialised)):
        if len(minified) < len(text) and (parsed := _parse_verified(minified, expected, modes)) is not None:
            return (None if keep_doctype else _with_short_doctype(minified, parsed)) or MinifiedMarkup(minified, parsed)
    return None


def _with_short_doctype(text: str, tree: Document) -> MinifiedMarkup | None:
    """Return a page with the shortest doctype for the same mode; ``None`` where its own is that, or it has none.

    A page in quirks mode keeps it.
    """
    source, is_limited = doctype_source(text), is_limited_quirks(tree)
    short = _LIMITED_DOCTYPE if is_limited else _DOCTYPE
    if is_quirks(tree) or text.count(source) != 1 or len(source) <= len(short):
        return None
    shorter = text.replace(source, short)
    parsed = parse_bare(shorter)
    is_same = not is_quirks(parsed) and is_limited_quirks(parsed) == is_limited
    return MinifiedMarkup(shorter, parsed) if is_same and _rest(parsed) == _rest(tree) else None


# Browsers read the start of the name (WHATWG HTML, "the initial insertion mode")
_DOCTYPE, _LIMITED_DOCTYPE = "<!doctype html>", '<!doctype html public "-//W3C//DTD XHTML 1.0 Transitional//">'


def _rest(tree: Document) -> list[str]:
    return [child.html for child in tree.children if not isinstance(child, Doctype)]


class _ExpectedTrees:
    """The trees that the minified text must parse to, with scripting and without.

    Of a large page only one is in memory at a time: a tree takes eight times the bytes of its text.
    """

    def __init__(self, text: str, plain: Document | None, *, keep_comments: bool) -> None:
        self._text, self._keep_comments = text, keep_comments
        self._trees: dict[bool, Document] = {}
        if plain is not None and len(text) <= _LARGE:
            self._add(plain, scripting=False)

    def tree(self, *, scripting: bool) -> Document:
        if scripting not in self._trees:
            if len(self._text) > _LARGE:
                self._trees.clear()
            self._add(parse_bare(self._text, scripting=scripting), scripting=scripting)
        return self._trees[scripting]

    def _add(self, tree: Document, *, scripting: bool) -> None:
        if not self._keep_comments:
            _drop_comments(tree)
        self._trees[scripting] = tree


def is_meaningful_comment(comment: str) -> bool:
    """Whether a comment means something to a program, or to a person other than the author."""
    lowered = comment.strip().lower()
    return lowered.startswith(_MEANINGFUL_STARTS) or any(mark in lowered for mark in _MEANINGFUL_MARKS)


def _has_loose_rows(text: str) -> bool:
    """Whether a text has rows or cells before any table: the parser drops their tags."""
    first = _TABLE_OR_PART.search(text)
    return first is not None and first[1] is None


def _end_of(tree: Document) -> str:
    """Return the end tag with which a part of a page ends, if that may be left out of a page."""
    last = tree.select_one("body > :last-child")
    is_open = last is not None and last.next_sibling is None and last.tag in _OPEN_ENDED
    return f"</{last.tag}>" if last is not None and is_open else ""


def _in_ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _parse_verified(text: str, expected: _ExpectedTrees, modes: tuple[bool, ...]) -> Document | None:
    """Return the tree of ``text`` without scripting, if it parses to the expected tree in each mode."""
    if True in modes and parse_equal(text, expected.tree(scripting=True), scripting=True) is None:
        return None
    return parse_equal(text, expected.tree(scripting=False), scripting=False)


def _serialise_short(tree: Document, text: str, layout: Html) -> tuple[str, str]:
    """Return the markup of a tree, with SVG and MathML elements without content as ``<path/>``, and with both tags.

    ``text`` is the page. The serialiser writes both tags, as the standard does. A mark in such elements shows where: to
    parse its result in order to find them takes a fifth of the time of all the rest.
    """
    has_foreign = tree.find("svg") is not None or tree.find("math") is not None
    foreign = tree.select("svg *, math *") if has_foreign else []
    empty = [element for element in foreign if not len(element) and element.namespace is not Namespace.HTML]
    if not empty:
        markup = tree.serialize(layout)
        return markup, markup
    mark = next(character for character in map(chr, _PRIVATE) if character not in text)
    for element in empty:
        element.append(Text(mark))
    marked = tree.serialize(layout)
    for element in empty:
        element.clear()
    return _close_empty(marked, mark), marked.replace(mark, "")


# As the serialiser writes them: a tag with a reference, and an attribute with its value in quotes after a space. What
# is in a script may look like either, and be long, so that nothing of it is read twice
_ESCAPED_TAG = re.compile(r"<[a-zA-Z][^<>&]*+&[^<>]*+>")
_QUOTED = re.compile(r'(?<= )([^\s"=]++)="([^"]*+)"(?=(.))', re.DOTALL)


def _requoted(markup: str) -> str:
    """Return serialised markup with attributes as short as they can be: references where needed, the better quotes."""
    return _ESCAPED_TAG.sub(lambda tag: _QUOTED.sub(_short_attribute, tag[0]), markup)


def _short_attribute(quoted: re.Match[str]) -> str:
    return attribute_markup(quoted[1], resolve_references(quoted[2]), quoted[3])


def _close_empty(marked: str, mark: str) -> str:
    """Write elements that hold nothing but a mark as one tag."""
    first, *rest = marked.split(mark)
    pieces = [first]
    for following in rest:
        start_tag = pieces[-1][pieces[-1].rfind("<") :]
        # The slash would become a part of an unquoted value.
        slash = "/>" if start_tag[-2] in "\"'" or " " not in start_tag else " />"
        pieces[-1] = pieces[-1][:-1] + slash
        pieces.append(following.partition(">")[2])
    return "".join(pieces)


def _drop_comments(tree: Document) -> None:
    parents: dict[Node, None] = {}  # in order
    for comment in tree.xpath(_COMMENTS):  # type: ignore[union-attr]  # a list of nodes for this expression
        if isinstance(comment, Comment) and not is_meaningful_comment(comment.data):
            parent = comment.parent
            comment.decompose()
            if parent is not None and not isinstance(parent, Document):
                parents[parent] = None
    for changed in parents:
        merge_texts(changed)
