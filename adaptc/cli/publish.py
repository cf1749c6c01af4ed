"""``adaptc publish``: publishes the whole site at one level in an object store or another folder by URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.render import diagnostic_records, exit_code, print_diagnostics, print_json, print_text, watching
from adaptc.cli.site_options import FOLDER, with_mirror
from adaptc.config.config import PUBLISHED_ENCODINGS, PublishConfig

if TYPE_CHECKING:
    from adaptc.workflow.publish.publish import Publication

_FILE = click.Path(dir_okay=False, path_type=Path)


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
@click.option("--purge-list", type=_FILE, metavar="FILE", help="Write the URL paths that a CDN must purge to FILE.")
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
    if invocation.format == "json":
        print_json(_record(done, dry_run))
    else:
        print_diagnostics(done.diagnostics, invocation)
        if dry_run:
            print_text("".join(_lines(done)).rstrip("\n"), invocation)
        print_text(_sentence(done, dry_run), invocation)
    return exit_code(done.diagnostics)


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
