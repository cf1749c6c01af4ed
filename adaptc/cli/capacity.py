"""``adaptc capacity``: computes the load that each level of a build can carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.measured_cost import config_cost, measured_cost
from adaptc.cli.render import print_json, print_text, table
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.report.manifest import Manifest
    from adaptc.serve.capacity.rungs import Delays, Rung, RungCapacity
    from adaptc.serve.capacity.utilization import Cost

T = TypeVar("T")

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_POSITIVE = click.FloatRange(0, min_open=True)


@command("capacity")
@click.option("-o", "--output", type=_FOLDER, metavar="DIR", help="The output of a build.  [default: opt]")
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="NAME=REQUESTS,KB",
    help="A level instead of those of DIR; may be given again.",
)
@click.option("--request-ms", type=_POSITIVE, metavar="MS", help="a: cost of a request.")
@click.option("--kilobyte-ms", type=_POSITIVE, metavar="MS", help="b: cost of a kilobyte.")
@click.option("--view-ms", type=click.FloatRange(0), metavar="MS", help="p: cost of a page view's connection.")
@click.option("--rejection-ms", type=_POSITIVE, metavar="MS", help="c: of a rejection.  [default: 0.55]")
@click.option("--profile", type=_FILE, metavar="FILE", help="Costs as measured.  [default: DIR/run/cost.json]")
@click.option("--protocol", type=click.Choice(["http1", "https1", "https2"]), help="Take the profile's costs over it.")
@click.option(
    "--bound",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.58,
    metavar="SHARE",
    help="The maximum utilization.",
)
@click.option("--load", type=_POSITIVE, metavar="PAGES", help="Pages a second to expect.")
@click.option(
    "--workers", type=click.IntRange(1), default=256, metavar="K", help="Requests served at once.  [default: 256]"
)
@click.option("--line", type=_POSITIVE, metavar="MBIT", help="Megabits a second of the access line.")
@click.option("--clients", is_flag=True, help="Say what actions on pages saved clients in the paper.")
def capacity(
    invocation: Invocation,
    output: Path | None,
    levels: tuple[str, ...],
    request_ms: float | None,
    kilobyte_ms: float | None,
    view_ms: float | None,
    rejection_ms: float | None,
    profile: Path | None,
    protocol: str | None,
    bound: float,
    load: float | None,
    workers: int,
    line: float | None,
    clients: bool,
) -> None:
    """Compute the load that each level of a build can carry.

    A page costs a ms for each request, b ms for each kilobyte, and p ms for its connection: as adaptc calibrate
    measured them, else as the configuration has them. Prints, for each level, the cost of the mean page and the pages a
    second that keep the server below the bound. With --load also: how busy the server is at that load, what a request
    then takes, and the mixture of levels that keeps the bound.
    """
    from adaptc.serve.capacity.rungs import ladder_of
    from adaptc.serve.state_directory import read_knobs

    config = invocation.load({"output": output})
    knobs = read_knobs(config.output)
    names = knobs.ladder if knobs is not None else None
    ladder = [_parse_rung(level) for level in levels] or _from_manifest(config, lambda read: ladder_of(read, names))
    is_measured = not levels or profile is not None
    measured = measured_cost(config, invocation, profile, protocol) if is_measured else None
    options = {"view": view_ms, "request": request_ms, "kilobyte": kilobyte_ms, "rejection": rejection_ms}
    given = {name: value / 1000 for name, value in options.items() if value is not None}
    cost = replace(measured or config_cost(config), **given)
    record = _record(ladder, cost, bound)
    if load is not None:
        record["load"] = _load_record(ladder, cost, bound, load, workers, line)
    if clients:
        record["clients"] = _clients_record(None if levels else config)
    if invocation.format == "json":
        print_json(record)
    else:
        print_text(_text(record), invocation)


def _parse_rung(text: str) -> Rung:
    from adaptc.serve.capacity.rungs import Rung

    name, _, figures = text.partition("=")
    requests, _, kilobytes = figures.partition(",")
    try:
        rung = Rung(name, float(requests), float(kilobytes))
    except ValueError:
        raise UsageError(f"--level {text}: write NAME=REQUESTS,KB, such as regular=59,322") from None
    if not name or not rung.requests > 0 or not rung.kilobytes >= 0:
        raise UsageError(f"--level {text}: a page takes at least a request, and its kilobytes are not negative")
    return rung


def _from_manifest(config: Config, read: Callable[[Manifest], T]) -> T:
    """Return what ``read`` finds in the manifest of the output. Raises ``UsageError`` when that is nothing."""
    from adaptc.report.manifest import MANIFEST, read_manifest

    path = config.output / MANIFEST
    try:
        manifest = read_manifest(path)
    except FileNotFoundError:
        raise UsageError(f"there is no {path}: build the site first, or give levels with --level") from None
    result = read(manifest)
    if not result:
        raise UsageError(f"{path} has no pages")
    return result


def _record(ladder: Sequence[Rung], cost: Cost, bound: float) -> dict[str, Any]:
    from adaptc.serve.capacity.rungs import capacities

    return {
        "request_ms": round(cost.request * 1000, 6),
        "kilobyte_ms": round(cost.kilobyte * 1000, 6),
        "view_ms": round(cost.view * 1000, 6),
        "rejection_ms": round(cost.rejection * 1000, 6),
        "bound": bound,
        "levels": [_level_record(entry) for entry in capacities(ladder, cost, bound)],
    }


def _level_record(entry: RungCapacity) -> dict[str, Any]:
    return {
        "level": entry.rung.name,
        "requests": round(entry.rung.requests, 3),
        "kilobytes": round(entry.rung.kilobytes, 3),
        "page_ms": round(entry.page_cost * 1000, 4),
        "pages_per_second": round(entry.page_rate, 3),
        "factor": round(entry.factor, 4),
    }


def _load_record(
    ladder: Sequence[Rung], cost: Cost, bound: float, load: float, workers: int, line: float | None
) -> dict[str, Any]:
    from adaptc.serve.capacity.rungs import delays, mixture

    bits = line * 1e6 if line else None
    m = mixture(ladder, cost, load, bound)
    return {
        "pages_per_second": load,
        "m": round(m, 4),
        "mixture": _shares(ladder, m),
        "levels": [_delay_record(rung, delays(rung, cost, load, workers, bits)) for rung in ladder],
    }


def _delay_record(rung: Rung, delay: Delays) -> dict[str, Any]:
    return {
        "level": rung.name,
        "utilization": round(delay.utilization, 4),
        "turned_away": round(delay.blocked, 6),
        "server_ms": round(delay.server * 1000, 3),
        "line_ms": None if delay.line is None else round(delay.line * 1000, 3),
    }


def _shares(ladder: Sequence[Rung], m: float) -> dict[str, float]:
    """Return the share of clients by level: m = I + F gives F to level I + 1 and the rest to level I."""
    names = ["reject", *(rung.name for rung in reversed(ladder))]
    whole = min(int(m), len(ladder) - 1)
    shares = {names[whole + 1]: round(m - whole, 4), names[whole]: round(1 - (m - whole), 4)}
    return {name: share for name, share in shares.items() if share}


def _clients_record(config: Config | None) -> dict[str, Any]:
    """Return the paper's savings by client and server, and the share of the build's pages in each of its buckets."""
    from adaptc.serve.capacity.page_time import ACTIONS, SAVINGS
    from adaptc.serve.capacity.rungs import buckets_of

    pairs = {
        name: {"seconds": saving.base, **dict(zip(ACTIONS, saving.percent, strict=True))}
        for name, saving in SAVINGS.items()
    }
    if config is None:
        return {"saved_percent": pairs}
    buckets = _from_manifest(config, buckets_of)
    share = {
        str(bucket): {"percent": round(100 * count / buckets.total(), 1), "paper": bucket.paper_share}
        for bucket, count in sorted(buckets.items(), key=lambda item: (-item[1], str(item[0])))
    }
    return {"saved_percent": pairs, "pages": share}


def _text(record: dict[str, Any]) -> str:
    head = ["level", "requests", "kB", "ms a page", f"pages/s at {record['bound']:g}", "factor"]
    keys = ("requests", "kilobytes", "page_ms", "pages_per_second", "factor")
    digits = 2 if record["levels"][0]["page_ms"] >= 1 else 4
    formats = ("{:.1f}", "{:,.1f}", f"{{:.{digits}f}}", "{:,.1f}", "{:.2f}")
    rows = [[entry["level"], *(form.format(entry[key]) for form, key in zip(formats, keys, strict=True))]
            for entry in record["levels"]]  # fmt: skip
    lines = [table([head, *rows], right=range(1, 6))]
    if "load" in record:
        lines += ["", *_load_text(record["load"])]
    if "clients" in record:
        lines += ["", *_clients_text(record["clients"])]
    return "\n".join(lines)


def _load_text(load: dict[str, Any]) -> list[str]:
    head = ["level", "busy", "turned away", "ms at the server", "ms on the line"]
    rows = [[entry["level"], f"{entry['utilization']:.2f}", f"{entry['turned_away']:.1%}", f"{entry['server_ms']:.2f}",
             "-" if entry["line_ms"] is None else f"{entry['line_ms']:.2f}"] for entry in load["levels"]]  # fmt: skip
    shares = ", ".join(f"{share:.0%} {name}" for name, share in load["mixture"].items())
    return [
        f"at {load['pages_per_second']:g} pages a second, a request:",
        table([head, *rows], right=range(1, 5)),
        f"m = {load['m']:.2f} keeps the bound: {shares}",
    ]


def _clients_text(clients: dict[str, Any]) -> list[str]:
    pairs = clients["saved_percent"]
    actions = list(next(iter(pairs.values())))
    rows = [[name, *(f"{saving[action]:g}" for action in actions)] for name, saving in pairs.items()]
    head = ["client-server", "s a page", *actions[1:]]
    lines = [
        "percent of the time of a page that actions saved in the paper:",
        table([head, *rows], range(1, len(head))),
    ]
    if "pages" in clients:
        rows = [[name, f"{share['percent']:g}", f"{share['paper']}"] for name, share in clients["pages"].items()]
        title = "pages by bucket (container bytes, embedded objects, their bytes), percent here and there:"
        lines += ["", title, table([["bucket", "here", "paper"], *rows], range(1, 3))]
    return lines
