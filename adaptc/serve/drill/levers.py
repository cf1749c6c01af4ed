"""The levers of a policy: all that flag, buckets, classes and rejection can do to a visitor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from adaptc.serve import state_directory
from adaptc.serve.policy import Policy
from adaptc.serve.verify.modes import SWITCHING, Mode, adapting_mode, modes_of, switch

ACTIONS = "X-Server-Actions"


@dataclass(frozen=True, slots=True)
class Lever:
    """A state of the knobs: the modes that clients may get, one or two of neighbouring levels, and their class.

    With ``is_switching`` another process goes through all modes while views are made.
    """

    name: str
    modes: tuple[Mode, ...]
    requested: str = "normal"
    is_switching: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The header fields by which a client asks for its class."""
        return () if self.requested == "normal" else (f"{ACTIONS}: .{self.requested}",)

    @property
    def rejects(self) -> bool:
        """Whether every client is rejected."""
        return all(mode.rejects for mode in self.modes)

    def pull(self, policy: Policy) -> None:
        """Put a server that reads ``policy.state`` into this state."""
        switch(policy, self.modes[0])
        if len(self.modes) > 1:
            levels = [str(mode.level) for mode in self.modes]
            half = {bucket: levels[number % 2] for number, bucket in enumerate(state_directory.BUCKETS)}
            state_directory.write_buckets(Path(policy.state), half, policy.start)


def levers_of(policy: Policy) -> Iterator[Lever]:
    """Yield the levers of a policy: every mode, halves of neighbours, the classes, and switching while people read."""
    modes = list(modes_of(policy))
    yield from (Lever(mode.name if mode.is_on else "flag off", (mode,)) for mode in modes)
    if policy.serve.buckets:
        levels = [mode for mode in modes if mode.is_on]
        for upper, lower in pairwise(levels):
            yield Lever(f"half {upper.name}, half {lower.name}", (upper, lower))
    if policy.serve.classes:
        yield from (Lever(f"class {name}", (adapting_mode(policy),), name) for name in ("poor", "rich"))
    if len(modes) > 1:
        yield Lever("switching", (SWITCHING,), is_switching=True)
