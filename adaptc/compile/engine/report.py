"""What a build did, or would do, as it is found out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adaptc.compile.engine.reasons import Reason
from adaptc.compile.engine.state import State, Unit
from adaptc.compile.engine.traffic import UNRESTRICTED, Restriction, measure_traffic, restriction
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.model import Resource

if TYPE_CHECKING:
    from adaptc.compile.analyse.popularity import Traffic
    from adaptc.compile.engine.blueprint import Blueprint
    from adaptc.compile.engine.progress import Progress


@dataclass(slots=True)
class Report:
    """What a build did. ``reasons`` tells why each unit was built, in the order of paths.

    ``traffic`` is None without access logs; ``restriction`` is what it leaves out.
    """

    resources: dict[str, Resource]
    reasons: dict[Unit, Reason] = field(default_factory=dict)
    removed: int = 0
    loading: list[Diagnostic] = field(default_factory=list)
    unread: list[Diagnostic] = field(default_factory=list)
    traffic: Traffic | None = None
    restriction: Restriction = UNRESTRICTED

    @property
    def worked(self) -> bool:
        """Whether anything was built or removed."""
        return bool(self.reasons or self.removed)

    def wants(self, unit: Unit) -> bool:
        """Whether a unit of a level that is built should be there: its source is, and its page is not left out."""
        return unit[1] in self.resources and not self.restriction.forbids(unit)


def begun(blueprint: Blueprint, state: State, progress: Progress, *, remember: bool) -> Report:
    """Return the report of a build that begins: what there is, and what traffic leaves out.

    With ``remember`` the state keeps what was counted in the logs. Raises ``UsageError`` for logs that are not there.
    """
    loaded = blueprint.load()
    traffic, said = measure_traffic(blueprint.config, state, loaded.resources, progress, remember=remember)
    left_out = restriction(traffic, loaded.resources, blueprint.levels)
    rules = blueprint.decorations.diagnostics if blueprint.decorations else ()
    found = [*loaded.diagnostics, *rules, *said]
    return Report(loaded.resources, loading=found, traffic=traffic, restriction=left_out)
