"""hints and connections: what a page has browsers fetch early, neither more nor less than it needs.

A preload of a sheet that is now in the page fetches it for nothing, and so does one of an image that a copy replaced.
A hint for a file that the page never loaded by itself stays: a script may load it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, is_isolated
from adaptc.compile.page.inlining import CROWD
from adaptc.compile.page.sheets import page_sheets, paths_in_sheets, sheet_references, sheets_with_bases
from adaptc.compile.view import Options, View
from adaptc.core.model import MOVED_TYPE, Action, Role
from adaptc.core.urls import host_of, join
from adaptc.core.values import dataclass
from adaptc.formats.html.document import parse_bare
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import CONNECTIONS, is_style_sheet, rel_tokens
from adaptc.formats.html.references import references

if TYPE_CHECKING:
    from turbohtml import Document, Element

NAME = "hints"
# Hosts that only serve fonts, and by which addresses in a page they come to be asked
_GOOGLE = ("fonts.googleapis.com", "fonts.gstatic.com")
_FONT_HOSTS = dict.fromkeys(_GOOGLE, _GOOGLE)
_EARLY = frozenset({"preload", "modulepreload"})
_NEXT_PAGE = frozenset({"prefetch", "prerender"})
_HINTS = _EARLY | _NEXT_PAGE | CONNECTIONS
# References that load nothing, or load early
_NO_LOADS = frozenset({Role.LINK, Role.META, Role.PRELOAD})


def remove_hints(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Remove the hints for what the page loaded and does not load now.

    For a crowd, of which each reads one page, hints for the next page go, and connections to hosts from which nothing
    is loaded.
    """
    report = Report()
    links = [link for link in editor.tree.iter_elements("link") if rel_tokens(link) & _HINTS]
    hints = _Hints(editor.tree, page, view, is_crowd=options["readers"] == CROWD)
    for link in links:
        reason = None if is_isolated(link, editor.text) else hints.reason_to_remove(link)
        if reason is not None:
            editor.remove_element(link)
            report.actions.append(Action(NAME, "removed", link.attr("href") or "", reason))
    return report


@dataclass(frozen=True)
class _Hints:
    """What a page loads, before and after the passes."""

    tree: Document
    page: PageContext
    view: View
    is_crowd: bool

    def reason_to_remove(self, link: Element) -> str | None:
        """Return why a hint is needless, ``None`` if it stays; a link that does something else as well stays."""
        rel, url = rel_tokens(link), link.attr("href") or ""
        if self.is_crowd and rel and rel <= _NEXT_PAGE:
            return "it is for the next page"
        if rel and rel <= _EARLY | _NEXT_PAGE and "onload" not in link.attrs:
            path = self.view.follow(self.page.base, url).target.path
            is_needless = path not in self._after and path in self._before
            return "the page does not load it any more" if is_needless else None
        if self.is_crowd and rel and rel <= CONNECTIONS and not self._may_connect(url):
            return "nothing is loaded from there"
        return None

    @cached_property
    def _before(self) -> set[str]:
        return self._loads(parse_bare(self.page.page.text))

    @cached_property
    def _after(self) -> set[str]:
        return self._loads(self.tree)

    def _loads(self, tree: Document) -> set[str]:
        base, follow = self.page.base, self.view.follow
        urls = {reference.url for reference in references(tree) if reference.role not in _NO_LOADS}
        urls -= {each.attr("src") or "" for each in tree.iter_elements("script") if each.attr("type") == MOVED_TYPE}
        paths = {follow(base, url).target.path for url in urls} | paths_in_sheets(tree, base, self.view)
        return paths - {""}

    def _may_connect(self, url: str) -> bool:
        """Whether the page may load something from the host of ``url``; scripts of other hosts load what they like."""
        host = host_of(self.page.base, url)
        if not host or (self.page.unseen_scripts and host not in _FONT_HOSTS):
            return True
        return any(map(self._is_named, _FONT_HOSTS.get(host, (host,))))

    def _is_named(self, host: str) -> bool:
        scripts = self.page.scripts.values()
        return any(host in text for text in self._texts) or any(script.names_address(host) for script in scripts)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """What may name a host apart from scripts: addresses of the page, and its sheets."""
        urls = "\n".join({each.url for each in references(self.tree) if each.role not in _NO_LOADS | {Role.PRELOAD}})
        return (urls, *page_sheets(self.tree, self.page.base, self.view).texts)


# connections: hosts that a page asks for late are connected to early, and on request the next page is fetched early.
#
# A browser finds the hosts in the markup at once. It finds those late that only a sheet names: the host of Google's
# font files, and those of imported sheets.


_CONNECTIONS = "connections"
_FONT_SHEETS, _FONT_FILES = "fonts.googleapis.com", "https://fonts.gstatic.com"
# Pages of this site but for files that are downloaded, once a reader points at a link (HTML, speculative loading)
_TRANSITION = (
    "@media (prefers-reduced-motion:no-preference){@view-transition{navigation:auto}}"  # CSS View Transitions 2
)
_RULES = '{"%s":[{"where":{"href_matches":"/*"},"eagerness":"moderate"}]}'


def connect_early(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Add ``<link rel=preconnect>`` for hosts that are found late.

    On request also speculation rules (``speculation``), and a transition to the next page of the site (``transition``).
    """
    report = Report()
    head = editor.tree.select_one("head")
    elements = () if head is None or page.has_policy else head.iter_elements(("link", "script", "style"))
    place = next(iter(elements), None)
    if place is None or is_isolated(place, editor.text):
        return report
    links = [link for link in editor.tree.iter_elements("link") if rel_tokens(link)]
    known = {host_of(page.base, link.attr("href") or "") for link in links if rel_tokens(link) & CONNECTIONS}
    added: list[tuple[str, str, str]] = []
    if options["preconnect"]:
        origins = dict.fromkeys(_late_origins(editor, page, view, links))
        late = [each for each in origins if host_of(page.base, each[0]) not in known]
        added += [
            (f'<link rel="preconnect" href="{origin}"{attribute}>', origin, "a style sheet names it")
            for origin, attribute in late
        ]
    if options["speculation"] != "none":
        rules = f'<script type="speculationrules">{_RULES % options["speculation"]}</script>'
        added.append((rules, "speculation rules", options["speculation"]))
    if options["transition"]:
        added.append((f"<style>{_TRANSITION}</style>", "a view transition", "to the next page of the site"))
    for markup, name, reason in added:
        editor.insert_before(place, markup)
        report.absorbed += len(markup)  # for time, not for bytes
        report.actions.append(Action(_CONNECTIONS, "added", name, reason))
    return report


def _late_origins(editor: Editor, page: PageContext, view: View, links: list[Element]) -> Iterator[tuple[str, str]]:
    """Yield origins with the attribute of their link, as those of fonts are asked without credentials."""
    linked = [link.attr("href") or "" for link in links if is_style_sheet(link)]
    urls = [(join(page.base, url) or "", False) for url in linked]
    for text, base in sheets_with_bases(editor.tree, page.base, view):
        imports = (each.url for each in sheet_references(text) if each.role is Role.IMPORT)
        urls += [(join(base, url) or "", True) for url in imports]
    own = host_of(page.base, page.base)
    for url, is_imported in urls:
        host = host_of(page.base, url)
        if is_imported and host and host != own and url.startswith("https://"):
            yield f"https://{host}", ""
        if host == _FONT_SHEETS:
            yield _FONT_FILES, " crossorigin"
