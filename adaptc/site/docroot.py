"""A docroot: every file in it that a server would publish, with its media type, and diagnostics about the rest.

Its digest is that of what ``lstat`` reports of everything in it, at four microseconds a file. Equal digests mean that
loading the docroot again would find what it found before, so that a build or check of 100,000 files with nothing to do
need not. Where the digest of a directory is equal, that directory need not be read.
"""

from __future__ import annotations

import errno
import math
import os
import pickle
import stat
import threading
from array import array
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, MutableMapping
from itertools import chain
from typing import NamedTuple

from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.fs import ChangedWhileRead, DiskTree, Entry, Tree, open_directory
from adaptc.core.model import Resource
from adaptc.core.urls import SiteAddress
from adaptc.core.values import dataclass, field
from adaptc.site.apache_configuration import server_rules_of
from adaptc.site.host_files import HostTypes
from adaptc.site.selection import Selection, with_ancestors
from adaptc.site.server_rules import ServerRule, ServerRules
from adaptc.site.site import Site
from adaptc.site.source_table import KnownFiles, LoadedFiles, ResourceSources

_LINK_PROBLEMS = {errno.ELOOP: "symlink-loop", errno.ENOENT: "symlink-broken", errno.ENOTDIR: "symlink-broken"}


@dataclass(slots=True)
class Docroot:
    """A loaded docroot: resources by path, in order of their paths, and the diagnostics of loading.

    ``bypassing`` are the files that are left out since copies of them would bypass rules of the server; ``withheld``
    are these, and the others that exist and are no content: programs, private files, and those with a closed mode.
    """

    resources: MutableMapping[str, Resource] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    bypassing: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)

    def unbuilt(self) -> tuple[str, ...]:
        """Return the ``bypassing`` files, each as the topmost directory in which nothing is built."""
        return self._topmost(self.bypassing)

    def withheld_places(self) -> tuple[str, ...]:
        """Return the ``withheld`` files likewise."""
        return self._topmost(self.withheld)

    def _topmost(self, paths: list[str]) -> tuple[str, ...]:
        if not paths:
            return ()
        built = {directory for path in self.resources for directory in with_ancestors(path)}
        return tuple(dict.fromkeys(_topmost_outside(path, built) for path in paths))


def _topmost_outside(path: str, built: set[str]) -> str:
    return [place for place in with_ancestors(path) if place not in built][-1]


def load_directory(
    tree: Tree,
    selection: Selection | None = None,
    types: Mapping[str, str] | None = None,
    rules: ServerRules | None = None,
    known: Mapping[str, tuple[Resource, str]] | None = None,
    unchanged: Mapping[str, PlainDirectory] | None = None,
) -> Docroot:
    """Walk ``tree`` and return what is published. ``types`` are media types by path that beat those of names.

    Of files that are as they were when they became the ``known`` ones nothing is read. Of ``unchanged`` directories
    all files are known ones, and neither is read: where nothing else needs all files, they are not even looked up.

    Symbolic links that stay inside are followed once: their targets become aliases. Links that leave, are
    broken or loop, special files, programs, private files, files that ``rules`` cover and what cannot be read, or not
    by everybody, are left out with a diagnostic.
    """
    walk = _Walk(tree, selection or Selection(), {} if types is None else types, known or {}, unchanged or {})
    walk.run()
    docroot, rules = walk.docroot, rules or ServerRules(tree)
    if isinstance(known, KnownFiles) and walk.has_just(known) and not any(map(rules.has_file, walk.read)):
        docroot.resources = LoadedFiles(known, dict(sorted(docroot.resources.items())), walk.kept)
        return docroot
    docroot.resources.update(_files_in(frozenset(walk.kept), known or {}))
    docroot.resources = {path: docroot.resources[path] for path in sorted(docroot.resources)}
    _leave_out_closed(docroot, walk.closed)
    _leave_out(docroot, rules)
    docroot.diagnostics.extend(_case_collisions(docroot.resources))
    return docroot


def _files_in(directories: frozenset[str], known: Mapping[str, tuple[Resource, str]]) -> Iterator[tuple[str, Resource]]:
    """Yield the known files of ``directories`` by path, without links."""
    for path, (resource, _) in known.items() if directories else ():
        if resource.alias_of is None and path.rpartition("/")[0] in directories:
            yield path, resource


