"""``adaptc ci``: builds, checks, weighs and proves a site in one run, for pipelines: one exit code, one summary."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.check import Outcome, check_problems, check_record, check_sentence, checked, configured_budgets
from adaptc.cli.command import FILE, FOLDER, ExitCode, Invocation, command
from adaptc.cli.prove import LINE_NAMES, paint_rows, proof_passed, proof_problems, proof_record, proof_sentence
from adaptc.cli.render import (
    diagnostic_records,
    exit_code,
    print_diagnostics,
    print_json,
    print_text,
    watching,
)
from adaptc.cli.site_options import overrides, site_options, with_mirror
from adaptc.config.config import PROVED_PAGES
from adaptc.core.diagnostics import Severity, UsageError, printable
from adaptc.core.values import dataclass, replace
from adaptc.workflow.check.ci_formats import FORMATS, Problem, Summary, file_name

if TYPE_CHECKING:
    from adaptc.config.budgets import Budget
    from adaptc.config.config import Config
    from adaptc.workflow.api import BuildResult
    from adaptc.workflow.check.weights import LevelWeights
    from adaptc.workflow.prove import Proof

_SUMMARY_OF_GITHUB = "GITHUB_STEP_SUMMARY"
# On which pages are measured where budgets limit how soon they are shown, and nobody names a line
_LINE = "4g"
# Rows of each table of the summary
_MOST_ROWS = 10
# Runs that the summary shows of a trend, and the signs of their amounts
_RUNS, _BARS = 20, "▁▂▃▄▅▆▇█"
# Pixels: that of a proof of which pictures are shown, and as wide as they are in a comment
_PICTURED, _SHOWN = 1280, 300


@dataclass(frozen=True, slots=True)
class _Run:
    """What came of each step; no ``proof``, and why, where none was made.

    ``changed`` are the pages that changed since the baseline, ``earlier`` the rows of earlier runs in the trend.
    """

    name: str
    build: BuildResult
    check: Outcome
    proof: Proof | None
    unproven: str
    weights: Mapping[str, LevelWeights]
    before: Mapping[str, LevelWeights] | None
    changed: Sequence[str] = ()
    earlier: Sequence[Mapping[str, Any]] = ()

    @property
    def has_built(self) -> bool:
        return exit_code(self.build.diagnostics) is ExitCode.DONE

    @property
    def is_well(self) -> bool:
        return self.has_built and self.check.is_well and (self.proof is None or self.proof.is_kept)


@command("ci", formats=("text", "json", *FORMATS))
@site_options
@click.option("--baseline", type=FILE, metavar="FILE", help="Compare pages with this older manifest.")
@click.option(
    "--prove",
    "pages",
    type=click.IntRange(0),
    metavar="N",
    help=f"Prove N pages in a browser, 0 for none.  [default: {PROVED_PAGES} where there is one]",
)
@click.option(
    "--line",
    type=click.Choice(LINE_NAMES),
    help=f"Measure how soon proven pages are shown on this line.  [default: {_LINE} where a budget limits it]",
)
@click.option("--name", metavar="NAME", help="Call the site NAME in the summary.  [default: DOCROOT]")
@click.option(
    "--markdown",
    type=FILE,
    metavar="FILE",
    help=f"Write the summary to FILE.  [default: appended to ${_SUMMARY_OF_GITHUB}]",
)
@click.option("--sarif", type=FILE, metavar="FILE", help="Write the problems to FILE, for code scanners.")
@click.option("--junit", type=FILE, metavar="FILE", help="Write the problems to FILE, as tests.")
@click.option(
    "--trend",
    type=FILE,
    metavar="FILE",
    help="Append the means of the levels to FILE, a line of JSON; the summary shows the last runs.",
)
@click.option(
    "--pictures",
    type=FOLDER,
    metavar="DIR",
    help="Write pictures of proven pages that changed since the baseline to DIR.",
)
@click.option("--pictures-url", metavar="URL", help="Where DIR will be published: the summary shows the pictures.")
def ci(
    invocation: Invocation,
    baseline: Path | None,
    pages: int | None,
    line: str | None,
    name: str | None,
    markdown: Path | None,
    sarif: Path | None,
    junit: Path | None,
    trend: Path | None,
    pictures: Path | None,
    pictures_url: str | None,
    **site: Any,
) -> ExitCode:
    """Build, check, weigh and prove a site in one run.

    For pipelines: what build, check and prove do, with a summary in Markdown for pull requests. Ends with 0 when all is
    well, and with 1 when something was not built, is not fresh, exceeds a budget or breaks a promise. A baseline that
    does not exist yet is told, and no mistake.
    """
    title = name or site["docroot"] or "site"
    try:
        config = invocation.load(overrides(site), repeats=False)
        config = with_mirror(config if config.docroot is not None else invocation.load(overrides(site)))
        earlier = _earlier(trend, title) if trend is not None else []
        run = replace(_run(invocation, config, title, baseline, pages, line), earlier=earlier)
    except UsageError as error:
        _write_summary(f"{marker(title)}\n### adaptc: {_cell(title)}\n\n{_cell(str(error))}\n", markdown)
        raise
    summary = _summary(run, config)
    for file, form in ((sarif, "sarif"), (junit, "junit")):
        if file is not None:
            file.write_text(FORMATS[form](summary) + "\n", "utf-8")
    shown = _pictures(run, pictures) if pictures is not None else {}
    _write_summary("\n".join((*_markdown(run), *_picture_table(run, shown, pictures_url))) + "\n", markdown)
    if trend is not None:
        with trend.open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(_means(run)) + "\n")
    _print(run, invocation, summary)
    return ExitCode.DONE if run.is_well else ExitCode.WITH_ERRORS


def marker(name: str) -> str:
    """Return the comment by which a pipeline finds the summary of a site again, to replace it."""
    return f"<!-- adaptc ci: {name.replace('--', '- -')} -->"


def _run(
    invocation: Invocation, config: Config, name: str, baseline: Path | None, pages: int | None, line: str | None
) -> _Run:
    from adaptc.core.interpreter import collect_seldom
    from adaptc.workflow.api import build
    from adaptc.workflow.check.weights import changed_pages, read_weights

    collect_seldom()
    older = baseline if baseline is not None and baseline.exists() else None
    before = read_weights(older) if older is not None else None  # a mistake is found before work begins
    with watching(invocation) as progress:
        built = build(config, progress, requires_pages=True, isolated=False)
    outcome = checked(invocation, config, True, False, older)
    timed = [budget for budget in configured_budgets(config) if budget.limits_paints]
    changed = changed_pages(older, config.output) if older is not None else []
    proof, unproven = _proof(invocation, config, pages, line or (_LINE if timed else None), changed)
    outcome = _timed(outcome, timed, proof, unproven)
    return _Run(name, built, outcome, proof, unproven, read_weights(config.output), before, changed)


def _timed(outcome: Outcome, budgets: Sequence[Budget], proof: Proof | None, unproven: str) -> Outcome:
    """Return the outcome with what exceeds the limits of how soon pages are shown, and what was not measured."""
    from adaptc.workflow.check.weights import slow, unmeasured

    over, lost = list(outcome.budgets), list(outcome.unchecked)
    for budget in budgets:
        rows = [each for each in proof.paints if each.level == budget.level] if proof is not None else []
        reasons = (f"{each.page}: {each.reason}" for each in rows if each.paint is None)
        if reason := next(reasons, "" if rows else unproven or "no page was proven at it"):
            lost.append(unmeasured(budget, reason))
        over += slow(budget, proof.line or "" if proof is not None else "", rows)
    return replace(outcome, budgets=tuple(over), unchecked=tuple(lost))


def _proof(
    invocation: Invocation, config: Config, pages: int | None, line: str | None, changed: Sequence[str]
) -> tuple[Proof | None, str]:
    """Prove pages, those that ``changed`` first, if there is a browser.

    Raises ``UsageError`` where none is found, and the user asked for it.
    """
    from adaptc.browser import lacking

    if pages == 0:
        return None, "not asked for"
    if pages is None and (reason := lacking(config.browser.program)):
        return None, reason
    from adaptc.workflow.prove import prove, write_report

    with watching(invocation) as progress:
        proof = prove(config, (), (), pages or PROVED_PAGES, progress, line, first=changed)
    write_report(config, proof, None)
    return proof, ""


# ---- what is printed and written


def _summary(run: _Run, config: Config) -> Summary:
    folder = config.docroot or Path()
    failures = [each for each in run.build.diagnostics if each.severity is Severity.ERROR]
    problems = [
        *(
            Problem(each, file_name(folder, each.location.path) if each.location else None, "build")
            for each in failures
        ),
        *check_problems(run.check, config),
        *(proof_problems(run.proof, config) if run.proof is not None else ()),
    ]
    passed = {**run.check.verdict.fresh, **(proof_passed(run.proof) if run.proof is not None else {})}
    return Summary(tuple(problems), passed, "; ".join(_sentences(run)), "ci", "well", fails=not run.is_well)


def _sentences(run: _Run) -> Iterator[str]:
    yield f"built {len(run.build.built):,}" if run.build.built else "up to date"
    yield check_sentence(run.check)
    yield proof_sentence(run.proof) if run.proof is not None else f"not proven: {run.unproven}"


def _print(run: _Run, invocation: Invocation, summary: Summary) -> None:
    if invocation.format in FORMATS:
        click.echo(FORMATS[invocation.format](summary))
        return
    if invocation.format == "json":
        print_json(
            {
                "well": run.is_well,
                "name": run.name,
                "built": len(run.build.built),
                "removed": run.build.removed,
                "diagnostics": diagnostic_records(run.build.diagnostics),
                "report": str(run.build.report),
                "check": check_record(run.check),
                "proof": proof_record(run.proof) if run.proof is not None else None,
                "unproven": run.unproven or None,
                "levels": _means(run)["levels"],
                "changed": list(run.changed),
            }
        )
        return
    told = {problem.diagnostic for problem in summary.problems}
    others = (each for each in run.build.diagnostics if each not in told)
    print_diagnostics([*(problem.diagnostic for problem in summary.problems), *others], invocation)
    for sentence in _sentences(run):
        print_text(sentence, invocation)


def _means(run: _Run) -> dict[str, Any]:
    means = {level: {"requests": each.mean.requests, "bytes": each.mean.bytes} for level, each in run.weights.items()}
    return {"time": int(time.time()), "name": run.name, "levels": means}


def _write_summary(text: str, file: Path | None) -> None:
    if file is not None:
        file.write_text(text, "utf-8")
    elif named := os.environ.get(_SUMMARY_OF_GITHUB):
        with open(named, "a", encoding="utf-8") as summary:
            summary.write(text + "\n")


# ---- the summary in Markdown


def _markdown(run: _Run) -> Iterator[str]:
    yield marker(run.name)
    yield f"### adaptc: {_cell(run.name)}: {'well' if run.is_well else '**not well**'}"
    yield ""
    rows = [
        ("build", run.has_built, f"{len(run.build.built):,} files built" if run.build.built else "up to date"),
        ("check and budgets", run.check.is_well, check_sentence(run.check)),
        (
            "proof",
            None if run.proof is None else run.proof.is_kept,
            run.unproven if run.proof is None else proof_sentence(run.proof),
        ),
    ]
    signs = {True: "✅", False: "❌", None: "➖"}
    yield from _table(("step", "", ""), [(step, signs[well], text) for step, well, text in rows])
    yield from _weights(run)
    yield from _trend(run)
    yield from _problem_list(run)
    if run.proof is not None and run.proof.paints:
        head, *paints = paint_rows(run.proof)
        yield from _table(head, paints)


def _weights(run: _Run) -> Iterator[str]:
    """Yield the means of levels, next to those of the baseline, and the pages that grew most."""
    from adaptc.core.quantities import written_bytes
    from adaptc.workflow.check.weights import written_amount

    rows = []
    for level, each in run.weights.items():
        old = run.before.get(level) if run.before is not None else None
        grown = "" if old is None or not old.mean.bytes else f"{100 * (each.mean.bytes / old.mean.bytes - 1):+.1f} %"
        rows.append((level, f"{each.mean.requests:.1f}", written_bytes(each.mean.bytes), grown))
    told = "since the baseline" if run.before is not None else "(no baseline)"
    yield from _table(("level", "requests a page", "bytes a page", told), rows)
    pages = [row for row in run.check.growth if row.path is not None][:_MOST_ROWS]
    cells = [
        (
            row.path or "",
            row.level,
            row.measure,
            written_amount(row.measure, row.before),
            written_amount(row.measure, row.now),
            f"+{row.percent:.1f} %",
        )
        for row in pages
    ]
    if cells:
        yield from _table(("page that grew", "level", "", "before", "now", ""), cells)


def _earlier(trend: Path, name: str) -> list[Mapping[str, Any]]:
    """Return the rows that earlier runs wrote of a site. Raises ``UsageError`` for a file of something else."""
    if not trend.exists():
        return []
    try:
        rows = [json.loads(line) for line in trend.read_text("utf-8").splitlines()]
        return [
            row for row in rows if row["name"] == name and all(each["bytes"] >= 0 for each in row["levels"].values())
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{trend} is no trend of adaptc ci ({error})") from None


def _trend(run: _Run) -> Iterator[str]:
    """Yield the means of the last runs and of this one, as bars from zero."""
    from adaptc.core.quantities import written_bytes

    runs = [row["levels"] for row in (*run.earlier, _means(run))][-_RUNS:]
    rows = []
    for level in run.weights if len(runs) > 1 else ():
        amounts = [row[level]["bytes"] for row in runs if level in row]
        bars = "".join(_BARS[round((len(_BARS) - 1) * each / (max(amounts) or 1))] for each in amounts)
        rows.append((level, bars, f"{written_bytes(amounts[0])} → {written_bytes(amounts[-1])}"))
    if rows:
        yield from _table((f"bytes a page, last {len(runs)} runs", "", ""), rows)


def _pictures(run: _Run, folder: Path) -> dict[str, dict[str, str]]:
    """Write pictures of pages that changed, as they are now; return their names by page and level.

    The original is "". Names come from contents, so that none is cached for another.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, str]] = {}
    for verdict in run.proof.verdicts if run.proof is not None else ():
        case = verdict.case
        if case.page not in run.changed or case.width != _PICTURED or run.proof is None:
            continue
        for level, digest in zip(("", case.level), verdict.pictures, strict=False):
            if (picture := run.proof.store.content(digest)) is not None:
                name = f"{digest[:20]}.webp"
                (folder / name).write_bytes(picture)
                found.setdefault(case.page, {})[level] = name
    return found


