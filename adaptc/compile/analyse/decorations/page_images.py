"""The images of a page: in its markup, and in the style sheets that it loads. Pure, once for each page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from turbohtml import Document, Element

from adaptc.compile.analyse.decorations.evidence import Tag, UseEvidence, parse_length
from adaptc.compile.analyse.decorations.image_rules import ImageRule, SheetImages, sheet_images, style_images
from adaptc.compile.analyse.decorations.rules import DecorationRules, Override
from adaptc.compile.analyse.decorations.surroundings import (
    PageHeadings,
    PageText,
    Surroundings,
    UrlResolver,
    enclosing_link,
    shown_text,
    start_offset,
    surroundings_of,
    tags_of,
)
from adaptc.core import media
from adaptc.core.urls import Reach, document_base, join
from adaptc.core.values import dataclass, replace
from adaptc.formats.html.document import in_template
from adaptc.formats.html.links import applied_in_page, applies_to_screen
from adaptc.formats.html.references import LAZY_ATTRIBUTES, LAZY_SRCSETS, base_href
from adaptc.formats.html.syntax import class_words, name_words, parse_srcset
from adaptc.site.site import SiteTarget

# Returns the images of the style sheet at a path.
Sheets = Callable[[str], SheetImages]

_MARKUP = (
    "img, input[src], source[srcset], object[data], embed[src], image, use, video[poster], [background], "
    '[style*="url("], [style*="URL("], [style*="image-set("]'
)
_KINDS = {"input": "input", "source": "source", "use": "svg", "image": "svg"}
# The URL may not lead to a picture but to a video, or a fragment of the page itself.
_UNSURE = frozenset({"object", "embed", "use"})
_LABEL = 200  # characters of a text that may label an image
_MATCHED = 50  # elements examined for one selector of a sheet: bullets of long lists took a tenth of a page's time


@dataclass(frozen=True, slots=True)
class _Page:
    """The context in which a page is read."""

    path: str
    base: str
    urls: UrlResolver
    rules: DecorationRules
    heading: int  # offset of the first h1 or h2
    text: PageText
    headings: PageHeadings
    overrides: tuple[tuple[Override, frozenset[Element]], ...]


def page_uses(
    tree: Document, path: str, urls: UrlResolver, sheets: Sheets, rules: DecorationRules
) -> list[UseEvidence]:
    """Return the images of the page at ``path`` in document order, then those of its style sheets.

    ``tree`` was parsed without scripting, so that ``noscript`` counts. ``data:`` URLs and templates are left out.
    """
    base = document_base(urls.url_of(path), base_href(tree))
    page = _Page(
        path, base, urls, rules, _first_heading(tree), PageText(tree), PageHeadings.of(tree),
        tuple(_overrides(tree, rules)),
    )  # fmt: skip
    return list(_counted([*_markup(tree, page), *_sheet_uses(tree, page, sheets)]))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a use is: what places of the same kind share, and for backgrounds what those side by side share."""

    signature: str
    rows: tuple[object, ...] = ()


def _counted(uses: list[tuple[UseEvidence, _Place]]) -> Iterator[UseEvidence]:
    """Yield the uses with what the page has of each kind: places of the same kind, and uses of the same file."""
    times = Counter(use.path or use.ref for use, _ in uses)
    alike, rows, hosts = (defaultdict[object, set[str]](set) for _ in range(3))
    for use, place in uses:
        alike[place.signature].add(use.path or use.ref)
        for row in place.rows:
            rows[row].add(use.path or use.ref)
        for group in (place.signature, use.heading):
            hosts[group].update({use.host} if use.host and use.alone_in_link else ())
    for use, place in uses:
        yield replace(
            use,
            times=times[use.path or use.ref],
            alike=len(alike[place.signature]),
            siblings=max((len(rows[row]) for row in place.rows), default=1),
            hosts=max(len(hosts[place.signature]), len(hosts[use.heading])),
        )


