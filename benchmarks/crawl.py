"""Speed of a crawl beside wget and wget2: 4,000 small files on loopback, without latency and with 20 ms.

Each run is a whole process as a user starts it, into memory (/dev/shm); runs alternate, and the best of each counts,
since what disturbs a run only ever makes it slower. The server has a process of its own, answers from memory, keeps
connections alive and sends every answer after the latency. Bytecode is written by the first run and used by the
others, as an installation has it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

FILES, SECTION = 4000, 40


def answers(files: int) -> dict[bytes, bytes]:
    """Return the whole response of each path: a start page, sections, and in each its pages of about 1 kB."""
    sections = files // SECTION
    links = "".join(f'<p><a href="/s{n}/">section {n}</a></p>' for n in range(sections))
    pages = {"/": f"<!doctype html><title>t</title><h1>Site</h1>{links}"}
    for section in range(sections):
        listed = "".join(f'<li><a href="p{n}.html">page {n}</a> and some words' for n in range(SECTION - 1))
        pages[f"/s{section}/"] = f"<!doctype html><title>s</title><ul>{listed}</ul>"
        for n in range(SECTION - 1):
            beside = f'<a href="/">home</a> <a href="./">up</a> <a href="p{(n + 1) % (SECTION - 1)}.html">next</a>'
            pages[f"/s{section}/p{n}.html"] = f"<!doctype html><title>p</title>{beside}" + "<p>Text of the page. " * 40
    return {path.encode(): response(200, page.encode()) for path, page in pages.items()}


def response(status: int, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection(asyncio.Protocol):
    """Answers the requests of one connection, each after the latency."""

    def __init__(self, known: dict[bytes, bytes], latency: float) -> None:
        self.known, self.latency, self.received = known, latency, b""
        self.none = response(404, b"no")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, self.received = self.received.partition(b"\r\n\r\n")
            answer = self.known.get(head.split(b" ", 2)[1], self.none)
            if self.latency:
                asyncio.get_running_loop().call_later(self.latency, self.transport.write, answer)  # type: ignore[attr-defined]
            else:
                self.transport.write(answer)  # type: ignore[attr-defined]


def serve(latency: float, ready: multiprocessing.Queue[int]) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(partial(Connection, answers(FILES), latency), "127.0.0.1", 0, backlog=256)
        ready.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextlib.contextmanager
def served(latency: float) -> Iterator[str]:
    ready: multiprocessing.Queue[int] = multiprocessing.Queue()
    process = multiprocessing.Process(target=serve, args=(latency, ready), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ready.get()}/"
    finally:
        process.terminate()
        process.join()


def commands(latency: float) -> dict[str, list[str]]:
    """Return the commands to compare, by name; those of programs that are not installed are left out."""
    ours = [sys.executable, "-m", "adaptc.cli", "crawl", "-q", "-o"]
    found = {"wget": ["wget", "-q", "-r", "-l", "inf", "-P"]}
    for threads in (8, 16):
        found[f"wget2, {threads} threads"] = ["wget2", "-q", "-r", "-l", "inf", "--max-threads", str(threads), "-P"]
    found["adaptc, 8 connections"] = ours
    if latency:
        found["adaptc, 16 connections"] = [*ours[:-1], "--connections", "16", "-o"]
    return {name: command for name, command in found.items() if shutil.which(command[0])}


def measured(command: list[str], url: str, space: Path) -> tuple[float, float]:
    """Return the wall seconds and the CPU seconds of one run, which must have fetched everything."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(dir=space) as folder:
        before, start = os.times(), time.perf_counter()
        subprocess.run([*command, f"{folder}/m", url], check=False, capture_output=True, env=environment)
        wall, after = time.perf_counter() - start, os.times()
        fetched = sum(1 for one in Path(folder).rglob("*.html"))
    if fetched < FILES:
        raise SystemExit(f"{command[0]} fetched {fetched} of {FILES} files")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def compare(latency: float, rounds: int, space: Path) -> None:
    best: dict[str, tuple[float, float]] = {}
    with served(latency) as url:
        for _ in range(rounds):
            for name, command in commands(latency).items():
                run = measured(command, url, space)
                best[name] = min(best.get(name, run), run)
    load = os.getloadavg()[0]
    print(f"\n{latency * 1000:.0f} ms latency, {FILES} files, best of {rounds}, load {load:.1f} at the end")
    print(f"{'':24} {'seconds':>8} {'files/s':>8} {'x wget':>7} {'CPU s':>6}")
    for name, (wall, cpu) in best.items():
        times = best["wget"][0] / wall if "wget" in best else float("nan")
        print(f"{name:24} {wall:8.2f} {FILES / wall:8.0f} {times:7.2f} {cpu:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=float, nargs="*", default=[0.0, 20.0], help="milliseconds")
    arguments = parser.parse_args()
    space = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
    for latency in arguments.latency:
        compare(latency / 1000, arguments.rounds, space)


if __name__ == "__main__":
    main()
