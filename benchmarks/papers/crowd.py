"""Visitors of several sites, each with an address of its own, who send requests at given rates."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

VISITORS = 250  # of each site


@dataclass
class Visitor:
    """An address with a connection that stays open; requests of one visitor wait for each other."""

    port: int
    site: str
    address: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    channel: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, count: Callable[[str, int], None]) -> None:
        """Request a file; ``count`` gets the status, or "failed", and the octets of the body."""
        try:
            async with asyncio.timeout(8), self.lock:
                if self.channel is None:
                    self.channel = await asyncio.open_connection(
                        "127.0.0.1", self.port, local_addr=(self.address, 0), limit=1 << 20
                    )
                count(*await self._answer(path))
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self.channel = None
            count("failed", 0)

    async def _answer(self, path: str) -> tuple[str, int]:
        assert self.channel is not None
        reader, writer = self.channel
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.site}\r\nAccept-Encoding: gzip\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        octets = 0
        if "content-length:" in head:
            octets = int(head.partition("content-length:")[2].split("\r", 1)[0])
            await reader.readexactly(octets)
        else:
            while size := int(await reader.readuntil(b"\r\n"), 16):  # chunks (RFC 9112, section 7.1)
                await reader.readexactly(size + 2)
                octets += size
            await reader.readexactly(2)
        if "connection: close" in head:
            writer.close()
            self.channel = None
        return head.split(" ", 2)[1], octets


class Crowd:
    """The visitors of all sites."""

    def __init__(self, port: int, sites: list[str]) -> None:
        self._visitors = {
            site: [Visitor(port, site, f"127.{20 + place}.1.{number + 1}") for number in range(VISITORS)]
            for place, site in enumerate(sites)
        }
        self._next: Counter[str] = Counter()
        self._pending: set[asyncio.Task[None]] = set()
        self.seconds: list[dict[str, Counter[str]]] = []

    def count(self, site: str, status: str, octets: int) -> None:
        """Count an answer in the second that it came in; octets are those of pages, not of rejections."""
        seen = self.seconds[-1][site]
        seen[status] += 1
        seen["octets"] += octets if status == "200" else 0

    async def second(self, rates: Mapping[str, float], path: str = "/a.bin") -> None:
        """Send the requests of a second, those of all sites evenly over it."""
        start = time.monotonic()
        self.seconds.append({name: Counter() for name in self._visitors})
        moments = sorted(((number + 0.5) / rate, site) for site, rate in rates.items() for number in range(int(rate)))
        for moment, site in moments:
            await asyncio.sleep(max(0.0, start + moment - time.monotonic()))
            visitor = self._visitors[site][self._next[site] % VISITORS]
            self._next[site] += 1
            task = asyncio.create_task(visitor.ask(path, partial(self.count, site)))
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)
        await asyncio.sleep(max(0.0, start + 1 - time.monotonic()))

    async def finish(self) -> None:
        """Wait for the answers that are still to come."""
        await asyncio.gather(*self._pending)
