"""Build one unit: a resource at a level, from its source to its files in the tree. This runs in the workers."""

from __future__ import annotations

import dataclasses
import traceback
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from adaptc import codings, media
from adaptc.engine.publish import Publisher
from adaptc.engine.results import Output, UnitResult, pack_diagnostics, unpack_diagnostics
from adaptc.engine.snapshot import Snapshot
from adaptc.engine.store import Store
from adaptc.engine.view import RecordingView
from adaptc.diagnostics import Diagnostic, Location, diagnose
from adaptc.digest import digest_bytes, digest_parts
from adaptc.fs import ChangedWhileRead, DiskTree
from adaptc.css.decode import decode_sheet
from adaptc.css.references import css_references
from adaptc.model import IDENTITY, Action, Role
from adaptc.passes.view import Asset, Outcome
from adaptc.pipeline import Plan, Step, plan_level
from adaptc.rewrite import rewrite_page
from adaptc.site import Site
from adaptc.urls import SiteAddress
from adaptc.version import VERSION

# Artifacts that pages of a batch share: the site's style sheets, scripts and small images
_KEPT_ARTIFACTS = 256
_KEPT_BYTES = 1 << 20


class Workshop:
    """Builds and publishes the units of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.site = Site.of(snapshot.sources, SiteAddress(snapshot.base_url), snapshot.index_names)
        self.tree = DiskTree(snapshot.docroot)
        self.store = Store(snapshot.cache)
        self.publisher = Publisher(snapshot.output, self.store)
        self.plans = {level.name: plan_level(level) for level in snapshot.levels}
        self._artifacts: OrderedDict[tuple[str, str], tuple[bytes, tuple[str, ...]]] = OrderedDict()

    def build(self, level: str, path: str) -> UnitResult:
        """Build and publish one unit; what cannot be built is withdrawn and said."""
        source = self.site.sources[path]
        try:
            result = self._made(level, path)
        except ChangedWhileRead:
            result = self._left(level, path, diagnose("changed-while-read", Location(path)))
        except OSError as error:
            if error.filename is None or not str(error.filename).startswith(self.tree.root):
                raise  # the output or the cache: the build ends
            result = self._left(level, path, diagnose("unreadable-file", Location(path), reason=error.strerror))
        except Exception as bug:  # a bug met on one page must not cost the other 30,000: say so, keep the original
            result = self._failed(level, path, bug)
        self.publisher.publish(result, source.alias_of)
        return result

    def _left(self, level: str, path: str, said: Diagnostic) -> UnitResult:
        media_type = self.site.sources[path].media_type
        return UnitResult(level, path, media_type, diagnostics=(said,), dependencies=(path,), published=False)

    def _failed(self, level: str, path: str, bug: Exception) -> UnitResult:
        where = traceback.extract_tb(bug.__traceback__)[-1]
        reason = f"{type(bug).__name__}: {bug} at {Path(where.filename).name}:{where.lineno}"
        said = diagnose("pass-failed", Location(path), name=level, reason=reason)
        content = self.tree.read(path)
        result = self._finished(level, path, content, content, self._view(level))
        return dataclasses.replace(result, diagnostics=(said,), dependencies=(path,))

    def _made(self, level: str, path: str) -> UnitResult:
        source = self.site.sources[path]
        if source.size > self.snapshot.max_file_bytes:
            said = diagnose(
                "file-too-large", Location(path), size=source.size, limit=self.snapshot.max_file_bytes
            )
            return dataclasses.replace(self._left(level, path, said), published=True)
        if source.media_type == media.HTML:
            return self._page(level, path)
        return self._asset(level, path)

    def _page(self, level: str, path: str) -> UnitResult:
        plan, view = self.plans[level], self._view(level)
        original = view.read(path)
        steps = plan.steps_for(media.HTML)
        if not steps:
            return self._finished(level, path, original, original, view)
        done = rewrite_page(path, original, view, steps)
        result = self._finished(level, path, done.content or original, original, view)
        return dataclasses.replace(
            result,
            actions=tuple(done.actions),
            diagnostics=tuple(done.diagnostics),
            demoted=tuple(done.demoted),
            embeds=done.embeds,
        )

    def _asset(self, level: str, path: str) -> UnitResult:
        view = self._view(level)
        original = view.read(path)
        outcome = self._run_asset_steps(level, path, original, view)
        content = outcome.content or original
        embeds = self._imports(path, content, view)
        result = self._finished(level, path, content, original, view)
        return dataclasses.replace(
            result, actions=outcome.actions, diagnostics=outcome.diagnostics, embeds=embeds
        )

    def _imports(self, path: str, content: bytes, view: RecordingView) -> tuple[str, ...] | None:
        """Return the sheets that a style sheet still imports, ``None`` for what is no style sheet."""
        if self.site.sources[path].media_type != media.CSS:
            return None
        base = view.url_of(path)
        imports = (one.url for one in css_references(decode_sheet(content, "utf-8").text) if one.role is Role.IMPORT)
        return tuple(found for url in imports if (found := view.follow(base, url).path) is not None)

    def _finished(self, level: str, path: str, content: bytes, original: bytes, view: RecordingView) -> UnitResult:
        media_type = self.site.sources[path].media_type
        changed = content != original
        outputs = tuple(self._outputs(content, media_type, changed))
        return UnitResult(level, path, media_type, outputs, tuple(view.dependencies), changed=changed)

    def _outputs(self, content: bytes, media_type: str, changed: bool) -> Iterator[Output]:
        digest = digest_bytes(content)
        if changed or self.snapshot.complete:
            yield Output(IDENTITY, self.store.put(content, digest), digest, len(content))
        if not media.is_compressible(media_type):
            return
        for coding in self.snapshot.codings:
            key = digest_parts("encode", codings.RECIPE, VERSION, coding, self.snapshot.settings.effort, digest)
            encoded = self._encoded(key, content, coding)
            if encoded:
                yield Output(coding, key, digest_bytes(encoded), len(encoded))

    def _encoded(self, key: str, content: bytes, coding: str) -> bytes:
        """Return the encoded content, empty when that does not pay, from the cache if it is there."""
        encoded = self.store.read(key)
        if encoded is None:
            effort = self.snapshot.settings.effort
            encoded = codings.encode_if_smaller(content, coding, effort) or b""  # type: ignore[arg-type]
            self.store.put(encoded, key)
        return encoded

    # ---- assets

    def _view(self, level: str) -> RecordingView:
        snapshot = self.snapshot
        return RecordingView(
            self.site,
            self.tree,
            snapshot.decisions,
            snapshot.settings,
            lambda path, outer: self._artifact(level, path, outer),
        )

    def _artifact(self, level: str, path: str, outer: RecordingView) -> bytes:
        """Return an asset at a level, and pass on to ``outer`` what it depends on."""
        known = self._artifacts.get((level, path))
        if known is None:
            view = outer.nested()
            original = view.read(path)
            content = self._run_asset_steps(level, path, original, view).content or original
            known = (content, tuple(view.dependencies))
            self._keep(level, path, known)
        outer.dependencies.update(dict.fromkeys(known[1]))
        return known[0]

    def _keep(self, level: str, path: str, artifact: tuple[bytes, tuple[str, ...]]) -> None:
        if len(artifact[0]) <= _KEPT_BYTES:
            self._artifacts[level, path] = artifact
            if len(self._artifacts) > _KEPT_ARTIFACTS:
                self._artifacts.popitem(last=False)

    def _run_asset_steps(self, level: str, path: str, content: bytes, view: RecordingView) -> Outcome:
        media_type = self.site.sources[path].media_type
        steps = _asset_steps(self.plans[level], media_type)
        if steps and view.is_pinned(path):
            kept = Action(steps[0].of.name, "kept", path, "an integrity attribute fixes its bytes")
            return Outcome(None, (kept,))
        made, actions, diagnostics = content, list[Action](), list[Diagnostic]()
        for step in steps:
            outcome = self._run_asset_step(step, Asset(path, media_type, made), view)
            actions.extend(outcome.actions)
            diagnostics.extend(outcome.diagnostics)
            if outcome.content is not None and len(outcome.content) < len(made):
                made = outcome.content
        return Outcome(None if made is content else made, tuple(actions), tuple(diagnostics))

    def _run_asset_step(self, step: Step, asset: Asset, view: RecordingView) -> Outcome:
        assert step.of.asset is not None
        if not step.of.content_only:
            return step.of.asset(asset, view, step.options)
        key = digest_parts("asset", VERSION, step.recipe(), str(view.settings), asset.media_type, digest_bytes(asset.content))
        outcome = self._remembered(key, asset.path)
        if outcome is None:
            outcome = step.of.asset(asset, view, step.options)
            self._remember(key, outcome)
        return outcome

    def _remembered(self, key: str, path: str) -> Outcome | None:
        """Return what the step gave for equal content, told of this path; ``None`` when it is not known."""
        record = self.store.record(key)
        if record is None:
            return None
        content = self.store.read(record["content"]) if record["content"] else None
        if content is None and record["content"]:
            return None
        actions = tuple(Action(name, verb, path, reason) for name, verb, reason in record["actions"])
        diagnostics = tuple(
            dataclasses.replace(one, location=one.location and dataclasses.replace(one.location, path=path))
            for one in unpack_diagnostics(record["diagnostics"])
        )
        return Outcome(content, actions, diagnostics)

    def _remember(self, key: str, outcome: Outcome) -> None:
        content = self.store.put(outcome.content) if outcome.content is not None else None
        actions = [[one.pass_name, one.verb, one.reason] for one in outcome.actions]
        self.store.put_record(
            key, {"content": content, "actions": actions, "diagnostics": pack_diagnostics(outcome.diagnostics)}
        )


def _asset_steps(plan: Plan, media_type: str) -> tuple[Step, ...]:
    return tuple(step for step in plan.steps_for(media_type) if step.of.asset is not None)
