"""``adaptc prove``: says by its exit code whether pages keep at every level what the level promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FILE, FOLDER, ExitCode, Invocation, command
from adaptc.cli.render import diagnostic_records, print_diagnostics, print_json, print_text, table, watching
from adaptc.cli.site_options import with_mirror
from adaptc.config.config import PROVED_PAGES
from adaptc.core.quantities import written_bytes, written_milliseconds, written_plural
from adaptc.workflow.check.ci_formats import FORMATS, Problem, Summary, file_name

if TYPE_CHECKING:
    from adaptc.compile.engine.proof.verdict import Verdict
    from adaptc.config.config import Config
    from adaptc.workflow.prove import Proof

# Those of ``adaptc.browser.paint.LINES``, which is imported late
LINE_NAMES = ("2g", "3g", "4g")
# A robot that does more takes minutes a page
MOST_ACTIONS = 100


@command("prove", formats=("text", "json", *FORMATS))
@click.argument("pages", nargs=-1)
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option("--level", "levels", multiple=True, metavar="NAME", help="Prove this level; may be given again.")
@click.option(
    "--pages",
    "count",
    type=click.IntRange(1),
    default=PROVED_PAGES,
    show_default=True,
    metavar="N",
    help="Prove N pages.",
)
@click.option(
    "--line",
    type=click.Choice(LINE_NAMES),
    help="Measure how soon each level shows the pages to a phone on this line, too: half a minute a page and level.",
)
@click.option(
    "--actions",
    type=click.IntRange(1, MOST_ACTIONS),
    metavar="N",
    help="Click, hover, type and scroll N times in each page, and compare after each action.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Choose other actions.")
@click.option("--report", type=FILE, metavar="FILE", help="Where pictures go.  [default: proof.html in the output]")
def prove(
    invocation: Invocation,
    pages: tuple[str, ...],
    output: Path | None,
    levels: tuple[str, ...],
    count: int,
    line: str | None,
    actions: int | None,
    seed: int,
    report: Path | None,
) -> ExitCode:
    """Say what levels do not keep of pages, with a browser.

    PAGES are paths inside the docroot, or URLs of the site; by default the most viewed pages, or pages of every
    directory and size. Each is loaded in Chromium at every level of the last build, at 412 and 1280 pixels, and
    compared with the original by what the level promises. What is as promised is not loaded again while nothing of it
    changes. Ends with 0 when every level keeps its promise, and with 1 when one does not.
    """
    from adaptc.browser.robot import Robot
    from adaptc.workflow.prove import prove as run
    from adaptc.workflow.prove import write_report

    config = with_mirror(invocation.load({"output": output}))
    with watching(invocation) as progress:
        robot = Robot(actions, seed) if actions is not None else None
        proof = run(config, pages, levels, count, progress, line, robot)
    written = write_report(config, proof, report)
    _PRINTERS.get(invocation.format, _print_for_ci)(proof, invocation, config, written)
    return ExitCode.DONE if proof.is_kept else ExitCode.WITH_ERRORS


def _print_text(proof: Proof, invocation: Invocation, _config: Config, report: Path) -> None:
    print_diagnostics(proof.diagnostics(), invocation)
    rows = [["page", *proof.levels]]
    cells: dict[str, dict[str, list[Verdict]]] = {page: {} for page in proof.pages}
    for verdict in proof.verdicts:
        cells[verdict.case.page].setdefault(verdict.case.level, []).append(verdict)
    rows += [[page, *(_cell(cells[page][level]) for level in proof.levels)] for page in proof.pages]
    print_text(table(rows), invocation)
    if proof.paints:
        print_text(table(list(paint_rows(proof)), right=range(2, 7)), invocation)
    print_text(f"{proof_sentence(proof)}; see {report}", invocation)


def paint_rows(proof: Proof) -> Iterator[list[str]]:
    """Yield a table of how soon pages are shown."""
    yield [f"on {proof.line}", "level", "first paint", "largest paint", "shift", "blocking", "bytes before"]
    for page, level, paint in ((each.page, each.level, each.paint) for each in proof.paints):
        if paint is None:
            yield [page, level, "not measured", "", "", "", ""]
        else:
            first, largest, blocking = map(written_milliseconds, (paint.first, paint.largest, paint.blocking))
            yield [page, level, first, largest, f"{paint.shift:.3f}", blocking, written_bytes(paint.before)]


def _cell(verdicts: list[Verdict]) -> str:
    """Return what a table says of a page at a level, all widths together."""
    kinds = dict.fromkeys(difference.kind for verdict in verdicts for difference in verdict.differences)
    if kinds:
        return ", ".join(kinds)
    return "not proven" if any(verdict.reason is not None for verdict in verdicts) else "ok"


def proof_sentence(proof: Proof) -> str:
    """Return the result in a sentence."""
    differing = sum(bool(verdict.differences) for verdict in proof.verdicts)
    unproven = sum(verdict.reason is not None for verdict in proof.verdicts)
    parts = [f"{number:,} {what}" for number, what in ((differing, "differ"), (unproven, "not proven")) if number]
    total = f"{written_plural(len(proof.verdicts), 'view')} of {written_plural(len(proof.pages), 'page')}"
    return f"{total}: {', '.join(parts) or 'every level keeps what it promises'}"


def _print_json(proof: Proof, _invocation: Invocation, _config: Config, report: Path) -> None:
    print_json({**proof_record(proof), "report": str(report)})


def proof_record(proof: Proof) -> dict[str, Any]:
    """Return a proof for JSON."""
    import dataclasses

    paints = {"line": proof.line, "paints": [dataclasses.asdict(each) for each in proof.paints]}
    return {
        "kept": proof.is_kept,
        "pages": list(proof.pages),
        "levels": list(proof.levels),
        "verdicts": [
            {
                "page": verdict.case.page,
                "level": verdict.case.level,
                "width": verdict.case.width,
                "promise": verdict.case.promised,
                "kept": verdict.is_kept,
                "differences": [dataclasses.asdict(each) for each in verdict.differences],
                "unproven": verdict.reason,
            }
            for verdict in proof.verdicts
        ],
        **(paints if proof.line else {}),
        "diagnostics": diagnostic_records(proof.diagnostics()),
    }


def _print_for_ci(proof: Proof, invocation: Invocation, config: Config, _report: Path) -> None:
    problems = tuple(proof_problems(proof, config))
    summary = Summary(problems, proof_passed(proof), proof_sentence(proof), "prove", "kept", fails=not proof.is_kept)
    click.echo(FORMATS[invocation.format](summary))


def proof_problems(proof: Proof, config: Config) -> Iterator[Problem]:
    """Yield the problems for CI systems."""
    from adaptc.compile.engine.proof.verdict import diagnostic_of

    for verdict in proof.verdicts:
        if not verdict.is_kept:
            name = file_name(config.docroot or Path(), verdict.case.page)
            yield Problem(diagnostic_of(verdict), name, f"{verdict.case.level} at {verdict.case.width}")


def proof_passed(proof: Proof) -> Counter[str]:
    """Return how many verdicts are good, by level and width."""
    return Counter(f"{each.case.level} at {each.case.width}" for each in proof.verdicts if each.is_kept)


_PRINTERS: dict[str, Any] = {"text": _print_text, "json": _print_json}
