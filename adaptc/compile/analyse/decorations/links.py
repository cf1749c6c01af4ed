"""The link or button around an image: where it leads, and whether the image is all there is to see of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from turbohtml import Element

from adaptc.core import media
from adaptc.core.urls import Reach
from adaptc.site.site import Found

_NEAR = 300  # characters of an item of a list, a card; more is a part of the page
_BUTTONS = frozenset({"button", "label", "summary"})


class Places(Protocol):
    """Where URLs lead: a site, or what a pass sees of it."""

    def url_of(self, path: str) -> str:
        """Return the absolute URL of a path."""

    def follow(self, base: str, reference: str) -> Found:
        """Resolve a reference against the absolute URL ``base`` and look for the file."""


@dataclass(frozen=True, slots=True)
class LinkAround:
    """``kind`` is home, page, anchor (of the same page), image, outside, button or "" for none.

    The others are as in ``UseEvidence``.
    """

    kind: str = ""
    alone: bool = False
    alike: bool = False


_NONE = LinkAround()


def link_around(element: Element, places: Places, base: str, page: str) -> LinkAround:
    """Return the link around an element of the page at path ``page``, whose base URL is ``base``."""
    link = next((one for one in (element, *element.ancestors) if isinstance(one, Element) and _is_link(one)), None)
    if link is None:
        return _NONE
    alone = not link.text.strip() and len(link.find_all("img")) <= 1
    href = link.attr("href")
    if link.tag != "a" or href is None:
        return LinkAround("button", alone)
    if href.lstrip()[:1] in ("#", ""):
        return LinkAround("anchor", alone)
    return LinkAround(_kind(places.follow(base, href), href, page), alone, alone and _has_twin(link, href))


def _is_link(one: Element) -> bool:
    if one.tag == "a":
        return one.attr("href") is not None
    return one.tag in _BUTTONS or (one.attr("role") or "").lower() == "button" or one.attr("onclick") is not None


def _kind(found: Found, href: str, page: str) -> str:
    reach, path = found.target.reach, found.path
    if reach is Reach.EXTERNAL:
        host, _, rest = href.partition("//")[2].partition("/")
        return "home" if host and not rest.strip("/") else "outside"
    if reach is not Reach.LOCAL or path is None:
        return "home" if reach is Reach.LOCAL and not found.target.path.strip("/") else "page"
    if (media.by_name(path) or "").startswith("image/"):
        return "image"
    return "home" if _is_home(path, page) else "page"


def _is_home(path: str, page: str) -> bool:
    """Whether a file is the start of the site, or of the part of it that the page stands in."""
    folder, _, name = path.rpartition("/")
    return name.partition(".")[0] in ("index", "home", "default") and (
        not folder or f"{page}/".startswith(folder + "/")
    )


def _has_twin(link: Element, href: str) -> bool:
    """Whether a link with text nearby leads to the same place: then the image says nothing of its own."""
    near = link.parent.parent if isinstance(link.parent, Element) else None
    if not isinstance(near, Element) or len(near.text) > _NEAR:
        return False
    return any(one.attr("href") == href and one.text.strip() for one in near.find_all("a"))
