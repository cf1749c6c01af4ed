"""What a script leads to: modules, workers, files next to it, files that it fetches, and what its markup embeds.

Only addresses count that are written whole, where JavaScript says what they are relative to: imports, ``new URL(…,
import.meta.url)``, ``import.meta.resolve`` and ``importScripts`` to the script, workers, ``fetch``, ``img.src = …`` and
markup to the page (HTML, 8.1.5.2 and
10.2.6.3; CSP and service workers aside). A specifier without a path is looked up in the import map of the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from adaptc.core.facts import BoundedCache
from adaptc.core.model import Reference, Role
from adaptc.crawl.discover.link import REQUISITE, Link, links_of
from adaptc.crawl.weburl import resolved
from adaptc.formats.script.lexer import Kind, unescape
from adaptc.formats.script.script import Script, is_string, string_content

# A place of a link. The server may lack what the others name: the code may be dead, or made for another server.
IMPORT, WORKER = "script import", "script worker"
_BESIDE, _FETCH, _MARKUP, _STRING = "script new URL()", "script fetch()", "script markup", "script string"
_SOURCE = "script src"
GUESSES = frozenset({WORKER, _BESIDE, _FETCH, _MARKUP, _STRING, _SOURCE})

ImportMap = Mapping[str, str]
"""Absolute URLs by specifier; a specifier with a slash at its end stands for all that begin with it."""

_PATH = re.compile(r"\.{0,2}/|[a-zA-Z][a-zA-Z0-9+.-]*:")
_STATIC = re.compile(
    r"[^?#]*\.(?:json|html?|txt|md|csv|tsv|xml|svg|geojson|topojson|wasm|m?js|css|ya?ml|png|jpe?g|gif|webp|avif|pdf"
    r"|bin|glb|gltf|mp[34]|ogg|wav|woff2?|ttf)\Z",
    re.IGNORECASE,
)
# A file of a bundle, by its path below the site: "assets/About-4f5a.css" in a script below assets/ (Vite)
_BUNDLED = re.compile(r"(?![./])((?:[\w@~-]+/)+)[\w@~.-]+\.(?:m?js|css|wasm)\Z")
_WORKERS = frozenset({"Worker", "SharedWorker"})
_META_URL = (",", "import", ".", "meta", ".", "url")
_META = ("import", ".", "meta", ".")


def script_links(text: str, url: str, page: str | None, import_map: Callable[[], ImportMap] = dict) -> list[Link]:
    """Return the links of the script at ``url`` in their order.

    ``page`` is the base URL of the page that runs it, or of the worker that it is; ``None`` where that is not known:
    what is relative to it is left out then. Of a script in a page both are the page's. ``import_map`` is asked for once
    a specifier needs it.
    """
    named = _named_in(text)
    places: dict[str, str] = {}
    found = [(_module(each, url, import_map), IMPORT) for each in named.specifiers]
    found += [(resolved(url, address), place) for address, place in named.of_script]
    found += [(resolved(page, address), place) for address, place in named.of_page] if page is not None else []
    found += [(_of_bundle(directory, path, url), _STRING) for directory, path in named.bundled]
    for address, place in found:
        if address is not None:
            places.setdefault(address, place)
    links = [Link(address, True, place) for address, place in places.items()]
    return [*links, *links_of(page or url, named.markup)] if page else links


class _Named(NamedTuple):
    """What a script names, as it is written: specifiers of modules, and addresses with their places.

    ``of_script`` is relative to the script, ``of_page`` and ``markup`` to the page; ``bundled`` are a directory of the
    site, which may be above the script, and a path that begins with it.
    """

    specifiers: tuple[str, ...] = ()
    of_script: tuple[tuple[str, str], ...] = ()
    of_page: tuple[tuple[str, str], ...] = ()
    bundled: tuple[tuple[str, str], ...] = ()
    markup: tuple[Reference, ...] = ()


# Pages of a site have scripts in common: 758 pages of sqlite3-doc have four
_KNOWN = BoundedCache[str, _Named](1 << 18)


def _named_in(text: str) -> _Named:
    named = _KNOWN.get(text)
    if named is None:
        script = Script(text)
        named = _names_of(script) if script.lexes else _Named()
        _KNOWN.put(text, named, len(text))
    return named


def _names_of(script: Script) -> _Named:
    markup = (each for template in _templates(script) for each in _markup_references(template))
    addresses = tuple(_beside(script)), tuple(_of_page(script)), tuple(_bundled(script))
    return _Named(tuple(_specifiers(script)), *addresses, tuple(markup))


def import_map_of(texts: Iterator[str], base: str) -> dict[str, str]:
    """Return the import map that the script elements of a page with these texts declare (HTML, 8.1.6.1)."""
    return {name: address for text in texts for name, address in _entries(text, base)}


def _entries(text: str, base: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of an import map, those of its scopes first: they may have names in common."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(parsed, dict):
        return
    scopes = parsed.get("scopes")
    for table in (*(scopes.values() if isinstance(scopes, dict) else ()), parsed.get("imports")):
        for name, address in table.items() if isinstance(table, dict) else ():
            if isinstance(address, str) and (url := resolved(base, address)) is not None:
                yield name, url


def import_map_links(text: str, base: str, line: int) -> list[Link]:
    """Return the links of an import map: the files that it names."""
    return [Link(url, True, IMPORT, line) for name, url in _entries(text, base) if not name.endswith("/")]


# ---- what is relative to the script


def _module(specifier: str, url: str, import_map: Callable[[], ImportMap]) -> str | None:
    return resolved(url, specifier) if _PATH.match(specifier) else _mapped(specifier, import_map())


def _specifiers(script: Script) -> Iterator[str]:
    tokens = script.tokens
    for place in script.places(("import", "from")):
        if script.token(place - 1) in (".", "?."):
            continue
        at = place + 2 if tokens[place] == "import" and script.token(place + 1) == "(" else place + 1
        specifier = _string(script, at)
        if specifier is not None:
            yield specifier


def _mapped(specifier: str, entries: ImportMap) -> str | None:
    if specifier in entries:
        return entries[specifier]
    prefixes = [name for name in entries if name.endswith("/") and specifier.startswith(name)]
    longest = max(prefixes, key=len, default=None)
    return None if longest is None else resolved(entries[longest], specifier.removeprefix(longest))


def _beside(script: Script) -> Iterator[tuple[str, str]]:
    """Yield what ``new URL(…, import.meta.url)``, ``import.meta.resolve(…)`` and ``importScripts(…)`` name."""
    for place in script.places(("URL",)):
        address = _string(script, place + 2) if script.token(place - 1) == "new" else None
        if address is not None and tuple(script.tokens[place + 3 : place + 9]) == _META_URL:
            yield address, _BESIDE
    for place in script.places(("resolve",)):
        address = _string(script, place + 2) if tuple(script.tokens[max(0, place - 4) : place]) == _META else None
        if address is not None and _PATH.match(address):
            yield address, _BESIDE
    for place in script.places(("importScripts",)):
        at = place + 2
        while (address := _string(script, at)) is not None:
            yield address, WORKER
            at += 2


def _bundled(script: Script) -> Iterator[tuple[str, str]]:
    return ((match[1], text) for text in script.strings() if (match := _BUNDLED.match(text)) is not None)


def _of_bundle(directory: str, path: str, url: str) -> str | None:
    start = url.find(f"/{directory}")
    return resolved(url[: start + 1], path) if start >= 0 else None


# ---- what is relative to the page


def _of_page(script: Script) -> Iterator[tuple[str, str]]:
    """Yield the workers that a script starts, and files that it fetches, keeps in a cache or gives elements.

    Of ``fetch(…)`` those count that have no other argument: others may send something.
    """
    for place in script.places(("addAll",)):
        at = place + 3 if tuple(script.tokens[place + 1 : place + 3]) == ("(", "[") else place
        while (address := _string(script, at)) is not None:
            yield address, _FETCH
            at += 2
    for place in script.places((*_WORKERS, "register", "addModule", "fetch", "src", "Audio")):
        name, address = script.tokens[place], _string(script, place + 2)
        if address is None or script.token(place + 1) != ("=" if name == "src" else "("):
            continue
        if name == "src":
            if script.token(place - 1) == "." and _STATIC.match(address):
                yield address, _SOURCE
        elif name in ("fetch", "Audio"):
            if script.token(place + 3) == ")" and _STATIC.match(address):
                yield address, _FETCH
        elif _starts_worker(script, place, name):
            yield address, WORKER


def _starts_worker(script: Script, place: int, name: str) -> bool:
    before = script.token(place - 1)
    if name in _WORKERS:
        return before == "new"
    return before == "." and (name == "addModule" or script.token(place - 2) == "serviceWorker")


_HOLE = "\ufffc"  # in the place of a substitution
_EMBEDDING = re.compile(
    r"<(?:img|source|video|audio|track|image|use|input|embed|object|link|script|iframe)\b", re.IGNORECASE
)
_EMBEDDED = REQUISITE - {Role.CSS_URL}
# Substitutions of JavaScript, Mustache, Angular, Vue and EJS
_COMPOSED = re.compile(rf"{_HOLE}|[{{}}]|<%|\[\[|\$\{{")
_TEMPLATE_TYPE = re.compile(r"template|handlebars|mustache|tmpl|^text/html$", re.IGNORECASE)


def markup_links(text: str, page: str) -> list[Link]:
    """Return what markup in a script embeds: addresses that are written whole."""
    return links_of(page, _markup_references(text))


def _markup_references(text: str) -> Iterator[Reference]:
    from adaptc.formats.html.document import parse
    from adaptc.formats.html.references import references

    if _EMBEDDING.search(text):
        for each in references(parse(text, spans=False)):
            if each.role in _EMBEDDED and not _COMPOSED.search(each.url):
                yield Reference(each.role, each.url, _MARKUP, 1, 1)


def is_markup_type(kind: str | None) -> bool:
    """Whether a script element with this ``type`` holds a template, whose text is markup."""
    return kind is not None and _TEMPLATE_TYPE.search(kind) is not None


def _templates(script: Script) -> Iterator[str]:
    """Yield the texts of templates, a hole in the place of each substitution; strings may be parts of anything."""
    pending: list[list[str]] = []
    for text, kind in zip(script.tokens, script.kinds, strict=True):
        if kind is not Kind.TEMPLATE:
            continue
        if text[0] == "`":
            pending.append([])
        pending[-1].append(string_content(text))
        if text[-1] == "`":
            yield _HOLE.join(pending.pop())


# ---- tokens


def _string(script: Script, place: int) -> str | None:
    """Return the content of a string that is a whole argument, or ends its statement."""
    text = script.token(place)
    if not text or not is_string(text, script.kinds_of[text]):
        return None
    return None if script.token(place + 1) in ("+", ".", "?") else unescape(text[1:-1])
