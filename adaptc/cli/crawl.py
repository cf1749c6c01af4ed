"""``adaptc crawl``: mirrors a site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.crawl_options import GroupedCommand, crawl_options
from adaptc.cli.crawl_run import crawl_code, crawl_record, crawl_summary, stoppable, watching_crawl
from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.render import diagnostic_records, print_diagnostics, print_json, print_text
from adaptc.core.diagnostics import printable
from adaptc.core.garbage import collect_seldom


@command("crawl", cls=GroupedCommand)
@click.argument("urls", nargs=-1, metavar="[URL]...")
@crawl_options
def crawl(invocation: Invocation, urls: tuple[str, ...], **parameters: Any) -> ExitCode:
    """Mirror a site from its server, with wget's options.

    Started again, an interrupted crawl resumes. State and log are in DIR/.adaptc.
    """
    if parameters["explain"] is not None:
        return _explain(invocation, parameters["output"], parameters["explain"])
    from adaptc.cli.crawl_arguments import options_of
    from adaptc.crawl.crawl import crawl as run

    options = options_of(urls, parameters)
    collect_seldom()
    with stoppable() as is_stopped, watching_crawl(invocation) as watch:
        result = run(options, is_stopped=is_stopped, watch=watch)
    if invocation.format == "json":
        print_json(crawl_record(result) | {"diagnostics": diagnostic_records(result.diagnostics)})
    else:
        print_diagnostics(result.diagnostics, invocation)
        print_text(crawl_summary(result), invocation)
    return crawl_code(result)


def _explain(invocation: Invocation, output: Path, url: str) -> ExitCode:
    from adaptc.crawl.report import explain_url

    sentence = explain_url(output, url)
    if invocation.format == "json":
        print_json({"url": url, "explanation": sentence})
    else:
        print_text(printable(sentence), invocation)
    return ExitCode.DONE
