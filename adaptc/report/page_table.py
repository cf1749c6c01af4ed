"""The pages of a build gathered for the report: a row a page, and tables of what rows have in common.

Sites of 32,000 pages at four levels have 128,000 sets of figures and millions of actions, most of them alike,
since the pages come from a few templates. So pages are read once, numbers are kept as tuples, and passes,
subjects, reasons, actions and whole lists of actions are interned: each distinct one is kept once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Generic, NamedTuple, TypeVar

from adaptc.core.diagnostics import printable
from adaptc.core.model import Action
from adaptc.report.figures import PageFigures

# What a report holds at most; the report says how many actions are left out.
ACTIONS_A_PAGE = 200
DISTINCT_ACTIONS = 100_000
LISTED_ACTIONS = 600_000

T = TypeVar("T", bound=Hashable)


class Interned(Generic[T]):
    """A table that gives equal values one number, counted from 0 in the order of arrival."""

    def __init__(self) -> None:
        self.numbers: dict[T, int] = {}

    def number(self, value: T) -> int:
        """Return the number of ``value``, a new one where it is new."""
        return self.numbers.setdefault(value, len(self.numbers))

    def __len__(self) -> int:
        return len(self.numbers)


class Cost(NamedTuple):
    """A page at one level. ``demoted`` and ``actions`` are numbers in the tables of ``PageTable``."""

    requests: int
    identity: int
    transfer: int
    page: int
    page_transfer: int
    demoted: int
    actions: int
    unlisted: int  # actions beyond the limits


Costs = list[Cost | None]  # one a level, in their order; None where a level lacks the page


@dataclass(frozen=True, slots=True)
class PageTable:
    """All pages: ``rows`` by path in code point order, and the tables that their numbers point into.

    ``views`` are those of the pages that were viewed.
    """

    levels: tuple[str, ...]
    rows: dict[str, Costs]
    words: tuple[str, ...]
    demotions: tuple[tuple[int, ...], ...]  # of words
    actions: tuple[tuple[int, ...], ...]  # pass, verb, subject, reason (words) and count
    lists: tuple[tuple[int, ...], ...]  # of actions
    views: dict[str, int]


class _Tables:
    def __init__(self) -> None:
        self.words: Interned[str] = Interned()
        self.demotions: Interned[tuple[int, ...]] = Interned()
        self.actions: Interned[tuple[int, ...]] = Interned()
        self.lists: Interned[tuple[int, ...]] = Interned()
        self.listed = 0
        # pages share their lists, and these their actions: each is numbered once, and held so that no other gets its
        # identity
        self._numbers: dict[tuple[int, int], tuple[PageFigures, tuple[int, int, int]]] = {}
        self._known: dict[int, int] = {}

    def word(self, text: str) -> int:
        return self.words.number(printable(text))

    def cost(self, page: PageFigures) -> Cost:
        _, _, requests, identity, transfer, own, own_transfer, actions, demoted, _ = page
        key = (id(actions), id(demoted))
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = (page, self._lists(page))
        # without the call of Python that the constructor of a named tuple is
        return tuple.__new__(Cost, (requests, identity, transfer, own, own_transfer, *known[1]))

    def _lists(self, page: PageFigures) -> tuple[int, int, int]:
        """Return the numbers of a page's demotions and actions, and how many actions are left out."""
        demoted = self.demotions.number(tuple(map(self.word, page.demoted)))
        listed = page.actions[: self._room()]
        actions = self._list(tuple(map(self._action, listed)))
        return demoted, actions, len(page.actions) - len(listed)

    def _room(self) -> int:
        full = len(self.actions) >= DISTINCT_ACTIONS or self.listed >= LISTED_ACTIONS
        return 0 if full else ACTIONS_A_PAGE

    def _action(self, action: Action) -> int:
        number = self._known.get(id(action))
        if number is None:
            words = (action.pass_name, action.verb, action.subject, action.reason)
            number = self._known[id(action)] = self.actions.number((*map(self.word, words), action.count))
        return number

    def _list(self, actions: tuple[int, ...]) -> int:
        known = len(self.lists)
        number = self.lists.number(actions)
        self.listed += len(actions) if number == known else 0
        return number


def tabulate_pages(pages: Iterable[PageFigures], levels: Sequence[str]) -> PageTable:
    """Read ``pages`` once, in any order. Raises ``KeyError`` for a level that is not one of ``levels``."""
    place = {level: index for index, level in enumerate(levels)}
    tables, rows, views = _Tables(), dict[str, Costs](), dict[str, int]()
    for page in pages:
        path, level = page[0], page[1]
        costs = rows.get(path)
        if costs is None:
            costs = rows[path] = [None] * len(levels)
        costs[place[level]] = tables.cost(page)
        if page.views:
            views[path] = page.views
    return PageTable(
        tuple(levels),
        {path: rows[path] for path in sorted(rows)},
        tuple(tables.words.numbers),
        tuple(tables.demotions.numbers),
        tuple(tables.actions.numbers),
        tuple(tables.lists.numbers),
        views,
    )


def foremost(table: PageTable, level: int, count: int) -> list[tuple[str, Costs]]:
    """Return the ``count`` pages with the most views, and of those the ones that take the most bytes at a level."""

    def order(row: tuple[str, Costs]) -> tuple[int, int, str]:
        cost = row[1][level]
        return (-table.views.get(row[0], 0), -cost.transfer if cost else 0, row[0])

    return nsmallest(count, table.rows.items(), key=order)


def heaviest(table: PageTable, level: int, count: int) -> list[tuple[str, int]]:
    """Return the ``count`` pages that take the most bytes at a level, with these bytes."""
    sizes = ((path, cost.transfer) for path, costs in table.rows.items() if level >= 0 and (cost := costs[level]))
    return nsmallest(count, sizes, key=lambda row: (-row[1], row[0]))
