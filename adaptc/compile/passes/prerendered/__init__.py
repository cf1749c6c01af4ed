"""prerendered: pages that a framework rendered when the site was built, without the scripts that render them again."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from adaptc.compile.page.context import KEPT, PageContext, Report, preloads_script, script_source
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.passes.prerendered.controls import disable_controls
from adaptc.compile.passes.prerendered.hidden import show_hidden
from adaptc.compile.passes.prerendered.hydration import Hydration, find_framework, inline_code
from adaptc.compile.passes.prerendered.loading import load_lazy_images
from adaptc.compile.view import Options, View
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.model import Action
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.class_names import class_names
from adaptc.formats.html.document import parse_bare
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.forms import Forms, control_type, find_forms
from adaptc.formats.html.landmarks import find_landmarks
from adaptc.formats.html.static_text import has_streamed_parts, place_streamed_parts, streamed_parts
from adaptc.formats.html.syntax import attribute_markup
from adaptc.formats.html.visible_text import content_length, fold_space
from adaptc.formats.script.facts import SCRIPT
from adaptc.formats.script.names import LikelyNames, Names
from adaptc.formats.script.script import Script

if TYPE_CHECKING:
    from turbohtml import Document, Element

NAME = "prerendered"
_OTHER = "without scripts, a browser does not show the same"


def adapt_prerendered(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Remove the hydration of a page whose HTML can be read and used as it is (``hydration``: "keep" or "drop").

    What only its scripts show is shown, as at levels without scripts, and their controls are disabled. Other scripts
    stay, and so do the controls that they name. A page that a browser saw keeps its hydration unless it shows the same
    without scripts.
    """
    framework = find_framework(editor.tree) if options["hydration"] == "drop" and page.has_scripts else None
    if framework is None:
        return Report()
    hydration = Hydration.of(editor.tree, framework)
    if not hydration.scripts:
        return Report()
    sheets = screen_sheets(editor.tree, page.base, view)
    is_other = page.evidence is not None and not page.evidence.is_same_without_scripts
    reason = _OTHER if is_other else dependence_reason(_streamed_tree(editor), framework.root, sheets)
    if not reason and page.evidence is None:
        reason = absence_reason(_streamed_tree(editor), framework.root) or _fetching_reason(hydration, page, view)
    if reason:
        return Report([Action(NAME, KEPT, f"hydration by {framework.name}", reason)])
    names = LikelyNames([*_script_names(hydration.others, page, view)])
    roots = hydration.islands or editor.tree.select(framework.root)[:1]
    actions = _adapt(editor, Scope(roots, names), sheets)
    hydration.remove(editor)
    removed = Action(NAME, "removed", f"hydration by {framework.name}", count=len(hydration.scripts))
    return Report([removed, *actions], drops_scripts=True)


def _fetching_reason(hydration: Hydration, page: PageContext, view: View) -> str | None:
    """Return which data the scripts that hydrate a page fetch, which are not in its HTML, if they do."""
    kept = {script_source(each, page.base, view) for each in hydration.others}
    scripts = [source for source in page.scripts if source not in kept]
    scripts += _loaded_scripts(hydration, page, view)
    addresses = sorted(frozenset[str]().union(*(view.facts(_FETCHED, source) for source in scripts)))
    return f"a script fetches what it may show: {addresses[0]}" if addresses else None


def _adapt(editor: Editor, scope: Scope, sheets: Sequence[str]) -> Iterator[Action]:
    if count := write_outline(editor):
        yield Action(NAME, "written", "links to headings of the page", count=count)
    for subject, count in lost_functions(editor.tree, scope.is_hydrated):
        yield Action(NAME, "lost", subject, "it needs the removed scripts", count)
    streamed = streamed_parts(editor.tree) if has_streamed_parts(editor.text) else frozenset()
    shown = show_hidden(editor, sheets, lambda element: element not in streamed and scope.is_hydrated(element))
    for verb, subject, count in (
        ("loaded", "images that a script would load", load_lazy_images(editor) + show_images(editor, scope.roots)),
        ("shown", "what a script would show", shown.count),
        ("settled", "buttons that only scripts listen to", disable_controls(editor, shown.openers, scope.is_hydrated)),
    ):
        if count:
            yield Action(NAME, verb, subject, count=count)


def _streamed_tree(editor: Editor) -> Document:
    """Return the tree of the page once inline scripts, which stay, have moved its streamed parts."""
    return parse_bare(place_streamed_parts(editor.text)) if has_streamed_parts(editor.text) else editor.tree


def _script_names(scripts: Sequence[Element], page: PageContext, view: View) -> Iterator[Names]:
    """Yield the names of scripts that are known; those of other sites serve no control of the framework's."""
    for script in scripts:
        facts = view.facts(SCRIPT, script_source(script, page.base, view) or "")
        yield from (facts.names, Names(facts.handles.ids | facts.handles.classes))


