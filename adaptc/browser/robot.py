"""A robot that clicks, hovers, types and scrolls in a page, and what it sees after each of its actions.

What it does is chosen on the original, by numbers of chance that follow from the page's address: kinds of controls that
it touched least come first. The same actions are then done on a level, on the controls that say the same there. Clocks,
timers and animations are those of a ``Tab``: each action is followed by steps of the page's own time.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adaptc.browser.answers import Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.evidence import HEIGHTS
from adaptc.browser.judge import ASLEEP, LAYOUT, PROMISED, Difference, PageView, Recorder, Rule, values_of
from adaptc.browser.tab import RESTLESS, BrowserError, Tab, script
from adaptc.core.model import HELD_TYPE
from adaptc.core.values import dataclass, field, replace

# Steps of 50 ms that a page takes after an action: what opens by a timer of half a second is open then
_STEPS = 12
# How often each kind of action comes, where there is something for it
_WEIGHTS = {"click": 8, "hover": 4, "type": 3, "choose": 1, "follow": 1, "scroll": 3, "press": 2}
# What a page is left for is compared as well, but a few links are enough
_MOST_FOLLOWED = 3
_KEYS = ("Escape", "Tab", "Enter", "ArrowDown")
_TYPED = {"email": "a@example.org", "number": "12", "url": "https://example.org/", "tel": "12"}
_WORDS = "ab 12"
# Parts of the page's height to which it is scrolled
_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SCROLL = """async (part) => {
  const height = Math.max(document.documentElement.scrollHeight, document.body?.scrollHeight ?? 0)
  scrollTo({ top: Math.round(part * (height - innerHeight)), behavior: 'instant' })
}"""
_ONE_PIXEL = 1
_SCROLLED = "() => [Math.round(scrollX), Math.round(scrollY)]"
_ADDRESS = "() => location.origin + location.pathname"


@dataclass(frozen=True, slots=True)
class Robot:
    """What is done: ``count`` actions at the most, chosen by ``seed`` and the address of the page."""

    count: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Act:
    """An action: its kind, the key, number and place of its target, and what is typed, pressed or scrolled to."""

    kind: str
    key: str = ""
    number: int = 0
    value: str = ""
    place: int = 0

    def __str__(self) -> str:
        tag, _, said, *_ = [*self.key.split("|"), "", ""]
        target = f" {tag} “{said}”" if said else f" {tag}" if tag else ""
        value = f" {self.value}" if self.value else ""
        return f"{self.kind}{value}{target}"


@dataclass(frozen=True, slots=True)
class Performance:
    """The actions on a page, what was seen after each (the first view is that before all), and what was answered.

    A view is ``None`` where the target of the action was not there. Its ``links`` are the address that the page then
    has, and its ``names`` where it is scrolled to.
    """

    acts: tuple[Act, ...]
    views: tuple[PageView | None, ...]
    answers: dict[str, str] = field(default_factory=dict, compare=False)


async def perform(
    browser: Chromium, server: Server, url: str, width: int, robot: Robot, acts: Sequence[Act] | None = None
) -> Performance:
    """Act on a page in a tab of its own: as chosen by ``robot``, or as ``acts`` say. Raises ``BrowserError``."""
    recorder = Recorder(server)
    async with browser.tab(recorder, width, HEIGHTS[width]) as tab:
        try:
            async with asyncio.timeout(tab.patience * (2 + robot.count / 10)):
                await tab.load(url)
                await tab.stay()
                done, views = await _Player(tab, robot, url, width).play(acts)
        except TimeoutError:
            raise BrowserError(RESTLESS) from None
    return Performance(tuple(done), tuple(views), recorder.digests)


class _Player:
    def __init__(self, tab: Tab, robot: Robot, url: str, width: int) -> None:
        self.tab, self.robot = tab, robot
        self.chance = random.Random(f"{robot.seed} {width} {url}")
        self.touched: Counter[str] = Counter()
        self.used: set[tuple[str, str, int]] = set()
        self.loads = 0
        self.failed: frozenset[str] = frozenset()

    async def play(self, acts: Sequence[Act] | None) -> tuple[list[Act], list[PageView | None]]:
        first, targets = await self._look()
        done: list[Act] = []
        views: list[PageView | None] = [first]
        for place in range(self.robot.count if acts is None else len(acts)):
            act = self._choose(targets) if acts is None else acts[place]
            performed = await self._do(act, explores=acts is None)
            done.append(performed or act)
            if performed is None:
                views.append(None)
                break
            await self.tab.answer()
            await self.tab.advance(_STEPS)
            view, targets = await self._look()
            views.append(view)
            if acts is None and view.links != first.links:
                break  # a router shows another page, which is proven by itself
        return done, views

    # ---- what to do

    def _choose(self, targets: list[dict[str, Any]]) -> Act:
        pools = {kind: self._pool(kind, targets) for kind in _WEIGHTS}
        kinds = [kind for kind in _WEIGHTS if kind in ("scroll", "press") or pools[kind]]
        (kind,) = self.chance.choices(kinds, [_WEIGHTS[each] for each in kinds])
        if kind == "scroll":
            return Act(kind, value=str(self.chance.choice(_PARTS)))
        if kind == "press":
            return Act(kind, value=self.chance.choice(_KEYS))
        target = self.chance.choice(pools[kind])
        self.used.add((kind, target["key"], target["number"]))
        self.touched[kind + target["group"]] += 1
        self.touched[kind] += 1
        value = _TYPED.get(target["type"], _WORDS) if kind == "type" else ""
        return Act(kind, target["key"], target["number"], value, target["place"])

    def _pool(self, kind: str, targets: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the targets for a kind of action that are like those touched least; links to pages are few."""
        if kind == "follow" and self.touched[kind] >= _MOST_FOLLOWED:
            return []
        wanted = [
            each
            for each in targets
            if (kind, each["key"], each["number"]) not in self.used and kind in ("hover", each["purpose"])
        ]
        least = min((self.touched[kind + each["group"]] for each in wanted), default=0)
        return [each for each in wanted if self.touched[kind + each["group"]] == least]

    # ---- to do it

    async def _do(self, act: Act, *, explores: bool) -> Act | None:
        """Do something; return what was done, ``None`` where its target is not there."""
        if act.kind == "scroll":
            await self.tab.run(_SCROLL, float(act.value))
            return act
        if act.kind == "press":
            await self.tab.press(act.value)
            return act
        aim = await self._operate("aim", act)
        if aim is None:
            return None
        if act.kind == "reach" or (explores and not aim["isHit"]):
            return replace(act, kind="reach", value="")  # something lies over it: it was scrolled to
        if act.kind == "choose":
            await self._operate("focus", act)
            await self.tab.press("ArrowDown")
        elif act.kind == "hover":
            await self.tab.point(aim["x"], aim["y"])
        else:
            await self.tab.point(aim["x"], aim["y"], is_click=True)
            if act.kind == "type":
                await self.tab.type(act.value)
        return act

    async def _operate(self, operation: str, act: Act) -> Any:
        target = {"key": act.key, "number": act.number, "place": act.place}
        return await self._run(operation, **target)

    async def _run(self, operation: str, **target: object) -> Any:
        return await self.tab.run(script("robot"), {"operation": operation, "held": HELD_TYPE, **target})

    # ---- to see what came of it

    async def _look(self) -> tuple[PageView, list[dict[str, Any]]]:
        seen = self.tab.seen
        found = await self._run("look")
        loads, self.loads = seen.loads[self.loads :], len(seen.loads)
        # What failed once is in no cache, and fails again where a sheet that waited imports it
        failed = frozenset(load.url for load in loads if load.status >= 400) - self.failed
        self.failed |= failed
        departure, seen.departure = seen.departure, None
        left, top = await self.tab.run(_SCROLLED)
        view = PageView(
            **values_of(found["view"]),
            errors=tuple(seen.errors),  # all of them: scripts that wait make late those that the original made at once
            failed=tuple(sorted(failed)),
            departure=departure,
            names=(str(left), str(top)),
            links=(await self.tab.run(_ADDRESS),),
        )
        return view, found["targets"]


