"""What a proof saw of pages, for reports: the original and the levels, and the passes that were dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from adaptc.compile.analyse.demotions import Demotions
from adaptc.compile.engine.proof.records import ProvenView
from adaptc.core.values import dataclass

# Reads a WebP image by its digest, or has it no more
Pictures = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A page at one width in CSS pixels: a WebP image of the original, and one for levels that look otherwise.

    ``same`` are the levels that look as the original does. ``problems`` are what differs at the one level that there is
    then, in sentences, or why it is not proven; there may be no picture of that (``original`` is empty).
    """

    page: str
    width: int
    original: bytes
    others: tuple[tuple[tuple[str, ...], bytes], ...] = ()
    same: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    level: str = ""


@dataclass(frozen=True, slots=True)
class DroppedPass:
    """A pass that was dropped for a file at a level, and what a browser shows of a page with it.

    Without a name, the page stays as it is at the level above.
    """

    path: str
    level: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProofViews:
    """What a proof saw: what does not keep its promise, what does, and what was dropped before that."""

    differing: tuple[Comparison, ...] = ()
    kept: tuple[Comparison, ...] = ()
    dropped: tuple[DroppedPass, ...] = ()

    @classmethod
    def of(cls, views: Sequence[ProvenView], demotions: Demotions, pictures: Pictures) -> ProofViews:
        """Return what reports show of views and demotions."""
        return cls(tuple(_differing(views, pictures)), tuple(_kept(views, pictures)), tuple(_dropped(demotions)))


NO_VIEWS = ProofViews()


def _differing(views: Iterable[ProvenView], pictures: Pictures) -> Iterator[Comparison]:
    """Yield what does not keep what its level promises, or is not proven."""
    for view in views:
        if view.problems:
            images = _images(view, pictures) or (b"", b"")
            others = (((view.level,), images[1]),) if images[1] else ()
            yield Comparison(view.page, view.width, images[0], others, (), view.problems, view.level)


def _kept(views: Iterable[ProvenView], pictures: Pictures) -> Iterator[Comparison]:
    """Yield the pages and widths of which there are pictures, with the levels that keep what they promise."""
    found: dict[tuple[str, int], list[tuple[ProvenView, tuple[bytes, bytes]]]] = {}
    for view in views:
        if not view.problems and (images := _images(view, pictures)) is not None:
            found.setdefault((view.page, view.width), []).append((view, images))
    for (page, width), same_page in found.items():
        yield _comparison(page, width, same_page)


def _comparison(page: str, width: int, found: Sequence[tuple[ProvenView, tuple[bytes, bytes]]]) -> Comparison:
    original = found[0][1][0]
    by_picture: dict[bytes, list[str]] = {original: []}
    for view, (_, picture) in found:
        by_picture.setdefault(picture, []).append(view.level)
    same = tuple(by_picture.pop(original))
    others = tuple((tuple(levels), picture) for picture, levels in by_picture.items())
    return Comparison(page, width, original, others, same)


def _images(view: ProvenView, pictures: Pictures) -> tuple[bytes, bytes] | None:
    found = [image for digest in view.pictures if (image := pictures(digest)) is not None]
    return (found[0], found[1]) if len(found) == 2 else None


def _dropped(demotions: Demotions) -> Iterator[DroppedPass]:
    """Yield the passes that a build dropped, by path and level."""
    for (level, path), dropped in sorted(demotions.items(), key=lambda item: (item[0][1], item[0][0])):
        for each in dropped:
            yield DroppedPass(path, level, "" if each.name == level else each.name, each.reason)
