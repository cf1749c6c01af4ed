"""What the pages of a site say of it: under which URL it is published, and which framework made it.

Project pages are at user.github.io/repository/.

Their addresses that begin with a slash lead to files below that path, none of which are where the docroot would have
them. What the pages are sure of is read; else the user has to say it (``site.base_url``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from pathlib import Path

from adaptc.core.urls import NOWHERE, host_and_path, unquote_path
from adaptc.core.values import dataclass, pattern
from adaptc.site.site import PAGE_SUFFIX

# Pages that are read, bytes of each, and addresses that are enough to tell
_PAGES, _BYTES, _FEWEST = 12, 1 << 18, 3
# The share of the addresses below a path that must lead to a file, but for one of several, as a missing icon,
# and the share where a page declares that its own address is below the path; and the most steps that a path has
_SURE, _SEVERAL, _SURE_IF_DECLARED, _STEPS = 0.9, 6, 0.5, 3
_ADDRESS = pattern(r"""\s(?:href|src|action)\s*=\s*(?:"(/[^"]*)"|'(/[^']*)'|(/[^\s>"']*))""", re.IGNORECASE)
_DECLARED = pattern(r"<(?:link\b[^>]*\brel=[\"']?canonical\b|meta\b[^>]*\bproperty=[\"']?og:url\b)[^>]*", re.IGNORECASE)
_ABSOLUTE = pattern(r"""\s(?:href|src|action)\s*=\s*["']?(https?://[^"'\s>]+)""", re.IGNORECASE)
_URL = pattern(r"""\b(?:href|content)=["']?(https?://[^"'\s>]+)""", re.IGNORECASE)


def find_base_url(docroot: Path, index_names: Iterable[str]) -> str | None:
    """Return the URL under which a docroot is published, as far as its pages need it to be known.

    That is where it is not at the root of its host, and where pages name its files with their host. The host is that
    of the address that a page gives for itself (``rel=canonical``, ``og:url``), or made up. ``None`` where addresses
    lead to files as they are, or do not agree, and where nothing can be read.
    """
    names = tuple(index_names)
    pages = dict(_sample(docroot, names))
    return _of_paths(docroot, pages, names) or _of_hosts(docroot, pages, names)


