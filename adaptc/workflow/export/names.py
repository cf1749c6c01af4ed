"""Names by content: what pages and style sheets load also gets a name that changes with it.

``css/site.css`` is in the export also as ``_adaptc/named/6b1f0c2a/css/site.css``, and pages and sheets refer to
that: caches may hold it for a year. Its end is the path in the site, so that scripts which select elements by a part
of their addresses find them. The file under its own name stays, for whatever else refers to it.

A file that any other text names (a script, data, a feed) gets no such name, nor do modules, scripts that may depend on
their address, and files whose digest is written somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from adaptc.compile.engine.cache.store import Store
from adaptc.core import media
from adaptc.core.digest import digest_bytes, digest_parts
from adaptc.core.imports import code_digest
from adaptc.core.model import CODINGS, EMBEDDED, IDENTITY, OWN_DIRECTORY, Role
from adaptc.core.urls import Reach, SiteAddress, document_base, is_rooted, relative_url, rooted_url
from adaptc.crawl.conversion import Linker, convert_page
from adaptc.crawl.discover.page_links import DecodedText, decode_page, decode_sheet
from adaptc.formats.css.references import css_references, rewrite_urls
from adaptc.formats.html.document import markup_policies, parse
from adaptc.formats.html.references import base_href, reference_urls
from adaptc.formats.html.template_marks import template_mark
from adaptc.formats.policy import Policy
from adaptc.formats.script.introspection import introspection_reasons
from adaptc.formats.script.script import Script
from adaptc.workflow.export.destination import Item
from adaptc.workflow.export.items import NAMED, Layout

# They tell the versions of one file apart, and a sheet may write hundreds of them
_DIGITS = 8
# Frames and objects refer to files next to them; a module is another one under another name
_ROLES = EMBEDDED - {Role.FRAME, Role.OBJECT, Role.MODULE} | {Role.CSS_URL}
# Names with other characters are written in many ways, and not looked for
_NAME = re.compile(r"[\w.~@$+-]+", re.ASCII)
# Scripts that colour code show the markup of elements in it
_SHOWN = "pre :is(link, script, img, source)"
_KINDS = ("image/", "font/", "video/", "audio/", "application/vnd.ms-fontobject")


class ContentNames:
    """The names by content of one export: ``names`` has them by path, when ``items_with_names`` has run.

    ``items`` are those of the export without them. ``kept`` are the files whose digest is written somewhere, ``sent``
    returns the policies with which a page is sent, and ``encode`` the file with a content of the store in a coding.
    """

    def __init__(
        self,
        items: Iterable[Item],
        address: SiteAddress,
        store: Store,
        kept: Collection[str],
        sent: Callable[[str], Iterable[str]],
        encode: Callable[[str, str], Path],
    ) -> None:
        self.items = {item.path: item for item in items}
        self.address, self.store, self.encode = address, store, encode
        self.kept, self.sent = kept, sent
        self.pages, self.sheets = set[str](), dict[str, DecodedText]()
        self.names: dict[str, str] = {}

    def items_with_names(self, layout: Layout) -> list[Item]:
        """Return the items of the export with the files of the new names, and with pages that refer to them.

        Which these are is found once for the same files, and remembered in the store.
        """
        key = digest_parts(code_digest(__name__), self.address.base, *self._inputs())
        record = self.store.record(key)
        if record is None or not all(self.store.content(each) is not None for each in record["written"].values()):
            names, written = self._found()
            record = {"names": names, "written": written}
            self.store.put_record(key, record)
        self.names, written = record["names"], record["written"]
        copies = [self._item(path, name, written.get(path), layout) for path, name in self.names.items()]
        pages = {path for path in written if self.items[path].is_page}
        changed = {path: self._item(path, path, written[path], layout) for path in pages}
        return [*copies, *(changed.get(path, item) for path, item in self.items.items())]

    def _inputs(self) -> Iterator[str]:
        for path, item in sorted(self.items.items()):
            policies = self.sent(path) if item.is_page else ()
            yield from (path, digest_bytes(_content(item)), str(path in self.kept), *policies, "")

    def _found(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the names by path, and the keys of the contents of sheets under theirs and of pages that use them."""
        self.pages = {path for path, item in self.items.items() if item.is_page and self._is_open(path)}
        self.sheets = dict(self._sheets())
        free = self._free()
        names = {path: _place(path, _content(self.items[path])) for path in free if path not in self.sheets}
        found = {path: self._moved(path, names) for path in free if path in self.sheets}
        moved = {path: sheet for path, sheet in found.items() if sheet is not None}
        names |= {path: _place(path, content) for path, (content, _) in moved.items()}
        used, written = set[str](), {path: self.store.put(content) for path, (content, _) in moved.items()}
        for path in self.pages:
            content, uses = self._renamed(path, names)
            if content is not None:
                used |= uses
                written[path] = self.store.put(content)
        used |= set[str]().union(*(moved[path][1] for path in used & moved.keys()))
        return {path: names[path] for path in sorted(used)}, written

    # ---- what may get another name

    def _page(self, path: str) -> DecodedText:
        return decode_page(_content(self.items[path]), None)

    def _is_open(self, path: str) -> bool:
        """Whether a page may refer to other files."""
        page = self._page(path)
        if path in self.kept or not page.is_reversible or template_mark(page.text) is not None:
            return False
        tree = parse(page.readable)
        if tree.select_one(_SHOWN) is not None:
            return False
        policy = Policy.of((*self.sent(path), *markup_policies(tree)))
        return all(policy.allows_own(kind) for kind in ("style", "script", "image", "font"))

    def _sheets(self) -> Iterator[tuple[str, DecodedText]]:
        """Yield the sheets that can be written anew; those that import others of the site cannot."""
        for path, item in self.items.items():
            if media.by_name(path) == media.CSS and path not in self.kept:
                sheet = decode_sheet(_content(item), None, "utf-8")
                url = self.address.url_of(path)
                imported = (each.url for each in css_references(sheet.text) if each.role is Role.IMPORT)
                is_local = any(self.address.resolve(url, each).reach is Reach.LOCAL for each in imported)
                if sheet.is_reversible and not is_local:
                    yield path, sheet

    def _free(self) -> set[str]:
        """Return the paths of the files that no text names, and that are the same at any address.

        What a sheet that stays refers to is not among them: other sheets would load it once more.
        """
        own = {path: path.rpartition("/")[2] for path in self.items if not path.startswith(OWN_DIRECTORY)}
        possible = {path: name for path, name in own.items() if path not in self.kept and _NAME.fullmatch(name)}
        wanted = set(possible.values())
        named = {name for path in self.items for name in wanted.intersection(_NAME.findall(self._text(path)))}
        free = {path for path, name in possible.items() if name not in named and self._is_anywhere(path)}
        stay = {path for path in self.sheets if path not in free or self._moved(path, {}) is None}
        urls = (
            (self.address.url_of(path), each.url) for path in stay for each in css_references(self.sheets[path].text)
        )
        return free - stay - {self.address.resolve(base, url).path for base, url in urls}

    def _is_anywhere(self, path: str) -> bool:
        """Whether a file is the same at any address."""
        media_type = media.by_name(path) or ""
        if media_type == media.JS:
            text = _content(self.items[path]).decode("utf-8", "replace")
            return introspection_reasons(Script(text))[0] is None
        if media_type == media.SVG:
            return convert_page(self._page(path), self._blank(path)) is None
        return path in self.sheets or media_type.startswith(_KINDS)

    def _text(self, path: str) -> str:
        """Return a text without the addresses that can be written anew."""
        if path in self.pages:
            page = self._page(path)
            return convert_page(page, self._blank(path)) or page.text
        if (sheet := self.sheets.get(path)) is not None:
            return rewrite_urls(sheet.text, lambda _: "-")
        is_text = media.is_compressible(media.by_name(path) or "text/plain")
        return _content(self.items[path]).decode("latin-1") if is_text else ""

    def _blank(self, path: str) -> _Blank:
        url = self.address.url_of(path)
        return _Blank(url, path, url, lambda _: None)

    # ---- what refers to it

    def _moved(self, path: str, names: Mapping[str, str]) -> tuple[bytes, set[str]] | None:
        """Return a sheet as it is under a new name, and the paths of the renamed files that it uses."""
        sheet, place = self.sheets[path], _place(path, b"")
        linker = _Renaming(self.address, path, names, place)
        text = rewrite_urls(sheet.text, lambda reference: linker(reference.url))
        before, after = ([each.url for each in css_references(written)] for written in (sheet.text, text))
        urls = self.address.url_of(path), self.address.url_of(place)
        content = sheet.encoded(text) if self._lead_alike(before, after, urls, names) else None
        return None if content is None else (content, linker.used)

    def _renamed(self, path: str, names: Mapping[str, str]) -> tuple[bytes | None, set[str]]:
        """Return a page with the new names and the paths of the files; nothing where it stays, or would be another."""
        page, linker = self._page(path), _Renaming(self.address, path, names)
        text = convert_page(page, linker)
        if text is None:
            return None, set()
        before, after = parse(page.readable), parse(page._replace(text=text).readable)
        bases = [document_base(linker.url, base_href(tree)) for tree in (before, after)]
        is_same = self._lead_alike(list(reference_urls(before)), list(reference_urls(after)), bases, names)
        return (page.encoded(text), linker.used) if is_same else (None, set())

    def _lead_alike(
        self, before: Sequence[str], after: Sequence[str], bases: Sequence[str], names: Mapping[str, str]
    ) -> bool:
        """Whether what is written anew leads to the same files, or to those of their new names."""
        if len(before) != len(after):
            return False
        for old, new in zip(before, after, strict=True):
            target, found = (self.address.resolve(base, url) for base, url in zip(bases, (old, new), strict=True))
            if found not in (target, target._replace(path=names.get(target.path, ""))):
                return False
        return True

    # ---- files

    def _item(self, path: str, name: str, written: str | None, layout: Layout) -> Item:
        """Return the file at ``path`` under ``name``, encoded as it is; ``written`` is the key of another content."""
        item = self.items[path]
        known = dict(item.encoded)
        names = {coding: layout.name(path, coding) for coding in layout.codings}
        encoded = {coding: known[own] for coding, own in names.items() if own in known}
        if written is None:
            plain, origin = item.plain[1], item.origin
        else:
            plain, origin = Path(self.store.object_path(written)), None
            encoded = {coding: self.encode(written, coding) for coding in encoded if coding in CODINGS}
        files = tuple((layout.name(name, coding), file) for coding, file in encoded.items())
        return Item(name, (layout.name(name, IDENTITY), plain), files, origin, item.is_page)


