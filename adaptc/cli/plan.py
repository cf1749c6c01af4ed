"""``adaptc levels`` shows the levels; ``adaptc plan`` composes one for a goal."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FILE, FOLDER, ExitCode, Invocation, command
from adaptc.cli.measured_cost import found_profile
from adaptc.cli.render import diagnostic_records, print_diagnostics, print_json, print_text, table, watching
from adaptc.cli.site_options import jobs_option
from adaptc.config.toml import TomlSource, shown
from adaptc.core.diagnostics import UsageError
from adaptc.core.fs import write_atomic
from adaptc.core.quantities import written_bytes, written_factor
from adaptc.core.values import dataclass, replace

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.config.rulebook import Level
    from adaptc.workflow.planning.candidates import Keeps
    from adaptc.workflow.planning.goals import PageMean
    from adaptc.workflow.planning.plan import PlannedLadder, PlannedLevel
    from adaptc.workflow.planning.trials import Trial

_LINES = ("2g", "3g", "4g")
_PRICE = "bytes that a page may take to avoid a harm of 1"


@command("plan")
@click.argument("docroot", required=False, type=FOLDER)
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="Where builds go.  [default: opt]")
@jobs_option
@click.option("--throughput", metavar="FACTOR", help="How many times as many page views, such as 4x.")
@click.option("--bytes", metavar="SIZE", help="Of the mean page: a share of the full site, or a size.")
@click.option("--requests", metavar="N", help="Of the mean page: a number, or a share below 1.")
@click.option("--page-time", metavar="TIME", help="How soon the mean page arrives on --line, such as 2s.")
@click.option("--line", type=click.Choice(_LINES), help="The line of --page-time.  [default: 3g]")
@click.option("--budget", metavar="LEVEL", help="The mean_requests and mean_bytes of [budgets.LEVEL].")
@click.option("--keep", "keeps", multiple=True, metavar="WHAT", help="words, images or similarity>=SCORE; repeatable.")
@click.option(
    "--ladder", type=click.IntRange(3, 5), metavar="N", help="N levels, the full site included, evenly spaced in cost."
)
@click.option("--name", default="planned", show_default=True, metavar="NAME", help="The name of the level.")
@click.option("--chart", type=FILE, metavar="FILE", help="Draw harm over throughput of all candidates as SVG.")
@click.option("--dry-run", is_flag=True, help="Print the level and write nothing but the cache.")
def plan(
    invocation: Invocation,
    docroot: Path | None,
    output: Path | None,
    jobs: int | None,
    keeps: tuple[str, ...],
    ladder: int | None,
    name: str,
    chart: Path | None,
    dry_run: bool,
    **written: str | None,
) -> ExitCode:
    """Compose a level for a goal, with the least harm to readers.

    Candidates are built and measured, from gentle to harsh, until one reaches all goals; its tables go into adaptc.toml
    as [levels.NAME]. Images are chosen one by one, by their bytes and by what a reader loses. Exit code 1: nothing
    reaches the goals, nothing was written, and the output says what comes nearest.
    """
    from adaptc.serve.calibrate.experiments import network_diagnostics
    from adaptc.workflow.planning.candidates import Keeps

    config = invocation.load({"docroot": docroot, "output": output, "build.jobs": jobs})
    if config.cost.profile is not None:
        profile = found_profile(config, invocation, config.cost.profile)  # reports one of another machine or age
        if profile is not None and written["throughput"] is not None:
            print_diagnostics(list(network_diagnostics(profile)), invocation)  # throughput counts CPU time alone
    kept = Keeps.parse(keeps)
    file = None if dry_run else invocation.config or Path("adaptc.toml")
    options = {**written, "ladder": ladder}
    wanted = [f"{option.replace('_', '-')} {value}" for option, value in options.items() if value is not None]
    target = _Target(invocation, config, name, file, chart, (*wanted, *(f"keep {each}" for each in keeps)))
    if ladder is not None:
        if any(value is not None for value in written.values()):
            raise UsageError("--ladder goes from the full site to the cheapest level: it has no other goal")
        return _plan_ladder(target, ladder, kept)
    return _plan_level(target, written, kept)


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a plan goes: ``file`` is ``None`` where it is only printed, ``chart`` where none is drawn.

    ``options`` are those of the command that say what is wanted.
    """

    invocation: Invocation
    config: Config
    name: str
    file: Path | None
    chart: Path | None = None
    options: tuple[str, ...] = ()

    def draw(self, trials: Sequence[Trial], full: PageMean, chosen: Sequence[Trial]) -> None:
        """Draw the curve of harm over throughput, if that is wanted. Raises ``OSError``."""
        from adaptc.report.charts import PlanPoint, plan_chart
        from adaptc.workflow.planning.goals import throughput

        if self.chart is not None:
            points = [
                PlanPoint(str(each.candidate), throughput(each.mean, full, self.config.cost), each.harm, each in chosen)
                for each in trials
            ]
            write_atomic(os.path.realpath(self.chart), plan_chart(points).encode("utf-8"))

    def check(self, names: Sequence[str]) -> None:
        """Raise ``UsageError`` where there cannot be levels of these names."""
        from adaptc.workflow.configuration import known_levels

        own = {name: {"extends": "moderate"} for name in names}
        known_levels(replace(self.config, levels=TomlSource("--name", {**self.config.levels.values, **own})))
        self.text("".join(f"[levels.{name}]\n" for name in names))

    def text(self, tables: str) -> str:
        """Return the configuration with the tables in it. Raises ``UsageError`` where they cannot be."""
        from adaptc.workflow.planning.plan import with_level

        if self.file is None:
            return tables
        try:
            text = self.file.read_bytes().decode("utf-8") if self.file.exists() else ""
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.file}: is not UTF-8 text (byte {error.start})") from None
        return with_level(text, self.name, tables)

    @property
    def comment(self) -> str:
        """The lines above the tables: what was wanted, and what the numbers in them are."""
        wanted = " ".join(f"--{' '.join(option.split())}" for option in self.options)
        return f"# {wanted}\n# price: {_PRICE}; request: the bytes that a request is worth\n"

    def write(self, tables: str) -> None:
        """Write the tables, and nothing in a dry run. Raises ``UsageError`` and ``OSError``."""
        if self.file is not None:
            write_atomic(os.path.realpath(self.file), self.text(tables).encode("utf-8"))

    def result(self, names: Sequence[str], tables: str) -> str:
        """Return the lines that say where the tables are."""
        if self.file is None:
            return f"\n{tables}"
        return f"Written to {self.file}; to build it: build.levels = {json.dumps(['full', *names])}"


