"""Content-Security-Policies of an export: the hashes of what pages hold go into the site's own file for the host.

A build with ``site.csp_hashes`` writes styles and scripts into pages as if the policies in these files allowed them.
What a page of the site holds and its policy forbids stays forbidden. The policy is a value of each format as it is
written there, so that replacing it needs no reader of the format.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.compile.engine.cache.store import Store
from adaptc.config.config import Config
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import IDENTITY
from adaptc.formats.html.document import Irreversible, parse_bare, read_page
from adaptc.formats.policy import Policy, allowing, text_hashes
from adaptc.formats.script import is_javascript_type, is_module_type
from adaptc.site.header_rules import CSP, HostRules
from adaptc.site.host_files import host_rules
from adaptc.workflow.export.destination import Item
from adaptc.workflow.export.items import Layout

if TYPE_CHECKING:
    from turbohtml import Element

# Characters of a line of ``_headers`` that Cloudflare Pages takes
_LONGEST = 2000
_ALGORITHM = "sha256-"

Wanted = Mapping[tuple[str, str], Mapping[str, set[str]]]
"""Hashes by the kind of element, for each policy as the named file has it."""


def with_hashes(
    config: Config, docroot: Path, items: list[Item], store: Store, layout: Layout
) -> tuple[list[Item], list[Diagnostic]]:
    """Return the items with files for hosts whose policies allow what is in the pages."""
    files = {item.path: item for item in items if not item.is_page}
    hosts = host_rules(config, docroot, [item.path for item in items], is_exported=False)
    wanted: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for page in (item for item in items if item.is_page):
        for (file, policy), kind, digest in _needed(page, docroot / page.path, hosts):
            if file in files:
                wanted[file, policy][kind].add(digest)
    changed, diagnostics = {}, []
    for name in dict.fromkeys(file for file, _ in wanted):
        text, problems = _extended(name, files[name].plain[1].read_bytes().decode("utf-8", "surrogateescape"), wanted)
        content = store.object_path(store.put(text.encode("utf-8", "surrogateescape")))
        changed[name] = Item(name, (layout.name(name, IDENTITY), Path(content)), (), origin=None, is_page=False)
        diagnostics += problems
    return [changed.get(item.path, item) for item in items], diagnostics


def _needed(page: Item, source: Path, hosts: HostRules) -> Iterator[tuple[tuple[str, str], str, str]]:
    """Yield the hashes of what a page has more than its source and its policies forbid, with policy and kind."""
    policies = list(hosts.found(page.path, CSP))
    known = {(element.tag, element.text) for element in _elements(source)} if policies and source.is_file() else set()
    for element in _elements(page.plain[1]) if policies else ():
        kind, text, nonce = element.tag, element.text, element.attr("nonce")
        for file, value in policies if (kind, text) not in known else ():
            policy = Policy.of((value,))
            is_allowed = policy.allows_style(text, nonce) if kind == "style" else policy.allows_script(text, nonce)
            if not is_allowed:
                yield (file, value), kind, next(each for each in text_hashes(text) if each.startswith(_ALGORITHM))


def _elements(file: Path) -> Iterator[Element]:
    """Yield the style elements of a page, and its scripts without a file."""
    try:
        tree = parse_bare(read_page(file.read_bytes()).text)
    except Irreversible:
        return
    for element in tree.iter_elements(("style", "script")):
        language = element.attr("type")
        is_code = is_javascript_type(language, element.attr("language")) or is_module_type(language)
        if element.tag == "style" or ("src" not in element.attrs and is_code):
            yield element


def _extended(name: str, text: str, wanted: Wanted) -> tuple[str, list[Diagnostic]]:
    """Return the text of a host's file with the hashes in its policies, and what went wrong."""
    problems = []
    for policy in (policy for file, policy in wanted if file == name):
        longer = policy
        for kind, hashes in sorted(wanted[name, policy].items()):
            longer = allowing(longer, kind, hashes)
        if policy not in text:
            problems.append(diagnose("export-policy", Location(name), reason="it is not written there in one piece"))
        elif name == "_headers" and len(longer) > _LONGEST:
            reason = f"with them it has {len(longer):,} characters, {_LONGEST:,} at most are taken"
            problems.append(diagnose("export-policy", Location(name), reason=reason))
        else:
            text = text.replace(policy, longer)
    return text, problems
