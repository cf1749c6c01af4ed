"""The rules in Apache's own configuration that copies of a docroot's files would bypass.

These are the directives of ``<Directory>`` sections at or below the docroot, and what hides a part of it from the
server: ``Alias``, ``ScriptAlias`` and ``Redirect``, which come after adaptc's rules. ``<Location>`` sections apply to
copies as they do to originals.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adaptc.config.config import Config
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import Tree
from adaptc.formats.directives import Directive, Section, directives_with_includes
from adaptc.site.server_rules import ServerRule, ServerRules, always, below_directory, directories_above, rules_of

_DIRECTORIES = ("directory", "directorymatch")
_LOCATIONS = ("location", "locationmatch")
_ALIASES = ("alias", "scriptalias")


def server_rules_of(config: Config, tree: Tree, docroot: Path) -> ServerRules:
    """Return the rules of a docroot's server. Raises ``UsageError`` when there is no file ``site.server_config``."""
    file, prefix = config.site.server_config, config.url_prefix
    if file is not None and not file.is_file():
        raise UsageError(f"site.server_config: there is no file {file}")
    directives = list(directives_with_includes(file)) if file is not None else []
    configured = tuple(configured_rules(directives, docroot, prefix))
    return ServerRules(tree, config.site.ignore_directives, prefix, configured)


def configured_rules(directives: Sequence[Directive], docroot: Path, prefix: str) -> Iterator[ServerRule]:
    """Yield the rules for a docroot among the directives of the server's configuration, sections in their order.

    Virtual hosts with another ``DocumentRoot`` do not count.
    """
    site = _Docroot((os.path.abspath(docroot), os.path.realpath(docroot)), prefix)
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
            yield from rules_of([directive], "", self.prefix)

    def directory_rules(self, section: Section, directives: Sequence[Directive]) -> Iterator[ServerRule]:
        """Yield the rules of a ``<Directory>`` or ``<DirectoryMatch>`` section."""
        if not section.args:
            return
        path = section.args[-1].rstrip("/")
        pattern = _pattern(section)
        if pattern is not None:
            for rule in rules_of(directives, "", self.prefix):
                # which part of a path a rewrite rule sees depends on the directory
                applies = always if rule.directive.name == "rewriterule" else rule.applies
                yield replace(rule, applies=self._both(pattern, applies))
            return
        for root in dict.fromkeys(self.roots):
            below = below_directory(root, path)
            if below is not None:
                yield from rules_of(directives, below, self.prefix)

    def _both(self, pattern: re.Pattern[str], applies: Callable[[str], bool]) -> Callable[[str], bool]:
        return lambda path: (
            applies(path)
            and any(
                pattern.search(f"{root}/{directory}") for root in self.roots for directory in directories_above(path)
            )
        )


def _pattern(section: Section) -> re.Pattern[str] | None:
    """Return the pattern of directories that a section has, ``None`` where it names one."""
    path = section.args[-1].rstrip("/")
    try:
        if section.name == "directorymatch" or section.args[0] == "~":
            return re.compile(section.args[-1])
    except re.error:
        return re.compile("")
    return re.compile(fnmatch.translate(path)) if re.search(r"[*?\[]", path) else None


def _hosts(directives: Sequence[Directive], site: _Docroot) -> set[Section]:
    """Return the virtual hosts that serve the docroot."""
    hosts = set()
    for directive in directives:
        if directive.name == "documentroot" and directive.args and directive.within:
            root = directive.args[0].rstrip("/")
            if any(below_directory(root, own) is not None for own in site.roots):
                hosts.add(directive.within[0])
    return hosts
