"""The levels that a plan chooses from: frames, which say what may happen to a page, with a multiplier or without."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adaptc.compile.pipeline import passes_with
from adaptc.core.diagnostics import UsageError
from adaptc.core.values import dataclass, field

Tables = Mapping[str, Mapping[str, Any]]

# The multipliers that are tried: bytes that a page may take to avoid a harm of 1. Eight in a decade; at the ends pages
# and images are as small as they can be, and as good.
PRICES = tuple(float(f"{10 ** (step / 8):.2g}") for step in range(16, 69))


@dataclass(frozen=True, slots=True)
class Frame:
    """A level to start from, with options of its passes. Where it is ``priced``, the multiplier chooses its images.

    It chooses page by page among the level and those ``instead``, too.
    """

    name: str
    base: str
    tables: Tables = field(default_factory=dict, compare=False)
    priced: bool = True
    instead: tuple[str, ...] = ()
    keeps_words: bool = True
    keeps_images: bool = False


_DECORATED: Tables = {"strip": {"decorations": False}, "strip-sheets": {"decorations": False}}
_INLINED: Tables = {
    "inline-styles": {"readers": "crowd"},
    "inline-scripts": {"readers": "crowd"},
    "inline-images": {"readers": "crowd", "budget": 196_608, "largest": 32_768},
}

# From what loses the least to what loses the most
FRAMES = (
    Frame("lossless", "lossless", priced=False, keeps_images=True),
    Frame("inlined", "lossless", _INLINED, priced=False, keeps_images=True),
    Frame("decorated", "moderate", _DECORATED, instead=("lossless",), keeps_images=True),
    Frame("moderate", "moderate", instead=("lossless", "unhydrated")),
    Frame("mixed", "moderate", instead=("lossless", "unhydrated", "extreme", "text"), keeps_words=False),
    Frame("extreme", "extreme", priced=False, keeps_words=False),
    Frame("text", "text", priced=False, keeps_words=False),
)


_SIMILARITY = re.compile(r"similarity>=(0|0?\.\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Keeps:
    """What must not be lost: all words, all images but advertisements, a least likeness of copies."""

    words: bool = False
    images: bool = False
    similarity: float = 0.0

    @classmethod
    def parse(cls, written: tuple[str, ...]) -> Keeps:
        """Read ``words``, ``images`` and ``similarity>=0.92``. Raises ``UsageError`` for others."""
        known: dict[str, Any] = {}
        for text in written:
            score = _SIMILARITY.fullmatch(text.replace(" ", ""))
            if text in ("words", "images"):
                known[text] = True
            elif score is not None:
                known["similarity"] = float(score[1])
            else:
                raise UsageError(f"--keep {text}: there are words, images, and similarity>=0.92 or another score")
        return cls(**known)

    def allows(self, frame: Frame) -> bool:
        """Whether a frame keeps what it must."""
        return (frame.keeps_words or not self.words) and (frame.keeps_images or not self.images)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A frame with the multiplier ``price``, ``None`` for its level as it is.

    ``request`` are the bytes that a request is worth, ``least`` is the least likeness of copies.
    """

    frame: Frame
    price: float | None = None
    request: float = 0.0
    least: float = 0.0

    @property
    def tables(self) -> Tables:
        """The options of passes over those of the level that it extends."""
        if self.price is None:
            return self.frame.tables
        priced: dict[str, dict[str, Any]] = {name: {"price": self.price} for name in sorted(passes_with("price"))}
        for name in passes_with("request"):
            priced[name]["request"] = self.request
        for name in passes_with("least") if self.least else ():
            priced[name]["least"] = self.least
        return {
            name: {**self.frame.tables.get(name, {}), **priced.get(name, {})} for name in (*self.frame.tables, *priced)
        }

    @property
    def values(self) -> dict[str, Any]:
        """The table ``[levels.NAME]`` of the level."""
        own: dict[str, Any] = {"extends": self.frame.base}
        if self.price is not None and self.frame.instead:
            own |= {"instead": list(self.frame.instead), "price": self.price, "request": float(self.request)}
            own |= {} if self.frame.keeps_words else {"promise": "article"}
        return {**own, **self.tables}

    def __str__(self) -> str:
        return self.frame.name if self.price is None else f"{self.frame.name} at {self.price:,.0f}"
