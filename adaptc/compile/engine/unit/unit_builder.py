"""Build one unit: a resource at a level, from its source to its files in the cache.

Worker processes call ``gather_batch`` and ``build_batch``, by ``workers.task``: they load a snapshot once and then take
units in batches. A session builds in its own process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import operator
import os
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path

from adaptc.compile.analyse.facts import Facts, gather
from adaptc.compile.engine.cache.derived import (
    Encoder,
    EvidenceStore,
    FactStore,
    ImageCopier,
    PageEvidenceStore,
    remember_in,
)
from adaptc.compile.engine.cache.store import TRIES, ObjectGone, Store, cache_loses
from adaptc.compile.engine.cache.tracing import TracingStore, trace_key
from adaptc.compile.engine.state.results import Extra, Output, UnitResult, unpublished
from adaptc.compile.engine.unit.assets import Assets, demotion_diagnostics
from adaptc.compile.engine.unit.choices import (
    MadePage,
    as_above,
    as_source,
    choose_page,
    harm_in,
    held_files,
    more_waiting,
    smaller_budgets,
    with_budget,
)
from adaptc.compile.engine.unit.recording_view import Labelling, RecordingView
from adaptc.compile.engine.unit.records import BuiltUnits, UnitRecords
from adaptc.compile.engine.unit.snapshot import SharedSnapshot, Snapshot
from adaptc.compile.engine.unit.weights import AssetWeigher, PageWeight, imported_sheets, loaded_backgrounds
from adaptc.compile.page.context import KEPT
from adaptc.compile.page.page_harm import Matcher
from adaptc.compile.pipeline import Plan, SidecarPass, levels_above, plan_level
from adaptc.compile.rewrite import PageResult, Refusal, rewrite_page
from adaptc.compile.view import WAITING_BYTES, Alternates, DerivedFile
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_bytes, digest_chunks
from adaptc.core.fs import ChangedWhileRead, Contents, DiskTree
from adaptc.core.model import IDENTITY, Action
from adaptc.core.shortage import OutOfTime, bounding_cpu_time, raise_shortage, recognizing_shortage
from adaptc.core.urls import SiteAddress
from adaptc.site.site import Site, Source

# Results that the next level of the same page is compared with: a batch has all levels of a page in sequence
_CACHED_PAGES = 64

# Media types of files that list no others
_UNWRITTEN = ("image/", "font/", "audio/", "video/")

# The encodings in which a page may contain the ASCII name of a file
_ENCODINGS = ("ascii", "utf-16-le", "utf-16-be")


class UnitBuilder:
    """Builds the units of one snapshot."""

    def __init__(
        self, snapshot: Snapshot, site: Site | None = None, hidden: frozenset[str] = frozenset(), *, alone: bool = False
    ) -> None:
        """``site`` is that of the snapshot, if it is known. Units in the state that depend on a path of ``hidden`` are
        not used. With ``alone`` a page is neither compared with the level above nor refused where it grows.
        """
        self.snapshot = snapshot
        address, withheld = SiteAddress(snapshot.base_url), snapshot.decisions.withheld
        self.site = site or Site.of(snapshot.sources, address, snapshot.index_names, withheld)
        docroot = DiskTree(snapshot.docroot)
        self.root = docroot.root
        self.tree: Contents = snapshot.contents or docroot
        self.store = TracingStore(snapshot.cache) if snapshot.traced else Store(snapshot.cache)
        self.plans = {level.name: plan_level(level) for level in snapshot.levels}
        self.alone = alone
        self.above = {} if alone else levels_above(snapshot.levels)
        self._pages: OrderedDict[tuple[str, str], UnitResult] = OrderedDict()
        self.image_copier = ImageCopier(self.store, snapshot.settings)
        self.evidence = EvidenceStore(self.store, snapshot.settings.limit_pixels)
        self.facts = FactStore(self.store)
        self.page_evidence = PageEvidenceStore(self.store)
        self.built = BuiltUnits(snapshot.output, snapshot.recipes, self.store, hidden)
        self.encoder = Encoder(self.store, snapshot.codings, snapshot.coding_effort)
        self.assets = Assets(self.site.sources, self.plans, self.store, self.above, self._view, self._weigh_asset)
        self.records = UnitRecords(snapshot, self.store)
        self.matcher = Matcher(remember_in(self.store))
        self.asset_weigher = AssetWeigher(
            self.site, self.encoder, self.assets.artifact, self._view, snapshot.max_file_bytes
        )

    def _view(self, level: str, path: str) -> RecordingView:
        snapshot, materials = self.snapshot, _LevelMaterials(self, level)
        return RecordingView(self.site, self.tree, snapshot.decisions, snapshot.settings, materials, path)

    def _weigh_asset(self, level: str, path: str, content: bytes, view: RecordingView) -> PageWeight:
        return self.asset_weigher.with_loads(level, path, content, view)

    def build(self, level: str, path: str) -> UnitResult:
        """Build one unit into the cache. Raises ``Shortage``, and ``OSError`` for the output or the cache."""
        begun = _cpu_times()
        for _ in range(TRIES):
            with contextlib.suppress(ObjectGone):
                result, is_slow = self._build_in_time(level, path)
                result = dataclasses.replace(result, seconds=max(map(operator.sub, _cpu_times(), begun)))
                if not is_slow:  # other machines may be faster
                    self._store_trace(result)
                return result
        raise cache_loses(self.snapshot.cache)

    def _build_in_time(self, level: str, path: str) -> tuple[UnitResult, bool]:
        """Return a unit, or as it is if it would take too long, and whether it would."""
        limit = self.snapshot.unit_seconds
        try:
            with bounding_cpu_time(limit):
                return self._build(level, path), False
        except OutOfTime:
            view = self._view(level, path)
            content = view.read(path)
            diagnostic = diagnose("unit-too-slow", Location(path), seconds=f"{limit:g}", name=level)
            result = self._encode(level, path, content, content, view)
            return dataclasses.replace(result, diagnostics=(diagnostic,)), True

    def _store_trace(self, result: UnitResult) -> None:
        """Store a record of a unit, and note its artifacts, but for what the source is."""
        if isinstance(self.store, TracingStore):
            if not self.alone:
                self.records.put(result)
            source = self.site.sources[result.path]
            key = trace_key(self.snapshot.recipes[result.level], source.media_type, source.digest)
            self.store.store_trace(key, (source.digest,))

    def _build(self, level: str, path: str) -> UnitResult:
        media_type = self.site.sources[path].media_type
        try:
            with recognizing_shortage():
                return self._build_or_copy(level, path, self._view(level, path))
        except ChangedWhileRead:
            return unpublished(level, path, media_type, diagnose("changed-while-read", Location(path)))
        except OSError as error:
            if not str(error.filename).startswith(self.root + "/"):
                raise  # the output or the cache: the build ends
            diagnostic = diagnose("unreadable-file", Location(path), reason=error.strerror)
            return unpublished(level, path, media_type, diagnostic)

    def _build_or_copy(self, level: str, path: str, view: RecordingView) -> UnitResult:
        try:
            return self._process(level, path, view)
        except (ChangedWhileRead, ObjectGone):
            raise
        except Exception as bug:  # a bug that one page triggers must not stop the build: report it, keep the original
            if isinstance(bug, OSError) and bug.errno is not None:  # Pillow has its own without a number
                raise
            raise_shortage(bug)
            content = view.read(path)
            result = self._encode(level, path, content, content, view)
            return dataclasses.replace(result, diagnostics=(failure(path, level, bug),))

    def _process(self, level: str, path: str, view: RecordingView) -> UnitResult:
        source = self.site.sources[path]
        if source.size > self.snapshot.max_file_bytes:
            return self._large(level, path, source)
        if source.media_type == media.HTML:
            return self._page_not_larger(level, path, view)
        return self._asset(level, path, view)

    def _large(self, level: str, path: str, source: Source) -> UnitResult:
        """Publish a large file as it is, in chunks."""
        limit = self.snapshot.max_file_bytes
        diagnostic = diagnose("file-too-large", Location(path), size=source.size, limit=limit)
        outputs: tuple[Output, ...] = ()
        if self.snapshot.complete:
            self.store.put_chunks(self._verified_chunks(path, source.digest), source.digest)
            outputs = (Output(IDENTITY, source.digest, source.digest, source.size),)
        return UnitResult(level, path, source.media_type, outputs, (path,), diagnostics=(diagnostic,))

    def _verified_chunks(self, path: str, digest: str) -> Iterator[bytes]:
        total = hashlib.sha256()
        for chunk in self.tree.chunks(path):
            total.update(chunk)
            yield chunk
        if total.hexdigest() != digest:
            raise ChangedWhileRead(path)

    def _page_not_larger(self, level: str, path: str, view: RecordingView) -> UnitResult:
        """Return a page at a level, or as it is at the level above if it would be larger than that."""
        result, refusal = self._page(level, path, view)
        above = self.above.get(level)
        demotion = next((each.reason for each in view.demotions(level, path) if each.name == level), None)
        if above is not None:
            higher = self._above(above, path)
            view.include(higher.dependencies, ())
            result = self._lower(result, higher, demotion, refusal, view)
            result = dataclasses.replace(result, dependencies=tuple(view.dependencies))
        elif demotion is not None:
            result = as_source(result, demotion)
        self._pages[level, path] = result
        if len(self._pages) > _CACHED_PAGES:
            self._pages.popitem(last=False)
        return result

    def _lower(
        self, result: UnitResult, higher: UnitResult, demotion: str | None, refusal: Refusal | None, view: RecordingView
    ) -> UnitResult:
        """Return the page, or as it is at the level above if it must or should stay so; a proof has a ``demotion``."""
        if demotion is not None:
            return as_above(result, higher, demotion, "level-demoted")
        if refusal is not None:
            return as_above(result, higher, refusal.reason, refusal.kind)
        limit = self.asset_weigher.page(higher, view).with_more(more_waiting(result, higher), WAITING_BYTES)
        for path in sorted(self.site.sources.keys() & held_files(result) - held_files(higher)):
            limit = limit.with_file(self.asset_weigher.pages.asset(higher.level, path).sizes)
        excess = self.asset_weigher.page(result, view).excess(limit)
        if excess is None:
            return result
        smaller = (self._page(result.level, result.path, view, each)[0] for each in smaller_budgets(result.actions))
        fitting = (each for each in smaller if self.asset_weigher.page(each, view).excess(limit) is None)
        return next(fitting, None) or as_above(result, higher, excess, "level-larger")

    def _above(self, level: str, path: str) -> UnitResult:
        known = self._pages.get((level, path)) or self.built.get(level, path)
        return known or self._build_or_copy(level, path, self._view(level, path))

    def _page(
        self, level: str, path: str, view: RecordingView, budget: int | None = None
    ) -> tuple[UnitResult, Refusal | None]:
        """Return the page at a level, and why it must stay as it is at the level above, if so.

        ``budget`` is that of the data URIs of smaller images, in place of the level's own.
        """
        plan = self.plans[level]
        page, refusal = self._page_by(plan, level, path, view, budget)
        if not plan.instead or refusal is not None or any(each.name == level for each in view.demotions(level, path)):
            return page.result, refusal
        others = [self._page_by(other, level, path, view, budget) for other in plan.instead]
        made = [page, *(other for other, problem in others if problem is None)]
        harm = harm_in(view, path, view.read(path), self.matcher)
        result = choose_page(plan.level, made, lambda each: self.asset_weigher.page(each, view), harm)
        return dataclasses.replace(result, dependencies=tuple(view.dependencies)), None

    def _page_by(
        self, plan: Plan, level: str, path: str, view: RecordingView, budget: int | None
    ) -> tuple[MadePage, Refusal | None]:
        """Return the page of a level as a plan makes it, and why it must stay as it is at the level above, if so."""
        original = view.read(path)
        steps = with_budget(plan.steps_for(media.HTML), budget)
        reason = view.pinned(path) if steps else None
        if not steps or reason is not None:
            result = self._encode(level, path, original, original, view)
            actions = () if reason is None else (Action(level, KEPT, "the page", reason),)
            return MadePage(plan.level.name, dataclasses.replace(result, actions=actions), original), None
        demotions = view.demotions(level, path)
        names = [demotion.name for demotion in demotions]
        kept = tuple(step for step in steps if level not in names and step.name not in names)
        promise, alone = plan.level.promise, self.alone
        done = rewrite_page(path, original, view, kept, promise, may_grow=alone) if kept else PageResult()
        content = _or(done.content, original)
        result = self._encode(level, path, content, original, view)
        files, diagnostics = self._sidecars(plan, path, original, view)
        result = dataclasses.replace(
            result,
            dependencies=tuple(view.dependencies),
            extras=(*result.extras, *files),
            actions=(*done.actions, *_held_back(level, view)),
            diagnostics=(*done.diagnostics, *diagnostics, *demotion_diagnostics(level, path, demotions)),
            demoted=(*done.demoted, *(name for name in names if name != level)),
            embeds=done.embeds,
        )
        return MadePage(plan.level.name, result, content), done.refusal

    def _sidecars(
        self, plan: Plan, path: str, original: bytes, view: RecordingView
    ) -> tuple[list[Extra], list[Diagnostic]]:
        """Return the files that the level puts next to a page."""
        steps = plan.steps_of(SidecarPass, media.HTML)
        sidecars = [step.pass_.run(path, original, view, step.options) for step in steps]
        files = [
            Extra(
                sidecar.path,
                sidecar.media_type,
                tuple(self.encoder.outputs(sidecar.content, sidecar.media_type, identity=True)),
            )
            for sidecar in sidecars
            if sidecar.content is not None
        ]
        return files, [diagnostic for sidecar in sidecars for diagnostic in sidecar.diagnostics]

    def _asset(self, level: str, path: str, view: RecordingView) -> UnitResult:
        original = view.read(path)
        outcome = self.assets.run(level, path, original, view)
        content = _or(outcome.content, original)
        is_sheet = self.site.sources[path].media_type == media.CSS
        embeds = imported_sheets(path, content, view) if is_sheet else None
        backgrounds = loaded_backgrounds(path, content, view) if is_sheet else ()
        result = self._encode(level, path, content, original, view)
        alternates = self.assets.alternates(level, path, original, content, view)
        diagnostics = (*outcome.diagnostics, *alternates.diagnostics, *self._not_rewritten(level, path))
        diagnostics = (*diagnostics, *self._listed(level, path, view))
        return dataclasses.replace(
            result,
            outputs=(*result.outputs, *self._outputs(alternates)),
            actions=(*outcome.actions, *alternates.actions, *_held_back(level, view)),
            dependencies=tuple(view.dependencies),
            diagnostics=diagnostics,
            demoted=tuple(demotion.name for demotion in view.demotions(level, path)),
            embeds=embeds,
            backgrounds=backgrounds,
        )

    def _outputs(self, alternates: Alternates) -> Iterator[Output]:
        for image in alternates.images:
            digest = self.store.put(image.content)
            yield Output(image.format, digest, digest, len(image.content))

    def _not_rewritten(self, level: str, path: str) -> tuple[Diagnostic, ...]:
        """Report that the page passes of the level do not apply to a page in XML syntax."""
        if self.site.sources[path].media_type != media.XHTML or not self.plans[level].steps_for(media.HTML):
            return ()
        return (diagnose("page-not-html", Location(path), media_type=media.XHTML),)

    def _listed(self, level: str, path: str, view: RecordingView) -> Iterator[Diagnostic]:
        """Report that a text lists files of the site by what a level may change."""
        if self.site.sources[path].media_type.startswith(_UNWRITTEN) or not self.plans[level].steps_for(media.HTML):
            return
        listing = view.listing(path)
        if listing.pinned:
            yield diagnose("pinned-by-digest", Location(path), count=listing.pinned)
        if listing.versions:
            yield diagnose("versions-outdated", Location(path), count=listing.versions)

    def _encode(self, level: str, path: str, content: bytes, original: bytes, view: RecordingView) -> UnitResult:
        media_type = self.site.sources[path].media_type
        changed = content != original
        outputs = tuple(self.encoder.outputs(content, media_type, identity=changed or self.snapshot.complete))
        extras = _extras(content, view.derived.values())
        return UnitResult(level, path, media_type, outputs, tuple(view.dependencies), changed=changed, extras=extras)


def _held_back(level: str, view: RecordingView) -> Iterator[Action]:
    """Yield why files did not become part of a unit; links to pages say nothing."""
    for path, reason in view.held_back.items():
        if view.media_type(path) not in media.PAGES:
            yield Action(level, KEPT, path, reason)


def _cpu_times() -> tuple[float, float]:
    """Return the CPU time of this process and of this thread, in seconds.

    That of a process with a bound of it goes in ticks of the kernel; that of a thread is exact, and without helpers.
    """
    return time.process_time(), time.thread_time()


class _LevelMaterials:
    """What views of a level get: the assets of the level, and what the cache has."""

    def __init__(self, builder: UnitBuilder, level: str) -> None:
        self.builder, self.level = builder, level
        self.copy, self.copy_content = builder.image_copier.copy, builder.image_copier.content
        self.facts = builder.facts.of
        self.page_evidence, self.page_document = builder.page_evidence.read, builder.page_evidence.document

    @property
    def labelling(self) -> Labelling | None:
        """The rules by which images are labelled, if the level asks for labels."""
        rules, plan = self.builder.snapshot.decorations, self.builder.plans[self.level]
        return None if rules is None else Labelling(plan.level.lineage, rules, self.builder.evidence.of)

    def artifact(self, path: str, view: RecordingView) -> bytes:
        """Return an asset at the level."""
        return self.builder.assets.artifact(self.level, path, view)


def failure(path: str, name: str, bug: Exception) -> Diagnostic:
    """Return the diagnostic for a bug that a file triggers; ``name`` is the level or phase."""
    where = traceback.extract_tb(bug.__traceback__)[-1]
    reason = f"{type(bug).__name__}: {bug} at {Path(where.filename).name}:{where.lineno}"
    return diagnose("pass-failed", Location(path), name=name, reason=reason)


def _extras(content: bytes, derived: Iterable[DerivedFile]) -> tuple[Extra, ...]:
    """Return the derived files that ``content`` refers to; passes that were demoted may have requested others."""
    return tuple(
        Extra(file.path, file.media_type, (Output(IDENTITY, file.digest, file.digest, file.size),))
        for file in derived
        if any(os.path.basename(file.path).encode(encoding) in content for encoding in _ENCODINGS)
    )


def _or(content: bytes | None, original: bytes) -> bytes:
    return original if content is None else content


_of_thread = threading.local()


def _unit_builder(shared: SharedSnapshot) -> UnitBuilder:
    """Return the builder of this thread: SQLite does not let others use what it opened."""
    known: UnitBuilder | None = getattr(_of_thread, "builder", None)
    if known is None or known.snapshot is not shared.snapshot:
        known = _of_thread.builder = UnitBuilder(shared.snapshot)
    return known


def gather_batch(snapshot: SharedSnapshot, paths: tuple[str, ...]) -> Iterator[tuple[str, Facts | str]]:
    """Yield (path, facts) for each source, or (path, reason) where it cannot be read."""
    unit_builder = _unit_builder(snapshot)
    return ((path, read_facts(unit_builder, path)) for path in paths)


def read_facts(unit_builder: UnitBuilder, path: str) -> Facts | str:
    """Return the facts of a source, or why it cannot be read. Raises ``Shortage``."""
    try:
        with recognizing_shortage():
            return _facts(unit_builder, path)
    except ChangedWhileRead:
        return "it changed while it was read"
    except OSError as error:
        return error.strerror or str(error)


def _facts(unit_builder: UnitBuilder, path: str) -> Facts:
    source = unit_builder.site.sources[path]
    if source.size > unit_builder.snapshot.max_file_bytes:
        return Facts(digest_chunks(unit_builder.tree.chunks(path)))
    content = unit_builder.tree.read(path)
    limit = unit_builder.snapshot.unit_seconds
    try:
        with bounding_cpu_time(limit):
            return gather(path, content, source.media_type, unit_builder.site)
    except OutOfTime:
        slow = diagnose("unit-too-slow", Location(path), seconds=f"{limit:g}", name="facts")
        return Facts(digest_bytes(content), diagnostics=(slow,))
    except Exception as bug:  # as in UnitBuilder: one page must not stop the build
        raise_shortage(bug)
        return Facts(digest_bytes(content), diagnostics=(failure(path, "facts", bug),))


def build_batch(snapshot: SharedSnapshot, units: tuple[tuple[str, str], ...]) -> Iterator[UnitResult]:
    """Build units into the cache, and yield their results in order."""
    unit_builder = _unit_builder(snapshot)
    return (unit_builder.build(level, path) for level, path in units)
