"""Bytes and largest contentful paint of a first visit by phone: level web, other tools, neither.

Of each site up to three pages stay, with all other files; each tool gets a copy of that. Others are named by --peer, a
command that rewrites the directory which it is given; by default it is jampack (npm @divriots/jampack), and there are
two more in benchmarks/peers. adaptc looks at the pages with a browser and exports level web. Each tree is served over
HTTP/1.1 with Brotli for text, as static hosts do, to Chromium with 412 CSS pixels at a density of 1.75, a line of 1.6
Mbit/s with 150 ms of latency, and a processor that is slowed down by 4 (the settings of Lighthouse). The trees
are visited in turn; medians count. A page is broken if the console has more errors, a
request more fails, an image more is not shown, or the text differs from the original's.
Seconds are those of processors that a build from nothing took, with all its processes.

With --table what was measured is kept in a file, and all sites in it are written as a table for the documentation:
medians over runs, means over pages, and of how many sites each is ahead. Largest contentful paints count as equal
within 5 %.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from adaptc.browser import find_chromium
from adaptc.browser.answers import Answer
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.paint import Line, loopback_host, phone
from adaptc.core import media

LINE = Line(150, 1_600_000, 750_000)
ORIGIN = "http://site.invalid"
OURS = ("original", "web")
SHOWN = """() => ({
  text: document.body.innerText.replace(/\\s+/g, ' ').trim(),
  missing: [...document.images].filter((i) => i.complete && i.currentSrc && !i.naturalWidth).length,
})"""


@dataclass(frozen=True)
class Visit:
    """One load of a page: ms to the largest paint, its layout shift, bytes of all answers, and what was seen."""

    lcp: float
    shift: float
    size: int
    errors: int
    failed: int
    missing: int
    text: str

    def breaks(self, original: Visit) -> bool:
        return (
            self.errors > original.errors
            or self.failed > original.failed
            or self.missing > original.missing
            or self.text != original.text
        )


# ---- the trees of a site


def chosen_pages(site: Path, count: int) -> list[str]:
    """Return an index page and others spread over the site, but for small ones where there are larger ones."""
    sizes = {str(path.relative_to(site)): path.stat().st_size for path in site.rglob("*.htm*")}
    pages = sorted([page for page, size in sizes.items() if size > 2000] or sizes)
    indexes = [page for page in pages if Path(page).name == "index.html"]
    first = min(indexes or pages, key=lambda page: (page.count("/"), page))
    others = [page for page in pages if page != first]
    step = max(1, len(others) // max(1, count - 1))
    return [first, *others[step // 2 :: step][: count - 1]]


def copy_site(site: Path, target: Path, pages: list[str]) -> None:
    shutil.copytree(site, target)
    for path in target.rglob("*.htm*"):
        if str(path.relative_to(target)) not in pages:
            path.unlink()


def make_trees(site: Path, scratch: Path, pages: list[str], peers: dict[str, str], directory: str, effort: str) -> None:
    """Make those of ``OURS`` and ``peers`` that ``scratch`` does not hold."""
    if not (scratch / "original").exists():
        copy_site(site, scratch / "original", pages)
    if not (scratch / "web").exists():
        shutil.rmtree(scratch / "opt", ignore_errors=True)
        command = [sys.executable, "-P", "-m", "adaptc", "web", "original", "web", "-o", "opt", "--effort", effort]
        with timed(scratch, "web"):
            subprocess.run(command, cwd=scratch, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, command in peers.items():
        if (scratch / name).exists():
            continue
        begun = scratch / f"{name}-begun"
        shutil.rmtree(begun, ignore_errors=True)
        copy_site(site, begun, pages)
        with timed(scratch, name):
            subprocess.run(shlex.split(command.format(begun)), cwd=directory, check=True, capture_output=True)
        begun.rename(scratch / name)  # one that failed is no tree of that tool


_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


@contextmanager
def timed(scratch: Path, tree: str) -> Iterator[None]:
    """Note the seconds of processors that the processes started meanwhile take.

    Those that draw pages outlive the browser that started them, and count if this process waits for them.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield
    with suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (scratch / f"{tree}.seconds").write_text(json.dumps(round(taken, 1)))


def seconds_of(scratch: Path, tree: str) -> float | None:
    """Return the seconds that a tree took, ``None`` where nobody noted them."""
    path = scratch / f"{tree}.seconds"
    return float(json.loads(path.read_text())) if path.exists() else None


# ---- a host that only sends files


def hosted(root: Path) -> AbstractContextManager[str]:
    """Serve a tree and return its address."""

    def answer(url: str) -> Answer | None:
        path = root / unquote(urlsplit(url).path).lstrip("/")
        path = path / "index.html" if path.is_dir() else path
        return Answer(path.read_bytes(), media.by_name(path.name) or media.BINARY) if path.is_file() else None

    return loopback_host(answer, ORIGIN)


# ---- visits


async def visit(browser: Chromium, host: str, path: str) -> Visit:
    errors, failed = list[str](), set[str]()
    async with phone(browser, host, LINE) as opened:
        page = opened.page
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("response", lambda response: failed.add(response.url) if response.status >= 400 else None)
        paint = await opened.load(f"{host}/{path}")
        seen = await page.evaluate(SHOWN)
    own = [error for error in errors if "ERR_FAILED" not in error]
    return Visit(paint.largest, paint.shift, paint.size, len(own), len(failed), seen["missing"], seen["text"])


async def measure(
    browser: Chromium, scratch: Path, trees: list[str], pages: list[str], runs: int
) -> dict[str, dict[str, list[Visit]]]:
    """Return the visits of each page by tree, in turn."""
    visits: dict[str, dict[str, list[Visit]]] = {page: {tree: [] for tree in trees} for page in pages}
    for page in pages:
        for _ in range(runs):
            for tree in trees:
                with hosted(scratch / tree) as host:
                    visits[page][tree].append(await visit(browser, host, quote(page)))
    return visits


