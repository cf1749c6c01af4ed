"""Which files of a build are encoded with what browsers may hold of earlier builds, and what they hold of this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from adaptc.compile.engine.dictionary_work import BuiltFile
from adaptc.compile.engine.earlier import DICTIONARIES, EarlierContents, Version, Versions, coding_of, with_version
from adaptc.compile.engine.results import without_dictionary
from adaptc.compile.engine.store import Store
from adaptc.core.media import CSS, JS
from adaptc.core.model import IDENTITY, is_dictionary_coding, is_servable_coding
from adaptc.core.urls import is_at_or_below, pattern_of
from adaptc.formats.dictionary import MOST_BYTES

if TYPE_CHECKING:
    from adaptc.compile.engine.results import UnitResult
    from adaptc.compile.engine.spec import BuildSpec
    from adaptc.site.site import Source

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
        plain, is_excluded = without_dictionary(result).outputs, is_at_or_below(f"/{result.path}", self._excluded)
        if not plain or source.alias_of is not None or is_excluded:
            return
        stored = min(plain, key=lambda output: (output.coding != IDENTITY, output.size))
        digest = stored.digest if stored.coding == IDENTITY else source.digest
        coded = tuple(output for output in result.outputs if is_dictionary_coding(output.coding))
        sent = min(output.size for output in plain)
        file = BuiltFile(result.level, result.path, digest, sent, coded=coded)
        version = Version(digest, stored.coding, stored.key) if source.size <= MOST_BYTES else None
        self._files.setdefault((result.level, name), []).append((file, version))

    @property
    def _excluded(self) -> tuple[str, ...]:
        return self.spec.config.serve.exclude

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
