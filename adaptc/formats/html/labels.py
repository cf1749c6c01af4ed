"""Words in the place of what is not text: images, icons, embedded media, formulas (WAI-ARIA "accessible name")."""

from __future__ import annotations

import re
from urllib.parse import unquote

from turbohtml import Element, Node, Text

from adaptc.formats.html.landmarks import UNSEEN, is_hidden, walk

__all__ = ["image_words", "is_followed", "link_label", "link_name", "math_words", "media_target"]

_SPACE = re.compile(r"[ \t\n\r\f]+")
_FILE_NAME = re.compile(r"(?i)^\S*\.(?:png|jpe?g|gif|svg|webp|bmp|avif|ico)$")
# What authors write when they have nothing to say.
_MEANINGLESS = frozenset({
    "image", "img", "picture", "photo", "icon", "logo", "bullet", "spacer", "blank", "pixel", "placeholder",
    "the", "a", "of", "thumbnail", "banner", "avatar", "*", "-", ".", "|", "[]", "graphic", "figure", "decoration",
    "line", "hr",
})  # fmt: skip
_SCRIPTED = re.compile(r"[\s\x00-\x1f]*(?:javascript|vbscript|data)[\s]*:", re.IGNORECASE)

_DROPPED = str.maketrans("", "", "\t\n\r")  # anywhere in a URL (URL Standard, "basic URL parser")


def is_followed(href: str | None) -> bool:
    """Whether a link leads anywhere without script: not ``#`` alone, and no ``javascript:``."""
    return href is not None and href.strip() != "#" and not _SCRIPTED.match(href.translate(_DROPPED))


def image_words(element: Element) -> str:
    """Return what an image says in words, or ``""`` where it says nothing."""
    if (element.attr("role") or "").lower() in ("presentation", "none"):
        return ""
    found = element.attr("alt") if "alt" in element.attrs else element.attr("title") or element.attr("aria-label")
    text = folded(found or "")
    text = text[1:-1].strip() if text[:1] == "[" and text[-1:] == "]" else text
    is_empty = (
        _MEANINGLESS.issuperset(text.lower().split()) or _FILE_NAME.match(text) or not any(map(str.isalnum, text))
    )
    return "" if is_empty else text


def link_label(element: Element) -> str:
    """Return the words of a link: its name, or else the end of its URL, if a picture is all there is."""
    label = link_name(element)
    return label if any(map(str.isalnum, label)) else _file_name(element) or label


def link_name(element: Element) -> str:
    """Return the words of a link: its text, else those of its images, its title or its icon."""
    text = folded("".join(_texts(element)))
    if any(map(str.isalnum, text)):
        return text
    named = (element.attr("aria-label"), element.attr("title"), *map(_svg_title, element.select("svg")))
    return next((folded(name) for name in named if name and name.strip()), "") or _icon_name(element) or text


def media_target(element: Element) -> tuple[str, str] | None:
    """Return URL and words of embedded media that a link can lead to instead."""
    source = element.select_one("source[src]")
    url = element.attr("src") or element.attr("data-src") or (source.attr("src") if source is not None else "") or ""
    if not url or not is_followed(url) or url.startswith("about:") or _is_pixel(element):
        return None
    words = element.attr("title") or element.attr("aria-label") or element.attr("name") or _last_segment(url)
    return url, folded(words)


def math_words(element: Element) -> str:
    """Return a formula as one line of text: its ``alttext``, its TeX, or ``a/b``, ``x^2`` and the like."""
    if element.attr("alttext"):
        return folded(element.attr("alttext") or "")
    tex = element.select_one("annotation")
    if tex is not None and "tex" in (tex.attr("encoding") or "").lower():
        return folded(tex.text)
    return folded(_linear(element))


def folded(text: str) -> str:
    """Fold white space to single spaces, none at the ends."""
    return _SPACE.sub(" ", text).strip(" ")


def _texts(node: Node) -> list[str]:
    shown = walk(node, lambda each: each.tag not in UNSEEN and not is_hidden(each))
    return [each.data if isinstance(each, Text) else _between(each) for each in shown]


def _between(element: Element) -> str:
    """Return what the start of an element adds to a label: the words of an image, a space before a block."""
    if element.tag == "img":
        return image_words(element)
    return "" if element.tag in _INLINE else " "


_INLINE = frozenset({"a", "b", "i", "em", "strong", "span", "font", "code", "small", "tt", "u", "sub", "sup", "kbd"})


def _svg_title(element: Element) -> str | None:
    title = element.select_one("title")
    return element.attr("aria-label") or (title.text if title is not None else None)


def _icon_name(element: Element) -> str:
    """Return the name of the glyph of an icon font: ``fa-twitter`` says "twitter"."""
    classes = " ".join(each.attr("class") or "" for each in element.select("i, span"))
    return next((name for name in _ICON.findall(classes) if name not in _ICON_OPTIONS), "")


_ICON = re.compile(r"(?:^|\s)(?:fa[brsl]?|bi|mdi|ti|icon|icofont|ion|ionicon|glyphicon|la)-([a-z]{3,})")
_ICON_OPTIONS = frozenset({
    "stack", "inverse", "spin", "pulse", "fixed", "border", "pull", "rotate", "flip", "solid", "circle", "square",
})  # fmt: skip


def _file_name(element: Element) -> str:
    """Return the end of a link's URL, if a picture in it is all there is: else the link has nothing to show."""
    href = element.attr("href") or ""
    if not is_followed(href) or href.startswith("#") or element.select_one("img, svg, i, picture") is None:
        return ""
    segment = _last_segment(href)
    return _HOUSE if segment in _HOMES or segment.startswith("index.") else segment


_HOMES = ("", ".", "..")
_HOUSE = "\u2302"


def _last_segment(url: str) -> str:
    path = url.partition("#")[0].partition("?")[0].rstrip("/")
    return unquote(path.rpartition("/")[2]) or path


def _is_pixel(element: Element) -> bool:
    return any((element.attr(side) or "") in ("0", "1") for side in ("width", "height"))


# MathML elements of two and three children, with what stands between.
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