@dataclass(frozen=True)
class Figures:
    """A tree of a site: means over its pages of the medians, and how many are broken."""

    size: float
    lcp: float
    shift: float
    broken: int
    seconds: float | None


def figures(visits: dict[str, dict[str, list[Visit]]], tree: str, seconds: float | None) -> Figures:
    """Return the figures of a tree."""
    pages = [trees[tree] for trees in visits.values()]

    def mean(figure: Callable[[Visit], float]) -> float:
        return statistics.mean(statistics.median(map(figure, loads)) for loads in pages)

    size, lcp, shift = mean(lambda each: each.size), mean(lambda each: each.lcp), mean(lambda each: each.shift)
    broken = sum(
        all(each.breaks(first) for each, first in zip(trees[tree], trees["original"], strict=True))
        for trees in visits.values()
    )
    return Figures(size, lcp, shift, broken, seconds)


EQUAL = 1.05


def rows(site: str, visits: dict[str, dict[str, list[Visit]]], trees: dict[str, Figures]) -> Iterator[str]:
    """Yield a row for each page, and one for the site."""
    for page, found in visits.items():
        cells = [
            f"{statistics.median(v.size for v in loads):,.0f} B {statistics.median(v.lcp for v in loads):,.0f} ms"
            for loads in found.values()
        ]
        yield f"  {page}: {' | '.join(cells)}"
    yield row(f"{site} ({len(visits)})", trees)


def row(name: str, trees: dict[str, Figures]) -> str:
    """Return the row of a site."""
    cells = (
        f"{each.size:,.0f} B, {each.lcp:,.0f} ms, {each.shift:.3f}"
        + (f", {each.broken} broken" if each.broken else "")
        + ("" if each.seconds is None else f", {each.seconds:.1f} s")
        for each in trees.values()
    )
    return f"| {name} | {' | '.join(cells)} |"


def table(sites: dict[str, dict[str, Figures]], peers: list[str]) -> Iterator[str]:
    """Yield the lines of the table of all sites, and of how many level web is ahead."""
    yield f"| site | {' | '.join([*OURS, *peers])} |"
    yield f"| --- |{' --- |' * (len(OURS) + len(peers))}"
    yield from (row(site, trees) for site, trees in sites.items())
    behind = {
        "no page broken": [s for s, trees in sites.items() if trees["web"].broken],
        "no more shift than the original": [
            s for s, trees in sites.items() if trees["web"].shift > trees["original"].shift + 0.001
        ],
    }
    for peer in peers:
        pairs = {site: (trees["web"], trees[peer]) for site, trees in sites.items()}
        behind |= {
            f"fewer bytes than {peer}": [s for s, (web, other) in pairs.items() if web.size >= other.size],
            f"as soon as {peer}": [s for s, (web, other) in pairs.items() if 0 <= EQUAL * other.lcp < web.lcp],
            f"built in fewer seconds than {peer}": [
                s for s, (web, other) in pairs.items() if (web.seconds or 0) > (other.seconds or 0)
            ],
        }
    yield ""
    for what, others in behind.items():
        names = f" (not {', '.join(others)})" if others else ""
        yield f"- {what}: {len(sites) - len(others)} of {len(sites)}{names}"


def remember(path: Path, site: str, trees: dict[str, Figures]) -> dict[str, dict[str, Figures]]:
    """Add a site to what was measured before, and return all of it."""
    known = json.loads(path.read_text()) if path.exists() else {}
    known[site] = {tree: asdict(each) for tree, each in trees.items()}
    path.write_text(json.dumps(known, indent=1))
    return {site: {tree: Figures(**each) for tree, each in found.items()} for site, found in known.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument(
        "--peer", action="append", default=[], help="NAME=COMMAND, with {} for the directory that it rewrites"
    )
    parser.add_argument("--directory", default=".", help="where peers run: the folder with their node_modules")
    parser.add_argument("--trees", type=Path, help="where trees are kept, and taken from if they are there")
    parser.add_argument("--pages", type=int, default=3)
    parser.add_argument("--visited", type=int, default=3, help="how many of these pages are visited")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--effort", default="fast", choices=("fast", "default", "max"))
    parser.add_argument("--chromium", default=find_chromium())
    parser.add_argument("--table", type=Path, help="where what was measured is kept (JSON)")
    arguments = parser.parse_args()
    peers = dict(each.split("=", 1) for each in arguments.peer or ["jampack=npx jampack {} --cleancache"])
    trees = [*OURS, *peers]
    print(f"| site (pages) | {' | '.join(trees)} |")
    for site in arguments.sites:
        with tempfile.TemporaryDirectory() as directory:
            scratch, pages = (arguments.trees or Path(directory)) / site.name, chosen_pages(site, arguments.pages)
            scratch.mkdir(parents=True, exist_ok=True)
            make_trees(site, scratch, pages, peers, arguments.directory, arguments.effort)
            visited = pages[: arguments.visited]

            def work(
                browser: Chromium, scratch: Path = scratch, visited: list[str] = visited
            ) -> Awaitable[dict[str, dict[str, list[Visit]]]]:
                return measure(browser, scratch, trees, visited, arguments.runs)

            visits = in_chromium(arguments.chromium, work, reaches_loopback=True)
            found = {tree: figures(visits, tree, seconds_of(scratch, tree)) for tree in trees}
            print("\n".join(rows(site.name, visits, found)), flush=True)
            if arguments.table is not None:
                sites = remember(arguments.table, site.name, found)
    if arguments.table is not None:
        print("\n".join(table(sites, list(peers))))


if __name__ == "__main__":
    main()