def _leave_out_closed(docroot: Docroot, closed: Mapping[str, str]) -> None:
    """Remove the files that others may not read, and report each directory with the number of its files."""
    counts: dict[str, int] = {}
    for path, place in _closed_by_mode(docroot, closed).items() if closed else ():
        del docroot.resources[path]
        docroot.withheld.append(path)
        counts[place] = counts.get(place, 0) + 1
    for place, count in counts.items():
        docroot.diagnostics.append(diagnose("closed-mode", Location(place), count=count))


def _leave_out(docroot: Docroot, rules: ServerRules) -> None:
    """Remove the files that rules of the server apply to, and report each rule with the number of its files."""
    counts: dict[ServerRule, int] = {}
    altering, are_free = dict[str, ServerRule](), dict[str, bool]()
    for path, resource in docroot.resources.items():
        directory = path.rpartition("/")[0]
        if are_free.get(directory) and resource.alias_of is None:
            continue
        rule = rules.rule_for(path) or (rules.rule_for(resource.alias_of) if resource.alias_of else None)
        if rule is None and directory not in are_free:
            are_free[directory] = not rules.may_restrict(path)
            for alters in _unrepeated(rules, path):
                altering.setdefault(alters.directive.file, alters)
        if rule is not None:
            counts[rule] = counts.get(rule, 0) + 1
            docroot.bypassing.append(path)
    for path in docroot.bypassing:
        del docroot.resources[path]
    docroot.withheld.extend(docroot.bypassing)
    for rule, count in counts.items():
        kind = "server-rule-unknown" if rule.is_unknown else "server-rule"
        docroot.diagnostics.append(diagnose(kind, rule.location, rule=rule.text, count=count))
    for rule in altering.values():
        docroot.diagnostics.append(diagnose("server-rule-altered", rule.location, rule=rule.text))


def _unrepeated(rules: ServerRules, path: str) -> Iterator[ServerRule]:
    """Yield the rules that change fields of a file's answers, and that nothing repeats for copies."""
    return (rule for rule in rules.altering(path) if not (rule.is_removal or rule.repetition))


def load_file(
    tree: Tree, path: str, selection: Selection, types: Mapping[str, str], rules: ServerRules
) -> Resource | None:
    """Return the resource of a plain file; ``None`` for what only a walk can judge.

    These are links, special files, what is no content, files that others may not read, and those that ``rules`` cover.
    Raises ``OSError`` and ``ChangedWhileRead``.
    """
    if tree.real_path(path) != path or rules.rule_for(path) is not None:
        return None
    entry = tree.status(path)
    if entry.kind != "file" or entry.is_unreadable:
        return None
    if not selection.is_included(path):
        places = list(with_ancestors(path))[1:]
        if not (entry.is_open and all(tree.status(place).is_open for place in places)):
            return None
        if path not in types and reason_to_leave_out(tree, path, entry) is not None:
            return None
    media_type = types.get(path) or media.by_name(path)
    media_type = media_type or media.by_content(tree.read_start(path, media.SNIFF_BYTES)) or media.BINARY
    return Resource(path, entry.size, entry.mtime_ns, entry.inode, media_type, None, entry.is_executable)


def is_same_file(resource: Resource, entry: Entry) -> bool:
    """Whether a file is as it was, as far as ``lstat`` can tell."""
    now = (entry.size, entry.mtime_ns, entry.inode, entry.is_executable)
    return now == (resource.size, resource.mtime_ns, resource.inode, resource.is_executable)


def selection_of(config: Config) -> Selection:
    """Return which files of the docroot are part of the site."""
    return Selection(config.site.exclude, config.site.include_hidden, config.site.include)


def load_site(config: Config) -> tuple[Tree, Site]:
    """Return the docroot and the files in it, unread. Raises ``UsageError`` when there is no such directory."""
    if config.docroot is None or not config.docroot.is_dir():
        raise UsageError(f"there is no directory {config.docroot}" if config.docroot else "name the DOCROOT")
    tree = DiskTree(config.docroot)
    selection = selection_of(config)
    rules = server_rules_of(config, tree, config.docroot)
    return tree, site_of(config, load_directory(tree, selection, HostTypes(config.docroot), rules).resources)


