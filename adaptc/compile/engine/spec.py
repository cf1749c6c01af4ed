"""What is built, of what, where to and how: everything that follows from the configuration.

Nothing that this module imports parses or encodes, so that asking whether an output is up to date costs little.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from adaptc.browser.evidence import code_digest
from adaptc.compile.analyse.decisions import DeliveryCost, decide
from adaptc.compile.analyse.demotions import NO_DEMOTIONS, Demotions
from adaptc.compile.analyse.popularity import restrict_to_popular
from adaptc.compile.engine.output import PRIVATE
from adaptc.compile.engine.page_weight import levels_above
from adaptc.compile.engine.reporting import BuildReport, Progress
from adaptc.compile.engine.state import State, state_path
from adaptc.compile.engine.traffic import measure_traffic
from adaptc.compile.pipeline import Plan, plan_level
from adaptc.compile.view import Settings
from adaptc.config.config import Config, recipe_text
from adaptc.config.rulebook import Level
from adaptc.core.digest import digest_parts
from adaptc.core.fs import DiskTree, place, write_atomic
from adaptc.core.model import CODINGS, Effort
from adaptc.formats.codings import recipe as codec_recipe
from adaptc.site.apache_configuration import server_rules_of
from adaptc.site.crawled import types_of
from adaptc.site.docroot import Docroot, load_directory
from adaptc.site.selection import Selection
from adaptc.site.source_table import ResourceSources, SourceTable, write_table

if TYPE_CHECKING:
    from adaptc.compile.analyse.decisions import Decisions, EvidenceKey
    from adaptc.compile.analyse.decorations.rules import ConfiguredRules, DecorationRules
    from adaptc.compile.analyse.site_sums import SiteSums
    from adaptc.compile.engine.reporting import BuildReport
    from adaptc.compile.view import Settings
    from adaptc.config.rulebook import Level
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.core.fs import Contents, Tree
    from adaptc.core.model import Resource
    from adaptc.site.docroot_digest import PlainDirectory
    from adaptc.site.server_rules import ServerRules
    from adaptc.site.site import Source


# Sources of which 250 bytes each are in memory; more are in a file, where a look-up takes 10 us
_MOST_IN_MEMORY = 100_000


class BuildSpec:
    """The specification of a build: ``config.docroot`` at ``levels`` in ``config.output``.

    ``recipes`` are digests by level of everything but the site that decides its bytes, ``decorations`` the rules by
    which images are labelled, ``None`` where no level asks for labels.
    """

    def __init__(self, config: Config, docroot: Path, levels: tuple[Level, ...]) -> None:
        self.config, self.docroot, self.levels = config, docroot, levels
        self.output = Path(os.path.abspath(config.output))
        self.private = self.output / PRIVATE
        self.cache = Path(os.path.abspath(config.build.cache)) if config.build.cache else self.private / "cache"
        self.settings = Settings(
            cast(Effort, config.build.effort),
            config.site.max_pixels,
            config.site.csp,
            config.cost.data_uri_budget,
            config.cost.data_uri_max,
            self._crowd_cost.crowd_limit(),
            self._crowd_cost.request_worth(),
        )
        self.codings = tuple(name for name in CODINGS if getattr(config.codings, name))
        self.codec = codec_recipe()
        self.decorations = self._decorations()
        self.recipes = self._recipes()

    @property
    def state_path(self) -> Path:
        """Where the output's state is."""
        return state_path(self.output)

    @property
    def selection(self) -> Selection:
        """Which files of the docroot are part of the site."""
        return Selection(self.config.site.exclude, self.config.site.include_hidden)

    @property
    def cost(self) -> DeliveryCost:
        """What requests and bytes cost."""
        cost = self.config.cost
        share = cost.dictionary_share if self.config.codings.dictionaries else 0.0
        return DeliveryCost(*cost.delivery, cost.pages_per_visit, cost.warm_share, share)

    @property
    def _crowd_cost(self) -> DeliveryCost:
        """What they cost the server, which is what a crowd wears out."""
        cost = self.config.cost
        return replace(self.cost, request_ms=cost.request_ms, kilobyte_ms=cost.kilobyte_ms)

    def load(
        self,
        known: Mapping[str, tuple[Resource, str]] | None = None,
        unchanged: Mapping[str, PlainDirectory] | None = None,
    ) -> Docroot:
        """Load the docroot; of files that are as they were when they became the ``known`` ones nothing is read.

        The ``unchanged`` directories are as they were then.
        """
        tree = DiskTree(self.docroot)
        return load_directory(tree, self.selection, types_of(self.docroot), self.server_rules(tree), known, unchanged)

    def server_rules(self, tree: Tree) -> ServerRules:
        """Return the rules of the site's server, which are read again."""
        return server_rules_of(self.config, tree, self.docroot)

    @property
    def rule_diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of the rules by which images are labelled."""
        return tuple(self.decorations.diagnostics) if self.decorations else ()

    def begin_report(
        self,
        state: State,
        known: Mapping[str, tuple[Resource, str]],
        progress: Progress,
        *,
        remember: bool,
        unchanged: Mapping[str, PlainDirectory] | None = None,
    ) -> BuildReport:
        """Load the docroot and return the report of a build that begins: its files, and what traffic leaves out.

        ``known`` are the files of the last build, ``unchanged`` the directories that are as it found them. With
        ``remember`` the state keeps what was counted in the logs. Raises ``UsageError`` for missing logs.
        """
        docroot = self.load(known, unchanged)
        traffic, problems = measure_traffic(self.config, state, docroot.resources, progress, remember=remember)
        left_out = restrict_to_popular(traffic, docroot.resources, self.levels)
        diagnostics = [*docroot.diagnostics, *self.rule_diagnostics, *problems]
        return BuildReport(
            lambda: docroot.resources,
            len(docroot.resources),
            load_diagnostics=diagnostics,
            traffic=traffic,
            restriction=left_out,
            unbuilt=docroot.unbuilt(),
        )

    # ---- recipes

    def _decorations(self) -> ConfiguredRules | None:
        if not any(plan_level(level).needs_labels for level in self.levels):
            return None
        from adaptc.compile.analyse.decorations.rules import configured_rules

        return configured_rules(self.config)

    def _recipes(self) -> dict[str, str]:
        """Return the recipe of each level. It includes that of the level above: a page may be as it is there."""
        above, recipes = levels_above(self.levels), dict[str, str]()
        for level in self.levels:  # highest quality first
            plan = plan_level(level)
            own = plan.recipe(self._recipe_text(plan))
            recipes[level.name] = digest_parts(own, recipes[above[level.name]]) if level.name in above else own
        return recipes

    def _recipe_text(self, plan: Plan) -> str:
        """Everything of the configuration that a unit's bytes may depend on."""
        site = self.config.site
        shared = (self.settings, self.codings, self.codec, site.base_url, site.index, site.max_file_bytes)
        rules = (plan.level.name, self.decorations.digest) if plan.needs_labels and self.decorations else None
        return repr((*shared, self._complete(), rules))

    def _complete(self) -> bool:
        return self.config.build.identity == "complete"

    def completion_mark(self, report: BuildReport, accepted_recipes: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Return the mark of a complete build: with the same mark no unit is outdated by its recipe.

        Units that were built by one of the ``accepted_recipes`` count as up to date.
        """
        settings = digest_parts(recipe_text(self.config), report.restriction.digest())
        mark = {"levels": self.recipes, "files": report.count, "settings": settings}
        if self.config.browser.pages or self.config.browser.prove:
            mark["looking"] = code_digest()
        return {**mark, "accepted": sorted(accepted_recipes)} if accepted_recipes else mark

    # ---- for the stages of a build

    def sources(self, resources: Mapping[str, Resource], digest_of: Callable[[str], str]) -> Mapping[str, Source]:
        """Return resources as sources with their digests: in memory, or in a file where they are many."""
        sources = ResourceSources(resources, digest_of)
        if len(sources) <= _MOST_IN_MEMORY:
            return dict(sources.items())
        file = f"{self.private}/tmp/sources-{os.getpid()}-{os.urandom(4).hex()}"
        write_atomic(file, write_table(sources))
        return SourceTable(file)

    def decide(
        self,
        sums: SiteSums,
        sources: Mapping[str, Source],
        evidence: Mapping[str, EvidenceKey],
        demotions: Demotions = NO_DEMOTIONS,
    ) -> Decisions:
        """Decide what concerns the whole site, from the sums of the facts of all its files.

        ``evidence`` are the keys of what a browser saw of pages, ``demotions`` the passes that its proof drops.
        """
        # an image may shrink to half before it becomes a data URI
        largest = 2 * self.config.cost.data_uri_max
        limits = self.decorations.rules.limits if self.decorations else None
        decisions = decide(sums, sources, self.cost, largest, limits)
        return replace(decisions, evidence=evidence, demotions=demotions)

    def snapshot(self, sources: Mapping[str, Source], decisions: Decisions) -> Snapshot:
        """Return what workers need to know to read or build the files ``sources``."""

        return Snapshot(
            self.docroot,
            self.output,
            self.cache,
            self.config.site.base_url,
            self.config.site.index,
            sources,
            decisions,
            self.settings,
            self.levels,
            self.codings,
            self.codec,
            self.config.site.max_file_bytes,
            self._complete(),
            self.recipes,
            self.decorations.rules if self.decorations else None,
            self.config.build.remote_cache is not None,
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What workers need to know: the sources, the decisions about them, and where results go.

    ``levels`` are those that are built. ``codings`` are the content codings, and ``codec`` identifies the encoders.
    With ``complete`` the id tree of a level holds every file. ``recipes`` are those of the levels.
    ``decorations`` are the rules by which images are labelled, ``None`` where no level asks for labels. With
    ``traced`` the artifacts of each unit are noted, for a remote cache. ``contents`` are those of the sources in a
    process that has no docroot.
    """

    docroot: Path
    output: Path
    cache: Path
    base_url: str | None
    index_names: tuple[str, ...]
    sources: Mapping[str, Source]
    decisions: Decisions
    settings: Settings
    levels: tuple[Level, ...]
    codings: tuple[str, ...]
    codec: str
    max_file_bytes: int
    complete: bool
    recipes: Mapping[str, str]
    decorations: DecorationRules | None = None
    traced: bool = False
    contents: Contents | None = None


class SharedSnapshot:
    """A snapshot that reaches workers as two files, which are written in ``directory`` when the first gets work.

    The sources are a file of their own: a worker reads those that it needs (``adaptc.site.source_table``).
    """

    def __init__(self, snapshot: Snapshot, directory: Path) -> None:
        self.snapshot, self.directory = snapshot, directory
        self._file: str | None = None

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return open_snapshot, (self.file,)

    @property
    def file(self) -> str:
        """The file of everything but the sources, which are in ``SOURCES`` next to it."""
        if self._file is None:
            file = f"{self.directory}/snapshot-{os.getpid()}-{os.urandom(4).hex()}"
            if isinstance(self.snapshot.sources, SourceTable):
                place(self.snapshot.sources.file, file + SOURCES, f"{file}.tmp")
            else:
                write_atomic(file + SOURCES, write_table(self.snapshot.sources))
            write_atomic(file, pickle.dumps(replace(self.snapshot, sources={}), pickle.HIGHEST_PROTOCOL))
            self._file = file
        return self._file


# The end of the name of the file with the sources of a snapshot
SOURCES = ".sources"


def read_snapshot(file: str) -> Snapshot:
    """Read a snapshot, and open its sources, in a worker."""
    snapshot = pickle.loads(Path(file).read_bytes())  # our own file, under our own lock
    assert isinstance(snapshot, Snapshot)
    return replace(snapshot, sources=SourceTable(file + SOURCES))


@lru_cache(maxsize=1)
def open_snapshot(file: str) -> SharedSnapshot:
    """Return the snapshot of a file, which is read once."""
    return SharedSnapshot(read_snapshot(file), Path(file).parent)
