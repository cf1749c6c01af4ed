"""Races: the flag and the levels change while requests are under way. No answer may be anything but a whole version."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from adaptc.core.safepath import hide_working_directory
from adaptc.serve.policy import REJECT, Policy
from adaptc.serve.verify.judge import Case
from adaptc.serve.verify.matrix import BEST, Scene, headers_of
from adaptc.serve.verify.modes import Mode, modes_of, switch
from adaptc.serve.verify.targets import Target
from adaptc.serve.verify.wire import Request

ACCEPTED = (None, BEST, "gzip", "br;q=0, zstd")
MODE = Mode("switching", is_on=True, is_known=False)


@dataclass(frozen=True, slots=True)
class Race:
    """How long and how hard: requests in all, and switches a second."""

    requests: int = 4_000
    switches: float = 100.0


def race_cases(scene: Scene, targets: Sequence[Target], count: int) -> Iterator[Case]:
    """Yield ``count`` requests for targets that the server sends, in turns."""
    scene = replace(scene, mode=MODE)
    sent = [target for target in targets if not scene.is_refused(target)]
    mix = itertools.cycle(itertools.product(sent, ACCEPTED)) if sent else ()
    for target, accept in itertools.islice(mix, count):
        request, here = Request(target.url, headers_of(accept)), scene.around(target)
        yield Case("race", "full", target.resource.path, request, here.wanted(target, accept))


@contextmanager
def switching(policy: Policy, rate: float) -> Iterator[Callable[[], int]]:
    """Switch through the modes ``rate`` times a second, in a process of its own; give a count of switches."""
    context = multiprocessing.get_context("spawn")
    with hide_working_directory():
        stop, count = context.Event(), context.Value("q", 0)
        process = context.Process(target=_switch, args=(policy, rate, stop, count), daemon=True)
        process.start()
    try:
        while count.value == 0 and process.is_alive():
            time.sleep(0.01)
        yield lambda: int(count.value)
    finally:
        stop.set()
        process.join()


def _switch(policy: Policy, rate: float, stop: object, count: object) -> None:
    modes = [mode for mode in modes_of(policy) if mode.level != REJECT]
    due = time.monotonic()
    for mode in itertools.cycle(modes):
        if stop.is_set():  # type: ignore[attr-defined]
            return
        switch(policy, mode)
        count.value += 1  # type: ignore[attr-defined]
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
