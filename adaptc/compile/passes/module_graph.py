"""The modules that a page loads anyway, in the page: for a crowd, of which each reads one page (``inline-scripts``).

A browser finds modules one after the other: each is a request, and each level of imports a round trip. Here their texts
are in one inert element. A script makes ``blob:`` URLs of them and an import map from the addresses of the files to
these, so that the browser's own rules say what is evaluated, when, and once: any import of such an address, now or
later, from the page or from a file, is that module. A browser without import maps loads the files. What a module asks
of its address is written into it (``adaptc.formats.script.modules``): ``import.meta.url``, and in the place of its
specifiers numbers, which the map has as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated, preloads_script, script_source
from adaptc.compile.page.inlining import INLINED, POLICY, carried_markup, first_unusual, should_inline
from adaptc.compile.page.transfer_sizes import compressed_size, transfer_size
from adaptc.compile.view import REQUEST_BYTES, Options, View
from adaptc.core import media
from adaptc.core.fs import package_file
from adaptc.core.model import HELD_TYPE, Action
from adaptc.core.urls import Reach, relative_url
from adaptc.core.values import dataclass, field
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.references import ISLAND_SCRIPTS, embedded_references
from adaptc.formats.html.syntax import attribute_markup
from adaptc.formats.script import escape_for_script_element, is_javascript_type, is_module_type, minify_script
from adaptc.formats.script.modules import DYNAMIC, MODULE, STATIC, ModuleFacts, rehomed

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["inline_modules"]

NAME = "inline-scripts"
_TYPE = "modules"
# Between the texts, and what stands for a module's own address in its text; a module with either of these stays a file
_MARK = "\n@@\n"
_OWN = '"@@"'
# Scripts that make elements for modules
_MAKES_MODULES = re.compile(rb"""(?:\.type\s*=\s*|\btype["'`]?\s*:\s*|["'`]type["'`]\s*,\s*)["'`]module["'`]""")
_MEANT = frozenset({"src", "async", "defer"})
# Vite's loader, which fetches a module early unless the page has a link to it; others make links that cost nothing here
_LOADER_OF_HINTS = re.compile(r"""=\s*["'`]modulepreload""")
# Islands of Astro that do not wait for anything
_AT_ONCE = frozenset({"load", "only"})
# Characters of a body that shows nothing before its scripts run
_SHELL = 60


def inline_modules(
    editor: Editor, page: PageContext, view: View, options: Options, moved: Collection[Element]
) -> Report:
    """Put the modules that the page loads into it; the scripts in ``moved`` are there already."""
    graph, scripts = _Graph(editor, page, view), list(editor.tree.iter_elements("script"))
    left = [each for each in scripts if each not in moved and not is_isolated(each, editor.text)]
    entries = [each for each in left if is_module_type(each.attr("type"))]
    importing = [each for each in left if each in entries or graph.imports_by_itself(each)]
    if not importing or page.selects_other_scripts() or not graph.add_all(importing):
        return Report()
    own = graph.chosen(options, entries, [each for each in scripts if each not in entries])
    place = _Place.of(editor, scripts, entries, importing)
    is_forbidden = page.has_policy or not page.policy.allows_blob()
    markup = _markup(graph, own) if own and place is not None and not is_forbidden else None
    if markup is None or place is None:
        reason = POLICY if is_forbidden else "what comes before it would be shown later"
        return Report([Action(NAME, KEPT, path, reason) for path in own])
    links = filter(preloads_script, editor.tree.iter_elements("link"))
    hints = [link for link in links if view.follow(page.base, link.attr("href") or "").path in own]
    written = {each: _entry(each, graph, own) for each in entries}
    added = compressed_size("".join((markup, *filter(None, written.values()))).encode())
    if added > sum(REQUEST_BYTES + transfer_size(path, view) for path in own) or not page.can_hold(markup):
        return Report(
            [Action(NAME, KEPT, path, "in the page it takes more than its bytes and a request") for path in own]
        )
    place.write(editor, markup, written)
    for link in hints:
        editor.remove_element(link)
    named = graph.embedded()
    absorbed = sum(REQUEST_BYTES + transfer_size(path, view) for path in own if path not in named)
    actions = [Action(NAME, "inlined" if path in named else "carried", path, INLINED) for path in own]
    return Report(actions, absorbed=absorbed, held=frozenset(own))


# ---- what the page loads


@dataclass
class _Graph:
    """The modules that a page loads, by path, in the order in which they are found.

    ``anchor`` is an address as the page writes it, with the path of its file: by it the page finds all others.
    """

    editor: Editor
    page: PageContext
    view: View
    modules: dict[str, ModuleFacts] = field(default_factory=dict)
    anchor: tuple[str, str] | None = None
    names: dict[str, str] = field(default_factory=dict)  # of the page's own import map

    def imports_by_itself(self, script: Element) -> bool:
        """Whether a classic script may import modules."""
        if not is_javascript_type(script.attr("type"), script.attr("language")):
            return False
        source = script_source(script, self.page.base, self.view) or ""
        return "import(" in source if isinstance(source, str) else b"import(" in source

    def add_all(self, importing: Sequence[Element]) -> bool:
        """Find the modules that the page loads; returns whether it can be known what its specifiers mean."""
        if not self._read_map():
            return False
        tree = self.editor.tree
        links = filter(preloads_script, tree.iter_elements("link"))
        is_held = any(each.attr("type") == HELD_TYPE for each in tree.iter_elements("script"))
        islands = () if is_held else tree.iter_elements("astro-island")
        addresses = [each.attr("src") or "" for each in importing if "src" in each.attrs]
        addresses += [
            each.attr(name) or "" for each in islands if each.attr("client") in _AT_ONCE for name in ISLAND_SCRIPTS
        ]
        addresses += [link.attr("href") or "" for link in links]
        for script in (each for each in importing if "src" not in each.attrs):
            found = self.view.facts(MODULE, script.text).specifiers(STATIC, DYNAMIC)
            addresses += [
                self.names.get(each, each) for each in found if each.startswith((".", "/")) or each in self.names
            ]
        roots = [path for path in map(self._add_anchor, addresses) if path is not None]
        loaded = () if self.page.evidence is None else self.page.evidence.loaded
        self._add(roots, frozenset(loaded))
        return self.anchor is not None

    def _add_anchor(self, address: str) -> str | None:
        path = self._path(address)
        if path is not None and self.anchor is None and self._is_plain(self.page.base, address, path):
            self.anchor = address, path
        return path

    def _read_map(self) -> bool:
        """Read the import map of the page; returns whether it has none but a plain one, before all modules."""
        maps = [each for each in self.editor.tree.iter_elements("script") if _is_map(each)]
        if not maps:
            return True
        try:
            found = json.loads(maps[0].text)
        except ValueError:
            return False
        names = found.get("imports") if isinstance(found, dict) and len(found) == len(maps) == 1 else None
        if not isinstance(names, dict) or not all(isinstance(each, str) for each in names.values()):
            return False
        self.names = names
        return True

    def _add(self, roots: Sequence[str], loaded: Collection[str]) -> None:
        """Add modules with all that they import; of what they import later, only what a browser saw ``loaded``."""
        waiting = list(reversed(roots))
        while waiting:
            path = waiting.pop()
            if path in self.modules or not self._is_js(path):
                continue
            facts = self.modules[path] = self.view.facts(MODULE, self.view.artifact(path))
            found = [self.target(path, each) for each in facts.specifiers(STATIC)]
            later = (self.target(path, each) for each in facts.specifiers(DYNAMIC))
            found += [each for each in later if each in loaded]
            waiting += [each for each in reversed(found) if each is not None]

    def target(self, path: str, specifier: str) -> str | None:
        """Return the file to which a specifier in the module at ``path`` leads, ``None`` where that is not plain."""
        if specifier in self.names:
            base, specifier = self.page.base, self.names[specifier]
        else:
            base = self.view.url_of(path)
        found = self.view.follow(base, specifier).path if specifier.startswith(("/", ".")) else None
        return found if found is not None and self._is_plain(base, specifier, found) else None

    def _is_plain(self, base: str, address: str, path: str) -> bool:
        """Whether an address is that of the file itself, without a query."""
        target = self.view.follow(base, address).target
        return target.reach is Reach.LOCAL and target.path == path and not target.suffix

    def _path(self, address: str) -> str | None:
        return self.view.follow(self.page.base, address).path if address else None

    def _is_js(self, path: str | None) -> bool:
        return path is not None and self.view.media_type(path) == media.JS

    def embedded(self) -> frozenset[str]:
        """Return the files that the page's markup has browsers load, so that they count as its own."""
        paths = (self._path(each.url) for each in embedded_references(self.editor.tree))
        return frozenset(path for path in paths if path is not None)

    def chosen(self, options: Options, entries: Sequence[Element], others: Sequence[Element]) -> list[str]:
        """Return the modules that move, in order: none that one of the ``others`` may load by its address."""
        fixed = {self._path(str(value)) for each in others for value in each.attrs.values() if value}
        fixed |= {self._path(each.attr("src") or "") for each in entries if self._is_fixed(each)}
        named = self._named_in_strings()
        return [path for path in self.modules if path not in fixed and self._may_move(path, options, named)]

    def _is_fixed(self, entry: Element) -> bool:
        """Whether a module script must have its address."""
        is_special = first_unusual(entry, self.page, _MEANT) is not None or "integrity" in entry.attrs
        return is_special or self.page.selects("src", entry.attr("src") or "")

    def _may_move(self, path: str, options: Options, named: str) -> bool:
        facts, view = self.modules[path], self.view
        if not facts.is_portable or view.pinned(path) is not None or path in self.page.preloaded:
            return False
        if named and path.rpartition("/")[2] in named:  # a script element with its address would run it once more
            return False
        specifiers = facts.specifiers(STATIC, DYNAMIC)
        is_clear = all(self.target(path, each) or not each.startswith((".", "/")) for each in specifiers)
        return is_clear and should_inline(path, view, options) and self.text(path) is not None

    def _named_in_strings(self) -> str:
        """Return the strings of the page's modules where one may make script elements for modules, or nothing."""
        strings = [each for facts in self.modules.values() for each in facts.strings]
        contents = [self.view.artifact(path) for path in self.modules]
        makes = any(b"createElement" in each and _MAKES_MODULES.search(each) for each in contents)
        return "\n".join(strings) if makes else ""

    def text(self, path: str) -> str | None:
        """Return the text of a module as an element can hold it, if it can."""
        try:
            text = self.view.artifact(path).decode("utf-8-sig")
        except UnicodeDecodeError:
            return None
        safe = escape_for_script_element(text)
        return None if safe is None or _MARK in safe or _OWN in safe else safe


def _is_map(script: Element) -> bool:
    return (script.attr("type") or "").strip().lower() == "importmap"


# ---- what is written


def _markup(graph: _Graph, own: Sequence[str]) -> str | None:
    """Return the element with the modules ``own``, and the script that reads it."""
    assert graph.anchor is not None
    places: dict[str, int] = {path: place for place, path in enumerate(own)}

    def mark(path: str) -> str:
        return f'"{places.setdefault(path, len(places))}"'

    texts = []
    for path in own:
        text, names = graph.text(path), {}
        assert text is not None
        facts = graph.view.facts(MODULE, text)  # the offsets of the text as it is written
        for each in facts.specifiers(STATIC, DYNAMIC):
            target = graph.target(path, each)
            names[each] = mark(target) if target is not None else json.dumps(each)
        texts.append(rehomed(text, facts, _OWN, names.__getitem__))
    mapped = {name: graph._add_anchor(url) for name, url in graph.names.items()}
    if None in mapped.values() or any(map(str.isdigit, mapped)):
        return None
    numbers = {name: places.setdefault(path, len(places)) for name, path in mapped.items() if path is not None}
    urls = [_address(*graph.anchor, path) for path in places]
    head = json.dumps([urls, numbers] if numbers else urls, separators=(",", ":"))
    content = _MARK.join([head.replace("</", "<\\/").replace("<!--", "<\\u0021--"), *texts])
    asked = {"HINTED": any(map(_LOADER_OF_HINTS.search, texts)), "TEXT": any(_OWN in text for text in texts)}
    return f"<script type={_TYPE}>{content}</script><script>{_loader(NAMED=bool(numbers), **asked)}</script>"


def _address(anchor: str, origin: str, path: str) -> str:
    """Return the address by which the page finds the file at ``path``; by ``anchor`` it finds the one at ``origin``."""
    folder, slash, _ = anchor.rpartition("/")
    return f"{folder}{slash}{relative_url(origin, path)}" if slash else f"./{relative_url(origin, path)}"


# What the script does more: an empty link keeps Vite's loader from fetching a module early, names of the page's own
# map, and the address of its file in a module that asks for it
_MORE = {
    "HINTED": "d.head.appendChild(d.createElement('link')).href = new URL(url, d.baseURI).pathname, ",
    "NAMED": "for (let name in head[1]) map[name] = map[head[1][name]]",
    "TEXT": f"texts[number].replaceAll('{_OWN}', () => JSON.stringify(new URL(url, d.baseURI)))",
}


@cache
def _loader(**asked: bool) -> str:
    values = {"TEXT": "texts[number]", "HINTED": "", "NAMED": "", "MARK": json.dumps(_MARK)[1:-1]}
    values.update((name, text) for name, text in _MORE.items() if asked[name])
    values["HEAD"], values["URLS"] = _HEADS[asked["NAMED"]]
    source = package_file(__package__, "modules.js").read_text("utf-8")
    filled = re.sub(r"\b(?:MARK|HEAD|URLS|HINTED|NAMED|TEXT)\b", lambda match: values[match[0]], source)
    return minify_script(filled, short_names=True) or filled


# The addresses are all that the first text has, but for names of the page's own map
_HEADS = (("", "JSON.parse(texts.shift())"), ("let head = JSON.parse(texts.shift())", "head[0]"))


def _entry(script: Element, graph: _Graph, own: Collection[str]) -> str | None:
    """Return the markup of a script that imports its module, ``None`` where it stays as it is."""
    url = script.attr("src")
    if url is None or graph._path(url) not in own:
        return None
    specifier = url.strip() if url.strip().startswith(("/", "./", "../")) or ":" in url else f"./{url.strip()}"
    mode = " async" if "async" in script.attrs else ""
    return f"<script type=module{mode}{carried_markup(script)}>import{json.dumps(specifier)}</script>"


@dataclass(frozen=True)
class _Place:
    """Where the modules come: before the first script that imports any, or at the end of the body with all modules.

    There the page is shown before their texts are read. The order in which deferred scripts run stays the same.
    """

    first: Element
    body: Element | None
    maps: tuple[Element, ...]

    @classmethod
    def of(
        cls, editor: Editor, scripts: Sequence[Element], entries: Sequence[Element], importing: Sequence[Element]
    ) -> _Place | None:
        """Return the place, ``None`` if the text of the page would come after the modules."""
        first, body = importing[0], editor.tree.select_one("body")
        maps = tuple(each for each in scripts if _is_map(each))
        later = (each for each in scripts[scripts.index(first) :] if each not in entries)
        is_kept = not any("defer" in each.attrs or is_module_type(each.attr("type")) for each in later)
        is_free = len(importing) == len(entries) and not any("async" in each.attrs for each in entries)
        if body is not None and is_free and is_kept:
            return cls(first, body, maps)
        is_late = first.closest("body") is not None
        return cls(first, None, maps) if is_late or body is None or len(body.text.strip()) < _SHELL else None

    def write(self, editor: Editor, markup: str, entries: Mapping[Element, str | None]) -> None:
        """Write the modules and the entries; the page's own import map becomes a part of theirs."""
        for each in self.maps:
            editor.remove_element(each)
        if self.body is None:
            editor.insert_before(self.first, markup)
            for script, written in entries.items():
                if written is not None:
                    editor.replace_element(script, written)
            return
        for script in entries:
            editor.remove_element(script)
        editor.append(self.body, markup + "".join(new or _as_is(script) for script, new in entries.items()))


def _as_is(script: Element) -> str:
    attributes = "".join(f" {attribute_markup(name, script.attr(name) or '')}" for name in script.attrs)
    return f"<script{attributes}>{script.text}</script>"