# ---- Images that wait for hydration, with a copy in ``<noscript>``: those of Next.js 10 to 12, Gatsby, Nuxt Image


def show_images(editor: Editor, roots: Sequence[Element]) -> int:
    """Put the copies in the place of images that show nothing; returns their number."""
    count = 0
    for noscript in (each for root in roots for each in root.select("noscript")):
        waiting = _previous_image(noscript)
        if waiting is None or noscript.select_one("img") is None:
            continue
        if (waiting.attr("src") or "").startswith("data:") and "data-src" not in waiting.attrs:
            editor.remove_element(waiting)
            editor.replace_element(noscript, noscript.inner_html)
            count += 1
    return count


def _previous_image(noscript: Element) -> Element | None:
    from turbohtml import Element

    previous = next((each for each in noscript.previous_siblings if isinstance(each, Element)), None)
    return previous if previous is not None and previous.tag == "img" else None


# ---- The part of a page that a framework serves: where controls do nothing once it is not hydrated


@dataclass(frozen=True, slots=True)
class Scope:
    """The elements that are hydrated, by their ``roots``; ``names`` are those that the page's other scripts know."""

    roots: Sequence[Element]
    names: Container[str]

    def is_hydrated(self, element: Element) -> bool:
        """Whether an element is in such a part, and no other script knows its id or one of its classes."""
        return self._is_inside(element) and not any(name in self.names for name in _names(element))

    def _is_inside(self, element: Element) -> bool:
        lineage = {element, *element.ancestors}
        return any(root in lineage for root in self.roots)


def _names(element: Element) -> list[str]:
    return [*class_names(element), *filter(None, [element.attr("id")])]


# ---- What visitors lose when a page is not hydrated

_SEARCH = re.compile(r"search|docsearch", re.IGNORECASE)
_THEME = re.compile(r"theme|appearance|color-?mode|colour|dark|light", re.IGNORECASE)
_COPY = re.compile(r"cop(?:y|ied)|clipboard", re.IGNORECASE)
_NAMING = ("class", "id", "aria-label", "title", "placeholder", "type", "name")
_BUTTONS = "button, [role=button], [role=switch], input[type=button]"


def lost_functions(tree: Document, is_lost: Callable[[Element], bool]) -> Iterator[tuple[str, int]]:
    """Yield what does not work without scripts, with its number, for the controls that ``is_lost`` is true for."""
    forms = find_forms(tree)
    fields = [each for each in tree.select("input, textarea") if is_lost(each) and not forms.is_working(each)]
    buttons = [each for each in tree.select(_BUTTONS) if is_lost(each) and not forms.is_working(each)]
    for name, pattern, controls in (
        ("search box", _SEARCH, [*fields, *buttons]),
        ("choice of theme", _THEME, buttons),
        ("button that copies", _COPY, buttons),
    ):
        if count := sum(pattern.search(_name(each)) is not None for each in controls):
            yield name, count


def _name(control: Element) -> str:
    return fold_space(" ".join([*(control.attr(name) or "" for name in _NAMING), control.text]))


# ---- The outline of a VitePress page, which a script writes from the headings of the second level

_OUTLINE = "ul.VPDocOutlineItem.root"
# The levels of headings that it has, where the site or the page sets others
_OUTLINE_LEVELS = re.compile(r"""outline\\*["']?:\s*(?:\\*["']deep|\[|\d|false|!1|\{[^{}]*level)""")


def write_outline(editor: Editor) -> int:
    """Write the links to the headings of a page where its outline waits for a script; returns their number."""
    headings = editor.tree.select(".VPDoc h2[id]")
    for box in editor.tree.select(".VPDocAsideOutline") if headings else ():
        outline = box.select_one(_OUTLINE)
        if outline is not None and is_empty(outline):
            scope = "".join(f" {attribute_markup(name, '')}" for name in outline.attrs if name.startswith("data-v-"))
            editor.append(outline, "".join(_outline_link(heading, scope) for heading in headings))
            editor.set_attribute(box, "class", " ".join([*class_names(box), "has-outline"]))
            return len(headings)
    return 0


def _outline_link(heading: Element, scope: str) -> str:
    anchor = heading.select_one(".header-anchor")
    title = fold_space(heading.text.removesuffix(anchor.text if anchor is not None else "")).strip()
    address = attribute_markup("href", "#" + quote(heading.attr("id") or ""))
    return (
        f"<li{scope}><a class=outline-link {address} {attribute_markup('title', title)}{scope}>{escape(title)}</a></li>"
    )


# ---- Whether the HTML of a page lacks what scripts bring, as far as nobody looked at it

# Lists that wait for their items, and what stands where content comes
_LISTS = "ul, ol, tbody, dl, [role=list], [role=feed], [role=rowgroup]"
_WAITING = "[class*=skeleton i], [class*=shimmer i], [role=progressbar], [aria-busy=true]"
_CLIENT_ONLY = "<!--$!-->"  # React: a boundary whose content a browser renders
_LOADING_TEXT = re.compile(r"(?:loading|please wait)\W*", re.IGNORECASE)