def _plan_level(target: _Target, written: Mapping[str, str | None], keeps: Keeps) -> ExitCode:
    from adaptc.workflow.planning.goals import read_goals
    from adaptc.workflow.planning.plan import level_text, plan_level

    goals, invocation, name, config = read_goals(target.config, written), target.invocation, target.name, target.config
    target.check([name])
    with watching(invocation) as progress:
        planned = plan_level(config, goals, keeps, progress)
    chosen = planned.chosen
    target.draw(planned.trials, planned.full, [] if chosen is None else [chosen])
    tables = None
    if chosen is not None:
        tables = target.comment + level_text(name, f"Planned: {chosen.candidate}", chosen.candidate.values)
        target.write(tables)
    if invocation.format == "json":
        nearest = _trial_record(planned.nearest, planned.full, config)
        own = {"level": name if chosen is not None else None, "nearest": nearest, "misses": list(planned.misses)}
        print_json(own | _record(planned, config, tables))
    else:
        print_diagnostics(planned.diagnostics, invocation)
        missed = f"No level reaches the goals. Nearest is {planned.nearest.candidate}: {'; '.join(planned.misses)}."
        end = [missed] if tables is None else _chosen(planned, target.result([name], tables))
        print_text("\n".join([_curve(planned.trials, planned.full, config), "", *end]), invocation)
    return ExitCode.DONE if tables is not None else ExitCode.WITH_ERRORS


def _chosen(planned: PlannedLevel, result: str) -> list[str]:
    chosen = planned.nearest
    number = f" (the number: {_PRICE})" if chosen.candidate.price is not None else ""
    return [f"Chosen: {chosen.candidate}{number}, harm {chosen.harm:.4f} a page view.", result]


def _plan_ladder(target: _Target, count: int, keeps: Keeps) -> ExitCode:
    from adaptc.workflow.planning.plan import level_text, plan_ladder

    invocation, config = target.invocation, target.config
    target.check([f"{target.name}-{number}" for number in range(1, count)])
    with watching(invocation) as progress:
        planned = plan_ladder(config, count, keeps, progress)
    target.draw(planned.trials, planned.full, [rung.trial for rung in planned.rungs])
    numbers = range(len(planned.rungs), 0, -1)
    names = [f"{target.name}-{number}" for number in numbers]
    tables = target.comment + "\n".join(
        level_text(name, f"Planned: {rung.trial.candidate}", {**rung.trial.candidate.values, "number": number})
        for name, number, rung in zip(names, numbers, planned.rungs, strict=True)
    )
    target.write(tables)
    if invocation.format == "json":
        print_json({"levels": list(_rung_records(planned, config, names))} | _record(planned, config, tables))
    else:
        print_diagnostics(planned.diagnostics, invocation)
        lines = [_rungs(planned, names), "", *_gaps(planned, count), target.result(names, tables)]
        print_text("\n".join(lines), invocation)
    return ExitCode.DONE


