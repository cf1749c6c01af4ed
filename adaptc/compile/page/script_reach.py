"""What the scripts of a page may bring into it: their own texts, and those of the files that they may load.

Files of the site are followed to the last one: scripts, JSON, parts of pages. An address that leads to no file loads
nothing. Of a script on another site its host or its name may be known: see ``Outsiders``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, script_source
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.urls import Reach, host_and_path, join
from adaptc.formats.script.amd import AmdModules, module_addresses
from adaptc.formats.script.facts import SCRIPT, ScriptFacts
from adaptc.formats.script.lexer import unescape
from adaptc.formats.script.loads import SCRIPTS
from adaptc.formats.script.names import Names, merge_names, names_of_text

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.compile.view import View


@dataclass(frozen=True, slots=True)
class ScriptReach:
    """What may bring names into a page: scripts, and the names in ``data`` (JSON, markup, attributes).

    ``unknown`` is the reason why there may be others; then these are incomplete.
    """

    scripts: tuple[ScriptFacts, ...] = ()
    data: tuple[Names, ...] = ()
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Outsiders:
    """Scripts on other sites: ``hosts`` whose scripts bring their own styles, and the classes that libraries set.

    A library is known by the name of its file, without version: ``bootstrap`` is
    ``npm/bootstrap@5.2.3/dist/js/bootstrap.bundle.min.js``.
    """

    hosts: tuple[str, ...]
    libraries: Mapping[str, str]

    @classmethod
    def of(cls, hosts: Sequence[str], libraries: Sequence[str]) -> Outsiders:
        """Read the options of a level: hosts, and ``name: class class-`` for each library, in one row or several."""
        return _outsiders(tuple(hosts), tuple(libraries))

    def names(self, url: str) -> str | None:
        """Return the names that a script may bring in, as a text; ``None`` if nothing is known of it."""
        host, path = host_and_path(url if "//" in url else f"//{url}")
        if any(host == name or host.endswith(f".{name}") for name in self.hosts) or _MEASURES.search(f"{host}{path}"):
            return ""
        return self.libraries.get(library_name(url))


@lru_cache(maxsize=8)
def _outsiders(hosts: tuple[str, ...], libraries: tuple[str, ...]) -> Outsiders:
    names: dict[str, str] = {}
    for row in libraries:
        alike, _, classes = row.partition(":")
        for library in alike.split():
            names[library] = names.get(library, "") + "".join(f'"{name}";' for name in classes.split())
    return Outsiders(hosts, names)


# Scripts that count views, by their names: they set no classes
_MEASURES = re.compile(r"(?<![a-z])analytics(?![a-z])", re.IGNORECASE)
# What follows a library's name in that of its file
_VARIANT = re.compile(
    r"(?:[.@_-](?:v?\d[\w.]*|min|slim|bundle|umd|esm|cjs|iife|pkgd|prod|production|latest|global|browser|module|jquery|js))+\Z"
)


_MODULE_LOADERS = frozenset({"require", "requirejs"})


def library_name(url: str) -> str:
    """Return the name of a library's file without its version and variant."""
    name = host_and_path(url)[1].rpartition("/")[2].lower()
    return _VARIANT.sub("", name)


def script_reach(tree: Document, page: PageContext, view: View, outsiders: Outsiders) -> ScriptReach:
    """Return what the scripts of a page in its present state may bring in."""
    search = _Search(page, view, outsiders)
    search.add_page(tree)
    search.run()
    return ScriptReach(tuple(search.scripts.values()), tuple(search.data), search.unknown)


@dataclass(slots=True)
class _Modules:
    """The modules of RequireJS that scripts name: ``ids`` with the URLs of the scripts, and where modules are."""

    ids: dict[tuple[str, str], None] = field(default_factory=dict)
    paths: dict[str, list[str]] = field(default_factory=dict)
    roots: dict[str, None] = field(default_factory=dict)
    are_loaded: bool = False
    are_unknown: bool = False

    def add(self, modules: AmdModules, url: str) -> None:
        """Add what a script says."""
        self.ids.update(dict.fromkeys((name, url) for name in modules.ids))
        for start, address in modules.paths:
            self.paths.setdefault(start, []).append(address)
        self.roots.update(dict.fromkeys(modules.roots))
        self.are_loaded |= modules.configures
        self.are_unknown |= modules.is_unknown

    def add_main(self, name: str, url: str) -> None:
        """Add the module that the attribute ``data-main`` names; its directory is a root."""
        directory, slash, _ = name.rpartition("/")
        self.roots[directory + slash] = None
        self.ids[name.removesuffix(".js") if directory else name, url] = None
        self.are_loaded = True


