"""``adaptc publish`` stores a site at one level by URL; ``adaptc purge`` makes caches in front of the server forget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FILE, FOLDER, ExitCode, Invocation, command
from adaptc.cli.daemon_options import output_option
from adaptc.cli.render import diagnostic_records, print_json, print_text, show, watching
from adaptc.cli.site_options import with_mirror
from adaptc.config.config import PUBLISHED_ENCODINGS, PublishConfig
from adaptc.config.toml import nearest_or_all
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.workflow.publish.publish import Publication


@command("publish")
@click.argument("url", required=False)
@click.argument("docroot", required=False, type=FOLDER)
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option("--level", metavar="NAME", help="Publish this level.  [default: the only one that was built]")
@click.option(
    "--encodings",
    type=click.Choice(PUBLISHED_ENCODINGS),
    help=f"Encode in place of the file, or under other names.  [default: {PublishConfig().encodings}]",
)
@click.option("--delete", is_flag=True, help="Remove what was published before and is gone from the site.")
@click.option("--adopt", is_flag=True, help="Overwrite files that adaptc publish did not write.")
@click.option("--dry-run", "-n", is_flag=True, help="Only say what would be done.")
@click.option("--purge-list", type=FILE, metavar="FILE", help="Write the URL paths that a CDN must purge to FILE.")
def publish(
    invocation: Invocation,
    url: str | None,
    docroot: Path | None,
    output: Path | None,
    level: str | None,
    encodings: str | None,
    delete: bool,
    adopt: bool,
    dry_run: bool,
    purge_list: Path | None,
) -> ExitCode:
    """Publish the whole site at one level to URL.

    URL is a bucket or a folder in one (s3://bucket/folder, gs://bucket), a directory (file:///srv/www), or any URL
    that fsspec can open. Only what changed is sent: assets before the pages that use them, and what is removed last.
    """
    from adaptc.workflow.publish.publish import publish_site

    settings = {"publish.url": url, "publish.level": level, "publish.encodings": encodings}
    config = with_mirror(invocation.load({"docroot": docroot, "output": output, **settings}))
    with watching(invocation) as progress:
        done = publish_site(config, progress, removes=delete, adopts=adopt, is_dry=dry_run, purge_list=purge_list)
    lines = "".join(_lines(done)) if dry_run else ""
    return show(_record(done, dry_run), lines + _sentence(done, dry_run), invocation, done.diagnostics)


def _lines(done: Publication) -> list[str]:
    from adaptc.core.diagnostics import printable

    return [
        *(f"send {printable(name)}\n" for name in done.sent),
        *(f"remove {printable(name)}\n" for name in done.removed),
    ]


def _sentence(done: Publication, is_dry: bool) -> str:
    from adaptc.core.quantities import written_bytes

    size = "" if is_dry else f" ({written_bytes(done.size)})"
    sent, removed = ("would send", "would remove") if is_dry else ("sent", "removed")
    return f"{done.url}: {sent} {len(done.sent):,} files{size}, kept {done.kept:,}, {removed} {len(done.removed):,}"


def _record(done: Publication, is_dry: bool) -> dict[str, Any]:
    return {
        "url": done.url,
        "level": done.level,
        "dry_run": is_dry,
        "sent": list(done.sent),
        "removed": list(done.removed),
        "kept": done.kept,
        "size": done.size,
        "purge": list(done.purged),
        "diagnostics": diagnostic_records(done.diagnostics),
    }


# ---- purging caches


@command("purge")
@click.argument("urls", nargs=-1, metavar="[URL...]")
@output_option
@click.option("--level", "levels", multiple=True, metavar="LEVEL", help="Forget what they hold of a level.")
@click.option("--all", "everything", is_flag=True, help="Forget everything of the site.")
def purge(
    invocation: Invocation, urls: tuple[str, ...], output: Path | None, levels: tuple[str, ...], everything: bool
) -> ExitCode:
    """Purge the caches in front of the server.

    They forget what they hold of URLs or paths, of levels, or of the whole site. serve.purge names them: Varnish,
    nginx, Fastly, Cloudflare, or a command. Builds purge what they changed, and adaptc switch and control purge the
    levels that nobody gets any more.
    """
    from adaptc.serve.purge import Purge, cache_of, labels_of, purge_within, site_of
    from adaptc.serve.state_directory import read_knobs

    config = invocation.load({"output": output})
    if not config.serve.purge:
        raise UsageError('serve.purge names no cache: write for instance purge = ["varnish"] in [serve]')
    if bool(urls) + bool(levels) + everything != 1:
        raise UsageError("say either URLs, or --level LEVEL, or --all")
    for named in config.serve.purge:
        cache_of(named)  # a mistake is found before anything is purged
    knobs = read_knobs(config.output)
    if levels and knobs is None:
        raise UsageError("nothing was emitted: run adaptc emit, which says what levels are called")
    for level in levels:
        if knobs is not None and level not in knobs.levels:
            raise UsageError(f"there is no level {level} in what was emitted{nearest_or_all(level, knobs.levels)}")
    site = site_of(config.site.base_url, config.url_prefix)
    whole = tuple(url if "://" in url else site.removesuffix(config.url_prefix) + f"/{url.lstrip('/')}" for url in urls)
    labels = tuple(f"{knobs.name}-{level}" for level in levels) if knobs is not None else ()
    wanted = Purge(site, labels + labels_of(config, whole), whole)
    problems = purge_within(config.serve.purge, wanted, 60.0)
    if invocation.format == "json":
        print_json({"caches": config.serve.purge, "problems": problems})
    for problem in problems:
        click.echo(f"adaptc: {problem}", err=True)
    if not problems and invocation.format != "json":
        print_text(f"purged {', '.join(config.serve.purge)}", invocation)
    return ExitCode.SERVER if problems else ExitCode.DONE