def site_of(config: Config, resources: Mapping[str, Resource], linked: Container[str] = frozenset()) -> Site:
    """Return the site of loaded resources, without digests; ``linked`` as in ``Site``."""
    sources, address = ResourceSources(resources, lambda _: ""), SiteAddress(config.site.base_url)
    return Site.of(sources, address, config.site.index, linked=linked)


class _Walk:
    def __init__(
        self,
        tree: Tree,
        selection: Selection,
        types: Mapping[str, str],
        known: Mapping[str, tuple[Resource, str]],
        unchanged: Mapping[str, PlainDirectory],
    ) -> None:
        self.tree, self.types, self.known = tree, types, known
        self.selection, self.excluded, self.unchanged = selection, selection.matcher(), unchanged
        # files that others may not read, by their real paths: the directory that each is reported with
        self.closed: dict[str, str] = {}
        self.read, self.kept = list[str](), list[str]()  # directories
        self.docroot = Docroot()
        # (path, its real path, the real directories that links were followed to, the topmost directory above that
        # others may not search); a list and no recursion, since a tree may be deeper than Python's stack
        self.pending: list[tuple[str, str, tuple[str, ...], str]] = [("", "", (), "")]

    def run(self) -> None:
        while self.pending:
            self._directory(*self.pending.pop())

    def _directory(self, path: str, real: str, links: tuple[str, ...], closed: str) -> None:
        if not closed and path == real and path in self.unchanged:
            self._keep(path)
            return
        self.read.append(path)
        try:
            entries = self.tree.list_directory(real)
        except OSError as error:
            self._report("unreadable-directory", path or ".", reason=error.strerror)
            return
        for entry in entries:
            name = entry.path.rpartition("/")[2]
            place = f"{path}/{name}" if path else name
            if not self._is_excluded(place, entry.path):
                self._entry(place, entry, links, closed)

    def _keep(self, path: str) -> None:
        """Leave out the files of an unchanged directory; those in it are next."""
        self.kept.append(path)
        inner = (f"{path}/{name}" if path else name for name in self.unchanged[path].inner)
        self.pending.extend((place, place, (), "") for place in inner if not self._is_excluded(place))

    def has_just(self, known: KnownFiles) -> bool:
        """Whether the files are just the ``known`` ones, and no mode leaves any out."""
        found, kept = self.docroot.resources, sum(self.unchanged[path].files for path in self.kept)
        is_plain = bool(kept) and not self.closed
        return is_plain and len(found) + kept == len(known) and all(path in known for path in found)

    def _is_excluded(self, *paths: str) -> bool:
        return any(map(self.excluded.fullmatch, set(paths)))

    def _entry(self, place: str, entry: Entry, links: tuple[str, ...], closed: str) -> None:
        if entry.kind in ("directory", "file") and entry.is_unreadable:
            self._report(f"unreadable-{entry.kind}", place, reason=os.strerror(errno.EACCES))
        elif entry.kind == "directory":
            is_open = entry.is_open or self.selection.is_included(place)
            self.pending.append((place, entry.path, links, closed or ("" if is_open else place)))
        elif entry.kind == "file":
            self._note_mode(place, entry, closed)
            self._file(place, entry)
        elif entry.kind == "symlink":
            self._symlink(place, entry, links, closed)
        else:
            self._report("special-file", place, kind=entry.kind)

    def _note_mode(self, place: str, entry: Entry, closed: str) -> None:
        if (closed or not entry.is_open) and not self.selection.is_included(place):
            self.closed[entry.path] = closed or entry.path.rpartition("/")[0] or "."

    def _symlink(self, place: str, entry: Entry, links: tuple[str, ...], closed: str) -> None:
        try:
            real = self.tree.real_path(entry.path)
            target = self.tree.status(entry.path)
        except OSError as error:
            kind = _LINK_PROBLEMS.get(error.errno or 0, "unreadable-file")
            self._report(kind, place, target=entry.link, reason=error.strerror)
            return
        if real is None or self._is_excluded(*with_ancestors(real)):
            self._report("symlink-outside", place, target=entry.link)
        elif target.kind in ("directory", "file") and target.is_unreadable:
            self._report(f"unreadable-{target.kind}", place, reason=os.strerror(errno.EACCES))
        elif target.kind == "directory":
            self._linked_directory(place, entry.path, real, links, closed)
        elif target.kind == "file":
            self._file(place, target._replace(path=real))
        else:
            self._report("special-file", place, kind=target.kind)

    def _linked_directory(self, place: str, link: str, real: str, links: tuple[str, ...], closed: str) -> None:
        if not real or any(_contains(real, seen) for seen in (place, link, *links)):
            self._report("symlink-loop", place)
        else:
            self.pending.append((place, real, (*links, real), closed))

    def _file(self, place: str, entry: Entry) -> None:
        known, _ = self.known.get(place, (None, ""))
        is_known = known is not None and is_same_file(known, entry)
        media_type = self.types.get(place) or media.by_name(place)
        try:
            is_named = place in self.types or self.selection.is_included(place)
            reason = None if is_named else reason_to_leave_out(self.tree, place, entry, is_known=is_known)
            if media_type is None and known is not None and is_known:
                media_type = known.media_type
            elif media_type is None:
                media_type = media.by_content(self.tree.read_start(entry.path, media.SNIFF_BYTES)) or media.BINARY
        except ChangedWhileRead:
            self._report("changed-while-read", place)
            return
        except OSError as error:
            self._report("unreadable-file", place, reason=error.strerror)
            return
        if reason is not None:
            self.docroot.withheld.append(place)
            self._report(reason[0], place, kind=reason[1])
            return
        alias_of = entry.path if entry.path != place else None
        if known is not None and is_known and (known.media_type, known.alias_of) == (media_type, alias_of):
            resource = known  # a million of them, and of their paths, take 320 MB
        else:
            status = (entry.size, entry.mtime_ns, entry.inode)
            resource = Resource(place, *status, media_type, alias_of, entry.is_executable)
        self.docroot.resources[resource.path] = resource

    def _report(self, kind: str, place: str, /, **fields: object) -> None:
        self.docroot.diagnostics.append(diagnose(kind, Location(place), **fields))


