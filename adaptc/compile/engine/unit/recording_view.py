"""The site as the passes of one level see it, with a record of the dependencies.

Files that were looked up and are missing are dependencies, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from adaptc.compile.analyse.decisions import (
    CHARACTERS,
    EVIDENCE,
    EXCESS,
    HOSTS,
    ICONS,
    LISTING,
    NO_LISTING,
    NOT_SHARED,
    PIN,
    PLACEMENT,
    SCRIPTS,
    SOLE,
    TWOFOLD,
    UNUSED,
    USAGE,
    WITHHELD,
    Decisions,
    Listing,
    Placement,
)
from adaptc.compile.analyse.demotions import Demotion
from adaptc.compile.engine.state.results import PRESENCE
from adaptc.compile.view import DerivedFile, Options, Settings
from adaptc.core.digest import digest_bytes
from adaptc.core.fs import ChangedWhileRead, Contents
from adaptc.core.model import OWN_DIRECTORY
from adaptc.core.urls import Reach
from adaptc.core.values import dataclass
from adaptc.formats.characters import FEATURES, shown_characters
from adaptc.site.selection import Bounds, with_ancestors
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


class Materials(Protocol):
    """What a view of a level is given besides sources and decisions: what is made of contents, and known of them."""

    @property
    def labelling(self) -> Labelling | None:
        """What labels of images need; ``None`` where no level asks for them."""

    def artifact(self, path: str, view: RecordingView) -> bytes:
        """Return the level's version of an asset; ``view`` records what it depends on."""

    def copy(self, digest: str, read: Callable[[], bytes], kind: str, options: Options) -> DerivedFile | str:
        """Return a smaller copy of the image with this ``digest``, which ``read`` gives, or why there is none."""

    def copy_content(self, copy: DerivedFile) -> bytes:
        """Return the bytes of a copy."""

    def facts(self, kind: FactKind[F], content: str | bytes) -> F:
        """Return the facts of a text of this kind."""

    def page_evidence(self, key: str) -> PageEvidence:
        """Return what a browser saw of a page, by the key of the decision."""

    def page_document(self, digest: str) -> bytes:
        """Return a markup of a page after its scripts."""


def _anywhere(bounds: Bounds) -> frozenset[str]:
    return frozenset(part.pattern for part in bounds.parts)


def _beyond(found: SiteTarget) -> SiteTarget:
    return SiteTarget(found.target._replace(reach=Reach.EXTERNAL), None)


