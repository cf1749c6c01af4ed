"""The peak memory of a build's worker for one large file of each kind, by the size of the file.

Each build runs in a process of its own with one worker. ``many`` are eight large pages: what one leaves must not stay.
"""

from __future__ import annotations

import argparse
import base64
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import adaptc

RANDOM = random.Random(1)
HEAD = "<!DOCTYPE html><title>t</title>"


def words(count: int) -> str:
    """Return words of two to eight letters."""
    return " ".join("".join(RANDOM.choices("abcdefghij", k=RANDOM.randrange(2, 9))) for _ in range(count))


def page(size: float) -> str:
    """Return a page of headings, paragraphs and links of about so many bytes."""
    block = '<div class="c{0}"><h2 id="h{0}">{1}</h2><p>{2} <a href="#h{0}">more</a></div>\n'
    return HEAD + "".join(block.format(number, words(4), words(40)) for number in range(int(size / 300)))


def inline_data() -> str:
    """Return a page of 1.7 MB, most of it data URIs and data in a script."""
    images = (base64.b64encode(RANDOM.randbytes(40_000)).decode() for _ in range(25))
    shown = "".join(f'<p>{words(30)}<img alt="" src="data:image/png;base64,{image}">' for image in images)
    values = ",".join(f'"{words(1)}{number}":[{number},"{words(3)}"]' for number in range(10_000))
    return f"{HEAD}{shown}<script>var data={{{values}}}</script>"


def sheet(size: float) -> str:
    """Return a style sheet of about so many bytes."""
    rule = ".c{0} > .d{1} {{ color : #{2:03x}; margin : {1}px  3px }}\n"
    return "".join(rule.format(number, number % 997, number % 4096) for number in range(int(size / 52)))


SITES = {
    "inline": lambda: {"index.html": inline_data()},
    "page": lambda: {"index.html": page(10e6)},
    "sheet": lambda: {"index.html": f'{HEAD}<link rel="stylesheet" href="s.css"><p>words', "s.css": sheet(20e6)},
    "one": lambda: {"index.html": page(2e6)},
    "many": lambda: {f"{number}.html": page(2e6) for number in range(8)},
}


def build(kind: str, level: str) -> None:
    """Build a site in this process, with one worker, and print the peak."""
    with tempfile.TemporaryDirectory() as scratch:
        docroot = Path(scratch) / "site"
        docroot.mkdir()
        for name, text in SITES[kind]().items():
            (docroot / name).write_text(text)
        largest = max(file.stat().st_size for file in docroot.iterdir()) / 1e6
        settings = {"build.effort": "fast", "build.levels": (level,), "build.jobs": 1}
        adaptc.build(adaptc.load_config(None, {"docroot": docroot, "output": Path(scratch) / "opt", **settings}))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{kind:8} {level:9} largest file {largest:5.1f} MB, peak of the worker {peak:5.0f} MB", flush=True)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", default="lossless")
    parser.add_argument("--only", choices=SITES, help="in this process")
    given = parser.parse_args()
    if given.only:
        build(given.only, given.level)
        return
    for kind in SITES:
        subprocess.run([sys.executable, __file__, "--level", given.level, "--only", kind], check=True)


if __name__ == "__main__":
    main()
