"""Whether the HTML of a prerendered page holds what a visitor sees, or waits for its scripts, or for some of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, preloads_script, script_source
from adaptc.compile.page.sheets import sheet_text, sheets_with_bases
from adaptc.compile.passes.prerendered.hydration import Hydration, imported_urls
from adaptc.compile.passes.prerendered.vitepress import written_outlines
from adaptc.compile.view import View
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.values import dataclass, replace
from adaptc.formats.css.prune import prune_sheets
from adaptc.formats.html.cascade import Cascade, PageMatches
from adaptc.formats.html.forms import control_type, find_forms
from adaptc.formats.html.landmarks import find_landmarks
from adaptc.formats.html.visible_text import content_length, fold_space
from adaptc.formats.script import is_module_type
from adaptc.formats.script.facts import SCRIPT
from adaptc.formats.script.script import Script

if TYPE_CHECKING:
    from turbohtml import Document, Element

# ---- Whether the HTML of a page lacks what scripts bring, as far as nobody looked at it

# Lists that wait for their items, headings that wait for their words, and what stands where content comes
_FILLED = "ul, ol, tbody, dl, [role=list], [role=feed], [role=rowgroup], h1, h2, h3, h4, h5, h6"
_WAITING = "[class*=skeleton i], [class*=shimmer i], [role=progressbar], [aria-busy=true]"
_CLIENT_ONLY = "<!--$!-->"  # React: a boundary whose content a browser renders
# What hides an element that keeps its place
_EFFECTS = ("opacity", "visibility")
_FADING = frozenset({*_EFFECTS, "transform"})
_LOADING_TEXT = re.compile(r"(?:loading|please wait)\W*", re.IGNORECASE)


def absence_reason(tree: Document, selector: str, sheets: Sequence[str]) -> str | None:
    """Return what of a page is not in its HTML, by the marks that frameworks and authors leave where it comes."""
    root = tree.select_one(selector)
    if root is None:
        return None
    if root.select_one(_WAITING) is not None or _CLIENT_ONLY in root.inner_html:
        return "a script writes a part of it"
    empty = [each for each in root.select(_FILLED) if not each.text.strip() and each.select_one("*") is None]
    if any(re.fullmatch("h[1-6]", each.tag) for each in empty):
        return "a script writes a heading of it"
    if empty and not written_outlines(tree).issuperset(empty):
        return "a script fills a list of it"
    if any(_LOADING_TEXT.fullmatch(fold_space(each.text).strip()) for each in root.select("p, div, span")):
        return "it says that it loads"
    return "a script fades a part of it in" if _has_faded_parts(tree, root, sheets) else None


def _has_faded_parts(tree: Document, root: Element, sheets: Sequence[str]) -> bool:
    """Whether something in the flow of a page takes its place, but is transparent or hidden until a script shows it."""
    cascade = Cascade(tree, sheets)
    inside = [each for each in cascade.hidden_by(*_EFFECTS) if root in (each, *each.ancestors)]
    return any(_is_faded(cascade, each) for each in inside)


def _is_faded(cascade: Cascade, element: Element) -> bool:
    width = _WIDTHS[-1]
    hiding = cascade.hiding(element, width)
    is_opened = any(cascade.is_shown_by_state(element, name) for name in hiding)
    is_over = cascade.value(element, "position", width) in ("absolute", "fixed")
    return (
        bool(hiding) and set(hiding) <= _FADING and not is_opened and not is_over and content_length(element) >= _LEAST
    )


# Addresses in calls that fetch, but for those that send something
_CALL = re.compile(
    r"""(?:(?<![\w$.])(?:(?:window|self|globalThis)\.)?(?:\$?fetch|useFetch|EventSource|WebSocket|axios)"""
    r"""|\.(?:get|getJSON|load|ajax)(?=\(["`](?:https?:/)?/\w)|\.open(?=\("GET",))"""
    r"""\((?>(?:"GET",)?)(["`])((?>(?:(?!\1)[^\n])*))\1?+(?!,\{(?:[^{}]|\{[^{}]*\})*?method:"[PD])"""
)
# What frameworks fetch for the next page, search boxes for their index, and links to a repository for its stars
_OF_FRAMEWORKS = re.compile(
    r"_next/|_nuxt/|_app/|_payload\.js|page-data/|hashmap\.json|builds/meta|bundle-graph|api\.github\.com/repos|search|lunr|pagefind|\.(?:wasm|svg|woff2?)\Z"
)
# A value in a template
_VALUE = re.compile(r"\$\{[^{}]*+(?:\}|\Z)")


def _fetched_addresses(text: str) -> frozenset[str]:
    """Return the addresses that a script fetches data from: of each the first literal part with a letter or digit."""
    found = (_VALUE.split(match[2]) for match in _CALL.finditer(Script(text).code))
    others = (parts for parts in found if not _OF_FRAMEWORKS.search("".join(parts)))
    return frozenset(next((part for part in parts if re.search(r"\w", part)), "") for parts in others) - {""}


_FETCHED = FactKind("fetched addresses", _fetched_addresses, frozenset[str]())


def fetching_reason(hydration: Hydration, page: PageContext, view: View) -> str | None:
    """Return which data the scripts that hydrate a page fetch, which are not in its HTML, if they do."""
    addresses = sorted(held_facts(_FETCHED, hydration, page, view))
    return f"a script fetches what it may show: {addresses[0]}" if addresses else None


_SHEET = re.compile(r"""(?<=["'`])[^\s"'`<>{}$]*\.css(?=["'`?])""")


def _sheets(text: str) -> frozenset[str]:
    return frozenset(_SHEET.findall(text))


_SHEETS = FactKind("sheets that scripts name", _sheets, frozenset[str]())


def styling_reason(hydration: Hydration, page: PageContext, view: View, tree: Document) -> str | None:
    """Return which sheet that the page does not have changes it once a script that hydrates it loads that, if any.

    Loaders of modules have the sheets of a part next to its modules, and fetch parts of other pages ahead.
    """
    matches, sheets = PageMatches(tree), list(sheets_with_bases(tree, page.base, view))
    own, linked = "".join(_bare(text) for text, _ in sheets), {url for _, url in sheets}
    for path in sorted(set(_loaded_sheets(hydration, page, view))):
        if view.url_of(path) in linked:
            continue
        used = prune_sheets((sheet_text(view.artifact(path)),), matches)[0]
        if _bare(used) not in own:
            return f"a script may load a sheet that changes it: {path}"
    return None


def _loaded_sheets(hydration: Hydration, page: PageContext, view: View) -> Iterator[str]:
    """Yield the sheets that scripts of the page's hydration name: by themselves, its base or the root."""
    for url in hydration.urls():
        script = view.follow(page.base, url).path
        if script is not None and view.media_type(script) == media.JS:
            bases = (view.url_of(script), page.base, view.url_of(""))
            for name in view.facts(_SHEETS, view.artifact(script)):
                found = (view.follow(base, name).path for base in bases)
                yield from (path for path in found if path is not None and view.media_type(path) == media.CSS)


def _bare(sheet: str) -> str:
    return re.sub(r"[\s;]", "", sheet)


def held_facts(kind: FactKind[frozenset[str]], hydration: Hydration, page: PageContext, view: View) -> frozenset[str]:
    """Return the facts of one kind of all scripts that hydrate a page."""
    kept = {script_source(each, page.base, view) for each in hydration.others}
    scripts = [source for source in page.scripts if source not in kept]
    scripts += _loaded_scripts(hydration, page, view)
    return frozenset[str]().union(*(view.facts(kind, source) for source in scripts))


def _loaded_scripts(hydration: Hydration, page: PageContext, view: View) -> Iterator[bytes]:
    """Yield the scripts that a page loads with those it names: what is preloaded, and those of islands."""
    urls = [link.attr("href") or "" for link in filter(preloads_script, hydration.hints)]
    paths = {view.follow(page.base, url).path for url in (*urls, *hydration.island_urls())}
    for path in sorted(path for path in paths if path is not None and view.media_type(path) == media.JS):
        yield view.artifact(path)


def held_imports(hydration: Hydration, page: PageContext, view: View) -> list[str]:
    """Return what a browser saw the page load by its scripts, without what runs in any case, or that this loads."""
    if page.evidence is None:
        return []
    own = set[str | None]()
    for script in hydration.others:
        path = view.follow(page.base, script.attr("src") or "").path if "src" in script.attrs else None
        if source := script_source(script, page.base, view):
            base = page.base if path is None else view.url_of(path)
            own.update((path, *_imported_modules(view.facts(_MODULE, source), base, view)))
    return not_asked_for((path for path in page.evidence.loaded if path not in own), hydration, page, view)


def not_asked_for(paths: Iterable[str], hydration: Hydration, page: PageContext, view: View) -> list[str]:
    """Return those of ``paths`` that no script asks for by name which runs before a visitor uses the page."""
    sources = (script_source(script, page.base, view) for script in hydration.others)
    running = [view.facts(SCRIPT, source) for source in sources if source]
    return [path for path in paths if not any(facts.names_file(path, page.root) for facts in running)]


# ---- Modules that say where a visitor is: a custom element that writes the heading which he reads, as he scrolls
# The first such text would be wrong further down. In pages of components (Astro) such a module is a small file.

_DEFINED = re.compile(r"""\bcustomElements\.define\(\s*["'`]([a-z][^"'`\s]*-[^"'`\s]*)["'`]""")
_OBSERVES = re.compile(r"\bnew IntersectionObserver\b")
_WRITES = re.compile(r"\.(?:textContent|innerText)\s*=(?![=>])")


@dataclass(frozen=True, slots=True)
class _Module:
    """The custom elements that a module defines, the addresses that it imports, and what it does."""

    elements: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    observes: bool = False
    writes: bool = False


def _module_of(text: str) -> _Module:
    found = frozenset(_DEFINED.findall(text)), frozenset(imported_urls(text))
    return _Module(*found, bool(_OBSERVES.search(text)), bool(_WRITES.search(text)))


_MODULE = FactKind("modules of custom elements", _module_of, _Module())


def let_followers_run(hydration: Hydration, tree: Document, page: PageContext, view: View) -> Hydration:
    """Return the hydration without the modules of custom elements of the page that write a text as it is scrolled.

    They are among its ``others`` then. What they import runs with them; a script of it that waits runs no second time.
    """
    running = [each for each in hydration.scripts if _follows_scrolling(each, tree, page, view)]
    if not running:
        return hydration
    sources = {each.attr("src") for each in running} - {None}
    return replace(
        hydration,
        scripts=tuple(each for each in hydration.scripts if each not in running),
        hints=tuple(each for each in hydration.hints if each.attr("href") not in sources),
        others=(*hydration.others, *running),
    )


def _follows_scrolling(script: Element, tree: Document, page: PageContext, view: View) -> bool:
    source = script_source(script, page.base, view) if is_module_type(script.attr("type")) else None
    if not source:
        return False
    own, url = view.facts(_MODULE, source), script.attr("src")
    path = None if url is None else view.follow(page.base, url).path
    imported = _imported_modules(own, page.base if path is None else view.url_of(path), view) if own.elements else {}
    parts = (own, *imported.values())
    return (
        any(tree.find(name) is not None for name in own.elements)
        and any(each.observes for each in parts)
        and any(each.writes for each in parts)
    )


def _imported_modules(module: _Module, base: str, view: View) -> dict[str, _Module]:
    """Return the modules of the site that a module imports, and those that they import, by path."""
    found: dict[str, _Module] = {}
    waiting = [(module, base)]
    while waiting:
        importing, base = waiting.pop()
        paths = {view.follow(base, url).path for url in importing.imports}
        for path in sorted(path for path in paths if path is not None and path not in found):
            if view.media_type(path) == media.JS:
                found[path] = view.facts(_MODULE, view.artifact(path))
                waiting.append((found[path], view.url_of(path)))
    return found


# ---- Whether the HTML of a page holds what a visitor reads, or waits for a script to write it

# Characters of the main content that a page has at least, or half of them with a headline and a picture; a shell has
# "Loading", an error page "404 Not found"
_LEAST = 60
# React's mark of a part that it leaves to the browser, islands without content, and parts that say that they load
_UNWRITTEN = "template[data-dgst=BAILOUT_TO_CLIENT_SIDE_RENDERING], astro-island[client=only]"
_LOADING = "[aria-busy=true]"
_WIDTHS = (412, 1280)
_TYPED = frozenset({
    "text", "email", "password", "tel", "url", "number", "date", "time", "datetime-local", "month", "week", "file",
    "textarea", "select",
})  # fmt: skip


SHORT = "its HTML holds hardly any text"


def dependence_reason(tree: Document, selector: str, sheets: Sequence[str], least: int = _LEAST) -> str | None:
    """Return why the part of a page that ``selector`` selects needs its scripts to be read or sent, if it does.

    The main content has at least ``least`` characters.
    """
    root = tree.select_one(selector)
    if root is None:
        return "its HTML does not have the element that scripts fill"
    main = _main_content(tree, root)
    # a home page may be a headline, a picture and a line of text
    is_titled = main.select_one("h1") is not None and main.select_one("img") is not None
    if content_length(main) < (min(least, _LEAST // 2) if is_titled else least):
        return SHORT
    if root.select_one(_UNWRITTEN) is not None or main.select_one(_LOADING) is not None:
        return "a script writes a part of it"
    if main.select_one("canvas") is not None:
        return "a script draws a part of it"
    if _has_scripted_form(tree, main):
        return "a script sends its form"
    return "it is hidden until a script shows it" if _is_hidden(tree, root, sheets) else None


def _main_content(tree: Document, root: Element) -> Element:
    """Return the main content: in a shell it is marked and empty, and the text of the page is in its header."""
    marked = root.select("main, [role=main]")
    main = max(marked, key=content_length) if marked else find_landmarks(tree).main
    return main if main is not None and root in (main, *main.ancestors) else root


def _has_scripted_form(tree: Document, main: Element) -> bool:
    """Whether the main content has a form without an action, with several fields to fill in, or one for much text.

    That of a search or a newsletter has a single field: the page can be read without.
    """
    kinds: dict[Element, list[str]] = {
        form: [] for form in main.select("form") if not (form.attr("action") or "").strip()
    }
    for control, form in find_forms(tree).owner.items():
        if form in kinds:
            kinds[form].append(control_type(control))
    return any(sum(kind in _TYPED for kind in each) > 1 or "textarea" in each for each in kinds.values())


def _is_hidden(tree: Document, root: Element, sheets: Sequence[str]) -> bool:
    from turbohtml import Element

    cascade = Cascade(tree, sheets)
    lineage = [root, *(each for each in root.ancestors if isinstance(each, Element))]
    return any("display" in cascade.hiding(each, width) for each in lineage for width in _WIDTHS)
