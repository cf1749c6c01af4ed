"""``adaptc verify-server``: verifies on a real server that every URL gets the right representation."""

from __future__ import annotations

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
from adaptc.cli.site_options import with_mirror
from adaptc.core.diagnostics import UsageError
from adaptc.serve.servers import examinable, server_named, startable

if TYPE_CHECKING:
    from adaptc.serve.server import Server
    from adaptc.serve.verify.verification import Tally

_SERVERS = [server.name for server in startable()]
_ORIGINS = [server.name for server in examinable()]


@command("verify-server")
@click.argument("docroot", required=False, type=FOLDER)
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of the build.  [default: opt]")
@click.option("--server", type=click.Choice(_SERVERS), help="Start this server on loopback.")
@click.option("--origin", type=click.Choice(_ORIGINS), help="The origin server of a reverse proxy.  [default: apache]")
@click.option("--url", metavar="URL", help="Verify the server at URL, in its current mode.")
@click.option("--pages", type=click.IntRange(1), metavar="N", help="Request N pages only.  [default: all]")
@click.option(
    "--assets", type=click.IntRange(0), default=50, show_default=True, metavar="N", help="Request N other files."
)
@click.option(
    "--race",
    type=click.IntRange(0),
    default=4000,
    show_default=True,
    metavar="N",
    help="Send N requests while modes change.",
)
def verify_server(
    invocation: Invocation,
    docroot: Path | None,
    output: Path | None,
    server: str | None,
    origin: str | None,
    url: str | None,
    pages: int | None,
    assets: int,
    race: int,
) -> ExitCode:
    """Verify on a real server that every URL gets the right file.

    Requests every page and a sample of the other files in every mode and level, with every kind of Accept-Encoding,
    with HEAD, ranges, conditions and hostile names, and compares bodies with the manifest and headers with the policy.
    """
    from adaptc.serve.verify.verification import Extent, verify_running, verify_started

    if (server is None) == (url is None):
        names = " or ".join(f"--server {name}" for name in _SERVERS)
        raise UsageError(f"say either {names}, or --url URL")
    config = with_mirror(invocation.load({"docroot": docroot, "output": output}))
    extent = Extent(pages, assets, race)
    with watching(invocation) as progress:
        if server is not None:
            chosen = server_named(server)
            tally = verify_started(config, chosen, extent, progress, _origin_of(chosen, origin))
        else:
            tally = verify_running(config, str(url), extent, progress)
    return show(_record(tally), _table(tally), invocation, tally.diagnostics)


def _origin_of(server: Server, name: str | None) -> Server | None:
    """Return the origin server of a reverse proxy. Raises ``UsageError``."""
    if not server.is_reverse_proxy:
        if name is not None:
            raise UsageError(f"--origin: {server.title} is no reverse proxy")
        return None
    return server_named(name or _ORIGINS[0])


def _table(tally: Tally) -> str:
    """Return the requests of each mode by group; a cell with faults says how many."""
    rows = [["mode", *tally.groups, "faults"]]
    for mode in tally.modes:
        cells = [_cell(tally.requests[mode, group], tally.faults[mode, group]) for group in tally.groups]
        rows.append([mode, *cells, f"{tally.of_mode(mode)[1]:,}"])
    requests, faults = tally.total
    verdict = f"{requests:,} requests, {faults:,} faults"
    return f"{table(rows, right=tuple(range(1, len(rows[0]))))}\n{verdict}"


def _cell(requests: int, faults: int) -> str:
    if not requests:
        return "-"
    return f"{requests:,} ({faults:,} wrong)" if faults else f"{requests:,}"


def _record(tally: Tally) -> dict[str, Any]:
    requests, faults = tally.total
    cells = [
        {"mode": mode, "group": group, "requests": count, "faults": tally.faults[mode, group]}
        for (mode, group), count in tally.requests.items()
    ]
    return {
        "requests": requests,
        "faults": faults,
        "counts": cells,
        "diagnostics": diagnostic_records(tally.diagnostics),
    }
