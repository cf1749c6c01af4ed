"""The geometry of charts: plain numbers that the template of the report draws as SVG, and the curve of a plan as SVG.

A chart is 360 units wide: a column of a large screen, and the whole width of a small one, so that its letters
have about one size everywhere. All levels share their axes, so that charts can be compared by eye. Pages are
binned: a scatter of 32,000 dots a level would be most of the file, and the shade of a cell says more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

from adaptc.core.quantities import written_bytes, written_count
from adaptc.core.values import dataclass
from adaptc.report.figures import LevelFigures, TypeFigures

WIDTH = 360
LEFT, RIGHT, TOP, BOTTOM = 48, 350, 12, 184  # the plot inside a chart
ROW = 44  # the height of a group in the bars by type
BIN = 8  # the width of a bin of the histogram
CELL = 5  # the side of a cell of the scatter
SHADES = (1, 3, 10, 100)  # pages in a cell from which on it has the next darker shade

Points = dict[tuple[int, int], int]  # how many pages take so many requests and bytes as sent


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
    """How the pages of a level are spread. ``histogram`` and ``shades`` are SVG paths, the lightest shade first."""

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


def plot_pages(pages: Mapping[tuple[str, int, int], int], levels: Sequence[str]) -> Plots | None:
    """Return the spread of the pages at each level; None for a site without pages.

    ``pages`` counts the pages of a level that take so many requests and bytes as sent.
    """
    if not pages:
        return None
    points: dict[str, Points] = {level: {} for level in levels}
    for (level, number, sent), count in pages.items():
        points[level][number, sent] = count
    weight = log_axis((sent for _, _, sent in pages), LEFT, RIGHT, written_bytes)
    upward = log_axis((sent for _, _, sent in pages), BOTTOM, TOP, written_bytes)
    requests = log_axis((number for _, number, _ in pages), LEFT, RIGHT, lambda amount: f"{amount:g}")
    bins = [_bins(each, weight) for each in points.values()]
    tallest = max(max(counts.values(), default=1) for counts in bins)
    spreads = tuple(
        _spread(each, counts, tallest, (weight, requests, upward))
        for each, counts in zip(points.values(), bins, strict=True)
    )
    return Plots(weight, count_ticks(tallest, BOTTOM, TOP), requests, upward, spreads)


def _spread(points: Points, bins: Counter[int], tallest: int, axes: tuple[Axis, Axis, Axis]) -> Spread:
    weight, requests, upward = axes
    total = sum(points.values())
    median, ninety = (_at(points, total * tenths // 10) for tenths in (5, 9))
    return Spread(
        total,
        _histogram(bins, tallest),
        weight.at(median),
        written_bytes(median),
        written_bytes(ninety),
        _shades(points, requests, upward),
    )


def _at(points: Points, rank: int) -> int:
    """Return the bytes sent of the page with this rank, counted from 0 by bytes; 0 where there is no page."""
    for (_, sent), count in sorted(points.items(), key=lambda point: point[0][1]):
        rank -= count
        if rank < 0:
            return sent
    return 0


def _bins(points: Points, weight: Axis) -> Counter[int]:
    bins: Counter[int] = Counter()
    for place, count in zip(weight.places(sent for _, sent in points), points.values(), strict=True):
        bins[int((place - LEFT) // BIN)] += count
    return bins


def _histogram(bins: Counter[int], tallest: int) -> str:
    """Return the bars of a histogram as one path; a bin with a page has at least one unit of height."""
    heights = {number: max((BOTTOM - TOP) * count / tallest, 1) for number, count in sorted(bins.items())}
    return "".join(
        f"M{LEFT + number * BIN + 0.5:g} {BOTTOM}v-{height:.1f}h{BIN - 1}v{height:.1f}z"
        for number, height in heights.items()
    )


def _shades(points: Points, requests: Axis, upward: Axis) -> tuple[str, ...]:
    numbers = {number: requests.at(number) for number in {number for number, _ in points}}
    cells: Counter[tuple[int, int]] = Counter()
    places = upward.places(sent for _, sent in points)
    for (number, _), place, count in zip(points, places, points.values(), strict=True):
        cells[_cell(numbers[number], place)] += count
    paths = [""] * len(SHADES)
    for (x, y), count in sorted(cells.items()):
        shade = sum(count >= least for least in SHADES) - 1
        paths[shade] += f"M{x} {y}h{CELL - 1}v{CELL - 1}h-{CELL - 1}z"
    return tuple(paths)


def _cell(x: float, y: float) -> tuple[int, int]:
    return int(x // CELL * CELL), int(y // CELL * CELL)


def shade_labels() -> tuple[str, ...]:
    """Return what each shade means: ``1 to 2 pages``, ..., ``100 or more``."""
    ends = [*(following - 1 for following in SHADES[1:]), None]
    return tuple(
        f"{written_count(least)} or more" if end is None else f"{least}–{end}"
        for least, end in zip(SHADES, ends, strict=True)
    )


# ---- axes: from amounts to places on paper, and the labels along them

MOST_TICKS = 7
ROUND = (1, 2, 5)  # round numbers are these, times a power of ten


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis for amounts from ``low`` to ``high``, drawn from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[Tick, ...] = ()

    def at(self, amount: float) -> float:
        """Return the place of an amount; amounts beyond the axis are put at its end."""
        return self.places([amount])[0]

    def places(self, amounts: Iterable[float]) -> list[float]:
        """Return the places of amounts, of which a large site has a hundred thousand."""
        low, high, start, log = self.low, self.high, self.start, math.log
        scale = (self.end - start) / log(high / low)
        return [
            round(start + scale * log((low if amount < low else high if amount > high else amount) / low), 1)
            for amount in amounts
        ]


def log_axis(amounts: Iterable[float], start: float, end: float, write: Callable[[float], str]) -> Axis:
    """Return an axis that holds all ``amounts`` (those below 1 as 1), with ticks that ``write`` labels."""
    present = set(amounts) or {1}
    low, high = max(min(present), 1), max(*present, 1)
    if high < 4 * low:  # a single page, or pages that are all alike, still need an axis with a length
        low, high = low / 2, high * 2
    bare = Axis(low / 1.1, high * 1.1, start, end)
    ticks = tuple(Tick(bare.at(amount), write(amount)) for amount in _round_between(bare.low, bare.high))
    return Axis(bare.low, bare.high, start, end, ticks)


def _round_between(low: float, high: float) -> list[float]:
    """Return round amounts in a range: 1, 2, 5, 10, ...; or powers of ten, or every second one of them."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [mantissa * 10.0**exponent for exponent in exponents for mantissa in ROUND]
    coarse = [10.0**exponent for exponent in exponents]
    for candidates in (fine, coarse, coarse[::2]):
        inside = [amount for amount in candidates if low <= amount <= high]
        if len(inside) <= MOST_TICKS:
            break
    return inside