# ---- comparison

# Of two views after the same action: what is seen, and what went wrong. Images may be others.
_RULES = ("errors", "failed", "missing", "text", "layout", "controls")
# Those by which labels may be others while scripts wait for a visitor
_LABELS = ("text", "controls")


def acted_differences(originals: Sequence[Performance], performance: Performance) -> tuple[Difference, ...]:
    """Return after which action a page first differs from the original, and in what; nothing if it never does.

    What the original does not keep from one performance to the next is not asked for.
    """
    first = originals[0].views[0]
    for place, view in enumerate(performance.views):
        views = [each.views[place] for each in originals if place < len(each.views)]
        known = [each for each in views if each is not None]
        if len(known) < len(originals):
            return ()  # the original itself goes another way
        is_routed = first is not None and all(each.links != first.links or each.text == first.text for each in known)
        if view is not None and view.departure and is_routed and _leads_to(view.departure, known):
            return ()  # it loads the page that a router shows in the original, and that is proven by itself
        rules = PROMISED[LAYOUT]
        if view is not None and view.is_waiting and not any(map(_has_relabelled, originals, known)):
            rules = {**rules, **{name: ASLEEP[name] for name in _LABELS}}
        message = "the control is not there" if view is None else _first_difference(rules, known, view)
        if message is not None:
            done = f"after {place} actions, the last: {performance.acts[place - 1]}" if place else "before any action"
            return (Difference("acts", f"{done}: {message}"),)
    return ()


def _has_relabelled(performance: Performance, view: PageView) -> bool:
    """Whether labels of the first view are gone: an action gave a control another one, which a level must do, too."""
    first = performance.views[0]
    return first is not None and bool(_labels(first) - _labels(view))


def _labels(view: PageView) -> Counter[str]:
    return Counter(view.text.split()) - Counter(view.reading.split())


def _first_difference(rules: Mapping[str, Rule], originals: Sequence[PageView], view: PageView) -> str | None:
    messages = (rules[name](originals, view) for name in _RULES)
    found = (*messages, _left(originals, view), _scrolled(originals, view))
    return next((message for message in found if message is not None), None)


def _leads_to(url: str, views: Iterable[PageView]) -> bool:
    return {_page_of(each.links[0]) for each in views} == {_page_of(url)}


def _page_of(url: str) -> str:
    return re.sub(r"(?:/index\.html?|/)?(?:[?#].*)?\Z", "", url)


def _left(originals: Sequence[PageView], view: PageView) -> str | None:
    departures = {each.departure for each in originals}
    if len(departures) > 1 or view.departure in departures:
        return None
    return f"it leaves for {view.departure or 'no other page'}, not for {departures.pop() or 'any'}"


def _scrolled(originals: Sequence[PageView], view: PageView) -> str | None:
    """Say where a page is scrolled to; images of other pixels may move what it is scrolled to by a fraction."""
    places = [tuple(map(int, each.names)) for each in (*originals, view)]
    *before, now = places
    if any(max(abs(a - b) for a, b in zip(place, now, strict=True)) <= _ONE_PIXEL for place in before):
        return None
    return f"it is scrolled to {now[1]} pixels below the top, not {before[0][1]}"
