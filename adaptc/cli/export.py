"""``adaptc export`` and ``adaptc web``: the whole site at one level as a directory, for hosts that only send files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FOLDER, ExitCode, Invocation, command
from adaptc.cli.render import (
    diagnostic_records,
    show,
    table,
    watching,
)
from adaptc.cli.site_options import jobs_option, with_mirror
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.compile.engine.proof.paints import PagePaint
    from adaptc.compile.engine.reporting import Progress
    from adaptc.config.config import Config
    from adaptc.report.figures import LevelFigures, SiteFigures
    from adaptc.workflow.export.export import Export


_CONTENT_NAMES = click.option(
    "--content-names", is_flag=True, help="What pages load also has a name by its content, for caches to hold a year."
)


@command("export")
@click.argument("level")
@click.argument("dest", type=FOLDER)
@click.argument("docroot", required=False, type=FOLDER)
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option(
    "--encodings",
    type=click.Choice(["suffix", "parallel", "none"]),
    default="suffix",
    show_default=True,
    help="Where encoded files go: foo.html.br next to foo.html, or br/foo.html next to id/foo.html.",
)
@click.option(
    "--ladder/--no-ladder",
    default=None,
    help="Add lower levels, and a service worker that picks one for visitors on slow lines, or who save data. "
    "--no-ladder removes the worker of an earlier export from their browsers.",
)
@click.option(
    "--edge",
    type=click.Choice(["cloudflare", "netlify", "vercel", "deno", "cloudfront"]),
    help="With --ladder: a script that the host runs for each request picks the level, instead of a service worker.",
)
@_CONTENT_NAMES
def export(
    invocation: Invocation,
    level: str,
    dest: Path,
    docroot: Path | None,
    output: Path | None,
    encodings: str,
    ladder: bool | None,
    edge: str | None,
    content_names: bool,
) -> ExitCode:
    """Write the whole site at LEVEL into DEST.

    For hosts that only send files. A new DEST appears when it is complete; in one that an earlier
    export made, files are replaced one by one, and what is gone from the site is removed. Other files are left alone.
    """
    from adaptc.workflow.export.export import export_site

    if edge is not None and not ladder:
        raise UsageError("--edge goes with --ladder")
    config = with_mirror(invocation.load({"docroot": docroot, "output": output}))
    with watching(invocation) as progress:
        done = export_site(
            config, level, dest, encodings, progress, ladder=ladder, edge=edge, content_names=content_names
        )
    return show(_record(done, level), _sentence(done), invocation, done.diagnostics)


def _sentence(done: Export) -> str:
    from adaptc.core.quantities import written_bytes

    counts = f"wrote {done.written:,} files, kept {done.kept:,}, removed {done.removed:,}"
    encoded = f", {written_bytes(done.encoded)} of it encodings" if done.encoded else ""
    return f"{done.destination}: {counts}; {written_bytes(done.size)}{encoded}"


def _record(done: Export, level: str) -> dict[str, Any]:
    return {
        "destination": str(done.destination),
        "level": level,
        "written": done.written,
        "kept": done.kept,
        "removed": done.removed,
        "size": done.size,
        "encoded": done.encoded,
        "names": dict(done.names),
        "diagnostics": diagnostic_records(done.diagnostics),
    }


# ---- adaptc web: from the site to what is published, in one go

# The line of a phone on which the home page is measured
_LINE = "3g"


@command("web")
@click.argument("docroot", metavar="SITE", type=FOLDER)
@click.argument("dest", metavar="[PUBLIC]", type=FOLDER, default="public")
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="What is kept for the next run.  [default: opt]")
@click.option("--level", metavar="NAME", help="The level to publish.  [default: web, or deferred]")
@click.option("--effort", type=click.Choice(["fast", "default", "max"]), help="How hard to try to save bytes.")
@click.option("--base-url", metavar="URL", help="The URL under which SITE is published.")
@jobs_option
@click.option(
    "--browser/--no-browser",
    default=None,
    help="Look at pages in a browser first, and measure the home page unless --quiet.  [default: where there is one]",
)
@_CONTENT_NAMES
def web(
    invocation: Invocation,
    docroot: Path,
    dest: Path,
    output: Path | None,
    level: str | None,
    effort: str | None,
    base_url: str | None,
    jobs: int | None,
    browser: bool | None,
    content_names: bool,
) -> ExitCode:
    """Build and export SITE for hosts that only send files.

    It goes to PUBLIC, by default "public". The same as "adaptc build SITE --level full --level web --browser", with
    cost.preset = "static-host", and "adaptc export web PUBLIC --encodings none", with a table of what is saved; of
    files that such hosts compress themselves only fast Brotli is made, to count them. Only what changed is built; SITE
    is never written to. Of a site that a framework prerendered the level is deferred: its scripts wait for visitors.
    """
    from adaptc.workflow.api import build
    from adaptc.workflow.configuration import settings_for_hosts
    from adaptc.workflow.export.export import export_site, refuse_destination

    build_settings = {"build.effort": effort, "build.jobs": jobs}
    settings = {"docroot": docroot, "output": output, "site.base_url": base_url, **build_settings}
    level, chosen = settings_for_hosts(invocation.load(settings), level, browser=browser)
    config = with_mirror(invocation.load({**settings, **chosen}))
    refuse_destination(config, dest)
    with watching(invocation) as progress, _driver(config):
        built = build(config, progress, requires_pages=True, isolated=False)
        done = export_site(config, level, dest, "none", progress, content_names=content_names)
        is_told = config.browser.pages and (invocation.format == "json" or not invocation.quiet)
        paints = _paints(config, level, progress) if is_told else ()
    said = (*built.diagnostics, *done.diagnostics)
    sides = _sides(built.figures, level)
    record = {**_record(done, level), "diagnostics": diagnostic_records(said), **_saved_record(sides, paints)}
    rows = table(list(_saved_rows(built.figures.docroot_bytes, sides, done, paints)), right=(1, 2, 3))
    return show(record, "\n".join((rows, "", *_next_steps(config, level, done))), invocation, said)


def _driver(config: Config) -> AbstractContextManager[None]:
    """Return what drives the browsers, one to look at pages and one that reaches loopback, if there are any."""
    if not config.browser.pages:
        return nullcontext()
    from adaptc.browser.chromium import one_driver

    return one_driver()


def _paints(config: Config, level: str, progress: Progress) -> tuple[PagePaint, ...]:
    """Return how soon a phone shows the home page before and after; nothing where that cannot be measured."""
    from adaptc.core.diagnostics import UsageError
    from adaptc.workflow.prove import measure

    try:
        return measure(config, level, _LINE, progress)
    except UsageError:  # no browser, or it fails: the build has said so
        return ()


_Sides = tuple["LevelFigures", "LevelFigures"]


def _sides(figures: SiteFigures, level: str) -> _Sides:
    by_name = {each.level: each for each in figures.levels}
    return by_name["full"], by_name[level]


def _saved_rows(size: int, sides: _Sides, done: Export, paints: tuple[PagePaint, ...]) -> Iterator[list[str]]:
    from adaptc.core.quantities import written_bytes, written_count, written_milliseconds

    before, after = sides
    yield ["", "before", "after", "saved"]
    yield _row("all files, copies to choose from included", (size, done.size), written_bytes)
    sent = (before.transfer_per_page, after.transfer_per_page)
    yield _row("a page with what it loads, as sent", sent, written_bytes)
    yield _row("requests of a page", (before.requests_per_page, after.requests_per_page), written_count)
    times = [each.paint.largest for each in paints if each.paint is not None]
    if len(times) == len(paints) > 1:
        name = f"largest paint of {paints[0].page} on a phone, {_LINE}"
        yield _row(name, (times[0], times[1]), written_milliseconds)


def _row(name: str, values: tuple[float, float], written: Callable[[float], str]) -> list[str]:
    from adaptc.core.quantities import written_saving

    before, after = values
    return [name, written(before), written(after), written_saving(after, before)]


def _saved_record(sides: _Sides, paints: tuple[PagePaint, ...]) -> dict[str, Any]:
    names = ("requests_per_page", "identity_per_page", "transfer_per_page")
    before, after = ({name: getattr(side, name) for name in names} for side in sides)
    for each, side in zip(paints, (before, after), strict=False):
        side["largest_paint"] = each.paint.largest if each.paint else None
    return {"before": before, "after": after, "line": _LINE if paints else None}


def _next_steps(config: Config, level: str, done: Export) -> Iterator[str]:
    output = config.output
    if not os.environ.get("ADAPTC_EMBEDDED"):  # a plugin of a generator, which publishes it
        place = f"{done.destination} in the place of {config.docroot}"
        yield f"Publish {place}; keep {output} for the next run, unpublished."
    if level == "deferred":
        yield "Scripts that hydrate pages wait until a visitor uses what needs them; to run them at once: --level web"
    yield f"What was done to each page: {output}/report.html. Both side by side: adaptc preview -o {output}"
    if config.browser.pages:
        yield f"To prove in a browser that pages keep what {level} promises: adaptc prove -o {output} --level {level}"
    else:
        from adaptc.browser import lacking

        reason = lacking(config.browser.program)
        ending = f"; {reason}." if reason else "."
        yield f"With a browser (--browser) images are offered as small as they are shown{ending}"
