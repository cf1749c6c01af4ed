"""What decides which images of its style sheets a page loads, as values (``loaded_backgrounds`` finds them).

And the budget of a build for flattening ``@import``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["BUDGET", "NO_STYLING", "Background", "Imports", "Styling", "resolved", "sheets_over_budget"]


class Background(NamedTuple):
    """An image that a sheet loads: its URL or path, and the names that each of its selectors requires of a page."""

    image: str
    selectors: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Styling:
    """What decides which images of its sheets a page loads: its names, and URLs or paths of sheets that do not apply.

    ``names`` are types, ``.classes`` and ``#ids``.
    """

    names: frozenset[str] = frozenset()
    idle: tuple[str, ...] = ()

    def loaded(self, sheet: str, backgrounds: Iterable[Background]) -> Iterator[str]:
        """Yield the images that a sheet makes the page load."""
        if sheet not in self.idle:
            yield from (each.image for each in backgrounds if any(map(self.names.issuperset, each.selectors)))


NO_STYLING = Styling()


def resolved(backgrounds: Iterable[Background], file_of: Callable[[str], str | None]) -> tuple[Background, ...]:
    """Return backgrounds by path, without those for which ``file_of`` has no file."""
    files = ((file_of(each.image), each.selectors) for each in backgrounds)
    return tuple(Background(file, selectors) for file, selectors in files if file is not None)


# Bytes that sheets may take from others in a build. Of 19 real sites the largest sum was 1.6 MB.
BUDGET = 128_000_000


# What an import costs in time, in bytes
_IMPORT = 1000


Imports = Mapping[str, Sequence[str]]


def sheets_over_budget(
    imports: Imports, sizes: Mapping[str, int], loaded: Container[str], budget: int = BUDGET
) -> frozenset[str]:
    """Return the sheets whose imports stay, since all sheets together would exceed ``budget``.

    ``imports`` are the sheets that each sheet imports, ``sizes`` their bytes, ``loaded`` those that pages load.
    """
    excess = set()
    importing = [path for path, targets in imports.items() if targets]
    for path in sorted(importing, key=lambda path: (path not in loaded, path)):
        cost = _cost(path, imports, sizes, budget)
        if cost > budget:
            excess.add(path)
        else:
            budget -= cost
    return frozenset(excess)


def _cost(path: str, imports: Imports, sizes: Mapping[str, int], budget: int) -> int:
    """Return the cost of flattening one sheet; no more is counted once it is over ``budget``."""
    cost, seen, pending = 0, {path}, [path]
    while pending and cost <= budget:
        for imported in imports.get(pending.pop(), ()):
            cost += _IMPORT
            if imported not in seen:
                seen.add(imported)
                pending.append(imported)
                cost += sizes.get(imported, 0)
    return cost
