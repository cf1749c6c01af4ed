"""What a browser saw of a site's scripts, in the state of a build: how much of them ran, and what they loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from adaptc.compile.engine.state.state import State
from adaptc.core.values import astuple, dataclass

if TYPE_CHECKING:
    from adaptc.browser.script_coverage import ScriptCoverage

# The keys of the state
_SCRIPTS, _LOADED = "scripts seen", "loaded by scripts"


@dataclass(frozen=True, slots=True)
class ScriptSeen:
    """A script file: its length in UTF-16 code units, and how many of them ran on the page on which most ran.

    ``pages`` is how many of the pages that were looked at loaded it.
    """

    path: str
    size: int
    ran: int
    pages: int

    @property
    def share(self) -> float:
        """The share of it that ran, at most."""
        return self.ran / self.size if self.size else 1.0


def store_scripts_seen(
    state: State, pages: Iterable[Iterable[ScriptCoverage]], loaded: Mapping[str, tuple[str, ...]]
) -> None:
    """Store what ran on each page, and which files each loads by itself: mostly the same as others of its template."""
    seen: dict[str, ScriptSeen] = {}
    for page in pages:
        for each in page:
            known = seen.get(each.path, ScriptSeen(each.path, 0, 0, 0))
            seen[each.path] = ScriptSeen(
                each.path, max(known.size, each.size), max(known.ran, each.ran), known.pages + 1
            )
    state.set_meta(_SCRIPTS, [astuple(seen[path]) for path in sorted(seen)] or None)
    by_files: dict[tuple[str, ...], list[str]] = {}
    for path, files in sorted(loaded.items()):
        by_files.setdefault(files, []).append(path)
    state.set_meta(_LOADED, [item for item in by_files.items() if item[0]] or None)


def scripts_seen(state: State) -> dict[str, ScriptSeen]:
    """Return what the last build stored, by path."""
    return {row[0]: ScriptSeen(*row) for row in state.meta(_SCRIPTS) or []}


def loaded_files(state: State) -> dict[str, tuple[str, ...]]:
    """Return the scripts and data that pages load by themselves, by page."""
    return {path: tuple(files) for files, pages in state.meta(_LOADED) or [] for path in pages}
