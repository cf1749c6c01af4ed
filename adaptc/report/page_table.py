"""The pages of a build as the report holds them: a row a page, and tables of what rows have in common.

Sites of 32,000 pages at four levels have 128,000 sets of figures and millions of actions, most of them alike,
since the pages come from a few templates. So the ledger has a row of each page as text, and passes, subjects, reasons,
actions and whole lists of actions are interned: each distinct one is kept once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from adaptc.core.diagnostics import printable
from adaptc.core.model import Action
from adaptc.core.values import dataclass
from adaptc.report.ledger import MARK, Ledger

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


@dataclass(frozen=True, slots=True)
class PageTable:
    """All pages: ``count`` rows by path in the order of bytes, and the tables that their numbers point into.

    ``rows`` are JSON, with commas in between. A row is ``[path, cost of each level, views]``. A cost is ``null`` where
    the level lacks the page, or ``[requests, bytes, bytes as sent, own bytes, own bytes as sent, demoted, actions,
    actions beyond the limits]``; demoted and actions are numbers in ``demotions`` and ``lists``.
    """

    rows: str
    count: int
    words: tuple[str, ...]
    demotions: tuple[tuple[int, ...], ...]  # of words
    actions: tuple[tuple[int, ...], ...]  # pass, verb, subject, reason (words) and count
    lists: tuple[tuple[int, ...], ...]  # of actions


def tabulate_pages(ledger: Ledger) -> PageTable:
    """Read the pages of a ledger."""
    # a loop over 200,000 costs takes a second
    rows = ledger.page_rows()
    pieces = ",".join(rows).split(MARK)
    used = dict.fromkeys(pieces[1::2])  # in the order of pages
    tables = _Tables(ledger, used)
    numbers = {key: tables.add(*map(int, key.split())) for key in used}
    pieces[1::2] = map(numbers.__getitem__, pieces[1::2])
    return PageTable(
        "".join(pieces),
        len(rows),
        tuple(tables.words.numbers),
        tuple(tables.demotions.numbers),
        tuple(tables.actions.numbers),
        tuple(tables.lists.numbers),
    )


class _Tables:
    """The tables for lists of a ledger, each pair of which is ``used`` by costs: of actions, and of demoted passes."""

    def __init__(self, ledger: Ledger, used: Iterable[str]) -> None:
        self.words: Interned[str] = Interned()
        self.demotions: Interned[tuple[int, ...]] = Interned()
        self.actions: Interned[tuple[int, ...]] = Interned()
        self.lists: Interned[tuple[int, ...]] = Interned()
        self.listed = 0
        self._actions, self._demoted = ledger.lists({int(number) for key in used for number in key.split()})
        self._known: dict[int, int] = {}  # actions are shared

    def add(self, actions: int, demoted: int) -> str:
        """Add lists of the ledger; return the numbers of passes and actions, and how many actions are left out."""
        every = self._actions[actions]
        listed = every[: self._room()]
        passes = self.demotions.number(tuple(map(self._word, self._demoted[demoted])))
        number = self._list(tuple(map(self._action, listed)))
        return f"{passes},{number},{len(every) - len(listed)}"

    def _word(self, text: str) -> int:
        return self.words.number(printable(text))

    def _room(self) -> int:
        full = len(self.actions) >= DISTINCT_ACTIONS or self.listed >= LISTED_ACTIONS
        return 0 if full else ACTIONS_A_PAGE

    def _action(self, action: Action) -> int:
        number = self._known.get(id(action))
        if number is None:
            words = (action.pass_name, action.verb, action.subject, action.reason)
            number = self._known[id(action)] = self.actions.number((*map(self._word, words), action.count))
        return number

    def _list(self, actions: tuple[int, ...]) -> int:
        known = len(self.lists)
        number = self.lists.number(actions)
        self.listed += len(actions) if number == known else 0
        return number
