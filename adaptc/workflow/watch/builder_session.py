"""A session of builds in one output: the engine, the state and the lock stay in memory between builds."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from adaptc.compile.engine.builder import digests_of
from adaptc.compile.engine.outdated import aliases_of, compare_files
from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.session import NeedsFullBuild, Session
from adaptc.compile.engine.state.damage import MALFORMED, discard, reason_of_damage
from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.trees.gate import Gate, Pending
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.fs import DiskTree
from adaptc.core.values import dataclass
from adaptc.workflow.api import bring_up_to_date, engine_of
from adaptc.workflow.watch.invalidation import Invalidator


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """What a build did: units that were built, removed, and refused since files changed meanwhile.

    ``why`` is the reason for which the whole site was compared although few files changed.
    """

    built: int = 0
    removed: int = 0
    refused: int = 0
    paths: tuple[str, ...] = ()
    why: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class BuilderSession:
    """Builds the output of ``config``; ``on_changes`` is called by its ``invalidator`` for files that change.

    Holds the output's lock until it is closed. Raises ``UsageError`` and ``Busy`` when it is made. ``discarded`` says
    why the state of the last build could not be used, if so.
    """

    def __init__(self, config: Config, on_changes: Callable[[Sequence[str], bool], None], progress: Progress) -> None:
        self.config = config
        self.best = engine_of(config, progress)
        quick = dataclasses.replace(config, build=dataclasses.replace(config.build, effort="fast"))
        self.fast = engine_of(quick, progress)
        self.fast.accepted_recipes = frozenset(self.best.spec.recipes.values())
        self.best.cancels_on_change = True
        self._docroot = _identity(self.best.spec.docroot)
        self._lock = self.best.lock()
        self._open()
        self.discarded = self.state.discarded
        self.invalidator = Invalidator(
            os.fspath(self.best.spec.docroot), self.best.spec.selection, self.gate, on_changes
        )
        try:
            self._update_known_files()
        except (sqlite3.DatabaseError, *MALFORMED) as error:
            self.recover(error)
            self.discarded = str(error)

    def _open(self) -> None:
        self.state = State(self.best.spec.state_path)
        self.gate = Gate(self.best.trees.publisher, self.best.spec.state_path)
        self.best.gate = self.fast.gate = self.gate
        self._session: Session | None = None

    def close(self) -> None:
        """Release the output."""
        self.gate.close()
        self.state.close()
        self._lock.close()

    @property
    def is_elsewhere(self) -> bool | None:
        """Whether the docroot's name leads to another directory now; ``None`` when it leads to none."""
        assert self.config.docroot is not None
        identity = _identity(self.config.docroot)
        return None if identity is None else identity != self._docroot

    # ---- building

    def build_changed(self) -> BuildOutcome:
        """Build the pending files with what is in memory, if possible; raises as ``build_site``."""
        if self._session is None:
            return self.build_site()
        if not self.gate.has_pending:
            return BuildOutcome()  # the last build included them
        try:
            with self._building(take=True) as pending:
                done = self._session.update(pending)
        except NeedsFullBuild as reason:
            return dataclasses.replace(self.build_site(), why=str(reason))
        return BuildOutcome(len(done.reasons), done.removed, done.refused, tuple(sorted(pending.paths)))

    def build_site(self) -> BuildOutcome:
        """Compare the whole docroot, and build what is stale with the fast encodings.

        Raises ``BuildCancelled`` when the gate closes, and ``OSError``; the trees have no stale file then.
        """
        with self._building(take=True) as pending:
            self._forget(pending)
            report = self.fast.run(self.state)
            self._session = Session(self.fast, self.state, report)
        return BuildOutcome(len(report.reasons), report.removed, len(report.failures), tuple(sorted(pending.paths)))

    def build_best(self) -> BuildOutcome:
        """Build with the best encodings, and write manifest, report and what ``serve.emit`` names; raises as above.

        ``BuildCancelled`` is raised when files change, too.
        """
        with self._building(take=False):
            report, result = bring_up_to_date(self.best, self.state)
            self._session = Session(self.fast, self.state, report)
        return BuildOutcome(len(result.built), result.removed, len(report.failures), (), None, result.diagnostics)

    def reconcile(self) -> bool:
        """Invalidate files that changed without an event; return whether the trees are as the last build left them.

        A file with another time is read, so that the outputs of one that was only touched stay.
        """
        if not self.best.spec.docroot.is_dir():
            self.invalidator.invalidate_all()
            return True
        known = self.state.resources()
        loaded = self.best.spec.load().resources
        changes = compare_files(loaded, known)
        same_size = [path for path in changes.touched if path in known and known[path][0].size == loaded[path].size]
        digests = digests_of(DiskTree(self.best.spec.docroot), same_size)
        changed = [path for path in changes.touched if path not in known or digests.get(path) != known[path][1]]
        paths = dict.fromkeys((*changed, *sorted(changes.disappeared)))
        linked = {
            path
            for path in paths
            for resource in (loaded.get(path), known.get(path, (None,))[0])
            if resource and resource.alias_of
        }
        self.invalidator.invalidate(paths, whole=bool(linked))
        return not self.best.trees.are_changed(self.state)

    def _forget(self, pending: Pending) -> None:
        """Make the build check units that were withdrawn, and the trees."""
        self.state.begin()
        for unit in pending.units:
            self.state.forget_unit(unit)
        if pending.units:
            self.state.set_directories({})
        self.state.commit()

    @contextlib.contextmanager
    def _building(self, *, take: bool) -> Iterator[Pending]:
        """Yield the pending work of the gate if ``take``; an exception puts it back, for a build of the whole site."""
        self.invalidator.is_building = True
        pending = self.gate.drain() if take else Pending()
        try:
            yield pending
        except BaseException:
            self._session = None
            self.gate.requeue(pending)
            with contextlib.suppress(sqlite3.DatabaseError, *MALFORMED):
                self.state.rollback()
                self._update_known_files()
            raise
        self._update_known_files()
        self.invalidator.is_building = False

    def recover(self, error: Exception) -> None:
        """Discard a damaged state; the next build builds everything anew. Raises ``OSError`` for others."""
        reason_of_damage(error, self.best.spec.state_path)
        self.gate.close()
        self.state.close()
        discard(self.best.spec.state_path)
        self._open()
        self.invalidator.gate = self.gate
        self._update_known_files()

    def _update_known_files(self) -> None:
        if self._session is not None:
            self.invalidator.set_known(self._session.known, self._session.aliases)
        else:
            known = self.state.resources()
            self.invalidator.set_known(known, aliases_of(resource for resource, _ in known.values()))


def _identity(directory: Path) -> tuple[str, int, int] | None:
    """Return the identity of a directory: its real path, device and inode."""
    try:
        status = os.stat(directory)
    except OSError:
        return None
    return os.path.realpath(directory), status.st_dev, status.st_ino
