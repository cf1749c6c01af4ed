"""The text that a visitor gets from a page, and text alternatives of what is not text.

Images, icons, embedded media and formulas are named as WAI-ARIA does it ("accessible name"). Whether an element is
hidden is decided by its own attributes, without style sheets (those are in ``cascade``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from urllib.parse import unquote

from turbohtml import Document, DocumentFragment, Element, Namespace, Node, Text

from adaptc.formats.html.syntax import split_tokens, vocabulary

__all__ = [
    "UNSEEN", "TextLengths", "content_length", "content_lengths", "content_texts", "fold_space", "image_text",
    "is_followable", "is_hidden", "link_label", "link_name", "math_text", "media_target", "rendered_texts",
    "short_text", "unseen_elements", "visible_text", "walk",
]  # fmt: skip

# Elements whose text no visitor reads as text
UNSEEN = frozenset({
    "script", "style", "template", "head", "title", "meta", "link", "base", "param", "source", "track", "noframes",
    "noembed", "canvas", "svg", "datalist", "colgroup", "area", "frame", "frameset",
})  # fmt: skip
_NOT_RENDERED = ("script", "style", "template", "noscript", "title", "noframes", "iframe", "noembed")
_LIGATURES = re.compile(r"material-(?:icons|symbols)|\bligature\b")
_INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)")
_SKIPS = re.compile(r"\bskip")
_GUTTER = vocabulary("gutter")
# Names of line numbers that mean something else outside of code
_LINE_NUMBERS = vocabulary("line_numbers")

_FILE_NAME = re.compile(r"(?i)^[^/]*\w\.(?:png|jpe?g|gif|svg|webp|bmp|avif|ico)$")
# Words that authors write for images without meaning
_MEANINGLESS = vocabulary("meaningless")
_MOST_NODES = 256
_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_SCRIPTED = re.compile(r"[\s\x00-\x1f]*(?:javascript|vbscript|data)[\s]*:", re.IGNORECASE)

_IDLE = frozenset({"#", "#!", "#0"})  # what authors write for a link that a script listens to

_DROPPED = str.maketrans("", "", "\t\n\r")  # anywhere in a URL (URL Standard, "basic URL parser")


def fold_space(text: str) -> str:
    """Fold white space to single spaces, none at the ends, as CSS does; a no-break space is no white space."""
    spaced = text.replace("\n", " ").replace("\t", " ").replace("\r", " ").replace("\f", " ")
    return " ".join(filter(None, spaced.split(" ")))


def visible_text(tree: Document) -> str:
    """Return the text that a browser with scripting may show, white space folded."""
    return fold_space("".join(rendered_texts(tree)))


def rendered_texts(tree: Document) -> list[str]:
    """Return the text nodes that a browser with scripting may show.

    The elements that hold the others are removed temporarily, and restored in the opposite order. That takes a fifth of
    the time of an XPath expression that checks the ancestors of each text node.
    """
    places = [_extract(element) for tag in _NOT_RENDERED for element in tree.find_all(tag)]
    try:
        return list(tree.strings)
    finally:
        for element, parent, following in reversed(places):
            _restore(element, parent, following)


def _extract(element: Element) -> tuple[Element, Element | DocumentFragment, Node | None]:
    """Remove an element from its tree; return it with its parent and the node after it."""
    parent, following = element.parent, element.next_sibling
    assert parent is not None and not isinstance(parent, Document)  # the root is an <html>
    element.extract()
    return element, parent, following


def _restore(element: Element, parent: Element | DocumentFragment, following: Node | None) -> None:
    if following is not None:
        following.insert_before(element)
    else:
        parent.append(element)


def is_hidden(element: Element) -> bool:
    """Whether an element is not shown, or only decorates: by its own attributes."""
    attrs = element.attrs
    if not attrs:
        return element.tag == "dialog"
    if "hidden" in attrs and (element.attr("hidden") or "").lower() != "until-found":
        return True
    if element.tag == "dialog" and "open" not in attrs:
        return not is_opened_natively(element)
    if "style" in attrs and _INVISIBLE.search((element.attr("style") or "").lower()):
        return True
    if "aria-hidden" in attrs and (element.attr("aria-hidden") or "").lower() == "true":
        return _is_decorative(element)
    return "class" in attrs and _is_hidden_class(element)


# What ``is_hidden`` may say yes to, but for classes
_MAY_BE_HIDDEN = '[hidden], dialog, [aria-hidden], [style*="none" i], [style*="hidden" i]'


def unseen_elements(root: Node, tags: frozenset[str] = UNSEEN) -> set[Element]:
    """Return the elements below a node that have one of these ``tags`` or are hidden (``is_hidden``).

    Queries find those that may be: to look at each element takes five times as long.
    """
    named = (each for each in root.select("[class]") if _class_sign(each.attr("class") or "") is not None)
    hidden = {each for candidates in (root.select(_MAY_BE_HIDDEN), named) for each in candidates if is_hidden(each)}
    return hidden.union(root.iter_elements(tuple(tags)))


def is_opened_natively(dialog: Element) -> bool:
    """Whether a button of the page opens a dialogue without a script (``commandfor``), as it does a popover."""
    name, root = dialog.attr("id"), next((each for each in dialog.ancestors if isinstance(each, Document)), None)
    return bool(name) and root is not None and name in _invoked(root)


@lru_cache(maxsize=2)
def _invoked(root: Document) -> frozenset[str | None]:
    """Return the ids that buttons of a page name; passes that write a page anew remove none of these before."""
    return frozenset(each.attr("commandfor") for each in root.select("button[commandfor][command]"))


# What the slot of an advertisement is called over it, in the languages of large sites
AD_LABELS = vocabulary("advertisement")
_SAYING = frozenset({"div", "p", "span", "small", "aside", "section", "center", "figcaption", "em", "i", "b", "strong"})


def is_ad_label(element: Element) -> bool:
    """Whether all that an element says is that an advertisement stands there; a link that says so leads somewhere."""
    if element.tag not in _SAYING or len(element.children) != 1:
        return False
    text = element.children[0]
    if (
        not isinstance(text, Text)
        or len(text.data) > _LONGEST_LABEL
        or fold_space(text.data).casefold() not in AD_LABELS
    ):
        return False
    return element.closest("a, button, li, table, dl, h1, h2, h3, h4, h5, h6") is None


_LONGEST_LABEL = 80  # characters


def short_text(element: Element, most: int) -> str | None:
    """Return the text of an element, ``None`` if it has more than ``most`` characters, or more nodes than a card has.

    No more than these are read: a gallery asks for the text around each of its images.
    """
    pieces, left = list[str](), most
    for count, node in enumerate(element.descendants):
        if isinstance(node, Text):
            pieces.append(node.data)
            left -= len(node.data)
        if left < 0 or count == _MOST_NODES:
            return None
    return "".join(pieces)


def content_length(node: Node) -> int:
    """Return the count of characters that a visitor reads, white space left out; hidden elements do not count."""
    return content_lengths(node).of(node)


def content_lengths(root: Node) -> TextLengths:
    """Return ``content_length`` of a node and of all below it: for many of them that takes as long as for one."""
    return TextLengths(root, unseen_elements(root))


class TextLengths:
    """Counts of characters below the nodes of a tree, white space and what is in ``unseen`` elements left out.

    The text of a node costs next to nothing, and looking at each node in it a hundred times as much. So each unseen
    element is taken from the text of those around it, up to the next unseen one, of which it is a part.
    """

    def __init__(self, root: Node, unseen: Collection[Element]) -> None:
        self._unseen: dict[Node, int] = {}
        for element in unseen:
            length = text_length(element)
            for around in element.ancestors if length else ():
                self._unseen[around] = self._unseen.get(around, 0) + length
                if around in unseen or around is root:
                    break

    def of(self, node: Node) -> int:
        """Return the count for ``root`` or a node below it."""
        return text_length(node) - self._unseen.get(node, 0)


def text_length(node: Node) -> int:
    """Return the number of characters of all text below a node, white space left out."""
    return len("".join(node.text.split()))


def content_texts(node: Node) -> Iterator[Text]:
    """Return the text nodes that a visitor reads, in order."""
    shown = walk(node, lambda element: element.tag not in UNSEEN and not is_hidden(element))
    return (each for each in shown if isinstance(each, Text))


def walk(node: Node, enters: Callable[[Element], bool]) -> Iterator[Text | Element]:
    """Yield the text nodes below a node and the elements that ``enters`` allows, in order.

    Without recursion: markup that closes nothing nests as deep as the parser lets it (512).
    """
    stack = [*reversed(node.children)]
    while stack:
        child = stack.pop()
        if isinstance(child, Text):
            yield child
        elif isinstance(child, Element) and enters(child):
            yield child
            stack += reversed(child.children)


def _is_decorative(element: Element) -> bool:
    """Whether ``aria-hidden`` is meant; closed dialogues carry it as well, and are opened by links to them."""
    if element.namespace is not Namespace.HTML:
        return True
    if element.tag == "img":  # MediaWiki shows a formula as an image, and hides MathML before it for screen readers
        return not isinstance(element.parent, Element) or element.parent.select_one("math") is None
    return element.select_one("a[href], input, select, textarea, p, h1, h2, h3, h4, table, ul") is None


def _is_hidden_class(element: Element) -> bool:
    """Whether it is an icon spelled as a ligature, a line number, or a link that skips a part of the page."""
    sign = _class_sign(element.attr("class") or "")
    if sign is _GUTTER:  # whole listings have the same classes
        return not any(map(str.isalpha, element.text))
    if sign is _LINE_NUMBERS:
        return element.text.strip().isdecimal() and element.closest("pre, code") is not None
    if sign is _SKIPS:
        return element.tag == "a" and (element.attr("href") or "").startswith("#")
    return sign is _LIGATURES


@lru_cache(maxsize=4096)
def _class_sign(value: str) -> object:
    """Return the first of the signs of hidden text that the classes show, ``None`` for other classes."""
    value = value.lower()
    if _LIGATURES.search(value):
        return _LIGATURES
    if not _GUTTER.isdisjoint(split_tokens(value)):
        return _GUTTER
    if not _LINE_NUMBERS.isdisjoint(split_tokens(value)):
        return _LINE_NUMBERS
    return _SKIPS if _SKIPS.search(value) else None


def is_icons(text: str) -> bool:
    """Whether a text is characters that mean nothing but in an icon font (Unicode, private use areas)."""
    return not text.isascii() and _PRIVATE_USE.search(text) is not None and not any(map(str.isalnum, text))


def is_followable(href: str | None) -> bool:
    """Whether a link leads anywhere without scripts: not ``#`` alone, and no ``javascript:``."""
    return href is not None and href.strip() not in _IDLE and not _SCRIPTED.match(href.translate(_DROPPED))


