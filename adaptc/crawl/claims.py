"""Which file belongs to which URL: every URL has one name, reserved before it is asked for.

Names are claimed in the order in which a sequential crawl would meet the URLs, so that the same site gives the same
names however many connections there are. A name that is taken gets a number (``a.1``), as wget and wget2 do; a name
that is a directory cannot be a file, nor the other way round (``/a`` beside ``/a/b``), and gets a number too.
"""

from __future__ import annotations

import unicodedata
from typing import Protocol

from adaptc.crawl.names import numbered

_REMEMBERED = 50_000  # directories that are kept in memory; others are asked of the frontier


class Keys(Protocol):
    """The keys of names that are taken: the frontier."""

    def is_file(self, key: str) -> bool:
        """Whether a file has this key."""

    def claim_key(self, key: str) -> bool:
        """Claim a key for a file; return whether it was free."""

    def release_key(self, key: str) -> None:
        """Let a key go."""


class Claims:
    """Gives names out.

    ``folds_case`` compares them as case-insensitive file systems do (macOS also composes accents).
    """

    def __init__(self, keys: Keys, *, folds_case: bool) -> None:
        self._keys, self._folds_case = keys, folds_case
        self._directories: dict[str, str] = {}

    def claim(self, wanted: str) -> str:
        """Claim ``wanted``, or the first numbered name after it that no file and no directory has; return it."""
        directory, slash, base = wanted.rpartition("/")
        prefix = self._directory(directory) + slash if directory else ""
        number, tried = 0, prefix + base
        while not self._keys.claim_key(self._key(tried)):
            number += 1
            tried = prefix + numbered(base, number)
        return tried

    def release(self, name: str) -> None:
        """Let a claimed name go."""
        self._keys.release_key(self._key(name))

    def _key(self, name: str) -> str:
        """Return what two names have in common that the file system takes for one."""
        return unicodedata.normalize("NFC", name).casefold() if self._folds_case else name

    def _directory(self, directory: str) -> str:
        """Return the directory, or another where a file has the name of one of its segments."""
        known = self._directories.get(directory)
        if known is not None:
            return known
        parent, slash, base = directory.rpartition("/")
        prefix = self._directory(parent) + slash if parent else ""
        number, tried = 0, prefix + base
        while self._keys.is_file(self._key(tried)):
            number += 1
            tried = prefix + numbered(base, number)
        if len(self._directories) >= _REMEMBERED:
            self._directories.clear()
        self._directories[directory] = tried
        return tried