def _rungs(planned: PlannedLadder, names: Sequence[str]) -> str:
    head = ["level", "candidate", "ms/page", "evenly", "harm"]
    rows = [
        [name, str(rung.trial.candidate), f"{rung.cost:.2f}", f"{rung.even:.2f}", f"{rung.trial.harm:.4f}"]
        for name, rung in zip(names, planned.rungs, strict=True)
    ]
    return table([head, *rows], right=range(2, 5))


def _gaps(planned: PlannedLadder, count: int) -> list[str]:
    missing = count - 1 - len(planned.rungs)
    return [f"No candidate costs about what {missing} more would have to: the ladder is shorter."] if missing else []


def _rung_records(planned: PlannedLadder, config: Config, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for name, rung in zip(names, planned.rungs, strict=True):
        costs = {"level": name, "cost_ms": round(rung.cost, 4), "even_ms": round(rung.even, 4)}
        yield costs | _trial_record(rung.trial, planned.full, config)


def _curve(trials: Iterable[Trial], full: PageMean, config: Config) -> str:
    """Return all candidates that were built, from the largest to the smallest."""
    from adaptc.workflow.planning.goals import throughput

    head = ["candidate", "requests/page", "bytes/page", "capacity", "harm"]
    first = ["full", f"{full.requests:.1f}", written_bytes(full.bytes), written_factor(1.0), "0.0000"]
    rows = [
        [
            str(trial.candidate),
            f"{trial.mean.requests:.1f}",
            written_bytes(trial.mean.bytes),
            written_factor(throughput(trial.mean, full, config.cost)),
            f"{trial.harm:.4f}",
        ]
        for trial in sorted(trials, key=lambda trial: -trial.mean.bytes)
    ]
    return table([head, first, *rows], right=range(1, 5))


def _record(planned: PlannedLevel | PlannedLadder, config: Config, tables: str | None) -> dict[str, Any]:
    return {
        "full": {"requests": planned.full.requests, "bytes": planned.full.bytes},
        "trials": [_trial_record(trial, planned.full, config) for trial in planned.trials],
        "tables": tables,
        "diagnostics": diagnostic_records(planned.diagnostics),
    }


def _trial_record(trial: Trial, full: PageMean, config: Config) -> dict[str, Any]:
    from adaptc.workflow.planning.goals import throughput

    return {
        "frame": trial.candidate.frame.name,
        "price": trial.candidate.price,
        "requests": round(trial.mean.requests, 3),
        "bytes": round(trial.mean.bytes, 1),
        "throughput": round(throughput(trial.mean, full, config.cost), 4),
        "harm": round(trial.harm, 6),
    }


# ---- the levels that there are


@command("levels")
@click.argument("name", required=False)
def levels(invocation: Invocation, name: str | None) -> None:
    """Show the levels, or the passes of one.

    Without NAME: each level with its number (the highest is the full site; - is not on the ladder), whether
    the configuration builds it, and what it promises. With NAME: the passes of that level in the order in which
    they run, and their options.
    """
    from adaptc.config.rulebook import choose_levels
    from adaptc.workflow.configuration import known_levels

    config = invocation.load()
    known = known_levels(config)
    if name is not None:
        _show_level(choose_levels([name], known)[0], invocation)
    else:
        _show_levels(known, config.build.levels, invocation)


def _show_levels(known: Mapping[str, Level], built: tuple[str, ...], invocation: Invocation) -> None:
    if invocation.format == "json":
        print_json([{**level_record(level), "built": level.name in built} for level in known.values()])
        return
    rows = [["level", "number", "built", "promise", "title"]]
    for level in known.values():
        is_built = "yes" if level.name in built else "no"
        rows.append([level.name, _number(level), is_built, level.promise, level.title])
    print_text(table(rows, right=(1,)), invocation)


def _show_level(level: Level, invocation: Invocation) -> None:
    if invocation.format == "json":
        print_json(level_record(level))
        return
    lines = [f"{level.name} ({_number(level)}): {level.title}", f"promise: {level.promise}", ""]
    rows = [[use.name, ", ".join(f"{key} = {shown(value)}" for key, value in use.options)] for use in level.passes]
    print_text("\n".join(lines) + (table(rows) if rows else "no passes: the files stay as they are"), invocation)


def _number(level: Level) -> str:
    return "-" if level.number is None else str(level.number)


def level_record(level: Level) -> dict[str, Any]:
    """Return a level for JSON: name, number, title, promise, and passes with their options."""
    passes = [{"name": use.name, "options": dict(use.options)} for use in level.passes]
    return {
        "name": level.name,
        "number": level.number,
        "title": level.title,
        "promise": level.promise,
        "passes": passes,
    }
