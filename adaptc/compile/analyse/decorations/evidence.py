"""What the classifier looks at: the pixels of a file, a use on a page, and how the site uses a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Flag
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ImageEvidence:
    """An image file by itself; ``width`` and ``height`` in CSS pixels as shown, ``None`` where it says none.

    The rest is measured on a thumbnail of at most 64x64 pixels of the first frame. ``entropy`` is that of its
    luminance in bits (0 flat, 8 noise); ``colours`` counts colours of 4 bits a channel; ``transparent`` is the share of
    pixels that are mostly see-through and ``opaque`` of those that hide what is behind them; ``colour`` stands for all
    that can be seen (sRGB, 0 to 255). For SVG nothing is drawn: they are ``None``, and ``shapes`` counts elements.
    """

    media_type: str
    size: int
    width: float | None = None
    height: float | None = None
    frames: int = 1
    has_alpha: bool = False
    entropy: float | None = None
    colours: int | None = None
    transparent: float | None = None
    shapes: int | None = None
    opaque: float | None = None
    colour: tuple[int, int, int] | None = None

    @property
    def is_vector(self) -> bool:
        """Whether it is drawn from shapes."""
        return self.shapes is not None


@dataclass(frozen=True, slots=True)
class Tag:
    """What the author (``data-adapt``) or the user (a rule) said: "keep" or "drop", at which levels, and where.

    No levels means all of them.
    """

    verdict: str
    levels: tuple[str, ...] = ()
    said_by: str = "data-adapt"

    def holds_at(self, level: str | None) -> bool:
        """Whether it speaks of ``level``; one that names levels is silent where the level is not known."""
        return not self.levels or level in self.levels


@dataclass(frozen=True, slots=True)
class UseEvidence:
    """One image at one place of a page.

    ``ref`` is as written; ``path`` the file in the docroot, ``None`` when there is none; ``url`` the absolute URL of
    one outside the site. ``kind`` is img, input, source, background or svg. Sizes are in px as the markup or the rule
    says. ``region`` is the nearest landmark: header, nav, footer, aside, main or "". ``names`` are the words of class
    and id of the element and of what stands around it, nearest first.
    """

    ref: str
    kind: str
    path: str | None
    url: str = ""
    width: float | None = None
    height: float | None = None
    alt: str | None = None
    hidden: bool = False  # aria-hidden, role=presentation or none
    region: str = ""
    names: tuple[str, ...] = ()
    link: str = ""  # "home", "page", "anchor", "image", "outside", "button", or "" for none
    alone_in_link: bool = False  # nothing else to see in the link
    link_alike: bool = False  # another link nearby leads to the same place and has text
    figure: bool = False  # in a figure or what classes call one
    alone: bool = False  # its block has no text of its own
    beside: int = 0  # characters of text in its block
    in_cell: bool = False
    in_item: bool = False
    in_heading: bool = False
    in_text: bool = False  # between words, as a character would stand
    alike: int = 1  # different images in the same kind of place on this page
    times: int = 1  # uses of the same file on this page
    images: int = 1  # images of the page's markup
    order: int = 0  # position among the images of the page's markup
    before_heading: bool = False  # stands before the page's first h1 or h2, or there is none
    is_inline: bool = False  # the background of a style attribute
    property: str = ""
    repeat: str = ""
    cover: bool = False
    pseudo: bool = False
    body: bool = False  # the background of html or body
    places: int = 1  # elements that the rule matches, at most 50 counted
    holds_text: int = 0  # characters of text in the element with the background
    usemap: bool = False
    tags: tuple[Tag, ...] = ()  # the nearest first; those of the user before those of the page


class Standing(Flag):
    """How a site uses a file: on half of its pages or more, on several, on one alone, as the first image of many."""

    NONE = 0
    EVERYWHERE = 1
    SHARED = 2
    UNIQUE = 4
    FIRST = 8


class SiteUse(Protocol):
    """What is known of how a site uses its files."""

    def standing(self, path: str | None, limits: Mapping[str, float], /) -> Standing:
        """Return how the site uses a file."""

    def sentence(self, path: str | None, one: Standing, /) -> str:
        """Return a standing in words."""


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """How many pages there are, and how many of them use each file: at all, and as their first image in the markup."""

    pages: int = 0
    uses: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)

    def share(self, path: str | None) -> float:
        """Return the share of pages that use a file, 0 to 1."""
        return self.uses.get(path or "", 0) / max(self.pages, 1)

    def standing(self, path: str | None, limits: Mapping[str, float], /) -> Standing:
        """Return how the site uses a file; ``limits`` are those of the rules."""
        uses, first, share = self.uses.get(path or "", 0), self.first.get(path or "", 0), self.share(path)
        enough = self.pages >= limits["pages"]
        found = {
            Standing.EVERYWHERE: enough and share >= 0.5,
            Standing.SHARED: share < 0.5 and uses >= limits["shared"],
            Standing.UNIQUE: enough and uses == 1,
            Standing.FIRST: first >= max(3, self.pages * limits["first_share"]) and first >= 0.5 * uses,
        }
        return Standing(sum(one.value for one, holds in found.items() if holds))

    def sentence(self, path: str | None, one: Standing, /) -> str:
        """Return a standing in words, with the figures."""
        if one is Standing.UNIQUE:
            return _SENTENCES[one]
        if one is Standing.FIRST:
            return f"the first image of {self.first.get(path or '', 0):,} pages"
        return f"used by {self.uses.get(path or '', 0):,} of {self.pages:,} pages"


@dataclass(frozen=True, slots=True)
class Standings:
    """How a site uses its files without the figures, which change with every page: ``of`` says it of a path."""

    of: Callable[[str], Standing]

    def standing(self, path: str | None, _limits: Mapping[str, float], /) -> Standing:
        """Return how the site uses a file; the limits were applied before."""
        return self.of(path) if path else Standing.NONE

    def sentence(self, _path: str | None, one: Standing, /) -> str:
        """Return a standing in words."""
        return _SENTENCES[one]


_SENTENCES = {
    Standing.EVERYWHERE: "used by most pages",
    Standing.SHARED: "used by several pages",
    Standing.UNIQUE: "used by this page alone",
    Standing.FIRST: "the first image of many pages",
}
