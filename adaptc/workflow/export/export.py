"""Exports a site at one level as a directory."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from adaptc.compile.analyse.decisions import lists_of, pinned_of
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.state.state import last_build
from adaptc.compile.engine.trees.output import output_lock
from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose
from adaptc.core.model import OWN_DIRECTORY, PRIVATE
from adaptc.core.quantities import written_bytes, written_plural
from adaptc.core.urls import SiteAddress
from adaptc.core.values import dataclass, replace
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.site.header_rules import CSP
from adaptc.site.host_files import host_rules
from adaptc.site.selection import Selection
from adaptc.workflow.api import build_spec, plan
from adaptc.workflow.export.destination import ExportRecord, Item, refuse_foreign_directory, write_items
from adaptc.workflow.export.items import LAYOUTS, NAMED, Layout, encoded_again, export_items, with_versions
from adaptc.workflow.export.ladder import LadderItems, had_ladder


@dataclass(frozen=True, slots=True)
class Export:
    """What an export did: files written, kept and removed; ``size`` is in bytes, of all files of the export.

    ``encoded`` are those of the encodings; ``names`` has the names by content, by path.
    """

    destination: Path
    written: int
    kept: int
    removed: int
    size: int
    encoded: int
    diagnostics: tuple[Diagnostic, ...]
    names: Mapping[str, str]


def export_site(
    config: Config,
    level: str,
    destination: Path,
    encodings: str,
    progress: Progress,
    *,
    ladder: bool | None = None,
    edge: str | None = None,
    content_names: bool = False,
) -> Export:
    """Write the whole site at ``level`` to ``destination``.

    ``encodings`` is a key of ``LAYOUTS``. With ``ladder`` the lower levels go along, and a service worker that picks
    one for each visitor, or with ``edge``, one of ``EDGES``, a script of that host; with False what removes such a
    worker, with None that only where the last export had one. With ``content_names`` what pages load also has a name
    that changes with its content (``ContentNames``). Raises ``UsageError``, ``Busy`` while a build runs, and
    ``OSError`` when the destination cannot be written.
    """
    if ladder and content_names:
        raise UsageError("--ladder and --content-names do not go together")
    manifest = last_manifest(config.output)
    manifest.require_level(level)
    docroot, target = config.existing_docroot(), refuse_destination(config, destination)
    private = config.output / PRIVATE
    with output_lock(private / "lock"):
        stale = staleness(config, manifest, level)
        manifest, withheld = sendable(config, manifest)
        layout, record = LAYOUTS[encodings], ExportRecord.of(private, target)
        items, left_out = export_items(manifest, docroot, level, layout)
        if ladder or ladder is False or had_ladder(record, layout):
            ladder_items = LadderItems(config, manifest, docroot, layout)
            items, unregistered = (
                ladder_items.added_to(items, level, edge) if ladder else ladder_items.withdrawn_from(items)
            )
            left_out = [*left_out, *unregistered]
        store = Store(build_spec(config).cache)
        items, names, unextended = _written_anew(config, docroot, items, store, layout, content_names=content_names)
        items = with_host_files(items, store, target, record)
        tally = write_items(items, target, record, progress)
    diagnostics = (*stale, *withheld, *left_out, *unextended, *tally.diagnostics)
    return Export(destination, tally.written, tally.kept, tally.removed, tally.size, tally.encoded, diagnostics, names)


def _written_anew(
    config: Config, docroot: Path, items: list[Item], store: Store, layout: Layout, *, content_names: bool
) -> tuple[list[Item], Mapping[str, str], Sequence[Diagnostic]]:
    """Return the items with what depends on others of them: hashes in policies, names by content, lists of versions.

    Also names by content, by path, and what is to be said.
    """
    names: Mapping[str, str] = {}
    unextended: Sequence[Diagnostic] = ()
    if config.site.csp_hashes:
        from adaptc.workflow.export.policies import with_hashes

        items, unextended = with_hashes(config, docroot, items, store, layout)
    if content_names:
        items, names = _with_names(config, docroot, items, store, layout)
    return _with_versions(config, docroot, items, store, layout), names, unextended


def _with_names(
    config: Config, docroot: Path, items: list[Item], store: Store, layout: Layout
) -> tuple[list[Item], Mapping[str, str]]:
    """Return the items with names by content, and these names by path. Raises ``UsageError`` where they are taken."""
    from adaptc.workflow.export.names import ContentNames

    if taken := next((item.path for item in items if item.path.startswith(NAMED)), None):
        raise UsageError(f"--content-names: the site has a file {taken} of its own")
    with last_build(config.output) as state:
        kept = frozenset(pinned_of(state.decisions()))
    hosts = host_rules(config, docroot, [item.path for item in items], is_exported=False)
    configured = () if config.site.csp is None else (config.site.csp,)
    encode = partial(encoded_again, store, effort=config.coding_effort)
    address = SiteAddress(config.site.base_url)
    named = ContentNames(items, address, store, kept, lambda path: (*configured, *hosts.values(path, CSP)), encode)
    return named.items_with_names(layout), named.names


def _with_versions(config: Config, docroot: Path, items: list[Item], store: Store, layout: Layout) -> list[Item]:
    """Return the items with lists of versions that tell those of the export."""
    with last_build(config.output) as state:
        rows = state.decisions()
    lists = frozenset(lists_of(rows)) - pinned_of(rows).keys()
    encode = partial(encoded_again, store, effort=config.coding_effort)
    return with_versions(items, lists, docroot, store, layout, encode)


def refuse_destination(config: Config, destination: Path) -> Path:
    """Return the real path of a destination.

    Raises ``UsageError`` when it overlaps with the docroot or the output, or holds what is not from there.
    """
    target = Path(os.path.realpath(destination))
    for name, directory in (("docroot", config.existing_docroot()), ("output", config.output)):
        real = Path(os.path.realpath(directory))
        if target == real or target in real.parents or real in target.parents:
            raise UsageError(f"{target} and the {name} {real} overlap: choose another directory to export to")
    refuse_foreign_directory(target, ExportRecord.of(config.output / PRIVATE, target))
    return target


def staleness(config: Config, manifest: Manifest, level: str) -> tuple[Diagnostic, ...]:
    """Return a warning when a build of the levels that there are would change files of ``level``."""
    reasons = plan(replace(config, build=replace(config.build, levels=tuple(manifest.level_names)))).reasons
    outdated = sum(unit_level == level for unit_level, _ in reasons)
    return (diagnose("export-stale", level=level, files=written_plural(outdated, "file")),) if outdated else ()


def sendable(config: Config, manifest: Manifest) -> tuple[Manifest, list[Diagnostic]]:
    """Return the manifest without the files that must not leave this server, and diagnostics with their number.

    These are files that may be built no longer, and those that are bounded: other hosts do not have the rules of this
    one. So are source maps, for which browsers ask only with open developer tools. What ``site.include`` names is sent.
    """
    spec = build_spec(config)
    docroot, bounds, counts = spec.load(), spec.settings.bounds, Counter[str]()
    withheld, sent = frozenset(docroot.withheld), []
    maps = _source_maps(config.existing_docroot(), manifest, spec.selection)
    for row in manifest.values["resources"]:
        path = row["path"]
        if path in maps:
            continue
        bound = None if spec.selection.is_included(path) else bounds.between(path, ())
        if bound is not None:
            counts[f"they are below {bound}, which not everybody may read"] += 1
        elif path in withheld:
            counts["since they were built, a rule, their mode or their name restricts them"] += 1
        else:
            sent.append(row)
    diagnostics = [diagnose("export-withheld", count=count, reason=reason) for reason, count in counts.items()]
    if maps:
        size = written_bytes(sum(manifest.resources[path].size for path in maps))
        diagnostics.append(diagnose("export-source-maps", count=len(maps), size=size))
    return Manifest(manifest.file, {**manifest.values, "resources": sent}), diagnostics


# A name of a source map, anywhere but in the comment of the file that it belongs to
_MAP_NAME = re.compile(rb"sourceMappingURL=\S*+|(?<![\w.~@$-])([\w.~@$-]+\.map)(?![\w-])")


def _source_maps(docroot: Path, manifest: Manifest, selection: Selection) -> set[str]:
    """Return the source maps of scripts and style sheets, but for those that another text names, as a list does."""
    types = {path: resource.media_type for path, resource in manifest.resources.items()}
    own = {path for path in types if path.endswith(".map") and types.get(path[:-4]) in (media.JS, media.CSS)}
    maps = {path for path in own if not selection.is_included(path)}
    texts = [path for path in types.keys() - own if media.is_compressible(types[path])] if maps else []
    for file in (docroot / path for path in texts):
        names = set(_MAP_NAME.findall(file.read_bytes())) if file.is_file() else ()
        maps -= {path for path in maps if os.path.basename(path).encode() in names} if names else set()
    return maps


# ---- files that tell hosts what to do with the others
#
# GitHub Pages runs Jekyll on a branch that it publishes, and Jekyll leaves out what begins with ``_``, such as the
# directory of copies of images and fonts, unless there is a file ``.nojekyll``. Netlify, Cloudflare Pages and others
# have browsers ask again for every file; ``_headers`` says that copies, whose names are digests, never change.

NO_JEKYLL, HEADERS = ".nojekyll", "_headers"
# A site with this file asks for Jekyll
_CONFIGURATION = "_config.yml"
# What has a name by its content, as ``_headers`` writes it. A placeholder stands for one part of a path: below the
# directory of copies are the levels of a ladder, too, whose files may change
_NEVER_CHANGE: Mapping[str, Callable[[str], bool]] = {
    f"/{OWN_DIRECTORY}:file": lambda name: f"{os.path.dirname(name)}/" == OWN_DIRECTORY,
    f"/{NAMED}*": lambda name: name.startswith(NAMED),
}
_FOR_A_YEAR = "Cache-Control: public, max-age=31536000, immutable"


def with_host_files(items: list[Item], store: Store, target: Path, record: ExportRecord) -> list[Item]:
    """Return the items of an export to ``target`` with those of ``.nojekyll`` and ``_headers`` that it needs.

    A file of this name that the site has, or that somebody put into the export, stays.
    """
    paths = {item.path for item in items}
    content: dict[str, bytes] = {}
    rules = [rule for rule, covers in _NEVER_CHANGE.items() if any(covers(item.plain[0]) for item in items)]
    if rules:
        content[HEADERS] = "".join(f"{rule}\n  {_FOR_A_YEAR}\n" for rule in rules).encode()
    if any(path.startswith("_") for path in paths) and _CONFIGURATION not in paths:
        content[NO_JEKYLL] = b""
    mine = record.read() or ()
    wanted = [name for name in content if name not in paths and (name in mine or not (target / name).exists())]
    stored = ((name, Path(store.object_path(store.put(content[name])))) for name in wanted)
    return [*(Item(each[0], each, (), origin=None, is_page=False) for each in stored), *items]
