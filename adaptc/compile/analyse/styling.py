"""What decides which images of its style sheets a page loads, as values (``loaded_backgrounds`` finds them)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from adaptc.core.values import dataclass

__all__ = ["NO_STYLING", "Background", "Styling", "resolved"]


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
