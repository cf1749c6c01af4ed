"""``adaptc export --ladder``: the lower levels next to the exported one, and what picks one of them.

That is a service worker, or with ``--edge`` a script that the host runs for each request.

The site itself is the level of the export, and works without the worker. Pages of the other levels are published as
plain text, so that nobody finds a page twice, and the worker can tell a page from what a host sends in the place of a
missing one. Of the other files it asks at a level those whose names end as those of files that differ there; all of
these are published, so that it asks for none in vain.

``LadderItems`` are the files that ``--ladder`` adds to an export, and those that remove an earlier ladder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decisions import pinned_of
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.state.state import last_build
from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.fs import package_file
from adaptc.core.model import CODINGS, IDENTITY, OWN_DIRECTORY, Effort
from adaptc.core.urls import Reach, SiteAddress, document_base, is_at_or_below, quote_path, relative_url
from adaptc.core.values import dataclass, replace
from adaptc.report.manifest import Manifest
from adaptc.serve.policy import LABELS, PAGES, identifier, shared_fields, title_of
from adaptc.site.header_rules import addresses_of
from adaptc.site.host_files import read_headers, splat_pattern
from adaptc.workflow.api import build_spec
from adaptc.workflow.export.destination import ExportRecord, Item
from adaptc.workflow.export.items import Layout, encoded_again, own_items, site_item

if TYPE_CHECKING:
    from adaptc.formats.html.edit import Editor
    from adaptc.report.manifest import BuiltResource

# The script of pages, which is the service worker as well
SCRIPT = "adaptc-ladder.js"
LEVELS = f"{OWN_DIRECTORY}levels/"
# The script of each host that runs one for each request, where it looks for it. Cloudflare Pages does not run it, nor
# count a request, for what ``_routes.json`` excludes.
EDGES = {
    "cloudflare": "_worker.js",
    "netlify": "netlify/edge-functions/adaptc.js",
    "vercel": "middleware.js",
    "deno": "adaptc-deno.js",
    "cloudfront": "adaptc-cloudfront.js",
}
# Where no script sees the answer before it is chosen: pages of levels are published as pages, and not by their address.
_BLIND = ("cloudfront",)
_MOST_BYTES = 10_240  # of a function of CloudFront
_ROUTES = ("_routes.json", b'{"version":1,"include":["/*"],"exclude":["/_adaptc/*"]}\n')
_PAGES, _PAGE_SUFFIX = ("html", "htm"), ".txt"
# What the worker answers besides pages. Fonts are the same at each level that has them.
_KINDS = frozenset({media.CSS, media.JS, media.SVG, media.PNG, media.JPEG, media.GIF, media.WEBP, media.AVIF})


@dataclass(frozen=True, slots=True)
class Ladder:
    """The levels of an export by class of visitors; ``root`` is that of the site itself, for all others.

    ``names`` are the levels next to the root, highest quality first.
    """

    root: str
    by_class: Mapping[str, str]
    names: tuple[str, ...]


def read_ladder(config: Config, manifest: Manifest, root: str, *, whole: bool = False) -> Ladder:
    """Return the levels of each class: those of ``[serve]``, for poor visitors else the best one that is not the same.

    With ``whole`` all levels go along that are not the same, or those of ``serve.ladder``. Raises ``UsageError`` where
    there is no level for poor visitors, or one that was not built.
    """
    from adaptc.workflow.configuration import known_levels

    serve, known = config.serve, known_levels(config)
    lower = [row for row in manifest.levels if row.name in known and known[row.name].promise != "same"]
    chosen = {
        "poor": serve.poor_level or next((row.name for row in lower if row.number is not None), None),
        "normal": serve.normal_level,
        "rich": serve.rich_level,
    }
    for level in filter(None, chosen.values()):
        manifest.require_level(level)
    by_class = {name: level for name, level in chosen.items() if level is not None and level != root}
    if "poor" not in by_class:
        raise UsageError(
            "--ladder: there is no level for visitors on slow lines; build one (adaptc build --level moderate), "
            "or name it as serve.poor_level"
        )
    names = set(by_class.values())
    if whole:
        names |= {row.name for row in lower if row.name != root and row.name in (serve.ladder or manifest.level_names)}
    return Ladder(root, by_class, tuple(name for name in manifest.level_names if name in names))


# ---- files


@dataclass(frozen=True, slots=True)
class Rung:
    """A file at a level of the ladder: its path in the export, and the path of what it stands for."""

    name: str
    resource: BuiltResource


def rungs(
    manifest: Manifest, ladder: Ladder, level: str, is_left_out: Callable[[str], bool], suffix: str = _PAGE_SUFFIX
) -> Iterator[Rung]:
    """Yield the files of a level that the worker may ask for: pages, and files of the ``kinds`` that differ."""
    kinds = kinds_of(manifest, ladder, level)
    for path, resource in manifest.resources.items():
        if is_left_out(path):
            continue
        if resource.media_type == media.HTML and _extension(path) in _PAGES:
            yield Rung(f"{LEVELS}{level}/{path}{suffix}", resource)
        elif resource.media_type in _KINDS and _extension(path) in kinds:
            yield Rung(f"{LEVELS}{level}/{path}", resource)


def _absent(manifest: Manifest, ladder: Ladder, present: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Return the files by level that a script would ask for in vain, as URLs have them."""
    return {
        level: sorted(
            quote_path(path)
            for path in manifest.resources
            if _extension(path) in {*_PAGES, *kinds_of(manifest, ladder, level)}
            and f"{LEVELS}{level}/{path}" not in present[level]
        )
        for level in ladder.names
    }


