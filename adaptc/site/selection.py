"""Which names of a docroot are part of the site."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

# RFC 8615: the one hidden name that servers publish
_PUBLISHED_HIDDEN = ".well-known"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which names of a docroot are part of the site.

    ``exclude`` are shell patterns; one with a ``/`` is matched against the path, one without against every name. What
    ``include`` matches, in the same way, is content whatever its name, its execute bit or its mode says.
    """

    exclude: tuple[str, ...] = ()
    include_hidden: bool = False
    include: tuple[str, ...] = ()

    def excluder(self) -> Callable[[str], bool]:
        """Return a function that tells whether a path, or a directory above it, is left out."""
        matcher = self.matcher()
        return lambda path: any(map(matcher.fullmatch, with_ancestors(path)))

    def is_included(self, path: str) -> bool:
        """Whether a file, or a directory above it, is named as content."""
        return bool(self.include) and any(map(_pattern_of(self.include).fullmatch, with_ancestors(path)))

    def matcher(self) -> re.Pattern[str]:
        """Return one pattern for all: it matches paths that are left out."""
        parts = [translated(pattern) for pattern in self.exclude]
        if not self.include_hidden:
            parts.append(rf"(?:.*/)?\.(?!{re.escape(_PUBLISHED_HIDDEN[1:])}(?:/|$))[^/]*")
        return re.compile("|".join(parts) or r"(?!)", re.DOTALL)


@lru_cache(maxsize=8)
def _pattern_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translated, patterns)), re.DOTALL)


def translated(pattern: str) -> str:
    """Return the regular expression of a shell pattern as ``Selection.exclude`` has them."""
    place = "" if "/" in pattern else "(?:.*/)?"
    return f"{place}{fnmatch.translate(pattern.strip('/'))}"


def with_ancestors(path: str) -> Iterator[str]:
    """Yield a path and the directories above it, the lowest first."""
    while path:
        yield path
        path = path.rpartition("/")[0]
