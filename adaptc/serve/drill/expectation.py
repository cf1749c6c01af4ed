"""What a visitor may get at a lever: for each URL the statuses and representations, as views for the client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from adaptc.core.urls import quote_path
from adaptc.report.manifest import Manifest
from adaptc.serve.calibrate.load_client import FIELDS, View
from adaptc.serve.calibrate.page_views import PageView
from adaptc.serve.drill.levers import Lever
from adaptc.serve.policy import REJECT, Policy
from adaptc.serve.server import Server
from adaptc.serve.verify.modes import Mode
from adaptc.serve.verify.negotiation import OFF, ORIGINAL
from adaptc.serve.verify.scenario import BEST, Scenario, Target, url_of

REJECTION = frozenset({"503 0/-", "503"})
_TYPES = next(line.partition(": ")[2] for line in FIELDS if line.startswith("Accept: "))


@dataclass(frozen=True)
class Expectation:
    """What a server with a policy may answer; ``views`` are the page views by level."""

    policy: Policy
    server: Server
    manifest: Manifest
    views: Mapping[str, tuple[PageView, ...]]

    def trees(self, lever: Lever) -> tuple[str, ...]:
        """Return the levels that clients may get, ``OFF`` for originals."""
        return tuple(dict.fromkeys(tree for mode in lever.modes for tree in mode.trees(self.policy, lever.requested)))

    def page_views(self, tree: str) -> tuple[PageView, ...]:
        """Return the page views of a tree; originals embed what the first level does."""
        return self.views.get(tree) or self.views[self.manifest.level_names[0]]

    def load(self, lever: Lever, origin: str) -> tuple[View, ...]:
        """Return the views of visitors at a lever."""
        trees = [tree for tree in self.trees(lever) if tree != REJECT] or [OFF]
        by_tree = [[self._view(lever, view, origin) for view in self.page_views(tree)] for tree in trees]
        return tuple(self._joined(trees, views) for views in zip(*by_tree, strict=True))

    @staticmethod
    def _joined(trees: list[str], views: tuple[View, ...]) -> View:
        """Return the view of a page that may be of several trees: what it embeds follows from what was sent."""
        by_level = {tree: view for tree, view in zip(trees, views, strict=True) if tree != OFF}
        return replace(views[0], by_level=by_level) if len(views) > 1 else views[0]

    def _view(self, lever: Lever, view: PageView, origin: str) -> View:
        base = origin + quote_path(self.policy.prefix)
        urls = tuple(base + quote_path(f"/{path}") for path in view.paths)
        return View(urls, BEST, lever.fields, tuple(self.allowed(lever, path) for path in view.paths))

    def allowed(self, lever: Lever, path: str) -> frozenset[str] | None:
        """Return the answers to a request for a path, None where any may come: files that have no source."""
        resource = self.manifest.resources.get(path)
        if resource is None:
            return REJECTION if lever.rejects else None
        target = Target(url_of(self.policy, path), resource)
        return frozenset(answer for mode in lever.modes for answer in self._answers(mode, lever, target))

    def _answers(self, mode: Mode, lever: Lever, target: Target) -> Iterator[str]:
        if mode.rejects:
            yield from REJECTION
            return
        scenario = Scenario(self.policy, mode, self.server, {}).of_target(target)
        for version in scenario.wanted(target, BEST, lever.requested, _TYPES):
            is_shown = self.policy.serve.expose and version.level != ORIGINAL
            yield f"200 {version}" if is_shown else "200"
