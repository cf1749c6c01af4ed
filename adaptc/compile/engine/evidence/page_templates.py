"""The pages of a site by template: which of them a browser looks at, and what that says of the others.

Pages of a template have the same sheets, the same scripts and the same frame (``adaptc.compile.page.skeleton``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.analyse.decisions import NO_DECISIONS, EvidenceKey
from adaptc.compile.engine.cache.derived import PageEvidenceStore
from adaptc.compile.engine.cache.store import ObjectGone, Store
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.unit.snapshot import SharedSnapshot
from adaptc.compile.engine.workers.executor import Workers
from adaptc.compile.page import skeleton as skeletons
from adaptc.compile.page.skeleton import FEWEST_SEEN, NO_SKELETON, ImagePlaces, Likeness, Skeleton, find_skeleton
from adaptc.config.config import ALL_PAGES
from adaptc.core import media
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.facts import pack_facts, unpack_facts
from adaptc.core.fs import ChangedWhileRead, DiskTree
from adaptc.core.imports import code_digest
from adaptc.core.model import Role
from adaptc.core.shortage import recognizing_shortage
from adaptc.core.values import dataclass
from adaptc.site.site import Site, Source

_SHARED = (Role.STYLESHEET.value, Role.SCRIPT.value, Role.MODULE.value)


@dataclass(frozen=True, slots=True)
class Template:
    """The pages of a template: those ``chosen`` to be looked at, and the others."""

    chosen: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def pages(self) -> tuple[str, ...]:
        """All of them."""
        return self.chosen + self.others


class Templates:
    """The templates of a site whose pages have these skeletons (by path). ``count`` is that of ``[browser] pages``."""

    def __init__(
        self, state: State, sources: Mapping[str, Source], skeletons: Mapping[str, Skeleton], count: int | str
    ) -> None:
        self.skeletons, self._known = skeletons, dict[str, ImagePlaces]()
        pages = defaultdict[object, list[str]](list)
        for path, facts in state.facts():
            if is_looked_at(sources.get(path)):
                shared = tuple(sorted({file for role, file in facts.embeds if role in _SHARED}))
                pages[shared, skeletons.get(path, NO_SKELETON).frame].append(path)
        self.templates = [_divided(paths, count) for paths in pages.values()]

    def chosen(self) -> list[str]:
        """Return the pages to look at."""
        return sorted(path for template in self.templates for path in template.chosen)

    def pages_like(self, path: str) -> tuple[str, ...]:
        """Return the other pages of the template of a page."""
        pages = next((each.pages for each in self.templates if path in each.pages), ())
        return tuple(each for each in pages if each != path)

    def inferred(self, seen: Mapping[str, EvidenceKey], site: Site, store: PageEvidenceStore) -> dict[str, EvidenceKey]:
        """Return the evidence of pages at which no browser looks, from those that were ``seen``, and store it."""
        found: dict[str, EvidenceKey] = {}
        for template in self.templates:
            like = tuple(path for path in template.chosen if path in seen)
            if template.others and len(like) >= FEWEST_SEEN:
                found.update(self._inferred(template.others, {path: seen[path] for path in like}, site, store))
        return found

    def _inferred(
        self, paths: tuple[str, ...], seen: Mapping[str, EvidenceKey], site: Site, store: PageEvidenceStore
    ) -> Iterator[tuple[str, EvidenceKey]]:
        try:
            likeness = Likeness([(store.read(key.key), self._places(path, site)) for path, key in seen.items()])
        except ObjectGone:  # another build removed it from the cache
            return
        known: dict[PageEvidence, str] = {}  # most pages have no image of their own
        for path in paths:
            evidence = likeness.evidence_for(self._places(path, site))
            if evidence not in known:
                known[evidence] = store.put(evidence)
            yield path, EvidenceKey(known[evidence], tuple(seen))

    def _places(self, path: str, site: Site) -> ImagePlaces:
        if path not in self._known:
            self._known[path] = ImagePlaces.of(self.skeletons.get(path, NO_SKELETON), path, site)
        return self._known[path]


def _divided(paths: list[str], count: int | str) -> Template:
    """Choose pages by the digests of their names: the choice stays when other pages come and go."""
    ranked = sorted(paths, key=digest_parts)
    most = len(ranked) if count == ALL_PAGES else int(count)
    return Template(tuple(ranked[:most]), tuple(sorted(ranked[most:])))


def is_looked_at(source: Source | None) -> bool:
    """Whether a source is a page of its own, at which a browser may look."""
    return source is not None and source.media_type == media.HTML and source.alias_of is None


# ---- skeletons of pages, found once for each content


def find_skeletons(spec: BuildSpec, sources: Mapping[str, Source], workers: Workers) -> dict[str, Skeleton]:
    """Return the skeletons of all pages by path; workers find those that the cache does not have."""
    snapshot = spec.shared_snapshot(dict(sources), NO_DECISIONS)
    pages = [(path, source.size) for path, source in sources.items() if is_looked_at(source)]
    return dict(workers.run(skeleton_batch, snapshot, pages, lambda path, _: (path, NO_SKELETON)))


def skeleton_batch(shared: SharedSnapshot, paths: tuple[str, ...]) -> Iterator[tuple[str, Skeleton]]:
    """Yield (path, skeleton) for each page."""
    snapshot = shared.snapshot
    store, tree = Store(snapshot.cache), DiskTree(snapshot.docroot)
    for path in paths:
        source = snapshot.sources[path]
        if source.size > snapshot.max_file_bytes:
            yield path, NO_SKELETON
            continue
        with recognizing_shortage():
            yield path, _skeleton(store, tree, path, source.digest)


def _skeleton(store: Store, tree: DiskTree, path: str, digest: str) -> Skeleton:
    key = digest_parts("skeleton", code_digest(skeletons.__name__), digest)
    try:
        return unpack_facts(store.record(key), NO_SKELETON)
    except (TypeError, ValueError):
        pass
    try:
        content = tree.read(path)
    except (OSError, ChangedWhileRead):
        return NO_SKELETON
    found = find_skeleton(content)
    if digest_bytes(content) == digest:
        store.put_record(key, pack_facts(found))
    return found
