"""``adaptc build`` builds the levels of a site; ``adaptc watch`` keeps them fresh."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.crawl_run import PURGE_BOUND, crawl_code, crawl_record, crawl_summary, stoppable, watching_crawl
from adaptc.cli.daemon_options import say
from adaptc.cli.render import diagnostic_records, exit_code, print_diagnostics, print_json, print_text, watching
from adaptc.cli.site_options import overrides, site_options, with_mirror
from adaptc.config.config import ALL_PAGES, MIRRORS, PROVED_PAGES
from adaptc.core.diagnostics import Diagnostic, UsageError, diagnose, printable
from adaptc.core.values import dataclass, replace
from adaptc.report.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adaptc.compile.engine.outdated import Reason
    from adaptc.config.config import Config
    from adaptc.crawl.crawl import CrawlResult
    from adaptc.crawl.options import PurgeBound
    from adaptc.workflow.api import BuildResult

DEFAULT_SCREENSHOTS, MOST_SCREENSHOTS = 6, 50
DEFAULT_PAGES = 3  # of a template


_DEFAULTS = {"--screenshots": DEFAULT_SCREENSHOTS, "--browser": DEFAULT_PAGES, "--prove": PROVED_PAGES}


class _BuildCommand(click.Command):
    """Accepts options of ``_DEFAULTS`` without a number, and never takes the next argument for one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        arguments = [f"{argument}={_DEFAULTS[argument]}" if argument in _DEFAULTS else argument for argument in args]
        return super().parse_args(ctx, arguments)


class _Pages(click.ParamType):  # type: ignore[type-arg]
    """A number of pages, or "all"."""

    name = "pages"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == ALL_PAGES:
            return ALL_PAGES
        if not str(value).isdigit():
            self.fail(f"{value!r} is neither a number nor {ALL_PAGES!r}", param, ctx)
        return int(value)


@command("build", cls=_BuildCommand)
@site_options
@click.option(
    "--browser",
    type=_Pages(),
    metavar="[=N|all]",
    help=f"Look at N pages of each template in a browser, and use what it sees.  [{DEFAULT_PAGES} when N is not given]",
)
@click.option(
    "--prove",
    type=_Pages(),
    metavar="[=N|all]",
    help="Prove N pages at every level in a browser before they are published, and drop the passes that break them.  "
    f"[{PROVED_PAGES} when N is not given]",
)
@click.option(
    "--screenshots",
    type=click.IntRange(1, MOST_SCREENSHOTS),
    metavar="[=N]",
    help=f"Show screenshots of N pages in the report.  [{DEFAULT_SCREENSHOTS} when N is not given]",
)
@click.option("--explain", is_flag=True, help="Say why each file is built.")
@click.option(
    "--purge-most",
    type=PURGE_BOUND,
    metavar="BOUND",
    help="With a URL: remove no files if more than that, or a larger share, are gone from the site.  [10%]",
)
@click.option("--allow-empty", is_flag=True, help="Build a DOCROOT without pages, too.")
@click.option("--dry-run", is_flag=True, help="Say what would be built and why; write nothing.")
def build(
    invocation: Invocation,
    browser: int | str | None,
    prove: int | str | None,
    screenshots: int | None,
    explain: bool,
    purge_most: PurgeBound | None,
    allow_empty: bool,
    dry_run: bool,
    **site: Any,
) -> ExitCode:
    """Build the levels of the site in DOCROOT.

    The trees go to opt/LEVEL/CODING/..., with opt/manifest.json for programs and opt/report.html for people.
    Only new and outdated files are built; DOCROOT is never written to. It may be the URL of a site, which is crawled
    into the output's private directory first, a mirror that adaptc crawl made, or a WARC file.
    """
    settings = {**overrides(site), "browser.pages": browser, "browser.prove": prove}
    display = _RunOptions(screenshots or 0, explain, allow_empty)
    if _is_fetched(site["docroot"]):
        del settings["docroot"]
        if dry_run:
            raise UsageError(f"--dry-run writes nothing, so that {site['docroot']} cannot be crawled: name a directory")
        return _build_fetched(invocation, _Source(site["docroot"], purge_most), settings, display)
    config = invocation.load(settings, repeats=False)
    if config.docroot is None:
        config = invocation.load(settings)
    given = config
    config = with_mirror(given)
    if config.docroot == given.docroot and config.site.base_url != given.site.base_url:
        display = replace(display, notes=(diagnose("base-url-read", url=config.site.base_url),))
    display = replace(display, notes=(*_app_notes(config), *display.notes))
    return _dry_run(invocation, config, allow_empty) if dry_run else _build(invocation, config, display)


