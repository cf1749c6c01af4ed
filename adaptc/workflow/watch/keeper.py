"""What the watcher does: holds one output, with a warm engine, and builds in it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.engine.dry_run import digests_of
from adaptc.compile.engine.gate import Gate, Pending
from adaptc.compile.engine.outdated import aliases_of, compare_files
from adaptc.compile.engine.reporting import Progress
from adaptc.compile.engine.session import NeedsFullBuild, Session
from adaptc.compile.engine.state import State, discard, is_damage, system_error
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.fs import DiskTree
from adaptc.workflow.api import bring_up_to_date, engine_of
from adaptc.workflow.watch.notice import Notice


@dataclass(frozen=True, slots=True)
class Work:
    """What was done: units that were built, removed, and refused since files changed meanwhile. ``why`` a site was
    compared as a whole although few files changed."""

    built: int = 0
    removed: int = 0
    refused: int = 0
    paths: tuple[str, ...] = ()
    why: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class Keeper:
    """Keeps the output of ``config`` fresh; ``told`` is called by ``notice`` (``adaptc.workflow.watch.notice``).

    Holds the output's lock until it is closed. Raises ``UsageError`` and ``Busy`` when it is made.
    """

    def __init__(self, config: Config, told: Callable[[Sequence[str], bool], None], progress: Progress) -> None:
        self.config = config
        self.best = engine_of(config, progress)
        quick = dataclasses.replace(config, build=dataclasses.replace(config.build, effort="fast"))
        self.fast = engine_of(quick, progress)
        self.fast.accepted_recipes = frozenset(self.best.spec.recipes.values())
        self.best.cancels_on_change = True
        self._docroot = _identity(self.best.spec.docroot)
        self._lock = self.best.lock()
        self._open()
        self.notice = Notice(os.fspath(self.best.spec.docroot), self.best.spec.selection, self.gate, told)
        self._know()

    def _open(self) -> None:
        self.state = State(self.best.spec.state_path)
        self.gate = Gate(self.best.trees.publisher, self.best.spec.state_path)
        self.best.gate = self.fast.gate = self.gate
        self._session: Session | None = None

    def close(self) -> None:
        """Let the output go."""
        self.gate.close()
        self.state.close()
        self._lock.close()

    @property
    def is_elsewhere(self) -> bool | None:
        """Whether the docroot's name leads to another directory now; ``None`` when it leads to none."""
        assert self.config.docroot is not None
        found = _identity(self.config.docroot)
        return None if found is None else found != self._docroot

    # ---- building

    def build_changed(self) -> Work:
        """Build what was noticed, warm if that can be; raises as ``build_site``."""
        if self._session is None:
            return self.build_site()
        if not self.gate.has_pending:
            return Work()  # the build before saw to it
        try:
            with self._building(take=True) as pending:
                done = self._session.update(pending)
        except NeedsFullBuild as why:
            return dataclasses.replace(self.build_site(), why=str(why))
        return Work(len(done.reasons), done.removed, done.refused, tuple(sorted(pending.paths)))

    def build_site(self) -> Work:
        """Compare the whole docroot, and build what is stale with the fast encodings.

        Raises ``BuildCancelled`` when the gate closes, and ``OSError`` for the system's sake; the trees are true then.
        """
        with self._building(take=True) as pending:
            self._forget(pending)
            report = self.fast.run(self.state)
            self._session = Session(self.fast, self.state, report)
        return Work(len(report.reasons), report.removed, len(report.failures), tuple(sorted(pending.paths)))

    def polish(self) -> Work:
        """Build with the best encodings, and write manifest, report and what ``serve.emit`` names; raises as above.

        ``BuildCancelled`` is raised when files change, too.
        """
        with self._building(take=False):
            report, result = bring_up_to_date(self.best, self.state)
            self._session = Session(self.fast, self.state, report)
        return Work(len(result.built), result.removed, len(report.failures), (), None, result.diagnostics)

    def reconcile(self) -> bool:
        """Scan for files that changed without an event, and doubt them; return whether the trees are as they were left.

        A file with another time is read, so that one that was only touched stays where it is.
        """
        if not self.best.spec.docroot.is_dir():
            self.notice.everything()
            return True
        known = self.state.resources()
        loaded = self.best.spec.load().resources
        found = compare_files(loaded, known)
        same_size = [path for path in found.touched if path in known and known[path][0].size == loaded[path].size]
        digests = digests_of(DiskTree(self.best.spec.docroot), same_size)
        changed = [path for path in found.touched if path not in known or digests.get(path) != known[path][1]]
        paths = dict.fromkeys((*changed, *sorted(found.went)))
        linked = {
            path for path in paths for one in (loaded.get(path), known.get(path, (None,))[0]) if one and one.alias_of
        }
        self.notice.files(paths, whole=bool(linked))
        return not self.best.trees.are_changed(self.state)

    def _forget(self, pending: Pending) -> None:
        """Make the build look at units that were withdrawn, and at the trees."""
        self.state.begin()
        for unit in pending.units:
            self.state.forget_unit(unit)
        if pending.units:
            self.state.set_directories(())
        self.state.commit()

    @contextlib.contextmanager
    def _building(self, *, take: bool) -> Iterator[Pending]:
        """Give what the gate owes, if it is to be taken. What goes wrong gives it back, for a whole build."""
        self.notice.is_building = True
        pending = self.gate.drain() if take else Pending()
        try:
            yield pending
        except BaseException:
            self._session = None
            self.gate.requeue(pending)
            with contextlib.suppress(sqlite3.DatabaseError):
                self.state.rollback()
                self._know()
            raise
        self._know()
        self.notice.is_building = False

    def recover(self, error: sqlite3.DatabaseError) -> None:
        """Throw a damaged state away; the next build builds everything anew. Raises ``OSError`` for other errors."""
        if not is_damage(error):
            raise system_error(error, self.best.spec.state_path) from None
        self.gate.close()
        self.state.close()
        discard(self.best.spec.state_path)
        self._open()
        self.notice.gate = self.gate
        self._know()

    def _know(self) -> None:
        if self._session is not None:
            self.notice.know(self._session.known, self._session.aliases)
        else:
            known = self.state.resources()
            self.notice.know(known, aliases_of(one for one, _ in known.values()))


def _identity(directory: Path) -> tuple[str, int, int] | None:
    """Return what a directory is known by: where it really is, device and inode."""
    try:
        found = os.stat(directory)
    except OSError:
        return None
    return os.path.realpath(directory), found.st_dev, found.st_ino
