"""What passes know of a page: its source, its base URL, its scripts; and what each pass reports."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from adaptc.compile.view import View
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.model import Action
from adaptc.core.urls import Reach, document_base
from adaptc.core.values import dataclass, field, pattern, replace
from adaptc.formats.html.document import Page, markup_policies
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.references import base_element
from adaptc.formats.policy import Policy
from adaptc.formats.script import is_javascript_type, is_module_type
from adaptc.formats.script.facts import SCRIPT, ScriptFacts
from adaptc.formats.script.lookups import selects_file
from adaptc.site.header_rules import CSP, LINK
from adaptc.site.published import has_mark, is_hydratable

if TYPE_CHECKING:
    from turbohtml import Document, Element

    from adaptc.browser.evidence import PageEvidence


@dataclass(slots=True)
class Report:
    """The actions of a page pass.

    ``is_scriptless`` says that the page has no scripts any more, ``is_composed`` that it was written anew and is not to
    be edited. ``refusal`` is why a page cannot be composed. ``absorbed`` is the size in bytes of what browsers do not
    load any more and no reference of the markup leads to: fonts that are now part of the page, and what images of its
    CSS have less; and of markup that is there for time. ``held`` are the files that are not loaded with the page,
    though its markup or scripts name them; ``late`` are those that no script names but such as wait for a visitor.
    """

    actions: list[Action] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    is_scriptless: bool = False
    is_composed: bool = False
    refusal: str = ""
    absorbed: int = 0
    held: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()

    @property
    def has_changes(self) -> bool:
        """Whether the pass changed the page; actions that only explain why something stays do not count."""
        return any(action.verb != KEPT for action in self.actions)


@dataclass(frozen=True, slots=True)
class PageContext:
    """The page before any pass.

    ``root`` is the URL of the docroot, ``base`` the page's document base URL and ``base_path`` the docroot path of that
    URL (``None`` when the base is elsewhere). ``scripts`` are its scripts with their facts, inline ones as text and
    those from files of the site as the level has them; ``unseen_scripts`` are the addresses of its other scripts, whose
    texts are unknown.
    ``policy`` are the Content-Security-Policies of its markup and of its header fields. ``preloaded`` are the files
    that a header field has browsers fetch early. ``evidence`` is what a browser saw of it, if one looked.
    ``find_modules`` returns the files that its module scripts import, and scripts that it preloads, found once.
    """

    path: str
    page: Page
    root: str
    base: str
    base_path: str | None
    has_scripts: bool
    policy: Policy
    unseen_scripts: tuple[str, ...]
    scripts: Mapping[str | bytes, ScriptFacts]
    evidence: PageEvidence | None = None
    preloaded: frozenset[str] = frozenset()
    find_modules: Callable[[], Mapping[bytes, ScriptFacts]] = dict

    @property
    def has_policy(self) -> bool:
        """Whether a Content-Security-Policy forbids anything that a level may write into a page."""
        return bool(self.policy) and not self.policy.is_open

    def without_scripts(self) -> PageContext:
        """Return the context of the same page once its scripts are gone."""
        return replace(self, has_scripts=False, unseen_scripts=(), scripts={}, find_modules=dict)

    def names_in_scripts(self) -> frozenset[str]:
        """Return the words by which a script of the page may name an element (``ScriptFacts.quoted``)."""
        return frozenset[str]().union(*(facts.quoted for facts in self.scripts.values()))

    def introspection(self) -> str | None:
        """Return why the page's scripts may notice that one of them moved into the page, or ``None``.

        Scripts of other sites do not count: nearly every page has one (analytics, a library from a network of
        servers), and hardly any looks at how the page's own files came in.
        """
        reason = next((facts.introspection for facts in self.scripts.values() if facts.introspection), None)
        return reason and f"a script of the page may notice: {reason}"

    def selects_other_scripts(self) -> bool:
        """Whether a script of the page may look for others by their addresses."""
        return any(facts.selects_others for facts in self.scripts.values())

    def selects(self, name: str, address: str) -> bool:
        """Whether a script of the page looks for elements whose attribute ``name`` has such an ``address``."""
        return any(selects_file(facts.file_selectors, name, address) for facts in self.scripts.values())

    def looks_up(self, name: str) -> bool:
        """Whether a script of the page writes out the id, class or ``data-`` attribute ``name``.

        Scripts of other sites do not count: they are written for any page, and know no names of this one.
        """
        return any(name in facts.lookups for facts in self.scripts.values())

    def names_file(self, path: str, content: bytes | None = None) -> bool:
        """Whether a script of the page may ask for a file by its name, so that what moved into the page comes again.

        It writes out the name, or the parts of which a loader composes it. ``content`` is that of the file, if it is
        a script.
        """
        scripts = (*self.scripts.items(), *self.find_modules().items())
        return any(facts.names_file(path, self.root) for script, facts in scripts if script != content)

    def looks_for_sheets(self) -> bool:
        """Whether a script of the page looks for its style sheets, or for links and style elements."""
        return bool(_SHEETS_ARE_READ.search(self.page.text)) or any(
            facts.looks_for_sheets for facts in self.scripts.values()
        )

    def touches_addresses(self) -> bool:
        """Whether a script of the page may read or write the URLs of its images."""
        return bool(self.unseen_scripts) or any(facts.touches_addresses for facts in self.scripts.values())

    def changes_images(self) -> bool:
        """Whether a script of the site may change the addresses of images."""
        return any(facts.changes_images for facts in self.scripts.values())

    def draws_parts(self) -> bool:
        """Whether a script of the site may draw parts of images, by pixels of their files."""
        return any(facts.draws_parts for facts in (*self.scripts.values(), *self.find_modules().values()))

    def can_hold(self, text: str) -> bool:
        """Whether ``text`` can be written in the page: one that declares no encoding takes ASCII only."""
        if text.isascii():
            return True
        if not self.page.declared:
            return False
        return self.page.encoding.lower() == "utf-8" or _encodes(text, self.page.encoding)


# The attributes by which React 19 finds sheets that it keeps in order, and which turns on that Font Awesome reads them
_SHEETS_ARE_READ = pattern(r"\bdata-precedence=|\bdata-search-pseudo-elements\b")

KEPT = "kept"  # the verb of actions that leave something unchanged


def _encodes(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


_SOMEWHERE = "https://base.invalid/"


def page_context(path: str, page: Page, tree: Document, view: View) -> PageContext:
    """Return what passes may know of the page at ``path``."""
    base = _base(tree, view.url_of(path))
    elements = list(tree.iter_elements("script"))
    sources = [script_source(element, base, view) for element in elements]
    handlers = _event_handlers(tree) if any(mark.search(page.text) for mark in _HANDLER_MARKS) else []
    scripts = {source: view.facts(SCRIPT, source) for source in (*sources, *handlers) if source}
    if any(facts.writes_base for facts in scripts.values()):
        base = _SOMEWHERE
    target = view.follow(base, base).target
    return PageContext(
        path,
        page,
        view.url_of(""),
        base,
        target.path if target.reach is Reach.LOCAL else None,
        bool(elements or handlers),
        _policy(path, tree, view),
        tuple(element.attr("src") or "" for element, source in zip(elements, sources, strict=True) if source is None),
        scripts,
        view.page_evidence(path),
        _preloaded(path, base, view),
        cache(partial(_modules, tuple(_module_paths(elements, tree, base, view)), view)),
    )


def _module_paths(elements: Iterable[Element], tree: Document, base: str, view: View) -> Iterator[str]:
    """Yield the module scripts of a page, and the scripts that it has browsers fetch early: a loader names them."""
    sources = [each.attr("src") for each in elements if is_module_type(each.attr("type"))]
    hints = [link.attr("href") for link in tree.iter_elements("link") if preloads_script(link)]
    paths = (view.follow(base, url).path for url in (*sources, *hints) if url)
    yield from (path for path in paths if path is not None and view.media_type(path) == media.JS)


def preloads_script(link: Element) -> bool:
    """Whether a link has browsers fetch a script or module early."""
    rel = rel_tokens(link)
    return "modulepreload" in rel or ("preload" in rel and link.attr("as") == "script")


def _modules(paths: Sequence[str], view: View) -> Mapping[bytes, ScriptFacts]:
    """Return the modules at ``paths`` and what they import under a literal name."""
    pending, seen, found = list(paths), set(paths), dict[bytes, ScriptFacts]()
    while pending:
        path = pending.pop()
        content = view.artifact(path)
        found[content] = facts = view.facts(SCRIPT, content)
        for file in sorted(facts.files):
            imported = view.follow(view.url_of(path), file).path if file.startswith((".", "/")) else None
            if imported is not None and imported not in seen and view.media_type(imported) == media.JS:
                seen.add(imported)
                pending.append(imported)
    return found


# A base after references does not apply to those, which are fetched before it is read. That is too rare to sort out:
# every relative URL of such a page counts as one of another site, which passes leave alone.
_LATE_BASE = "http://late-base.invalid/"
_BEFORE_BASE = ("base", "link", "script", "style", "img")


def _base(tree: Document, url: str) -> str:
    element = base_element(tree)
    if element is None:
        return url
    first = next(iter(tree.iter_elements(_BEFORE_BASE)))
    return document_base(url, element.attr("href")) if first == element else _LATE_BASE


def _policy(path: str, tree: Document, view: View) -> Policy:
    """Return the policies of a page: those of its markup, of the configuration, and of the files of hosts."""
    return Policy.of((*markup_policies(tree), *sent_policies(path, view)))


def sent_policies(path: str, view: View) -> tuple[str, ...]:
    """Return the policies in the header fields of a page."""
    values = view.header_values(path, CSP)
    return values if view.settings.csp is None else (view.settings.csp, *values)


def _preloaded(path: str, base: str, view: View) -> frozenset[str]:
    """Return the files that ``Link`` fields have browsers fetch before they have the page (RFC 8288)."""
    links = (link for value in view.header_values(path, LINK) for link in _LINK_VALUE.findall(value))
    found = (view.follow(base, url).path for url, parameters in links if _PRELOAD.search(parameters))
    return frozenset(path for path in found if path is not None)


_LINK_VALUE = re.compile(r"<([^>]*)>([^<]*)")
_PRELOAD = re.compile(r"""rel\s*=\s*["']?[^"';,]*\b(?:module)?preload\b""", re.IGNORECASE)


def script_source(element: Element, base: str, view: View) -> str | bytes | None:
    """Return the source of a script element: empty if it runs nothing, ``None`` if it is unknown."""
    if not _is_script(element):
        return ""
    url = element.attr("src")
    if url is None:
        return element.text
    destination = view.follow(base, url)
    if destination.target.reach is not Reach.LOCAL:
        return None
    if destination.path is None:
        return ""  # the file does not exist: nothing runs
    return view.artifact(destination.path) if view.media_type(destination.path) == media.JS else None


def _is_script(element: Element) -> bool:
    kind = element.attr("type")
    return is_javascript_type(kind, element.attr("language")) or is_module_type(kind)


# Searching the text first spares most pages the search through the tree. One pattern for each spelling of "on": a
# literal start makes a search twenty times faster than a pattern that ignores case.
_HANDLER_MARKS = tuple(
    re.compile(rf"""{start}(?<=[\s"'/]{start})[a-zA-Z]+\s*=""") for start in ("on", "On", "ON", "oN")
)


def _event_handlers(tree: Document) -> list[str]:
    """Return what each element's handlers run; an attribute that begins as they do counts as one."""
    attributes = (element.attrs.items() for element in tree.iter_elements() if element.attrs)
    handlers = (";".join(str(value) for name, value in each if name.startswith("on")) for each in attributes)
    return [each for each in handlers if each]


# Inside these the parser's tree or a script decides what an element means, and passes leave it alone.
_APART = ("noscript", "template", "svg", "math", "object", "iframe")


def is_isolated(element: Element, text: str) -> bool:
    """Whether an element is inside ``<noscript>``, ``<template>``, SVG or the like, where it means something else.

    ``text`` is what the tree was parsed from.
    """
    if any(getattr(ancestor, "tag", None) in _APART or _is_fragment(ancestor) for ancestor in element.ancestors):
        return True
    place, spans = element.source_location, _noscripts(text)
    if place is None:
        return False
    before = bisect_left(spans, (place.start_tag.start_offset,))
    return before > 0 and place.start_tag.start_offset < spans[before - 1][1]


# Applications whose root is the whole document, in whose head they find style elements, too
_WHOLE_DOCUMENT = re.compile(r"\bself\.__next_f\b|\bwindow\.__(?:reactRouter|remix)Context\b")


def is_compared(style: Element, text: str) -> bool:
    """Whether scripts that hydrate a page compare the text of a style element with their own (React, Vue).

    Where it is another they report an error, and React builds the page anew. ``text`` is that of the page.
    """
    is_hydrated, is_whole = _hydration_of(text)
    return is_whole or (is_hydrated and style.closest("body") is not None)


@lru_cache(maxsize=4)
def _hydration_of(text: str) -> tuple[bool, bool]:
    if "<script" not in text:
        return False, False
    return is_hydratable(text), has_mark(text, ("self.__next_f", "window.__re"), _WHOLE_DOCUMENT)


# With scripting a noscript is text up to its end tag. Without, one in the head ends before the first element that
# the head cannot contain (the pixels of trackers), which then is in the body of the tree.
_NOSCRIPT = re.compile(r"<noscript\b.*?</noscript", re.IGNORECASE | re.DOTALL)


@lru_cache(maxsize=4)
def _noscripts(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in _NOSCRIPT.finditer(text))


def _is_fragment(node: object) -> bool:
    return type(node).__name__ == "DocumentFragment"
