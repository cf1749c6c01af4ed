"""The profile of a server: what its work costs, kept as JSON until the next calibration.

It is of one machine, one version of the server and one version of adaptc; ``stale_diagnostics`` says when it is not of
these.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adaptc.config.config import ServeConfig
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.fs import write_atomic
from adaptc.core.values import asdict, dataclass, field
from adaptc.core.version import VERSION
from adaptc.serve.capacity.utilization import Cost
from adaptc.serve.launch import program_of, run_quietly
from adaptc.serve.policy import STATE_DIRECTORY
from adaptc.serve.server import Server
from adaptc.serve.servers import examinable

PROFILE = "cost.json"
SCHEMA = 1
OLD = 90  # days after which a profile is called old: kernels, servers and neighbours change
PROTOCOLS = ("http1", "https1", "https2")
# The settings of [serve] that change what the server does at a request
SETTINGS = (
    "flag", "buckets", "reject", "freshness", "access", "classes", "class_map", "hints", "critical_hints", "expose",
    "trusted_proxies", "nginx_location", "nginx_classes", "nginx_file_cache",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LevelCost:
    """A level as it was measured: requests and kB of the mean page, milliseconds of CPU a view, and those predicted."""

    level: str
    requests: float
    kilobytes: float
    measured_ms: float
    predicted_ms: float

    @property
    def error(self) -> float:
        """How much too high the prediction is, relative to what was measured."""
        return self.predicted_ms / self.measured_ms - 1


@dataclass(frozen=True, slots=True)
class Saturation:
    """The most page views a second that were seen, and what kept them from being more.

    ``busy`` are CPU seconds of the server a second, ``limit`` is "server", "client", "quota", "network" or "unknown".
    """

    level: str
    pages_per_second: float
    busy: float
    limit: str


@dataclass(frozen=True, slots=True)
class Profile:
    """What was measured of a server.

    ``costs`` are milliseconds of a view's connection, a request and a kilobyte by protocol (``PROTOCOLS``), ``kinds``
    those of a request and a kilobyte by what is sent: a coding, an image format, "id", "original", or "off" while
    nothing is adapted. ``rejection_ms`` is None where the server cannot reject. ``settings`` are those of ``SETTINGS``
    with which the server was measured, as text; none in profiles of earlier versions. ``cpus`` are those that the
    server might use, and ``line`` is the access line in Mbit/s, ``None`` if not known.
    """

    server: str
    costs: Mapping[str, Mapping[str, float]]
    kinds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rejection_ms: float | None = None
    levels: tuple[LevelCost, ...] = ()
    saturation: Saturation | None = None
    cpus: float = 1
    machine: str = ""
    tool: str = ""
    made: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    line: float | None = None

    def cost(self, protocol: str | None = None) -> Cost:
        """Return the cost over a protocol, or the first of those measured. Raises ``UsageError`` for another."""
        protocol = protocol or next(iter(self.costs))
        if protocol not in self.costs:
            raise UsageError(f"the profile has no costs over {protocol}, only over {', '.join(self.costs)}")
        costs = self.costs[protocol]
        request, kilobyte, view = (costs[f"{name}_ms"] / 1000 for name in ("request", "kilobyte", "view"))
        if self.rejection_ms is None:
            return Cost(request, kilobyte, request + view, view, is_rejection_measured=False)
        return Cost(request, kilobyte, self.rejection_ms / 1000, view)

    def machine_cost(self, protocol: str | None = None) -> Cost:
        """Return the cost as a share of the CPUs that the server may use. Raises as ``cost`` does."""
        return self.cost(protocol).shared_by(self.cpus)

    def age(self, now: datetime) -> int:
        """Return the age in whole days."""
        return max(0, (now - datetime.fromisoformat(self.made)).days)


def machine_id() -> str:
    """Return what identifies this machine: a digest of its id, its kind of processor and how many there are."""
    parts = [platform.machine(), str(os.cpu_count())]
    for file, mark in (("/etc/machine-id", ""), ("/proc/cpuinfo", "model name")):
        path = Path(file)
        lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
        parts += [next((line for line in lines if line.startswith(mark)), "")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def settings_of(serve: ServeConfig) -> dict[str, str]:
    """Return the settings that change what the server does at a request, as text."""
    return {name: repr(getattr(serve, name)) for name in SETTINGS}


def profile_path(output: Path) -> Path:
    """Return where the profile of an output is, unless another file is named."""
    return output / STATE_DIRECTORY / PROFILE


def write_profile(profile: Profile, path: Path) -> None:
    """Write a profile, readable by all. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": SCHEMA, **asdict(profile)}, indent=1)
    write_atomic(os.fspath(path), f"{text}\n".encode(), 0o644)