def _picture_table(run: _Run, shown: Mapping[str, Mapping[str, str]], url: str | None) -> Iterator[str]:
    if run.before is None or not run.changed:
        return
    yield f"{len(run.changed):,} of the pages changed since the baseline, or what they load."
    yield ""
    for page, names in list(shown.items())[:_MOST_ROWS] if url else ():
        yield f"<details><summary>{_text(page)}, as it is now</summary>"
        yield ""
        by_name: dict[str, list[str]] = {}
        for level, name in names.items():
            by_name.setdefault(name, []).append(level or "original")
        for name, levels in by_name.items():
            label = _text(", ".join(levels))
            yield f'<img src="{escape(f"{url}/{name}")}" width="{_SHOWN}" alt="{label}" title="{label}">'
        yield ""
        yield "</details>"
        yield ""


def _text(text: str) -> str:
    return escape(printable(text), quote=True).replace("@", "@\u2060")


def _problem_list(run: _Run) -> Iterator[str]:
    failures = [each for each in run.build.diagnostics if each.severity is Severity.ERROR]
    findings = (finding.diagnostic() for finding in run.check.verdict.findings)
    proof = run.proof.diagnostics() if run.proof is not None else []
    problems = [*failures, *run.check.budgets, *findings, *proof, *run.check.unchecked]
    for problem in problems[:_MOST_ROWS]:
        yield f"- {_cell(str(problem))}"
    if len(problems) > _MOST_ROWS:
        yield f"- and {len(problems) - _MOST_ROWS:,} more"
    if problems:
        yield ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "| --- " * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(text: str) -> str:
    """Return text that is shown as it is: names of files come from others."""
    safe = printable(" ".join(text.split()))
    for character in "\\`*_[]<>|#@":
        safe = safe.replace(character, f"\\{character}" if character != "@" else "@\u2060")
    return safe
