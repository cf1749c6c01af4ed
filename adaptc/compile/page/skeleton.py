"""The skeleton of a page, what it has in common with other pages of its template, and what is inferred from these.

The frame is the structure of its boxes down to the second level below ``<body>``: tags and classes, equal siblings
once. Text and its blocks without a class are no boxes, but what they hold may be. The whole tree says too much: of the
531 pages of Python's manual no two have the same one, while they have 7 frames.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from turbohtml import Element

from adaptc.browser.evidence import ImageSeen, PageEvidence, WidthEvidence
from adaptc.compile.page.context import is_isolated
from adaptc.core.digest import digest_parts
from adaptc.core.model import Role
from adaptc.core.urls import document_base
from adaptc.core.values import dataclass, field, replace
from adaptc.formats.html.document import Irreversible, parse_bare, read_page
from adaptc.formats.html.references import base_href, references
from adaptc.formats.html.syntax import class_names
from adaptc.formats.script.addresses import has_lazy_address
from adaptc.site.site import Site

_DEPTH = 2
_TEXT = frozenset({
    "a", "abbr", "acronym", "address", "b", "bdi", "bdo", "big", "blockquote", "br", "caption", "center", "cite",
    "code", "col", "colgroup", "data", "dd", "del", "dfn", "dl", "dt", "em", "figcaption", "figure", "font", "h1", "h2",
    "h3", "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby", "s",
    "samp", "small", "span", "strike", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time",
    "tr", "tt", "u", "ul", "var", "wbr",
})  # fmt: skip
_SHOWING = frozenset({Role.IMAGE, Role.OBJECT, Role.LAZY, Role.CSS_URL})
# Attributes of an image that may decide its size
_SIZES = ("width", "height", "style", "sizes", "id", "align", "hspace", "vspace")
_CHOICES = frozenset({"srcset", "sizes"})


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The skeleton of a page.

    ``frame`` is a digest. ``images`` are the places and URLs, as written, of plain images, which have one source; their
    places are digests of the tags and classes of what they are in, and of what else decides their size. ``others`` are
    the URLs of images that the page shows in other ways, too; ``base`` is the ``href`` of its ``<base>``.
    """

    frame: str = ""
    images: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()
    base: str | None = None


NO_SKELETON = Skeleton()
"""That of a page which cannot be read."""


def find_skeleton(content: bytes) -> Skeleton:
    """Return the skeleton of a page."""
    try:
        tree = parse_bare(read_page(content).text)
    except Irreversible:
        return NO_SKELETON
    body = tree.select_one("body")
    frame = "" if body is None else _frame(body, _DEPTH)
    styles = digest_parts(*(style.text for style in tree.iter_elements("style")))
    images = [image for image in tree.iter_elements("img") if _is_plain(image)]
    counts = Counter(image.attr("src") or "" for image in images)
    shown = Counter(reference.url for reference in references(tree) if reference.role in _SHOWING)
    return Skeleton(
        digest_parts("frame", frame),
        tuple(sorted({(_place(image, styles), image.attr("src") or "") for image in images})),
        tuple(sorted(url for url, count in shown.items() if count > counts[url])),
        base_href(tree),
    )


def _frame(box: Element, depth: int) -> str:
    inner = "".join(sorted(set(_boxes(box, depth - 1)))) if depth else ""
    return f"<{_name(box)}>{inner}</>"


def _boxes(parent: Element, depth: int) -> Iterator[str]:
    """Yield the frames of the boxes in an element."""
    pending = [parent]  # text may be nested deeper than functions
    while pending:
        for child in pending.pop().children:
            if not isinstance(child, Element):
                continue
            if child.tag in _TEXT and not child.attr("class"):
                pending.append(child)
            else:
                yield _frame(child, depth)


def _name(element: Element) -> str:
    classes = sorted(set(class_names(element)))
    return " ".join((element.tag, *classes))


def _is_plain(image: Element) -> bool:
    if not image.attr("src") or not _CHOICES.isdisjoint(image.attrs) or has_lazy_address(image.attrs):
        return False
    return getattr(image.parent, "tag", None) != "picture" and not is_isolated(image, "")


def _place(image: Element, styles: str) -> str:
    path = (_name(ancestor) for ancestor in image.ancestors if isinstance(ancestor, Element))
    sizes = (f"{name}={image.attr(name) or ''}" for name in _SIZES)
    return digest_parts(styles, _name(image), *sizes, *path)[:16]


