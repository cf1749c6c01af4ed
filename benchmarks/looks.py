"""Time how long a browser takes to look at pages, and compare what it sees from run to run.

    python benchmarks/looks.py SITE [PAGE...] [--pages N] [--tabs N] [--runs N]

Without names it takes N pages of SITE by the digests of their names. Each run looks at each page once, several of them
side by side, in a browser of its own. Printed are seconds a page, of wall time and of CPU time (browser and driver
included), for each run, and the digest of all evidence; pages of which two runs see something else are named.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import os
import resource
import time
from pathlib import Path

from adaptc.browser import find_chromium
from adaptc.browser.answers import docroot_server, file_at
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.look import NotSeen, look_at
from adaptc.core import media
from adaptc.core.digest import digest_parts
from adaptc.site.docroot import load_site
from adaptc.site.header_rules import PageHeaders
from adaptc.site.site import Site
from adaptc.workflow.configuration import load_config

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


async def look_at_pages(browser: Chromium, docroot: Path, site: Site, pages: list[str], tabs: int) -> dict[str, str]:
    """Return the evidence of each page, or why there is none, as text."""
    server, seen, left = docroot_server(docroot, site, PageHeaders()), dict[str, str](), iter(pages)

    async def lane() -> None:
        for path in left:
            try:
                url, home = site.url_for_readers(path), site.address.base
                look = await look_at(browser, server, url, lambda url: file_at(site, url), home)
            except NotSeen as reason:
                seen[path] = f"not seen: {reason}"
                continue
            document = None if look.document is None else digest_parts(look.document)
            seen[path] = repr(look.evidence_with(document).as_record())

    await asyncio.gather(*(lane() for _ in range(tabs)))
    return seen


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all below it, which have ended or are ending."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    used = [resource.getrusage(processes) for processes in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    """Look at the pages, and print what it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("page", nargs="*")
    parser.add_argument("--pages", type=int, default=8)
    parser.add_argument("--tabs", type=int, default=4)
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    # processes of the browser that nobody waits for would not count: they become children of this one
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    program = find_chromium()
    assert program is not None, "no Chromium on the PATH"
    _, site = load_site(load_config(overrides={"docroot": options.site}))
    names = sorted((path for path, each in site.sources.items() if each.media_type == media.HTML), key=digest_parts)
    pages, first = options.page or names[: options.pages], dict[str, str]()
    for _ in range(options.runs):
        wall, cpu = time.monotonic(), cpu_seconds()
        seen = in_chromium(program, lambda browser: look_at_pages(browser, options.site, site, pages, options.tabs))
        wall, cpu = time.monotonic() - wall, cpu_seconds() - cpu
        digest = digest_parts(*(seen[path] for path in sorted(seen)))[:12]
        print(f"{wall / len(pages):.2f} s wall, {cpu / len(pages):.2f} s CPU a page; evidence {digest}")
        first = first or seen
        for path in (path for path in pages if seen[path] != first[path]):
            print(f"  {path} differs from the first run")
        for path in (path for path in pages if seen[path].startswith("not seen")):
            print(f"  {path}: {seen[path]}")


if __name__ == "__main__":
    main()
