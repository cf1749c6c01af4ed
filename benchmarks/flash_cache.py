"""Live: a crowd of twenty times what Apache carries at a level, through a cache, with and without caching by level.

Apache runs in a control group (version 1, as root) with a share of a CPU, the cache outside of it. The site's own
answers may be held for ``OWN`` seconds. When the crowd comes the flag is set, and ``moderate`` is sent; it is removed
at the end.

    python -m benchmarks.flash_cache                   # all rows
    python -m benchmarks.flash_cache nginx varnish     # some

Prints for each row what was served, how many page views reached Apache, and the seconds after the flag was removed at
which the last degraded page came.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import adaptc
from adaptc.config.config import Config
from adaptc.core.urls import quote_path
from adaptc.daemons.run_directory import RunDirectory
from adaptc.report.manifest import last_manifest
from adaptc.serve.calibrate.page_views import sampled_pages, views_by_level
from adaptc.serve.emitter import emit
from adaptc.serve.launch import launcher_of, running
from adaptc.serve.policy import OFF, Policy
from adaptc.serve.server import Instance, Server
from adaptc.serve.servers import server_named
from adaptc.workflow.configuration import load_config
from benchmarks import crowd_matrix
from benchmarks.crowd_matrix import SITE, Crowd, Limited, Phase, Row, limited

LEVELS = ("full", "lossless", "moderate")
SHARE, PERIOD = 0.005, 200_000  # of a CPU; microseconds
OWN, SHARED = 5, 20  # seconds for which caches may hold what is sent
CALM, FLASH, AFTER = 6.0, 30.0, 26.0  # seconds
CACHES = """
proxy_cache_path "{root}/kept" keys_zone=kept:4m;
"""
# What docs/serving.md says of nginx: a key of its own for each side of the switch, and one request for all who wait
KEYED = """
set $level off;
if (-f "{flag}") {{
    set $level on;
}}
proxy_cache_key "$host$request_uri $level";
proxy_cache_background_update on;
proxy_cache_lock on;
proxy_cache_lock_timeout 60s;
proxy_cache_lock_age 60s;
"""
FORWARD = """
location / {{
    proxy_pass http://127.0.0.1:{origin};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_cache kept;
}}
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """A cache, how long it may hold degraded answers, and whether it has the emitted configuration."""

    cache: str
    shared: int
    chooses: bool = False


ROWS = {
    "nginx-before": Setting("nginx", 0),
    "nginx": Setting("nginx", SHARED),
    "varnish-before": Setting("varnish", 0),
    "varnish": Setting("varnish", SHARED),
    "varnish-chooses": Setting("varnish", SHARED, chooses=True),
}