def image_text(element: Element) -> str:
    """Return the text alternative of an image, or ``""`` where it has none or a meaningless one."""
    if (element.attr("role") or "").lower() in ("presentation", "none"):
        return ""
    alternative = element.attr("alt") if "alt" in element.attrs else element.attr("title") or element.attr("aria-label")
    text = fold_space(alternative or "")
    text = text[1:-1].strip() if text[:1] == "[" and text[-1:] == "]" else text
    is_empty = (
        _is_named_as_file(text, element.attr("src") or "")
        or _MEANINGLESS.issuperset(text.lower().split())
        or _FILE_NAME.match(text)
        or not any(map(str.isalnum, text))
    )
    return "" if is_empty else text


def _is_named_as_file(text: str, source: str) -> bool:
    """Whether a program made the text of the name of the image's file: "timestamp" for ``timestamp.png``."""
    return text.islower() and text.isascii() and text == source.rpartition("/")[2].partition(".")[0]


def link_label(element: Element) -> str:
    """Return the label of a link: its name, or the end of its URL where it holds a picture without a name."""
    label = link_name(element)
    return label if any(map(str.isalnum, label)) else _file_name(element) or label


def link_name(element: Element) -> str:
    """Return the accessible name of a link: its text and that of images, its title, or that of something in it.

    A logo beside the name that it shows, once for each theme, adds nothing to it.
    """
    text = fold_space("".join(_texts(element)))
    if element.select_one("img") is not None:
        own = fold_space("".join(each.data for each in content_texts(element)))
        shown = filter(None, map(image_text, element.iter_elements("img")))
        if any(map(str.isalnum, own)) and all(_says_same(own.casefold(), name.casefold()) for name in shown):
            return own
    if any(map(str.isalnum, text)):
        return text
    inner = (each.attr("aria-label") or each.attr("title") for each in element.select("[aria-label], [title]"))
    names = (element.attr("aria-label"), element.attr("title"), *map(_svg_title, element.select("svg")), *inner)
    return next((fold_space(name) for name in names if name and name.strip()), "") or icon_name(element) or text


