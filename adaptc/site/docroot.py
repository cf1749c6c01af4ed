"""A docroot: every file in it that a server would publish, with its media type, and diagnostics about the rest."""

from __future__ import annotations

import errno
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.fs import ChangedWhileRead, DiskTree, Entry, Tree
from adaptc.core.model import Resource
from adaptc.core.urls import SiteAddress
from adaptc.site.apache_configuration import server_rules_of
from adaptc.site.crawled import types_of
from adaptc.site.docroot_digest import PlainDirectory
from adaptc.site.selection import Selection, with_ancestors
from adaptc.site.server_rules import ServerRule, ServerRules
from adaptc.site.site import Site
from adaptc.site.source_table import ResourceSources

_LINK_PROBLEMS = {errno.ELOOP: "symlink-loop", errno.ENOENT: "symlink-broken", errno.ENOTDIR: "symlink-broken"}


@dataclass(slots=True)
class Docroot:
    """A loaded docroot: resources by path, in order of their paths, and the diagnostics of loading.

    ``bypassing`` are the files that are left out since copies of them would bypass rules of the server.
    """

    resources: dict[str, Resource] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    bypassing: list[str] = field(default_factory=list)

    def unbuilt(self) -> tuple[str, ...]:
        """Return the ``bypassing`` files, each as the topmost directory in which nothing is built."""
        if not self.bypassing:
            return ()
        built = {directory for path in self.resources for directory in with_ancestors(path)}
        return tuple(dict.fromkeys(_topmost_outside(path, built) for path in self.bypassing))


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
    all files are, and those are not read themselves where each file is a known one.

    Symbolic links that stay inside are followed once: their targets become aliases. Links that leave, are
    broken or loop, special files, programs, files that ``rules`` cover and what cannot be read are left out with a
    diagnostic.
    """
    walk = _Walk(tree, (selection or Selection()).matcher(), types or {}, known or {}, unchanged or {})
    walk.run()
    docroot = walk.docroot
    docroot.resources = {path: docroot.resources[path] for path in sorted(docroot.resources)}
    _leave_out(docroot, rules or ServerRules(tree))
    docroot.diagnostics.extend(_case_collisions(docroot.resources))
    return docroot


def _leave_out(docroot: Docroot, rules: ServerRules) -> None:
    """Remove the files that rules of the server apply to, and report each rule with the number of its files."""
    counts: dict[ServerRule, int] = {}
    for path, resource in docroot.resources.items():
        rule = rules.rule_for(path) or (rules.rule_for(resource.alias_of) if resource.alias_of else None)
        if rule is not None:
            counts[rule] = counts.get(rule, 0) + 1
            docroot.bypassing.append(path)
    for path in docroot.bypassing:
        del docroot.resources[path]
    for rule, count in counts.items():
        docroot.diagnostics.append(diagnose("server-rule", rule.location, rule=rule.text, count=count))


def load_file(tree: Tree, path: str, types: Mapping[str, str], rules: ServerRules) -> Resource | None:
    """Return the resource of a plain file; ``None`` for what only a walk can judge.

    These are links, special files, programs, and files that ``rules`` cover. Raises ``OSError`` and
    ``ChangedWhileRead``.
    """
    if tree.real_path(path) != path or rules.rule_for(path) is not None:
        return None
    entry = tree.status(path)
    if entry.kind != "file" or entry.is_unreadable or (path not in types and program_kind(tree, entry) is not None):
        return None
    media_type = types.get(path) or media.by_name(path)
    media_type = media_type or media.by_content(tree.read_start(path, media.SNIFF_BYTES)) or media.BINARY
    return Resource(path, entry.size, entry.mtime_ns, entry.inode, media_type, None, entry.is_executable)


def is_same_file(resource: Resource, entry: Entry) -> bool:
    """Whether a file is as it was, as far as ``lstat`` can tell."""
    now = (entry.size, entry.mtime_ns, entry.inode, entry.is_executable)
    return now == (resource.size, resource.mtime_ns, resource.inode, resource.is_executable)


def load_site(config: Config) -> tuple[Tree, Site]:
    """Return the docroot and the files in it, unread. Raises ``UsageError`` when there is no such directory."""
    if config.docroot is None or not config.docroot.is_dir():
        raise UsageError(f"there is no directory {config.docroot}" if config.docroot else "name the DOCROOT")
    tree = DiskTree(config.docroot)
    selection = Selection(config.site.exclude, config.site.include_hidden)
    rules = server_rules_of(config, tree, config.docroot)
    return tree, site_of(config, load_directory(tree, selection, types_of(config.docroot), rules).resources)


def site_of(config: Config, resources: Mapping[str, Resource]) -> Site:
    """Return the site of loaded resources, without digests."""
    return Site.of(ResourceSources(resources, lambda _: ""), SiteAddress(config.site.base_url), config.site.index)


class _Walk:
    def __init__(
        self,
        tree: Tree,
        excluded: re.Pattern[str],
        types: Mapping[str, str],
        known: Mapping[str, tuple[Resource, str]],
        unchanged: Mapping[str, PlainDirectory],
    ) -> None:
        self.tree, self.types, self.known = tree, types, known
        self.excluded, self.unchanged = excluded, unchanged
        self.kept = _by_directory(known, unchanged)
        self.docroot = Docroot()
        # (path, its real path, the real directories that links were followed to); a list and no recursion, since a
        # tree may be deeper than Python's stack
        self.pending: list[tuple[str, str, tuple[str, ...]]] = [("", "", ())]

    def run(self) -> None:
        while self.pending:
            self._directory(*self.pending.pop())

    def _directory(self, path: str, real: str, links: tuple[str, ...]) -> None:
        if path == real and path in self.unchanged and len(self.kept[path]) == self.unchanged[path].files:
            self._keep(path)
            return
        try:
            entries = self.tree.list_directory(real)
        except OSError as error:
            self._report("unreadable-directory", path or ".", reason=error.strerror)
            return
        for entry in entries:
            name = entry.path.rpartition("/")[2]
            place = f"{path}/{name}" if path else name
            if not self._is_excluded(place, entry.path):
                self._entry(place, entry, links)

    def _keep(self, path: str) -> None:
        """Take over the files of an unchanged directory; those in it are next."""
        self.docroot.resources.update((resource.path, resource) for resource in self.kept[path])
        inner = (f"{path}/{name}" if path else name for name in self.unchanged[path].inner)
        self.pending.extend((place, place, ()) for place in inner if not self._is_excluded(place))

    def _is_excluded(self, *paths: str) -> bool:
        return any(map(self.excluded.fullmatch, set(paths)))

    def _entry(self, place: str, entry: Entry, links: tuple[str, ...]) -> None:
        if entry.kind in ("directory", "file") and entry.is_unreadable:
            self._report(f"unreadable-{entry.kind}", place, reason=os.strerror(errno.EACCES))
        elif entry.kind == "directory":
            self.pending.append((place, entry.path, links))
        elif entry.kind == "file":
            self._file(place, entry)
        elif entry.kind == "symlink":
            self._symlink(place, entry, links)
        else:
            self._report("special-file", place, kind=entry.kind)

    def _symlink(self, place: str, entry: Entry, links: tuple[str, ...]) -> None:
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
            self._linked_directory(place, entry.path, real, links)
        elif target.kind == "file":
            self._file(place, target._replace(path=real))
        else:
            self._report("special-file", place, kind=target.kind)

    def _linked_directory(self, place: str, link: str, real: str, links: tuple[str, ...]) -> None:
        if not real or any(_contains(real, seen) for seen in (place, link, *links)):
            self._report("symlink-loop", place)
        else:
            self.pending.append((place, real, (*links, real)))

    def _file(self, place: str, entry: Entry) -> None:
        known, _ = self.known.get(place, (None, ""))
        is_known = known is not None and is_same_file(known, entry)
        media_type = self.types.get(place) or media.by_name(place)
        try:
            program = program_kind(self.tree, entry, is_known=is_known) if place not in self.types else None
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
        if program is not None:
            self._report("server-program", place, kind=program)
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


def _by_directory(
    known: Mapping[str, tuple[Resource, str]], directories: Iterable[str]
) -> Mapping[str, Sequence[Resource]]:
    """Return the known files of each of ``directories``, without links."""
    found: dict[str, list[Resource]] = {directory: [] for directory in directories}
    for path, (resource, _) in known.items() if found else ():
        directory = path.rpartition("/")[0]
        if directory in found and resource.alias_of is None:
            found[directory].append(resource)
    return found


def _contains(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(outer + "/")


def _case_collisions(resources: dict[str, Resource]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each path that differs from one before it by case; only those with capitals are noted."""
    alike: dict[str, list[str]] = defaultdict(list)
    for path in resources:
        folded = path.casefold()
        if folded != path:
            alike[folded].append(path)
    for folded, paths in alike.items():
        first, *others = sorted([*paths, folded] if folded in resources else paths)
        yield from (diagnose("case-collision", Location(path), other=first) for path in others)


