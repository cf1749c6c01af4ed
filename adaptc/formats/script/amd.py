"""What a script loads by the Asynchronous Module Definition (AMD): the ids that it writes out, and where files are.

``require(["a"])``, ``define(["a"], …)`` and ``require("a")`` name modules; the configuration of RequireJS says under
which addresses they are (https://requirejs.org/docs/api.html#config). Ids and places that are computed make the whole
unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from adaptc.formats.script.lexer import Kind, unescape
from adaptc.formats.script.script import Script
from adaptc.formats.script.structure import Span, Structure

__all__ = ["AmdModules", "amd_modules", "module_addresses"]

_MARKS = re.compile(r"\b(?:require|requirejs|define)\b")
# How RequireJS marks the script elements that it makes
_LOADER = "data-requiremodule"
_LOADING = frozenset({"require", "requirejs"})
_CALLS = _LOADING | {"define"}
_GLOBALS = frozenset({"window", "self", "globalThis"})
_ADDRESS = re.compile(r"/|[a-zA-Z][\w+.-]*:|.*\.js\Z")  # of ids that are addresses already


@dataclass(frozen=True, slots=True)
class AmdModules:
    """The modules of one script.

    ``ids`` are those that it writes out, with their plug-ins (``text!a.html``), ``paths`` pairs of a beginning of ids
    and an address, ``roots`` the base URLs. ``configures`` says that it holds a configuration of RequireJS or
    RequireJS itself: without either there is nothing that loads modules.
    """

    ids: tuple[str, ...] = ()
    paths: tuple[tuple[str, str], ...] = ()
    roots: tuple[str, ...] = ()
    configures: bool = False
    is_unknown: bool = False


def amd_modules(script: Script) -> AmdModules:
    """Return what a script says of modules."""
    tokens = script.structure if _MARKS.search(script.text) else None
    if tokens is None:
        return AmdModules()
    reading = _Reading(tokens, configures=_LOADER in script.text)
    reading.run()
    return AmdModules(
        tuple(reading.ids), tuple(reading.paths), tuple(reading.roots), reading.configures, reading.is_unknown
    )


def module_addresses(module: str, paths: dict[str, list[str]]) -> list[str]:
    """Return the addresses that a module may have, relative to a root; ``paths`` as in ``AmdModules``, together."""
    if _ADDRESS.match(module):
        return [module]
    starts = [module, *(module[: match.start()] for match in re.finditer("/", module))]
    mapped = [place + module[len(start) :] for start in starts for place in paths.get(start, ())]
    return [f"{address}.js" for address in (*mapped, module)]


@dataclass(slots=True)
class _Reading:
    """The search through one script."""

    script: Structure
    configures: bool
    ids: dict[str, None] = field(default_factory=dict)
    paths: dict[tuple[str, str], None] = field(default_factory=dict)
    roots: dict[str, None] = field(default_factory=dict)
    is_unknown: bool = False

    def run(self) -> None:
        """Read all calls and configurations."""
        for name in _CALLS:
            for place in self.script.places(name):
                before, after = self.script.text(place - 1), self.script.text(place + 1)
                if before in (".", "?.") and self.script.text(place - 2) not in _GLOBALS:
                    continue
                if after == "(" and before != "function":
                    self._call(name, place + 1)
                elif name in _LOADING and after == "." and self.script.text(place + 2) == "config":
                    self._configure(self.script.arguments(place + 3)[:1])
                elif name in _LOADING and after in ("=", ":") and self.script.text(place + 2) == "{":
                    self._configure([(place + 2, self.script.expression_end(place + 2))])

    def _call(self, name: str, opening: int) -> None:
        arguments = self.script.arguments(opening)
        if name == "define":
            arguments = [span for span in arguments if self._string(span) is None]
            self._list(arguments[0], is_needed=len(arguments) > 1) if arguments else None
        elif arguments and self.script.text(arguments[0][0]) == "{":
            self._configure(arguments[:1])
            self._list(arguments[1], is_needed=False) if len(arguments) > 1 else None
        elif arguments:
            self._list(arguments[0], is_needed=len(arguments) > 1)

    def _list(self, span: Span, *, is_needed: bool) -> None:
        """Note a list of ids, or a single one. With ``is_needed`` something else may be a list."""
        string = self._string(span)
        if string is not None:
            self.ids[string] = None
        elif self.script.text(span[0]) != "[":
            self.is_unknown |= is_needed
        else:
            ids = [self._string(each) for each in self.script.arguments(span[0])]
            self.is_unknown |= None in ids
            self.ids.update(dict.fromkeys(filter(None, ids)))

    # ---- configurations

    def _configure(self, spans: list[Span]) -> None:
        for span in spans:
            self.configures = True
            self.is_unknown |= self.script.text(span[0]) != "{"
            for key, value in self._entries(span):
                _KEYS.get(key, _Reading._ignore)(self, value)

    def _ignore(self, value: Span) -> None:
        """Pass over a setting that says nothing of addresses."""

    def _base(self, value: Span) -> None:
        root = self._string(value)
        self.is_unknown |= root is None
        if root:
            self.roots[root.rstrip("/") + "/"] = None

    def _paths(self, value: Span) -> None:
        self.is_unknown |= self.script.text(value[0]) != "{"
        for start, places in self._entries(value):
            self._path(start, places)

    def _path(self, start: str, places: Span) -> None:
        is_list = self.script.text(places[0]) == "["
        for each in self.script.arguments(places[0]) if is_list else [places]:
            address = self._string(each)
            self.is_unknown |= address is None
            if address is not None:
                self.paths[start, address] = None

    def _packages(self, value: Span) -> None:
        for each in self.script.arguments(value[0]):
            package = {key: self._string(span) for key, span in self._entries(each)}
            name, location = package.get("name", self._string(each)), package.get("location")
            self.is_unknown |= name is None or None in package.values()
            if name:
                self.paths[name, location or name] = None
                self.paths[name, f"{location or name}/{package.get('main') or 'main'}"] = None

    def _strings(self, value: Span) -> None:
        """Count all strings of a setting as ids: dependencies of a script, the other names of a module."""
        places = (place for place in range(*value) if self.script.kinds[place] is Kind.STRING)
        self.ids.update((unescape(self.script.text(place)[1:-1]), None) for place in places)

    # ---- literals

    def _entries(self, span: Span) -> Iterator[tuple[str, Span]]:
        """Yield the keys and values of an object literal."""
        if self.script.text(span[0]) != "{":
            return
        for start, end in self.script.arguments(span[0]):
            if self.script.text(start + 1) == ":":
                key = self.script.text(start)
                yield unescape(key.strip("\"'")), (start + 2, end)
            elif start < end:
                self.is_unknown |= self.script.text(start) in ("...", "[")

    def _string(self, span: Span) -> str | None:
        if span[1] != span[0] + 1 or self.script.kinds[span[0]] is not Kind.STRING:
            return None
        return unescape(self.script.text(span[0])[1:-1])


_KEYS = {
    "baseUrl": _Reading._base,
    "paths": _Reading._paths,
    "packages": _Reading._packages,
    "shim": _Reading._strings,
    "map": _Reading._strings,
    "bundles": _Reading._strings,
    "deps": _Reading._strings,
}
