"""The costs that a command computes with: those that ``adaptc calibrate`` measured, else those of the configuration."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.cli.command import Invocation
from adaptc.cli.render import print_diagnostics

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.serve.capacity.utilization import Cost


def config_cost(config: Config) -> Cost:
    """Return the costs of ``[cost]``."""
    from adaptc.serve.capacity.utilization import Cost

    cost = config.cost
    return Cost(cost.request_ms / 1000, cost.kilobyte_ms / 1000, view=cost.view_ms / 1000)


def measured_cost(
    config: Config, invocation: Invocation, file: Path | None = None, protocol: str | None = None
) -> Cost | None:
    """Return the costs of the profile ``file``, or of that of the output, over a protocol; None without a profile.

    A profile of another machine or version is reported on standard error. Raises ``UsageError`` for one that cannot be
    read, and when a file or protocol is named that there is not.
    """
    from adaptc.serve.calibrate.profile import named_profile, profile_path, stale_diagnostics
    from adaptc.serve.calibrate.versions import version_in_use

    path = file or profile_path(config.output)
    if file is None and protocol is None and not path.exists():
        return None
    profile = named_profile(path)
    stale = list(stale_diagnostics(profile, path, datetime.now(UTC), version_in_use(profile.server)))
    if stale:
        print_diagnostics(stale, invocation)
    return profile.machine_cost(protocol)
