"""The search for a dictionary for the pages of a level: the one with which visitors receive the fewest bytes.

A visitor gets the first page and the dictionary as others get them, and the next pages encoded with the dictionary; who
was there before has the dictionary. Candidates are what several pages of a sample have in common, once, for several
numbers of pages; and whole pages of median size. They are compared on other pages of the site.

Measured on 22 levels of twelve sites (templates, manuals, slides): dictionaries that zstd trains (32 and 110
KiB) lost every time. They save more only where they are so large that their own download costs more than that.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from adaptc.core.values import dataclass
from adaptc.formats.codings import encode
from adaptc.formats.dictionary import MOST_BYTES, DictionaryCodec, nameable

if TYPE_CHECKING:
    from adaptc.compile.analyse.decisions import DeliveryCost
    from adaptc.core.model import Effort

VERSION = "3"
"""The version of the search; raise it when it finds other dictionaries for the same pages."""

# Pages of the sample, and their bytes: enough for a median, and for a second of work
MOST_PAGES = 48
MOST_SAMPLED = 16 << 20

# Bytes of header fields: those of the answer that has the dictionary, and the field Link that names it
FIELDS = 600

# First visits of pages with little in common take more bytes with a dictionary. What those lose, on the mean of all
# first visits, may be so large a part of what first visits save
MOST_LOSS = 0.1
# Visits of which that is computed, and pages of all of them at most
_VISITS, _VISITED = 1_000, 20_000

# A dictionary is sent in Brotli at its best, which takes too long for each candidate: so much of its size at the least
# effort was left of nine dictionaries, 0.86 to 0.93
DICTIONARY_EFFORT: Effort = "max"
_BEST = 0.92

# A new dictionary takes the place of the last one, which visitors hold, when it saves more than this share
LEAST_GAIN = 0.1


@dataclass(frozen=True, slots=True)
class SampledPage:
    """A page of the sample: its content, its bytes as sent without a dictionary, and its weight (its views, or 1)."""

    content: bytes
    sent: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Visit:
    """What a visitor receives for the pages of a visit, in bytes.

    ``plain`` is the mean of a page without a dictionary, ``coded`` with it, ``download`` the dictionary as sent.
    ``loss`` is the mean of a first visit of what those lose that take more bytes with it, as their pages save little.
    """

    cost: DeliveryCost
    plain: float
    coded: float
    download: int
    loss: float = 0.0

    @property
    def without(self) -> float:
        """The bytes of a visit without a dictionary."""
        return self.cost.pages_per_visit * self.plain

    @property
    def first(self) -> float:
        """The bytes of the first visit."""
        return self.plain + self.download + FIELDS + (self.cost.pages_per_visit - 1) * self.coded

    @property
    def expected(self) -> float:
        """The bytes of a visit on average, later ones included, for browsers that take dictionaries."""
        return (1 - self.cost.warm_share) * self.first + self.cost.warm_share * self.later

    @property
    def later(self) -> float:
        """The bytes of a visit with the dictionary of an earlier one."""
        return self.cost.pages_per_visit * self.coded

    @property
    def mean(self) -> float:
        """The bytes of a visit on average, for all browsers."""
        share = self.cost.dictionary_share
        return share * self.expected + (1 - share) * self.without

    @property
    def pays(self) -> bool:
        """Whether first visits take fewer bytes than without the dictionary, and few of them more."""
        saving = self.without - self.first
        return saving > 0 and self.loss <= MOST_LOSS * saving


@dataclass(frozen=True, slots=True)
class Found:
    """The best dictionary, with its visit; ``dictionary`` is ``None`` where none pays, or there is none at all."""

    dictionary: bytes | None
    visit: Visit | None


def search(pages: Sequence[SampledPage], last: bytes | None, cost: DeliveryCost, effort: Effort) -> Found:
    """Return the dictionary for pages like these; ``last`` is the one that visitors may hold.

    Candidates are compared at the least effort, in which dictionaries save about as much; what is returned has figures
    of ``effort``.
    """
    training, tested = _split(pages)
    weigh = _weigher(tested, cost)
    candidates = [nameable(content) for content in dict.fromkeys(candidates_of(training)) if content]
    visits = [weigh(candidate, "fast", round(_BEST * len(encode(candidate, "br", "fast")))) for candidate in candidates]
    ranks = [(not visit.pays, visit.expected, number) for number, visit in enumerate(visits)]
    best = candidates[min(ranks)[2]] if ranks else None
    chosen = [dictionary for dictionary in (best, last) if dictionary is not None]
    found = [Found(each, weigh(each, effort, len(encode(each, "br", DICTIONARY_EFFORT)))) for each in chosen]
    return _stable(found, last) if found else Found(None, None)


def _stable(found: Sequence[Found], last: bytes | None) -> Found:
    """Return the best of what pays; the last dictionary as long as another would save little more."""

    def rank(each: Found) -> float:
        assert each.visit is not None
        return each.visit.expected * (1 - LEAST_GAIN if each.dictionary == last else 1)

    best = min(found, key=rank)
    paying = [each for each in found if each.visit is not None and each.visit.pays]
    return min(paying, key=rank) if paying else Found(None, best.visit)


def _split(pages: Sequence[SampledPage]) -> tuple[Sequence[SampledPage], Sequence[SampledPage]]:
    """Return the pages to make dictionaries of, and those to test them on: other ones, except on a small site."""
    return (pages[::2], pages[1::2]) if len(pages) >= MOST_PAGES // 2 else (pages, pages)


def _weigher(pages: Sequence[SampledPage], cost: DeliveryCost) -> Callable[[bytes, Effort, int], Visit]:
    weights = [page.weight for page in pages]
    plain = fmean([page.sent for page in pages], weights)

    def weigh(dictionary: bytes, effort: Effort, download: int) -> Visit:
        codec = DictionaryCodec(dictionary, effort)
        coded = [min(page.sent, len(codec.encode(page.content))) for page in pages]
        savings = [page.sent - size for page, size in zip(pages, coded, strict=True)]
        loss = _loss(savings, weights, download + FIELDS, round(cost.pages_per_visit) - 1)
        return Visit(cost, plain, fmean(coded, weights), download, loss)

    return weigh


def _loss(savings: Sequence[int], weights: Sequence[int], download: int, count: int) -> float:
    """Return the mean, over visits, of the bytes by which ``count`` pages save less than the ``download``."""
    visits, rng = max(min(_VISITS, _VISITED // max(count, 1)), 1), random.Random(0)
    totals = (sum(rng.choices(savings, weights, k=count)) for _ in range(visits))
    return fmean(max(download - total, 0) for total in totals)


# ---- candidates

# A piece ends after what ends a tag, a rule, a statement or a line
_PIECE = re.compile(rb"[^>;}\n]*[>;}\n]+|[^>;}\n]+")

# A run of common pieces that is shorter costs more than it saves; shorter ones are mostly tags that pages have anyway
_LEAST_RUN = 64

# Common is what so many pages have, or so large a share of them
_LEAST_COUNTS = (2, 3)
_LEAST_SHARES = (1 / 6, 1 / 3, 1 / 2)
_WHOLE_PAGES = (1, 2, 3)


def candidates_of(pages: Sequence[SampledPage]) -> Iterator[bytes]:
    """Yield contents of dictionaries, each of ``MOST_BYTES`` at most."""
    contents = _median_first([page.content for page in pages])
    for number in _WHOLE_PAGES:
        whole = b"".join(contents[:number])
        if len(whole) < MOST_BYTES:
            yield whole
    pieces = [_PIECE.findall(content) for content in contents]
    counts = Counter(piece for page in pieces for piece in set(page))
    for least in sorted({*_LEAST_COUNTS, *(round(len(pages) * share) for share in _LEAST_SHARES)}):
        if 2 <= least <= len(pages):
            yield _common(pieces, {piece for piece, count in counts.items() if count >= least})


def _median_first(contents: Sequence[bytes]) -> list[bytes]:
    """Sort contents by how near their size is to the median."""
    by_size = sorted(contents, key=lambda content: (len(content), content))
    middle = len(by_size) // 2
    return [by_size[number] for number in sorted(range(len(by_size)), key=lambda number: abs(number - middle))]


def _common(pages: Sequence[Sequence[bytes]], common: set[bytes]) -> bytes:
    """Return the runs of ``common`` pieces of all pages, each piece once, in the order of the pages."""
    runs: list[bytes] = []
    size = 0
    for page in pages:
        for run in _runs(page, common):
            if size + len(run) < MOST_BYTES:
                runs.append(run)
                size += len(run)
    return b"".join(runs)


def _runs(page: Sequence[bytes], common: set[bytes]) -> Iterator[bytes]:
    """Yield the runs of ``common`` pieces of a page, and remove what was yielded from ``common``."""
    run: list[bytes] = []
    for piece in (*page, None):
        if piece is not None and piece in common:
            run.append(piece)
            continue
        if sum(map(len, run)) >= _LEAST_RUN:
            common.difference_update(run)
            yield b"".join(run)
        run = []