def profile_of(
    server: str,
    costs: Mapping[str, Cost],
    kinds: Mapping[str, KindCost],
    rejection: float | None,
    levels: tuple[LevelCost, ...],
    saturation: Saturation | None,
    cpus: float,
) -> Profile:
    """Return a profile of costs in seconds, made here and now, of a server that may use ``cpus``."""
    return Profile(
        server,
        {name: {f"{key}_ms": _ms(getattr(cost, key)) for key in _COEFFICIENTS} for name, cost in costs.items()},
        {name: {"request_ms": _ms(kind.request), "kilobyte_ms": _ms(kind.kilobyte)} for name, kind in kinds.items()},
        None if rejection is None else _ms(rejection),
        levels,
        saturation,
        cpus,
        machine_id(),
        f"adaptc {VERSION}",
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


_COEFFICIENTS = ("view", "request", "kilobyte")


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 7)


def read_profile(path: Path) -> Profile:
    """Read a profile. Raises ``FileNotFoundError``, and ``UsageError`` when it cannot be understood."""
    try:
        values = json.loads(path.read_bytes())
        if values["schema"] != SCHEMA:
            raise ValueError(f"it has schema {values['schema']}, not {SCHEMA}")
        return _profile(values)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path} is not a profile of this version of adaptc ({problem}): calibrate again") from None


def _profile(values: Mapping[str, Any]) -> Profile:
    fields = {name: value for name, value in values.items() if name != "schema"}
    levels = tuple(LevelCost(**row) for row in values["levels"])
    saturation = Saturation(**values["saturation"]) if values["saturation"] else None
    profile = Profile(**{**fields, "levels": levels, "saturation": saturation})
    datetime.fromisoformat(profile.made)
    rejections = [] if profile.rejection_ms is None else [profile.rejection_ms]
    amounts = [amount for costs in profile.costs.values() for amount in costs.values()] + rejections
    for protocol in profile.costs:
        profile.cost(protocol)
    is_finite = all(math.isfinite(amount) and amount >= 0 for amount in amounts)
    if not (is_finite and profile.costs and profile.cpus > 0):
        raise ValueError("a figure is missing, negative or no number")
    return profile


def named_profile(path: Path) -> Profile:
    """Return the profile that the user named. Raises ``UsageError`` when there is none, or it cannot be read."""
    try:
        return read_profile(path)
    except FileNotFoundError:
        raise UsageError(f"there is no profile {path}: run adaptc calibrate") from None


def stale_diagnostics(
    profile: Profile, path: Path, now: datetime, server: str | None = None, serve: ServeConfig | None = None
) -> Iterator[Diagnostic]:
    """Yield why a profile may not be right here and now.

    ``server`` is name and version of that in use, and ``serve`` the table by which its configuration is made, if known.
    """
    age, used = profile.age(now), settings_of(serve) if serve is not None else profile.settings
    place = Location(str(path))
    if profile.machine != machine_id():
        yield diagnose("profile-machine", place, days=age)
    if profile.tool != f"adaptc {VERSION}":
        yield diagnose("profile-version", place, days=age, made=profile.tool, used=f"adaptc {VERSION}")
    if server is not None and profile.server != server:
        yield diagnose("profile-version", place, days=age, made=profile.server, used=server)
    changed = sorted(name for name, value in profile.settings.items() if used.get(name) != value)
    if changed:
        yield diagnose("profile-settings", place, days=age, names=", ".join(f"serve.{name}" for name in changed))
    if age > OLD:
        yield diagnose("profile-old", place, days=age)


