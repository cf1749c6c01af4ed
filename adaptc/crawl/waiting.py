"""What waits to be asked for: by origin, in the order of ranks; and what waits to be tried again."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from adaptc.crawl.rows import Row


@dataclass(slots=True)
class Task:
    """A URL to ask for. ``hops`` counts redirects that led to it; ``method`` is GET, or HEAD with ``--spider``."""

    row: Row
    origin: str
    host: str
    method: str = "GET"
    tried: int = 0
    headers: tuple[str, ...] = ()
    conditional: bool = False


@dataclass(slots=True)
class Waiting:
    """Tasks by origin, taken from each in turn, so that one slow host does not stop the others."""

    by_origin: dict[str, deque[Task]] = field(default_factory=dict)
    later: list[tuple[float, int, Task]] = field(default_factory=list)
    _count: int = 0
    _tie: int = 0

    def __len__(self) -> int:
        return self._count + len(self.later)

    def add(self, task: Task) -> None:
        """Put a task at the end of its origin's line."""
        self.by_origin.setdefault(task.origin, deque()).append(task)
        self._count += 1

    def postpone(self, task: Task, until: float) -> None:
        """Keep a task until then, when it goes to the head of its line."""
        self._tie += 1
        heapq.heappush(self.later, (until, self._tie, task))

    def wake(self, now: float) -> None:
        """Bring back the tasks whose time has come."""
        while self.later and self.later[0][0] <= now:
            task = heapq.heappop(self.later)[2]
            self.by_origin.setdefault(task.origin, deque()).appendleft(task)
            self._count += 1

    def next_wake(self) -> float | None:
        """Return when the first postponed task comes back."""
        return self.later[0][0] if self.later else None

    def lines(self) -> Iterator[tuple[str, deque[Task]]]:
        """Yield the origins that have tasks, with their lines."""
        for origin in list(self.by_origin):
            line = self.by_origin[origin]
            if line:
                yield origin, line
            else:
                del self.by_origin[origin]

    def take(self, origin: str) -> Task:
        """Take the first task of an origin."""
        self._count -= 1
        return self.by_origin[origin].popleft()

    def rotate(self) -> None:
        """Let another origin be the first of the next round."""
        if len(self.by_origin) > 1:
            first = next(iter(self.by_origin))
            self.by_origin[first] = self.by_origin.pop(first)
