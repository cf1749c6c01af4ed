"""How many lines of access logs are read a second of CPU time, by format; the lines are made up, of 220 characters."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from adaptc.formats.accesslog.log_format import NICKNAMES
from adaptc.formats.accesslog.parser import compile_format
from adaptc.formats.accesslog.reader import LogTally, read_log

FORMATS = {
    "auto": "auto",
    "combined": "combined",
    "Apache string": NICKNAMES["combined"],
    "nginx string": '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent"',
}
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"


def lines(count: int) -> Iterator[str]:
    """Yield lines of the combined format: pages by a Pareto law, three lines a second."""
    chance = random.Random(1)
    for number in range(count):
        clock = f"{number // 10800 % 24:02}:{number // 180 % 60:02}:{number // 3 % 60:02}"
        page = f"/docs/page-{int(chance.paretovariate(1)) % 3000}.html?x={number % 9}"
        client = f"10.{number % 7}.{number % 251}.{number % 13}"
        request = f'"GET {page} HTTP/1.1" 200 {number % 99999}'
        yield f'{client} - - [10/Oct/2025:{clock} +0200] {request} "https://example.org/" "{AGENT}"\n'


def main() -> None:
    """Print lines a second for each format."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=300_000)
    count = options.parse_args().lines
    with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
        file.writelines(lines(count))
        file.flush()
        for name, text in FORMATS.items():
            print(f"{name:15} {_rate(Path(file.name), text):>10,.0f} lines/s")


def _rate(log: Path, text: str) -> float:
    parser, tally = compile_format(text), LogTally()
    started = time.process_time()
    read = sum(1 for _ in read_log(str(log), parser, tally))
    return read / (time.process_time() - started)


if __name__ == "__main__":
    main()
