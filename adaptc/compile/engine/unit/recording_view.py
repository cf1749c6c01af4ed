"""The site as the passes of one level see it, with a record of the dependencies.

Files that were looked up and are missing are dependencies, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from adaptc.compile.analyse.decisions import (
    CHARACTERS,
    EVIDENCE,
    EXCESS,
    NOT_SHARED,
    PIN,
    PLACEMENT,
    SOLE,
    TWOFOLD,
    UNUSED,
    USAGE,
    Decisions,
    Placement,
)
from adaptc.compile.analyse.demotions import Demotion
from adaptc.compile.engine.state.results import PRESENCE
from adaptc.compile.view import DerivedFile, Options, Settings
from adaptc.core.digest import digest_bytes
from adaptc.core.fs import ChangedWhileRead, Contents
from adaptc.core.urls import Reach
from adaptc.formats.characters import shown_characters
from adaptc.site.site import Site, SiteTarget, Source

if TYPE_CHECKING:
    from adaptc.browser.evidence import PageEvidence
    from adaptc.compile.analyse.decorations.evidence import ImageEvidence, SiteUsage
    from adaptc.compile.analyse.decorations.rules import DecorationRules
    from adaptc.core.facts import FactKind

F = TypeVar("F")

# Returns what an image file looks like, given its source and a function that reads it.
Evidence = Callable[[Source, Callable[[], bytes]], "ImageEvidence"]


@dataclass(frozen=True)
class Labelling:
    """What the labels of images need: the level and those that it extends, the rules, and the evidence of files."""

    levels: tuple[str, ...]
    rules: DecorationRules
    evidence: Evidence


# Makes a smaller copy of an image, given its digest, a function that reads it, the kind of copy and its options.
Copy = Callable[[str, Callable[[], bytes], str, Options], DerivedFile | str]


class FindFacts(Protocol):
    """Returns the facts of a text."""

    def __call__(self, kind: FactKind[F], content: str | bytes) -> F:
        """Return the facts of this kind."""


class RecordingView:
    """A ``adaptc.compile.view.DerivingView``.

    ``build`` makes the level's version of an asset, given a view to record in.
    """

    def __init__(
        self,
        site: Site,
        tree: Contents,
        decisions: Decisions,
        settings: Settings,
        build: Callable[[str, RecordingView], bytes],
        copy: Copy,
        copy_bytes: Callable[[DerivedFile], bytes],
        find_facts: FindFacts,
        labelling: Labelling | None = None,
        find_evidence: Callable[[str], PageEvidence] | None = None,
        find_document: Callable[[str], bytes] | None = None,
    ) -> None:
        self.site, self.tree, self.decisions, self.settings = site, tree, decisions, settings
        self.build, self.copy, self.copy_bytes = build, copy, copy_bytes
        self._find_facts, self._labelling = find_facts, labelling
        self._find_evidence, self._find_document = find_evidence, find_document
        self.dependencies: dict[str, None] = {}
        self.derived: dict[str, DerivedFile] = {}
        self._artifacts: dict[str, bytes] = {}
        self._targets: dict[tuple[str, str], SiteTarget] = {}

    def nested(self) -> RecordingView:
        """Return a fresh view of the same level, to record another unit in."""
        return RecordingView(
            self.site,
            self.tree,
            self.decisions,
            self.settings,
            self.build,
            self.copy,
            self.copy_bytes,
            self._find_facts,
            self._labelling,
            self._find_evidence,
            self._find_document,
        )

    def include(self, dependencies: Iterable[str], derived: Iterable[DerivedFile]) -> None:
        """Add what another view recorded."""
        self.dependencies.update(dict.fromkeys(dependencies))
        self.derived.update((file.path, file) for file in derived)

    def url_of(self, path: str) -> str:
        return self.site.address.url_of(path)

    def follow(self, base: str, reference: str) -> SiteTarget:
        known = self._targets.get((base, reference))
        if known is None:
            known = self._targets[base, reference] = self.site.follow(base, reference)
            if known.target.reach is Reach.LOCAL:
                self.dependencies.update(dict.fromkeys(self._candidates(known)))
        return known

    def _candidates(self, target: SiteTarget) -> Iterator[str]:
        """Yield the candidates that are missing, and the file that exists."""
        for candidate in self.site.candidates(target.target.path):
            yield PRESENCE + candidate
            if candidate == target.path:
                return

    def media_type(self, path: str) -> str:
        return self.site.sources[path].media_type

    def read(self, path: str) -> bytes:
        self.dependencies[path] = None
        content = self.tree.read(path)
        if digest_bytes(content) != self.site.sources[path].digest:
            raise ChangedWhileRead(path)
        return content

    def artifact(self, path: str) -> bytes:
        content = self._artifacts.get(path)
        if content is None:
            content = self._artifacts[path] = self.build(path, self)
        return content

    def facts(self, kind: FactKind[F], content: str | bytes) -> F:
        return self._find_facts(kind, content)

    def placement(self, path: str) -> Placement:
        self.dependencies[PLACEMENT + path] = None
        return self.decisions.placements.get(path, NOT_SHARED)

    def derive(self, path: str, kind: str, options: Options) -> DerivedFile | str:
        self.dependencies[path] = None
        copy = self.copy(self.site.sources[path].digest, lambda: self.read(path), kind, options)
        if isinstance(copy, DerivedFile):
            self.derived[copy.path] = copy
        return copy

    def copy_content(self, copy: DerivedFile) -> bytes:
        return self.copy_bytes(copy)

    def page_evidence(self, path: str) -> PageEvidence | None:
        self.dependencies[EVIDENCE + path] = None
        evidence = self.decisions.evidence.get(path)
        return None if evidence is None or self._find_evidence is None else self._find_evidence(evidence.key)

    def page_document(self, path: str) -> bytes | None:
        evidence = self.page_evidence(path)
        if evidence is None or evidence.document is None or self._find_document is None:
            return None
        return self._find_document(evidence.document)

    def demotions(self, level: str, path: str) -> tuple[Demotion, ...]:
        """Return the passes that are dropped for a unit; its dependency on them is that on its source."""
        source = self.site.sources[path]
        return self.decisions.demotions.get((level, source.alias_of or path), ())

    def is_pinned(self, path: str) -> bool:
        self.dependencies[PIN + path] = None
        return path in self.decisions.pinned

    def is_unused(self, path: str) -> bool:
        self.dependencies[UNUSED + path] = None
        return path in self.decisions.unused

    def shown_characters(self) -> frozenset[int]:
        self.dependencies[CHARACTERS] = None
        return shown_characters(self.decisions.characters)

    def keeps_imports(self, path: str) -> bool:
        self.dependencies[EXCESS + path] = None
        return path in self.decisions.excess

    def is_sole_import(self, path: str) -> bool:
        self.dependencies[SOLE + path] = None
        return path in self.decisions.sole

    def is_loaded_twofold(self, path: str) -> bool:
        self.dependencies[TWOFOLD + path] = None
        return path in self.decisions.twofold

    @property
    def labelling(self) -> Labelling:
        assert self._labelling is not None  # set for every level that has a pass with labels
        return self._labelling

    def evidence(self, path: str) -> ImageEvidence:
        self.dependencies[path] = None
        return self.labelling.evidence(self.site.sources[path], lambda: self.read(path))

    def usage(self, path: str) -> SiteUsage:
        from adaptc.compile.analyse.decorations.evidence import SiteUsage

        self.dependencies[USAGE + path] = None
        return self.decisions.usages.get(path, SiteUsage.NONE)
