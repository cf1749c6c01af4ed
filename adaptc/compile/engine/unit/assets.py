"""Assets at a level: style sheets, scripts and images after the passes of the level, each made once for a batch.

An asset is never larger than at the level above, with what it loads, for any kind of client: it stays as it is there.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from adaptc.compile.analyse.demotions import Demotion
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.state.results import pack_diagnostics, unpack_diagnostics
from adaptc.compile.engine.unit.recording_view import RecordingView
from adaptc.compile.engine.unit.weights import PageWeight
from adaptc.compile.page.context import KEPT
from adaptc.compile.pipeline import AlternatePass, AssetPass, Plan, Step
from adaptc.compile.view import Alternate, Alternates, Asset, DerivedFile, Outcome
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.model import FORMATS, Action, is_negotiable
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION
from adaptc.site.site import Source

# Bytes of the artifacts that pages share: the site's style sheets, scripts and small images. A sheet of 350 kB that
# each page of a batch processed anew took two thirds of a build.
_KEPT_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class _Artifact:
    """An asset at a level, with what the view recorded while it was processed."""

    content: bytes
    dependencies: tuple[str, ...]
    derived: tuple[DerivedFile, ...]


# Weighs an asset at a level, with what it loads, given its content and the view in which that was made
WeighAsset = Callable[[str, str, bytes, RecordingView], PageWeight]


class Assets:
    """Runs the asset passes of levels. ``above`` names the level above of each degrading level."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        plans: Mapping[str, Plan],
        store: Store,
        above: Mapping[str, str],
        view_of: Callable[[str, str], RecordingView],
        weigh: WeighAsset,
    ) -> None:
        self.sources, self.plans, self.store = sources, plans, store
        self.above, self._view_of, self._weigh = above, view_of, weigh
        self._artifacts: OrderedDict[tuple[str, str], _Artifact] = OrderedDict()
        self._kept_bytes = 0

    def take_over(self, previous: Assets, changed: frozenset[str]) -> None:
        """Take over the artifacts of ``previous`` that depend on none of the keys ``changed``."""
        for key, artifact in previous._artifacts.items():
            if changed.isdisjoint(artifact.dependencies):
                self._keep(key, artifact)

    def artifact(self, level: str, path: str, outer: RecordingView) -> bytes:
        """Return an asset at a level, and add its dependencies to ``outer``."""
        known = self._artifacts.get((level, path))
        if known is None:
            view = outer.nested(path)
            try:
                original = view.read(path)
                processed = self.run(level, path, original, view).content
            finally:
                outer.include(view.dependencies, ())
            content = original if processed is None else processed
            known = _Artifact(content, tuple(view.dependencies), tuple(view.derived.values()))
            self._keep((level, path), known)
        self._artifacts.move_to_end((level, path))
        outer.include(known.dependencies, known.derived)
        return known.content

    def _keep(self, key: tuple[str, str], artifact: _Artifact) -> None:
        """Keep the artifacts that were used last, this one whatever its size."""
        replaced = self._artifacts.pop(key, None)
        self._artifacts[key] = artifact
        self._kept_bytes += len(artifact.content) - (len(replaced.content) if replaced else 0)
        while self._kept_bytes > _KEPT_BYTES and len(self._artifacts) > 1:
            self._kept_bytes -= len(self._artifacts.popitem(last=False)[1].content)

    def run(self, level: str, path: str, content: bytes, view: RecordingView) -> Outcome:
        """Return an asset at a level: the outcome of its passes, or as it is at the level above if that is smaller."""
        outcome, above = self._run_passes(level, path, content, view), self.above.get(level)
        if above is None:
            return outcome
        own, view_above = content if outcome.content is None else outcome.content, self._view_of(above, path)
        higher = self.artifact(above, path, view_above)
        view.include(view_above.dependencies, ())
        limit = None if own == higher else self._weigh(above, path, higher, view_above)
        excess = limit and self._weigh(level, path, own, view).excess(limit)
        if not excess:
            return outcome
        view.include((), view_above.derived.values())
        action = Action(level, KEPT, path, f"as it is at level {above}: {excess}")
        return Outcome(None if higher == content else higher, (action,), outcome.diagnostics)

    def _run_passes(self, level: str, path: str, content: bytes, view: RecordingView) -> Outcome:
        media_type = self.sources[path].media_type
        demotions = view.demotions(level, path)
        dropped = {demotion.name for demotion in demotions}
        steps = [step for step in self.plans[level].steps_of(AssetPass, media_type) if step.name not in dropped]
        if steps and (reason := _reason_to_keep(path, media_type, view)):
            return Outcome(None, (Action(steps[0].name, "kept", path, reason),))
        processed, actions, diagnostics = content, list[Action](), demotion_diagnostics(level, path, demotions)
        for step in steps:
            outcome = self._run_step(step, Asset(path, media_type, processed), view)
            actions.extend(outcome.actions)
            diagnostics.extend(outcome.diagnostics)
            if outcome.content is not None and (
                step.pass_.may_grow or len(outcome.content) < len(processed) + outcome.absorbed
            ):
                processed = outcome.content
        return Outcome(None if processed is content else processed, tuple(actions), tuple(diagnostics))

    def alternates(self, level: str, path: str, original: bytes, content: bytes, view: RecordingView) -> Alternates:
        """Return an image in the other formats of a level; ``content`` is the image at that level.

        Each is that of the level above where that is smaller, or where the level has none of its own. There are none
        where a proof drops the pass.
        """
        media_type, above = self.sources[path].media_type, self.above.get(level)
        dropped = {demotion.name for demotion in view.demotions(level, path)}
        if not dropped.isdisjoint(step.name for step in self.plans[level].steps_of(AlternatePass, media_type)):
            return Alternates()
        alternates = self._alternates(level, path, original, content, view)
        if above is None or not self.plans[above].steps_of(AlternatePass, media_type):
            return alternates
        view_above = self._view_of(above, path)
        higher = self.artifact(above, path, view_above)
        view.include(view_above.dependencies, ())
        return _smaller_alternates(alternates, self.alternates(above, path, original, higher, view), len(content))

    def _alternates(self, level: str, path: str, original: bytes, content: bytes, view: RecordingView) -> Alternates:
        asset = Asset(path, self.sources[path].media_type, content)
        steps = self.plans[level].steps_of(AlternatePass, asset.media_type)
        if not steps or not is_negotiable(path) or _reason_to_keep(path, asset.media_type, view):
            return Alternates()
        (step,) = steps
        key = digest_parts(
            "alternates",
            VERSION,
            step.result_recipe(),
            str(view.settings),
            digest_bytes(original),
            digest_bytes(content),
        )
        known = self._remembered_alternates(key, path)
        return known or self._remember_alternates(key, step.pass_.run(asset, original, view, step.options))

    def _remembered_alternates(self, key: str, path: str) -> Alternates | None:
        alternates, actions = list[Alternate](), list[Action]()
        record = self.store.record(key)
        for name, digest, *action in record or ():
            content = self.store.content(digest)
            if content is None:
                return None
            alternates.append(Alternate(name, content))
            actions.append(Action(action[0], action[1], path, action[2]))
        return None if record is None else Alternates(tuple(alternates), tuple(actions))

    def _remember_alternates(self, key: str, alternates: Alternates) -> Alternates:
        """Store alternates, unless a codec is missing, which may be installed later."""
        if not alternates.diagnostics:
            rows = zip(alternates.images, alternates.actions, strict=True)
            record = [
                [image.format, self.store.put(image.content), action.pass_name, action.verb, action.reason]
                for image, action in rows
            ]
            self.store.put_record(key, record)
        return alternates

    def _run_step(self, step: Step[AssetPass], asset: Asset, view: RecordingView) -> Outcome:
        if not step.pass_.depends_on_content_only(asset.content):
            return step.pass_.run(asset, view, step.options)
        key = digest_parts(
            "asset", VERSION, step.result_recipe(), str(view.settings), asset.media_type, digest_bytes(asset.content)
        )
        outcome = self._remembered(key, asset.path)
        if outcome is None:
            outcome = step.pass_.run(asset, view, step.options)
            self._remember(key, outcome)
        return outcome

    def _remembered(self, key: str, path: str) -> Outcome | None:
        """Return the stored outcome of the step for equal content, with this path; ``None`` if there is none."""
        record = self.store.record(key)
        if record is None:
            return None
        content = self.store.content(record["content"]) if record["content"] else None
        if content is None and record["content"]:
            return None
        actions = tuple(Action(name, verb, path, reason) for name, verb, reason in record["actions"])
        diagnostics = tuple(
            dataclasses.replace(
                diagnostic, location=diagnostic.location and dataclasses.replace(diagnostic.location, path=path)
            )
            for diagnostic in unpack_diagnostics(record["diagnostics"])
        )
        return Outcome(content, actions, diagnostics)

    def _remember(self, key: str, outcome: Outcome) -> None:
        content = self.store.put(outcome.content) if outcome.content is not None else None
        actions = [[action.pass_name, action.verb, action.reason] for action in outcome.actions]
        self.store.put_record(
            key, {"content": content, "actions": actions, "diagnostics": pack_diagnostics(outcome.diagnostics)}
        )