def _of_paths(docroot: Path, pages: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return the URL of a docroot by addresses that begin with a slash, and lead nowhere as they are."""
    written = {path for text in pages.values() for path in _root_relative(text)}
    missing = {path for path in written if not _leads_somewhere(docroot, path, names)}
    if len(missing) < _FEWEST or 2 * len(missing) < len(written):
        return None
    for steps in range(1, _STEPS + 1):
        prefix = _commonest(missing, steps)
        below = {path for path in missing if path.startswith(prefix)} if prefix else set()
        led = sum(_leads_somewhere(docroot, path[len(prefix) - 1 :], names) for path in below)
        if len(below) < _FEWEST or 2 * len(below) < len(written):
            continue
        declared = next(filter(None, (_declared(page, text, prefix) for page, text in pages.items())), None)
        enough = min(_SURE * len(below), len(below) - (len(below) >= _SEVERAL))
        if led >= (_SURE_IF_DECLARED * len(below) if declared else enough):
            return declared or NOWHERE.rstrip("/") + prefix
    return None


def _of_hosts(docroot: Path, pages: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return the URL of a docroot whose pages name its files with their host, as Hugo's ``absURL`` does.

    A page declares it by its own address; those of pages themselves (``rel=canonical``) say nothing more.
    """
    written = {unescape(url) for text in pages.values() for url in _ABSOLUTE.findall(_DECLARED.sub("", text))}
    for page, text in pages.items():
        for base in _declared_bases(page, text):
            below = {re.split(r"[?#]", url[len(base) - 1 :])[0] for url in written if url.startswith(base)}
            led = sum(_leads_somewhere(docroot, unquote_path(path), names) for path in below)
            if len(below) >= _FEWEST and led >= _SURE_IF_DECLARED * len(below):
                return base
    return None


def _declared_bases(page: str, text: str) -> Iterator[str]:
    """Yield the URLs below which a page lies where what it gives as its own address says."""
    for element in _DECLARED.findall(text):
        for url in _URL.findall(element):
            scheme, _, rest = re.split(r"[?#]", unescape(url))[0].partition("://")
            host, _, path = rest.partition("/")
            for own in (page, page.removesuffix(PAGE_SUFFIX), page.removesuffix("index.html")):
                place = f"/{path}".rstrip("/") + ("/" if not own or own.endswith("/") else "")
                prefix = place.removesuffix(own)
                if place.endswith(f"/{own}") and prefix.count("/") <= _STEPS + 1:
                    yield f"{scheme.lower()}://{host.lower()}{prefix}"
                    break


def _sample(docroot: Path, index_names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of some pages: those in the docroot itself, then one of each directory below it."""
    found = 0
    for directory in ("", *_names(docroot, lambda entry: entry.is_dir() and not entry.name.startswith("."))):
        pages = [*index_names, *_names(docroot / directory, lambda entry: entry.name.endswith(PAGE_SUFFIX))]
        for name in dict.fromkeys(pages) if not directory else dict.fromkeys(pages[: len(index_names) + 1]):
            text = _read(docroot / directory / name)
            if text is not None:
                yield f"{directory}/{name}".lstrip("/"), text
                found += 1
            if found == _PAGES:
                return


def _names(directory: Path, is_wanted: Callable[[os.DirEntry[str]], bool]) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if is_wanted(entry))
    except OSError:
        return []


def _read(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _root_relative(text: str) -> Iterator[str]:
    """Yield the paths of addresses that begin with one slash."""
    for groups in _ADDRESS.findall(text):
        path = re.split(r"[?#]", unescape("".join(groups)))[0]
        if not path.startswith("//") and path != "/":
            yield unquote_path(path)


def _leads_somewhere(docroot: Path, path: str, index_names: tuple[str, ...]) -> bool:
    relative = path.strip("/")
    if {"..", "."} & set(relative.split("/")) or "\0" in relative:
        return False
    place = os.path.join(docroot, relative)
    if os.path.isdir(place):
        return any(os.path.isfile(os.path.join(place, name)) for name in index_names)
    return os.path.isfile(place) or os.path.isfile(place + PAGE_SUFFIX)


def _commonest(paths: Iterable[str], steps: int) -> str:
    """Return the path of so many steps, which ends in a slash, below which most paths are; ``""`` without one."""
    counts: dict[str, int] = {}
    for path in paths:
        parts = path.split("/")[1:]
        if len(parts) > steps or (len(parts) == steps and parts[-1]):
            prefix = "/" + "/".join(parts[:steps]) + "/"
            counts[prefix] = counts.get(prefix, 0) + 1
    return max(counts, key=lambda prefix: (counts[prefix], prefix), default="")


def _declared(page: str, text: str, prefix: str) -> str | None:
    """Return the URL of the site by what a page gives as its own address, if that is below ``prefix``."""
    shorter = page.removesuffix("index.html"), page.removesuffix(PAGE_SUFFIX), page
    for element in _DECLARED.findall(text):
        for url in _URL.findall(element):
            host, path = host_and_path(unescape(url))
            if host and path.rstrip("/") in {(prefix + each).rstrip("/") for each in shorter}:
                return f"{url.partition('://')[0].lower()}://{host}{prefix}"
    return None


# ---- Which framework made a site, and whether its pages hold what they show

# By what its pages have, rendered or not: a pattern, and the strings of which each match has one, which are searched a
# hundred times as fast. The first that matches
_FRAMEWORKS = {
    "Docusaurus": (("__docusaurus",), r"\bid=[\"']?__docusaurus\b"),
    "Gatsby": (("___gatsby",), r"\bid=[\"']?___gatsby\b"),
    "Next.js": (("__NEXT_DATA__", "self.__next_"), r"\bid=[\"']?__NEXT_DATA__\b|\bself\.__next_[fs]\b"),
    "Nuxt": (("__nuxt",), r"\bid=[\"']?__nuxt\b"),
    "VitePress": (("VitePress",), r"<meta[^>]+content=[\"']?VitePress\b"),
    "VuePress": (("VuePress",), r"<meta[^>]+content=[\"']?VuePress\b"),
    "SvelteKit": (("__sveltekit_", "data-sveltekit-"), r"\b__sveltekit_\w+\s*=|\bdata-sveltekit-"),
    "React Router": (("window.__re",), r"\bwindow\.__(?:remix|reactRouter)(?:Context|Manifest)\b"),
    "Angular": (("-root", "ng-version=", "ng-server-context="), r"<\w[\w-]*-root\b|\bng-(?:version|server-context)="),
    "Astro": (
        ("<astro-island", "Astro v", "/_astro/"),
        r"<astro-island\b|<meta[^>]+content=[\"']?Astro v|<script\b[^>]*\bsrc=[\"']?[^\"'\s>]*/_astro/",
    ),
    "Material for MkDocs": (("mkdocs-material",), r"<meta[^>]+content=[\"']?[^\"'>]*\bmkdocs-material\b"),
    "Flutter": (("flutter_bootstrap.js", "main.dart.js"), r"\b(?:flutter_bootstrap|main\.dart)\.js\b"),
    "Blazor": (("_framework/blazor.",), r"\b_framework/blazor\."),
    "Create React App": (("static/js/main.",), r"\bstatic/js/main\.[0-9a-f]{8}\."),
    "Vue CLI": (("js/chunk-vendors.",), r"\bjs/chunk-vendors\.[0-9a-f]{8}\.js\b"),
    "Vite": (
        ("module",),
        r"<script\b[^>]*\btype=[\"']?module\b[^>]*\bsrc=[\"']?[^\"'\s>]*-[\w-]{8}\.js\b",
    ),
}
# Any other: what React, Vue, Svelte, Solid, Lit and Qwik leave in pages that they rendered, to find their parts again,
# the id of what they rendered, or of its state ("__next", "vike_pageContext"), and that of Inertia, TanStack and Waku
_HYDRATABLE = re.compile(
    r"""<!--(?:\[[!-]?|\$\??|lit-part\b[^>]*)-->|\s(?:data-hk|data-reactroot|data-ssr-id)\b|\sq:container="""
    r"""|<(?:div|script)\b[^>]*\sid=["']?(?:__\w|vike_)|\sdata-page=["']?\{|\$_TSR\b|\b__WAKU_"""
)
_HYDRATABLE_MARKS = (
    "<!--[", "<!--$", "<!--lit-part", "data-hk", "data-reactroot", "data-ssr-id", "q:container=", "id=__", 'id="__',
    "id='__", "id=vike_", 'id="vike_', "data-page=", "$_TSR", "__WAKU_",
)  # fmt: skip
_UNREAD = pattern(
    r"<(script|style|template|noscript|svg|title|head)\b[\s\S]*?</\1\s*>|<!--[\s\S]*?-->|<[^>]*>", re.IGNORECASE
)
_SCRIPT = pattern(r"<script\b[^>]*\bsrc\s*=", re.IGNORECASE)
# Characters of text that a page has at least that is rendered; a shell has "Loading", or asks to enable scripts
_FEWEST_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class App:
    """A framework's site: the ``name`` of what made it, and whether its pages hold their words (``is_rendered``).

    As text it says so, as in ``adaptc build``.
    """

    name: str
    is_rendered: bool

    def __str__(self) -> str:
        if self.is_rendered:
            return f"{self.name}, prerendered: at levels unhydrated and deferred its scripts wait for visitors"
        return (
            f"{self.name}, whose pages are written by scripts: add --browser, so that levels without scripts have "
            "their words; without it these levels are as the level above"
        )


def find_app(docroot: Path, index_names: Iterable[str]) -> App | None:
    """Return what application most of the sampled pages of a docroot are, ``None`` if they are none.

    Its error pages may be short: it holds its words if one of its pages does. What Vite and others bundled for pages
    that do is no application.
    """
    texts = [text for _, text in _sample(docroot, tuple(index_names))]
    named = [(name, text) for text in texts for name in [_framework_of(text)] if name is not None]
    if not named or 2 * len(named) <= len(texts):
        return None
    names = [name for name, _ in named]
    name = max(names, key=names.count)
    is_rendered = any(_characters(text) >= _FEWEST_CHARACTERS for _, text in named)
    return None if is_rendered and name in _BUNDLED else App(name, is_rendered)


def level_for_hosts(docroot: Path, index_names: Iterable[str]) -> str:
    """Return the level that is published on hosts that only send files, where nobody names one."""
    app = find_app(docroot, index_names)
    return "deferred" if app is not None and app.is_rendered else "web"


# They render no pages when a site is built
_BUNDLED = frozenset({"Vite", "Vue CLI", "Create React App", "Flutter", "Blazor"})


def _framework_of(text: str) -> str | None:
    """Return the framework of a page, ``None`` for others; what has no words and runs scripts is an application."""
    name = next((name for name, mark in _FRAMEWORKS.items() if has_mark(text, *mark)), None)
    has_scripts = name in {None, *_BUNDLED} and _SCRIPT.search(text) is not None
    is_app = has_scripts and (is_hydratable(text) or (name is None and not _characters(text)))
    return "An application" if is_app else name


def is_hydratable(text: str) -> bool:
    """Whether a page has what a framework leaves in pages that it rendered, to hydrate them."""
    return has_mark(text, _HYDRATABLE_MARKS, _HYDRATABLE)


def has_mark(text: str, strings: Iterable[str], pattern: str | re.Pattern[str]) -> bool:
    """Whether a text has a match of ``pattern``, of which each holds one of ``strings``."""
    return any(each in text for each in strings) and re.search(pattern, text) is not None


def _characters(text: str) -> int:
    return len("".join(_UNREAD.sub(" ", text).split()))