def _app_notes(config: Config) -> tuple[Diagnostic, ...]:
    """Return what application the docroot is, if it is one."""
    from adaptc.site.published import find_app

    app = find_app(config.docroot, config.site.index) if config.docroot is not None else None
    return () if app is None else (diagnose("app-found", app=app),)


def _is_fetched(source: str | None) -> bool:
    """Whether the site must be fetched before it can be built."""
    return source is not None and (_is_url(source) or source.endswith((".warc", ".warc.gz")))


def _is_url(source: str) -> bool:
    return source.lower().startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class _Source:
    """A URL or a WARC file, and how many files may leave its mirror."""

    name: str
    purge_most: PurgeBound | None


def _fetch(invocation: Invocation, source: _Source, output: Path) -> CrawlResult:
    """Crawl a URL, or unpack a WARC file, below the output's private directory."""
    from adaptc.crawl.crawl import crawl_site, mirror_name, unpack_warc
    from adaptc.crawl.options import PurgeBound

    with stoppable() as is_stopped, watching_crawl(invocation) as watch:
        if _is_url(source.name):
            mirror = output / MIRRORS / mirror_name(source.name)
            bound = source.purge_most or PurgeBound()
            return crawl_site(source.name, mirror, purge_most=bound, is_stopped=is_stopped, watch=watch)
        mirror = output / MIRRORS / mirror_name(str(Path(source.name).resolve()))
        return unpack_warc(Path(source.name), mirror, is_stopped=is_stopped, watch=watch)


@dataclass(frozen=True, slots=True)
class _RunOptions:
    """What a build shows in addition to its summary, and accepts; ``crawl`` is the crawl that fetched the site.

    ``allow_empty`` says that a site without pages is built, too. ``notes`` are shown with what the build has to say.
    """

    screenshots: int
    explain: bool
    allow_empty: bool
    crawl: CrawlResult | None = None
    notes: tuple[Diagnostic, ...] = ()


def _build_fetched(invocation: Invocation, source: _Source, settings: dict[str, Any], display: _RunOptions) -> ExitCode:
    from adaptc.workflow.api import refuse_foreign_output

    config = invocation.load(settings, repeats=False)
    refuse_foreign_output(config, config.output)
    crawl = _fetch(invocation, source, config.output)
    if invocation.format == "text":
        print_text(crawl_summary(crawl), invocation)
    if not crawl.stored:
        print_diagnostics(crawl.diagnostics, invocation)
        return crawl_code(crawl)
    config = with_mirror(invocation.load({**settings, "docroot": crawl.output}, repeats=False))
    return _build(invocation, config, replace(display, crawl=crawl, notes=_app_notes(config)))


def _build(invocation: Invocation, config: Config, display: _RunOptions) -> ExitCode:
    from adaptc.core.interpreter import collect_seldom
    from adaptc.workflow.api import build as run

    collect_seldom()
    is_first = not (config.output / MANIFEST).exists()
    with watching(invocation) as progress:
        result = run(config, progress, display.screenshots, requires_pages=not display.allow_empty, isolated=False)
    said = (*display.notes, *(display.crawl.diagnostics if display.crawl is not None else ()), *result.diagnostics)
    if invocation.format == "json":
        print_json(_record(result, display.crawl, said))
        return exit_code(said)
    if display.explain:
        _explain(invocation, result.built)
    for note in display.notes:
        print_text(f"{note.message}\n", invocation)
    print_diagnostics(said[len(display.notes) :], invocation)
    _show(invocation, result, config)
    if is_first and display.crawl is None and not os.environ.get("ADAPTC_EMBEDDED"):
        from adaptc.cli.init import surroundings_lines

        print_text(
            "\n".join(surroundings_lines(config.docroot, Path(), config.output, config.site.base_url)), invocation
        )
    return exit_code(said)