@dataclass(slots=True)
class _Search:
    """The search through what scripts load. ``pending`` has scripts with their URLs, ``named`` addresses of data."""

    page: PageContext
    view: View
    outsiders: Outsiders
    scripts: dict[str | bytes, ScriptFacts] = field(default_factory=dict)
    data: list[Names] = field(default_factory=list)
    unknown: str | None = None
    pending: list[tuple[ScriptFacts, str]] = field(default_factory=list)
    named: dict[tuple[str, str], None] = field(default_factory=dict)
    roots: dict[str, None] = field(default_factory=dict)
    fetches: bool = False
    seen: set[str] = field(default_factory=set)
    modules: _Modules = field(default_factory=_Modules)

    def add_page(self, tree: Document) -> None:
        """Add the scripts of the page, and what it holds for them."""
        base = self.page.base
        for element in tree.iter_elements("script"):
            source, url = script_source(element, base, self.view), element.attr("src") or ""
            if source:
                self._add_script(source, join(base, url) or base)
            elif source is None and not url.startswith("data:"):  # an address that holds a text of the page
                self._add_outsider(url)
            if main := element.attr("data-main"):
                self.modules.add_main(main, base)
        for source in self.page.scripts:  # handlers, and what is an address now
            self._add_script(source, base)
        for text in _held_for_scripts(self.page.page.text):
            self.data.append(names_of_text(text))
            self.named.update(dict.fromkeys((base, address) for address in _DATA_ADDRESS.findall(text)))

    def run(self) -> None:
        """Follow what scripts load until there is nothing new, or something unknown."""
        while self.pending and self.unknown is None:
            self._follow(*self.pending.pop())
            if not self.pending and self.modules.are_loaded:
                self._load_modules()
        if self.fetches and self.unknown is None:
            for base, address in self.named:
                self._add_data(address, base)

    def _follow(self, script: ScriptFacts, url: str) -> None:
        loaded = script.loads
        self.unknown, self.fetches = loaded.unknown, self.fetches or loaded.fetches
        self.roots.update(dict.fromkeys(join(url, root) or url for root in loaded.roots))
        self.named.update(dict.fromkeys((url, address) for address in loaded.data))
        for specifier in loaded.modules:
            self._add_file(self._mapped(specifier), (url,))
        for address in loaded.scripts:
            self._add_file(address, (self.page.base, url, *self.roots))
        for address in loaded.elsewhere:
            self._add_outsider(address)
        self.modules.add(script.modules, url)

    def _load_modules(self) -> None:
        """Add the files of the modules that scripts name, and what plug-ins load (``text!a.html``)."""
        if self.modules.are_unknown:
            self.unknown = SCRIPTS
        roots = [join(self.page.base, root) or root for root in self.modules.roots]
        for name, url in self.modules.ids:
            for part in name.split("!"):
                bases = (url, *roots) if part.startswith(".") else (self.page.base, *roots)
                for address in module_addresses(part, self.modules.paths):
                    self._add_file(address, bases)
            if "!" in name:
                self.named.update(dict.fromkeys((base, part) for base in (url, *roots)))

    def _mapped(self, specifier: str) -> str:
        """Return the address of a module; one that the page's import map does not name cannot be loaded."""
        if specifier.startswith((".", "/")) or "//" in specifier:
            return specifier
        address = re.search(rf'"{re.escape(specifier)}"\s*:\s*"([^"]+)"', self.page.page.text)
        return address[1] if address else ""

    def _add_script(self, source: str | bytes, url: str) -> None:
        if source not in self.scripts:
            self.scripts[source] = self.view.facts(SCRIPT, source)
            self.pending.append((self.scripts[source], url))

    def _add_file(self, address: str, bases: Iterable[str]) -> None:
        for base in dict.fromkeys(bases):
            destination = self.view.follow(base, address)
            path = destination.path
            if destination.target.reach is Reach.EXTERNAL:
                self._add_outsider(join(base, address) or address)
            elif path is not None and path not in self.seen and self.view.media_type(path) == media.JS:
                self.seen.add(path)
                self._add_script(self.view.artifact(path), join(base, address) or base)

    def _add_data(self, address: str, url: str) -> None:
        for base in dict.fromkeys((self.page.base, url, *self.roots)):
            path = self.view.follow(base, address).path
            if path is not None and path not in self.seen and path != self.page.path:
                self.seen.add(path)
                kind = _PAGE_NAMES if self.view.media_type(path) == media.HTML else _DATA_NAMES
                self.data.append(self.view.facts(kind, self.view.read(path)))

    def _add_outsider(self, url: str) -> None:
        self.modules.are_loaded |= library_name(url) in _MODULE_LOADERS
        names = self.outsiders.names(url)
        if names is None:
            self.unknown = SCRIPTS
        elif names:
            self.data.append(names_of_text(names))


# What a page holds for its scripts: ``data-`` attributes and those of htmx, data blocks and inert markup
_HELD = re.compile(
    r"""\s(?:data|hx)-[^\s=>]*\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)|<(?:script|template|noscript)\b[\s\S]*?</(?:script|template|noscript)""",
    re.IGNORECASE,
)
# A script element that holds code, which counts by what it does
_CODE = re.compile(
    r"""\A(<script\b(?![^>]*\stype\s*=(?!\s*(?:["']?(?:module\b|[\w/]*(?:java|ecma)script\b)|""|''|[\s>])))[^>]*>)[\s\S]*""",
    re.IGNORECASE,
)
_DATA_ADDRESS = re.compile(r"""(?<![^\s"'<>=()])[^\s"'<>=()]+\.(?:json|html?|xhtml)(?![\w.])""", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


@lru_cache(maxsize=4)
def _held_for_scripts(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_CODE.sub(r"\1", piece) for piece in _HELD.findall(text)))


def _names_of_page(text: str) -> Names:
    """Return what a fetched page may bring in: its tags, and what it holds for scripts."""
    return merge_names([*map(names_of_text, ("\n".join(_TAG.findall(text)), *_held_for_scripts(text)))])


def _names_of_data(text: str) -> Names:
    return names_of_text(unescape(text))


_PAGE_NAMES = FactKind("names of a page", _names_of_page, Names())
_DATA_NAMES = FactKind("names of data", _names_of_data, Names())
