"""As what a page is made: as which of the levels that its level allows, or as it is at the level above.

A level may name others ``instead``. Each page is made as each of them and as the level itself, verified, weighed with
all that it loads, and compared with its source. Bytes, requests and harm are added up by one price, the same for the
whole site (Shoham and Gersho 1988, as for images in ``adaptc.compile.page.pricing``), and the page that comes to the
least is published. Views of the page would weigh all three alike, so that no unit depends on a log.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from adaptc.compile.analyse.decorations.evidence import DecidedUsage
from adaptc.compile.analyse.decorations.image_rules import SheetImages, sheet_images
from adaptc.compile.analyse.decorations.labels import label_page
from adaptc.compile.analyse.decorations.page_images import page_uses
from adaptc.compile.page.context import KEPT
from adaptc.compile.page.page_harm import HarmOfPages, OriginalPage, PageContent, ShownFiles, largest_boxes, page_tree
from adaptc.compile.pipeline import BY_NAME, EditPass, Pass, Step, WholePagePass
from adaptc.core import media
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import Action
from adaptc.core.values import dataclass, replace
from adaptc.formats.css.sheet_text import decode_sheet

if TYPE_CHECKING:
    from adaptc.compile.analyse.harm import ShownImage
    from adaptc.compile.engine.state.results import UnitResult
    from adaptc.compile.engine.unit.recording_view import RecordingView
    from adaptc.compile.engine.unit.weights import PageWeight
    from adaptc.compile.page.page_harm import Matcher
    from adaptc.config.rulebook import Level


@dataclass(frozen=True, slots=True)
class MadePage:
    """A page as it was made as the level ``name``."""

    name: str
    result: UnitResult
    content: bytes


@dataclass(frozen=True, slots=True)
class _Costs:
    """What a page comes to, in bytes: ``total`` is what decides."""

    weight: PageWeight
    harm: float
    total: float

    def __str__(self) -> str:
        return f"{self.weight.transfer:,} bytes, {self.weight.requests} requests, harm {self.harm:.4f}"


def choose_page(
    level: Level, made: Sequence[MadePage], weigh: Callable[[UnitResult], PageWeight], harm: Callable[[bytes], float]
) -> UnitResult:
    """Return the page that comes to the least at the price of ``level``, the first of equals."""
    costs = []
    for page in made:
        weight, own = weigh(page.result), harm(page.content)
        costs.append(_Costs(weight, own, weight.transfer + level.request * weight.requests + level.price * own))
    best = min(range(len(made)), key=lambda number: costs[number].total)
    others = "; ".join(f"{page.name}: {cost}" for page, cost in zip(made, costs, strict=True) if page is not made[best])
    reason = f"{costs[best]}, at {level.price:,.0f} bytes for a harm of 1; not as {others}"
    result = made[best].result
    return replace(result, actions=(Action(level.name, "made", f"as {made[best].name}", reason), *result.actions))


def harm_in(view: RecordingView, path: str, original: bytes, matcher: Matcher) -> Callable[[bytes], float]:
    """Return a function that measures the harm of a content of the page at ``path``; ``view`` records what it reads."""
    files, tree = _ViewFiles(view), page_tree(original)
    has_styles = ShownFiles(view.site.address, files.original).has_styles(path, tree)
    uses = page_uses(tree, path, view, partial(_sheet_images, view), view.labelling.rules)
    evidence = {use.path: view.evidence(use.path) for use in uses if use.path}
    usage, rules = DecidedUsage(view.usage), view.labelling.rules
    labels = label_page(path, uses, evidence, usage, rules, view.labelling.levels)
    images: dict[str, ShownImage] = largest_boxes(uses, evidence, labels, usage, rules)
    page = OriginalPage(PageContent.of(tree, has_styles=has_styles), images)
    return partial(HarmOfPages(view.site.address, files, matcher).of, path, page)


def _sheet_images(view: RecordingView, path: str) -> SheetImages:
    return sheet_images(decode_sheet(view.read(path), "utf-8").text)


@dataclass(frozen=True, slots=True)
class _ViewFiles:
    """The files of the level as a view has them."""

    view: RecordingView

    def read(self, path: str) -> bytes | None:
        """Return the file that a path of the site leads to: a copy, or a file at the level."""
        copy = self.view.derived.get(path)
        if copy is not None:
            return self.view.copy_content(copy)
        found = self._found(path)
        return None if found is None or self.media_type(found) == media.HTML else self.view.artifact(found)

    def original(self, path: str) -> bytes | None:
        """Return the file of the docroot that a path of the site leads to."""
        found = self._found(path)
        return None if found is None else self.source(found)

    def _found(self, path: str) -> str | None:
        url = self.view.url_of(path)
        return self.view.follow(url, url).path

    def source(self, path: str) -> bytes:
        """Return a file of the docroot."""
        return self.view.read(path)

    def media_type(self, path: str) -> str:
        """Return the media type of a file of the docroot."""
        return self.view.media_type(path)


# ---- a page that is not adapted


def as_above(result: UnitResult, higher: UnitResult, reason: str, kind: str) -> UnitResult:
    """Return the unit with the files of the level above in place of its own; ``kind`` is that of the diagnostic."""
    action = Action(result.level, "kept", "the page", f"as it is at level {higher.level}: {reason}")
    diagnostic = diagnose(kind, Location(result.path), name=result.level, above=higher.level, reason=reason)
    return dataclasses.replace(
        higher,
        level=result.level,
        actions=(action,),
        diagnostics=(*result.diagnostics, diagnostic),
        demoted=(*result.demoted, result.level),
    )


def as_source(result: UnitResult, reason: str) -> UnitResult:
    """Return a unit without any pass, where no level is above it."""
    diagnostic = diagnose("level-demoted", Location(result.path), name=result.level, above="full", reason=reason)
    diagnostics = (*result.diagnostics, diagnostic)
    return dataclasses.replace(result, diagnostics=diagnostics, demoted=(*result.demoted, result.level))


def more_waiting(result: UnitResult, higher: UnitResult) -> int:
    """Return how many more scripts and frames of other sites wait for a visitor than at the ``higher`` level.

    Those that wait there and not here are loaded here, but for a composed page, which has none.
    """
    is_composed = any((action.pass_name, action.verb) == ("compose", "written") for action in result.actions)
    return 0 if is_composed else _waiting(result) - _waiting(higher)


def _waiting(result: UnitResult) -> int:
    return sum(action.pass_name == "third-parties" and action.verb == "held" for action in result.actions)


_HELD = frozenset({("prerendered", "held"), ("prerendered", "written"), ("inline-scripts", "carried")})


def held_files(result: UnitResult) -> frozenset[str]:
    """Return what stands for files among the actions: those that scripts load which wait, and what these would show.

    So do the modules that are in the page with those that import them.
    """
    own = (each for each in result.actions if (each.pass_name, each.verb) in _HELD)
    return frozenset(each.subject for each in own)


# ---- smaller budgets


def smaller_budgets(actions: Iterable[Action]) -> tuple[int, ...]:
    """Return the budgets for data URIs to try for a page with these actions: those of a pass that put some into it.

    With any of them modules stay files, which the page may hold as well.
    """
    passes = (BY_NAME.get(action.pass_name) for action in actions if action.verb not in _WITHOUT_IMAGES)
    return next((budgets for each in passes if (budgets := _budgets(each))), ())


# What a pass did that put no image into a page
_WITHOUT_IMAGES = frozenset({KEPT, "written", "left out"})


def _budgets(pass_: Pass | None) -> tuple[int, ...]:
    return pass_.smaller_budgets if isinstance(pass_, EditPass | WholePagePass) else ()


def with_budget(steps: tuple[Step[Any], ...], budget: int | None) -> tuple[Step[Any], ...]:
    """Return the steps with at most this ``budget`` where a pass has smaller ones; ``None`` is the level's own."""
    return steps if budget is None else tuple(_limited(step, budget) for step in steps)


def _limited(step: Step[Any], budget: int) -> Step[Any]:
    if not _budgets(step.pass_):
        return step
    return dataclasses.replace(step, options={**step.options, "budget": min(budget, step.options.get("budget", 0))})
