"""How many log lines a second the classifier takes in on one core: parsing, grouping, estimates.

The log is made: 20,000 clients, a page with 9 objects each time, 40 requests a second, combined format as it is, and
with what adaptc's own format has behind it. The best of some rounds counts: other work on the machine only adds time.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

from adaptc.daemons.classify.classifier import Classifier
from adaptc.daemons.classify.hits import hits
from adaptc.formats.accesslog.parser import compile_format

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


def lines(count: int, tail: bool) -> Iterator[str]:
    source = random.Random(1)
    for number in range(count // 10):
        at = 1_700_000_000 + number // 4
        client = f"10.{source.randrange(4)}.{source.randrange(64)}.{source.randrange(80)}"
        for position in range(10):
            path = f"/docs/page{source.randrange(300)}.html" if position == 0 else f"/img/i{source.randrange(999)}.png"
            clock = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(at + position // 4))
            line = f'{client} - - [{clock}] "GET {path} HTTP/1.1" 200 {source.randrange(90000)} "-" "{AGENT}"'
            yield line + (f" at={at + position // 4}.125 took=0.002s served=full/br class=-" if tail else "")


def classified(log: list[str]) -> tuple[float, int]:
    """Return CPU seconds, and the number of retrievals."""
    classifier, parse = Classifier(), compile_format()
    start = time.process_time()
    verdicts = sum(1 for _ in classifier.feed(hits(log, parse, frozenset({"-", "full"}))))
    return time.process_time() - start, verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for name, tail in (("combined", False), ("adaptc's own", True)):
        log = list(lines(arguments.lines, tail))
        taken, verdicts = min(classified(log) for _ in range(arguments.rounds))
        print(f"{name:>13}: {len(log) / taken:,.0f} lines a CPU second, {verdicts:,} retrievals")


if __name__ == "__main__":
    main()
