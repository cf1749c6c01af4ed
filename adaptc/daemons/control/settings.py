"""``[daemons.control]`` of adaptc.toml, and ``[daemons.control.sites.NAME]`` for each virtual server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from adaptc.config.schema import (
    InvalidValue,
    Schema,
    flag,
    http_url,
    number,
    one_or_more,
    path,
    problems_of,
    read_settings,
    refuse,
    text,
    whole,
)
from adaptc.config.toml import TomlSource
from adaptc.core.diagnostics import UsageError
from adaptc.daemons.control.bucket_ladder import ladder_from
from adaptc.daemons.control.machine import Machine, Site, Tuning
from adaptc.daemons.mode import MODE_CHECKS, ModeSettings
from adaptc.report.manifest import MANIFEST, read_manifest
from adaptc.serve.capacity.rungs import Rung, ladder_of
from adaptc.serve.capacity.utilization import BOUND, CapacityExceeded, Cost, Guarantee


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """A virtual server: its output, its access logs or else its status page, and what it is promised.

    ``requests`` a second and ``kilobytes`` a second together are a guarantee; without them the site shares what is
    left, ``priority`` 1 before 2.
    """

    output: Path | None = None
    logs: tuple[Path, ...] = ()
    status_url: str = ""
    requests: float | None = None
    kilobytes: float | None = None
    priority: int = 1

    def __post_init__(self) -> None:
        if (self.requests is None) != (self.kilobytes is None):
            raise InvalidValue("a guarantee needs both requests and kilobytes")

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee, if any."""
        if self.requests is None or self.kilobytes is None:
            return None
        return Guarantee(self.requests, self.kilobytes)


SITE_CHECKS: Schema = {
    "output": path,
    "logs": one_or_more(path),
    "status_url": http_url,
    "requests": number(0, 1e7),
    "kilobytes": number(0, 1e9),
    "priority": whole(1, 100),
}


@dataclass(frozen=True, slots=True)
class ControlSettings(ModeSettings):
    """The controller. ``interval`` is the sampling period T in seconds, ``margin`` the gain margin G.

    ``bound`` is U*; ``throughput_only`` lets guarantees go up to 1, where no response times are promised. The costs
    are what U is computed from until the estimator (``learn``, with ``forgetting``) knows better; None takes those that
    ``adaptc calibrate`` measured, else those of ``[cost]``. ``logs`` and ``log_format`` are as for ``adaptc classify``;
    without logs ``status_url``, a page of mod_status, tells the load.
    """

    logs: tuple[Path, ...] = ()
    log_format: str = "auto"
    bound: float = BOUND
    margin: float = 4.0
    throughput_only: bool = False
    learn: bool = True
    forgetting: float = 0.98
    request_ms: float | None = None
    kilobyte_ms: float | None = None
    rejection_ms: float | None = None

    def tuning(self) -> Tuning:
        """Return what the pure step takes."""
        return Tuning(self.bound, self.margin, self.interval, self.forgetting, self.throughput_only, self.learn)


CHECKS: Schema = {
    **MODE_CHECKS,
    "logs": one_or_more(path),
    "log_format": text,
    "bound": number(0.01, 1),
    "margin": number(1.5, 100),
    "throughput_only": flag,
    "learn": flag,
    "forgetting": number(0.5, 1),
    "request_ms": number(1e-6, 1e4),
    "kilobyte_ms": number(1e-9, 1e4),
    "rejection_ms": number(1e-6, 1e4),
}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def read_control(
    source: TomlSource, assignments: Sequence[str] = ()
) -> tuple[ControlSettings, dict[str, SiteSettings]]:
    """Return the settings, changed by ``assignments`` (``--set KEY=VALUE``), and those of each site.

    Raises ``UsageError`` that names every mistake, one a line.
    """
    sites = source.below("sites")
    table = source.part((), {key: value for key, value in source.values.items() if key != "sites"})
    refuse([
        *problems_of(lambda: read_settings(ControlSettings, CHECKS, table, assignments)),
        *(problem for name in sites.values for problem in problems_of(partial(_read_site, sites, name))),
    ])  # fmt: skip
    settings = {name: _read_site(sites, name) for name in sites.values}
    refuse(_shared_outputs(sites, settings))
    return read_settings(ControlSettings, CHECKS, table, assignments), settings


def _shared_outputs(sites: TomlSource, settings: Mapping[str, SiteSettings]) -> Iterator[str]:
    outputs: dict[Path | None, str] = {}
    for name, site in settings.items():
        first = outputs.setdefault(site.output, name)
        if first != name:
            yield sites.complaint((name,), f"the sites {first} and {name} have one output")


def _read_site(sites: TomlSource, name: str) -> SiteSettings:
    if not _NAME.fullmatch(name):
        raise UsageError(sites.complaint((name,), f"{name!r} is no name of a site: letters, digits, dots and hyphens"))
    site = read_settings(SiteSettings, SITE_CHECKS, sites.below(name))
    if site.output is None or not (site.logs or site.status_url):
        raise UsageError(sites.complaint((name,), f"the site {name} needs output, and logs or status_url"))
    return site


def machine_of(settings: ControlSettings, sites: Mapping[str, SiteSettings], default: Cost) -> Machine:
    """Return the machine of the pure step. Raises ``UsageError`` for guarantees that exceed the bound."""
    cost = _cost(settings, default)
    rungs = {name: read_rungs(site.output or Path()) for name, site in sites.items()}
    virtual_servers = tuple(
        Site(name, ladder_from(rungs[name], cost), site.guarantee, site.priority) for name, site in sites.items()
    )
    machine = Machine(virtual_servers, _cost_of_requests(cost, next(iter(rungs.values()))[0]), settings.tuning())
    try:
        machine.check()
    except CapacityExceeded as error:
        raise UsageError(f"{error}; promise less, or say throughput_only = true") from None
    return machine


def _cost(settings: ControlSettings, default: Cost) -> Cost:
    """Return the cost to begin with. A configured cost of a request is that of all that is logged: p is in it."""
    cost = default
    if settings.rejection_ms is not None:
        cost = replace(cost, rejection=settings.rejection_ms / 1000)
    if settings.request_ms is not None:
        cost = replace(cost, request=settings.request_ms / 1000, view=0.0)
    if settings.kilobyte_ms is not None:
        cost = replace(cost, kilobyte=settings.kilobyte_ms / 1000)
    return cost


def _cost_of_requests(cost: Cost, full: Rung) -> Cost:
    """Return a cost without p: logs count no connections, so that p is spread over the requests of a full page."""
    return replace(cost, request=cost.request + cost.view / full.requests, view=0.0)


def read_rungs(output: Path) -> list[Rung]:
    """Return the levels of a build, the full site first. Raises ``UsageError`` when nothing was built."""
    try:
        rungs = ladder_of(read_manifest(output / MANIFEST))
    except OSError as error:
        raise UsageError(f"{output}/manifest.json cannot be read ({error}): build the site first") from None
    if not rungs:
        raise UsageError(f"{output}/manifest.json has no pages")
    return rungs
