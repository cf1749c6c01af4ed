"""What is built, of what, where to and how: everything that follows from the configuration.

Nothing that this module imports parses or encodes, so that asking whether an output is up to date costs little.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from adaptc.browser.evidence import code_digest
from adaptc.compile.analyse.decisions import DeliveryCost, decide
from adaptc.compile.analyse.demotions import NO_DEMOTIONS, Demotions
from adaptc.compile.engine.outdated import Recipe
from adaptc.compile.engine.reporting import BuildReport
from adaptc.compile.engine.state.state import State, state_path
from adaptc.compile.engine.unit.snapshot import SharedSnapshot, Snapshot
from adaptc.compile.pipeline import Plan, facts_recipe, levels_above, plan_level
from adaptc.compile.view import Settings
from adaptc.config.config import Config, recipe_text
from adaptc.config.rulebook import Level
from adaptc.core.digest import digest_parts
from adaptc.core.fs import DiskTree
from adaptc.core.libraries import versions_of
from adaptc.core.model import CODINGS, PRIVATE, Effort
from adaptc.formats import codings
from adaptc.site.apache_configuration import server_rules_of
from adaptc.site.docroot import Docroot, load_directory, selection_of
from adaptc.site.header_rules import NO_HOST_RULES
from adaptc.site.host_files import HostTypes
from adaptc.site.selection import bounds_of

if TYPE_CHECKING:
    from adaptc.compile.analyse.decisions import Decisions, EvidenceKey
    from adaptc.compile.analyse.decorations.rules import ConfiguredRules
    from adaptc.compile.analyse.site_sums import SiteSums
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.core.fs import Tree
    from adaptc.core.model import Resource
    from adaptc.site.docroot import PlainDirectory
    from adaptc.site.header_rules import HostRules
    from adaptc.site.selection import Selection
    from adaptc.site.server_rules import ServerRules
    from adaptc.site.site import Source


FACTS = "facts"
"""The key of the state under which it is by what the facts of sources were found."""


class BuildSpec:
    """The specification of a build: ``config.docroot`` at ``levels`` in ``config.output``.

    ``recipes`` are digests by level of everything but the site that decides its bytes, those of ``level_recipes``;
    ``decorations`` are the rules by which images are labelled, ``None`` where no level asks for labels.
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
            bounds_of(config),
        )
        self.codings = tuple(name for name in CODINGS if getattr(config.codings, name))
        self.coding_effort = config.coding_effort
        self.decorations = self._decorations()
        self.level_recipes = self._recipes()
        self.recipes = {name: recipe.digest for name, recipe in self.level_recipes.items()}

    @property
    def state_path(self) -> Path:
        """Where the output's state is."""
        return state_path(self.output)

    @property
    def selection(self) -> Selection:
        """Which files of the docroot are part of the site."""
        return selection_of(self.config)

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
        return load_directory(tree, self.selection, HostTypes(self.docroot), self.server_rules(tree), known, unchanged)

    def server_rules(self, tree: Tree) -> ServerRules:
        """Return the rules of the site's server, which are read again."""
        return server_rules_of(self.config, tree, self.docroot)

    @property
    def rule_diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of the rules by which images are labelled."""
        return tuple(self.decorations.diagnostics) if self.decorations else ()

    @property
    def compares(self) -> bool:
        """Whether a browser that looks at pages says which are the same without their scripts."""
        return any(plan_level(level).compares for level in self.levels)

    # ---- recipes

    def _decorations(self) -> ConfiguredRules | None:
        if not any(plan_level(level).needs_labels for level in self.levels):
            return None
        from adaptc.compile.analyse.decorations.rules import configured_rules

        return configured_rules(self.config)

    def _recipes(self) -> dict[str, Recipe]:
        """Return the recipe of each level. It includes that of the level above: a page may be as it is there."""
        above, recipes = levels_above(self.levels), dict[str, Recipe]()
        encoders = codings.libraries(self.codings, self.coding_effort)
        for level in self.levels:  # highest quality first
            plan = plan_level(level)
            own = Recipe(plan.recipe(self._recipe_text(plan)), versions_of(plan.libraries | encoders))
            recipes[level.name] = own.below(recipes[above[level.name]]) if level.name in above else own
        return recipes

    def _recipe_text(self, plan: Plan) -> str:
        """Everything of the configuration that a unit's bytes may depend on."""
        site, bound = self.config.site, self.config.build.unit_seconds
        encoding = (self.codings, self.coding_effort, codings.RECIPE)
        shared = (self.settings, *encoding, site.base_url, site.index, site.max_file_bytes, bound)
        rules = (plan.level.name, self.decorations.digest) if plan.needs_labels and self.decorations else None
        return repr((*shared, self._complete(), rules))

    def _complete(self) -> bool:
        return self.config.build.identity == "complete"

    @property
    def facts_recipe(self) -> str:
        """The digest of everything that decides the facts of sources, except the site."""
        site, bound = self.config.site, self.config.build.unit_seconds
        return digest_parts(facts_recipe(), repr((site.base_url, site.index, site.max_file_bytes, bound)))

    def has_facts_of(self, state: State) -> bool:
        """Whether the facts in a state are as this build would find them."""
        return bool(state.meta(FACTS) == self.facts_recipe)

    def completion_mark(self, report: BuildReport, accepted_recipes: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Return the mark of a complete build: with the same mark no unit is outdated by its recipe.

        Units that were built by one of the ``accepted_recipes`` count as up to date.
        """
        settings = digest_parts(recipe_text(self.config), report.restriction.digest())
        mark = {"levels": self.recipes, "facts": self.facts_recipe, "files": report.count, "settings": settings}
        if report.withheld:
            mark["withheld"] = digest_parts(*report.withheld)
        if self.config.browser.pages or self.config.browser.prove:
            mark["looking"] = code_digest()
        return {**mark, "accepted": sorted(accepted_recipes)} if accepted_recipes else mark

    # ---- for the stages of a build

    def decide(
        self,
        sums: SiteSums,
        sources: Mapping[str, Source],
        evidence: Mapping[str, EvidenceKey],
        demotions: Demotions = NO_DEMOTIONS,
        withheld: Iterable[str] = (),
        digests: Callable[[], Iterable[tuple[str, str]]] = tuple,
        hosts: HostRules | None = None,
    ) -> Decisions:
        """Decide what concerns the whole site, from the sums of the facts of all its files.

        ``evidence`` are the keys of what a browser saw of pages, ``demotions`` the passes that its proof drops,
        ``withheld`` the files and directories that exist and are not built; ``digests`` yields those of all files,
        ``hosts`` are the rules of the site's hosts.
        """
        # an image may shrink to half before it becomes a data URI
        largest = 2 * self.config.cost.data_uri_max
        limits = self.decorations.rules.limits if self.decorations else None
        decisions = decide(sums, sources, self.cost, largest, limits, digests)
        decisions = replace(decisions, withheld=frozenset(withheld), hosts=hosts or NO_HOST_RULES)
        return replace(decisions, evidence=evidence, demotions=demotions)

    def shared_snapshot(self, sources: Mapping[str, Source], decisions: Decisions) -> SharedSnapshot:
        """Return a snapshot for this process and the workers."""
        return SharedSnapshot(self.snapshot(sources, decisions), self.private / "tmp")

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
            self.coding_effort,
            self.config.site.max_file_bytes,
            self.config.build.unit_seconds,
            self._complete(),
            self.recipes,
            self.decorations.rules if self.decorations else None,
            self.config.build.remote_cache is not None,
        )