def _says_same(words: str, alternative: str) -> bool:
    """Whether words say what the picture beside them does: a logo is called as they are, or by their first ones."""
    return words in alternative or alternative.removesuffix("logo").strip() in words


def media_target(element: Element) -> tuple[str, str] | None:
    """Return URL and label of embedded media, for a link in their place; ``None`` where there is nothing to link to."""
    source = element.select_one("source[src]")
    url = element.attr("src") or element.attr("data-src") or (source.attr("src") if source is not None else "") or ""
    if not url or not is_followable(url) or url.startswith("about:"):
        return None
    if any((element.attr(side) or "") in ("0", "1") for side in ("width", "height")):
        return None
    label = element.attr("title") or element.attr("aria-label") or element.attr("name") or _last_segment(url)
    return url, fold_space(label)


def math_text(element: Element) -> str:
    """Return a formula as one line of text: its ``alttext``, its TeX, or ``a/b``, ``x^2`` and the like."""
    if element.attr("alttext"):
        return fold_space(element.attr("alttext") or "")
    tex = element.select_one("annotation")
    if tex is not None and "tex" in (tex.attr("encoding") or "").lower():
        return fold_space(tex.text)
    return fold_space(_linear(element))


def _texts(node: Node) -> list[str]:
    shown = walk(node, lambda each: each.tag not in UNSEEN and not is_hidden(each))
    return [each.data if isinstance(each, Text) else _between(each) for each in shown]