def count_ticks(most: int, start: float, end: float) -> tuple[Tick, ...]:
    """Return ticks of a linear axis from 0 to ``most`` (at least 1): three to seven round whole numbers."""
    step = next(step for step in _steps() if most / step < MOST_TICKS)
    place = (end - start) / most
    return tuple(Tick(round(start + place * count, 1), f"{count:,}") for count in range(0, most + 1, step))


def _steps() -> Iterable[int]:
    return (mantissa * 10**exponent for exponent in range(12) for mantissa in ROUND)


# ---- the curve of a plan: harm of a page view over how many times the page views of the full site are answered

_PLAN_HEIGHT = BOTTOM + 40
_HARM_TICKS = 4  # of harm, above 0
_PLAN_STYLE = (
    "text{font:10px sans-serif;fill:#222}.axis{stroke:#888;fill:none}.grid{stroke:#ddd;fill:none}"
    ".best{stroke:#0969da;fill:none;stroke-width:1.5}circle{fill:#8c959f}.chosen{fill:#cf222e}"
    "@media(prefers-color-scheme:dark){svg{background:#161b22}text{fill:#ddd}.grid{stroke:#333}}"
)


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """A candidate: its name, times the page views of the full site, the harm of one, and whether it was chosen."""

    name: str
    throughput: float
    harm: float
    is_chosen: bool = False


def plan_chart(points: Sequence[PlanPoint]) -> str:
    """Return the chart as a document of its own; the line joins the candidates that no other is better than."""
    every = [PlanPoint("full", 1.0, 0.0), *points]
    across = log_axis((point.throughput for point in every), LEFT, RIGHT, lambda factor: f"{factor:g}x")
    most = max((point.harm for point in every), default=0.0) or 1.0
    best = " ".join(f"{across.at(point.throughput)},{_up(point.harm, most)}" for point in best_points(every))
    return "".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_PLAN_HEIGHT}" role="img"'
        ' aria-label="Harm of candidates over throughput">',
        f"<style>{_PLAN_STYLE}</style>",
        *_axes(across, most),
        f'<polyline class="best" points="{best}"/>',
        *(_dot(point, across, most) for point in every),
        "</svg>\n",
    ))  # fmt: skip


def best_points(points: Iterable[PlanPoint]) -> list[PlanPoint]:
    """Return the points with less harm than all of more throughput, the least throughput first."""
    best: list[PlanPoint] = []
    for point in sorted(points, key=lambda point: (-point.throughput, point.harm)):
        if not best or point.harm < best[-1].harm:
            best.append(point)
    return best[::-1]


def _up(harm: float, most: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * harm / most, 1)


def _axes(across: Axis, most: float) -> Iterable[str]:
    for number in range(_HARM_TICKS + 1):
        harm = most * number / _HARM_TICKS
        y = _up(harm, most)
        yield f'<path class="grid" d="M{LEFT} {y}H{RIGHT}"/>'
        yield f'<text x="{LEFT - 4}" y="{y + 3}" text-anchor="end">{harm:.3g}</text>'
    for tick in across.ticks:
        yield f'<text x="{tick.at}" y="{BOTTOM + 14}" text-anchor="middle">{tick.label}</text>'
    yield f'<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>'
    yield f'<text x="{RIGHT}" y="{BOTTOM + 30}" text-anchor="end">page views, times those of the full site</text>'
    yield f'<text x="{LEFT}" y="{TOP - 3}">harm of a page view</text>'


def _dot(point: PlanPoint, across: Axis, most: float) -> str:
    title = f"{point.name}: {point.throughput:.2f} times, harm {point.harm:.4f}"
    kind = ' class="chosen"' if point.is_chosen else ""
    place = f'cx="{across.at(point.throughput)}" cy="{_up(point.harm, most)}"'
    return f'<circle{kind} {place} r="{4 if point.is_chosen else 2.5}"><title>{escape(title)}</title></circle>'
