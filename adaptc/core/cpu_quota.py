"""How many CPUs a control group may use (Linux, cgroups(7)): cpu.max of version 2, cpu.cfs_quota_us of version 1."""

from __future__ import annotations

from pathlib import Path


def cpu_quota(folder: Path) -> float | None:
    """Return the CPUs that the quota of the control group in ``folder`` allows, ``None`` without a quota.

    Raises ``OSError``, and ``ValueError`` for files that cannot be understood.
    """
    if (folder / "cpu.max").exists():  # the root group has none
        quota, period = (folder / "cpu.max").read_text("ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    if not (folder / "cpu.cfs_quota_us").exists():
        return None
    microseconds = int((folder / "cpu.cfs_quota_us").read_text("ascii"))  # -1: no quota
    return microseconds / int((folder / "cpu.cfs_period_us").read_text("ascii")) if microseconds >= 0 else None
