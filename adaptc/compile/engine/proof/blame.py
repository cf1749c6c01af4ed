"""Which pass is to blame where a page breaks a promise: a binary search over the passes that may have changed it.

The passes of the page come first, those of the files that it loads after them: a bad sheet shows only in a page that a
pass has put it into. Without any pass a page is whole; some first number of passes is enough to break it, and the last
of them is to blame.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from adaptc.browser.answers import file_at
from adaptc.compile.analyse.demotions import Demotion, Demotions, with_demotions
from adaptc.compile.engine.proof.candidates import CandidateLevel
from adaptc.compile.engine.proof.verdict import Verdict
from adaptc.compile.engine.results import UnitResult
from adaptc.compile.engine.state import Unit
from adaptc.compile.pipeline import AlternatePass, AssetPass, Plan, SidecarPass
from adaptc.core.media import HTML
from adaptc.core.model import FORMATS

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
