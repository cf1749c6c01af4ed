"""``[daemons.control]`` of adaptc.toml, and ``[daemons.control.sites.NAME]`` for each virtual server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from adaptc.config.schema import (
    InvalidValue,
    Schema,
    duration,
    flag,
    http_url,
    number,
    one_of,
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
from adaptc.core.values import dataclass, field, replace
from adaptc.daemons.control.bucket_ladder import ladder_from
from adaptc.daemons.control.machine import Machine, Site, Tuning
from adaptc.daemons.mode import MODE_CHECKS, ModeSettings
from adaptc.daemons.sensors import LIMIT_SENSORS, limits_of
from adaptc.report.manifest import MANIFEST, read_manifest
from adaptc.serve.capacity.rungs import Rung, ladder_of
from adaptc.serve.capacity.utilization import BOUND, CapacityExceeded, Cost, Guarantee
from adaptc.serve.state_directory import Knobs, read_knobs

# A quarter of the queue of nginx and Apache (511): an event loop that has time accepts all that there are
_LIMITS = {"listen_queue": 128.0}


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
    without logs ``status_url``, a page of mod_status, tells the load. ``policy`` is what decides: ``utilization``, or
    ``gradient``, by how long answers take against what is usual (``tolerance`` times as long). At most ``reject_most``
    of the clients are rejected. Without measured costs everything is in shadow for ``warm_up`` seconds. ``line`` is
    that of the server, in Mbit/s. ``limits`` are those of the sensors that have one, by name.
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
    policy: str = "utilization"
    tolerance: float = 2.0
    slack: float = 0.1
    reject_most: float = 0.5
    warm_up: float = 60.0
    line: float | None = None
    limits: Mapping[str, float] = field(default_factory=lambda: limits_of(_LIMITS))

    def tuning(self) -> Tuning:
        """Return what the pure step takes."""
        return Tuning(
            self.bound, self.margin, self.interval, self.forgetting, self.throughput_only, self.learn, self.slack,
            self.reject_most, self.policy == "gradient", self.tolerance, self.line and self.line * 125,
        )  # fmt: skip


POLICIES = ("utilization", "gradient")


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
    "policy": one_of(*POLICIES),
    "tolerance": number(1, 100),
    "slack": number(0, 0.5),
    "reject_most": number(0, 1),
    "warm_up": duration(0, 3600),
    "line": number(0.001, 1e6),
    **{sensor.name: sensor.check for sensor in LIMIT_SENSORS},
}


def _settings(**values: Any) -> ControlSettings:
    own = {key: value for key, value in values.items() if key in ControlSettings.__dataclass_fields__}
    return ControlSettings(**own, limits=limits_of(_LIMITS | values))


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
        *problems_of(lambda: read_settings(_settings, CHECKS, table, assignments)),
        *(problem for name in sites.values for problem in problems_of(partial(_read_site, sites, name))),
    ])  # fmt: skip
    settings = {name: _read_site(sites, name) for name in sites.values}
    refuse(_shared(sites, settings))
    return read_settings(_settings, CHECKS, table, assignments), settings


def _shared(sites: TomlSource, settings: Mapping[str, SiteSettings]) -> Iterator[str]:
    """Yield what two sites have in common: each would control by the load of both."""
    owners: dict[object, str] = {}
    for name, site in settings.items():
        own = [("output", site.output and site.output.resolve()), *(("log", log.resolve()) for log in site.logs)]
        for kind, value in [*own, ("status_url", site.status_url)]:
            first = owners.setdefault(value, name) if value else name
            if first != name:
                yield sites.complaint((name,), f"the sites {first} and {name} have one {kind}")


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
    knobs = {name: read_knobs(site.output or Path()) for name, site in sites.items()}
    rungs = {name: read_rungs(site.output or Path(), knobs[name]) for name, site in sites.items()}
    virtual_servers = tuple(
        Site(name, ladder_from(rungs[name], cost), site.guarantee, site.priority, _rejects(knobs[name]))
        for name, site in sites.items()
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
        cost = replace(cost, rejection=settings.rejection_ms / 1000, is_rejection_measured=True)
    if settings.request_ms is not None:
        cost = replace(cost, request=settings.request_ms / 1000, view=0.0)
    if settings.kilobyte_ms is not None:
        cost = replace(cost, kilobyte=settings.kilobyte_ms / 1000)
    return cost


def _rejects(knobs: Knobs | None) -> bool:
    """Whether a site's configuration knows level 0: what it does not know is never written."""
    return knobs is not None and knobs.reject


def _cost_of_requests(cost: Cost, full: Rung) -> Cost:
    """Return a cost without p: logs count no connections, so that p is spread over the requests of a full page."""
    return replace(cost, request=cost.request + cost.view / full.requests, view=0.0)


def read_rungs(output: Path, knobs: Knobs | None = None) -> list[Rung]:
    """Return the ladder of a build, as it was emitted, the full site first. Raises ``UsageError`` without a build."""
    try:
        rungs = ladder_of(read_manifest(output / MANIFEST), knobs.ladder if knobs is not None else None)
    except OSError as error:
        raise UsageError(f"{output}/manifest.json cannot be read ({error}): build the site first") from None
    if not rungs:
        raise UsageError(f"{output}/manifest.json has no pages")
    return rungs
