"""Build one unit: a resource at a level, from its source to its files in the tree. This runs in the workers."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import traceback
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc import codings, media
from adaptc.css.decode import decode_sheet
from adaptc.css.references import css_references
from adaptc.diagnostics import Diagnostic, Location, diagnose
from adaptc.digest import digest_bytes, digest_parts
from adaptc.engine.derive import Deriver
from adaptc.engine.publish import ObjectGone, Publisher
from adaptc.engine.results import Extra, Output, UnitResult, pack_diagnostics, unpack_diagnostics
from adaptc.engine.snapshot import Snapshot
from adaptc.engine.store import Store
from adaptc.engine.view import RecordingView
from adaptc.fs import ChangedWhileRead, DiskTree
from adaptc.model import IDENTITY, Action, Role
from adaptc.passes.view import Asset, DerivedFile, Outcome
from adaptc.pipeline import Plan, Step, plan_level
from adaptc.rewrite import rewrite_page
from adaptc.site import Site, Source
from adaptc.urls import SiteAddress
from adaptc.version import VERSION

# Artifacts that pages of a batch share: the site's style sheets, scripts and small images
_KEPT_ARTIFACTS = 64
_KEPT_BYTES = 256 << 10

# What the cache holds where a coding does not pay; it is no stream of any coding, as a file that was cut short to
# nothing would be.
_NO_GAIN = b"-"

# How often a unit is built anew because another build that shares the cache removed what was just made
_TRIES = 4

# In which the ASCII name of a file may stand in a page
_ENCODINGS = ("ascii", "utf-16-le", "utf-16-be")

# The target's file system has no such name: too long, or bytes that it does not allow.
_NAME_REFUSED = (errno.ENAMETOOLONG, errno.EILSEQ)


@dataclass(frozen=True, slots=True)
class _Artifact:
    """An asset at a level, with what the view recorded while it was made."""

    content: bytes
    dependencies: tuple[str, ...]
    derived: tuple[DerivedFile, ...]


class Workshop:
    """Builds and publishes the units of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.site = Site.of(snapshot.sources, SiteAddress(snapshot.base_url), snapshot.index_names)
        self.tree = DiskTree(snapshot.docroot)
        self.store = Store(snapshot.cache)
        self.publisher = Publisher(snapshot.output, self.store)
        self.plans = {level.name: plan_level(level) for level in snapshot.levels}
        self.deriver = Deriver(self.store, snapshot.settings)
        self._artifacts: OrderedDict[tuple[str, str], _Artifact] = OrderedDict()

    def build(self, level: str, path: str) -> UnitResult:
        """Build and publish one unit; what cannot be built is withdrawn and said."""
        alias_of = self.site.sources[path].alias_of
        for _ in range(_TRIES):
            result = self._result(level, path)
            try:
                self.publisher.publish(result, alias_of)
            except ObjectGone:
                continue
            except OSError as error:
                if error.errno not in _NAME_REFUSED:
                    raise
                return self._unpublishable(result, error)
            return result
        raise OSError(errno.EIO, "the cache loses what is put into it", os.fspath(self.snapshot.cache))

    def _result(self, level: str, path: str) -> UnitResult:
        try:
            return self._made_or_kept(level, path, self._view(level))
        except ChangedWhileRead:
            return self._left(level, path, diagnose("changed-while-read", Location(path)))
        except OSError as error:
            if not str(error.filename).startswith(self.tree.root + "/"):
                raise  # the output or the cache: the build ends
            return self._left(level, path, diagnose("unreadable-file", Location(path), reason=error.strerror))

    def _left(self, level: str, path: str, said: Diagnostic) -> UnitResult:
        media_type = self.site.sources[path].media_type
        return UnitResult(level, path, media_type, diagnostics=(said,), dependencies=(path,), published=False)

    def _unpublishable(self, result: UnitResult, error: OSError) -> UnitResult:
        self.publisher.withdraw_path(result.level, result.path)
        said = diagnose("name-unpublishable", Location(result.path), reason=error.strerror)
        return dataclasses.replace(result, outputs=(), diagnostics=(*result.diagnostics, said))

    def _made_or_kept(self, level: str, path: str, view: RecordingView) -> UnitResult:
        try:
            return self._made(level, path, view)
        except ChangedWhileRead:
            raise
        except Exception as bug:  # a bug met on one page must not cost the other 30,000: say so, keep the original
            if isinstance(bug, OSError) and bug.errno is not None:  # Pillow has its own without a number
                raise
            content = view.read(path)
            kept = self._finished(level, path, content, content, view)
            return dataclasses.replace(kept, diagnostics=(failure(path, level, bug),))

    def _made(self, level: str, path: str, view: RecordingView) -> UnitResult:
        source = self.site.sources[path]
        if source.size > self.snapshot.max_file_bytes:
            return self._large(level, path, source)
        return self._page(level, path, view) if source.media_type == media.HTML else self._asset(level, path, view)

    def _large(self, level: str, path: str, source: Source) -> UnitResult:
        """Take a file over as it is, without holding it."""
        limit = self.snapshot.max_file_bytes
        said = diagnose("file-too-large", Location(path), size=source.size, limit=limit)
        outputs: tuple[Output, ...] = ()
        if self.snapshot.complete:
            self.store.put_chunks(self._verified_chunks(path, source.digest), source.digest, source.size)
            outputs = (Output(IDENTITY, source.digest, source.digest, source.size),)
        return UnitResult(level, path, source.media_type, outputs, (path,), diagnostics=(said,))

    def _verified_chunks(self, path: str, digest: str) -> Iterator[bytes]:
        total = hashlib.sha256()
        for chunk in self.tree.chunks(path):
            total.update(chunk)
            yield chunk
        if total.hexdigest() != digest:
            raise ChangedWhileRead(path)

    def _page(self, level: str, path: str, view: RecordingView) -> UnitResult:
        plan = self.plans[level]
        original = view.read(path)
        steps = plan.steps_for(media.HTML)
        if not steps:
            return self._finished(level, path, original, original, view)
        done = rewrite_page(path, original, view, steps, plan.level.promise)
        result = self._finished(level, path, _or(done.content, original), original, view)
        return dataclasses.replace(
            result,
            actions=tuple(done.actions),
            diagnostics=tuple(done.diagnostics),
            demoted=tuple(done.demoted),
            embeds=done.embeds,
        )

    def _asset(self, level: str, path: str, view: RecordingView) -> UnitResult:
        original = view.read(path)
        outcome = self._run_asset_steps(level, path, original, view)
        content = _or(outcome.content, original)
        embeds = self._imports(path, content, view)
        result = self._finished(level, path, content, original, view)
        diagnostics = (*outcome.diagnostics, *self._not_rewritten(level, path))
        return dataclasses.replace(result, actions=outcome.actions, diagnostics=diagnostics, embeds=embeds)

    def _not_rewritten(self, level: str, path: str) -> tuple[Diagnostic, ...]:
        """Say of a page in XML syntax that the page passes of the level do not work on it."""
        if self.site.sources[path].media_type != media.XHTML or not self.plans[level].steps_for(media.HTML):
            return ()
        return (diagnose("page-not-html", Location(path), media_type=media.XHTML),)

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
        extras = _extras(content, view.derived.values())
        return UnitResult(level, path, media_type, outputs, tuple(view.dependencies), changed=changed, extras=extras)

    def _outputs(self, content: bytes, media_type: str, changed: bool) -> Iterator[Output]:
        digest = digest_bytes(content)
        if changed or self.snapshot.complete:
            yield Output(IDENTITY, self.store.put(content, digest), digest, len(content))
        if not media.is_compressible(media_type):
            return
        for coding in self.snapshot.codings:
            key = digest_parts("encode", self.snapshot.codec, VERSION, coding, self.snapshot.settings.effort, digest)
            encoded = self._encoded(key, content, coding)
            if encoded is not None:
                yield Output(coding, key, digest_bytes(encoded), len(encoded))

    def _encoded(self, key: str, content: bytes, coding: codings.Coding) -> bytes | None:
        """Return the encoded content, ``None`` when that does not pay, from the cache if it is there."""
        encoded = self.store.read(key)
        if encoded is not None and encoded != _NO_GAIN and not _stands_for(encoded, content, coding):
            encoded = None
        if encoded is None:
            encoded = codings.encode_if_smaller(content, coding, self.snapshot.settings.effort) or _NO_GAIN
            self.store.put(encoded, key)
        return None if encoded == _NO_GAIN else encoded

    # ---- assets

    def _view(self, level: str) -> RecordingView:
        snapshot = self.snapshot
        return RecordingView(
            self.site,
            self.tree,
            snapshot.decisions,
            snapshot.settings,
            lambda path, outer: self._artifact(level, path, outer),
            self.deriver.derived,
        )

    def _artifact(self, level: str, path: str, outer: RecordingView) -> bytes:
        """Return an asset at a level, and pass on to ``outer`` what it depends on."""
        known = self._artifacts.get((level, path))
        if known is None:
            view = outer.nested()
            try:
                original = view.read(path)
                content = _or(self._run_asset_steps(level, path, original, view).content, original)
            finally:
                outer.include(view.dependencies, ())
            known = _Artifact(content, tuple(view.dependencies), tuple(view.derived.values()))
            self._keep(level, path, known)
        outer.include(known.dependencies, known.derived)
        return known.content

    def _keep(self, level: str, path: str, artifact: _Artifact) -> None:
        if len(artifact.content) <= _KEPT_BYTES:
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
        key = digest_parts(
            "asset", VERSION, step.recipe(), str(view.settings), asset.media_type, digest_bytes(asset.content)
        )
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
        content = self.store.content(record["content"]) if record["content"] else None
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


