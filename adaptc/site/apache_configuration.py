"""The rules in Apache's own configuration that copies of a docroot's files would bypass.

These are the directives of ``<Directory>`` sections at or below the docroot, and what hides a part of it from the
server: ``Alias``, ``ScriptAlias`` and ``Redirect``, which come after adaptc's rules. ``<Location>`` sections apply to
copies as they do to originals.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import DiskTree, Tree
from adaptc.core.values import dataclass, replace
from adaptc.formats.directives import Directive, Section, directives_with_includes, pattern_of
from adaptc.site.server_rules import (
    ACCESS_FILE,
    ServerRule,
    ServerRules,
    always,
    below_directory,
    directories_above,
    rules_in,
    rules_of,
    unreadable,
)

_DIRECTORIES = ("directory", "directorymatch")
_PLACES = ("virtualhost", "directory")
_LOCATIONS = ("location", "locationmatch")
_ALIASES = ("alias", "scriptalias")
# What <Directory> sections have in addition to .htaccess files and is harmless, and options that run programs
_OF_SERVERS = ("allowoverride", "allowoverridelist", "loglevel", "define", "undefine", "error", "use")
_PROGRAMS = frozenset({"all", "+all", "execcgi", "+execcgi", "includes", "+includes"})


def server_rules_of(config: Config, tree: Tree, docroot: Path) -> ServerRules:
    """Return the rules of a docroot's server. Raises ``UsageError`` when there is no file ``site.server_config``."""
    file, prefix = config.site.server_config, config.url_prefix
    if file is not None and not file.is_file():
        raise UsageError(f"site.server_config: there is no file {file}")
    directives = expanded(list(directives_with_includes(file))) if file is not None else []
    configured = tuple(configured_rules(directives, docroot, prefix))
    above = tuple(rules_above(docroot, directives, prefix))
    return ServerRules(tree, config.site.ignore_directives, prefix, (*above, *configured), access_names(directives))


