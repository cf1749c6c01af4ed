"""``adaptc crawl``: mirrors a site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from adaptc.cli.crawl_options import GroupedCommand, crawl_options
from adaptc.cli.crawl_run import collect_seldom, crawl_code, crawl_record, crawl_summary, stoppable, watching_crawl
from adaptc.cli.exitcodes import ExitCode
from adaptc.cli.frame import Frame, command
from adaptc.cli.render import diagnostic_record, print_diagnostics, print_json, print_text
from adaptc.core.diagnostics import printable


@command("crawl", cls=GroupedCommand)
@click.argument("urls", nargs=-1, metavar="[URL]...")
@crawl_options
def crawl(frame: Frame, urls: tuple[str, ...], **given: Any) -> ExitCode:
    """Mirror a site behind a server, with wget's options.

    A crawl that was interrupted goes on where it was when it is started again. State and log are in DIR/.adaptc.
    """
    if given["explain"] is not None:
        return _explain(frame, given["output"], given["explain"])
    from adaptc.cli.crawl_arguments import options_of
    from adaptc.crawl.crawl import crawl as run

    options = options_of(urls, given)
    collect_seldom()
    with stoppable() as is_stopped, watching_crawl(frame) as watch:
        result = run(options, is_stopped=is_stopped, watch=watch)
    if frame.format == "json":
        print_json(crawl_record(result) | {"diagnostics": [diagnostic_record(one) for one in result.diagnostics]})
    else:
        print_diagnostics(result.diagnostics, frame)
        print_text(crawl_summary(result), frame)
    return crawl_code(result)


def _explain(frame: Frame, output: Path, url: str) -> ExitCode:
    from adaptc.crawl.explain import explain_url

    sentence = explain_url(output, url)
    if frame.format == "json":
        print_json({"url": url, "explanation": sentence})
    else:
        print_text(printable(sentence), frame)
    return ExitCode.DONE
