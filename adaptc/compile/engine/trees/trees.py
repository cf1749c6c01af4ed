"""The trees of an output as the state describes them: which files are missing, outdated, unwanted or foreign.

The build that completes the trees stores a fingerprint of each directory (``directories``). A check of 80,000 files
then reads a few hundred rows instead of the record of every unit; where a fingerprint differs, or a directory holds
something that it does not cover, every unit is compared. A build does the same with the digest of names and sizes
alone: files that were copied to another machine may have other times, and are not built again for that.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping

from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.outdated import REMOVED_FIRST, OutputMissing, Reason
from adaptc.compile.engine.reporting import BuildReport
from adaptc.compile.engine.spec import BuildSpec
from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.state.state import State, TreeDirectories, Unit
from adaptc.compile.engine.trees.directories import Entry, Recorder, fingerprint_of, mtime, sizes_of
from adaptc.compile.engine.trees.publish import Publisher
from adaptc.core.fs import open_directory
from adaptc.core.model import IDENTITY, OWN_DIRECTORY, name_in_tree, path_of_name
from adaptc.core.sync import boot_id

# Files whose sizes every build compares, in a tenth of a second
MOST_COMPARED = 20_000


class Trees:
    """The trees that ``spec`` asks for. Raises ``OSError`` when something cannot be removed.

    ``has_removed_outdated`` says that a build has removed what was outdated when it began.
    """

    def __init__(self, spec: BuildSpec) -> None:
        self.spec = spec
        self.publisher = Publisher(spec.output, Store(spec.cache))
        self.has_removed_outdated = False

    # ---- comparing

    def are_changed(self, state: State) -> bool:
        """Whether the trees are not as the last complete build left them."""
        return not self.unchanged_directories(state)

    def unchanged_directories(self, state: State) -> TreeDirectories:
        """Return the directories of the trees if all are as the last complete build left them, otherwise none.

        Sizes of many files are compared once after each start of the machine: what loses power, or breaks, starts anew.
        """
        known, output = state.directories(), os.fspath(self.spec.output)
        if any(mtime(f"{output}/{path}") != directory.mtime_ns for path, directory in known.items()):
            return {}
        if not has_run_since(state):
            listing = _Listing(output, known, state.aliases())
            if any(listing.sizes(path) != directory.sizes for path, directory in known.items()):
                return {}
        return known

    def record_directories(self, state: State, last: TreeDirectories) -> None:
        """Store the times of the trees' directories as they are now, and digests of the files that they should have.

        ``last`` are the directories before the build.
        """
        recorder = Recorder(state, os.fspath(self.spec.output))
        directories = recorder.record_touched(last)
        if directories is not None:
            note_boot(state)
        else:
            directories, files = recorder.record_all()
            state.set_meta("boot", boot_id() if files > MOST_COMPARED else None)
        state.set_directories(directories)

    def count_if_unchanged(self, state: State, report: BuildReport) -> int | None:
        """Return how many files the trees hold if a quick check shows that they are as a build would leave them.

        Return ``None`` if every unit must be compared. The docroot of ``report`` must be unchanged.
        """
        directories = state.directories()
        if not directories or state.meta("complete") != self.spec.completion_mark(report):
            return None
        output = os.fspath(self.spec.output)
        if any(os.path.lexists(f"{output}/{level}") for level in self.spec.recipes if level not in directories):
            return None  # a level without files has no tree
        listing, files = _Listing(output, directories, state.aliases()), 0
        for path, directory in directories.items():
            entries = listing.entries(path)
            if entries is None or fingerprint_of(entries) != directory.fingerprint:
                return None
            files += len(entries)
        return files

    def missing_outputs(
        self, state: State, known: Mapping[Unit, Reason], report: BuildReport
    ) -> Iterator[tuple[Unit, Reason]]:
        """Yield the units, but for those that are ``known``, of which a file is not in the tree as it was built."""
        for result in state.results(notes=False):
            unit = (result.level, result.path)
            if self._is_wanted(unit, report) and unit not in known:
                missing = self._missing(result, report.resources[result.path].alias_of)
                if missing is not None:
                    yield unit, OutputMissing(missing)

    def _levels(self, state: State) -> list[str]:
        """Return the levels that may have a tree: those of this build, of units, and of a build that was killed.

        A new state, where the old one was damaged or of another version, knows none: what looks like a tree is one.
        """
        levels = {*self.spec.recipes, *state.levels(), *(state.meta("trees") or ())}
        if not state.has_units:
            levels |= {path.parent.name for path in self.spec.output.glob(f"*/{IDENTITY}") if path.is_dir()}
        return sorted(levels)

    def note_levels(self, state: State, *, is_complete: bool) -> None:
        """Record the levels that may have a tree: a killed build has forgotten units whose files are still there."""
        state.set_meta("trees", sorted(self.spec.recipes) if is_complete else self._levels(state))

    def _missing(self, result: UnitResult, alias_of: str | None) -> str | None:
        """Return the name of a file of a unit that is not in the tree as it was built, or ``None``."""
        for path, output in result.files():
            if not self.publisher.has_output(result.level, path, output, alias_of if path == result.path else None):
                return f"{result.level}/{output.coding}/{name_in_tree(output.coding, path)}"
        return None

    def _is_wanted(self, unit: Unit, report: BuildReport) -> bool:
        return unit[0] in self.spec.recipes and report.wants(unit)

    def unwanted(self, built: Iterable[Unit], report: BuildReport) -> list[Unit]:
        """Return the ``built`` units whose source or level is gone, or whose page is no longer popular."""
        return [unit for unit in built if not self._is_wanted(unit, report)]

    # ---- removing

    def remove_outdated(
        self, state: State, unwanted: Iterable[Unit], reasons: Mapping[Unit, Reason]
    ) -> dict[Unit, None]:
        """Remove outdated and unwanted files from the trees, and forget the units that are ``unwanted`` or to be built.

        Returns their extra files, for ``remove_unused_extras``.
        """
        extras = {extra: None for unit in (*unwanted, *reasons) for extra in state.extras_of(unit)}
        stale = [unit for unit, reason in reasons.items() if isinstance(reason, REMOVED_FIRST)]
        for unit in (*unwanted, *stale):
            self.publisher.remove_unit(*unit)
            for level, path in state.extras_of(unit):
                if not path.startswith(OWN_DIRECTORY):  # these are named by their content, and other units share them
                    self.publisher.remove_unit(level, path)
        for unit in (*unwanted, *reasons):
            state.forget_unit(unit)
        return extras

    def remove_unused_extras(self, state: State, extras: Iterable[Unit]) -> None:
        """Remove the extra files that no unit refers to any more."""
        for level, path in extras:
            if not state.has_extra(level, path):
                self.publisher.remove_unit(level, path)

    def remove_foreign_files(self, state: State) -> None:
        """Remove files from the trees that the state does not know: leftovers of a killed build, or foreign files."""
        foreign, directories = self.publisher.list_files(self._levels(state))
        for result in state.results(notes=False):
            for path, output in result.files():
                foreign.pop(self.publisher.file(result.level, output.coding, path), None)
        for file in foreign:
            self.publisher.remove_file(file)
        for directory in reversed(directories):
            self.publisher.remove_if_empty(directory)


def has_run_since(state: State) -> bool:
    """Whether the machine ran without a stop since the trees were compared with the state."""
    boot = boot_id()
    return boot is not None and state.meta("boot") == boot


def note_boot(state: State) -> None:
    """Note that large trees were compared with the state since the machine started."""
    if state.meta("boot") is not None and not has_run_since(state):
        state.set_meta("boot", boot_id())


class _Listing:
    """The files of the trees on disk.

    ``known`` are their directories, ``aliases`` the files of the docroot that may be published as symbolic links.
    """

    def __init__(self, output: str, known: Container[str], aliases: Container[str]) -> None:
        self.output, self.known, self.aliases = output, known, aliases

    def sizes(self, directory: str) -> str | None:
        """Return the digest of names and sizes of a directory, or ``None`` as ``entries`` does."""
        entries = self.entries(directory)
        return None if entries is None else sizes_of(entries)

    def entries(self, directory: str) -> list[Entry] | None:
        """Return the files of a directory; ``None`` if it is gone, or holds an unknown link or directory."""
        files: list[Entry] = []
        try:
            with open_directory(f"{self.output}/{directory}") as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if f"{directory}/{entry.name}" not in self.known:
                            return None
                        continue
                    is_link = entry.is_symlink()
                    if is_link and _in_docroot(f"{directory}/{entry.name}") not in self.aliases:
                        return None
                    status = entry.stat(follow_symlinks=is_link)
                    files.append((entry.name, status.st_size, status.st_mtime_ns))
        except OSError:  # the directory is gone, or the link is broken
            return None
        return files


def _in_docroot(file: str) -> str:
    """Return the path that a file of the trees, ``LEVEL/CODING/NAME``, represents; "" for a misplaced file."""
    _, _, inside = file.partition("/")
    coding, _, name = inside.partition("/")
    return path_of_name(coding, name)


def mark_incomplete(state: State, worked: bool) -> None:
    """Note that the trees are not complete, and that the documents about them are outdated."""
    state.set_directories({})
    state.set_meta("complete", None)
    if worked:
        state.set_meta("build", None)
