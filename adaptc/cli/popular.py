"""``adaptc popular``: the pages that make up most page views, from access logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FOLDER, ExitCode, Invocation, command
from adaptc.cli.render import diagnostic_records, show, table
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.compile.analyse.popularity import PageFinder, Rank
    from adaptc.config.config import Config
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.formats.accesslog.reader import LogTally


@command("popular")
@click.argument("log", nargs=-1)
@click.option(
    "--share", type=float, metavar="SHARE", help="The share of the page views, from 0.01 to 1.  [default: 0.7]"
)
@click.option("--log-format", metavar="FORMAT", help="The format of the logs: a name, or a format string.")
@click.option("--docroot", type=FOLDER, metavar="DIR", help="The site; by default that of the configuration.")
@click.option("--base-url", metavar="URL", help="The URL under which the site is published.")
def popular(
    invocation: Invocation,
    log: tuple[str, ...],
    share: float | None,
    log_format: str | None,
    docroot: Path | None,
    base_url: str | None,
) -> ExitCode:
    """List the pages that make up most page views.

    LOG is an access log, plain or gzip, or - for standard input; by default those of the configuration. These are
    the pages that degraded levels are built for. Without a docroot, pages are known by their names.
    """
    from adaptc.config.config import with_severities

    config = invocation.load(
        {"docroot": docroot, "site.base_url": base_url, "select.share": share, "select.format": log_format}
    )
    names = log or config.select.logs
    if not names:
        raise UsageError("name a LOG, or give select.logs in adaptc.toml")
    hits, tally = views_in_logs(config, names)
    ranks = _popular_set(hits, config)
    diagnostics = tuple(with_severities(tally.diagnostics, config))
    record = _record(hits, ranks, config, tally, diagnostics)
    return show(record, _listed(hits, ranks, tally), invocation, diagnostics)


def views_in_logs(config: Config, names: tuple[str, ...]) -> tuple[dict[str, int], LogTally]:
    """Return the views of each page, counting a page and the links to it together."""
    from adaptc.compile.analyse.popularity import count_paths, join_aliases, page_hits
    from adaptc.formats.accesslog.parser import compile_format
    from adaptc.formats.accesslog.reader import LogTally, log_files, read_log

    find, aliases = _finder(config)
    parser, tally = compile_format(config.select.format), LogTally()
    counts = count_paths(entry for name in log_files(names) for entry in read_log(name, parser, tally))
    return join_aliases(page_hits(counts, find), aliases), tally


def _finder(config: Config) -> tuple[PageFinder, dict[str, str]]:
    """Return the function that finds the page of a path, and the site's aliases."""
    from adaptc.compile.analyse.popularity import name_finder, site_finder
    from adaptc.core.urls import SiteAddress
    from adaptc.site.docroot import load_site

    if config.docroot is None:
        return name_finder(SiteAddress(config.site.base_url), next(iter(config.site.index), "")), {}
    site = load_site(config)[1]
    return site_finder(site), {
        path: source.alias_of for path, source in site.sources.items() if source.alias_of is not None
    }


def _popular_set(hits: dict[str, int], config: Config) -> list[Rank]:
    from adaptc.compile.analyse.popularity import popular_set

    return popular_set(hits, config.select.share)


def _listed(hits: dict[str, int], ranks: list[Rank], tally: LogTally) -> str:
    from adaptc.core.quantities import written_plural

    lines = written_plural(tally.lines, "line")
    if not ranks:
        return f"no view of a page in {lines}"
    rows = [["views", "share", "together", "page"]]
    rows += [[f"{rank.hits:,}", f"{rank.share:.1%}", f"{rank.cumulative:.1%}", rank.path] for rank in ranks]
    views = f"{ranks[-1].cumulative:.1%} of {sum(hits.values()):,} page views in {lines}"
    return f"{table(rows, right=(0, 1, 2))}\n\n{len(ranks):,} of {len(hits):,} viewed pages make up {views}"


def _record(
    hits: dict[str, int],
    ranks: list[Rank],
    config: Config,
    tally: LogTally,
    diagnostics: tuple[Diagnostic, ...],
) -> dict[str, Any]:
    return {
        "share": config.select.share,
        "views": sum(hits.values()),
        "viewed_pages": len(hits),
        "lines": tally.lines,
        "skipped_lines": tally.skipped,
        "popular": [
            {"path": rank.path, "views": rank.hits, "share": rank.share, "cumulative": rank.cumulative}
            for rank in ranks
        ],
        "diagnostics": diagnostic_records(diagnostics),
    }
