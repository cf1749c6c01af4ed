"""The stage of a build that gives each level a dictionary, and encodes files with what browsers hold (RFC 9842).

Pages are encoded with the dictionary of their level and with those that it had before; style sheets and scripts with
their own earlier versions (``dictionary_history``).

It comes after the pages are built, since dictionaries are made of pages as they are sent. What it adds are outputs of
the units like others, so that every build, check and removal sees them; the dictionary is an extra file of each page
that is encoded with it. A level keeps its dictionary, which visitors hold, until a tenth of its pages has changed, and
then for as long as another one would save little more.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from adaptc.compile.analyse.dictionary_search import MOST_PAGES, MOST_SAMPLED, Found
from adaptc.compile.engine.cache.store import ObjectGone, Store
from adaptc.compile.engine.dictionaries.records import (
    LevelRecord,
    dictionary_records,
    search_key,
    store_records,
)
from adaptc.compile.engine.dictionaries.versions import (
    DICTIONARIES,
    EarlierContents,
    Version,
    Versions,
    coding_of,
    stored_versions,
    with_version,
)
from adaptc.compile.engine.dictionaries.work import (
    BuiltFile,
    DictionaryWork,
    FileToEncode,
    LevelDictionary,
    LevelSample,
    encode_batch,
    search_batch,
)
from adaptc.compile.engine.state.results import UnitResult, without_dictionary
from adaptc.compile.engine.trees.gate import in_groups
from adaptc.core.media import CSS, HTML, JS
from adaptc.core.model import IDENTITY, is_dictionary, is_dictionary_coding, is_servable_coding
from adaptc.core.urls import pattern_of
from adaptc.core.values import dataclass
from adaptc.formats.dictionary import MOST_BYTES

if TYPE_CHECKING:
    from adaptc.compile.engine.reporting import BuildReport, Progress
    from adaptc.compile.engine.spec import BuildSpec
    from adaptc.compile.engine.state.results import Extra, Output
    from adaptc.compile.engine.state.state import State
    from adaptc.compile.engine.trees.gate import GatedPublisher
    from adaptc.compile.engine.trees.trees import Trees
    from adaptc.compile.engine.workers.executor import Workers
    from adaptc.site.site import Source

# The share of a level's pages that must have changed since the last search for another one
_CHANGED = 0.1
# Pages that are published together, and the seconds after which fewer are
_GROUP, _GROUP_SECONDS = 256, 1.0

Pages = Mapping[str, Sequence[BuiltFile]]
"""The pages of each level, in the order of their paths."""

Coded = dict[BuiltFile, tuple["Output", ...]]
"""What the tree has of dictionaries, of the files of which that changed."""


@dataclass(frozen=True, slots=True)
class DictionaryStage:
    """Brings dictionaries up to date with the units of ``state``."""

    spec: BuildSpec
    state: State
    report: BuildReport
    sources: Mapping[str, Source]
    trees: Trees
    gated_publisher: GatedPublisher

    def run(self, workers: Workers, progress: Progress) -> None:
        """Search, encode and publish. Raises ``BuildCancelled``."""
        last = dictionary_records(self.state)
        is_on = self.spec.config.codings.dictionaries
        history = DictionaryHistory(self.spec, self.sources, stored_versions(self.state) if is_on else {})
        pages = self._pages(history)
        changed = {level: self._changed(level, last.get(level)) for level in pages}
        chosen = self._choose(pages, last, changed, workers) if is_on else {}
        history.end({level: dictionary.version for level, dictionary in chosen.items()})
        coded = self._encode(pages, chosen, history, workers, progress)
        records = {
            level: self._record(built, chosen[level], coded, changed[level])
            for level, built in pages.items()
            if level in chosen
        }
        self._store(records, last, history, is_changed=bool(coded))

    def _store(
        self,
        records: Mapping[str, LevelRecord],
        last: Mapping[str, LevelRecord],
        history: DictionaryHistory,
        *,
        is_changed: bool,
    ) -> None:
        """Store the records and versions, and remove the dictionaries that no page is encoded with any more."""
        self.state.begin()
        if is_changed or records != last:
            self.state.set_meta("build", None)
        store_records(self.state, records, self.spec)
        self.state.set_versions(history.versions)
        history.contents.keep_only(history.versions)
        used = {level: record.path for level, record in last.items() if record.path is not None}
        self.trees.remove_unused_extras(self.state, dict.fromkeys(used.items()))
        self.state.commit()

    # ---- choosing

    def _pages(self, history: DictionaryHistory) -> Pages:
        """Return the pages, and add the other files to ``history``."""
        pages: dict[str, list[BuiltFile]] = {level: [] for level in self.spec.recipes}
        hits = self.report.traffic.hits if self.report.traffic else {}
        for result in self.state.results(notes=False):
            if result.media_type == HTML and result.level in pages and result.path in self.sources:
                pages[result.level].append(self._page(result, hits.get(result.path, 0) if hits else 1))
            else:
                history.add(result)
        return pages

    def _page(self, result: UnitResult, weight: int) -> BuiltFile:
        source, plain = self.sources[result.path], without_dictionary(result).outputs
        digest = next((output.digest for output in plain if output.coding == IDENTITY), source.digest)
        sent = min((output.size for output in plain), default=source.size)
        coded = tuple(output for output in result.outputs if is_dictionary_coding(output.coding))
        dictionary = next((extra.path for extra in result.extras if is_dictionary(extra.path)), None)
        return BuiltFile(result.level, result.path, digest, sent, weight, coded, dictionary)

    def _changed(self, level: str, record: LevelRecord | None) -> int:
        """Return how many pages of a level were built since its dictionary was searched."""
        built = sum(unit[0] == level and self.sources[unit[1]].media_type == HTML for unit in self.report.reasons)
        return built + (record.changed if record else 0)

    def _choose(
        self, pages: Pages, last: Mapping[str, LevelRecord], changed: dict[str, int], workers: Workers
    ) -> dict[str, LevelDictionary]:
        """Return the dictionary of each level; what was searched counts as ``changed`` no more."""
        work, chosen, samples = self._work(), dict[str, LevelDictionary](), list[tuple[LevelSample, int]]()
        for level, built in pages.items():
            record = last.get(level)
            kept = self._kept(level, record, work) if changed[level] <= _CHANGED * len(built) else None
            if kept is not None:
                chosen[level] = kept
                continue
            changed[level] = 0
            sample = LevelSample(level, tuple(self._sample(built)), record.digest if record else None)
            samples.append((sample, sum(self.sources[page.path].size for page in sample.pages)))
        for dictionary in workers.run(search_batch, work, samples, _lose_search):
            chosen[dictionary.level] = dictionary
        return chosen

    def _kept(self, level: str, record: LevelRecord | None, work: DictionaryWork) -> LevelDictionary | None:
        """Return what a level has, if it is in the cache and no other setting asks for a search."""
        if record is None or record.key != search_key(self.spec):
            return None
        if record.digest is None:
            return LevelDictionary(level, None, record.reason)
        content = work.store.content(record.digest)
        return None if content is None else work.describe(level, Found(content, None))

    def _sample(self, pages: Sequence[BuiltFile]) -> Iterator[BuiltFile]:
        """Yield pages to search a dictionary for: the most viewed, or else pages at even distances.

        A dictionary must hold only what every visitor may read: pages that are never adapted are left out.
        """
        bounds = self.spec.settings.bounds
        usual = [page for page in pages if page.weight and bounds.between(page.path, ()) is None]
        if self.report.traffic is not None and self.report.traffic.hits:
            usual = sorted(usual, key=lambda page: (-page.weight, os.fsencode(page.path)))[:MOST_PAGES]
        size, count = 0, min(len(usual), MOST_PAGES)
        for number in range(count):
            page = usual[number * len(usual) // count]
            size += self.sources[page.path].size
            if size > MOST_SAMPLED:
                return
            yield page

    def _work(self) -> DictionaryWork:
        spec = self.spec
        kept = self.spec.private / EARLIER
        return DictionaryWork(spec.docroot, spec.cache, kept, spec.codings, spec.coding_effort, spec.cost)

    # ---- encoding

    def _encode(
        self,
        pages: Pages,
        chosen: Mapping[str, LevelDictionary],
        history: DictionaryHistory,
        workers: Workers,
        progress: Progress,
    ) -> Coded:
        """Encode files with what browsers hold; return those that changed, as they are now."""
        wanted = [(page, history.dictionaries(level)) for level, built in pages.items() for page in built]
        to_encode, to_strip = list[tuple[FileToEncode, int]](), list[BuiltFile]()
        for file, versions in (*wanted, *history.files()):
            present, named = {output.coding for output in file.coded}, {coding_of(version) for version in versions}
            is_outdated = file.dictionary not in (None, _path(chosen.get(file.level)))
            if not versions and present:
                to_strip.append(file)
            elif present != named or is_outdated:
                to_encode.append((FileToEncode(file, versions), file.sent * len(versions)))
        if to_encode or to_strip:
            self.state.set_meta("build", None)  # the documents will be outdated
        progress.begin("encoding with dictionaries", len(to_encode), 0)
        encoded = itertools.chain(
            ((file, ()) for file in to_strip),
            workers.run(encode_batch, self._work(), to_encode, _lose_file),
        )
        coded = self._publish_all(encoded, chosen, progress)
        progress.end()
        return coded

    def _publish_all(
        self,
        encoded: Iterator[tuple[BuiltFile, tuple[Output, ...]]],
        chosen: Mapping[str, LevelDictionary],
        progress: Progress,
    ) -> Coded:
        coded: Coded = {}
        needed = ((file, outputs, _needed(outputs, chosen.get(file.level))) for file, outputs in encoded)
        results = (
            (file, outputs, self._result(file, outputs, extra))
            for file, outputs, extra in needed
            if (outputs, extra and extra.path) != (file.coded, file.dictionary)
        )
        self.state.begin()
        for group in in_groups(results, _GROUP, _GROUP_SECONDS, lambda: self.gated_publisher.is_cancelled):
            self.gated_publisher.commit(self.state, [result for _, _, result in group if result is not None])
            self.gated_publisher.check()
            self.state.begin()
            for file, outputs, result in group:
                progress.advance(1, 0, 0)
                if result is not None and self._publish(result):
                    coded[file] = outputs
        self.gated_publisher.commit(self.state)
        return coded

    def _result(self, file: BuiltFile, outputs: tuple[Output, ...], extra: Extra | None) -> UnitResult | None:
        """Return a unit as it is to be now; ``None`` when it is gone."""
        stored = self.state.result(file.level, file.path, self.spec.recipes[file.level])
        if stored is None:
            return None
        plain = without_dictionary(stored)
        extras = plain.extras if extra is None else (*plain.extras, extra)
        return dataclasses.replace(plain, outputs=(*plain.outputs, *outputs), extras=extras)

    def _publish(self, result: UnitResult) -> bool:
        """Publish what a unit has of a dictionary, and store that; return whether it could be published."""
        try:
            is_published = self.gated_publisher.replace_dictionary(result).published
        except ObjectGone:  # the next build encodes the page again
            return False
        if is_published:
            self.state.replace_outputs(result)
        return is_published

    # ---- recording

    def _record(
        self,
        pages: Sequence[BuiltFile],
        chosen: LevelDictionary,
        coded: Coded,
        changed: int,
    ) -> LevelRecord:
        """Return the record of a level; a page that is not encoded is sent as without a dictionary."""
        weights = [page.weight for page in pages] if any(page.weight for page in pages) else None
        first = fmean([page.sent for page in pages], weights) if pages else 0
        sent = [_sent(page, coded.get(page, page.coded), chosen.coding) for page in pages]
        following = fmean(sent, weights) if pages else 0
        file, identity = chosen.file, chosen.identity
        return LevelRecord(
            file.path if file else None,
            identity.digest if identity else None,
            identity.size if identity else 0,
            chosen.sent,
            chosen.reason,
            first,
            following,
            changed,
            search_key(self.spec),
        )


def _lose_search(sample: LevelSample, reason: str) -> LevelDictionary:
    return LevelDictionary(sample.level, None, reason)


def _lose_file(unit: FileToEncode, _reason: str) -> tuple[BuiltFile, tuple[Output, ...]]:
    return unit.file, ()


def _needed(outputs: tuple[Output, ...], chosen: LevelDictionary | None) -> Extra | None:
    """Return the dictionary of a level if one of the outputs is encoded with it."""
    is_used = chosen is not None and any(output.coding == chosen.coding for output in outputs)
    return chosen.file if chosen is not None and is_used else None


def _path(chosen: LevelDictionary | None) -> str | None:
    return chosen.file.path if chosen is not None and chosen.file is not None else None


def _sent(page: BuiltFile, outputs: tuple[Output, ...], coding: str | None) -> int:
    """Return the bytes of a page for a browser that holds the dictionary of its level."""
    return next((output.size for output in outputs if output.coding == coding), page.sent)


# ---- earlier versions

EARLIER = "earlier"
"""The name of the private directory for the contents of versions."""


class DictionaryHistory:
    """The versions of a build, and of those before it, which ``before`` has.

    Browsers hold style sheets and scripts of the levels that are the same page: caches do not keep others. A pattern
    that several files of a build have is none of theirs: which of them a browser holds is not known.
    """

    def __init__(self, spec: BuildSpec, sources: Mapping[str, Source], before: Versions) -> None:
        self.spec, self.sources, self.before = spec, sources, before
        self.back = spec.config.codings.versions_back if spec.config.codings.dictionaries else 0
        self.contents = EarlierContents(spec.private / EARLIER)
        self.versions: dict[tuple[str, str], Sequence[Version]] = {}
        self._levels = {level.name for level in spec.levels if level.promise == "same"}
        self._files: dict[tuple[str, str], list[tuple[BuiltFile, Version | None]]] = {}

    def add(self, result: UnitResult) -> None:
        """Add a unit of the build."""
        if result.media_type not in (CSS, JS) or result.level not in self._levels:
            return
        source, name = self.sources.get(result.path), pattern_of(f"/{result.path}")
        if source is None or name is None:
            return
        plain, bound = without_dictionary(result).outputs, self.spec.settings.bounds.between(result.path, ())
        if not plain or source.alias_of is not None or bound is not None:
            return
        stored = min(plain, key=lambda output: (output.coding != IDENTITY, output.size))
        digest = stored.digest if stored.coding == IDENTITY else source.digest
        coded = tuple(output for output in result.outputs if is_dictionary_coding(output.coding))
        sent = min(output.size for output in plain)
        file = BuiltFile(result.level, result.path, digest, sent, coded=coded)
        version = Version(digest, stored.coding, stored.key) if source.size <= MOST_BYTES else None
        self._files.setdefault((result.level, name), []).append((file, version))

    def end(self, dictionaries: Mapping[str, Version | None]) -> None:
        """Take up the ``dictionaries`` of levels, and keep the contents of this build for the next ones."""
        newest = {(level, DICTIONARIES): version for level, version in dictionaries.items()}
        if self.back:
            newest |= {unit: files[0][1] for unit, files in self._files.items() if len(files) == 1}
        store = Store(self.spec.cache)
        for unit, version in newest.items():
            older = self.before.get(unit, ())
            versions = older[: self.back] if version is None else with_version(older, version, self.back)
            if versions:
                self.versions[unit] = versions
            if version is not None and self.back:
                self.contents.keep(version, store.object_path(version.key))

    def dictionaries(self, level: str) -> tuple[Version, ...]:
        """Return the dictionaries to encode the pages of a level with."""
        return tuple(filter(is_named, self.versions.get((level, DICTIONARIES), ())))

    def files(self) -> Iterator[tuple[BuiltFile, tuple[Version, ...]]]:
        """Yield style sheets and scripts with the earlier versions to encode them with."""
        for unit, files in self._files.items():
            versions = tuple(filter(is_named, self.versions.get(unit, ())))
            for file, _ in files:
                yield file, tuple(version for version in versions if version.digest != file.digest)


def is_named(version: Version) -> bool:
    """Whether servers can tell from a request which directory is that of a version."""
    return is_servable_coding(coding_of(version))