def repeated_directives(
    config: Config, docroot: Path, directories: Iterable[str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return lines of Apache that do for copies what .htaccess files do for originals, by directory, outer ones first.

    ``directories`` have files in the trees.
    """
    if not docroot.is_dir():
        return ()
    rules = server_rules_of(config, DiskTree(docroot), docroot)
    found = {rule: None for directory in sorted(directories) for rule in rules.altering(f"{directory}/-".lstrip("/"))}
    lines: dict[str, tuple[str, ...]] = {}
    for rule in sorted(found, key=lambda rule: rule.directory.count("/") + bool(rule.directory)):
        if rule.repetition:
            lines[rule.directory] = (*lines.get(rule.directory, ()), *rule.repetition)
    return tuple(lines.items())


def access_names(directives: Sequence[Directive]) -> tuple[str, ...]:
    """Return the names of access files: the usual one, and those that the server's configuration says."""
    named = (name for line in directives if line.name == "accessfilename" for name in line.args)
    return tuple(dict.fromkeys((ACCESS_FILE, *(name for name in named if "/" not in name))))


def access_files_above(docroot: Path, names: Sequence[str] = (ACCESS_FILE,)) -> Iterator[Path]:
    """Yield the access files in the directories above a docroot, the topmost first."""
    real = Path(os.path.realpath(docroot))
    for folder in dict.fromkeys((*reversed(Path(os.path.abspath(docroot)).parents), *reversed(real.parents))):
        yield from (folder / name for name in names if os.path.lexists(folder / name))


def rules_above(docroot: Path, directives: Sequence[Directive], prefix: str) -> Iterator[ServerRule]:
    """Yield the rules of access files above a docroot, unless the server's configuration ignores them there.

    Rewrite rules see another part of the path there: those that apply to some files may apply to all.
    """
    for file in access_files_above(docroot, access_names(directives)):
        if _are_ignored_in(file.parent, directives):
            continue
        try:
            content = file.read_bytes()
        except OSError:
            yield unreadable(os.fspath(file), "")
            continue
        for rule in rules_in(content, os.fspath(file), "", prefix):
            yield replace(rule, applies=always) if rule.directive.name == "rewriterule" else rule


def _are_ignored_in(folder: Path, directives: Sequence[Directive]) -> bool:
    """Whether every ``AllowOverride`` for a directory, and one at least, says "None"."""
    values = [
        [arg.lower() for arg in line.args]
        for line in directives
        if line.name in ("allowoverride", "allowoverridelist")
        and any(_is_at_or_above(section, folder) for section in line.within)
    ]
    return bool(values) and all(value == ["none"] for value in values)


def _is_at_or_above(section: Section, folder: Path) -> bool:
    if section.name not in _DIRECTORIES or not section.args:
        return False
    is_pattern = section.name == "directorymatch" or re.search(r"[*?\[$~]", section.args[-1]) is not None
    return is_pattern or below_directory(section.args[-1].strip("/"), os.fspath(folder).strip("/")) is not None


# ---- variables and macros (core, mod_macro)


def expanded(directives: Sequence[Directive]) -> list[Directive]:
    """Return directives with the values of ``Define``, and those of macros in the place of each ``Use``.

    Variables of the environment stay as they are written.
    """
    known = {line.args[0]: line.args[1] for line in directives if line.name == "define" and len(line.args) == 2}
    macros: dict[str, list[Directive]] = {}
    for line in directives:
        macro = next((section for section in line.within if section.name == "macro"), None)
        if macro is not None and macro.args:
            macros.setdefault(macro.args[0].lower(), []).append(line)
    return [_resolved(line, known) for line in _with_macros(directives, macros, 0)]


def _with_macros(
    directives: Sequence[Directive], macros: Mapping[str, list[Directive]], depth: int
) -> Iterator[Directive]:
    for line in directives:
        if line.name == "use" and line.args and depth < _DEEPEST:
            inner = macros.get(line.args[0].lower(), ())
            used = [_used(each, line.args[1:], line) for each in inner]
            yield from _with_macros(used, macros, depth + 1)
        elif all(section.name != "macro" for section in line.within):
            yield line


_DEEPEST = 20
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def _used(directive: Directive, arguments: Sequence[str], use: Directive) -> Directive:
    """Return a directive of a macro with values for its parameters, in the place of a ``Use``."""
    place = next(place for place, section in enumerate(directive.within) if section.name == "macro")
    names = directive.within[place].args[1:]
    values = dict(sorted(zip(names, arguments, strict=False), key=lambda pair: -len(pair[0])))

    def filled(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(_replaced(text, values) for text in texts)

    within = tuple(
        # sections of each use are sections of their own
        Section(section.name, filled(section.args), section.line + 1_000_000 * use.line)
        for section in directive.within[place + 1 :]
    )
    return replace(directive, args=filled(directive.args), within=use.within + within)


def _replaced(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _resolved(directive: Directive, known: Mapping[str, str]) -> Directive:
    def resolved(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(_VARIABLE.sub(lambda match: known.get(match[1], match[0]), text) for text in texts)

    within = tuple(replace(section, args=resolved(section.args)) for section in directive.within)
    return replace(directive, args=resolved(directive.args), within=within)


def configured_rules(directives: Sequence[Directive], docroot: Path, prefix: str) -> Iterator[ServerRule]:
    """Yield the rules for a docroot among the directives of the server's configuration, sections in their order.

    Virtual hosts with another ``DocumentRoot`` do not count.
    """
    site = _Docroot((os.path.abspath(docroot), os.path.realpath(docroot)), prefix)
    directives = expanded(directives)
    hosts = _hosts(directives, site)
    sections: dict[Section, list[Directive]] = {}
    for directive in directives:
        names = [section.name for section in directive.within]
        host = next((section for section in directive.within if section.name == "virtualhost"), None)
        if (host is not None and host not in hosts) or not set(names).isdisjoint(_LOCATIONS):
            continue
        section = next((section for section in directive.within if section.name in _DIRECTORIES), None)
        if section is not None:
            sections.setdefault(section, []).append(directive)
        else:
            yield from site.url_rules(directive)
    for section, inner in sections.items():
        yield from site.directory_rules(section, inner)


@dataclass(frozen=True, slots=True)
class _Docroot:
    """A docroot, by its path as written and its real path, and its URL path."""

    roots: tuple[str, str]
    prefix: str

    def url_rules(self, directive: Directive) -> Iterator[ServerRule]:
        """Yield what hides a part of the docroot by its URL."""
        if directive.name in _ALIASES and len(directive.args) == 2:
            url, target = (arg.rstrip("/") for arg in directive.args)
            below = below_directory(self.prefix.strip("/"), url.strip("/"))
            if below and target not in {f"{root}/{below}" for root in self.roots}:
                yield ServerRule(directive, below, always)
        elif directive.name.startswith("redirect"):
            yield from self._rules([directive], "")

    def directory_rules(self, section: Section, directives: Sequence[Directive]) -> Iterator[ServerRule]:
        """Yield the rules of a ``<Directory>`` or ``<DirectoryMatch>`` section."""
        if not section.args:
            return
        path = section.args[-1].rstrip("/")
        pattern = _pattern(section)
        if pattern is not None:
            for rule in self._rules(directives, ""):
                # which part of a path a rewrite rule sees depends on the directory
                applies = always if rule.directive.name == "rewriterule" else rule.applies
                yield replace(rule, applies=self._both(pattern, applies))
            return
        for root in dict.fromkeys(self.roots):
            below = below_directory(root, path)
            if below is not None:
                for rule in self._rules(directives, below):
                    within = tuple(each for each in rule.directive.within if each.name not in _PLACES)
                    yield replace(rule, directive=replace(rule.directive, within=within))

    def _rules(self, directives: Sequence[Directive], directory: str) -> Iterator[ServerRule]:
        """Yield the rules of directives that the server has accepted: what is not known restricts its sections."""
        for rule in rules_of(directives, directory, self.prefix):
            if rule.directive.name == "options" and not _PROGRAMS & {arg.lower() for arg in rule.directive.args}:
                yield replace(rule, applies=self._is_link, is_unknown=False)
            elif rule.directive.name not in _OF_SERVERS:
                yield replace(rule, is_unknown=False)

    def _is_link(self, path: str) -> bool:
        """Whether links lead to a file, which the server may not follow."""
        return os.path.realpath(f"{self.roots[0]}/{path}") != f"{self.roots[1]}/{path}"

    def _both(self, pattern: re.Pattern[bytes], applies: Callable[[str], bool]) -> Callable[[str], bool]:
        return lambda path: (
            applies(path)
            and any(
                pattern.search(os.fsencode(f"{root}/{directory}"))
                for root in self.roots
                for directory in directories_above(path)
            )
        )


def _pattern(section: Section) -> re.Pattern[bytes] | None:
    """Return the pattern of directories that a section has, ``None`` where it names one."""
    path = section.args[-1].rstrip("/")
    if section.name == "directorymatch" or section.args[0] == "~":
        return pattern_of(section.args[-1]) or re.compile(b"")
    if re.search(r"\$\{|[\\\[]", path):  # a variable, and wildcards that Python reads otherwise
        return re.compile(b"")
    return re.compile(os.fsencode(fnmatch.translate(path))) if re.search(r"[*?]", path) else None


def _hosts(directives: Sequence[Directive], site: _Docroot) -> set[Section]:
    """Return the virtual hosts that serve the docroot."""
    hosts = set()
    for directive in directives:
        if directive.name == "documentroot" and directive.args and directive.within:
            root = directive.args[0].rstrip("/")
            if any(below_directory(root, own) is not None for own in site.roots):
                hosts.add(directive.within[0])
    return hosts