def _between(element: Element) -> str:
    """Return what the start of an element adds to a label: the text of an image, a space before a block."""
    if element.tag == "img":
        return image_text(element)
    return "" if element.tag in _INLINE else " "


_INLINE = frozenset({"a", "b", "i", "em", "strong", "span", "font", "code", "small", "tt", "u", "sub", "sup", "kbd"})


def _svg_title(element: Element) -> str | None:
    title = element.select_one("title")
    return element.attr("aria-label") or (title.text if title is not None else None)


def icon_name(element: Element) -> str:
    """Return the name of the glyph of an icon font: "twitter" for ``fa-twitter``."""
    classes = " ".join(each.attr("class") or "" for each in element.select("i, span"))
    return next((name for name in _ICON.findall(classes) if name not in _ICON_OPTIONS), "")


_ICON = re.compile(r"(?:^|\s)(?:fa[brsl]?|bi|mdi|ti|icon|icofont|ion|ionicon|glyphicon|la)-([a-z]{3,})")
_ICON_OPTIONS = frozenset({
    "stack", "inverse", "spin", "pulse", "fixed", "border", "pull", "rotate", "flip", "solid", "circle", "square",
    "angle", "arrow", "caret", "chevron", "long",  # which way, not what
})  # fmt: skip


def _file_name(element: Element) -> str:
    """Return the words at the end of the URL of a link around a picture alone; ``""`` for other links."""
    href = element.attr("href") or ""
    if not is_followable(href) or href.startswith("#") or element.select_one("img, svg, i, picture") is None:
        return ""
    segment = _last_segment(href)
    if segment in _HOME_SEGMENTS or segment.startswith("index."):
        return _HOME_SIGN
    return " ".join(_SUFFIX.sub("", segment).replace("-", " ").replace("_", " ").split()) or segment


_SUFFIX = re.compile(r"\.(?:[sx]?html?|php|aspx?|jspx?|xml|csp|cfm)$", re.IGNORECASE)
_HOME_SEGMENTS = ("", ".", "..")
_HOME_SIGN = "\u2302"


def _last_segment(url: str) -> str:
    path = url.partition("#")[0].partition("?")[0].rstrip("/")
    return unquote(path.rpartition("/")[2]) or path


# MathML elements of two and three children, with the signs between them
_BETWEEN = {
    "mfrac": "/", "msup": "^", "msub": "_", "mover": "^", "munder": "_", "mroot": "^1/", "msubsup": "_^",
    "munderover": "_^",
}  # fmt: skip
_SILENT = frozenset({"annotation", "annotation-xml", "mphantom"})


def _linear(node: Node) -> str:
    if isinstance(node, Text):
        return node.data
    if not isinstance(node, Element) or node.tag in _SILENT:
        return ""
    parts = [part for part in (_linear(child) for child in node.children) if part.strip()]
    if node.tag in _BETWEEN:
        marks = _BETWEEN[node.tag] if len(parts) > 2 else (_BETWEEN[node.tag],)
        return "".join(map(_grouped, parts[:1])) + "".join(
            mark + _grouped(part) for mark, part in zip(marks, parts[1:], strict=False)
        )
    if node.tag == "msqrt":
        return f"\u221a({''.join(parts)})"
    return (", " if node.tag == "mtr" else "").join(parts)


def _grouped(part: str) -> str:
    part = part.strip()
    return part if part.isalnum() else f"({part})"
