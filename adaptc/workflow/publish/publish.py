"""Publishes a site at one level to a folder by URL: what changed, and nothing that is as it should be."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.trees.output import output_lock
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, UsageError
from adaptc.core.fs import write_atomic
from adaptc.core.model import PRIVATE
from adaptc.core.remote import Remote
from adaptc.report.manifest import Manifest, last_manifest
from adaptc.workflow.export.export import docroot_of, staleness
from adaptc.workflow.export.items import export_items
from adaptc.workflow.publish.changes import find_changes, purge_paths, refuse_foreign
from adaptc.workflow.publish.lease import hold_lease
from adaptc.workflow.publish.objects import layout_of, site_objects
from adaptc.workflow.publish.record import Record, read_record
from adaptc.workflow.publish.sending import Sender


@dataclass(frozen=True, slots=True)
class Publication:
    """What a publication did, or would do: names of objects sent and removed, ``size`` bytes sent, objects ``kept``.

    ``purged`` are the URL paths whose content changed since the last complete publication.
    """

    url: str
    level: str
    sent: tuple[str, ...]
    removed: tuple[str, ...]
    kept: int
    size: int
    purged: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def publish_site(
    config: Config,
    progress: Progress,
    *,
    removes: bool = False,
    adopts: bool = False,
    is_dry: bool = False,
    purge_list: Path | None = None,
) -> Publication:
    """Publish the site at ``config.publish.level`` to ``config.publish.url``.

    With ``removes``, what was published before and is gone from the site is removed. With ``adopts``, files that
    publishing did not write are overwritten. ``is_dry`` only compares. ``purge_list`` is a file to which ``purged`` is
    written, a line each. Raises ``UsageError``, ``RemoteError``, and ``Busy`` while a build or another
    publication runs.
    """
    manifest = last_manifest(config.output)
    level = _level(config, manifest)
    if not config.publish.url:
        raise UsageError("no URL: name it on the command line or as publish.url in adaptc.toml")
    remote = Remote(config.publish.url)
    locked = nullcontext() if is_dry else hold_lease(remote)
    with output_lock(config.output / PRIVATE / "lock"), locked as lease:
        stale = staleness(config, manifest, level)
        items, left_out = export_items(manifest, docroot_of(config), level, layout_of(config.publish.encodings))
        record, listing = read_record(remote), remote.files()
        known = record or Record()
        objects = site_objects(items, manifest, level, config.publish)
        changes = find_changes(objects, known.entries, listing, removes=removes)
        if not adopts:
            refuse_foreign(remote.url, changes, known.entries, listing)
        outdated = {*known.outdated, *(name for name in changes.names if name in listing)}
        problems, done, size = list[Diagnostic](), set(changes.names), 0
        if lease is not None and not (changes.is_empty and not known.outdated):
            sender = Sender(remote, known, lease, progress)
            problems = sender.run(changes, listing)
            done, size = sender.done, sender.size
    purged = tuple(purge_paths(outdated, config.url_prefix, config.site.index))
    if purge_list is not None:
        write_atomic(os.fspath(purge_list), "".join(f"{path}\n" for path in purged).encode("ascii"))
    sent = tuple(each.name for each in changes.sent if each.name in done)
    removed = tuple(name for name in changes.removed if name in done)
    diagnostics = (*stale, *left_out, *problems)
    return Publication(remote.url, level, sent, removed, changes.kept, size, purged, diagnostics)


def _level(config: Config, manifest: Manifest) -> str:
    """Return the configured level, or the only one that was built."""
    level = config.publish.level
    if level is None:
        if len(manifest.level_names) > 1:
            built = ", ".join(manifest.level_names)
            raise UsageError(f"which level? Give --level, or publish.level in adaptc.toml; there are: {built}")
        (level,) = manifest.level_names
    manifest.require_level(level)
    return level