def _contains(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(outer + "/")


def _case_collisions(resources: Mapping[str, Resource]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each path that differs from one before it by case; only those with capitals are noted."""
    alike: dict[str, list[str]] = defaultdict(list)
    for path in resources:
        folded = path.casefold()
        if folded != path:
            alike[folded].append(path)
    for folded, paths in alike.items():
        first, *others = sorted([*paths, folded] if folded in resources else paths)
        yield from (diagnose("case-collision", Location(path), other=first) for path in others)


# ---- files that are no content by their names: copies would show what servers do not send as it is


def reason_to_leave_out(tree: Tree, path: str, entry: Entry, *, is_known: bool = False) -> tuple[str, str] | None:
    """Return the diagnostic, and its kind of file, of what is no content; ``None`` for the rest. Raises ``OSError``.

    Its name says it, at ``path`` or where a link leads, or its first two bytes: a file that is executable and begins
    with ``#!`` is run by servers; scripts for downloading are not executable. A page that ``is_known`` is as it was
    when it was no program; of other files earlier versions did not ask.
    """
    for name in dict.fromkeys((path, entry.path)):
        if (language := media.program_by_name(name)) is not None:
            return "server-program", language
        if (kind := media.private_by_name(name)) is not None:
            return "private-name", kind
    if is_known and media.by_name(entry.path) in media.PAGES:
        return None
    if entry.mode & _EXECUTABLE and tree.read_start(entry.path, 2) == b"#!":
        return "server-program", "CGI"
    return None


_EXECUTABLE = 0o111  # by anybody


# ---- files that other users may not read


def _closed_by_mode(docroot: Docroot, closed: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a docroot that others may not read, and the directory that each is reported with.

    ``closed`` has the files, by their real paths, that are closed themselves or lie in a closed directory. The measure
    is the docroot itself: where no file is open to everybody, as in a checkout under umask 077, modes say nothing.
    """
    places = {path: closed.get(resource.alias_of or path) for path, resource in docroot.resources.items()}
    if all(places.values()):
        return {}
    return {path: place for path, place in places.items() if place is not None}


class PlainDirectory(NamedTuple):
    """A directory of files and directories that everybody may read, and nothing else.

    ``digest`` is that of what ``lstat`` reports, ``files`` the number of its files, ``inner`` the names of the
    directories in it, in order.
    """

    digest: str
    files: int
    inner: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocrootScan:
    """The digest of a docroot, the times of its files in ns since 1970, and its plain directories by path."""

    digest: str
    times: array[int]
    plain: dict[str, PlainDirectory] = field(default_factory=dict)


def scan_directory(root: str, selection: Selection, processes: int = 1) -> DocrootScan | None:
    """Scan the files of ``root`` that ``selection`` has, and hidden ones next to them; ``None`` if some are unreadable.

    Of a symbolic link it is the identity of its target that counts, too. Where there may be two ``processes``, the
    second scans half of a large docroot, unless there are threads: in a fork nobody would release what those hold.
    """
    scan, pending = _Scan(root, selection), [""]
    try:
        scan.run(pending, _ALONE if processes > 1 and threading.active_count() == 1 else math.inf)
        if len(pending) > 1:
            scan.run_with_process(pending)
        else:
            scan.run(pending)
    except OSError:
        return None
    digest = digest_parts(*chain.from_iterable(sorted(scan.digests.items())))
    return DocrootScan(digest, scan.times, scan.plain)


class _Scan:
    """What is found in directories, those of another process among them, in whichever order."""

    def __init__(self, root: str, selection: Selection) -> None:
        self._root, self._excluded = root, selection.matcher()
        self.digests, self.times, self.plain = dict[str, str](), array("q"), dict[str, PlainDirectory]()

    def run(self, pending: list[str], most: float = math.inf) -> None:
        """Scan the ``pending`` directories and those in them; leave the rest after ``most`` files."""
        while pending and len(self.times) < most:
            directory = pending.pop(0 if most < math.inf else -1)  # level by level gives parts of like sizes
            scanned, is_plain = _scan_directory(f"{self._root}/{directory}" if directory else self._root, self.times)
            self.digests[directory] = scanned.digest
            if is_plain:
                self.plain[directory] = scanned
            places = (f"{directory}/{name}" if directory else name for name in scanned.inner)
            pending.extend(place for place in places if not self._excluded.fullmatch(place))

    def run_with_process(self, pending: list[str]) -> None:
        """Scan likewise, every second directory in a fork of this process, or here if that fails."""
        theirs, mine = pending[::2], pending[1::2]
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            failed = 1
            try:
                os.close(reading)  # else it would wait for a build that was killed, and hold its lock
                self.digests, self.times, self.plain = {}, array("q"), {}
                self.run(theirs)
                with open(writing, "wb") as pipe:
                    pipe.write(pickle.dumps((self.digests, self.times, self.plain)))
                failed = 0
            finally:
                os._exit(failed)
        os.close(writing)
        try:
            with open(reading, "rb") as pipe:
                self.run(mine)
                content = pipe.read()
        finally:
            _, status = os.waitpid(process, 0)
        if status:
            return self.run(theirs)
        digests, times, plain = pickle.loads(content)
        self.digests.update(digests)
        self.times.extend(times)
        self.plain.update(plain)
        return None


def _scan_directory(path: str, times: array[int]) -> tuple[PlainDirectory, bool]:
    """Add the files of a directory to ``times``; return it, and whether it is plain. Raises ``OSError``."""
    with open_directory(path) as descriptor, os.scandir(descriptor) as entries:
        found = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
        inner, values, is_plain = [], array("Q"), True
        for name, status in found:
            mode = status.st_mode
            is_plain = is_plain and bool(mode & _OPEN.get(stat.S_IFMT(mode), 0))
            if stat.S_ISDIR(mode):
                inner.append(name)
                values.append(mode)
                continue
            times.append(status.st_mtime_ns)
            values.extend((mode, status.st_size, status.st_mtime_ns & _MASK, status.st_ino))
            if stat.S_ISLNK(mode):
                values.extend(_target(name, descriptor))
    content = os.fsencode("/".join(name for name, _ in found)) + b"//" + values.tobytes()
    return PlainDirectory(digest_bytes(content), len(found) - len(inner), tuple(inner)), is_plain


# A fork takes as long as so many files
_ALONE = 4_000
# The bits by which everybody may read a file, or search a directory
_OPEN = {stat.S_IFREG: stat.S_IROTH, stat.S_IFDIR: stat.S_IXOTH}
_MASK = (1 << 64) - 1  # a time before 1970 is negative


def _target(name: str, descriptor: int) -> tuple[int, ...]:
    try:
        status = os.stat(name, dir_fd=descriptor)
    except OSError as error:
        return (error.errno or 0,)
    return (status.st_mode, status.st_size, status.st_mtime_ns & _MASK, status.st_dev & _MASK, status.st_ino)
