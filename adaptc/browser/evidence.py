"""What a browser saw of a page: values that passes use where they are there (``adaptc build --browser``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from adaptc.core.digest import digest_parts
from adaptc.core.libraries import identify
from adaptc.core.values import asdict, dataclass, replace

# The distributions that evidence depends on: those that this package imports, some to encode answers
LIBRARIES = frozenset({"Brotli", "deflate", "Pillow", "playwright", "tinycss2", "turbohtml", "upa-url", "zstandard"})

# CSS pixels: a phone and a laptop
WIDTHS = (412, 1280)
HEIGHTS = {412: 915, 1280: 800}


@dataclass(frozen=True, slots=True)
class ImageSeen:
    """An image file on a page at one width, all its places together.

    ``path`` is its path in the docroot; ``width`` and ``height`` are CSS pixels of the largest box that shows it, 0 if
    no visible box does. ``is_first`` says that one of its boxes is in the first window, before any scrolling,
    ``is_background`` that it is the background of an element, ``is_by_script`` that a script wrote its address,
    ``is_changed`` that a script changed another attribute of an ``<img>`` with it, or took one from its place.
    ``is_held``: the boxes of its ``<img>`` are the same before it loads, once these say its ``aspect-ratio``.
    """

    path: str
    width: int
    height: int
    is_first: bool = False
    is_background: bool = False
    is_by_script: bool = False
    is_changed: bool = False
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class WidthEvidence:
    """A page at one width, before and after its menus were opened and what can be was hovered and focused.

    ``images`` are in the order of paths. ``names`` are the tags, classes, ids and attribute names that its elements had
    at any time.
    """

    width: int
    images: tuple[ImageSeen, ...] = ()
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """What a browser saw of one page, at each of ``WIDTHS``.

    ``document`` is the digest of the page's markup after its scripts ran, an object of the cache, ``None`` if it has no
    scripts. ``is_same_without_scripts`` says that it shows the same text, links and boxes when no script runs.
    ``loaded`` are the paths of the scripts and data that it loads by itself. ``written`` is the digest of what of the
    markup after scripts is the same at all widths (``join_views``), ``None`` unless the page shows the same as with
    scripts once that is written into it (``find_written``), and each request for scripts and data had an answer by a
    file of the site. ``hinted`` are the paths of what it fetches early, by hints that its scripts or its markup give.
    """

    widths: tuple[WidthEvidence, ...]
    document: str | None = None
    is_same_without_scripts: bool = False
    loaded: tuple[str, ...] = ()
    written: str | None = None
    hinted: tuple[str, ...] = ()

    def as_record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        widths = [{**asdict(width), "names": sorted(width.names)} for width in self.widths]
        return {**asdict(replace(self, widths=())), "widths": widths}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> PageEvidence:
        """Return the evidence of a record that ``as_record`` made."""
        widths = tuple(map(_width_of_record, record["widths"]))
        paths = {name: tuple(record[name]) for name in ("loaded", "hinted")}
        return cls(**{**record, **paths, "widths": widths})


def _width_of_record(record: Mapping[str, Any]) -> WidthEvidence:
    images = tuple(ImageSeen(**image) for image in record["images"])
    return WidthEvidence(**{**record, "images": images, "names": frozenset(record["names"])})


@cache
def code_digest() -> str:
    """Return the digest of the code that gathers evidence, and of its libraries: nobody has to raise a version.

    It has the code of this package only: a browser takes seconds for a page, so that other changes are no reason to
    look again.
    """
    code = sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in (".py", ".js"))
    return digest_parts(identify(LIBRARIES), *(path.read_bytes() for path in code))
