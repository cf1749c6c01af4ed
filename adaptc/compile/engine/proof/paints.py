"""How soon pages are shown at each level on an emulated line, and where that is stored: with what was loaded for it."""

from __future__ import annotations

from collections.abc import Mapping

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.evidence import code_digest
from adaptc.browser.judge import Recorder
from adaptc.browser.paint import LINES, Paint, load_by_phone, median_paint
from adaptc.browser.tab import BrowserError
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.proof.prover import Levels
from adaptc.compile.engine.proof.verdict import Answers
from adaptc.compile.engine.reporting import Progress
from adaptc.core.digest import digest_parts
from adaptc.core.media import HTML
from adaptc.core.values import asdict, dataclass, field

# Loads of each page at each level; the median counts
_LOADS = 3
_EMPTY = Answer(b"<!DOCTYPE html>.", HTML)
ORIGINAL = "original"
"""What stands for the original in place of a level."""


@dataclass(frozen=True, slots=True)
class PagePaint:
    """A page at a level, or the original: how soon it is shown on a line, or why that is not known."""

    page: str
    level: str
    paint: Paint | None = None
    reason: str | None = None


@dataclass(eq=False)
class _Measured:
    """A page at levels that give the same answers: its loads, the digests of all answers, and why it is not loaded."""

    server: Server
    levels: list[str]
    loads: list[Paint] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    reason: str | None = None


# Figures, or why there are none
_Found = tuple[Paint | None, str | None]


class Painter:
    """Measures pages on the line ``line`` of ``LINES``: of the original, and at each level.

    Figures are stored under the digests of what was loaded: what did not change is not measured again. They are
    medians of three loads, in turn; where it is ``quick``, those of one, and the processor is not slowed down. An empty
    page is loaded first then, as the first load of a browser is slow.
    """

    def __init__(self, program: str, levels: Levels, line: str, store: Store, *, quick: bool = False) -> None:
        self.program, self.line, self.store = program, line, store
        self.quick, self.loads = quick, 1 if quick else _LOADS
        self.servers = {ORIGINAL: levels.original, **levels.servers}
        self.answers = {name: Answers(server) for name, server in self.servers.items()}

    def measure(self, urls: Mapping[str, str], progress: Progress) -> list[PagePaint]:
        """Return the figures of the pages ``urls`` (path to address), in their order, by level.

        Raises ``BrowserError`` if the browser cannot be started.
        """
        known = {page: self._known(url) for page, url in urls.items()}
        pending = [page for page, found in known.items() if len(found) < len(self.servers)]

        async def work(browser: Chromium) -> None:
            await browser.start()
            if self.quick:
                await load_by_phone(browser, lambda _: _EMPTY, urls[pending[0]], LINES[self.line], is_slow=False)
            for page in pending:  # one at a time: side by side, each would wait for the others
                known[page] = await self._measure_page(browser, urls[page])
                browser.advance(1)

        if pending:
            progress.begin("measuring", len(pending), 0)
            try:
                in_chromium(self.program, work, lambda count: progress.advance(count, 0, 0), reaches_loopback=True)
            finally:
                progress.end()
        return [PagePaint(page, level, *found[level]) for page, found in known.items() for level in self.servers]

    async def _measure_page(self, browser: Chromium, url: str) -> dict[str, _Found]:
        """Measure a page at all levels, in turn."""
        measured: list[_Measured] = []
        for level, server in self.servers.items():
            same = (one for one in measured if one.reason is None and self.answers[level].gives(one.answers))
            if (one := next(same, None)) is not None:
                one.levels.append(level)
            else:
                measured.append(_Measured(server, [level]))
                await self._load(browser, url, measured[-1])
        for _ in range(self.loads - 1):
            for one in measured:
                await self._load(browser, url, one)
        return {level: self._found(url, level, one) for one in measured for level in one.levels}

    async def _load(self, browser: Chromium, url: str, one: _Measured) -> None:
        if one.reason is not None:
            return
        recorder = Recorder(one.server)
        try:
            is_slow = not self.quick
            one.loads.append(await load_by_phone(browser, recorder, url, LINES[self.line], is_slow=is_slow))
        except BrowserError as error:
            one.reason = str(error)
        one.answers.update(recorder.digests)

    def _found(self, url: str, level: str, one: _Measured) -> _Found:
        """Return the figures of a level, and store them."""
        if one.reason is not None:
            return None, one.reason
        paint = median_paint(one.loads)
        self.store.put_record(self._key(url, level), {"answers": one.answers, "paint": asdict(paint)})
        return paint, None

    def _known(self, url: str) -> dict[str, _Found]:
        found: dict[str, _Found] = {}
        for level, answers in self.answers.items():
            record = self.store.record(self._key(url, level))
            if record is not None and answers.gives(record["answers"]):
                found[level] = (Paint(**record["paint"]), None)
        return found

    def _key(self, url: str, level: str) -> str:
        return digest_parts("paints", code_digest(), url, level, self.line, str(self.loads), str(self.quick))