def _first_heading(tree: Document) -> int:
    first = tree.select_one("h1, h2")
    return 1 << 60 if first is None else start_offset(first)


def _overrides(tree: Document, rules: DecorationRules) -> Iterator[tuple[Override, frozenset[Element]]]:
    for override in rules.overrides:
        yield override, frozenset(tree.select(override.selector)) if override.selector else frozenset()


def _tags(element: Element, ref: str, path: str | None, page: _Page) -> tuple[Tag, ...]:
    """Return the tags of the user's overrides that match, then the page's own tags."""
    own = [
        override.tag
        for override, chosen in page.overrides
        if override.matches_url(ref, path) or _is_in(element, chosen)
    ]
    return (*own, *tags_of(element))


def _is_in(element: Element, chosen: frozenset[Element]) -> bool:
    return bool(chosen) and (element in chosen or any(ancestor in chosen for ancestor in element.ancestors))


# ---- markup


def _markup(tree: Document, page: _Page) -> Iterator[tuple[UseEvidence, _Place]]:
    order = 0
    for element in tree.select(_MARKUP):
        if in_template(element):
            continue
        for use, place in _of_element(element, page):
            yield replace(use, order=order), place
            order += use.kind != "background"


def _of_element(element: Element, page: _Page) -> Iterator[tuple[UseEvidence, _Place]]:
    refs = list(_references(element))
    styled = style_images(element.attr("style") or "")
    if not refs and not styled:
        return
    place = surroundings_of(element, page.rules.regions, page.rules.figures, page.text)
    for kind, ref, url in refs:
        use = _resolved(element, kind, ref, url, page.base, page)
        if use is not None:
            yield _placed(use, element, place, page), _Place(place.signature)
    for rule in styled:
        use = _resolved(element, "background", rule.url, rule.url, page.base, page)
        if use is not None:
            use = replace(background_use(use, rule, [element]), is_inline=True)
            signature = f"background of {place.signature}"
            yield _placed(use, element, place, page), _Place(signature, tuple(rows(element, page.rules.words["band"])))


def _references(element: Element) -> Iterator[tuple[str, str, str]]:
    """Yield kind, reference as written, and a URL of it for each image of the markup."""
    tag = element.tag
    kind = _KINDS.get(tag, "img")
    for name in _names(element, tag):
        value = element.attr(name)
        if value is None:
            continue
        if name in LAZY_SRCSETS or name == "srcset":
            candidates = parse_srcset(value)
            if candidates:
                yield kind if kind == "source" else "img", value, candidates[0].url
        elif value.strip()[:5].lower() != "data:" and value.strip():
            yield "background" if name == "background" else kind, value, value


def _names(element: Element, tag: str) -> Iterable[str]:
    """Return the attributes of an element that may name an image; lazy ones only of images."""
    if tag == "img":
        lazy = [name for name in element.attrs if name in LAZY_ATTRIBUTES or name in LAZY_SRCSETS]
        return ("src", "srcset", *lazy)
    if tag == "source" and not (isinstance(element.parent, Element) and element.parent.tag == "picture"):
        return ()
    if tag == "input" and (element.attr("type") or "").lower() != "image":
        return ()
    return _ATTRIBUTES.get(tag, ("background",))


_ATTRIBUTES = {
    "input": ("src",), "source": ("srcset",), "object": ("data",), "embed": ("src",), "video": ("poster",),
    "image": ("href", "xlink:href"), "use": ("href", "xlink:href"),
}  # fmt: skip


def _resolved(element: Element, kind: str, ref: str, url: str, base: str, page: _Page) -> UseEvidence | None:
    """Return the use with its file, or ``None`` if the reference is not to an image."""
    target = _followed(page.urls, base, url)
    if target.target.reach not in (Reach.LOCAL, Reach.EXTERNAL, Reach.OUTSIDE) or url.startswith("#"):
        return None
    if element.tag in _UNSURE and kind != "background" and not _is_picture(target.path or target.target.path or url):
        return None
    outside = join(base, url) or url if target.target.reach is not Reach.LOCAL else ""
    kind = "svg" if element.tag == "object" and (target.path or "").lower().endswith(".svg") else kind
    return UseEvidence(ref, kind, target.path, outside, tags=_tags(element, ref, target.path, page))


