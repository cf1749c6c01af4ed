"""The costs that a command computes with: those that ``adaptc calibrate`` measured, else those of the configuration."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.cli.command import Invocation
from adaptc.cli.render import print_diagnostics

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.serve.calibrate.profile import Profile
    from adaptc.serve.capacity.utilization import Cost


def config_cost(config: Config) -> Cost:
    """Return the costs of ``[cost]``. A rejection takes a request and its connection: nobody has measured it."""
    from adaptc.serve.capacity.utilization import Cost

    request, kilobyte, view = (
        ms / 1000 for ms in (config.cost.request_ms, config.cost.kilobyte_ms, config.cost.view_ms)
    )
    return Cost(request, kilobyte, request + view, view, is_rejection_measured=False)


def found_profile(
    config: Config, invocation: Invocation, file: Path | None = None, *, is_needed: bool = False
) -> Profile | None:
    """Return the profile ``file``, or that of the output; None without one, unless it is needed.

    A profile of another machine, version or ``[serve]`` is reported on standard error. Raises ``UsageError`` for one
    that cannot be read, and when there is none that was named or is needed.
    """
    from adaptc.serve.calibrate.profile import named_profile, profile_path, stale_diagnostics, version_in_use

    path = file or profile_path(config.output)
    if file is None and not is_needed and not path.exists():
        return None
    profile = named_profile(path)
    now, server = datetime.now(UTC), version_in_use(profile.server)
    stale = list(stale_diagnostics(profile, path, now, server, config.serve))
    if stale:
        print_diagnostics(stale, invocation)
    return profile
