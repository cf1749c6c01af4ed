"""What page passes share: the page as it came, and what each pass reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc import media
from adaptc.diagnostics import Diagnostic
from adaptc.html.document import Page
from adaptc.html.edit import Editor
from adaptc.html.references import base_href
from adaptc.model import Action
from adaptc.passes.view import Options, View
from adaptc.script import introspects, is_javascript_type, touches_sources
from adaptc.urls import Reach, document_base

if TYPE_CHECKING:
    from turbohtml import Document, Element


@dataclass(slots=True)
class Report:
    """What a page pass did: ``inlined`` are (path, bytes as a file of its own) of what it put into the page."""

    actions: list[Action] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    inlined: list[tuple[str, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PageContext:
    """The page as it came, before any pass.

    ``base`` is its document base URL and ``base_path`` the docroot path of that URL (``None`` when the base is
    elsewhere). ``scripts`` are the texts of its own scripts, inline and from files of the site; ``has_policy`` says
    that a Content-Security-Policy restricts it.
    """

    path: str
    page: Page
    base: str
    base_path: str | None
    has_scripts: bool
    has_policy: bool
    scripts: tuple[str, ...]

    def introspection(self) -> str | None:
        """Return why the page's scripts may notice that a script or style sheet moved, or ``None``."""
        return next(filter(None, map(_introspects, self.scripts)), None)

    def touches_sources(self) -> bool:
        """Whether a script of the page may read or write the URLs of its images."""
        return any(map(_touches_sources, self.scripts))

    def can_hold(self, text: str) -> bool:
        """Whether ``text`` can stand in the page: a page that declares no encoding takes ASCII only."""
        if text.isascii():
            return True
        if not self.page.declared:
            return False
        return self.page.encoding.lower() == "utf-8" or _encodes(text, self.page.encoding)


# Reasons for actions. The figures behind them change with the site; `adaptc explain` shows those of today.
INLINED = "its bytes cost less than a request for it"
SHARED = "a shared file costs less over a visit"

PagePass = Callable[[Editor, PageContext, View, Options], Report]

# The same few libraries and snippets stand in every page of a site.
_introspects = lru_cache(maxsize=512)(introspects)
_touches_sources = lru_cache(maxsize=512)(touches_sources)


def _encodes(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def page_context(path: str, page: Page, tree: Document, view: View) -> PageContext:
    """Gather what the passes ask about a page."""
    url = view.url_of(path)
    base = document_base(url, base_href(tree))
    target = view.follow(base, base).target
    elements = list(tree.iter_elements("script"))
    return PageContext(
        path,
        page,
        base,
        target.path if target.reach is Reach.LOCAL else None,
        bool(elements) or _has_event_handlers(tree),
        view.settings.csp is not None or _has_meta_policy(tree),
        tuple(_script_texts(elements, tree, base, view)),
    )


def _has_meta_policy(tree: Document) -> bool:
    return any(
        (element.attr("http-equiv") or "").strip().lower() == "content-security-policy"
        for element in tree.iter_elements("meta")
    )


# The handlers that pages use; one that is missed here only matters to a page without any <script>.
_HANDLERS = tuple(f"[on{name}]" for name in (
    "load", "click", "change", "submit", "mouseover", "mouseout", "focus", "blur", "keydown", "keyup", "error",
    "input", "mousedown", "mouseup", "mouseenter", "mouseleave", "unload", "beforeunload", "resize", "scroll",
    "dblclick", "keypress", "select", "reset", "toggle", "touchstart", "pageshow", "hashchange", "popstate",
))  # fmt: skip
_HANDLER_SELECTOR = ",".join(_HANDLERS)


def _has_event_handlers(tree: Document) -> bool:
    return tree.select_one(_HANDLER_SELECTOR) is not None


def _script_texts(elements: list[Element], tree: Document, base: str, view: View) -> Iterator[str]:
    for element in elements:
        source = element.attr("src")
        if source is None:
            if is_javascript_type(element.attr("type"), element.attr("language")) or element.attr("type") == "module":
                yield element.text
            continue
        found = view.follow(base, source)
        if found.path is not None and view.media_type(found.path) == media.JS:
            yield view.read(found.path).decode("utf-8", "replace")
    for element in tree.select(_HANDLER_SELECTOR):
        yield ";".join(str(value) for name, value in element.attrs.items() if name.startswith("on"))


# Where the parser's tree or a script decides what an element means, it is left alone.
_APART = ("noscript", "template", "svg", "math", "object", "iframe")


def stands_apart(element: Element) -> bool:
    """Whether an element is inside a construct in which it means something else, or nothing yet."""
    return any(getattr(ancestor, "tag", None) in _APART or _is_fragment(ancestor) for ancestor in element.ancestors)


def _is_fragment(node: object) -> bool:
    return type(node).__name__ == "DocumentFragment"
