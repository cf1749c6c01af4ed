"""``adaptc purge``: makes caches in front of the server forget levels, pages, or the whole site."""

from __future__ import annotations

from pathlib import Path

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.daemon_options import output_option
from adaptc.cli.render import print_json, print_text
from adaptc.config.toml import nearest
from adaptc.core.diagnostics import UsageError


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
            raise UsageError(f"there is no level {level} in what was emitted{nearest(level, knobs.levels)}")
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
