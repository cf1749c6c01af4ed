"""Visitors on emulated lines: a link in the visitor with a rate, a round-trip time and TCP's slow start.

A request leaves half a round trip later; an answer arrives in flights that double (RFC 2581, section 3.1), when the
line, which all connections share, has carried them. The server sees requests when it would see them. Containers have no
kernel emulation of networks (netem), and this needs none. Time is that of the event loop: the wall's with a real
server, and in a ``VirtualTimeLoop`` time that passes only while everybody waits, so that hours of page loads take a
moment and give the same result anywhere.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

SEGMENT = 1460  # bytes
FIRST_WINDOW = 2  # segments (RFC 2581)
HEAD = 250  # bytes of the fields of an answer
PARALLEL = 4  # connections of "para-1.0" (section 4.3)

Result = TypeVar("Result")
Origin = Callable[[str], Awaitable[int]]  # requests a path from the server and returns the bytes of its body


class _NoWaiting(selectors.SelectSelector):
    """Tells its loop to go on at once, and how long it would have waited."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.skipped += timeout or 0.0
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer whenever nothing else is to be done."""

    def __init__(self) -> None:
        self._clock = _NoWaiting()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the seconds that would have passed."""
        return self._clock.skipped


def run_virtual(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)


@dataclass
class Line:
    """A visitor's line: bit/s, round trip in seconds, and the time at which it is free."""

    rate: float
    rtt: float
    free: float = 0.0

    def carry(self, octets: int) -> float:
        """Put bytes onto the line now; return the time at which the last one has left it."""
        self.free = max(self.free, _now()) + octets * 8 / self.rate
        return self.free


@dataclass
class Connection:
    """A TCP connection over a line: the segments that may be sent before the first is acknowledged."""

    line: Line
    origin: Origin
    window: int = FIRST_WINDOW

    async def open(self) -> None:
        """Shake hands."""
        await asyncio.sleep(self.line.rtt)

    async def ask(self, path: str) -> None:
        """Request a file, and wait until all of it has arrived."""
        await asyncio.sleep(self.line.rtt / 2)
        await self.receive(await self.origin(path))

    async def pipeline(self, paths: Sequence[str]) -> None:
        """Request files without waiting between them; the answers come one after the other."""
        await asyncio.sleep(self.line.rtt / 2)
        for path in paths:
            await self.receive(await self.origin(path), wait=path == paths[-1])

    async def receive(self, octets: int, wait: bool = True) -> None:
        """Let an answer through, flight by flight; the window counts from one answer to the next."""
        left = octets + HEAD
        while left > 0:
            sent, flight = _now(), min(left, self.window * SEGMENT)
            arrived = self.line.carry(flight)
            left -= flight
            if flight == self.window * SEGMENT:
                self.window *= 2
            if left > 0:
                await _until(sent + self.line.rtt)
        if wait:
            await _until(arrived + self.line.rtt / 2)


async def parallel(line: Line, origin: Origin, page: str, objects: Sequence[str]) -> None:
    """Load a page and its objects as "para-1.0": each over a connection of its own, four at once."""
    left = list(reversed(objects))

    async def take() -> None:
        while left:
            await _once(line, origin, left.pop())

    await _once(line, origin, page)
    await asyncio.gather(*(take() for _ in range(PARALLEL)))


async def serial(line: Line, origin: Origin, page: str, objects: Sequence[str]) -> None:
    """Load a page and its objects as "serial-1.1": over two connections that stay open."""
    left = list(reversed(objects))

    async def take(connection: Connection) -> None:
        while left:
            await connection.ask(left.pop())

    async def second() -> None:
        if left:
            await take(await _opened(line, origin))

    first = await _opened(line, origin)
    await first.ask(page)
    await asyncio.gather(take(first), second())


async def pipelined(line: Line, origin: Origin, page: str, objects: Sequence[str]) -> None:
    """Load a page and its objects as "pipe-1.1": over one connection, all objects asked for at once."""
    connection = await _opened(line, origin)
    await connection.ask(page)
    if objects:
        await connection.pipeline(objects)


async def _once(line: Line, origin: Origin, path: str) -> None:
    await (await _opened(line, origin)).ask(path)


async def _opened(line: Line, origin: Origin) -> Connection:
    connection = Connection(line, origin)
    await connection.open()
    return connection


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _until(time: float) -> None:
    await asyncio.sleep(time - _now())