def kinds_of(manifest: Manifest, ladder: Ladder, level: str) -> list[str]:
    """Return the extensions of the style sheets, scripts and images of which any differs from the root's."""
    differing = {
        _extension(path)
        for path, resource in manifest.resources.items()
        if resource.media_type in _KINDS and _digest(resource, level) != _digest(resource, ladder.root)
    }
    return sorted(differing - {""})


def _twins(manifest: Manifest) -> list[str]:
    """Return the paths that may be a page without its extension, or a directory: hosts choose one or the other."""
    directories = {os.fspath(parent) for path in manifest.resources for parent in PurePosixPath(path).parents}
    stems = {path.rpartition(".")[0] for path in manifest.resources if _extension(path) in _PAGES}
    return sorted(map(quote_path, stems & directories))


def _digest(resource: BuiltResource, level: str) -> str | None:
    built = resource.at(level)
    return resource.sha256 if built is None else built.sha256


def _extension(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


# ---- the script


def ladder_script(config: Config, manifest: Manifest, ladder: Ladder) -> bytes:
    """Return the script of pages and the service worker, for these levels. Raises ``UsageError`` for wrong settings."""
    from adaptc.config.schema import read_settings
    from adaptc.daemons.classify.settings import CHECKS, ClassifySettings

    rules = read_settings(ClassifySettings, CHECKS, config.daemons.below("classify"))
    settings = _choice(config, manifest, ladder) | {
        "poor": [rules.poor_first, rules.poor_last],
        "rich": [rules.rich_first, rules.rich_last],
        "alpha": rules.alpha,
        "warmUp": rules.warm_up,
        "patience": rules.patience,
        "expire": rules.expire,
    }
    return _script("ladder.js", settings)


def _choice(config: Config, manifest: Manifest, ladder: Ladder) -> dict[str, object]:
    return {
        "levels": dict(ladder.by_class),
        "kinds": {level: kinds_of(manifest, ladder, level) for level in ladder.names},
        "twins": _twins(manifest),
        "index": next(iter(config.site.index), "index.html"),
        "suffix": _PAGE_SUFFIX,
    }


def edge_script(
    config: Config, manifest: Manifest, ladder: Ladder, edge: str, present: Mapping[str, set[str]], name: str
) -> bytes:
    """Return the script that the host ``edge`` runs for each request; ``present`` are the files by level.

    ``name`` is that of the site in labels.
    """
    shared = shared_fields(config.serve.shared_seconds)
    settings = _choice(config, manifest, ladder) | {
        "names": ladder.names,
        "root": f"{quote_path(config.url_prefix)}/",
        "shared": {name.lower(): value for name, value in shared.items()},
        "labels": {name.lower(): separator for name, separator in LABELS.items()} if shared else {},
        "name": name,
        "pages": PAGES,
    }
    if edge in _BLIND:
        absent = _absent(manifest, ladder, present)
        settings |= {"suffix": "", "labels": {}, "absent": absent}
        script = _script(f"edge-{edge}.js", settings)
        if len(script) > _MOST_BYTES:
            named = f"it names {sum(map(len, absent.values())):,} files that a level lacks; take fewer (serve.ladder)"
            raise UsageError(f"--edge {edge}: {len(script):,} bytes, CloudFront takes {_MOST_BYTES:,}: {named}")
        return script
    return _script("ladder-edge.js", settings, f"edge-{edge}.js")


def withdrawn_script() -> bytes:
    """Return what removes the script and the service worker of an earlier export."""
    return _script("ladder-withdrawn.js", {})


def _script(name: str, settings: Mapping[str, object], adapter: str = "") -> bytes:
    from adaptc.formats.script.minify import minify_script

    text = package_file("adaptc.templates", name).read_text("utf-8")
    for word, part in (("CHOICE", "ladder-choice.js"), ("RULES", "edge-rules.js"), ("ADAPTER", adapter)):
        text = text.replace(f"{word}\n", package_file("adaptc.templates", part).read_text("utf-8") if part else "", 1)
    text = text.replace("SETTINGS", json.dumps(settings, separators=(",", ":")), 1)
    return (minify_script(text) or text).encode("ascii")


# ---- paths to which the rules of a host apply: ``_headers`` and ``_redirects`` of Netlify, Cloudflare Pages and others
#
# Such a rule names a URL path. A copy of the file at another path would not be protected, redirected or labelled.

# Header fields that a copy may be sent without: how long it is kept, and what else a browser could fetch
_HARMLESS = frozenset(
    {"cache-control", "expires", "link", "access-control-allow-origin", "x-robots-tag", "timing-allow-origin"}
)
_EVERYTHING = "/*"


@dataclass(frozen=True, slots=True)
class RuledPaths:
    """The paths of rules, as patterns of URL paths."""

    patterns: tuple[re.Pattern[str], ...] = ()

    def applies_to(self, path: str) -> bool:
        """Whether a rule applies to the file at ``path`` of the site, by any of the addresses that hosts give it."""
        return any(pattern.fullmatch(url) for url in addresses_of(path) for pattern in self.patterns)


def read_ruled_paths(headers: str, redirects: str) -> RuledPaths:
    """Return the rules of the texts of ``_headers`` and ``_redirects``; those for the whole site are left out.

    They apply to copies as well. A redirect of everything that is forced (``/* /new/:splat 301!``) counts.
    """
    paths = dict.fromkeys([*_header_patterns(headers), *_redirect_patterns(redirects)])
    return RuledPaths(tuple(re.compile(path) for path in paths))


def _header_patterns(text: str) -> Iterator[str]:
    for rule in read_headers(text):
        names = {name for name, _ in rule.fields}
        if rule.pattern != splat_pattern(_EVERYTHING) and not names <= _HARMLESS:
            yield rule.pattern


def _redirect_patterns(text: str) -> Iterator[str]:
    for words in (line.split() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")):
        is_forced = any(word.endswith("!") and word[:-1].isdigit() for word in words)
        if words[0] != _EVERYTHING or is_forced:
            yield splat_pattern(words[0])


# ---- the files of a ladder


def had_ladder(record: ExportRecord, layout: Layout) -> bool:
    """Whether the last export to this place had a ladder, or removed one."""
    return layout.name(SCRIPT, IDENTITY) in (record.read() or ())


class LadderItems:
    """The ladder of one export. What it makes is stored in the cache of the build."""

    def __init__(self, config: Config, manifest: Manifest, docroot: Path, layout: Layout) -> None:
        self.config, self.manifest, self.docroot, self.layout = config, manifest, docroot, layout
        self.store = Store(build_spec(config).cache)
        with last_build(config.output) as state:
            self._pinned = pinned_of(state.decisions())

    def added_to(self, items: list[Item], root: str, edge: str | None) -> tuple[list[Item], list[Diagnostic]]:
        """Return an export of the level ``root`` with the levels below it and the script, and the diagnostics.

        ``edge`` is one of ``EDGES``, None for a service worker. Raises ``UsageError`` where there is no level for poor
        visitors, or the site has files of these names.
        """
        ladder = read_ladder(self.config, self.manifest, root, whole=edge is not None)
        routes = (_ROUTES,) if edge == "cloudflare" else ()
        scripts = (SCRIPT,) if edge is None else (EDGES[edge], *(name for name, _ in routes))
        taken = [path for path in self.manifest.resources if path in scripts or path.startswith(LEVELS)]
        if taken:
            raise UsageError(f"--ladder: the site has a file {taken[0]} of its own")
        if edge is not None:
            rows = self._rungs(ladder, "" if edge in _BLIND else _PAGE_SUFFIX)
            present = {level: {rung.name for rung in of_level} for level, of_level in rows.items()}
            name = identifier(title_of(self.config, os.fspath(self.docroot.resolve())))
            script = self._file(EDGES[edge], edge_script(self.config, self.manifest, ladder, edge, present, name))
            return [*items, *self._of_levels(items, rows), *(self._file(*route) for route in routes), script], []
        pages, diagnostics = self._registered([item for item in items if item.is_page], root)
        others = [item for item in items if not item.is_page]
        script = self._file(SCRIPT, ladder_script(self.config, self.manifest, ladder))
        # the worker last: what it asks for is there then
        return [*others, *self._of_levels(items, self._rungs(ladder)), *pages, script], diagnostics

    def withdrawn_from(self, items: list[Item]) -> tuple[list[Item], list[Diagnostic]]:
        """Return an export with what removes the worker of an earlier one."""
        return [*items, self._file(SCRIPT, withdrawn_script())], [diagnose("ladder-withdrawn", name=SCRIPT)]

    def _rungs(self, ladder: Ladder, suffix: str = _PAGE_SUFFIX) -> dict[str, list[Rung]]:
        """Return the files by level, without paths to which rules of the host apply, or that have originals only."""
        rules, exclude = self._ruled_paths(), self.config.serve.exclude

        def is_left_out(path: str) -> bool:
            return rules.applies_to(path) or is_at_or_below(f"/{path}", exclude)

        return {level: list(rungs(self.manifest, ladder, level, is_left_out, suffix)) for level in ladder.names}

    def _of_levels(self, items: list[Item], rows: Mapping[str, list[Rung]]) -> list[Item]:
        added = [
            site_item(self.manifest, self.docroot, level, self._codings_only, rung.resource, rung.name)
            for level, of_level in rows.items()
            for rung in of_level
        ]
        # files that only trees have are named by their content, so one of each is enough
        known = {item.path for item in items}
        own = {item.path: item for level in rows for item in own_items(self.manifest, level, self.layout)}
        return [*(item for path, item in own.items() if path not in known), *added]

    @property
    def _codings_only(self) -> Layout:
        """The layout without image formats: the worker asks for one."""
        return Layout(self.layout.name, tuple(coding for coding in self.layout.codings if coding in CODINGS))

    def _ruled_paths(self) -> RuledPaths:
        return read_ruled_paths(*(self._text(name) for name in ("_headers", "_redirects")))

    def _text(self, name: str) -> str:
        file = self.docroot / name
        return file.read_text("utf-8", "replace") if file.is_file() else ""

    def _file(self, name: str, content: bytes) -> Item:
        file = Path(self.store.object_path(self.store.put(content)))
        return Item(name, (self.layout.name(name, IDENTITY), file), (), origin=None, is_page=True)

    # ---- pages of the root

    def _registered(self, pages: list[Item], root: str) -> tuple[list[Item], list[Diagnostic]]:
        address = SiteAddress(self.manifest.base_url)
        registration = Registration(self.store, SCRIPT, address, self.config.coding_effort)
        registered: list[Item] = []
        diagnostics: list[Diagnostic] = []
        for page in pages:
            item, diagnostic = self._with_script(page, root, registration)
            registered.append(item)
            diagnostics += [diagnostic] if diagnostic is not None else []
        return registered, diagnostics

    def _with_script(self, page: Item, root: str, registration: Registration) -> tuple[Item, Diagnostic | None]:
        resource = self.manifest.resources[page.path]
        if resource.media_type != media.HTML or not page.plain[1].is_file():
            return page, None
        if (reason := self._pinned.get(page.path)) is not None:
            return page, diagnose("ladder-unregistered", Location(page.path), reason=reason)
        codings = [coding for coding in self._codings_only.codings if resource.at(root, coding)]
        return registration.registered(page, [(self.layout.name(page.path, coding), coding) for coding in codings])


# ---- pages with the script of the ladder, which registers its service worker

# It is the last element of the head: there it delays nothing, and no rule of a style sheet counts elements that are not
# shown. A page to which it cannot be added for certain stays as it is, and its readers stay at the level of the export
# until they visit another page.

# Raised whenever the same page becomes another one
_RECIPE = "ladder/1"
# Sent for addresses of any depth, from which no relative address leads to the script
_ANYWHERE = frozenset({"404.html", "500.html"})


class _Unchanged(Exception):
    """The page stays as it is; the text says why."""


@dataclass(frozen=True, slots=True)
class Registration:
    """Adds a script, a path of the site, to pages. ``store`` is the cache of the build, which keeps the results."""

    store: Store
    script: str
    address: SiteAddress
    effort: Effort

    def registered(self, item: Item, encodings: Iterable[tuple[str, str]]) -> tuple[Item, Diagnostic | None]:
        """Return a page of an export with the script, or as it is with a diagnostic that says why.

        ``encodings`` are the names of its encoded files in the export, each with its coding. Raises ``OSError`` when
        the page cannot be read or the cache cannot be written.
        """
        content = item.plain[1].read_bytes()
        recipe = (_RECIPE, self.script, self.address.base, item.path, digest_bytes(content))
        record = self.store.record(digest_parts(*recipe))
        if record is None or (record["page"] and self.store.content(record["page"]) is None):
            record = self._made(item.path, content)
            self.store.put_record(digest_parts(*recipe), record)
        if record["page"] is None:
            return item, diagnose("ladder-unregistered", Location(item.path), reason=record["reason"])
        page = Path(self.store.object_path(record["page"]))
        encoded = tuple(
            (name, encoded_again(self.store, record["page"], coding, self.effort)) for name, coding in encodings
        )
        return replace(item, plain=(item.plain[0], page), encoded=encoded, origin=None), None

    def _made(self, path: str, content: bytes) -> dict[str, str | None]:
        try:
            return {"page": self.store.put(page_with_script(path, content, self.script, self.address)), "reason": None}
        except _Unchanged as unchanged:
            return {"page": None, "reason": str(unchanged)}


def page_with_script(path: str, content: bytes, script: str, address: SiteAddress) -> bytes:
    """Return a page with ``script``, a path of the site, at the end of its head.

    The result is parsed again and must be the same page with this one element more. Raises ``_Unchanged``.
    """
    from adaptc.formats.html.document import Irreversible, encode_page, markup_policies, read_page
    from adaptc.formats.html.edit import Editor, EditRefused
    from adaptc.formats.html.template_marks import template_mark

    if path in _ANYWHERE:
        raise _Unchanged("it is sent for addresses of any depth")
    try:
        page = read_page(content)
    except Irreversible as problem:
        raise _Unchanged(f"it does not survive decoding and encoding as {problem}") from None
    if template_mark(page.text) is not None:
        raise _Unchanged("it holds template directives")
    editor = Editor(page.text)
    head = editor.tree.select_one("head")
    if head is None or any(True for _ in markup_policies(editor.tree)):
        raise _Unchanged("it has a Content-Security-Policy" if head is not None else "it has no head")
    editor.append(head, f'<script src="{_url(path, editor, script, address)}" async></script>')
    try:
        result = editor.apply()
    except EditRefused as refused:
        raise _Unchanged(refused.reason) from None
    encoded = encode_page(page, result.text) if result.method == "spliced" else None
    if encoded is None:
        raise _Unchanged("its markup is malformed")
    return encoded


def _url(path: str, editor: Editor, script: str, address: SiteAddress) -> str:
    """Return the address of the script relative to the base of the page."""
    from adaptc.formats.html.references import base_href

    base = document_base(address.url_of(path), base_href(editor.tree))
    target = address.resolve(base, base)
    if target.reach is not Reach.LOCAL:
        raise _Unchanged("its base URL is elsewhere")
    return relative_url(target.path, script)
