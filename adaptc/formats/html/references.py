"""The URLs written in a page, with their places and roles (adaptc.core.model.Reference).

References are in the attributes of the tables below, ``style`` attributes and elements, ``srcset``, meta refresh and
social metadata, SVG, the lazy-loading attributes in common use, templates and ``srcdoc``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from turbohtml import Document, Element, XPath

from adaptc.core.model import EMBEDDED, Reference, Role
from adaptc.formats.html.document import in_template, parse
from adaptc.formats.html.links import link_role
from adaptc.formats.html.syntax import ASCII_SPACE, ascii_lower, parse_refresh, parse_srcset

if TYPE_CHECKING:
    from adaptc.formats.css.references import CssReference

__all__ = [
    "ISLAND_SCRIPTS", "LAZY_ATTRIBUTES", "LAZY_SRCSETS", "META_NAMES", "attribute_references", "base_element",
    "base_href", "embedded_references", "in_template", "passed_over_references", "references", "referring_elements",
    "script_role",
]  # fmt: skip

# References without line and column: role, URL, place. Those of one URL are tuples: generators take twice the time.
_Urls = Iterable[tuple[Role, str, str]]
_Reader = Callable[[Element, str, str], _Urls]

# Tag -> role of the URL in its src or href
_SRC = {
    "img": Role.IMAGE, "input": Role.IMAGE, "iframe": Role.FRAME, "frame": Role.FRAME, "embed": Role.OBJECT,
    "video": Role.MEDIA, "audio": Role.MEDIA, "track": Role.MEDIA, "bgsound": Role.MEDIA, "portal":
    Role.FRAME,
}  # fmt: skip
_HREF = {"a": Role.LINK, "area": Role.LINK, "mpath": Role.IMAGE, "script": Role.SCRIPT}
_SVG_HREF = (
    "use", "image", "feImage", "textPath", "linearGradient", "radialGradient", "pattern", "filter", "tref",
    "cursor", "animate", "animateMotion", "animateTransform", "set", "discard", "altGlyph", "glyphRef",
    "color-profile",
)  # fmt: skip
_HREF |= dict.fromkeys(_SVG_HREF, Role.IMAGE)

LAZY_SRCSETS = frozenset({
    "data-srcset", "data-lazy-srcset", "data-bgset", "data-original-set", "data-src-set",
    "data-flickity-lazyload-srcset", "data-background-image-set", "data-lazysrcset", "data-ll-srcset",
})  # fmt: skip
# lazysizes, vanilla-lazyload, lozad, jQuery lazyload, unveil, b-lazy, echo, slick, owl, Swiper, Flickity,
# WP Rocket, Jetpack, Smush, layzr, parallax.js, vide, Colorlib's templates.
LAZY_ATTRIBUTES = frozenset({
    "data-src", "data-original", "data-lazy", "data-lazy-src", "data-lazysrc", "data-lazyload", "data-ll-src",
    "data-bg", "data-bg-hidpi", "data-bg-multi", "data-background", "data-background-image", "data-bg-image",
    "data-bg-img", "data-setbg", "data-image", "data-image-src", "data-img", "data-img-src", "data-poster",
    "data-src-retina", "data-src-small", "data-retina", "data-normal", "data-echo", "data-echo-background",
    "data-flickity-lazyload", "data-flickity-lazyload-src", "data-flickity-bg-lazyload", "data-iesrc",
    "data-large", "data-large_image", "data-large-file", "data-medium-file", "data-orig-file",
    "data-orig-src", "data-full", "data-fullsrc", "data-full-src", "data-thumb", "data-thumbnail",
    "data-thumb-src", "data-zoom-image", "data-zoom-src", "data-hires", "data-hi-res-src", "data-rocket-src",
    "data-vide-bg", "data-video", "data-video-src", "data-mp4", "data-webm", "data-parallax-image",
    "data-cfsrc", "data-pagespeed-lazy-src", "data-rsbigimg", "nitro-lazy-src", "lazy-src", "lazyload-src",
    "data-lowsrc", "data-lqip",
})  # fmt: skip
# The attributes of an island of Astro with the modules that it loads
ISLAND_SCRIPTS = ("component-url", "renderer-url", "before-hydration-url")
META_NAMES = frozenset({
    "og:image", "og:image:url", "og:image:secure_url", "og:video", "og:video:url", "og:video:secure_url",
    "og:audio", "og:audio:url", "og:audio:secure_url", "og:url", "twitter:image", "twitter:image:src",
    "twitter:player", "twitter:player:stream", "msapplication-tileimage", "msapplication-config",
    "msapplication-square70x70logo", "msapplication-square150x150logo", "msapplication-wide310x150logo",
    "msapplication-square310x310logo", "thumbnail", "image", "url", "thumbnailurl", "logo", "contenturl",
    "embedurl", "sailthru.image.full", "sailthru.image.thumb",
})  # fmt: skip
_JAVASCRIPT = frozenset({
    "", "text/javascript", "application/javascript", "application/ecmascript", "application/x-ecmascript",
    "application/x-javascript", "text/ecmascript", "text/javascript1.0", "text/javascript1.1",
    "text/javascript1.2", "text/javascript1.3", "text/javascript1.4", "text/javascript1.5", "text/jscript",
    "text/livescript", "text/x-ecmascript", "text/x-javascript",
})  # fmt: skip
_FLASH_PARAMETERS = frozenset({"movie", "src", "data", "url", "filename"})
# Presentation attributes of SVG that take url(); most hold a bare fragment, which leads nowhere else.
_SVG_URLS = (
    "fill", "stroke", "filter", "clip-path", "mask", "marker", "marker-start", "marker-mid", "marker-end",
    "cursor",
)  # fmt: skip


def references(tree: Document) -> Iterator[Reference]:
    """Yield the references of a page in document order, templates and ``srcdoc`` included.

    The place is that of the start tag, and inside a style element that of the reference itself. A tag whose
    place is unknown (a tree not parsed from text) counts as line 1, column 1.
    """
    for element in referring_elements(tree):
        yield from _element_references(element)


def reference_urls(tree: Document) -> Iterator[str]:
    """Yield the URLs of ``references``: without their places, in two thirds of the time."""
    for element in referring_elements(tree):
        if element.tag == "style":
            yield from (reference.url for reference in _style_sheet(element))
        yield from (url for _, urls in attribute_references(element) for _, url, _ in urls)


# A selector of all these attributes takes two to seven times as long as a loop over all elements: it is compiled for
# each page. Most elements of plain pages have no attributes, and XPath skips them in a seventh of the loop's time.
_WITH_ATTRIBUTES = XPath("//*[@*]|//style")


def referring_elements(tree: Document) -> list[Element]:
    """Return the elements that may hold a reference, in document order."""
    elements = cast("list[Element]", _WITH_ATTRIBUTES(tree))
    return [element for element in elements if not _NAMES.isdisjoint(element.attrs) or element.tag == "style"]


def attribute_references(element: Element) -> Iterator[tuple[str, list[tuple[Role, str, str]]]]:
    """Yield each attribute of an element that refers to something: its name, and role, URL and place of each URL."""
    for name in element.attrs:
        reader = _READERS.get(name)
        urls = list(reader(element, element.tag, name)) if reader is not None else []
        if urls:
            yield name, urls


def embedded_references(tree: Document) -> Iterator[Reference]:
    """Yield the references that a browser loads by itself, in document order, without visiting links."""
    for element in tree.iter_elements(_EMBEDDING):
        if element.tag == "style" and not _MAY_IMPORT.search(element.text):
            continue  # its images are no references of the page's markup; reading them all takes longer than the rest
        is_choice = _is_choice(element)
        for reference in _element_references(element):
            if reference.role in EMBEDDED and not (is_choice and _is_passed_over(element, reference)):
                yield reference


def passed_over_references(tree: Document) -> Iterator[Reference]:
    """Yield the references to images that today's browsers do not load, as the page offers them another.

    Those are the ``src`` of an image whose ``srcset`` has widths, or one for 1x (HTML, 4.8.4.3.9), and all images of a
    ``<picture>`` but those of its first AVIF or WebP source for all windows, if it has one.
    """
    for element in tree.iter_elements(_CHOICES):
        if _is_choice(element):
            yield from (each for each in _element_references(element) if _is_passed_over(element, each))


_CHOICES = ("img", "source")
# Formats that browsers know; they have a choice of others for those that do not
_MODERN = frozenset({"image/avif", "image/webp"})


def _is_choice(element: Element) -> bool:
    return element.tag in _CHOICES and ("srcset" in element.attrs or _picture(element) is not None)


def _picture(element: Element) -> Element | None:
    parent = element.parent
    return parent if isinstance(parent, Element) and parent.tag == "picture" else None


def _is_passed_over(element: Element, reference: Reference) -> bool:
    """Whether browsers take another image than this one of a choice, whatever the window."""
    if reference.role is not Role.IMAGE:
        return False
    if reference.where == "img src" and _offers_instead(element):
        return True
    picture = _picture(element)
    if picture is None:
        return False
    sources = (each for each in picture.iter_elements("source") if "media" not in each.attrs)
    first = next((each for each in sources if (each.attr("type") or "").lower() in _MODERN), None)
    return first is not None and first != element


def _offers_instead(image: Element) -> bool:
    """Whether a ``srcset`` leaves no choice of ``src``."""
    candidates = parse_srcset(image.attr("srcset") or "")
    return any(each.descriptors in ((), ("1x",)) or each.descriptors[0].endswith("w") for each in candidates)


def _element_references(element: Element) -> list[Reference]:
    tag = element.tag
    found = [each for name in element.attrs if name in _READERS for each in _READERS[name](element, tag, name)]
    attributes = []
    if found:  # the place takes longer than the rest
        line, column = element.position or (1, 0)
        attributes = [Reference(role, url, where, line, column + 1) for role, url, where in found]
    return attributes if tag != "style" else [*_style_sheet(element), *attributes]


_MAY_IMPORT = re.compile(r"@(?:[iI]|\\)")


def base_element(tree: Document) -> Element | None:
    """Return the first ``<base>`` with an ``href``, which governs every URL of the page, or ``None``."""
    bases = tree.find_all("base") if tree.find("base") is not None else []
    return next((base for base in bases if "href" in base.attrs and not in_template(base)), None)


def base_href(tree: Document) -> str | None:
    """Return the value of the first ``<base href>``, or ``None``."""
    base = base_element(tree)
    return None if base is None else base.attr("href")


def script_role(element: Element) -> Role:
    """Return SCRIPT, MODULE, or LAZY for what browsers do not load: other types, and ``nomodule`` for those of old."""
    kind = element.attr("type")
    if kind is None:
        kind = f"text/{element.attr('language')}" if element.attr("language") else ""
    kind = kind.strip("\t\n\f\r ").lower()
    if kind == "module":
        return Role.MODULE
    return Role.SCRIPT if kind in _JAVASCRIPT and "nomodule" not in element.attrs else Role.LAZY


def _any_tag(role: Role, element: Element, tag: str, name: str) -> _Urls:
    return ((role, element.attr(name) or "", f"{tag} {name}"),)


def _by_tag(roles: dict[str, Role], element: Element, tag: str, name: str) -> _Urls:
    role = roles.get(tag)
    return ((role, element.attr(name) or "", f"{tag} {name}"),) if role is not None else ()


def _src(element: Element, tag: str, name: str) -> _Urls:
    if tag == "script":
        return ((script_role(element), element.attr(name) or "", "script src"),)
    if tag == "source":
        return ((_source_role(element), element.attr(name) or "", "source src"),)
    return _by_tag(_SRC, element, tag, name)


def _href(element: Element, tag: str, name: str) -> _Urls:
    if tag != "link":
        return _by_tag(_HREF, element, tag, name)
    rel = ascii_lower(element.attr("rel") or "").strip(ASCII_SPACE)
    return ((link_role(element), element.attr(name) or "", f"link rel={rel}" if rel else "link"),)


def _source_role(element: Element) -> Role:
    return Role.MEDIA if _picture(element) is None else Role.IMAGE


def _srcset(role: Role, element: Element, tag: str, name: str) -> _Urls:
    for candidate in parse_srcset(element.attr(name) or ""):
        yield role, candidate.url, f"{tag} {name}"


def _lazy(element: Element, tag: str, name: str) -> _Urls:
    """Yield what looks like a URL: a bare word or a colour in such an attribute is an option."""
    value = (element.attr(name) or "").strip()
    if value[:4].lower() == "url(":
        yield from ((Role.LAZY, reference.url, f"{tag} {name}") for reference in _in_css(value))
    elif ("/" in value or "." in value) and value[0] not in "#{[<" and not any(c in value for c in "\n\t "):
        yield Role.LAZY, value, f"{tag} {name}"


def _style_attribute(element: Element, tag: str, name: str) -> _Urls:
    value = element.attr(name) or ""
    if not _may_refer(value):
        return ()
    return [(reference.role, reference.url, f"{tag} style") for reference in _in_css(value, declarations=True)]


def _presentation(element: Element, tag: str, name: str) -> _Urls:
    value = element.attr(name) or ""
    if "(" in value and _may_refer(value):
        for reference in _in_css(f"{name}:{value}", declarations=True):
            yield reference.role, reference.url, f"{tag} {name}"


def _content(element: Element, tag: str, name: str) -> _Urls:
    if tag != "meta":
        return
    content = element.attr(name) or ""
    if (element.attr("http-equiv") or "").lower() == "refresh":
        refresh = parse_refresh(content)
        if refresh and refresh.url is not None:
            yield Role.LINK, refresh.url, "meta refresh"
        return
    key = element.attr("property") or element.attr("name") or element.attr("itemprop") or ""
    if key.lower() in META_NAMES:
        yield Role.META, content, f"meta {key.lower()}"


def _island(element: Element, tag: str, name: str) -> _Urls:
    """Return a module of an island of Astro, which may wait until a visitor sees the island, or a window is so wide."""
    role = Role.LAZY if element.attr("client") in ("visible", "media") else Role.MODULE
    return _by_tag({"astro-island": role}, element, tag, name)


def _flash(element: Element, tag: str, name: str) -> _Urls:
    if tag == "param" and (element.attr("name") or "").lower() in _FLASH_PARAMETERS:
        yield Role.OBJECT, element.attr(name) or "", "param value"


# Frames in the markup of a frame, which may be nested; the files of one with more count as unknown.
_MOST_FRAMES = 40


def _srcdoc(element: Element, tag: str, name: str) -> _Urls:
    value = element.attr(name) or ""
    if tag == "iframe" and value.lower().count("srcdoc") < _MOST_FRAMES:
        for inner in references(parse(value)):
            yield inner.role, inner.url, f"iframe srcdoc, {inner.where}"


def _in_css(text: str, *, declarations: bool = False) -> list[CssReference]:
    """Return the references of CSS; its scanner takes 25 ms to import, and many pages do not need it."""
    from adaptc.formats.css.references import css_references

    return css_references(text, declarations=declarations)


def _style_sheet(element: Element) -> Iterator[Reference]:
    text = element.text
    if not _may_refer(text):
        return
    line, column = _content_start(element)
    for inner in _in_css(text):
        inner_column = column + inner.column if inner.line == 1 else inner.column
        where = "style @import" if inner.role is Role.IMPORT else "style url()"
        yield Reference(inner.role, inner.url, where, line + inner.line - 1, inner_column)


def _content_start(element: Element) -> tuple[int, int]:
    """Return line (from 1) and column (from 0) of an element's content."""
    location = element.source_location
    return (1, 0) if location is None else (location.start_tag.end_line, location.start_tag.end_col)


