"""How a build tells what it is doing."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Someone who watches a build; called from one thread."""

    def begin(self, phase: str, units: int, size: int) -> None:
        """A phase ("reading", "building") starts, with so many units and bytes of originals to go."""

    def advance(self, units: int, size: int, saved: int) -> None:
        """Units are done: their bytes of originals, and the bytes that they save."""

    def end(self) -> None:
        """The phase is over."""


class Silent:
    """Watches nothing."""

    def begin(self, phase: str, units: int, size: int) -> None: ...

    def advance(self, units: int, size: int, saved: int) -> None: ...

    def end(self) -> None: ...