class Stamped(dict[str, int]):
    """The pages by level, with the time of the last of each."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[str, float] = {}

    def __setitem__(self, name: str, count: int) -> None:
        super().__setitem__(name, count)
        self.last[name] = time.monotonic()


@contextlib.contextmanager
def fronted(setting: Setting, origin: int, policy: Policy, root: Path) -> Iterator[int]:
    """Run the cache; yield its port."""
    root.mkdir(parents=True, exist_ok=True)
    files = (Path(policy.output) / "serve" / "varnish.vcl",) if setting.chooses else ()
    server = server_named(setting.cache)
    if setting.cache == "nginx":
        zone, site = root / "nginx-http.conf", root / "nginx-server.conf"
        zone.write_text(CACHES.format(root=root))
        keyed = KEYED.format(flag=policy.flag) if setting.shared else ""
        site.write_text(keyed + FORWARD.format(origin=origin))
        files = (zone, site)
    instance = Instance(root, Path(policy.docroot), "", ("index.html",), files, origin=origin)
    with running(many_connections(server), instance) as started:
        yield started.port


def many_connections(server: Server) -> Server:
    """Return the server with room for the crowd."""
    launcher = launcher_of(server)

    def configuration(instance: Instance, port: int) -> str:
        return launcher.configuration(instance, port).replace("worker_connections 256", "worker_connections 4096")

    return replace(server, launcher=replace(launcher, configuration=configuration))


def run_row(name: str, setting: Setting, config: Config, root: Path) -> dict[str, object]:
    """Run a row and return its figures."""
    serve = {"name": "crowd", "level": "moderate", "shared_seconds": setting.shared}
    serve |= {"reverse_proxy": "varnish"} if setting.chooses else {}
    config = replace(config, serve=replace(config.serve, **serve))
    server = server_named("apache")
    policy = emit(config, [server.name, *(["varnish"] if setting.chooses else [])]).policy
    behind = policy.for_origin() if setting.chooses else policy
    output = Path(config.output)
    for path in (output, output / "run"):
        path.chmod(0o755)
    manifest = last_manifest(output)
    views = views_by_level(config, manifest, sampled_pages(manifest))
    pages = [quote_path(f"/{view.paths[0]}") for view in views["full"]]
    objects = {
        (level, quote_path(f"/{view.paths[0]}")): [quote_path(f"/{path}") for path in view.paths[1:]]
        for level in (*manifest.level_names, OFF)
        for view in views.get(level, views["full"])
    }
    folder = root / name
    included = tuple(output / "serve" / file.name for file in server.files if file.is_included(behind))
    instance = Instance(
        folder / "origin",
        Path(policy.docroot),
        "",
        config.site.index,
        included,
        (("Cache-Control", f"max-age={OWN}"),),
        launcher_of(server).modules(behind),
        policy.name,
    )
    RunDirectory(output / "run").reset()
    with (
        limited(server, instance, Row("", SHARE, ()), policy.name) as origin,
        fronted(setting, origin.port, policy, folder / "cache") as port,
    ):
        wish = "X-Server-Actions: .moderate\r\n" if setting.chooses else ""
        crowds = [
            Crowd(at, pages, objects, fields) for at, fields in ((origin.port, ""), (origin.port, wish), (port, ""))
        ]
        return {"row": name} | asyncio.run(_measured(crowds, origin, RunDirectory(output / "run"), folder, pages))


async def _measured(
    crowds: Sequence[Crowd], origin: Limited, run: RunDirectory, folder: Path, pages: list[str]
) -> dict[str, object]:
    direct, asking, crowd = crowds
    full = await _capacity(direct, origin)
    run.set_flag(True)
    capacity = await _capacity(asking, origin)
    run.set_flag(False)
    origin.limit()
    calm, flash, after = (Phase(seconds, 0, levels=Stamped()) for seconds in (CALM, FLASH, AFTER))
    await crowd.phase(calm, 0.3 * full, origin)
    log = next(folder.glob("origin/*access.log"))
    before = _page_views(log, pages)
    run.set_flag(True)
    await crowd.phase(flash, 20 * capacity, origin)
    await crowd.finish()
    reached = _page_views(log, pages) - before
    run.set_flag(False)
    removed = time.monotonic()
    await crowd.phase(after, full / 2, origin)
    await crowd.finish()
    degraded = [moment for level, moment in after.levels.last.items() if level == "moderate"]  # type: ignore[attr-defined]
    return {
        "capacity_full": round(full, 1),
        "capacity": round(capacity, 1),
        "views/s": round(flash.views / FLASH, 1),
        "served/s": round(len(flash.served) / FLASH, 1),
        "failed": flash.failed,
        "causes": flash.causes,
        "rejected": flash.rejected,
        "p95_s": _p95(flash.served),
        "levels": dict(flash.levels),
        "at_origin": reached,
        "at_origin_share": round(reached / max(1, len(flash.served)), 4),
        "last_degraded_s": round(max(degraded) - removed, 1) if degraded else 0.0,
        "levels_after": dict(after.levels),
    }


async def _capacity(crowd: Crowd, origin: Limited) -> float:
    """Return how many page views a second Apache carries with its share, of what it sends now."""
    await crowd.phase(Phase(2, -60), 60, origin)
    used, warm = origin.cpu(), Phase(4, -60)
    await crowd.phase(warm, 60, origin)
    await crowd.finish()
    return SHARE * warm.views / (origin.cpu() - used)


def _p95(times: list[float]) -> float | None:
    return round(sorted(times)[int(len(times) * 0.95)], 3) if times else None


def _page_views(log: Path, pages: list[str]) -> int:
    """Return how many requests for pages the origin server has logged."""
    wanted = set(pages)
    return sum(path in wanted for path in re.findall(r'"GET (\S+) HTTP', log.read_text("utf-8", "replace")))


def main() -> None:
    """Run the rows that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", nargs="*", choices=[[], *ROWS], default=[])
    options = parser.parse_args()
    crowd_matrix.PERIOD = PERIOD
    with tempfile.TemporaryDirectory(prefix="adaptc-flash-") as temporary:
        root = Path(temporary)
        root.chmod(0o755)
        settings = {"docroot": SITE, "output": root / "opt", "build.levels": LEVELS, "build.effort": "fast"}
        config = load_config(None, settings)
        adaptc.build(config)
        for name in options.row or ROWS:
            print(json.dumps(run_row(name, ROWS[name], config, root)), flush=True)


if __name__ == "__main__":
    main()
