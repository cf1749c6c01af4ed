"""Finds the passes to drop so that every page that is proven keeps what its levels promise.

It goes in rounds. In each, all pages are judged under the passes that are dropped so far, and for each that breaks a
promise one pass is found that is to blame. The findings of a round are put together before the next, so that the order
of pages does not matter. Every verdict is stored, and so the same search on the same site asks no browser.

The pass to blame is found by a binary search over the passes that may have changed a page. Those of the page come
first, those of the files that it loads after them: a bad sheet shows only in a page that a pass has put it into.
Without any pass a page is whole; some first number of passes is enough to break it, and the last of them is to blame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from adaptc.browser.answers import Server, file_at
from adaptc.browser.chromium import Chromium
from adaptc.browser.evidence import WIDTHS
from adaptc.browser.judge import promised_by
from adaptc.compile.analyse.demotions import Demotion, Demotions, with_demotions
from adaptc.compile.engine.proof.candidates import CandidateLevel, Candidates, Terms
from adaptc.compile.engine.proof.prover import PageProver, address_to_prove, pages_at_once
from adaptc.compile.engine.proof.verdict import UNLOADABLE, Answers, Case, Verdict, VerdictStore, reason_of
from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import Unit
from adaptc.compile.pipeline import AlternatePass, AssetPass, Plan, SidecarPass, levels_above
from adaptc.core.media import HTML
from adaptc.core.model import FORMATS
from adaptc.core.values import dataclass, field
from adaptc.site.header_rules import PageHeaders
from adaptc.site.site import Site

# Passes of a page that are dropped one by one: then the page is as it is at the level above
_MOST_PASSES = 3
# Rounds in which passes are dropped one by one: then all of a page and of what it loads
_MOST_ROUNDS = 8

# What a search found to be dropped
_Found = list[tuple[Unit, Demotion]]


@dataclass(frozen=True, slots=True)
class ProofSite:
    """What is proven: the server of the original, the site, the levels, and what goes with every page."""

    original: Server
    site: Site
    plans: Mapping[str, Plan]
    headers: PageHeaders


@dataclass(eq=False)
class Search:
    """A search over ``pages``. ``broken`` are the units that broke a promise at first, ``verdicts`` the last ones."""

    proof_site: ProofSite
    candidates: Candidates
    store: VerdictStore
    pages: Sequence[str]
    demotions: Demotions = field(default_factory=dict)
    broken: set[Unit] = field(default_factory=set)
    verdicts: dict[Case, Verdict] = field(default_factory=dict)
    is_unsure: bool = False  # whether a level could not be looked at, which may be otherwise next time
    # what looks at the pages of which a pass was found in the last round: the next one knows what it saw
    _provers: dict[str, list[PageProver]] = field(default_factory=dict)

    async def run(self, browser: Chromium) -> None:
        """Search until nothing more is to be dropped. Raises ``BrowserError`` where no browser starts."""
        original, rounds, is_last = Answers(self.proof_site.original), 0, False
        while True:
            before, rounds = self.demotions, rounds + 1
            self.demotions = with_demotions(before, await self._round(browser, original, is_last=is_last))
            is_settled = self.demotions == before
            if is_settled and (is_last or not any(verdict.differences for verdict in self.verdicts.values())):
                return
            is_last = is_settled or rounds >= _MOST_ROUNDS

    async def _round(self, browser: Chromium, original: Answers, *, is_last: bool) -> _Found:
        tabs = asyncio.Semaphore(pages_at_once())
        levels = self.levels(Terms.of(self.demotions))

        async def search(page: str) -> _Found:
            async with tabs:
                provers = self._provers.pop(page, None) or self._provers_of(page, browser, original)
                found = await _PageSearch(self, page, provers, levels).run(is_last=is_last)
            if found:
                self._provers[page] = provers
            browser.advance(1)
            return found

        done = await asyncio.gather(*map(search, self.pages))
        return [each for found in done for each in found]

    def _provers_of(self, page: str, browser: Chromium, original: Answers) -> list[PageProver]:
        proven = self.proof_site
        url = address_to_prove(page, proven.site, proven.original, proven.headers.hosts)
        return [PageProver(browser, self.store, original, url, width) for width in WIDTHS]

    def levels(self, terms: Terms) -> dict[str, CandidateLevel]:
        """Return all levels under terms."""
        site = self.proof_site.site
        return {name: CandidateLevel(self.candidates, terms, name, site) for name in self.proof_site.plans}


class _PageSearch:
    """A round of a search for one page."""

    def __init__(
        self, search: Search, page: str, provers: Sequence[PageProver], levels: Mapping[str, CandidateLevel]
    ) -> None:
        self.search, self.page, self.provers, self.levels = search, page, provers, levels
        self.above = levels_above(plan.level for plan in search.proof_site.plans.values())

    async def run(self, *, is_last: bool) -> _Found:
        """Judge the page at each level, and return what is to be dropped."""
        broken, found = set[str](), _Found()
        for name, level in self.levels.items():
            verdicts = [await self._judge(level, prover) for prover in self.provers]
            self.search.verdicts.update((verdict.case, verdict) for verdict in verdicts)
            self.search.is_unsure |= any(
                each.kind == UNLOADABLE for verdict in verdicts for each in verdict.differences
            )
            shown = next((verdict for verdict in verdicts if verdict.differences), None)
            if shown is None:
                continue
            broken.add(name)
            self.search.broken.add((name, self.page))
            # a page may be as it is at the level above, which is mended first
            if is_last or self.above.get(name) not in broken:
                found += await self._blame(level, shown, is_last=is_last)
        return found

    async def _judge(self, level: CandidateLevel, prover: PageProver) -> Verdict:
        proof_site = self.search.proof_site
        promised = promised_by(proof_site.plans[level.level].level)
        case = Case(self.page, level.level, prover.width, promised)
        return await prover.judge(case, Answers(level.server(proof_site.headers)))

    async def _blame(self, level: CandidateLevel, broken: Verdict, *, is_last: bool) -> _Found:
        """Return the pass to drop; all of the page and of its files if no single one is found."""
        unit, plan = (level.level, self.page), self.search.proof_site.plans[level.level]
        found = await asyncio.to_thread(suspects, level, plan, self.page, broken.loaded)
        if is_last:
            return self._all(level, found, broken)
        culprit = await self._culprit(level, found, broken)
        if culprit is None:
            return self._all(level, found, broken)
        (blamed, name), shown = culprit
        if blamed == unit and len(level.demotions.get(unit, ())) >= _MOST_PASSES:
            name = level.level
        return [(blamed, Demotion(name, reason_of(shown, blamed[1])))]

    async def _culprit(
        self, level: CandidateLevel, found: Sequence[Suspect], broken: Verdict
    ) -> tuple[Suspect, Verdict] | None:
        """Return the pass to blame, and what it breaks.

        A page without some of its passes may be too large, and would lose others or be as it is at the level above. So
        it is searched without regard to its size first, if it breaks the promise then.
        """
        page = (level.level, self.page)
        unit = await asyncio.to_thread(level.unit, self.page)
        lost = unit.demoted if unit is not None else ()
        base = with_demotions(level.demotions, ((page, Demotion(name, "")) for name in lost if name != level.level))
        found = [(suspect, name) for suspect, name in found if suspect != page or name not in lost]
        for alone in (True, False):

            async def judge(demotions: Demotions, alone: bool = alone) -> Verdict | None:
                return await self._judge_under(Terms.of(demotions, alone=alone), level.level, broken.case.width)

            shown = await judge(base) if alone else broken
            if shown is not None:
                return await find_culprit(base, found, shown, judge)
        return None

    def _all(self, level: CandidateLevel, found: Sequence[Suspect], shown: Verdict) -> _Found:
        page = (level.level, self.page)
        dropped = [*(suspect for suspect in found if suspect[0] != page), (page, level.level)]
        return [(unit, Demotion(name, reason_of(shown, unit[1]))) for unit, name in dropped]

    async def _judge_under(self, terms: Terms, level: str, first: int) -> Verdict | None:
        """Return the first verdict on a level under terms that is not good; the width ``first`` is judged first."""
        candidate = self.search.levels(terms)[level]
        for prover in sorted(self.provers, key=lambda prover: prover.width != first):
            verdict = await self._judge(candidate, prover)
            if not verdict.is_kept:
                return verdict
        return None


# ---- which pass is to blame

# A pass of a unit, by name
Suspect = tuple[Unit, str]
# Judges the page under demotions: the first verdict that is not good, or ``None``
Judge = Callable[[Demotions], Awaitable[Verdict | None]]


def suspects(level: CandidateLevel, plan: Plan, page: str, loaded: Sequence[str]) -> list[Suspect]:
    """Return the passes that may be to blame for a page that loads the URLs ``loaded``, and are not dropped yet."""
    files, demotions = sorted(_files(level, page, loaded), key=lambda path: (path != page, path)), level.demotions
    pairs = (
        ((level.level, path), name) for path in files for name in _passes(plan, level.site.sources[path].media_type)
    )
    return [(unit, name) for unit, name in pairs if not _is_dropped(demotions, unit, name)]


def _passes(plan: Plan, media_type: str) -> list[str]:
    if media_type == HTML:
        return [step.name for step in plan.steps_for(HTML) if not isinstance(step.pass_, SidecarPass)]
    own = [step.name for step in plan.steps_of(AssetPass, media_type)]
    return own + [step.name for step in plan.steps_of(AlternatePass, media_type)]


def _is_dropped(demotions: Demotions, unit: Unit, name: str) -> bool:
    return not {name, unit[0]}.isdisjoint(each.name for each in demotions.get(unit, ()))


def _files(level: CandidateLevel, page: str, loaded: Sequence[str]) -> Iterator[str]:
    """Yield the page, and the files that differ at the level of those that it loads, or that are in them."""
    pending, known = [page, *filter(None, (file_at(level.site, url) for url in loaded))], set[str]()
    while pending:
        path = pending.pop()
        result = level.unit(path) if path not in known else None
        known.add(path)
        if result is not None and (_differs(result) or path == page):
            yield path
            pending += result.dependencies


def _differs(result: UnitResult) -> bool:
    """Whether a browser may get other bytes than those of the original."""
    return result.changed or any(output.coding in FORMATS for output in result.outputs)


async def find_culprit(
    demotions: Demotions, found: Sequence[Suspect], broken: Verdict, judge: Judge
) -> tuple[Suspect, Verdict] | None:
    """Return the pass to blame, and the verdict that shows it; ``None`` if the page is broken without any of them.

    ``broken`` is the verdict with all of them.
    """
    if not found or await judge(_with_first(demotions, found, 0)) is not None:
        return None
    good, bad, shown = 0, len(found), broken
    while bad - good > 1:
        middle = (good + bad) // 2
        verdict = await judge(_with_first(demotions, found, middle))
        if verdict is None:
            good = middle
        else:
            bad, shown = middle, verdict
    return found[bad - 1], shown


def _with_first(demotions: Demotions, found: Sequence[Suspect], count: int) -> Demotions:
    """Return demotions that leave the first ``count`` of the passes ``found``."""
    return with_demotions(demotions, ((unit, Demotion(name, "")) for unit, name in found[count:]))