class RecordingView:
    """A ``adaptc.compile.view.DerivingView``."""

    def __init__(
        self,
        site: Site,
        tree: Contents,
        decisions: Decisions,
        settings: Settings,
        materials: Materials,
        unit: str | None = None,
    ) -> None:
        """``unit`` is the path of what is built; other files reach it only where they may (``Settings.bounds``)."""
        self.site, self.tree, self.decisions, self.settings = site, tree, decisions, settings
        self.materials, self._bounds = materials, settings.bounds
        self._inside = self._bounds.inside(unit) if unit is not None else _anywhere(settings.bounds)
        self.held_back: dict[str, str] = {}
        self.dependencies: dict[str, None] = {}
        self.derived: dict[str, DerivedFile] = {}
        self._artifacts: dict[str, bytes] = {}
        self._targets: dict[tuple[str, str], SiteTarget] = {}

    def nested(self, unit: str) -> RecordingView:
        """Return a fresh view of the same level, to record another unit in."""
        return RecordingView(self.site, self.tree, self.decisions, self.settings, self.materials, unit)

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
                known = self._targets[base, reference] = self._bounded(known)
        return known

    def _bounded(self, found: SiteTarget) -> SiteTarget:
        """Return where a reference leads; what is held back is as a file of another site: there, and unknown.

        As a missing file it would do nothing: a script that does not exist does not run, a sheet has no rules.
        """
        path = found.path
        if path is None:
            places = (WITHHELD + place for place in with_ancestors(found.target.path.rstrip("/")))
            self.dependencies.update(dict.fromkeys(places))
            return _beyond(found) if self.site.is_withheld(found.target.path) else found
        bound = self._bounds.between(path, self._inside) if self._bounds.parts else None
        if bound is None:
            return found
        self.held_back[path] = f"it is below {bound}, which not everybody may read: it stays a reference"
        return _beyond(found)

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
            content = self._artifacts[path] = self.materials.artifact(path, self)
        return content

    def facts(self, kind: FactKind[F], content: str | bytes) -> F:
        return self.materials.facts(kind, content)

    def placement(self, path: str) -> Placement:
        self.dependencies[PLACEMENT + path] = None
        return self.decisions.placements.get(path, NOT_SHARED)

    def derive(self, path: str, kind: str, options: Options) -> DerivedFile | str:
        self.dependencies[path] = None
        copies = self._bounds.inside(f"{OWN_DIRECTORY}x")
        bound = self._bounds.between(path, copies) if self._bounds.parts else None
        if bound is not None:
            return f"it is below {bound}, which not everybody may read, and its copy would not be"
        if "embedded" not in options and self.listing(path).is_versioned:
            return "a service worker has it by a list of versions, and would not have its copy without a network"
        copy = self.materials.copy(self.site.sources[path].digest, lambda: self.read(path), kind, options)
        if isinstance(copy, DerivedFile):
            self.derived[copy.path] = copy
        return copy

    def copy_content(self, copy: DerivedFile) -> bytes:
        return self.materials.copy_content(copy)

    def page_evidence(self, path: str) -> PageEvidence | None:
        self.dependencies[EVIDENCE + path] = None
        evidence = self.decisions.evidence.get(path)
        return None if evidence is None else self.materials.page_evidence(evidence.key)

    def page_document(self, path: str) -> bytes | None:
        evidence = self.page_evidence(path)
        return self._document(None if evidence is None else evidence.document)

    def page_written(self, path: str) -> bytes | None:
        evidence = self.page_evidence(path)
        return self._document(None if evidence is None else evidence.written)

    def _document(self, digest: str | None) -> bytes | None:
        return None if digest is None else self.materials.page_document(digest)

    def demotions(self, level: str, path: str) -> tuple[Demotion, ...]:
        """Return the passes that are dropped for a unit; its dependency on them is that on its source."""
        source = self.site.sources[path]
        return self.decisions.demotions.get((level, source.alias_of or path), ())

    def pinned(self, path: str) -> str | None:
        self.dependencies[PIN + path] = None
        return self.decisions.pinned.get(path)

    def header_values(self, path: str, field: str) -> tuple[str, ...]:
        self.dependencies[HOSTS] = None
        return self.decisions.hosts.values(path, field)

    def sent_charset(self, path: str) -> str | None:
        self.dependencies[HOSTS] = None
        return self.decisions.hosts.charset(path)

    def listing(self, path: str) -> Listing:
        """Return what the text at ``path`` lists of the site, and whether a list has it."""
        self.dependencies[LISTING + path] = None
        return self.decisions.listings.get(path, NO_LISTING)

    def is_unused(self, path: str) -> bool:
        self.dependencies[UNUSED + path] = None
        return path in self.decisions.unused

    def shown_characters(self) -> frozenset[int]:
        self.dependencies[CHARACTERS] = None
        return shown_characters(self.decisions.characters)

    def page_characters(self) -> str:
        """Return the characters beyond ASCII that pages of the site write."""
        self.dependencies[CHARACTERS] = None
        return self.decisions.page_characters

    def scripts(self) -> tuple[str, ...]:
        self.dependencies[SCRIPTS] = None
        return self.decisions.scripts

    def icons_named(self) -> frozenset[str]:
        self.dependencies[ICONS] = None
        return self.decisions.icons

    def may_use_features(self) -> bool:
        self.dependencies[CHARACTERS] = None
        return FEATURES in self.decisions.characters

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
        labelling = self.materials.labelling
        assert labelling is not None  # there is one for every level that has a pass with labels
        return labelling

    def evidence(self, path: str) -> ImageEvidence:
        self.dependencies[path] = None
        return self.labelling.evidence(self.site.sources[path], lambda: self.read(path))

    def usage(self, path: str) -> SiteUsage:
        from adaptc.compile.analyse.decorations.evidence import SiteUsage

        self.dependencies[USAGE + path] = None
        return self.decisions.usages.get(path, SiteUsage.NONE)
