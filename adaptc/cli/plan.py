"""``adaptc plan``: composes a level for a goal, with the least harm to readers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.progress import watching
from adaptc.cli.render import diagnostic_records, print_diagnostics, print_json, print_text, table
from adaptc.core.diagnostics import UsageError
from adaptc.core.quantities import written_bytes, written_factor

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.workflow.planning.plan import PlannedLevel
    from adaptc.workflow.planning.trials import Trial

_FOLDER = click.Path(file_okay=False, path_type=Path)
_LINES = ("2g", "3g", "4g")


@command("plan")
@click.argument("docroot", required=False, type=_FOLDER)
@click.option("-o", "--output", type=_FOLDER, metavar="DIR", help="Where builds go.  [default: opt]")
@click.option("--throughput", metavar="FACTOR", help="How many times as many page views, such as 4x.")
@click.option("--bytes", metavar="SIZE", help="Of the mean page: a share of the full site, or a size.")
@click.option("--requests", metavar="N", help="Of the mean page: a number, or a share below 1.")
@click.option("--page-time", metavar="TIME", help="How soon the mean page arrives on --line, such as 2s.")
@click.option("--line", type=click.Choice(_LINES), help="The line of --page-time.  [default: 3g]")
@click.option("--budget", metavar="LEVEL", help="The mean_requests and mean_bytes of [budgets.LEVEL].")
@click.option("--keep", "keeps", multiple=True, metavar="WHAT", help="words, images or similarity>=SCORE; repeatable.")
@click.option("--name", default="planned", show_default=True, metavar="NAME", help="The name of the level.")
@click.option("--dry-run", is_flag=True, help="Print the level and write nothing but the cache.")
def plan(
    invocation: Invocation,
    docroot: Path | None,
    output: Path | None,
    keeps: tuple[str, ...],
    name: str,
    dry_run: bool,
    **written: str | None,
) -> ExitCode:
    """Compose a level for a goal, with the least harm to readers.

    Candidates are built and measured, from gentle to harsh, until one reaches all goals; its tables go into adaptc.toml
    as [levels.NAME]. Images are chosen one by one, by their bytes and by what a reader loses. Exit code 1: nothing
    reaches the goals, nothing was written, and the output says what comes nearest.
    """
    from adaptc.workflow.planning.candidates import Keeps
    from adaptc.workflow.planning.goals import read_goals
    from adaptc.workflow.planning.plan import plan_level

    config = invocation.load({"docroot": docroot, "output": output})
    goals = read_goals(config, written)
    kept = Keeps.parse(keeps)
    file = invocation.config or Path("adaptc.toml")
    _planned_text(file, name, "")
    with watching(invocation) as progress:
        planned = plan_level(config, goals, kept, progress)
    tables = _tables(name, planned.chosen) if planned.chosen is not None else None
    if tables is not None and not dry_run:
        file.write_text(_planned_text(file, name, tables), "utf-8")
    print_diagnostics(planned.diagnostics, invocation)
    if invocation.format == "json":
        print_json(_record(planned, config, name, tables))
    else:
        print_text("\n".join(_lines(planned, config, tables, None if dry_run else file)), invocation)
    return ExitCode.DONE if tables is not None else ExitCode.WITH_ERRORS


def _planned_text(file: Path, name: str, tables: str) -> str:
    """Return the configuration with the level in it. Raises ``UsageError`` where that cannot be."""
    from adaptc.workflow.planning.level_file import with_level

    try:
        text = file.read_bytes().decode("utf-8") if file.exists() else ""
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is not UTF-8 text (byte {error.start})") from None
    return with_level(text, name, tables)


def _tables(name: str, trial: Trial) -> str:
    from adaptc.workflow.planning.level_file import level_text

    return level_text(name, f"Planned: {trial.candidate}", trial.candidate.values)


def _lines(planned: PlannedLevel, config: Config, tables: str | None, file: Path | None) -> Iterable[str]:
    yield _curve(planned, config)
    yield ""
    if tables is None:
        yield f"No level reaches the goals. Nearest is {planned.nearest.candidate}: {'; '.join(planned.misses)}."
        return
    yield f"Chosen: {planned.nearest.candidate}, harm {planned.nearest.harm:.4f} a page view."
    yield "" if file is None else f"Written to {file}; name the level in build.levels to build it."
    if file is None:
        yield tables


def _curve(planned: PlannedLevel, config: Config) -> str:
    """Return all candidates that were built, from the largest to the smallest."""
    from adaptc.workflow.planning.goals import throughput

    head = ["candidate", "requests/page", "bytes/page", "capacity", "harm"]
    full = ["full", f"{planned.full.requests:.1f}", written_bytes(planned.full.bytes), written_factor(1.0), "0.0000"]
    rows = [
        [
            str(trial.candidate),
            f"{trial.mean.requests:.1f}",
            written_bytes(trial.mean.bytes),
            written_factor(throughput(trial.mean, planned.full, config.cost)),
            f"{trial.harm:.4f}",
        ]
        for trial in sorted(planned.trials, key=lambda trial: -trial.mean.bytes)
    ]
    return table([head, full, *rows], right=range(1, 5))


def _record(planned: PlannedLevel, config: Config, name: str, tables: str | None) -> dict[str, Any]:
    trials = [_trial_record(trial, planned, config) for trial in planned.trials]
    return {
        "level": name if tables is not None else None,
        "nearest": _trial_record(planned.nearest, planned, config),
        "misses": list(planned.misses),
        "full": {"requests": planned.full.requests, "bytes": planned.full.bytes},
        "trials": trials,
        "tables": tables,
        "diagnostics": diagnostic_records(planned.diagnostics),
    }


def _trial_record(trial: Trial, planned: PlannedLevel, config: Config) -> dict[str, Any]:
    from adaptc.workflow.planning.goals import throughput

    return {
        "frame": trial.candidate.frame.name,
        "price": trial.candidate.price,
        "requests": round(trial.mean.requests, 3),
        "bytes": round(trial.mean.bytes, 1),
        "throughput": round(throughput(trial.mean, planned.full, config.cost), 4),
        "harm": round(trial.harm, 6),
    }
