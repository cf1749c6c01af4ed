"""What a build reports: its progress while it runs, and a report of what it did, or would do."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from adaptc.compile.analyse.popularity import UNRESTRICTED, Restriction
from adaptc.compile.engine.outdated import Reason
from adaptc.compile.engine.state.results import unpack_diagnostics
from adaptc.compile.engine.state.state import State, Unit
from adaptc.core.diagnostics import Diagnostic
from adaptc.core.model import Resource
from adaptc.core.values import dataclass, field
from adaptc.site.header_rules import HostRules

if TYPE_CHECKING:
    from adaptc.compile.analyse.popularity import Traffic


class Progress(Protocol):
    """Receives the progress of a build; called from one thread."""

    def begin(self, phase: str, units: int, size: int) -> None:
        """A phase ("reading", "building") starts, with so many units and bytes of originals to go."""

    def advance(self, units: int, size: int, saved: int) -> None:
        """Units are done: their bytes of originals, and the bytes that they save."""

    def end(self) -> None:
        """The phase is over."""


class Silent:
    """Ignores progress."""

    def begin(self, phase: str, units: int, size: int) -> None: ...

    def advance(self, units: int, size: int, saved: int) -> None: ...

    def end(self) -> None: ...


@dataclass
class BuildReport:
    """What a build did. ``reasons`` tells why each unit was built, in the order of paths.

    ``load_resources`` returns the files of the docroot, ``count`` is their number. ``load_diagnostics`` are those of
    the docroot, the rules and the logs, ``failures`` those of files that could not be read or published. ``traffic`` is
    ``None`` without access logs; ``restriction`` is what it leaves out. ``unbuilt`` are files and directories that
    rules of the server apply to, ``withheld`` those and all others that exist and are not built. ``refusal`` says why
    there is no page, where the pages there were may be built no longer. ``is_blind`` says that a browser was wanted and
    could not look at pages, ``remote_cache`` what was wrong with that. ``hosts`` are the rules of the site's hosts,
    ``None`` where nothing that they depend on changed.
    """

    load_resources: Callable[[], MutableMapping[str, Resource]]
    count: int
    reasons: dict[Unit, Reason] = field(default_factory=dict)
    removed: int = 0
    load_diagnostics: list[Diagnostic] = field(default_factory=list)
    failures: list[Diagnostic] = field(default_factory=list)
    traffic: Traffic | None = None
    restriction: Restriction = UNRESTRICTED
    unbuilt: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    refusal: str | None = None
    is_blind: bool = False
    remote_cache: Diagnostic | None = None
    hosts: HostRules | None = None

    @cached_property
    def resources(self) -> MutableMapping[str, Resource]:
        """The files of the docroot by path."""
        return self.load_resources()

    @property
    def has_work(self) -> bool:
        """Whether anything was built or removed."""
        return bool(self.reasons or self.removed)

    def wants(self, unit: Unit) -> bool:
        """Whether a unit of a built level is wanted: its source exists, and its page is not left out."""
        return unit[1] in self.resources and not self.restriction.excludes(unit)


LOOKING = "looking"
"""The key of the state under which the diagnostics of the browser that looked at pages are."""


def looking_diagnostics(state: State) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of the browser that looked at the pages for the last build."""
    return unpack_diagnostics(state.meta(LOOKING) or [])
