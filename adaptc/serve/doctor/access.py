"""Access rules and other directives of Apache that apply to originals, but not to their copies in the trees.

A build leaves such files out (``adaptc.site.server_rules``); here the server itself says which rules it has now.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.fs import DiskTree
from adaptc.formats.directives import Directive, Section
from adaptc.serve.server import Installation
from adaptc.site.server_config import configured_rules
from adaptc.site.server_rules import ServerRule, ServerRules


def bypassed_rules(installation: Installation) -> Iterator[Diagnostic]:
    """Yield each rule that applies to a built file which nothing else protects."""
    policy = installation.policy
    own = [line for line in installation.setup.directives if not installation.is_own(line.file)]
    configured = tuple(configured_rules(own, installation.docroot, policy.prefix))
    rules = ServerRules(DiskTree(installation.docroot), installation.ignored_directives, policy.prefix, configured)
    reported = set[tuple[str, int]]()
    for path in installation.manifest.resources:
        rule = rules.rule_for(path)
        if rule is not None and not _is_protected(installation, f"/{path}"):
            place = _place(installation, rule)
            if (place.path, place.line or 0) not in reported:
                reported.add((place.path, place.line or 0))
                below = f"/{rule.directory}"
                yield diagnose("setup-access", place, rule=rule.text, below=below)


def _place(installation: Installation, rule: ServerRule) -> Location:
    file = os.path.join(installation.docroot, rule.directive.file)
    return Location(file, rule.directive.line)


def _is_protected(installation: Installation, url: str) -> bool:
    """Whether the emitted rules leave a path out, or a ``<Location>`` of the server restricts it."""
    return installation.policy.excludes(url) or any(
        _restricts(directive) and _is_location_of(section, f"{installation.policy.prefix}{url}")
        for directive in installation.setup.directives
        for section in directive.within
    )


def _restricts(directive: Directive) -> bool:
    return directive.name in ("require", "deny", "authtype") and directive.args[-1:] != ("granted",)


def _is_location_of(section: Section, url: str) -> bool:
    if section.name != "location" or not section.args:
        return False
    path = section.args[-1].rstrip("/")
    return url == path or url.startswith(f"{path}/")
