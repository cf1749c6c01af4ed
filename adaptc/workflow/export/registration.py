"""Pages with the script of the ladder, which registers its service worker.

The script is the last element of the head: there it delays nothing, and no rule of a style sheet counts elements that
are not shown. A page to which it cannot be added for certain stays as it is, and its readers stay at the level of the
export until they visit another page.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.urls import Reach, SiteAddress, document_base, relative_url
from adaptc.core.values import dataclass, replace

if TYPE_CHECKING:
    from adaptc.compile.engine.cache.store import Store
    from adaptc.core.model import Effort
    from adaptc.formats.html.edit import Editor
    from adaptc.workflow.export.destination import Item

# Raised whenever the same page becomes another one
_RECIPE = "ladder/1"
# Sent for addresses of any depth, from which no relative address leads to the script
_ANYWHERE = frozenset({"404.html", "500.html"})


class _Unchanged(Exception):
    """The page stays as it is; the text says why."""


@dataclass(frozen=True, slots=True)
class Registration:
    """Adds a script, a path of the site, to pages. ``store`` is the cache of the build, which keeps the results."""

    store: Store
    script: str
    address: SiteAddress
    effort: Effort

    def registered(self, item: Item, encodings: Iterable[tuple[str, str]]) -> tuple[Item, Diagnostic | None]:
        """Return a page of an export with the script, or as it is with a diagnostic that says why.

        ``encodings`` are the names of its encoded files in the export, each with its coding. Raises ``OSError`` when
        the page cannot be read or the cache cannot be written.
        """
        content = item.plain[1].read_bytes()
        recipe = (_RECIPE, self.script, self.address.base, item.path, digest_bytes(content))
        record = self.store.record(digest_parts(*recipe))
        if record is None or (record["page"] and self.store.content(record["page"]) is None):
            record = self._made(item.path, content)
            self.store.put_record(digest_parts(*recipe), record)
        if record["page"] is None:
            return item, diagnose("ladder-unregistered", Location(item.path), reason=record["reason"])
        page = Path(self.store.object_path(record["page"]))
        encoded = tuple((name, self._encoded(record["page"], coding)) for name, coding in encodings)
        return replace(item, plain=(item.plain[0], page), encoded=encoded, origin=None), None

    def _made(self, path: str, content: bytes) -> dict[str, str | None]:
        try:
            return {"page": self.store.put(page_with_script(path, content, self.script, self.address)), "reason": None}
        except _Unchanged as unchanged:
            return {"page": None, "reason": str(unchanged)}

    def _encoded(self, page: str, coding: str) -> Path:
        from adaptc.formats.codings import encode, recipe

        key = digest_parts(_RECIPE, recipe(coding, self.effort), self.effort, coding, page)
        if not self.store.has(key):
            self.store.put(encode(self.store.read(page) or b"", coding, self.effort), key)
        return Path(self.store.object_path(key))


def page_with_script(path: str, content: bytes, script: str, address: SiteAddress) -> bytes:
    """Return a page with ``script``, a path of the site, at the end of its head.

    The result is parsed again and must be the same page with this one element more. Raises ``_Unchanged``.
    """
    from adaptc.formats.html.document import Irreversible, encode_page, read_page
    from adaptc.formats.html.edit import Editor, EditRefused
    from adaptc.formats.html.template_marks import template_mark

    if path in _ANYWHERE:
        raise _Unchanged("it is sent for addresses of any depth")
    try:
        page = read_page(content)
    except Irreversible as problem:
        raise _Unchanged(f"it does not survive decoding and encoding as {problem}") from None
    if template_mark(page.text) is not None:
        raise _Unchanged("it holds template directives")
    editor = Editor(page.text)
    head = editor.tree.select_one("head")
    if head is None or _has_policy(editor):
        raise _Unchanged("it has a Content-Security-Policy" if head is not None else "it has no head")
    editor.append(head, f'<script src="{_url(path, editor, script, address)}" async></script>')
    try:
        result = editor.apply()
    except EditRefused as refused:
        raise _Unchanged(refused.reason) from None
    encoded = encode_page(page, result.text) if result.method == "spliced" else None
    if encoded is None:
        raise _Unchanged("its markup is malformed")
    return encoded


def _has_policy(editor: Editor) -> bool:
    names = ((meta.attr("http-equiv") or "").strip().lower() for meta in editor.tree.iter_elements("meta"))
    return "content-security-policy" in names


def _url(path: str, editor: Editor, script: str, address: SiteAddress) -> str:
    """Return the address of the script relative to the base of the page."""
    from adaptc.formats.html.references import base_href

    base = document_base(address.url_of(path), base_href(editor.tree))
    target = address.resolve(base, base)
    if target.reach is not Reach.LOCAL:
        raise _Unchanged("its base URL is elsewhere")
    return relative_url(target.path, script)