@dataclass(frozen=True, slots=True)
class ImagePlaces:
    """The image files of a page that plain images show, with their places; ``apart`` are shown in other ways, too."""

    files: Mapping[str, frozenset[str]] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()

    @classmethod
    def of(cls, skeleton: Skeleton, path: str, site: Site) -> ImagePlaces:
        """Return those of the page at ``path``."""
        base = document_base(site.address.url_of(path), skeleton.base)
        places = defaultdict[str, set[str]](set)
        for place, url in skeleton.images:
            file = site.follow(base, url).path
            if file is not None:
                places[file].add(place)
        apart = (site.follow(base, url).path for url in skeleton.others)
        return cls(
            {file: frozenset(own) for file, own in sorted(places.items())},
            frozenset(file for file in apart if file is not None),
        )


# ---- Evidence for a page at which no browser looked, from pages of its template: what held on all of them
# - names are those that any of them had. A pass that reduces sheets adds those of the page's own markup, and waits
# for   all others: being wrong costs a request, not a rule; - images are known by their places. Where every page that
# was seen has an image, and no script wrote one of them (or   changed one), scripts leave that of another page alone.
# Where none of them shows it in the first window, it is below, and where all hold its box before it is loaded, so does
# another page. The size is known only of a file that all of them show, in the same places; - a page shows the same
# without scripts if all of them do. The passes then still read the page itself; - boxes over the text count if all of
# them have the same ones, under the least share of the text; - the markup after scripts is never inferred: it has the
# words of the page.

FEWEST_SEEN = 2
"""Pages that must have been seen before anything is inferred from them."""


class Likeness:
    """What held on all pages of a template that were seen, given with the places of their images."""

    def __init__(self, seen: Sequence[tuple[PageEvidence, ImagePlaces]]) -> None:
        self._seen = seen
        self._quiet, self._unchanged, self._below, self._held = (
            frozenset.intersection(*(_places_with(flag, value, evidence, places) for evidence, places in seen))
            for flag, value in (("is_by_script", False), ("is_changed", False), ("is_first", False), ("is_held", True))
        )
        self._widths = tuple(map(_common_width, zip(*(evidence.widths for evidence, _ in seen), strict=True)))
        self._is_same = all(evidence.is_same_without_scripts for evidence, _ in seen)
        self._loaded = tuple(sorted(frozenset.intersection(*(frozenset(evidence.loaded) for evidence, _ in seen))))

    def evidence_for(self, images: ImagePlaces) -> PageEvidence:
        """Return the evidence for another page of the template, with its images."""
        alone = [(path, places) for path, places in images.files.items() if path not in images.apart]
        known = [(path, places) for path, places in alone if places <= self._quiet]
        widths = (
            WidthEvidence(
                width.width,
                tuple(self._image(path, places, number) for path, places in known),
                width.names,
            )
            for number, width in enumerate(self._widths)
        )
        return PageEvidence(tuple(widths), None, self._is_same, self._loaded)

    def _image(self, path: str, places: frozenset[str], number: int) -> ImageSeen:
        """Return an image at one of the widths; without a size where another page may show it at another one."""
        image = ImageSeen(
            path,
            0,
            0,
            is_first=not places <= self._below,
            is_changed=not places <= self._unchanged,
            is_held=places <= self._held,
        )
        if any(each.files.get(path) != places for _, each in self._seen):
            return image
        found = [image for evidence, _ in self._seen for image in evidence.widths[number].images if image.path == path]
        largest = max(found, key=lambda image: (image.width * image.height, image.width))
        is_background = any(each.is_background for each in found)
        return replace(image, width=largest.width, height=largest.height, is_background=is_background)


def _places_with(flag: str, value: bool, evidence: PageEvidence, places: ImagePlaces) -> frozenset[str]:
    """Return the places all of whose images were seen at every width, and with this value of a flag."""
    quiet, loud = set[str](), set[str]()
    for path, own in places.files.items():
        seen = [image for width in evidence.widths for image in width.images if image.path == path]
        is_quiet = len(seen) == len(evidence.widths) and all(getattr(image, flag) is value for image in seen)
        (quiet if is_quiet else loud).update(own)
    return frozenset(quiet - loud)


def _common_width(widths: tuple[WidthEvidence, ...]) -> WidthEvidence:
    names = frozenset[str]().union(*(width.names for width in widths))
    return WidthEvidence(widths[0].width, (), names)