def _show(invocation: Invocation, result: BuildResult, config: Config) -> None:
    from adaptc.report.summary import render_summary

    width = shutil.get_terminal_size((100, 24)).columns
    colored = invocation.is_colored(sys.stdout)
    has_changes = result.built or result.removed
    print_text(f"built {len(result.built):,}, removed {result.removed:,}" if has_changes else "up to date", invocation)
    print_text(render_summary(result.figures, width, colored, str(config.output)), invocation)


def _dry_run(invocation: Invocation, config: Config, allow_empty: bool) -> ExitCode:
    from adaptc.workflow.api import plan

    planned = plan(config, requires_pages=not allow_empty)
    if invocation.format == "json":
        print_json({"dry_run": True, "built": _reason_records(planned.reasons), "removed": planned.removed})
    else:
        _explain(invocation, planned.reasons)
        print_text(f"would build {len(planned.reasons):,}, remove {planned.removed:,}; nothing was written", invocation)
    return exit_code(planned.diagnostics)


def _explain(invocation: Invocation, reasons: dict[tuple[str, str], Reason]) -> None:
    for (level, path), reason in reasons.items():
        print_text(f"{level}/{printable(path)}: {reason}", invocation)


def _reason_records(reasons: dict[tuple[str, str], Reason]) -> list[dict[str, str]]:
    return [
        {"level": level, "path": path, "reason": type(reason).__name__, "because": str(reason)}
        for (level, path), reason in reasons.items()
    ]


def _record(result: BuildResult, crawl: CrawlResult | None, said: Sequence[Diagnostic]) -> dict[str, Any]:
    import dataclasses

    figures = dataclasses.asdict(dataclasses.replace(result.figures, diagnostics=()))
    return {
        "output": str(result.output),
        "manifest": str(result.manifest),
        "report": str(result.report),
        "built": _reason_records(result.built),
        "removed": result.removed,
        "figures": {key: value for key, value in figures.items() if key not in ("diagnostics", "screenshots")},
        "diagnostics": diagnostic_records(said),
        **({"crawl": crawl_record(crawl)} if crawl is not None else {}),
    }


# ---- keeping them fresh


@command("watch")
@site_options
@click.option(
    "--poll",
    type=click.FloatRange(0.1, 3600),
    metavar="SECONDS",
    help="Compare this often instead of waiting for events.",
)
@click.option(
    "--reconcile",
    type=click.FloatRange(1, 86400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Compare this often, for changes that no event reported.",
)
@click.option(
    "--idle",
    type=click.FloatRange(0, 86400),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Without changes for so long, build the best encodings.",
)
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Append events as JSON.")
def watch(
    invocation: Invocation, poll: float | None, reconcile: float, idle: float, log: Path | None, **site: Any
) -> ExitCode:
    """Keep the trees fresh while files change.

    Runs until it is stopped. When a file of DOCROOT changes, its outputs, and those of every page that depends on it,
    are removed from the trees at once, so that the server falls back to the original; then the fast encodings appear;
    when nothing changes for a while, the best ones replace them.
    """
    # While it starts, the configuration is yet to be read: a request to read it again must not end the process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from adaptc.compile.engine.reporting import Silent
    from adaptc.workflow.watch.event_loop import Watcher, WatcherContext
    from adaptc.workflow.watch.journal import Journal
    from adaptc.workflow.watch.state_machine import Timing

    timing = Timing(idle=idle, reconcile=poll or reconcile)
    with contextlib.ExitStack() as stack:
        terminal = sys.stderr if sys.stderr.isatty() and not invocation.quiet else None
        journal = Journal(say(invocation), _records(invocation, log, stack), terminal)
        context = WatcherContext(
            lambda: with_mirror(invocation.load(overrides(site))), timing, journal, Silent(), observes=poll is None
        )
        Watcher(context).run()
    return ExitCode.DONE


def _records(invocation: Invocation, log: Path | None, stack: contextlib.ExitStack) -> list[IO[str]]:
    """Return where events go as JSON: standard output with ``--format json``, and the log."""
    streams: list[IO[str]] = [sys.stdout] if invocation.format == "json" else []
    if log is not None:
        from adaptc.workflow.watch.journal import open_log

        streams.append(stack.enter_context(open_log(log)))
    return streams
