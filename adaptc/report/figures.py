"""The figures of a build, as plain values: what the report and the summary show.

The build fills these in; nothing here knows where they come from. Bytes are octets of content without HTTP
headers, and a kB is 1,000 of them. *Identity* is the content itself, *transfer* is the best content coding or image
format of each resource (RFC 9110, section 8), the identity where none is smaller.
"""

from __future__ import annotations

from typing import NamedTuple

from adaptc.compile.engine.proof.records import ProofRecord
from adaptc.core.diagnostics import Diagnostic, Severity
from adaptc.core.model import Action
from adaptc.core.quantities import written_plural
from adaptc.core.values import dataclass

# The groups of ``TypeFigures``, in the order in which they are shown.
GROUPS = ("pages", "styles", "scripts", "images", "fonts", "other")

# Abdelzaher, Shin and Bhatti 2002: the two coefficients of U = aR + bW that they measured on their server, in
# milliseconds of the bottleneck (a CPU) per request and per kB sent.
REQUEST_MS = 0.83
KILOBYTE_MS = 0.033


class PageFigures(NamedTuple):
    """One page at one level: the container object and what a browser loads with it.

    ``views`` are those of the page in the access logs, whatever the level. A tuple, since there are as many as pages.
    """

    path: str
    level: str
    requests: int  # 1 for the page, and 1 for each distinct embedded object
    identity_bytes: int  # page and embedded objects
    transfer_bytes: int
    page_bytes: int  # the page alone
    page_transfer: int
    actions: tuple[Action, ...] = ()
    demoted: tuple[str, ...] = ()  # names of the passes that were dropped for this page
    views: int = 0


@dataclass(frozen=True, slots=True)
class Shot:
    """What a page looks like at one or more levels: a WebP picture, its size in pixels.

    ``levels`` are their names with the figures of the page, None where a level does not have it and the original is
    served. ``difference`` is the share of the picture that visibly differs from the first level.
    """

    levels: tuple[tuple[str, PageFigures | None], ...]
    webp: bytes
    width: int
    height: int
    difference: float


@dataclass(frozen=True, slots=True)
class PageShots:
    """A page at all levels, the first one first."""

    path: str
    shots: tuple[Shot, ...]


@dataclass(frozen=True, slots=True)
class CodingFigures:
    """What a level's tree holds in one content coding or image format: ``id``, ``br``, ``webp`` ..."""

    coding: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TypeFigures:
    """What a level's tree holds of one group of media types (see ``GROUPS``), compared with the originals."""

    group: str
    files: int
    bytes_before: int
    bytes_after: int
    transfer_after: int


class FileFigures(NamedTuple):
    """A file at a level: its bytes in the best coding, and the share of pages, or of their views, that embed it."""

    path: str
    transfer: int
    share: float


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """A level as a whole; ``number`` is None for a level next to the ladder.

    The means are over all pages of the site, or over their views where there are access logs (``SiteFigures.traffic``).
    A page that the level does not have counts as it is at the first level, with its objects at this one: so a server
    sends it.
    """

    level: str
    number: int | None
    files: int
    identity_bytes: int
    bytes_by_coding: tuple[CodingFigures, ...]
    bytes_by_type: tuple[TypeFigures, ...]
    requests_per_page: float
    identity_per_page: float
    transfer_per_page: float
    capacity_factor: float  # see ``capacity_factor``: 1.0 for ``full``
    pages: int = 0  # that the level has
    # of a page after another one, whose embedded files the browser has kept
    next_requests: float = 0.0
    next_transfer: float = 0.0
    heaviest: tuple[FileFigures, ...] = ()  # of the files that pages embed


@dataclass(frozen=True, slots=True)
class VisitFigures:
    """Bytes of the pages of a visit, of so many ``pages``, each alone in the best coding: the mean of a level.

    ``first`` is a first visit with the dictionary, its download included; ``later`` one that has it already;
    ``without`` one of a browser that takes no dictionaries; ``mean`` is over all visits and browsers.
    """

    pages: float
    first: float
    later: float
    without: float
    mean: float


@dataclass(frozen=True, slots=True)
class DictionaryFigures:
    """The dictionary of a level: bytes of it and of a mean page (view) in the best coding, and of it as it is.

    ``first`` is a page for visitors without the dictionary, ``next`` with it. Where none pays, ``path`` is None, and
    ``reason`` says why.
    """

    level: str
    path: str | None
    sha256: str | None
    size: int
    sent: int
    first: float
    next: float
    reason: str
    visit: VisitFigures | None = None


