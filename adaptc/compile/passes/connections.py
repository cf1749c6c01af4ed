"""connections: hosts that a page asks for late are connected to early, and on request the next page is fetched early.

A browser finds the hosts in the markup at once. It finds those late that only a sheet names: the host of Google's font
files, and those of imported sheets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report, is_isolated
from adaptc.compile.page.sheets import sheet_references, sheets_with_bases
from adaptc.compile.view import Options, View
from adaptc.core.model import Action, Role
from adaptc.core.urls import host_and_path, join
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import CONNECTIONS, is_style_sheet, rel_tokens

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["connect_early"]

NAME = "connections"
_FONT_SHEETS, _FONT_FILES = "fonts.googleapis.com", "https://fonts.gstatic.com"
# Pages of this site but for files that are downloaded, once a reader points at a link (HTML, speculative loading)
_RULES = '{"%s":[{"where":{"href_matches":"/*"},"eagerness":"moderate"}]}'


def connect_early(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Add ``<link rel=preconnect>`` for hosts that are found late, and speculation rules if ``speculation`` asks."""
    report = Report()
    head = editor.tree.select_one("head")
    elements = () if head is None or page.has_policy else head.iter_elements(("link", "script", "style"))
    place = next(iter(elements), None)
    if place is None or is_isolated(place, editor.text):
        return report
    links = [link for link in editor.tree.iter_elements("link") if rel_tokens(link)]
    known = {_host(page.base, link.attr("href") or "") for link in links if rel_tokens(link) & CONNECTIONS}
    if options["preconnect"]:
        for origin, attribute in dict.fromkeys(_late_origins(editor, page, view, links)):
            if _host(page.base, origin) not in known:
                editor.insert_before(place, f'<link rel="preconnect" href="{origin}"{attribute}>')
                report.actions.append(Action(NAME, "added", origin, "a style sheet names it"))
    if options["speculation"] != "none":
        rules = _RULES % options["speculation"]
        editor.insert_before(place, f'<script type="speculationrules">{rules}</script>')
        report.actions.append(Action(NAME, "added", "speculation rules", options["speculation"]))
    return report


def _late_origins(editor: Editor, page: PageContext, view: View, links: list[Element]) -> Iterator[tuple[str, str]]:
    """Yield origins with the attribute of their link, as those of fonts are asked without credentials."""
    linked = [link.attr("href") or "" for link in links if is_style_sheet(link)]
    urls = [(join(page.base, url) or "", False) for url in linked]
    for text, base in sheets_with_bases(editor.tree, page.base, view):
        imports = (each.url for each in sheet_references(text) if each.role is Role.IMPORT)
        urls += [(join(base, url) or "", True) for url in imports]
    own = _host(page.base, page.base)
    for url, is_imported in urls:
        host = _host(page.base, url)
        if is_imported and host and host != own and url.startswith("https://"):
            yield f"https://{host}", ""
        if host == _FONT_SHEETS:
            yield _FONT_FILES, " crossorigin"


def _host(base: str, url: str) -> str:
    return host_and_path(join(base, url) or "")[0]