# ---- files that servers run or complete before they send them: copies would show their source

_LANGUAGES = {
    "PHP": ("php", "php3", "php4", "php5", "php7", "php8", "phtml", "phps", "phar"),
    "ASP": ("asp", "aspx", "ascx", "ashx", "asmx", "cshtml"),
    "JSP": ("jsp", "jspx", "jsf"),
    "ColdFusion": ("cfm", "cfml"),
    "CGI": ("cgi", "fcgi"),
    "server-side includes": ("shtml", "shtm", "stm"),
}
_BY_EXTENSION = {extension: language for language, names in _LANGUAGES.items() for extension in names}
_CGI_DIRECTORIES = ("cgi-bin", "fcgi-bin")


def program_kind(tree: Tree, entry: Entry, *, is_known: bool = False) -> str | None:
    """Return what kind of program a file is, ``None`` for a file that is sent as it is. Raises ``OSError``.

    The last extension decides, and the directory. A page that is executable and begins with ``#!`` is a program, too;
    scripts for downloading are not. One that ``is_known`` is as it was when it was no program.
    """
    *directories, name = entry.path.split("/")
    kind = _BY_EXTENSION.get(name.rpartition(".")[2].lower()) if "." in name else None
    if kind is None and not set(directories).isdisjoint(_CGI_DIRECTORIES):
        kind = "CGI"
    if kind is None and not is_known and entry.is_executable and media.by_name(entry.path) in (media.HTML, media.XHTML):
        kind = "CGI" if tree.read_start(entry.path, 2) == b"#!" else None
    return kind
