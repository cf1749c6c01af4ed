"""The curve of a plan as SVG: harm of a page view over how many times the page views of the full site are answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from adaptc.report.charts import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Axis, log_axis

_HEIGHT = BOTTOM + 40
_TICKS = 4  # of harm, above 0
_STYLE = (
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
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_HEIGHT}" role="img"'
        ' aria-label="Harm of candidates over throughput">',
        f"<style>{_STYLE}</style>",
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
    for number in range(_TICKS + 1):
        harm = most * number / _TICKS
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
