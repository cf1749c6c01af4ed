"""The files of an export: the site at one level, and the names that they get."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from adaptc.compile.engine.cache.store import Store
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose, printable
from adaptc.core.digest import digest_parts
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, OWN_DIRECTORY, Effort, is_dictionary, name_in_tree
from adaptc.core.values import dataclass, replace
from adaptc.report.manifest import BuiltResource, Manifest
from adaptc.workflow.export.destination import Item

NAMED = f"{OWN_DIRECTORY}named/"
"""The directory of the files that have names by content."""


def export_items(manifest: Manifest, docroot: Path, level: str, layout: Layout) -> tuple[list[Item], list[Diagnostic]]:
    """Return the site at ``level``, pages last, and a diagnostic for each encoded file that is left out."""
    site = [site_item(manifest, docroot, level, layout, resource) for resource in manifest.resources.values()]
    items = [*own_items(manifest, level, layout), *site]
    free, diagnostics = _without_collisions(items)
    return sorted(free, key=lambda item: item.is_page), diagnostics


def site_item(
    manifest: Manifest, docroot: Path, level: str, layout: Layout, resource: BuiltResource, name: str | None = None
) -> Item:
    """Return a file of the site at ``level``, at the path ``name`` in the export, by default its own."""
    path, tree, built = resource.path, manifest.output / level, resource.at(level)
    is_same = built is None or built.sha256 == resource.sha256
    return Item(
        name or path,
        (layout.name(name or path, IDENTITY), docroot / path if built is None else tree / IDENTITY / path),
        _encoded(name or path, path, tree, [each for each in layout.codings if resource.at(level, each)], layout),
        docroot / path if is_same else None,
        resource.media_type in (media.HTML, media.XHTML),
    )


def own_items(manifest: Manifest, level: str, layout: Layout) -> Iterator[Item]:
    """Yield the files that only the tree has: the manifest does not list them, their names are their digests."""
    tree = manifest.output / level
    for file in sorted((tree / IDENTITY / OWN_DIRECTORY).rglob("*")):
        path = os.fspath(file.relative_to(tree / IDENTITY))
        if file.is_file() and not is_dictionary(path):  # which needs a server that chooses by what clients hold
            codings = [coding for coding in layout.codings if (tree / coding / path).is_file()]
            encoded = _encoded(path, path, tree, codings, layout)
            yield Item(path, (layout.name(path, IDENTITY), file), encoded, origin=None, is_page=False)


def _encoded(name: str, path: str, tree: Path, codings: list[str], layout: Layout) -> tuple[tuple[str, Path], ...]:
    return tuple((layout.name(name, coding), tree / coding / name_in_tree(coding, path)) for coding in codings)


def encoded_again(store: Store, key: str, coding: str, effort: Effort) -> Path:
    """Return the file of the store with the content at ``key`` in a coding; it is encoded once."""
    from adaptc.formats.codings import encode, recipe

    name = digest_parts("adaptc.export/1", recipe(coding, effort), effort, coding, key)
    if not store.has(name):
        store.put(encode(store.read(key) or b"", coding, effort), name)
    return Path(store.object_path(name))


_VERSION = re.compile(rb"(?<![\w-])[0-9a-f]{32}(?![\w-])")


def with_versions(
    items: list[Item],
    lists: Collection[str],
    docroot: Path,
    store: Store,
    layout: Layout,
    encode: Callable[[str, str], Path],
) -> list[Item]:
    """Return the items with ``lists`` that have the MD5 digests of what is exported in place of those of the docroot.

    A service worker takes the digest for a version (Workbox, Flutter). With that of the source it would keep a page
    whose source is the same, and that refers to copies which the next export no longer has. Files with one digest in
    the docroot get that of all together. ``encode`` is as for ``ContentNames``.
    """
    texts = {item.path: item.plain[1].read_bytes() for item in items if item.path in lists and not item.is_page}
    written = {digest for text in texts.values() for digest in _VERSION.findall(text)}
    versions: dict[bytes, bytes] = {}
    for item in sorted(items, key=lambda item: item.path) if written else ():
        source = docroot / item.path
        digest = _md5(source.read_bytes()) if source.is_file() else b""
        if digest in written and item.origin is None:
            versions[digest] = _md5(versions.get(digest, b"") + item.plain[1].read_bytes())
    changed = {}
    for item in items:
        text = texts.get(item.path, b"")
        other = _VERSION.sub(lambda match: versions.get(match[0], match[0]), text)
        if other != text:
            key = store.put(other)
            known = [coding for coding in layout.codings if layout.name(item.path, coding) in dict(item.encoded)]
            encoded = tuple((layout.name(item.path, each), encode(key, each)) for each in known if each in CODINGS)
            changed[item.path] = replace(
                item, plain=(item.plain[0], Path(store.object_path(key))), encoded=encoded, origin=None
            )
    return [changed.get(item.path, item) for item in items]


def _md5(content: bytes) -> bytes:
    return hashlib.md5(content, usedforsecurity=False).hexdigest().encode()


def _without_collisions(items: list[Item]) -> tuple[list[Item], list[Diagnostic]]:
    """Leave out encoded files whose names are those of files of the site, with a diagnostic for each."""
    plain = {item.plain[0] for item in items}
    diagnostics = [
        diagnose("export-name-taken", Location(item.path), name=printable(name))
        for item in items
        for name, _ in item.encoded
        if name in plain
    ]
    free = [
        replace(item, encoded=tuple(encoded for encoded in item.encoded if encoded[0] not in plain)) for item in items
    ]
    return free, diagnostics


# ---- names

SUFFIXES = {name: f".{name}" for name in (*CODINGS, *FORMATS)}


def _suffixed(path: str, coding: str) -> str:
    return path + SUFFIXES.get(coding, "")


def _parallel(path: str, coding: str) -> str:
    return f"{coding}/{name_in_tree(coding, path)}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of files in an export by path and coding, and the codings and formats next to the identity."""

    name: Callable[[str, str], str]
    codings: tuple[str, ...]


LAYOUTS = {
    "suffix": Layout(_suffixed, (*CODINGS, *FORMATS)),
    "parallel": Layout(_parallel, (*CODINGS, *FORMATS)),
    "none": Layout(_suffixed, ()),
}
