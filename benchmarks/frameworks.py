"""Requests and bytes of pages of sites that frameworks made, at each level, as Chromium makes them.

    python benchmarks/frameworks.py SITE... [--proven] [--levels moderate,unhydrated] [--trees DIR]

Of each site the index page and others spread over it are loaded at 1,280 px, the original and each level, until nothing
was asked for in ``--quiet`` seconds after the load event: hints for the next page come late on a busy machine. Files
are counted once, those of other hosts as requests of no bytes; text is counted in Brotli. A site whose pages begin
their addresses with a folder that it does not have is served below that folder. Prints a row for each site: means over
pages of the shares of the original's, the largest share of any page, and on how many pages the text shown differs.
"""

from __future__ import annotations

import argparse
import collections
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from playwright.sync_api import Browser, Route, sync_playwright

from adaptc.browser import find_chromium
from adaptc.core import media
from adaptc.formats.codings import encode

ORIGIN = "http://site.invalid"
_FIRST_FOLDER = re.compile(r"""(?:src|href)=["']?/([^/"'\s>]+)/""")
_ERROR_PAGES = re.compile(r"(?:^|/)(?:404|500|200|_not-found|__spa-fallback|index\.csr)(?:\.html|/)")
_MOST = 120_000  # ms for a page to load
_PATIENCE = 6  # times that a page may ask for something more


@dataclass(frozen=True)
class Tree:
    """A docroot below ``base``; files that ``roots`` do not have come from the next."""

    roots: tuple[Path, ...]
    base: str

    def file(self, url: str) -> Path | None:
        path = unquote(urlsplit(url).path)
        if not path.startswith(f"{self.base}/"):
            return None
        name = path.removeprefix(self.base).lstrip("/")
        names = (f"{name}index.html",) if not name or name[-1] == "/" else (name, f"{name}.html", f"{name}/index.html")
        return next((file for root in self.roots for each in names if (file := root / each).is_file()), None)


@dataclass(frozen=True)
class View:
    """One load of a page: the sizes of what it asked for, by address, and the text that it shows."""

    sizes: dict[str, int]
    text: str


def base_of(site: Path) -> str:
    """Return the folder with which most addresses begin, if the site does not have it."""
    texts = [page.read_text("utf-8", "replace") for page in sorted(site.rglob("index.html"))[:3]]
    folders = collections.Counter(folder for text in texts for folder in _FIRST_FOLDER.findall(text))
    folder = max(folders, key=lambda each: folders[each], default="")
    return "" if not folder or (site / folder).exists() else f"/{folder}"


def chosen_pages(site: Path, count: int) -> list[str]:
    """Return the index page and others spread over the site: no error pages, small ones only where it has no others."""
    every = [page for page in site.rglob("*.html") if not _ERROR_PAGES.search(page.relative_to(site).as_posix())]
    found = [page for page in every if page.stat().st_size > 700] or every
    pages = sorted((page.relative_to(site).as_posix() for page in found), key=lambda page: (page.count("/"), page))
    first = "index.html" if "index.html" in pages else pages[0]
    others = [page for page in pages if page != first]
    step = max(1, len(others) // max(1, count - 1))
    return [first, *others[step // 2 :: step][: count - 1]]


@lru_cache(maxsize=4096)
def sent_size(file: Path, media_type: str) -> int:
    content = file.read_bytes()
    packed = encode(content, "br", "default") if media.is_compressible(media_type) else content
    return min(len(content), len(packed))


def load(browser: Browser, tree: Tree, page: str, quiet: float) -> View:
    """Load a page by the address that readers use."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, service_workers="block")
    tab, sizes = context.new_page(), dict[str, int]()

    def answer(route: Route) -> None:
        url = route.request.url
        file = tree.file(url) if url.startswith(ORIGIN) else None
        kind = (media.by_name(file.name) if file else None) or media.BINARY
        if file is not None or not url.endswith("/favicon.ico"):
            size = sent_size(file, kind) if file and route.request.method != "HEAD" else 0
            sizes[url] = max(size, sizes.get(url, 0))
        if not url.startswith(ORIGIN):
            route.abort()
        elif file is None:
            route.fulfill(status=404, body="not found")
        else:
            route.fulfill(body=file.read_bytes(), content_type=kind)

    tab.route("**/*", answer)
    name = page.removesuffix("index.html") if Path(page).name == "index.html" else page
    tab.goto(f"{ORIGIN}{tree.base}/{quote(name)}", wait_until="load", timeout=_MOST)
    for _ in range(_PATIENCE):
        count = len(sizes)
        tab.wait_for_timeout(1000 * quiet)
        if len(sizes) == count:
            break
    text = " ".join(tab.evaluate("document.body.innerText").split())
    context.close()
    return View(sizes, text)


def build(site: Path, output: Path, levels: Sequence[str], *, proven: bool) -> None:
    wanted = [argument for level in ("full", "lossless", *levels) for argument in ("--level", level)]
    options = ["--effort", "fast", *wanted, *(("--browser=all", "--prove") if proven else ())]
    command = [sys.executable, "-P", "-m", "adaptc", "build", str(site), "-o", str(output), *options]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cells(originals: Sequence[View], views: Sequence[View]) -> Iterator[str]:
    """Yield what a level takes: mean shares of requests and bytes, the largest of any page, texts that differ."""
    pairs = list(zip(originals, views, strict=True))
    requests = [len(view.sizes) / len(first.sizes) for first, view in pairs]
    sizes = [sum(view.sizes.values()) / max(1, sum(first.sizes.values())) for first, view in pairs]
    yield f"{statistics.mean(requests):.2f}, {statistics.mean(sizes):.2f}"
    yield f"{max(requests):.2f}, {max(sizes):.2f}"
    yield str(sum(first.text != view.text for first, view in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--proven", action="store_true", help="build with --browser=all --prove")
    parser.add_argument("--levels", default="moderate,unhydrated")
    parser.add_argument("--pages", type=int, default=2)
    parser.add_argument("--quiet", type=float, default=3.0, help="seconds without a request")
    parser.add_argument("--trees", type=Path, help="where builds are kept, and taken from if they are there")
    arguments = parser.parse_args()
    levels = arguments.levels.split(",")
    print(f"| site | {' | '.join(f'{level} | at most | other texts' for level in levels)} |")
    print(f"| --- |{' --- |' * 3 * len(levels)}")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        for site in arguments.sites:
            name = "-".join(site.resolve().parts[1:])  # many docroots are named dist
            output, base = (arguments.trees or Path(scratch)) / name, base_of(site)
            if not output.exists():
                build(site, output, levels, proven=arguments.proven)
            pages = chosen_pages(site, arguments.pages)
            trees = [Tree((site,), base), *(Tree((output / level / "id", site), base) for level in levels)]
            views = [[load(browser, tree, page, arguments.quiet) for page in pages] for tree in trees]
            row = [cell for found in views[1:] for cell in cells(views[0], found)]
            print(f"| {site} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
