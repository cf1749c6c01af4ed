"""Charts as SVG: lines, steps and dots over linear or logarithmic axes.

The charts of the report (``adaptc.report.charts``) are bars and histograms of page weights over logarithmic axes that
begin at 1. These have curves of shares and seconds; they share the look, not the geometry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.papers.blocks import Chart, Series

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 520, 34, 310  # the plot; the legend is to its right
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#444444", "#8c564b")  # Okabe and Ito
ROUND = (1, 2, 2.5, 5)  # steps of ticks are these, times a power of ten
MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class Axis:
    """Amounts from ``low`` to ``high`` on paper from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool

    def at(self, amount: float) -> float:
        """Return the place of an amount."""
        low, high, here = (math.log(one) if self.is_log else one for one in (self.low, self.high, amount))
        return round(self.start + (self.end - self.start) * (here - low) / (high - low), 1)

    def ticks(self) -> list[float]:
        """Return round amounts on the axis."""
        if self.is_log:
            exponents = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
            return [10.0**exponent for exponent in exponents]
        step = _step(self.high - self.low)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _step(span: float) -> float:
    least = 10.0 ** math.floor(math.log10(span / MOST_TICKS))
    return next(step for factor in (1, 10) for one in ROUND if span / (step := one * factor * least) <= MOST_TICKS)


def axis(amounts: Sequence[float], scale: str, start: float, end: float) -> Axis:
    """Return an axis that holds the amounts; a linear one begins at 0 unless amounts are negative."""
    low, high = min(amounts), max(amounts)
    if scale == "log":
        return Axis(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high * 1.001)), start, end, True)
    low = min(0.0, low)
    high = high if high > low else low + 1
    return Axis(low, high + (high - low) * 0.05, start, end, False)


def draw(chart: Chart) -> str:
    """Return the chart as an SVG document."""
    points = [point for series in chart.series for point in series.points]
    across = axis([x for x, _ in points], chart.x_scale, LEFT, RIGHT)
    upward = axis([y for _, y in points], chart.y_scale, BOTTOM, TOP)
    parts = [*_frame(chart, across, upward)]
    for number, series in enumerate(chart.series):
        colour = COLOURS[number % len(COLOURS)]
        parts += [_curve(series, colour, across, upward), *_legend(series, colour, number)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="13">\n<title>{escape(chart.title)}</title>\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _frame(chart: Chart, across: Axis, upward: Axis) -> list[str]:
    middle = (TOP + BOTTOM) // 2
    parts = [
        f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="#444"/>',
        _text((LEFT + RIGHT) // 2, HEIGHT - 12, chart.x, "middle"),
        f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">{escape(chart.y)}</text>',
        f'<text x="{LEFT}" y="20" font-weight="bold">{escape(chart.title)}</text>',
    ]
    for amount in across.ticks():
        parts += [f'<path d="M{across.at(amount)} {BOTTOM}v5" stroke="#444"/>']
        parts += [_text(across.at(amount), BOTTOM + 19, f"{amount:g}", "middle")]
    for amount in upward.ticks():
        parts += [f'<path d="M{LEFT} {upward.at(amount)}H{RIGHT}" stroke="#ddd"/>']
        parts += [_text(LEFT - 6, upward.at(amount) + 4, f"{amount:g}", "end")]
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _curve(series: Series, colour: str, across: Axis, upward: Axis) -> str:
    places = [(across.at(x), upward.at(y)) for x, y in series.points]
    if series.style == "dots":
        return "".join(f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in places)
    first, *rest = places
    join = "H{0} V{1}" if series.style == "steps" else "L{0} {1}"
    path = f"M{first[0]} {first[1]}" + "".join(join.format(x, y) for x, y in rest)
    return f'<path d="{path}" fill="none" {_stroke(series, colour)}/>'


def _legend(series: Series, colour: str, number: int) -> list[str]:
    y = TOP + 8 + number * 22
    if series.style == "dots":
        shape = f'<circle cx="{RIGHT + 26}" cy="{y}" r="3.5" fill="{colour}"/>'
    else:
        shape = f'<path d="M{RIGHT + 14} {y}h24" {_stroke(series, colour)}/>'
    return [shape, _text(RIGHT + 44, y + 4, series.name, "start")]


def _stroke(series: Series, colour: str) -> str:
    dashes = ' stroke-dasharray="6 4"' if series.style == "dashed" else ""
    return f'stroke="{colour}" stroke-width="2"{dashes}'