class _Blank(Linker):
    """Takes the addresses out of a page, so that names elsewhere are left, and those that scripts read or import."""

    roles = frozenset(Role) - {Role.LAZY, Role.MODULE}

    def __call__(self, written: str) -> str | None:
        return None if written.startswith(("#", "data:")) else "-"


class _Renaming(Linker):
    """Writes the ``names`` of files that have new ones, and adds their paths to ``used``.

    In a sheet that moves to ``place``, all relative addresses are written for that.
    """

    empties_base = False
    roles = _ROLES

    def __init__(self, address: SiteAddress, path: str, names: Mapping[str, str], place: str | None = None) -> None:
        super().__init__(address.url_of(path), path, address.url_of(path), names.get)
        self.address, self.names, self.place, self.used = address, names, place, set[str]()

    def __call__(self, written: str) -> str | None:
        target = self.address.resolve(self.base, written)
        name = self.names.get(target.path)
        if target.reach is not Reach.LOCAL or (name is None and (self.place is None or is_rooted(written))):
            return None
        if name is not None:
            self.used.add(target.path)
        start = self.address.resolve(self.base, self.base)
        if is_rooted(written) or start.reach is not Reach.LOCAL:
            return rooted_url(self.address.url_of(name or target.path)) + target.suffix
        return relative_url(self.place or start.path, name or target.path) + target.suffix


def _place(path: str, content: bytes) -> str:
    return f"{NAMED}{digest_bytes(content)[:_DIGITS]}/{path}"


def _content(item: Item) -> bytes:
    """Return the content of a file; none where it cannot be read, as the export says when it comes to write it."""
    try:
        return item.plain[1].read_bytes()
    except OSError:
        return b""