def _followed(urls: UrlResolver, base: str, url: str) -> SiteTarget:
    """Follow a reference; if there is no file, merge ``//`` in its path, as servers do."""
    target = urls.follow(base, url)
    if target.path is None and target.target.reach is Reach.LOCAL and "//" in target.target.path:
        return urls.follow(base, _DOUBLE_SLASH.sub("/", url))
    return target


_DOUBLE_SLASH = re.compile(r"(?<=[^:/])//+")


def _is_picture(path: str) -> bool:
    return (media.by_name(path.partition("?")[0]) or "").startswith("image/")


def _placed(use: UseEvidence, element: Element, place: Surroundings, page: _Page) -> UseEvidence:
    alt = _alt(element)
    return replace(
        use,
        width=use.width or stated_length(element, "width"),
        height=use.height or stated_length(element, "height"),
        alt=alt,
        heading=page.headings.before(start_offset(element)),
        alt_repeats=bool(alt) and 0 < place.near_length <= _LABEL and _says(place.near.text, alt or ""),
        before_heading=start_offset(element) < page.heading,
        usemap=element.attr("usemap") is not None or element.attr("ismap") is not None,
        **place.evidence,
        **enclosing_link(element, page.urls, page.base, page.path)._asdict(),
    )


def _says(text: str, alt: str) -> bool:
    """Whether a text has all words of an alternative text, or all but those of whose mark it is ("Opera logo")."""
    said, seen = name_words(alt), name_words(text)
    if not said or not seen:
        return False
    is_mark = not _MARKS.isdisjoint(said) and set(seen) <= set(said)
    return is_mark or set(said) <= set(seen) or "".join(said) in "".join(seen)


_MARKS = frozenset({"logo", "icon"})


def stated_length(element: Element, name: str) -> float | None:
    """Return a dimension of the style or the attribute in px (HTML, rules for parsing dimension values).

    Percentages are ignored.
    """
    style = element.attr("style") or ""
    declared = re.search(rf"(?:^|;)\s*{name}\s*:\s*([^;]+)", style, re.IGNORECASE) if name in style else None
    value = (element.attr(name) or "").strip().removesuffix("px")
    stated = float(value) if value.isascii() and value.replace(".", "", 1).isdigit() else None
    return (parse_length(declared[1].strip()) if declared else None) or stated


def _alt(element: Element) -> str | None:
    """Return the accessible name as far as attributes give it (HTML-AAM, img): ``None`` if there is none."""
    if element.tag == "source" and isinstance(element.parent, Element):
        inner = element.parent.find("img")
        return None if inner is None else _alt(inner)
    for name in ("aria-label", "alt", "title"):
        value = element.attr(name)
        if value is not None and (value.strip() or name == "alt"):
            return " ".join(value.split())
    return None


# ---- style sheets


def _sheet_uses(tree: Document, page: _Page, sheets: Sheets) -> Iterator[tuple[UseEvidence, _Place]]:
    applied = list(_page_sheets(tree, page, sheets))
    hiding = frozenset(
        element for _, images in applied for selector in images.hiding for element in _matching(tree, selector)
    )
    for base, images in applied:
        for rule in images.rules:
            elements = _matching(tree, rule.selector)
            use = _resolved(elements[0], "background", rule.url, rule.url, base, page) if elements else None
            if use is not None:
                use = replace(use, replaces_text=elements[0] in hiding)
                place = _Place(f"rule {rule.selector}", tuple(rows(elements[0], page.rules.words["band"])))
                yield _ruled(use, rule, elements, page), place


