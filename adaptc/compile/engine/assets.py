"""Assets at a level: style sheets, scripts and images after the passes of the level, each made once for a batch."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from adaptc.compile.engine.recording_view import RecordingView
from adaptc.compile.engine.results import pack_diagnostics, unpack_diagnostics
from adaptc.compile.engine.store import Store
from adaptc.compile.pipeline import AlternatePass, AssetPass, Plan, Step
from adaptc.compile.view import Alternate, Alternates, Asset, DerivedFile, Outcome
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.model import Action, is_negotiable
from adaptc.core.version import VERSION
from adaptc.site.site import Source

# Artifacts that pages of a batch share: the site's style sheets, scripts and small images
_CACHED_ARTIFACTS = 64
_CACHED_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class _Artifact:
    """An asset at a level, with what the view recorded while it was processed."""

    content: bytes
    dependencies: tuple[str, ...]
    derived: tuple[DerivedFile, ...]


class Assets:
    """Runs the asset passes of levels."""

    def __init__(self, sources: Mapping[str, Source], plans: Mapping[str, Plan], store: Store) -> None:
        self.sources, self.plans, self.store = sources, plans, store
        self._artifacts: OrderedDict[tuple[str, str], _Artifact] = OrderedDict()

    def take_over(self, previous: Assets, changed: frozenset[str]) -> None:
        """Take over the artifacts of ``previous`` that depend on none of the keys ``changed``."""
        for key, artifact in previous._artifacts.items():
            if changed.isdisjoint(artifact.dependencies):
                self._artifacts[key] = artifact

    def artifact(self, level: str, path: str, outer: RecordingView) -> bytes:
        """Return an asset at a level, and add its dependencies to ``outer``."""
        known = self._artifacts.get((level, path))
        if known is None:
            view = outer.nested()
            try:
                original = view.read(path)
                processed = self.run(level, path, original, view).content
            finally:
                outer.include(view.dependencies, ())
            content = original if processed is None else processed
            known = _Artifact(content, tuple(view.dependencies), tuple(view.derived.values()))
            self._keep(level, path, known)
        outer.include(known.dependencies, known.derived)
        return known.content

    def _keep(self, level: str, path: str, artifact: _Artifact) -> None:
        if len(artifact.content) <= _CACHED_BYTES:
            self._artifacts[level, path] = artifact
            if len(self._artifacts) > _CACHED_ARTIFACTS:
                self._artifacts.popitem(last=False)

    def run(self, level: str, path: str, content: bytes, view: RecordingView) -> Outcome:
        """Return the outcome of the passes of a level for an asset."""
        media_type = self.sources[path].media_type
        steps = self.plans[level].steps_of(AssetPass, media_type)
        if steps and view.is_pinned(path):
            action = Action(steps[0].name, "kept", path, "an integrity attribute fixes its bytes")
            return Outcome(None, (action,))
        processed, actions, diagnostics = content, list[Action](), list[Diagnostic]()
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
        """Return an image in the other formats of a level; ``content`` is the image at that level."""
        asset = Asset(path, self.sources[path].media_type, content)
        steps = self.plans[level].steps_of(AlternatePass, asset.media_type)
        if not steps or not is_negotiable(path) or view.is_pinned(path):
            return Alternates()
        (step,) = steps
        key = digest_parts(
            "alternates", VERSION, step.recipe(), str(view.settings), digest_bytes(original), digest_bytes(content)
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
        if not step.pass_.content_only:
            return step.pass_.run(asset, view, step.options)
        key = digest_parts(
            "asset", VERSION, step.recipe(), str(view.settings), asset.media_type, digest_bytes(asset.content)
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
