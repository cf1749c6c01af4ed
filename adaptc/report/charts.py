"""The geometry of the report's charts: plain numbers that the template draws as SVG.

A chart is 360 units wide: a column of a large screen, and the whole width of a small one, so that its letters
have about one size everywhere. All levels share their axes, so that charts can be compared by eye. Pages are
binned: a scatter of 32,000 dots a level would be most of the file, and the shade of a cell says more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from adaptc.report.axes import Axis, Tick, count_ticks, log_axis
from adaptc.report.figures import LevelFigures, TypeFigures
from adaptc.report.quantities import written_bytes, written_count
from adaptc.report.tally import Tally

WIDTH = 360
LEFT, RIGHT, TOP, BOTTOM = 48, 350, 12, 184  # the plot inside a chart
ROW = 44  # the height of a group in the bars by type
BIN = 8  # the width of a bin of the histogram
CELL = 5  # the side of a cell of the scatter
SHADES = (1, 3, 10, 100)  # pages in a cell from which on it has the next darker shade

Point = tuple[int, int]  # requests and bytes sent of a page


@dataclass(frozen=True, slots=True)
class Bar:
    """A group of media types: the lengths of the bars for before, after and sent."""

    group: str
    y: int
    before: float
    after: float
    sent: float
    label: str


@dataclass(frozen=True, slots=True)
class Spread:
    """How the pages of a level lie. ``histogram`` and ``shades`` are SVG paths, the lightest shade first."""

    pages: int
    histogram: str
    median_at: float
    median: str
    ninety: str
    shades: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plots:
    """The spread of the pages of all levels, and the axes that they share."""

    weight: Axis  # bytes sent, to the right: of the histogram
    counts: tuple[Tick, ...]  # pages, upward
    requests: Axis  # to the right: of the scatter
    sent: Axis  # bytes sent, upward
    levels: tuple[Spread, ...]


def bars_by_type(levels: Sequence[LevelFigures]) -> tuple[tuple[Bar, ...], ...]:
    """Return the bars of each level, all in one scale; groups without a byte are left out."""
    kinds = [kind for level in levels for kind in level.bytes_by_type]
    longest = max((max(kind.bytes_before, kind.bytes_after) for kind in kinds), default=0)
    scale = WIDTH / max(longest, 1)
    return tuple(_bars(level.bytes_by_type, scale) for level in levels)


def _bars(kinds: Sequence[TypeFigures], scale: float) -> tuple[Bar, ...]:
    shown = [kind for kind in kinds if kind.bytes_before or kind.bytes_after]
    return tuple(_bar(kind, index * ROW, scale) for index, kind in enumerate(shown))


def _bar(kind: TypeFigures, y: int, scale: float) -> Bar:
    amounts = (kind.bytes_before, kind.bytes_after, kind.transfer_after)
    before, after, sent = (round(amount * scale, 1) for amount in amounts)
    label = " → ".join(map(written_bytes, amounts))
    return Bar(kind.group, y, before, after, sent, label)


def plot_pages(tally: Tally) -> Plots | None:
    """Return the spread of the pages at each level of the tally; None for a site without pages."""
    if not tally.rows:
        return None
    points = [_points(tally, number) for number in range(len(tally.levels))]
    every = [point for level in points for point in level]
    weight = log_axis((sent for _, sent in every), LEFT, RIGHT, written_bytes)
    upward = log_axis((sent for _, sent in every), BOTTOM, TOP, written_bytes)
    requests = log_axis((number for number, _ in every), LEFT, RIGHT, lambda amount: f"{amount:g}")
    tallest = max(max(_bins(level, weight).values(), default=1) for level in points)
    levels = tuple(_spread(level, weight, tallest, (requests, upward)) for level in points)
    return Plots(weight, count_ticks(tallest, BOTTOM, TOP), requests, upward, levels)


def _points(tally: Tally, level: int) -> list[Point]:
    costs = (row[level] for row in tally.rows.values())
    return [(cost.requests, cost.transfer) for cost in costs if cost]


def _spread(points: list[Point], weight: Axis, tallest: int, plane: tuple[Axis, Axis]) -> Spread:
    sent = sorted(amount for _, amount in points) or [0]
    median, ninety = sent[len(sent) // 2], sent[len(sent) * 9 // 10]
    return Spread(
        len(points),
        _histogram(_bins(points, weight), tallest),
        weight.at(median),
        written_bytes(median),
        written_bytes(ninety),
        _shades(points, *plane),
    )


def _bins(points: Sequence[Point], weight: Axis) -> Counter[int]:
    return Counter(int((weight.at(sent) - LEFT) // BIN) for _, sent in points)


def _histogram(bins: Counter[int], tallest: int) -> str:
    """Return the bars of a histogram as one path; a bin with a page has at least one unit of height."""
    heights = {number: max((BOTTOM - TOP) * count / tallest, 1) for number, count in sorted(bins.items())}
    return "".join(
        f"M{LEFT + number * BIN + 0.5:g} {BOTTOM}v-{height:.1f}h{BIN - 1}v{height:.1f}z"
        for number, height in heights.items()
    )


def _shades(points: Sequence[Point], requests: Axis, upward: Axis) -> tuple[str, ...]:
    cells = Counter(_cell(requests.at(number), upward.at(sent)) for number, sent in points)
    paths = [""] * len(SHADES)
    for (x, y), count in sorted(cells.items()):
        shade = sum(count >= least for least in SHADES) - 1
        paths[shade] += f"M{x} {y}h{CELL - 1}v{CELL - 1}h-{CELL - 1}z"
    return tuple(paths)


def _cell(x: float, y: float) -> tuple[int, int]:
    return int(x // CELL * CELL), int(y // CELL * CELL)


def shade_labels() -> tuple[str, ...]:
    """Return what each shade stands for: ``1 to 2 pages``, ..., ``100 or more``."""
    ends = [*(following - 1 for following in SHADES[1:]), None]
    return tuple(
        f"{written_count(least)} or more" if end is None else f"{least}–{end}"
        for least, end in zip(SHADES, ends, strict=True)
    )
