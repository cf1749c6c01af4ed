"""A small site in memory, adapted without a build: what the passes see and what they make of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from tests.sites.memory import MemoryTree

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.analyse.decisions import Decisions, EvidenceKey, Placement
from adaptc.compile.analyse.facts import gather
from adaptc.compile.engine.cache.derived import describe_copy
from adaptc.compile.engine.unit.recording_view import Labelling, RecordingView
from adaptc.compile.pipeline import KNOWN_PASSES, AssetPass, Plan, Step, plan_level
from adaptc.compile.rewrite import PageResult, rewrite_page
from adaptc.compile.view import Asset, DerivedFile, Options, Outcome, Settings
from adaptc.config.rulebook import load_levels
from adaptc.config.toml import TomlSource
from adaptc.core import media
from adaptc.core.digest import digest_bytes
from adaptc.core.facts import FactKind
from adaptc.core.model import Role
from adaptc.core.urls import SiteAddress
from adaptc.formats.image.copiers import COPIERS
from adaptc.formats.image.halve import ImageCopy
from adaptc.site.site import Site, Source

_INLINE, _SHARED = Placement(True, "small"), Placement(False, "large")


@cache
def lossless() -> Plan:
    """Return the plan of the level that is shipped."""
    return plan_level(load_levels(TomlSource(), KNOWN_PASSES)["lossless"])


def steps_named(*names: str) -> tuple[Step, ...]:
    """Return steps of the shipped lossless level by name."""
    return tuple(step for step in lossless().steps if step.name in names)


@dataclass
class SmallSite:
    """Files by path. Every asset goes inline but those in ``shared``.

    ``evidence`` is what a browser saw of pages, ``documents`` their markup after scripts, by digest.
    """

    files: Mapping[str, str | bytes]
    base_url: str | None = None
    shared: Iterable[str] = ()
    settings: Settings = field(default_factory=Settings)
    made: dict[str, bytes] = field(default_factory=dict)
    evidence: Mapping[str, PageEvidence] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.contents = {path: _bytes(content) for path, content in self.files.items()}
        sources = {path: _source(path, content) for path, content in self.contents.items()}
        self.site = Site.of(sources, SiteAddress(self.base_url), ("index.html",))
        placements = defaultdict(lambda: _INLINE, dict.fromkeys(self.shared, _SHARED))
        facts = [gather(path, self.contents[path], sources[path].media_type, self.site) for path in sources]
        pinned = {path: "an integrity attribute fixes its bytes" for one in facts for path in one.pinned}
        imported = frozenset(path for one in facts for role, path in one.embeds if role == Role.IMPORT.value)
        evidence = {path: EvidenceKey(path) for path in self.evidence}
        scripts = tuple(sorted(path for path in sources if sources[path].media_type == media.JS))
        shared = {"twofold": imported, "evidence": evidence, "scripts": scripts}
        self.decisions = Decisions(_Placements(placements), pinned, **shared)

    def view(self) -> RecordingView:
        """Return a view that passes may look through."""
        return RecordingView(self.site, MemoryTree(self.contents), self.decisions, self.settings, _Materials(self))

    def copy(self, digest: str, read: Callable[[], bytes], kind: str, options: Options) -> DerivedFile | str:
        """Make a smaller copy of an image; its bytes are in ``made`` from then on."""
        done = COPIERS[kind](read(), **options)
        if not isinstance(done, ImageCopy):
            return done.reason
        file = describe_copy(done)
        self.made[file.path] = done.content
        return file

    def artifact(self, path: str, _: RecordingView | None = None) -> bytes:
        """Return an asset as the lossless level has it."""
        view, made = self.view(), self.contents[path]
        media_type = self.site.sources[path].media_type
        for step in lossless().steps_for(media_type):
            if not isinstance(step.pass_, AssetPass) or view.pinned(path) is not None:
                continue
            outcome = step.pass_.run(Asset(path, media_type, made), view, step.options)
            made = made if outcome.content is None else outcome.content
        return made

    def asset(self, path: str, name: str, options: Options | None = None) -> Outcome:
        """Run one asset pass on a file, with the options of the lossless level."""
        (step,) = steps_named(name)
        assert isinstance(step.pass_, AssetPass)
        asset = Asset(path, self.site.sources[path].media_type, self.contents[path])
        return step.pass_.run(asset, self.view(), {**step.options, **(options or {})})

    def rewrite(
        self, path: str = "index.html", steps: tuple[Step, ...] | None = None, promise: str = "same"
    ) -> PageResult:
        """Rewrite a page by the given steps, or by all of the lossless level."""
        chosen = lossless().steps_for(media.HTML) if steps is None else steps
        return rewrite_page(path, self.contents[path], self.view(), chosen, promise)

    def page(self, path: str = "index.html", *names: str, encoding: str = "utf-8") -> str:
        """Return the text of a rewritten page, by all passes or those named; as it came where nothing changed."""
        done = self.rewrite(path, steps_named(*names) if names else None)
        return (self.contents[path] if done.content is None else done.content).decode(encoding)

    def reasons(self, path: str = "index.html", *names: str) -> dict[str, str]:
        """Return why the passes kept what they kept, by subject."""
        done = self.rewrite(path, steps_named(*names) if names else None)
        return {action.subject: action.reason for action in done.actions if action.verb == "kept"}


class _Placements(dict[str, Placement]):
    def __init__(self, known: defaultdict[str, Placement]) -> None:
        super().__init__(known)

    def get(self, path: str, default: object = None) -> Placement:  # type: ignore[override]
        return super().get(path, _INLINE)


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _source(path: str, content: bytes) -> Source:
    media_type = media.by_name(path) or media.by_content(content[: media.SNIFF_BYTES]) or media.BINARY
    return Source(digest_bytes(content), len(content), media_type)


class _Materials:
    """What the views of a small site get."""

    labelling: Labelling | None = None

    def __init__(self, site: SmallSite) -> None:
        self.site = site
        self.artifact, self.copy = site.artifact, site.copy

    def copy_content(self, copy: DerivedFile) -> bytes:
        return self.site.made[copy.path]

    def facts(self, kind: FactKind, content: str | bytes) -> object:
        return kind.of(content)

    def page_evidence(self, key: str) -> PageEvidence:
        return self.site.evidence[key]

    def page_document(self, digest: str) -> bytes:
        return self.site.documents[digest].encode()
