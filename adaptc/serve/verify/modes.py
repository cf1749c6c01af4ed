"""The modes that a server can be in, and how it is put into them: by the files of the state directory alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.core.fs import remove
from adaptc.serve import state_directory
from adaptc.serve.policy import REJECT, Policy
from adaptc.serve.verify.negotiation import OFF

# nginx remembers for a second which markers it found (open_file_cache_valid)
REMEMBERED = 1.2


@dataclass(frozen=True, slots=True)
class Mode:
    """The flag, and the level of every bucket; the level is None where the policy knows no buckets.

    ``is_known`` is false while somebody else switches: then any level may answer, and none.
    """

    name: str
    is_on: bool
    level: str | None = None
    is_known: bool = True

    @property
    def rejects(self) -> bool:
        """Whether every request for a page is turned away."""
        return self.is_on and self.level == REJECT

    def trees(self, policy: Policy, asked: str) -> tuple[str, ...]:
        """Return the trees that a client of class ``asked`` may get."""
        if not self.is_known:
            return (OFF, *policy.levels)
        if not self.is_on:
            return (OFF,)
        level = self.level or policy.start
        return (policy.tree(level, asked) if policy.serve.classes else level,)


def modes_of(policy: Policy) -> Iterator[Mode]:
    """Yield every mode of a policy."""
    if policy.serve.flag:
        yield Mode("off", False)
    if policy.serve.buckets:
        for level in policy.outcomes:
            yield Mode(level if level != REJECT else "reject", True, level)
    else:
        yield Mode(policy.start, True)


def switch(policy: Policy, mode: Mode) -> None:
    """Put a server that reads ``policy.state`` into a mode."""
    if mode.level is not None:
        buckets = dict.fromkeys(state_directory.BUCKETS, mode.level)
        state_directory.write_buckets(Path(policy.state), buckets, policy.start)
    if not policy.serve.flag:
        return
    if mode.is_on:
        Path(policy.flag).touch(0o644)
    else:
        remove(policy.flag)


def settle(policy: Policy, server: str) -> None:
    """Wait until a server has noticed what was switched: Apache does at once."""
    if server != "apache" and policy.serve.nginx_file_cache and (policy.serve.buckets or policy.serve.classes):
        time.sleep(REMEMBERED)