def absence_reason(tree: Document, selector: str) -> str | None:
    """Return what of a page is not in its HTML, by the marks that frameworks and authors leave where it comes."""
    root = tree.select_one(selector)
    if root is None:
        return None
    if root.select_one(_WAITING) is not None or _CLIENT_ONLY in root.inner_html:
        return "a script writes a part of it"
    outlines = frozenset(tree.select(_OUTLINE))
    lists = (each for each in root.select(_LISTS) if is_empty(each))
    if any(each not in outlines or _has_levels(tree) for each in lists):
        return "a script fills a list of it"
    if any(_LOADING_TEXT.fullmatch(fold_space(each.text).strip()) for each in root.select("p, div, span")):
        return "it says that it loads"
    return None


def _has_levels(tree: Document) -> bool:
    return any(map(_OUTLINE_LEVELS.search, inline_code(tree)))


def is_empty(element: Element) -> bool:
    """Whether an element has neither text nor elements."""
    return not element.text.strip() and element.select_one("*") is None


# Addresses in calls that fetch, but for those that send something
_CALL = re.compile(
    r"""(?:(?<![\w$.])(?:(?:window|self|globalThis)\.)?(?:\$?fetch|useFetch|EventSource|WebSocket|axios)"""
    r"""|\.(?:get|getJSON|load|ajax)(?=\(["`](?:https?:/)?/\w)|\.open(?=\("GET",))"""
    r"""\((?:"GET",)?+(["`])((?:(?!\1)[^\n])*+)\1?+(?!,\{(?:[^{}]|\{[^{}]*\})*?method:"P)"""
)
# What frameworks fetch for the next page, and search boxes for their index
_OF_FRAMEWORKS = re.compile(
    r"_next/|_nuxt/|_app/|_payload\.js|page-data/|hashmap\.json|builds/meta|search|lunr|pagefind|\.(?:wasm|svg|woff2?)\Z"
)


def _fetched_addresses(text: str) -> frozenset[str]:
    """Return the literal addresses, or their beginnings, that a script fetches data from."""
    found = (match[2].partition("${")[0] for match in _CALL.finditer(Script(text).code))
    return frozenset(each for each in found if each and not _OF_FRAMEWORKS.search(each))


_FETCHED = FactKind("fetched addresses", _fetched_addresses, frozenset[str]())


def _loaded_scripts(hydration: Hydration, page: PageContext, view: View) -> Iterator[bytes]:
    """Yield the scripts that a page loads with those it names: what is preloaded, and the components of islands."""
    urls = [link.attr("href") for link in filter(preloads_script, hydration.hints)]
    urls += [island.attr("component-url") for island in hydration.islands]
    paths = {view.follow(page.base, url).path for url in urls if url}
    for path in sorted(path for path in paths if path is not None and view.media_type(path) == media.JS):
        yield view.artifact(path)


# ---- Whether the HTML of a page holds what a visitor reads, or waits for a script to write it

# Characters of the main content that a page has at least; a shell has "Loading", an error page "404 Not found"
_LEAST = 60
# React's mark of a part that it leaves to the browser, islands without content, and parts that say that they load
_UNWRITTEN = "template[data-dgst=BAILOUT_TO_CLIENT_SIDE_RENDERING], astro-island[client=only]"
_LOADING = "[aria-busy=true]"
_WIDTHS = (412, 1280)
_TYPED = frozenset({
    "text", "email", "password", "tel", "url", "number", "date", "time", "datetime-local", "month", "week", "file",
    "textarea", "select",
})  # fmt: skip


def dependence_reason(tree: Document, selector: str, sheets: Sequence[str]) -> str | None:
    """Return why the part of a page that ``selector`` selects needs its scripts to be read or sent, if it does."""
    root = tree.select_one(selector)
    if root is None:
        return "its HTML does not have the element that scripts fill"
    main = _main_content(tree, root)
    if content_length(main) < _LEAST:
        return "its HTML holds hardly any text"
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
    forms = find_forms(tree)
    return any(_is_scripted(form, forms) for form in main.select("form"))


def _is_scripted(form: Element, forms: Forms) -> bool:
    if (form.attr("action") or "").strip():
        return False
    kinds = [control_type(control) for control, owner in forms.owner.items() if owner == form]
    return sum(kind in _TYPED for kind in kinds) > 1 or "textarea" in kinds


def _is_hidden(tree: Document, root: Element, sheets: Sequence[str]) -> bool:
    from turbohtml import Element

    cascade = Cascade(tree, sheets)
    lineage = [root, *(each for each in root.ancestors if isinstance(each, Element))]
    return any("display" in cascade.hiding(each, width) for each in lineage for width in _WIDTHS)
