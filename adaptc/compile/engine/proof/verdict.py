"""Verdicts on pages, and where they are stored: under the digests of everything that was loaded for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from adaptc.browser.answers import Server
from adaptc.browser.evidence import code_digest
from adaptc.browser.judge import Difference, answer_digest
from adaptc.browser.robot import Robot
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.proof.records import ProvenView
from adaptc.core.diagnostics import Diagnostic, Location, diagnose, printable
from adaptc.core.digest import digest_parts
from adaptc.core.model import OWN_DIRECTORY
from adaptc.core.values import dataclass, field

UNLOADABLE = "unloadable"
"""The kind of difference where the original can be looked at, and the level cannot. Such a verdict is not stored."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: a page at a level and a width, in CSS pixels, by what is promised (``adaptc.browser.judge``).

    With a ``robot`` it is acted on as well.
    """

    page: str
    level: str
    width: int
    promised: str
    robot: Robot | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What differs; ``pictures`` are the digests of two WebP images in the cache, of the original and of the level.

    They show where the two begin to differ, or the top of the page where the level keeps what it promises.
    ``reason`` says why the page could not be judged. ``loaded`` are the URLs that the page asked for at the level.
    """

    case: Case
    differences: tuple[Difference, ...] = ()
    pictures: tuple[str, ...] = ()
    reason: str | None = None
    loaded: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_kept(self) -> bool:
        """Whether the level keeps what it promises."""
        return not self.differences and self.reason is None

    @property
    def differing(self) -> str:
        """What differs, in words."""
        return "; ".join(f"{each.kind}: {each.message}" for each in self.differences)


def diagnostic_of(verdict: Verdict) -> Diagnostic:
    """Return the diagnostic of a verdict that is not good."""
    place, case = Location(verdict.case.page), verdict.case
    if verdict.reason is not None:
        return diagnose("page-unproven", place, level=case.level, width=case.width, reason=verdict.reason)
    return diagnose("promise-broken", place, level=case.level, width=case.width, differences=verdict.differing)


# Pages of which reports have pictures, at every level and width
SHOWN_PAGES = 12


def views_of(verdicts: Iterable[Verdict]) -> Iterator[ProvenView]:
    """Yield what reports show of verdicts: those that are not good, and all of the first ``SHOWN_PAGES`` pages."""
    shown = set[str]()
    for verdict in verdicts:
        case, reason = verdict.case, verdict.reason
        if len(shown) < SHOWN_PAGES:
            shown.add(case.page)
        if case.page in shown or not verdict.is_kept:
            problems = [f"{each.kind}: {each.message}" for each in verdict.differences]
            problems += [f"not proven: {reason}"] if reason is not None else []
            yield ProvenView(case.page, case.level, case.width, tuple(problems), verdict.pictures)


def reason_of(verdict: Verdict, path: str) -> str:
    """Return why a pass of the file ``path`` is dropped: what a browser "shows" on the page, which may be this file."""
    place = "" if path == verdict.case.page else f"{printable(verdict.case.page)} "
    return f"{place}at {verdict.case.width} pixels shows {verdict.differing or verdict.reason}"


class Answers:
    """A server, with the digests of what it answers."""

    def __init__(self, server: Server) -> None:
        self.server, self._digests = server, dict[str, str]()

    def gives(self, answers: Mapping[str, str]) -> bool:
        """Whether every URL has the answer of this digest."""
        # a file of our own is there when the page or sheet that names it was made
        ordered = sorted(answers, key=lambda url: OWN_DIRECTORY in url)
        return all(self._digest(url) == answers[url] for url in ordered)

    def _digest(self, url: str) -> str:
        if url not in self._digests:
            self._digests[url] = answer_digest(self.server(url))
        return self._digests[url]


# Verdicts that are kept of a case: those on the page with other passes dropped, too
_KEPT = 32


class VerdictStore:
    """Verdicts in the cache, each with the digests of all that was loaded of the original and of the level.

    Those on broken promises are not found if ``finds_broken`` is false: the machine may have been busy.
    """

    def __init__(self, store: Store, *, finds_broken: bool = True) -> None:
        self.store, self.finds_broken = store, finds_broken

    def find(self, case: Case, url: str, original: Answers, level: Answers) -> Verdict | None:
        """Return the verdict on a case if everything that was loaded for it is as it was."""
        for record in self._records(case, url):
            if record["differences"] and not self.finds_broken:
                continue
            if original.gives(record["original"]) and level.gives(record["level"]):
                found = tuple(Difference(kind, message) for kind, message in record["differences"])
                return Verdict(case, found, tuple(record["pictures"]), loaded=tuple(record["level"]))
        return None

    def put(self, verdict: Verdict, url: str, original: Mapping[str, str], level: Mapping[str, str]) -> None:
        """Store a verdict with the digests of the answers that it is based on, by URL."""
        found = [(each.kind, each.message) for each in verdict.differences]
        record = {"original": original, "level": level, "differences": found, "pictures": verdict.pictures}
        others = [
            other
            for other in self._records(verdict.case, url)
            if (other["original"], other["level"]) != (original, level)
        ]
        self.store.put_record(_key(verdict.case, url), [record, *others][:_KEPT])

    def _records(self, case: Case, url: str) -> list[Any]:
        """Return the records of the verdicts on a case, the last first."""
        return self.store.record(_key(case, url)) or []


def _key(case: Case, url: str) -> str:
    acted = (str(case.robot),) if case.robot is not None else ()
    return digest_parts("verdicts", code_digest(), url, case.level, str(case.width), case.promised, *acted)
