"""What the policies of the mode switch share: modes, what a step decides, and how a person overrides it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, Protocol, TypeVar

from adaptc.daemons.sensors.panel import Sample


class Mode(Enum):
    """What the server sends: the site, or its optimized version where there is one."""

    NORMAL = "normal"
    OPTIMIZED = "optimized"


@dataclass(frozen=True, slots=True)
class ModeChange:
    """The server is to send ``mode`` from now on; ``rule`` gives the reason in a few words."""

    mode: Mode
    rule: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Nothing changes, but a person would want to know it."""

    rule: str


Decision = ModeChange | Remark


@dataclass(frozen=True, slots=True)
class Force:
    """A person asks for a mode, or with None leaves it to the policy again."""

    mode: Mode | None


class PolicyState(Protocol):
    """What every policy's state has."""

    @property
    def mode(self) -> Mode:
        """The mode that the policy wants."""


State = TypeVar("State", bound=PolicyState)


class Policy(Protocol[State]):
    """A rule for switching: pure, so that a recorded trace replays to the same decisions."""

    def start(self) -> State:
        """Return the state before the first sample."""

    def step(self, state: State, sample: Sample) -> tuple[State, tuple[Decision, ...]]:
        """Return the state after a sample, and what was decided."""


@dataclass(frozen=True, slots=True)
class OverrideState(Generic[State]):
    """The state of a policy under an override; ``mode`` is what the server sends."""

    own: State
    forced: Mode | None = None

    @property
    def mode(self) -> Mode:
        """The forced mode, else that of the policy."""
        return self.forced or self.own.mode


def step(
    policy: Policy[State], state: OverrideState[State], event: Sample | Force
) -> tuple[OverrideState[State], tuple[Decision, ...]]:
    """Return the state after an event and what was decided. A policy sees no samples while a mode is forced.

    Under a forced mode the load is not the one that its own decision caused, so nothing can be learnt from it.
    """
    if isinstance(event, Force):
        return _force(state, event)
    if state.forced is not None:
        return state, ()
    own, decisions = policy.step(state.own, event)
    return replace(state, own=own), decisions


def _force(state: OverrideState[State], event: Force) -> tuple[OverrideState[State], tuple[Decision, ...]]:
    if event.mode is state.forced:
        return state, ()
    after = replace(state, forced=event.mode)
    return after, (ModeChange(after.mode, "forced" if event.mode else "automatic again"),)
