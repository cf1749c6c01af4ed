"""Which pages people ask for, from access logs (Krishnamurthy, Zhang, Wills and Vishwanath, WWW2003: "K03").

K03 prepares its actions for the *popular set*: the container objects that make up 70 % of the accesses with status 200
or 304. A container object is a page here. Views by robots count like any other: they load the server as people do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from adaptc.core import media
from adaptc.core.digest import digest_parts
from adaptc.core.urls import SiteAddress
from adaptc.core.values import dataclass
from adaptc.site.site import Site

if TYPE_CHECKING:
    from adaptc.config.rulebook import Level
    from adaptc.core.model import Resource
    from adaptc.formats.accesslog.parser import Entry

# Returns the page for a path that was served, as logged; None when there is none.
PageFinder = Callable[[str], str | None]

# HEAD sends no page, and what POST sends is no file. "" stands for a format without the method.
_METHODS = frozenset({"GET", ""})
_STATUSES = frozenset({200, 304})


@dataclass(frozen=True, slots=True)
class Traffic:
    """The views of each page that was seen in the logs, and the pages that make up ``share`` of all views."""

    hits: Mapping[str, int]
    popular: frozenset[str]
    share: float

    @property
    def views(self) -> int:
        """How many page views there were."""
        return sum(self.hits.values())


@dataclass(frozen=True, slots=True)
class Rank:
    """A page by its popularity: its views, their share of all, and that of it and all pages before it."""

    path: str
    hits: int
    share: float
    cumulative: float


def count_paths(entries: Iterable[Entry]) -> Counter[str]:
    """Count requests by path: GET with status 200 or 304."""
    return Counter(
        entry.path for entry in entries if entry.status in _STATUSES and entry.method in _METHODS and entry.path
    )


def site_finder(site: Site) -> PageFinder:
    """Return a finder of the site's pages, as its server finds them: by name, by index, by the name without .html."""

    def find(path: str) -> str | None:
        inner = _inside(site.address, path)
        if inner is None:
            return None
        page = site.find(inner) or site.find(f"{inner}.html")
        return page if page is not None and site.sources[page].media_type == media.HTML else None

    return find


def name_finder(address: SiteAddress, index: str) -> PageFinder:
    """Return a finder without the site's files: pages by their names, and ``index`` for directories."""

    def find(path: str) -> str | None:
        inner = _inside(address, path)
        if inner is not None and (not inner or inner.endswith("/")):
            return inner + index
        return inner if inner is not None and media.by_name(inner) == media.HTML else None

    return find


def _inside(address: SiteAddress, path: str) -> str | None:
    """Return a served path relative to the docroot; ``None`` for a path outside it."""
    plain = _resolved(path) if "/." in path or "//" in path else path
    return plain[len(address.prefix) :] if plain.startswith(address.prefix) else None


def _resolved(path: str) -> str:
    """Remove dot segments (RFC 3986, section 5.2.4) and merge slashes, as servers do before they look for a file."""
    segments: list[str] = []
    *inner, last = path.split("/")
    for segment in inner:
        if segment == "..":
            del segments[-1:]
        elif segment not in {"", "."}:
            segments.append(segment)
    return "/".join(["", *segments, last])


def page_hits(counts: Mapping[str, int], find: PageFinder) -> dict[str, int]:
    """Return the views of each page that was viewed, in the order of paths."""
    hits: Counter[str] = Counter()
    for path, count in counts.items():
        page = find(path)
        if page is not None:
            hits[page] += count
    return dict(sorted(hits.items()))


def rank_pages(hits: Mapping[str, int]) -> Iterator[Rank]:
    """Yield the pages, the most viewed first; those with equal views by path."""
    views, reached = sum(hits.values()), 0
    for path, count in sorted(hits.items(), key=lambda item: (-item[1], item[0])):
        reached += count
        yield Rank(path, count, count / views, reached / views)


def popular_set(hits: Mapping[str, int], share: float) -> list[Rank]:
    """Return the fewest pages that make up ``share`` of the views, the most viewed first."""
    chosen = []
    for rank in rank_pages(hits):
        chosen.append(rank)
        if rank.cumulative >= share - 1e-9:  # 0.1 + 0.2 of the views are 0.3 of them
            break
    return chosen


def join_aliases(hits: Mapping[str, int], aliases: Mapping[str, str]) -> dict[str, int]:
    """Add the hits of ``aliases`` (path by link) to those of the files that they lead to."""
    together: Counter[str] = Counter()
    for path, count in hits.items():
        together[aliases.get(path, path)] += count
    return dict(together)


def site_traffic(hits: Mapping[str, int], share: float, aliases: Mapping[str, str]) -> Traffic:
    """Return the traffic of a site; a page and its ``aliases`` (path by link) are popular together or not at all."""
    popular = {rank.path for rank in popular_set(join_aliases(hits, aliases), share)}
    links = {link for link, path in aliases.items() if path in popular}
    return Traffic(hits, frozenset(popular | links), share)


@dataclass(frozen=True, slots=True)
class Restriction:
    """Pages that are left out of some levels: those that are not popular, of levels that change what a page shows."""

    levels: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()

    def excludes(self, unit: tuple[str, str]) -> bool:
        """Whether a unit (level, path) is left out."""
        return unit[0] in self.levels and unit[1] in self.pages

    def digest(self) -> str:
        """Return a digest."""
        return digest_parts(*sorted(self.levels), "", *sorted(self.pages))


UNRESTRICTED = Restriction()


def restrict_to_popular(
    traffic: Traffic | None, resources: Mapping[str, Resource], levels: Iterable[Level]
) -> Restriction:
    """Return what traffic leaves out; nothing when the logs have no view of a page."""
    if traffic is None or not traffic.hits:
        return UNRESTRICTED
    popular = traffic.popular
    unpopular = (path for path, file in resources.items() if file.media_type == media.HTML and path not in popular)
    degraded = {level.name for level in levels if level.promise != "same"}
    return Restriction(frozenset(degraded), frozenset(unpopular))
