"""What is known of a source before anything is built: digest, references, sizes. Gathered once for each file.

Facts depend on the file's content and, for what is missing, on which files there are; they are stored with the
build's state, and a file is read again only when one of the two changed.
``adaptc.compile.analyse.gathering`` gathers them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from adaptc.core.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one source.

    ``embeds`` are the files that a browser loads by itself, each once, in order; ``pinned`` those of them whose
    bytes an ``integrity`` attribute fixes; ``targets`` every local URL path the source refers to, for a check when
    files come or go; ``transfer`` the estimated compressed size in bytes of a style sheet or script. ``images`` are the
    image files that a page's markup or a sheet shows, each once, and ``first_image`` the one a page begins with.
    """

    digest: str
    embeds: tuple[tuple[str, str], ...] = ()  # (role, path)
    pinned: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    transfer: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    images: tuple[str, ...] = ()
    first_image: str | None = None


def affected_targets(changed: Iterable[str], index_names: Iterable[str]) -> frozenset[str]:
    """Return the URL paths that may lead elsewhere when the files ``changed`` came or went."""
    affected: set[str] = set()
    for path in changed:
        affected.add(path)
        directory, _, name = path.rpartition("/")
        if name in index_names:
            affected.add(f"{directory}/" if directory else "")
        while directory:  # a directory that came or went with the file answers differently, too
            affected.update((directory, directory + "/"))
            directory = directory.rpartition("/")[0]
    return frozenset(affected)