@dataclass(frozen=True, slots=True)
class TrafficFigures:
    """Access logs in figures: page views, pages that were viewed, and the popular ones, which make up ``share``."""

    views: int
    viewed: int
    popular: int
    share: float


@dataclass(frozen=True, slots=True)
class BrowserFigures:
    """How many pages a browser looked at, how many are built by what held on pages like them, and how many without."""

    seen: int
    inferred: int
    unseen: int


class ScriptFigures(NamedTuple):
    """A script: its bytes in the best coding, and the share of it that ran, at most, on ``pages`` with it.

    These are the pages at which a browser looked.
    """

    path: str
    transfer: int
    share: float
    pages: int


@dataclass(frozen=True, slots=True)
class DiagnosticFigures:
    """How often one kind of diagnostic was met, and the first of them: at most ``SAMPLES``."""

    id: str
    severity: Severity
    count: int
    samples: tuple[Diagnostic, ...] = ()

    def gravity(self) -> tuple[int, int, str]:
        """Return the key by which the gravest and most frequent come first."""
        return (list(Severity).index(self.severity), -self.count, self.id)


SAMPLES = 200


@dataclass(frozen=True, slots=True)
class SiteFigures:
    """A whole build.

    ``levels`` go from the highest quality down; the others are compared with the first (``full``).
    ``view_ms``, ``request_ms`` and ``kilobyte_ms`` are the coefficients that the capacity factors were computed with.
    ``traffic`` is None when the means are over pages: there are no access logs, or no page views in them. ``browser``
    is None where no browser was wanted, ``proof`` where nothing was proven. ``scripts`` are those of which most bytes
    did not run where a browser looked, these first.
    """

    name: str
    docroot_files: int
    docroot_pages: int
    docroot_bytes: int
    levels: tuple[LevelFigures, ...]
    diagnostics: tuple[DiagnosticFigures, ...]
    tool_version: str
    effort: str
    request_ms: float = REQUEST_MS
    kilobyte_ms: float = KILOBYTE_MS
    traffic: TrafficFigures | None = None
    screenshots: tuple[PageShots, ...] = ()
    view_ms: float = 0.0
    dictionaries: tuple[DictionaryFigures, ...] = ()
    browser: BrowserFigures | None = None
    proof: ProofRecord | None = None
    scripts: tuple[ScriptFigures, ...] = ()


def restricted_levels(figures: SiteFigures) -> tuple[str, ...]:
    """Return the names of levels that have popular pages only."""
    if figures.traffic is None:
        return ()
    return tuple(level.level for level in figures.levels if level.pages < figures.docroot_pages)


def proof_sentence(proof: ProofRecord) -> str:
    """Return what a build proved, as a sentence."""
    pages = f"{written_plural(proof.pages, 'page')} proven at every level in a browser"
    if not proof.broken:
        return f"{pages}: every promise is kept."
    mended = f"{proof.dropped:,} {'pass' if proof.dropped == 1 else 'passes'} dropped"
    if proof.as_above:
        mended += f", {written_plural(proof.as_above, 'page')} as at the level above"
    if proof.alike:
        mended += f", {written_plural(proof.alike, 'page')} of their templates built like them"
    left = f"; {proof.left:,} still broken" if proof.left else ""
    return f"{pages}: {written_plural(proof.broken, 'broken promise')}, {mended}{left}."


def capacity_factor(
    requests: float,
    transfer: float,
    full_requests: float,
    full_transfer: float,
    *,
    request_ms: float = REQUEST_MS,
    kilobyte_ms: float = KILOBYTE_MS,
    view_ms: float = 0.0,
) -> float:
    """Return how many times as many page views a server can answer at a level as at ``full``.

    ``requests`` and ``transfer`` (bytes) are means of one page view. Utilization is U = aR + bW, with R
    requests and W kB a second (Abdelzaher, Shin and Bhatti 2002, equation 1), so at equal U the views go as
    the inverse of a * requests + b * kB. The paper has one request a connection; today a view opens a connection for
    all its requests, which costs ``view_ms`` in addition. Returns 1.0 where either costs nothing (a site without
    pages).
    """
    cost = view_ms + request_ms * requests + kilobyte_ms * transfer / 1000
    full = view_ms + request_ms * full_requests + kilobyte_ms * full_transfer / 1000
    return full / cost if cost > 0 and full > 0 else 1.0
