"""What decides which images and fonts of its sheets a page loads, as values (``loaded_backgrounds`` finds them)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from adaptc.core.values import dataclass

__all__ = ["NO_STYLING", "Background", "Styling", "resolved"]


class Background(NamedTuple):
    """A file that a sheet loads: its URL or path, and the names that each of its selectors requires of a page.

    A font has the ``ranges`` of code points of which a page must have one; none of them stands for all.
    """

    image: str
    selectors: tuple[tuple[str, ...], ...]
    ranges: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Styling:
    """What decides which files of its sheets a page loads: its names, and URLs or paths of sheets that do not apply.

    ``names`` are types, ``.classes`` and ``#ids``; ``characters`` are those beyond ASCII.
    """

    names: frozenset[str] = frozenset()
    idle: tuple[str, ...] = ()
    characters: str = ""

    def loaded(self, sheet: str, backgrounds: Iterable[Background]) -> Iterator[str]:
        """Yield the images and fonts that a sheet makes the page load."""
        for each in backgrounds if sheet not in self.idle else ():
            if any(map(self.names.issuperset, each.selectors)) and draws_any(each.ranges, self.characters):
                yield each.image


NO_STYLING = Styling()


def resolved(backgrounds: Iterable[Background], file_of: Callable[[str], str | None]) -> tuple[Background, ...]:
    """Return backgrounds by path, without those for which ``file_of`` has no file."""
    files = ((file_of(each.image), each) for each in backgrounds)
    return tuple(each._replace(image=file) for file, each in files if file is not None)


def draws_any(ranges: Sequence[tuple[int, int]], characters: str) -> bool:
    """Whether a font for these code points, or all, draws ASCII, which each page has, or one of ``characters``."""
    codes = (_ASCII[0], *map(ord, characters))
    return not ranges or any(first <= code <= last for first, last in ranges for code in codes)


_ASCII = b"e"
