"""``adaptc check``: says by its exit code whether an output is fresh, whole and within its budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.render import diagnostic_records, print_diagnostics, print_json, print_text, table, watching
from adaptc.cli.site_options import overrides, site_options, with_mirror
from adaptc.core.values import dataclass
from adaptc.workflow.check.ci_formats import FORMATS, Problem, Summary, file_name

if TYPE_CHECKING:
    from adaptc.config.budgets import Budget
    from adaptc.config.config import Config
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.workflow.check.check import Verdict
    from adaptc.workflow.check.weights import Growth

# Rows of the table of pages that became heavier
_MOST_PAGES = 10
_FILE = click.Path(exists=True, path_type=Path)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found: the verdict on the trees, what exceeds the budgets, what grew, and what was not compared."""

    verdict: Verdict
    budgets: tuple[Diagnostic, ...]
    growth: tuple[Growth, ...]
    unchecked: tuple[Diagnostic, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether the trees are fresh and within their budgets."""
        return not self.verdict.findings and not self.budgets


@command("check", formats=("text", "json", *FORMATS))
@site_options
@click.option("--quick", "mode", flag_value="quick", help="Read only files whose size or time changed.")
@click.option("--content", "mode", flag_value="content", default=True, help="Compare all contents.  [default]")
@click.option("--fix", is_flag=True, help="Build what is needed, then check again.")
@click.option("--baseline", type=_FILE, metavar="FILE", help="Compare pages with this older manifest.")
def check(invocation: Invocation, mode: str, fix: bool, baseline: Path | None, **site: Any) -> ExitCode:
    """Say whether trees are fresh and within budgets.

    Compares DOCROOT, configuration and trees with the records of the last build, by content, so that it holds for a
    checkout or a copy where every file has another time. Nothing is written without --fix. Ends with 0 when all is
    well, and with 1 when it is not.
    """
    config = with_mirror(invocation.load(overrides(site)))
    outcome = checked(invocation, config, mode == "content", fix, baseline)
    _PRINTERS[invocation.format](outcome, invocation, config)
    return ExitCode.DONE if outcome.is_well else ExitCode.WITH_ERRORS


def checked(invocation: Invocation, config: Config, every_file: bool, fix: bool, baseline: Path | None) -> Outcome:
    """Check the last build, and weigh its pages. Raises ``UsageError`` for mistakes in budgets and baselines."""
    from adaptc.workflow.check.check import check as run
    from adaptc.workflow.check.check import repair

    budgets = configured_budgets(config)
    verdict = run(config, every_file=every_file)
    if fix and verdict.findings:
        with watching(invocation) as progress:
            repair(config, verdict, progress)
        verdict = run(config, every_file=every_file)
    return _weighed(config, verdict, budgets, baseline)


def configured_budgets(config: Config) -> tuple[Budget, ...]:
    """Return the budgets of levels. Raises ``UsageError`` that names every mistake in them."""
    if not config.budgets.values:
        return ()
    from adaptc.config.budgets import read_budgets
    from adaptc.workflow.configuration import configured_levels

    return read_budgets(config.budgets, [level.name for level in configured_levels(config)])


def _weighed(config: Config, verdict: Verdict, budgets: tuple[Budget, ...], baseline: Path | None) -> Outcome:
    """Compare the pages of the manifest with the budgets; without a manifest there is nothing to weigh."""
    from adaptc.report.manifest import MANIFEST

    if not (config.output / MANIFEST).is_file() or not (budgets or baseline):
        return Outcome(verdict, (), ())
    from adaptc.workflow.check.weights import exceeded, growth, outgrown, read_weights, unlimited

    now = read_weights(config.output, typed=any(budget.types or budget.paths for budget in budgets))
    before = read_weights(baseline) if baseline else None
    rows = growth(before, now) if before is not None else []
    diagnostics = [
        diagnostic for budget in budgets if budget.level in now for diagnostic in exceeded(budget, now[budget.level])
    ]
    diagnostics += [diagnostic for budget in budgets for diagnostic in outgrown(budget, rows)]
    unchecked = (diagnostic for budget in budgets for diagnostic in unlimited(budget, before))
    return Outcome(verdict, tuple(diagnostics), tuple(rows), tuple(unchecked))


# ---- what is printed


def _print_text(outcome: Outcome, invocation: Invocation, _config: Config) -> None:
    findings = (finding.diagnostic() for finding in outcome.verdict.findings)
    print_diagnostics([*findings, *outcome.budgets, *outcome.unchecked], invocation)
    if outcome.growth:
        print_text(_growth_table(outcome.growth), invocation)
    print_text(_level_table(outcome.verdict), invocation)
    print_text(check_sentence(outcome), invocation)


def _level_table(verdict: Verdict) -> str:
    """Return how many files of each level are in which state."""
    counts = Counter((finding.level, finding.status.value) for finding in verdict.findings)
    states = list(dict.fromkeys(finding.status.value for finding in verdict.findings))
    levels = [
        *verdict.fresh,
        *dict.fromkeys(finding.level for finding in verdict.findings if finding.level not in verdict.fresh),
    ]
    rows = [["", "fresh", *states]]
    for level in levels:
        fresh = verdict.fresh.get(level or "", 0)
        rows.append([level or "others", f"{fresh:,}", *(f"{counts[level, name]:,}" for name in states)])
    return table(rows, right=tuple(range(1, len(rows[0]))))


def _growth_table(rows: tuple[Growth, ...]) -> str:
    """Return what became heavier: the means of levels, and the pages that grew most."""
    from adaptc.core.diagnostics import printable
    from adaptc.workflow.check.weights import written_amount

    means = [row for row in rows if row.path is None]
    pages = [row for row in rows if row.path is not None]
    cells = [["grew", "level", "", "before", "now", ""]]
    for row in (*means, *pages[:_MOST_PAGES]):
        before, now = written_amount(row.measure, row.before), written_amount(row.measure, row.now)
        place = "mean of pages" if row.path is None else printable(row.path)
        cells.append([place, row.level, row.measure, before, now, f"+{row.percent:.1f} %"])
    more = len(pages) - _MOST_PAGES
    return table(cells, right=(3, 4, 5)) + (f"\nand {more:,} more; see --format json" if more > 0 else "") + "\n"


def check_sentence(outcome: Outcome) -> str:
    """Return the result in a sentence."""
    verdict = outcome.verdict
    counts = Counter(finding.status.value for finding in verdict.findings)
    parts = [f"{count:,} {name}" for name, count in counts.items()]
    trees = f"not fresh: {', '.join(parts)}" if parts else f"fresh: {verdict.files:,} files as they were built"
    return f"{trees}; {len(outcome.budgets):,} over budget" if outcome.budgets else trees


def _print_json(outcome: Outcome, _invocation: Invocation, _config: Config) -> None:
    print_json(check_record(outcome))


def check_record(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome for JSON."""
    import dataclasses

    verdict = outcome.verdict
    return {
        "fresh": not verdict.findings,
        "within_budgets": not outcome.budgets,
        "units": dict(verdict.fresh),
        "files": verdict.files,
        "findings": [{**dataclasses.asdict(finding), "status": finding.status.value} for finding in verdict.findings],
        "budgets": diagnostic_records([*outcome.budgets, *outcome.unchecked]),
        "growth": [{**dataclasses.asdict(row), "percent": _finite(row.percent)} for row in outcome.growth],
    }


def _finite(percent: float) -> float | None:
    return round(percent, 1) if percent < float("inf") else None  # JSON has no infinity


def check_problems(outcome: Outcome, config: Config) -> Iterator[Problem]:
    """Yield the problems for CI systems."""
    docroot = config.docroot or Path()
    for finding in outcome.verdict.findings:
        folder = config.output if finding.file else docroot
        yield Problem(finding.diagnostic(), file_name(folder, finding.place), finding.level or "trees")
    for diagnostic in (*outcome.budgets, *outcome.unchecked):
        yield Problem(
            diagnostic, file_name(docroot, diagnostic.location.path) if diagnostic.location else None, "budgets"
        )


def _print_for_ci(outcome: Outcome, invocation: Invocation, config: Config) -> None:
    problems = tuple(check_problems(outcome, config))
    summary = Summary(problems, outcome.verdict.fresh, check_sentence(outcome), fails=not outcome.is_well)
    click.echo(FORMATS[invocation.format](summary))


_PRINTERS = {"text": _print_text, "json": _print_json, **dict.fromkeys(FORMATS, _print_for_ci)}