def demotion_diagnostics(level: str, path: str, demotions: Iterable[Demotion]) -> list[Diagnostic]:
    """Return the diagnostics of passes that a proof drops for a unit."""
    return [
        diagnose("pass-demoted", Location(path), name=demotion.name, level=level, reason=demotion.reason)
        for demotion in demotions
        if demotion.name != level
    ]


def _reason_to_keep(path: str, media_type: str, view: RecordingView) -> str | None:
    """Return why a file keeps its bytes, whatever the passes would make of them."""
    if (reason := view.pinned(path)) is not None:
        return reason
    # photographs take most of the time of a build, and templates come with dozens that no page shows
    if media_type == media.JPEG and view.settings.effort == "fast" and view.is_unused(path):
        return 'no file refers to it, and the effort is "fast"'
    return None


def _smaller_alternates(own: Alternates, above: Alternates, limit: int) -> Alternates:
    """Return the smaller image in each format, of those below ``limit`` bytes."""
    chosen: dict[str, tuple[Alternate, Action]] = {}
    for image, action in (*_with_actions(own), *_with_actions(above)):
        smallest = len(chosen[image.format][0].content) if image.format in chosen else limit
        if len(image.content) < smallest:
            chosen[image.format] = image, action
    pairs = [chosen[name] for name in FORMATS if name in chosen]
    return Alternates(tuple(image for image, _ in pairs), tuple(action for _, action in pairs), own.diagnostics)


def _with_actions(alternates: Alternates) -> Iterable[tuple[Alternate, Action]]:
    return zip(alternates.images, alternates.actions, strict=True)
