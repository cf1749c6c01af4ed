"""What an export holds: for each file of the site the bytes of the level, and its encodings under their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.core import media
from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.model import CODINGS, FORMATS, IDENTITY, OWN_DIRECTORY, name_in_tree
from adaptc.report.manifest import Manifest

SUFFIXES = {name: f".{name}" for name in (*CODINGS, *FORMATS)}
LISTED = 5  # names in an error


def _suffixed(path: str, coding: str) -> str:
    return path + SUFFIXES.get(coding, "")


def _parallel(path: str, coding: str) -> str:
    return f"{coding}/{name_in_tree(coding, path)}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the file of a path and a coding stands, and which codings and formats there are beside the identity."""

    name: Callable[[str, str], str]
    codings: tuple[str, ...]


LAYOUTS = {
    "suffix": Layout(_suffixed, (*CODINGS, *FORMATS)),
    "parallel": Layout(_parallel, (*CODINGS, *FORMATS)),
    "none": Layout(_suffixed, ()),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One file of the site: ``plain`` and then its encodings, each as (name in the export, file to copy).

    All get one time, as nginx asks of files for ``gzip_static``. ``origin`` is the docroot's file where the level has
    the same bytes. ``is_page`` is written after what pages embed.
    """

    path: str
    plain: tuple[str, Path]
    encoded: tuple[tuple[str, Path], ...]
    origin: Path | None
    is_page: bool

    @property
    def files(self) -> tuple[tuple[str, Path], ...]:
        """All files, the plain one first."""
        return (self.plain, *self.encoded)

    def moment(self) -> int:
        """Return when the content came to be, in nanoseconds: with the original, or when the level was built.

        Modification times in trees are made for entity tags, so the time of the last link counts. Raises ``OSError``.
        """
        return os.stat(self.plain[1]).st_ctime_ns if self.origin is None else os.stat(self.origin).st_mtime_ns


def export_items(manifest: Manifest, docroot: Path, level: str, layout: Layout) -> list[Item]:
    """Return the site at ``level``, what pages embed before the pages.

    Raises ``UsageError`` where an encoding would take the name of a file of the site.
    """
    items = [*_own(manifest, level, layout), *_of_site(manifest, docroot, level, layout)]
    _refuse_collisions(items)
    return sorted(items, key=lambda item: item.is_page)


def _of_site(manifest: Manifest, docroot: Path, level: str, layout: Layout) -> Iterator[Item]:
    for path, resource in manifest.resources.items():
        tree = manifest.output / level
        built = resource.at(level)
        is_same = built is None or built.sha256 == resource.sha256
        yield Item(
            path,
            (layout.name(path, IDENTITY), docroot / path if built is None else tree / IDENTITY / path),
            _encoded(path, tree, [coding for coding in layout.codings if resource.at(level, coding)], layout),
            docroot / path if is_same else None,
            resource.media_type in (media.HTML, media.XHTML),
        )


def _own(manifest: Manifest, level: str, layout: Layout) -> Iterator[Item]:
    """Yield the files that only the tree has: the manifest does not list them, their names are their digests."""
    tree = manifest.output / level
    for file in sorted((tree / IDENTITY / OWN_DIRECTORY).rglob("*")):
        if file.is_file():
            path = os.fspath(file.relative_to(tree / IDENTITY))
            codings = [coding for coding in layout.codings if (tree / coding / path).is_file()]
            encoded = _encoded(path, tree, codings, layout)
            yield Item(path, (layout.name(path, IDENTITY), file), encoded, origin=None, is_page=False)


def _encoded(path: str, tree: Path, codings: list[str], layout: Layout) -> tuple[tuple[str, Path], ...]:
    return tuple((layout.name(path, coding), tree / coding / name_in_tree(coding, path)) for coding in codings)


def _refuse_collisions(items: list[Item]) -> None:
    plain = {item.plain[0]: item.path for item in items}
    found = [
        f"{printable(name)} is a file of the site, and the encoded {printable(item.path)} would take its name"
        for item in items
        for name, _ in item.encoded
        if name in plain
    ]
    if found:
        more = [f"and {len(found) - LISTED:,} more"] if len(found) > LISTED else []
        advice = "choose --encodings parallel or none"
        raise UsageError("\n".join([*found[:LISTED], *more, advice]))
