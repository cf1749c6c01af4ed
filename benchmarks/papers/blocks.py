"""What a page is made of: text, claims, tables and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = float | int | str | None
Published = Mapping[str, Any]  # by name: the printed values, with ``where``, their table, figure or section


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page; numbers are written with ``digits`` decimals."""

    header: Sequence[str]
    rows: Sequence[Sequence[Value]]
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that the rows must bear: where ``holds`` is false, ``make papers`` fails."""

    text: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a chart. ``style`` is ``line``, ``dashed`` (published, or offered), ``dots`` or ``steps``."""

    name: str
    points: Sequence[tuple[float, float]]
    style: str = "line"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with the labels of its axes; ``x_scale`` and ``y_scale`` are ``linear`` or ``log``."""

    name: str
    title: str
    x: str
    y: str
    series: Sequence[Series]
    x_scale: str = "linear"
    y_scale: str = "linear"


Block = str | Claim | Table | Chart
