"""The files that ``adaptc export --ladder`` adds to an export, and those that remove an earlier ladder."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from adaptc.compile.engine.cache.store import Store
from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.model import CODINGS, IDENTITY, Effort
from adaptc.core.urls import SiteAddress
from adaptc.report.manifest import Manifest
from adaptc.workflow.api import build_spec
from adaptc.workflow.export.destination import ExportRecord, Item
from adaptc.workflow.export.host_rules import HostRules, read_host_rules
from adaptc.workflow.export.items import own_items, site_item
from adaptc.workflow.export.ladder import (
    LEVELS,
    SCRIPT,
    Ladder,
    ladder_script,
    read_ladder,
    rungs,
    withdrawn_script,
)
from adaptc.workflow.export.layout import Layout
from adaptc.workflow.export.registration import Registration


def had_ladder(record: ExportRecord, layout: Layout) -> bool:
    """Whether the last export to this place had a ladder, or removed one."""
    return layout.name(SCRIPT, IDENTITY) in (record.read() or ())


class LadderItems:
    """The ladder of one export. What it makes is stored in the cache of the build."""

    def __init__(self, config: Config, manifest: Manifest, docroot: Path, layout: Layout) -> None:
        self.config, self.manifest, self.docroot, self.layout = config, manifest, docroot, layout
        self.store = Store(build_spec(config).cache)

    def added_to(self, items: list[Item], root: str) -> tuple[list[Item], list[Diagnostic]]:
        """Return an export of the level ``root`` with the levels below it and the script, and the diagnostics.

        Raises ``UsageError`` where there is no level for poor visitors, or the site has files of these names.
        """
        ladder = read_ladder(self.config, self.manifest, root)
        taken = [path for path in self.manifest.resources if path == SCRIPT or path.startswith(LEVELS)]
        if taken:
            raise UsageError(f"--ladder: the site has a file {taken[0]} of its own")
        pages, diagnostics = self._registered([item for item in items if item.is_page], root)
        others = [item for item in items if not item.is_page]
        script = self._script(ladder_script(self.config, self.manifest, ladder))
        # the worker last: what it asks for is there then
        return [*others, *self._of_levels(items, ladder), *pages, script], diagnostics

    def withdrawn_from(self, items: list[Item]) -> tuple[list[Item], list[Diagnostic]]:
        """Return an export with what removes the worker of an earlier one."""
        return [*items, self._script(withdrawn_script())], [diagnose("ladder-withdrawn", name=SCRIPT)]

    def _of_levels(self, items: list[Item], ladder: Ladder) -> list[Item]:
        rules, exclude = self._host_rules(), self.config.serve.exclude
        added = [
            site_item(self.manifest, self.docroot, level, self._codings_only, rung.resource, rung.name)
            for level in ladder.names
            for rung in rungs(self.manifest, ladder, level, rules, exclude)
        ]
        # files that only trees have are named by their content, so one of each is enough
        known = {item.path for item in items}
        own = {item.path: item for level in ladder.names for item in own_items(self.manifest, level, self.layout)}
        return [*(item for path, item in own.items() if path not in known), *added]

    @property
    def _codings_only(self) -> Layout:
        """The layout without image formats: the worker asks for one."""
        return Layout(self.layout.name, tuple(coding for coding in self.layout.codings if coding in CODINGS))

    def _host_rules(self) -> HostRules:
        return read_host_rules(*(self._text(name) for name in ("_headers", "_redirects")))

    def _text(self, name: str) -> str:
        file = self.docroot / name
        return file.read_text("utf-8", "replace") if file.is_file() else ""

    def _script(self, content: bytes) -> Item:
        file = Path(self.store.object_path(self.store.put(content)))
        return Item(SCRIPT, (self.layout.name(SCRIPT, IDENTITY), file), (), origin=None, is_page=True)

    # ---- pages of the root

    def _registered(self, pages: list[Item], root: str) -> tuple[list[Item], list[Diagnostic]]:
        address = SiteAddress(self.manifest.base_url)
        registration = Registration(self.store, SCRIPT, address, cast("Effort", self.config.build.effort))
        registered: list[Item] = []
        diagnostics: list[Diagnostic] = []
        for page in pages:
            item, diagnostic = self._with_script(page, root, registration)
            registered.append(item)
            diagnostics += [diagnostic] if diagnostic is not None else []
        return registered, diagnostics

    def _with_script(self, page: Item, root: str, registration: Registration) -> tuple[Item, Diagnostic | None]:
        resource = self.manifest.resources[page.path]
        if resource.media_type != media.HTML or not page.plain[1].is_file():
            return page, None
        codings = [coding for coding in self._codings_only.codings if resource.at(root, coding)]
        return registration.registered(page, [(self.layout.name(page.path, coding), coding) for coding in codings])
