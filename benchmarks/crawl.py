"""Speed of a crawl next to wget and wget2: 4,000 small files on loopback, without latency and with 20 ms.

Each run is a whole process as a user starts it, into memory (/dev/shm); runs alternate, and the best of each counts,
since what disturbs a run only ever makes it slower. The server has a process of its own, answers from memory, keeps
connections alive and sends every answer after the latency. Bytecode is written by the first run and used by the
others, as an installation has it. With ``--site`` a docroot is crawled in place of the small files; without latency
nginx serves it. "start" is adaptc at a URL that the server does not have.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import mimetypes
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

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers import web

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


def site_answers(docroot: Path) -> dict[bytes, bytes]:
    """Return the whole response of each path of a docroot."""
    found = {}
    for file in (path for path in docroot.rglob("*") if path.is_file()):
        place = f"/{file.relative_to(docroot)}"
        answer = response(200, file.read_bytes(), mimetypes.guess_type(file.name)[0] or "application/octet-stream")
        for path in {place, place.removesuffix("index.html") if file.name == "index.html" else place}:
            found[path.encode()] = answer
    return found


def response(status: int, body: bytes, media_type: str = "text/html") -> bytes:
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
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


def serve(latency: float, docroot: Path | None, ready: multiprocessing.Queue[int]) -> None:
    known = answers(FILES) if docroot is None else site_answers(docroot)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(partial(Connection, known, latency), "127.0.0.1", 0, backlog=256)
        ready.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextlib.contextmanager
def served(latency: float, docroot: Path | None) -> Iterator[str]:
    if docroot is not None and not latency:
        root = Path(tempfile.mkdtemp())
        with web.nginx(root, docroot, "", "index index.html;") as server:
            yield f"http://127.0.0.1:{server.port}/"
        shutil.rmtree(root)
        return
    ready: multiprocessing.Queue[int] = multiprocessing.Queue()
    process = multiprocessing.Process(target=serve, args=(latency, docroot, ready), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ready.get()}/"
    finally:
        process.terminate()
        process.join()


def commands(latency: float) -> dict[str, list[str]]:
    """Return the commands to compare, by name; those of programs that are not installed are left out."""
    ours = [sys.executable, "-m", "adaptc", "crawl", "-q", "-o"]
    found = {"wget": ["wget", "-q", "-r", "-l", "inf", "-P"]}
    for threads in (8, 16):
        found[f"wget2, {threads} threads"] = ["wget2", "-q", "-r", "-l", "inf", "--max-threads", str(threads), "-P"]
    found["adaptc, start"] = found["adaptc, 8 connections"] = ours
    if latency:
        found["adaptc, 16 connections"] = [*ours[:-1], "--connections", "16", "-o"]
    return {name: command for name, command in found.items() if shutil.which(command[0])}


def measured(command: list[str], url: str, space: Path) -> tuple[float, float, int]:
    """Return the wall seconds and the CPU seconds of one run, and how many files it fetched."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(dir=space) as folder:
        before, start = os.times(), time.perf_counter()
        subprocess.run([*command, f"{folder}/m", url], check=False, capture_output=True, env=environment)
        wall, after = time.perf_counter() - start, os.times()
        fetched = sum(1 for one in Path(folder).rglob("*") if one.is_file() and ".adaptc" not in one.parts)
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu, fetched


def compare(latency: float, rounds: int, space: Path, docroot: Path | None) -> None:
    best: dict[str, tuple[float, float, int]] = {}
    with served(latency, docroot) as url:
        for _ in range(rounds):
            for name, command in commands(latency).items():
                asked = f"{url}none" if name == "adaptc, start" else url
                run = measured(command, asked, space)
                if docroot is None and asked == url and run[2] < FILES:
                    raise SystemExit(f"{command[0]} fetched {run[2]} of {FILES} files")
                known = best.get(name, run)
                best[name] = (min(known[0], run[0]), min(known[1], run[1]), run[2])
    load = os.getloadavg()[0]
    print(f"\n{latency * 1000:.0f} ms latency, best of {rounds}, load {load:.1f} at the end")
    print(f"{'':24} {'files':>6} {'seconds':>8} {'files/s':>8} {'x wget':>7} {'CPU s':>6}")
    for name, (wall, cpu, files) in best.items():
        times = best["wget"][0] / wall if "wget" in best else float("nan")
        print(f"{name:24} {files:6} {wall:8.2f} {files / wall:8.0f} {times:7.2f} {cpu:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=float, nargs="*", default=[0.0, 20.0], help="milliseconds")
    parser.add_argument("--site", type=Path, metavar="DOCROOT")
    arguments = parser.parse_args()
    space = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
    for latency in arguments.latency:
        compare(latency / 1000, arguments.rounds, space, arguments.site)


if __name__ == "__main__":
    main()