def failure(path: str, name: str, bug: Exception) -> Diagnostic:
    """Return the diagnostic for a bug that was met on a file; ``name`` is the level or phase."""
    where = traceback.extract_tb(bug.__traceback__)[-1]
    reason = f"{type(bug).__name__}: {bug} at {Path(where.filename).name}:{where.lineno}"
    return diagnose("pass-failed", Location(path), name=name, reason=reason)


def _extras(content: bytes, derived: Iterable[DerivedFile]) -> tuple[Extra, ...]:
    """Return the derived files that ``content`` refers to: passes that were dropped may have asked for others."""
    return tuple(
        Extra(one.path, one.media_type, (Output(IDENTITY, one.digest, one.digest, one.size),))
        for one in derived
        if any(os.path.basename(one.path).encode(encoding) in content for encoding in _ENCODINGS)
    )


def _or(made: bytes | None, original: bytes) -> bytes:
    return original if made is None else made


def _stands_for(encoded: bytes, content: bytes, coding: codings.Coding) -> bool:
    try:
        return codings.decode(encoded, coding, len(content)) == content
    except codings.CodingError:
        return False


def _asset_steps(plan: Plan, media_type: str) -> tuple[Step, ...]:
    return tuple(step for step in plan.steps_for(media_type) if step.of.asset is not None)
