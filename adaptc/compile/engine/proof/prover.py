"""Proves pages: loads each at every level, several tabs side by side, and judges what a browser shows.

The original is loaded once, and again only where a level seems to differ, beside that level: what a page changes from
one load to the next is no difference. A level that would load the same bytes as one before is not loaded.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

from adaptc.browser.answers import ANYWHERE, Server
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.evidence import WIDTHS
from adaptc.browser.judge import CONTENT, EDITION, Difference, PageView, differences, view_page
from adaptc.browser.pictures import differing_parts, first_part
from adaptc.browser.robot import Act, Performance, Robot, acted_differences, perform
from adaptc.browser.tab import BrowserError
from adaptc.compile.engine.proof.verdict import UNLOADABLE, Answers, Case, Verdict, VerdictStore
from adaptc.compile.engine.reporting import Progress
from adaptc.core.model import EMBEDDED
from adaptc.core.urls import is_rooted
from adaptc.core.values import dataclass, replace
from adaptc.site.header_rules import HostRules
from adaptc.site.site import Site

T = TypeVar("T")
U = TypeVar("U")
# Loads of a page that seems to differ, each time with another load of the original
_LOADS = 3
# A page that cannot be looked at is tried again: a browser that another page crashed is started anew
_TRIES = 2


def pages_at_once() -> int:
    """Return how many pages are proven side by side."""
    return 2 * (os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Levels:
    """What is proven: the servers of the original and of each level, and what each level promises."""

    original: Server
    servers: Mapping[str, Server]
    promised: Mapping[str, str]


def address_to_prove(page: str, site: Site, original: Server, hosts: HostRules) -> str:
    """Return the URL at which a page is proven: of some depth where hosts send it for any, if it loads the same there.

    A page with relative addresses is broken there as it is.
    """
    url = site.url_for_readers(page)
    answer = original(url) if hosts.is_sent_anywhere(page) else None
    return url if answer is None or not _leads_from_root(answer.body) else site.address.url_of(ANYWHERE + page)


def _leads_from_root(content: bytes) -> bool:
    from adaptc.formats.css.references import css_references
    from adaptc.formats.html.document import Irreversible, parse, read_page
    from adaptc.formats.html.references import references

    try:
        tree = parse(read_page(content).text)
    except Irreversible:
        return False
    urls = [each.url for each in references(tree) if each.role in EMBEDDED]
    for style in tree.iter_elements("style"):
        urls += [each.url for each in css_references(style.text)]
    return all(is_rooted(url) or url.startswith("#") for url in urls)


class Prover:
    """Proves pages of a site; with a ``robot``, after each of its actions as well."""

    def __init__(self, program: str, levels: Levels, verdicts: VerdictStore, robot: Robot | None = None) -> None:
        self.program, self.verdicts, self.promised, self.robot = program, verdicts, levels.promised, robot
        self.original = Answers(levels.original)
        self.levels = {name: Answers(server) for name, server in levels.servers.items()}

    def prove(self, urls: Mapping[str, str], progress: Progress) -> list[Verdict]:
        """Return the verdicts on the pages ``urls`` (path to address), in their order, by level and width.

        Raises ``BrowserError`` if the browser cannot be started.
        """
        cases = {
            Case(page, level, width, self.promised[level], self.robot): url
            for page, url in urls.items()
            for level in self.levels
            for width in WIDTHS
        }
        known = {
            case: self.verdicts.find(case, url, self.original, self.levels[case.level]) for case, url in cases.items()
        }
        found = {case: verdict for case, verdict in known.items() if verdict is not None}
        pending = [case for case in cases if case not in found]
        if pending:
            found.update({verdict.case: verdict for verdict in self._look(pending, cases, progress)})
        return [found[case] for case in cases]

    def _look(self, pending: Sequence[Case], urls: Mapping[Case, str], progress: Progress) -> list[Verdict]:
        views: dict[tuple[str, int], list[Case]] = {}
        for case in pending:
            views.setdefault((case.page, case.width), []).append(case)
        tabs = asyncio.Semaphore(pages_at_once())

        async def judge(browser: Chromium, cases: list[Case]) -> list[Verdict]:
            async with tabs:
                page = PageProver(browser, self.verdicts, self.original, urls[cases[0]], cases[0].width)
                verdicts = [await page.judge(case, self.levels[case.level]) for case in cases]
            browser.advance(1)
            return verdicts

        async def work(browser: Chromium) -> list[Verdict]:
            done = await asyncio.gather(*(judge(browser, cases) for cases in views.values()))
            return [verdict for verdicts in done for verdict in verdicts]

        progress.begin("proving", len(views), 0)
        try:
            return in_chromium(self.program, work, lambda count: progress.advance(count, 0, 0))
        finally:
            progress.end()


class PageProver:
    """Judges a page at one width, against the server ``original``, at one level after the other."""

    def __init__(self, browser: Chromium, verdicts: VerdictStore, original: Answers, url: str, width: int) -> None:
        self.browser, self.verdicts, self.original, self.url, self.width = browser, verdicts, original, url, width
        self.originals: list[PageView] = []
        # loads of levels; those of one list got the same answers
        self.loads: list[list[PageView]] = []
        # what a robot did on the original, each time the same
        self.performances: list[Performance] = []
        self._tops: dict[bytes, str] = {}

    async def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return the verdict on a level, which gives ``answers``. Raises ``BrowserError`` where no browser starts."""
        known = await asyncio.to_thread(self.verdicts.find, case, self.url, self.original, answers)
        if known is not None:
            return known
        await self.browser.start()
        try:
            await self._original(0)
        except BrowserError as error:
            return Verdict(case, reason=str(error))
        return await self._judge_level(case, answers)

    async def _judge_level(self, case: Case, answers: Answers) -> Verdict:
        is_same = await self._gives(answers, self.originals[0])
        try:
            acted = await self._acted(case, answers)
            if is_same and not acted:
                return self._stored(Verdict(case, (), self._pictures(self.originals[0], ())), self.originals)
            loads = await self._loads_of(answers)
            found = await self._differences(loads, case.promised)
            while found and len(loads) < _LOADS:
                load, _ = await _together(self._look(answers.server), self._original(len(loads)))
                loads.append(load)
                found = await self._differences(loads, case.promised)
        except BrowserError as error:
            return await self._unloadable(case, error)
        pictures = await asyncio.to_thread(self._pictures, loads[0], found)
        return self._stored(Verdict(case, (*found, *acted), pictures), loads)

    async def _acted(self, case: Case, answers: Answers) -> tuple[Difference, ...]:
        """Return after which action of a robot a level differs, each time that the two are acted on in the same way.

        Nothing is asked of levels that keep the content alone: they have no scripts, or others.
        """
        if case.robot is None or case.promised in (CONTENT, EDITION):
            return ()
        first = await self._performance(case.robot, 0)
        if await asyncio.to_thread(answers.gives, first.answers):
            return ()
        found: tuple[Difference, ...] = ()
        for number in range(_LOADS):
            performance, _ = await _together(
                self._perform(answers.server, case.robot, first.acts), self._performance(case.robot, number)
            )
            found = acted_differences(self.performances, performance)
            if not found:
                break
        return found

    async def _performance(self, robot: Robot, number: int) -> Performance:
        """Return what was done on the original for the ``number``-th time."""
        while len(self.performances) <= number:
            acts = self.performances[0].acts if self.performances else None
            self.performances.append(await self._perform(self.original.server, robot, acts))
        return self.performances[number]

    async def _perform(self, server: Server, robot: Robot, acts: Sequence[Act] | None) -> Performance:
        for _ in range(_TRIES - 1):
            try:
                return await perform(self.browser, server, self.url, self.width, robot, acts)
            except BrowserError:
                continue
        return await perform(self.browser, server, self.url, self.width, robot, acts)

    async def _unloadable(self, case: Case, error: BrowserError) -> Verdict:
        """Blame the level for a page that cannot be looked at only if the original still can: machines may be busy."""
        try:
            await self._look(self.original.server)
        except BrowserError:
            return Verdict(case, reason=str(error))
        return Verdict(case, (Difference(UNLOADABLE, f"it could not be looked at: {error}"),))

    async def _original(self, number: int) -> PageView:
        """Return what the ``number``-th load of the original shows."""
        while len(self.originals) <= number:
            self.originals.append(await self._look(self.original.server))
        return self.originals[number]

    async def _loads_of(self, answers: Answers) -> list[PageView]:
        """Return the loads of what gives ``answers``, at least one."""
        for loads in self.loads:
            if await self._gives(answers, loads[0]):
                return loads
        loads = [await self._look(answers.server)]
        self.loads.append(loads)
        return loads

    async def _gives(self, answers: Answers, view: PageView) -> bool:
        return await asyncio.to_thread(answers.gives, view.answers)

    async def _look(self, server: Server) -> PageView:
        for _ in range(_TRIES - 1):
            try:
                return await view_page(self.browser, server, self.url, self.width)
            except BrowserError:
                continue
        return await view_page(self.browser, server, self.url, self.width)

    async def _differences(self, loads: Sequence[PageView], promised: str) -> tuple[Difference, ...]:
        """Return what differs in each of the loads of a level."""
        found = [await asyncio.to_thread(differences, self.originals, load, promised) for load in loads]
        return tuple(each for each in found[0] if all(each.kind in {other.kind for other in more} for more in found))

    def _pictures(self, view: PageView, found: Sequence[Difference]) -> tuple[str, ...]:
        """Store what is shown of the original and of a level: where they begin to differ, or the top of the page."""
        original = self.originals[0].picture
        if not found:
            return self._top(original), self._top(view.picture)
        return tuple(self.verdicts.store.put(webp) for webp in differing_parts(original, view.picture))

    def _top(self, picture: bytes) -> str:
        if picture not in self._tops:
            self._tops[picture] = self.verdicts.store.put(first_part(picture))
        return self._tops[picture]

    def _stored(self, verdict: Verdict, loads: Sequence[PageView]) -> Verdict:
        loaded = _answers(loads)
        original = {url: digest for each in self.performances for url, digest in each.answers.items()}
        self.verdicts.put(verdict, self.url, original | _answers(self.originals), loaded)
        return replace(verdict, loaded=tuple(loaded))


async def _together(level: Awaitable[T], original: Awaitable[U]) -> tuple[T, U]:
    """Wait for what a level and the original do side by side; where one cannot be looked at, the other is given up."""
    works = asyncio.ensure_future(level), asyncio.ensure_future(original)
    try:
        return await asyncio.gather(*works)
    finally:
        for work in works:
            work.cancel()
        await asyncio.wait(works)


def _answers(views: Iterable[PageView]) -> dict[str, str]:
    return {url: digest for view in views for url, digest in view.answers.items()}