def _ruled(use: UseEvidence, rule: ImageRule, elements: list[Element], page: _Page) -> UseEvidence:
    """Return the use by a rule of a sheet: its place on the first element, with the tags of all elements."""
    place = surroundings_of(elements[0], page.rules.regions, page.rules.figures, page.text)
    placed = _placed(background_use(use, rule, elements), elements[0], place, page)
    tags_of_elements = [tag for element in elements for tag in _tags(element, use.ref, use.path, page)]
    tags = tuple(sorted(dict.fromkeys(tags_of_elements), key=lambda tag: tag.verdict != "keep"))
    return replace(placed, names=(*placed.names, *name_words(rule.selector)), tags=tags)


def _matching(tree: Document, selector: str) -> list[Element]:
    try:
        return tree.select(selector)[:_MATCHED]
    except ValueError:  # a selector that the engine does not support, or a malformed one
        return []


def _page_sheets(tree: Document, page: _Page, sheets: Sheets) -> Iterator[tuple[str, SheetImages]]:
    """Yield the base URL and the images of each sheet that a screen applies, imported ones after their importer."""
    seen: set[str] = set()
    for element in filter(applies_to_screen, applied_in_page(tree)):
        if element.tag == "style":
            images = sheet_images(element.text)
            yield page.base, images
            yield from _linked(images.imports, page, sheets, seen)
        else:
            yield from _linked((element.attr("href") or "",), page, sheets, seen)


def _linked(urls: Sequence[str], page: _Page, sheets: Sheets, seen: set[str]) -> Iterator[tuple[str, SheetImages]]:
    """Yield sheets that a page loads, each followed by those that it imports."""
    pending = [(page.base, url) for url in reversed(urls)]
    while pending:
        path = page.urls.follow(*pending.pop()).path
        if path is None or path in seen:
            continue
        seen.add(path)
        images, address = sheets(path), page.urls.url_of(path)
        yield address, images
        pending += ((address, url) for url in reversed(images.imports))


# ---- The elements that show a background: what they hold, whether they are controls, and which stand side by side

_BANDS = frozenset({"section", "header", "footer", "main", "nav"})
_CONTROL_ROLES = frozenset({"button", "tab", "switch", "checkbox", "radio", "menuitem", "slider"})


def background_use(use: UseEvidence, rule: ImageRule, elements: list[Element]) -> UseEvidence:
    """Return a use with what a rule says of its image, and the first of the elements that show it."""
    element = elements[0]
    return replace(
        use,
        width=rule.width,
        height=rule.height,
        property=rule.property,
        repeat=rule.repeat,
        pseudo=rule.pseudo,
        is_loaded=rule.is_loaded,
        body=element.tag in ("html", "body"),
        places=len(elements),
        holds_text=len(" ".join(shown_text(element).split())) if element.tag not in ("html", "body") else 0,
        control=_is_control(element),
        replaces_text=use.replaces_text or rule.hides_text,
    )


def _is_control(element: Element) -> bool:
    """Whether an element is a control that shows no text of its own; a button shows its value."""
    if element.tag == "input":
        return not (element.attr("value") or "").strip()
    is_control = element.tag in ("button", "select") or (element.attr("role") or "").lower() in _CONTROL_ROLES
    return is_control and not shown_text(element).strip()


def rows(element: Element, bands: frozenset[str]) -> Iterator[object]:
    """Yield what elements side by side share: their tags and an element around them, one to three levels up.

    A part of the page that stretches from side to side, with a word of ``bands`` in its class, stands alone.
    """
    if element.tag in _BANDS or not bands.isdisjoint(class_words(element)):
        return
    tags = [element.tag]
    for ancestor in list(element.ancestors)[:3]:
        if not isinstance(ancestor, Element) or ancestor.tag in ("body", "html"):
            return
        yield ("row", tuple(tags), ancestor)
        tags.append(ancestor.tag)
