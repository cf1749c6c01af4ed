"""Where a server saturates: what was seen under more browsers than it can serve, and what limits it first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adaptc.core.diagnostics import Diagnostic, diagnose
from adaptc.serve.calibrate.cpu_time import Reading
from adaptc.serve.calibrate.experiments import Experiment, run
from adaptc.serve.calibrate.load_client import LoadClient, Outcome
from adaptc.serve.calibrate.profile import LevelCost, Profile, Saturation

CROWD = 32  # browsers
SHARE = 0.1  # of the time of a calibration
FULL = 0.9  # of a CPU or a line
MOST_THROTTLED = 0.02  # of the time
MOST_STOLEN = 0.05


def observed_saturation(
    level: Experiment, client: LoadClient, seconds: float, line: float | None
) -> tuple[Saturation, Reading]:
    """Return what a crowd of browsers gets of a level, and the reading; ``line`` is in Mbit/s.

    Raises ``UsageError`` for answers other than expected.
    """
    job = replace(level.job, browsers=CROWD, seconds=max(0.2, SHARE * seconds))
    reading, outcome = run(replace(level, job=job), client)
    rate = len(outcome.times) / outcome.clock
    busy = round(reading.cpu / reading.clock, 3)
    return Saturation(level.name, round(rate, 1), busy, _limit(reading, outcome, line)), reading


def _limit(reading: Reading, outcome: Outcome, line: float | None) -> str:
    """Return what was full: a quota, the line, the client's one CPU, or a CPU of the server."""
    if (reading.throttled or 0.0) > MOST_THROTTLED * reading.clock:
        return "quota"
    if line is not None and outcome.octets * 8 / outcome.clock > FULL * line * 1e6:
        return "network"
    if reading.cpu > FULL * reading.clock:
        return "server"
    # Python's lock: the client cannot use much more than one CPU
    return "client" if outcome.cpu > 0.5 * outcome.clock else "unknown"


def load_diagnostics(total: Reading, throttled: str = "calibration-throttled") -> Iterator[Diagnostic]:
    """Yield what kept the server from its CPUs while it was measured; ``throttled`` is the id for quotas."""
    if (total.throttled or 0.0) > MOST_THROTTLED * total.clock:
        yield diagnose(throttled, throttled=f"{total.throttled:.1f}", clock=f"{total.clock:.1f}")
    if total.stolen > MOST_STOLEN * total.clock:
        yield diagnose("calibration-stolen", stolen=f"{total.stolen:.1f}", clock=f"{total.clock:.1f}")


def line_rate(level: LevelCost, line: float) -> float:
    """Return the page views a second that fill a line of ``line`` Mbit/s."""
    return line * 1e6 / 8000 / level.kilobytes if level.kilobytes else float("inf")


def quota_diagnostics(profile: Profile, cpus: int) -> Iterator[Diagnostic]:
    """Yield that a server may use fewer CPUs than the ``cpus`` of the machine."""
    if profile.cpus < cpus:
        yield diagnose("calibration-quota", allowed=f"{profile.cpus:g}", cpus=cpus)


def network_diagnostics(profile: Profile) -> Iterator[Diagnostic]:
    """Yield the levels at which the access line is full before the CPUs are."""
    line = profile.line
    for level in profile.levels if line is not None else ():
        at_line, at_cpus = line_rate(level, line or 0.0), profile.cpus * 1000 / level.measured_ms
        if at_line < at_cpus:
            fields = {"level": level.level, "rate": f"{at_line:,.0f}", "cpus": f"{at_cpus:,.0f}"}
            yield diagnose("calibration-network", line=f"{line:g}", **fields)
