"""The page docs/papers/index.md and its charts, from the stored rows and the published values alone.

Equal CSV files give equal bytes: the page has no clock of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.blocks import Block, Chart, Claim, Table, Value
from benchmarks.papers.experiment import Part, Results, Section
from benchmarks.papers.plot import draw
from benchmarks.papers.texts import read_texts

HEAD = """# The papers, repeated

This page is written by `make papers` (one paper: `make papers PART=gopshtein`), from the CSV files next to it and from
what the papers print, each value with its table, figure or section. Where a figure's points are not in the text of a
paper, the page compares with what the text says of the figure. What was measured with the same code, parameters and
seeds is not measured again; `python -m benchmarks.papers --again` does so.

Costs are CPU time, simulations and lines in virtual time do not depend on the machine, and where the clock counts the
load of the machine is named with the rows. All rows together took {minutes:.0f} minutes. Sections say what
differs from the paper, and why.
"""


def write_page(parts: Sequence[Part], output: Path) -> list[str]:
    """Write the page and its charts into ``output``, and remove charts that nothing shows.

    Return the claims that the rows do not bear, each with its experiment.
    """
    results, charts, broken = Results(output / "data"), dict[str, str](), list[str]()
    origins = [results.origin(part.name, section.experiment) for part in parts for section in part.sections]
    page = [HEAD.format(minutes=sum(origin.get("seconds", 0) for origin in origins) / 60)]
    for part in parts:
        text = read_texts(part.name)
        page.append(f"\n## {text['title']}\n\n{text['citation'].strip()}\n")
        for section in part.sections:
            page += _section(part, section, results, text, charts, broken)
        page.append(f"\n### Not repeated of this paper\n\n{text['missing'].strip()}\n")
    for path in output.glob("*.svg"):
        if path.name not in charts:
            path.unlink()
    for name, drawing in charts.items():
        (output / name).write_text(drawing, "utf-8")
    (output / "index.md").write_text("".join(page), "utf-8")
    return broken


def _section(
    part: Part,
    section: Section,
    results: Results,
    text: Mapping[str, Any],
    charts: dict[str, str],
    broken: list[str],
) -> Iterator[str]:
    experiment = section.experiment
    rows, origin = results.rows(part.name, experiment), results.origin(part.name, experiment)
    own = text["sections"][experiment.name]
    yield f"\n### {own['title']}\n"
    if not rows or origin.get("version") != experiment.version:  # those of other code have other columns
        yield f"\nNot measured yet: `python -m benchmarks.papers {part.name}`.\n"
        return
    for block in section.present(rows, text["published"]):
        if isinstance(block, Claim) and not block.holds:
            broken.append(f"{part.name}/{experiment.name}: the rows do not bear: {block.text}")
        yield "\n" + _block(block, part, charts)
    yield f"\n{own['why'].strip()}\n"
    yield f"\n{_origin(results.csv(part.name, experiment).name, origin)}\n"


def _block(block: Block, part: Part, charts: dict[str, str]) -> str:
    if isinstance(block, Chart):
        name = f"{part.name}-{block.name}.svg"
        charts[name] = draw(block)
        return f"![{block.title}]({name})\n"
    if isinstance(block, Claim):
        return f"{block.text.strip()}\n"
    if isinstance(block, Table):
        marks = ["---", *["---:"] * (len(block.header) - 1)]
        lines = [block.header, marks, *([_cell(value, block.digits) for value in row] for row in block.rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{block.strip()}\n"


def _cell(value: Value, digits: int) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:,.{0 if isinstance(value, int) else digits}f}"


def _origin(name: str, origin: Mapping[str, Any]) -> str:
    scalars = [f"{key} {value}" for key, value in origin["parameters"].items() if not isinstance(value, dict | list)]
    before, after = origin["load"]
    all_of_them = f"[all parameters](data/{name.removesuffix('.csv')}.json)"
    return (
        f"Rows: [{name}](data/{name}), version {origin['version']}; {', '.join([*scalars, all_of_them])}. "
        f"{origin['date']}, {origin['seconds']} s, {origin['cores']} cores, load {before} before and {after} after."
    )
