"""Visits of five pages with Chromium over Apache and nginx, with dictionaries and with Brotli alone.

The site is built once. Each visit begins at the index page and follows links at random, the same in all runs; from a
page without a new link it goes on with any page. Each has a browser of its own, with an empty cache, and waits after
the first page for the dictionary, as a reader does who takes some seconds to read. Bytes are those that the server
logs, header fields included: of the pages, and of everything that the browser asked for. The pages as the browser
decoded them must be equal. Needs Chromium, Apache and nginx.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers import web
from tests.servers.browser import Browser

import adaptc
from adaptc.compile.engine.state.state import last_build
from adaptc.config.config import Config
from adaptc.report.manifest import Manifest, read_manifest
from adaptc.serve.emitter import create_state, render
from adaptc.serve.policy import Policy, policy_of
from adaptc.serve.servers import server_named

PAGES = 5
KINDS = ("apache", "nginx")
PATIENCE = 60.0  # seconds until a browser must have asked for the dictionary
STILL, SETTLING = 15.0, 0.3  # seconds until a page counts as loaded, and until its scripts have run
LINE = re.compile(r'"GET (\S+) HTTP/[\d.]+" \d+ (\d+) ')
LINKS = "[...document.links].map(link => link.href)"


@dataclass(frozen=True)
class Visit:
    """The pages of a visit by URL path; bytes of each page, and of everything sent until the next one; documents.

    ``dictionary`` are the bytes of the dictionary, 0 without.
    """

    paths: tuple[str, ...]
    pages: tuple[int, ...]
    sent: tuple[int, ...]
    documents: tuple[str, ...]
    dictionary: int


@dataclass(frozen=True)
class Site:
    """A site that is built; ``root`` is where servers run."""

    config: Config
    root: Path
    policy: Policy
    manifest: Manifest

    @contextlib.contextmanager
    def served(self, kind: str, *, dictionaries: bool) -> Iterator[tuple[str, Path]]:
        """Run a server that adapts; give its base URL and its log."""
        policy = self.policy if dictionaries else replace(self.policy, dictionaries={})
        folder = self.root / f"{kind}-{dictionaries}"
        folder.mkdir(exist_ok=True)
        log = folder / "access.log"
        log.unlink(missing_ok=True)
        for name, text in render(server_named(kind), policy).items():
            (folder / name).write_bytes(os.fsencode(text))
        docroot = Path(policy.docroot)
        if kind == "apache":
            inside = f'Include "{folder}/apache.conf"\nCustomLog "{log}" {policy.name}'
            running = web.apache(folder / "server", docroot, inside)
        else:
            inside = f'include "{folder}/nginx-server.conf"; access_log "{log}" {policy.name};'
            running = web.nginx(folder / "server", docroot, f'include "{folder}/nginx-http.conf";', inside)
        with running as server:
            yield f"http://127.0.0.1:{server.port}", log


def build(docroot: Path, root: Path, level: str, effort: str) -> Site:
    """Build a site at a level, and switch adaptation on."""
    settings = {
        "docroot": docroot.absolute(), "output": root / "opt", "build.effort": effort, "serve.level": level,
        "build.levels": (level,), "codings.dictionaries": True,
    }  # fmt: skip
    config = adaptc.load_config(None, settings)
    adaptc.build(config)
    with last_build(config.output) as state:
        policy = policy_of(state, config)
    create_state(policy, [])
    Path(policy.flag).touch()
    return Site(config, root, policy, read_manifest(config.output))


def visit(site: Site, base: str, log: Path, chromium: str, chosen: random.Random | tuple[str, ...]) -> Visit:
    """Read pages: those that are ``chosen``, or links at random."""
    browser = Browser(chromium)
    browser.call("Network.setCacheDisabled", cacheDisabled=False)
    paths, documents, marks, links = list[str](), list[str](), [size_of(log)], list[str]()
    try:
        while len(paths) < PAGES:
            path = next_path(site, paths, links, chosen)
            if path is None:
                break
            read(browser, base + path)
            paths.append(path)
            documents.append(source(browser))
            links += browser.evaluate(LINKS)
            if len(paths) == 1:
                await_dictionary(site, log, marks[0])
            marks.append(size_of(log))
    finally:
        browser.close()
    with log.open("rb") as file:
        parts = [file.read(end - start) for start, end in zip([0, *marks], marks, strict=False)][1:]
    requests = [[(unquote(path), int(size)) for path, size in LINE.findall(part.decode("latin-1"))] for part in parts]
    pages = [
        sum(size for asked, size in part if asked == unquote(path)) for path, part in zip(paths, requests, strict=True)
    ]
    sent = [sum(size for _, size in part) for part in requests]
    dictionary = sum(size for part in requests for asked, size in part if asked.endswith(".dict"))
    return Visit(tuple(paths), tuple(pages), tuple(sent), tuple(documents), dictionary)


def read(browser: Browser, url: str) -> None:
    """Load a page; one that is never still, such as a video, is read all the same."""
    loader = browser.call("Page.navigate", url=url).get("loaderId")
    end = time.monotonic() + STILL
    while time.monotonic() < end:
        time.sleep(0.1)
        # by the loader, since scripts of slides write where they are into the address
        is_shown = frame_of(browser)["loaderId"] == loader
        if is_shown and browser.evaluate("document.readyState === 'complete'"):
            break
    time.sleep(SETTLING)


def source(browser: Browser) -> str:
    """Return the page that was read last as the browser decoded it, before scripts changed it."""
    frame = frame_of(browser)
    return str(browser.call("Page.getResourceContent", frameId=frame["id"], url=frame["url"])["content"])


def frame_of(browser: Browser) -> dict[str, str]:
    """Return what the browser says of the frame of the page."""
    return dict(browser.call("Page.getFrameTree")["frameTree"]["frame"])


def next_path(site: Site, paths: list[str], links: list[str], chosen: random.Random | tuple[str, ...]) -> str | None:
    """Return the URL path of the next page of a visit."""
    if isinstance(chosen, tuple):
        return chosen[len(paths)] if len(paths) < len(chosen) else None
    pages = [f"/{quote(path)}" for path, page in site.manifest.resources.items() if page.media_type == "text/html"]
    if not paths:
        return "/" if "/index.html" in pages else pages[0]
    linked = {urlsplit(link).path for link in links if link.startswith("http://127.0.0.1")}
    fresh = [path for path in pages if path not in paths]
    return chosen.choice([path for path in fresh if path in linked] or fresh) if fresh else None


def await_dictionary(site: Site, log: Path, start: int) -> None:
    """Wait until the browser has the dictionary, if it is offered one."""
    end = time.monotonic() + PATIENCE
    while log.parent.name.endswith("True") and site.policy.dictionaries and time.monotonic() < end:
        if b".dict " in log.read_bytes()[start:]:
            time.sleep(0.5)
            return
        time.sleep(0.1)


def size_of(log: Path) -> int:
    """Return the bytes of a log so far."""
    return log.stat().st_size if log.exists() else 0


def compare(site: Site, chromium: str, count: int, seed: int) -> Iterator[tuple[str, Visit, Visit]]:
    """Yield the kind of the server and each visit with Brotli alone and with dictionaries."""
    for kind in KINDS:
        with site.served(kind, dictionaries=False) as (base, log):
            plain = [visit(site, base, log, chromium, random.Random(f"{seed} {number}")) for number in range(count)]
        with site.served(kind, dictionaries=True) as (base, log):
            for before in plain:
                yield kind, before, visit(site, base, log, chromium, before.paths)


def row(site: Site, visits: list[tuple[Visit, Visit]]) -> dict[str, object]:
    """Return the figures of a site on one server."""
    next_pages = [statistics.fmean(size for one in visits for size in one[side].pages[1:]) for side in (0, 1)]
    threes = [sum(after.sent[:3]) / sum(before.sent[:3]) for before, after in visits]
    fives = [sum(after.sent) / sum(before.sent) for before, after in visits]
    pages = [(sum(after.pages[:3]) + after.dictionary) / sum(before.pages[:3]) for before, after in visits]
    (level,) = site.manifest.values["levels"]
    return {
        "dictionary": level.get("dictionary", {}).get("transfer"),
        "next": [round(size) for size in next_pages],
        "ratio": round(next_pages[1] / next_pages[0], 2),
        "visits of 3": spread(threes),
        "visits of 5": spread(fives),
        "visits of 3, pages and dictionary": spread(pages),
        "equal documents": all(before.documents == after.documents for before, after in visits),
    }


def spread(ratios: list[float]) -> list[float]:
    """Return the least, the mean and the largest of ratios."""
    return [round(ratio, 3) for ratio in (min(ratios), statistics.fmean(ratios), max(ratios))]


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--level", default="moderate")
    parser.add_argument("--effort", default="default")
    parser.add_argument("--visits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or parser.error("no Chromium")
    for docroot in given.sites:
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch).chmod(0o755)
            site = build(docroot, Path(scratch), given.level, given.effort)
            by_kind: dict[str, list[tuple[Visit, Visit]]] = {kind: [] for kind in KINDS}
            for kind, before, after in compare(site, str(chromium), given.visits, given.seed):
                by_kind[kind].append((before, after))
            for kind, visits in by_kind.items():
                print(docroot.name, given.level, kind, json.dumps(row(site, visits)), flush=True)


if __name__ == "__main__":
    main()
