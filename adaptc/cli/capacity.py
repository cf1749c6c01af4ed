"""``adaptc capacity``: computes the load that each level of a build can carry."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adaptc.cli.command import FILE, FOLDER, Invocation, command
from adaptc.cli.measured_cost import config_cost, found_profile
from adaptc.cli.render import show, table
from adaptc.core.diagnostics import UsageError

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.report.manifest import Manifest
    from adaptc.serve.capacity.rungs import Delays, Rung, RungCapacity, Users
    from adaptc.serve.capacity.utilization import Cost

T = TypeVar("T")

_POSITIVE = click.FloatRange(0, min_open=True)
_PACE = 1.2  # times what the server carries of the full site, as benchmarks/crowd_matrix.py measures it

_NFTABLES = """\
# adaptc capacity: new connections beyond the pages a second that level {level} carries are refused (docs/crowd.md).
# Costs: {costs}
# nft -f FILE puts it in place, nft delete table inet adaptc-crowd ends it.
table inet adaptc-crowd {{
    chain input {{
        type filter hook input priority filter;
        tcp dport {{ {ports} }} tcp flags & (syn|ack) == syn limit rate over {rate}/second burst 20 packets \\
            reject with tcp reset
    }}
}}"""


@command("capacity")
@click.option("-o", "--output", type=FOLDER, metavar="DIR", help="The output of a build.  [default: opt]")
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
@click.option("--rejection-ms", type=_POSITIVE, metavar="MS", help="c: of a rejection.  [default: p + a]")
@click.option("--profile", type=FILE, metavar="FILE", help="Costs as measured.  [default: DIR/run/cost.json]")
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
@click.option("--users", type=click.IntRange(1, 100_000), metavar="N", help="Users who load page after page.")
@click.option("--think", type=click.FloatRange(0), metavar="S", help="Seconds between two pages.  [default: 10]")
@click.option(
    "--hit-ratio",
    "hit_ratios",
    type=click.FloatRange(0, 1),
    multiple=True,
    metavar="SHARE",
    help="They share a caching proxy before the line; may be given again.",
)
@click.option("--backbone", type=click.FloatRange(0), metavar="MS", help="Delay behind the proxy.  [default: 195]")
@click.option("--clients", is_flag=True, help="Say what actions on pages saved clients in the paper.")
@click.option("--nftables", metavar="PORT,...", help="Print a rule that refuses more than the lowest level carries.")
def capacity(
    invocation: Invocation,
    output: Path | None,
    levels: tuple[str, ...],
    profile: Path | None,
    protocol: str | None,
    bound: float,
    load: float | None,
    workers: int,
    line: float | None,
    users: int | None,
    think: float | None,
    hit_ratios: tuple[float, ...],
    backbone: float | None,
    clients: bool,
    nftables: str | None,
    **milliseconds: float | None,
) -> None:
    """Compute the load that each level of a build can carry.

    A page costs a ms for each request, b ms for each kilobyte, and p ms for its connection: as adaptc calibrate
    measured them, else as the configuration has them. Prints, for each level, the cost of the mean page and the pages a
    second that keep the server below the bound. With --load also: how busy the server is at that load, what a request
    then takes, and the mixture of levels that keeps the bound. With --users instead: a fixed number of users, who wait
    for a page, think and load the next one; with --load, too, others load pages meanwhile; with --hit-ratio the users
    are behind a caching proxy, as those of an Internet provider. With --nftables instead: rules for nft(8) that refuse
    new connections to some ports beyond what the lowest level carries.
    """
    config = invocation.load({"output": output})
    ladder = [_parse_rung(level) for level in levels] or _ladder_of_build(config)
    is_measured = not levels or profile is not None
    found = found_profile(config, invocation, profile, is_needed=protocol is not None) if is_measured else None
    cost = _with_given(found.machine_cost(protocol) if found else config_cost(config), milliseconds)
    record = _record(ladder, cost, bound)
    if nftables is not None:
        is_given = milliseconds["request_ms"] is not None and milliseconds["kilobyte_ms"] is not None
        costs = "given" if is_given else "measured" if found else "assumed, of [cost]: run adaptc calibrate first"
        show(rule := _nftables(nftables, record["levels"], costs), rule["text"], invocation)
        return
    if found is not None and found.server.startswith("nginx"):
        record["nginx_page_rate"] = max(1, round(_PACE * 1000 / record["levels"][0]["page_ms"]))
    crowd = _users(users, think, hit_ratios, backbone, line, load, workers)
    if load is not None and not crowd:
        record["load"] = _load_record(ladder, cost, bound, load, workers, line)
    if crowd:
        record["users"] = _users_record(ladder, cost, crowd)
    if clients:
        record["clients"] = _clients_record(None if levels else config)
    show(record, _text(record), invocation)


def _nftables(ports: str, levels: Sequence[Mapping[str, Any]], costs: str) -> dict[str, Any]:
    """Return the rule for ``nft -f``, the level that it is for and the connections a second that it lets through."""
    if not re.fullmatch(r"[1-9]\d{,4}(,[1-9]\d{,4})*", ports, re.ASCII):
        raise UsageError(f"--nftables: {ports!r} is no list of ports such as 80,443")
    lowest = max(levels, key=lambda level: level["pages_per_second"])
    rate = max(1, int(lowest["pages_per_second"]))
    text = _NFTABLES.format(ports=ports, rate=rate, costs=costs, **lowest)
    return {"level": lowest["level"], "connections_per_second": rate, "costs": costs, "text": text}


def _with_given(cost: Cost, milliseconds: Mapping[str, float | None]) -> Cost:
    """Return a cost with those that were given, by option; a c that nobody has measured follows a and p."""
    given = {name.removesuffix("_ms"): value / 1000 for name, value in milliseconds.items() if value is not None}
    cost = replace(cost, **given, is_rejection_measured="rejection" in given or cost.is_rejection_measured)
    return cost if cost.is_rejection_measured else replace(cost, rejection=cost.request + cost.view)


def _ladder_of_build(config: Config) -> Sequence[Rung]:
    """Return the ladder of the last build: that of the emitted configuration, where there is one."""
    from adaptc.serve.capacity.rungs import ladder_of
    from adaptc.serve.state_directory import read_knobs

    knobs = read_knobs(config.output)
    return _from_manifest(config, lambda read: ladder_of(read, knobs.ladder if knobs is not None else None))


def _users(
    count: int | None,
    think: float | None,
    hit_ratios: Sequence[float],
    backbone: float | None,
    line: float | None,
    load: float | None,
    workers: int,
) -> list[Users]:
    """Return the users, once for each hit ratio. Raises ``UsageError`` for options that need others."""
    from adaptc.serve.capacity.queueing import BACKBONE
    from adaptc.serve.capacity.rungs import Users

    own = {"--think": think is not None, "--hit-ratio": bool(hit_ratios), "--backbone": backbone is not None}
    if count is None:
        if missing := [name for name, is_given in own.items() if is_given]:
            raise UsageError(f"{missing[0]} needs --users")
        return []
    if hit_ratios and line is None:
        raise UsageError("--hit-ratio needs --line: the access line behind the proxy")
    if backbone is not None and not hit_ratios:
        raise UsageError("--backbone needs --hit-ratio: it is the way from the proxy to the server")
    users = Users(
        count, 10.0 if think is None else think, line * 1e6 if line else None, None, load or 0.0,
        BACKBONE if backbone is None else backbone / 1000, workers,
    )  # fmt: skip
    return [replace(users, hit_ratio=ratio) for ratio in hit_ratios or (None,)]


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
        "keeps_bound": m > 0 or cost.rejection * load <= bound,
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


def _users_record(ladder: Sequence[Rung], cost: Cost, crowd: Sequence[Users]) -> dict[str, Any]:
    first = crowd[0]
    return {
        "users": first.count,
        "think_s": first.think,
        "others": first.others,
        "levels": [_user_record(rung, cost, users) for rung in ladder for users in crowd],
    }


def _user_record(rung: Rung, cost: Cost, users: Users) -> dict[str, Any]:
    """Return what users of a level get; nothing but the level where there is no steady state."""
    from adaptc.serve.capacity.queueing import Overload
    from adaptc.serve.capacity.rungs import user_delays

    record: dict[str, Any] = {"level": rung.name, "hit_ratio": users.hit_ratio}
    try:
        found = user_delays(rung, cost, users)
    except Overload:
        return {**record, "utilization": None}
    seconds = {"server": found.server, "line": found.line, "line_of_a_miss": found.line_of_a_miss,
               "proxy": found.proxy, "others": found.others}  # fmt: skip
    return {
        **record,
        "pages_per_second": round(found.page_rate, 4),
        "utilization": round(found.utilization, 4),
        **{f"{name}_ms": None if value is None else round(value * 1000, 3) for name, value in seconds.items()},
    }


def _shares(ladder: Sequence[Rung], m: float) -> dict[str, float]:
    """Return the share of clients by level: m = I + F gives F to level I + 1 and the rest to level I."""
    names = ["reject", *(rung.name for rung in reversed(ladder))]
    whole = min(int(m), len(ladder) - 1)
    shares = {names[whole + 1]: round(m - whole, 4), names[whole]: round(1 - (m - whole), 4)}
    return {name: share for name, share in shares.items() if share}


def _clients_record(config: Config | None) -> dict[str, Any]:
    """Return the paper's savings by client and server, and the share of the build's pages in each of its buckets."""
    from adaptc.serve.capacity.rungs import ACTIONS, SAVINGS, buckets_of

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
    if "nginx_page_rate" in record:
        suggested = f"serve.nginx_page_rate = {record['nginx_page_rate']}"
        lines.append(f"{suggested}: {_PACE:g} times what it carries of {rows[0][0]} with all its time (docs/crowd.md)")
    if "load" in record:
        lines += ["", *_load_text(record["load"])]
    if "users" in record:
        lines += ["", *_users_text(record["users"])]
    if "clients" in record:
        lines += ["", *_clients_text(record["clients"])]
    return "\n".join(lines)


def _load_text(load: dict[str, Any]) -> list[str]:
    head = ["level", "busy", "turned away", "ms at the server", "ms on the line"]
    rows = [[entry["level"], f"{entry['utilization']:.2f}", f"{entry['turned_away']:.1%}", f"{entry['server_ms']:.2f}",
             "-" if entry["line_ms"] is None else f"{entry['line_ms']:.2f}"] for entry in load["levels"]]  # fmt: skip
    shares = ", ".join(f"{share:.0%} {name}" for name, share in load["mixture"].items())
    mixture = f"m = {load['m']:.2f} keeps the bound: {shares}"
    return [
        f"at {load['pages_per_second']:g} pages a second, a request:",
        table([head, *rows], right=range(1, 5)),
        mixture if load["keeps_bound"] else "no mixture keeps the bound, not even a rejection of all: see --nftables",
    ]


_USER_COLUMNS = {
    "hit_ratio": ("hits", "{:.0%}"),
    "pages_per_second": ("pages/s", "{:,.2f}"),
    "utilization": ("busy", "{:.2f}"),
    "server_ms": ("ms at the server", "{:,.2f}"),
    "line_ms": ("ms on the line", "{:,.2f}"),
    "line_of_a_miss_ms": ("of a miss", "{:,.2f}"),
    "proxy_ms": ("ms at the proxy", "{:,.2f}"),
    "others_ms": ("of others, ms", "{:,.2f}"),
}


def _users_text(users: dict[str, Any]) -> list[str]:
    """Return the table, with the columns that have a figure for any level."""
    entries = users["levels"]
    keys = [key for key in _USER_COLUMNS if any(entry.get(key) is not None for entry in entries)]
    rows = [[entry["level"], *(_figure(entry.get(key), _USER_COLUMNS[key][1]) for key in keys)] for entry in entries]
    others = f", and others load {users['others']:g} pages a second" if users["others"] else ""
    return [
        f"{users['users']:,} users load a page every {users['think_s']:g} s after the last one{others}; a page:",
        table([["level", *(_USER_COLUMNS[key][0] for key in keys)], *rows], right=range(1, len(keys) + 1)),
    ]


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


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
