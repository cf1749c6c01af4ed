"""The modes that a server can be in, and how it gets into them: by the files of the state directory alone."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from adaptc.core.fs import remove
from adaptc.core.interpreter import hide_working_directory
from adaptc.core.values import dataclass
from adaptc.serve import state_directory
from adaptc.serve.policy import IDLE, OFF, REJECT, Policy


@dataclass(frozen=True, slots=True)
class Mode:
    """The flag, and the level of every bucket; the level is None where the policy has no buckets.

    Without the flag, level ``OFF`` means that nobody gets anything but originals, whatever the class.

    ``is_known`` is false while another process switches: then any level may answer, and none.
    """

    name: str
    is_on: bool
    level: str | None = None
    is_known: bool = True

    @property
    def rejects(self) -> bool:
        """Whether every request for a page is rejected."""
        return self.is_on and self.level == REJECT

    def counts_classes(self, policy: Policy) -> bool:
        """Whether clients get what their classes say."""
        without_flag = policy.acts_without_flag and self.level != OFF
        return policy.serve.classes and (self.is_on or without_flag)

    def trees(self, policy: Policy, requested: str) -> tuple[str, ...]:
        """Return the trees that a client of class ``requested`` may get."""
        if not self.is_known:
            return (OFF, *policy.levels)
        if not self.is_on:
            return (policy.tree(IDLE, requested) if self.counts_classes(policy) else OFF,)
        level = self.level or policy.start
        return (policy.tree(level, requested) if policy.serve.classes else level,)


SWITCHING = Mode("switching", is_on=True, is_known=False)


def modes_of(policy: Policy) -> Iterator[Mode]:
    """Yield every mode of a policy."""
    if policy.serve.flag:
        yield Mode("off", False)
    if policy.serve.buckets:
        for level in policy.outcomes:
            yield Mode(level if level != REJECT else "reject", True, level)
    else:
        yield Mode(policy.start, True)


def adapting_mode(policy: Policy) -> Mode:
    """Return the first mode in which levels are served."""
    return next(mode for mode in modes_of(policy) if mode.is_on and not mode.rejects)


def current_mode(policy: Policy) -> Mode:
    """Return the mode of a running server by its state directory; with buckets, any level may be the client's."""
    is_on = not policy.serve.flag or Path(policy.flag).exists()
    if is_on and policy.serve.buckets:
        return Mode("as it is", is_on=True, is_known=False)
    return Mode("as it is", is_on)


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


@contextmanager
def switching(policy: Policy, rate: float) -> Iterator[Callable[[], int]]:
    """Switch through the modes ``rate`` times per second in a separate process; yield a counter of switches."""
    context = multiprocessing.get_context("spawn")
    with hide_working_directory():
        stop, count = context.Event(), context.Value("q", 0)
        process = context.Process(target=_switch_until, args=(policy, rate, stop, count), daemon=True)
        process.start()
    try:
        while count.value == 0 and process.is_alive():
            time.sleep(0.01)
        yield lambda: int(count.value)
    finally:
        stop.set()
        process.join()


def _switch_until(policy: Policy, rate: float, stop: object, count: object) -> None:
    modes = [mode for mode in modes_of(policy) if mode.level != REJECT]
    due = time.monotonic()
    for mode in itertools.cycle(modes):
        if stop.is_set():  # type: ignore[attr-defined]
            return
        switch(policy, mode)
        count.value += 1  # type: ignore[attr-defined]
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