def _may_refer(css: str) -> bool:
    """Whether CSS text can hold a URL at all; an escape may hide one."""
    if not ("(" in css or "@" in css or "\\" in css):  # most style attributes, in a sixth of the time
        return False
    lowered = css.lower()
    return "url(" in lowered or "src(" in lowered or "@import" in lowered or "image-set(" in lowered or "\\" in lowered


_READERS: dict[str, _Reader] = {
    "src": _src,
    "href": _href,
    "xlink:href": _href,
    "srcset": partial(_srcset, Role.IMAGE),
    "imagesrcset": partial(_srcset, Role.PRELOAD),
    "poster": partial(_by_tag, {"video": Role.IMAGE}),
    "data": partial(_by_tag, {"object": Role.OBJECT}),
    "background": partial(
        _by_tag, dict.fromkeys(("body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"), Role.IMAGE)
    ),
    "lowsrc": partial(_by_tag, {"img": Role.IMAGE}),
    "dynsrc": partial(_by_tag, {"img": Role.IMAGE}),
    "longdesc": partial(_any_tag, Role.LINK),
    "cite": partial(_any_tag, Role.LINK),
    "action": partial(_by_tag, {"form": Role.LINK}),
    "formaction": partial(_any_tag, Role.LINK),
    "manifest": partial(_by_tag, {"html": Role.MANIFEST}),
    "value": _flash,
    "content": _content,
    "srcdoc": _srcdoc,
    "style": _style_attribute,
    **dict.fromkeys(ISLAND_SCRIPTS, _island),
    **dict.fromkeys(LAZY_ATTRIBUTES, _lazy),
    **{name: partial(_srcset, Role.LAZY) for name in LAZY_SRCSETS},
    **dict.fromkeys(_SVG_URLS, _presentation),
}  # fmt: skip
_NAMES = frozenset(_READERS)
# The elements with a reference of a role in EMBEDDED
_EMBEDDING = (
    "link", "script", "style", "img", "image", "iframe", "frame", "embed", "object", "applet", "param", "source",
    "input", "video", "audio", "track", "body", "table", "thead", "tbody", "tfoot", "tr", "td", "th", "astro-island",
)  # fmt: skip
