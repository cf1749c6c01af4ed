"""Draw pages of a site in Chromium before and after, and tell every difference: pixels, console errors, requests.

    python -m benchmarks.render DOCROOT OPT/LEVEL/id [--pages N] [--widths 1280,412]

The original is drawn twice, so that what moves by itself is not held against anyone.
"""

from __future__ import annotations

import argparse
import random
import shutil
from pathlib import Path

from tests.servers.browser import Browser, serving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroot", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--pages", type=int, default=20, help="how many pages, drawn by lot; 0: all")
    parser.add_argument("--widths", default="1280,412")
    arguments = parser.parse_args()
    pages = sorted(path.relative_to(arguments.docroot).as_posix() for path in arguments.docroot.rglob("*.htm*"))
    if arguments.pages:
        pages = sorted(random.Random(1).sample(pages, min(arguments.pages, len(pages))))
    browser = Browser(shutil.which("chromium") or "chromium")
    counts = {"same": 0, "differs": 0, "unstable": 0}
    try:
        with serving(arguments.docroot) as before, serving(arguments.tree, arguments.docroot) as after:
            for page in pages:
                for width in map(int, arguments.widths.split(",")):
                    counts[compare(browser, before + page, after + page, page, width)] += 1
    finally:
        browser.close()
    print(", ".join(f"{number} {name}" for name, number in counts.items()), "views")


def compare(browser: Browser, before: str, after: str, page: str, width: int) -> str:
    first, second = browser.view(before, width), browser.view(before, width)
    now = browser.view(after, width)
    problems = []
    if now.png != first.png and now.png != second.png:
        if first.png != second.png:
            return "unstable"
        problems.append("pixels")
    problems += [f"console: {error}" for error in now.errors if error not in first.errors + second.errors]
    if now.requests > max(first.requests, second.requests):
        problems.append(f"{now.requests} requests, {first.requests} before")
    if problems:
        print(f"{page} at {width}: {'; '.join(problems)}")
    return "differs" if problems else "same"


if __name__ == "__main__":
    main()