# ---- the costs that follow from measured views: of a connection, a request and a kilobyte
#
# A view of k files of a size costs p + k(a + b size); p is for the connection. Views of several lengths give p, two
# sizes give a and b.


@dataclass(frozen=True, slots=True)
class KindCost:
    """CPU seconds of a request and of a kilobyte, of files of a kind."""

    request: float
    kilobyte: float


def fit_line(views: Mapping[int, float]) -> tuple[float, float]:
    """Return p and the cost of a request, by least squares of relative errors; ``views`` are costs by length.

    Neither is negative.
    """
    weights = {length: 1 / cost**2 for length, cost in views.items()}
    total = sum(weights.values())
    mean_length = sum(weights[length] * length for length in views) / total
    mean_cost = sum(weights[length] * cost for length, cost in views.items()) / total
    spread = sum(weights[length] * (length - mean_length) ** 2 for length in views)
    joint = sum(weights[length] * (length - mean_length) * (cost - mean_cost) for length, cost in views.items())
    slope = min(max(0.0, joint / spread), mean_cost / mean_length)
    return mean_cost - slope * mean_length, slope


def kind_cost(small: float, large: float, sizes: tuple[float, float]) -> KindCost:
    """Return the cost of a kind from those of requests of two ``sizes`` in kB."""
    kilobyte = max(0.0, (large - small) / (sizes[1] - sizes[0]))
    return KindCost(max(0.0, small - kilobyte * sizes[0]), kilobyte)


def site_cost(
    connection: float, page: KindCost, kinds: Mapping[str, KindCost], embedded: Sequence[str], page_kind: str
) -> Cost:
    """Return p, a and b of a site whose pages embed files of these kinds, over the protocol of ``page``.

    ``kinds`` are costs over plain HTTP: only the difference between a kind and that of pages is taken from them. The
    first request of a view is that of the page: what it costs more or less than others is in p. a is the mean over
    embedded files; without any it is that of pages.
    """
    extra = [kinds.get(kind, kinds[page_kind]).request - kinds[page_kind].request for kind in embedded]
    request = max(0.0, page.request + (sum(extra) / len(extra) if extra else 0.0))
    return Cost(request, page.kilobyte, view=max(0.0, connection + page.request - request))


# The versions of servers, as their programs print them.


UNKNOWN = "unknown"
_VERSION = re.compile(r"(?i)\b(apache|nginx)/([\w.]+)")


def named_version(text: str) -> str | None:
    """Return the server and version that a text names, such as ``nginx/1.22.1``; None where it names none."""
    match = _VERSION.search(text)
    return f"{match[1].lower()}/{match[2]}" if match else None


def installed_version(server: Server) -> str:
    """Return name and version of the program of a server. Raises ``UsageError`` when it is not installed."""
    answer = run_quietly([program_of(server), "-v"])
    return named_version(answer.stdout + answer.stderr) or server.name


def process_version(process: int) -> str:
    """Return name and version of the server that a process runs, as its program prints them; else ``UNKNOWN``."""
    try:
        program = os.readlink(f"/proc/{process}/exe")
    except OSError:
        return UNKNOWN
    if not any(os.path.basename(program) in server.programs for server in examinable()):
        return UNKNOWN
    answer = run_quietly([program, "-v"])
    return named_version(answer.stdout + answer.stderr) or UNKNOWN


def version_in_use(name: str) -> str | None:
    """Return name and version of the installed program of that name; None where there is none."""
    for server in examinable():
        if server.name == name.partition("/")[0]:
            try:
                return installed_version(server)
            except UsageError:
                return None
    return None
