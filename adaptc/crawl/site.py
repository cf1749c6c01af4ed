"""A site as a docroot to build: crawled, or taken out of a WARC file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.crawl.crawl import CrawlResult, Watched, crawl
from adaptc.crawl.names import NameOptions
from adaptc.crawl.options import AgainOptions, CrawlOptions
from adaptc.crawl.scope import ScopeOptions
from adaptc.crawl.warcfetcher import WarcFetcher
from adaptc.crawl.weburl import parts_of

_NAMES = NameOptions(host_directories=False, trust_server_names=True)
_WORDS = re.compile(r"[^A-Za-z0-9.-]+")


def mirror_name(source: str) -> str:
    """Return the name of the directory for what is crawled from a URL or read from a file: readable, and its own."""
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{_WORDS.sub('-', source.partition('://')[2] or source).strip('-.')[-60:]}-{digest}"


def crawl_site(
    url: str,
    output: Path,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
    watch: Callable[[Watched], None] | None = None,
) -> CrawlResult:
    """Crawl what is below the directory of ``url``, with the requisites of its pages, into the docroot ``output``.

    Only what changed is loaded, and what is gone is removed. Raises as ``crawl`` does.
    """
    options = CrawlOptions(
        (url,),
        output,
        ScopeOptions(no_parent=True, page_requisites=True),
        _NAMES,
        again=AgainOptions(timestamping=True, purge=True),
        as_served=True,
    )
    return crawl(options, is_stopped=is_stopped, watch=watch)


def unpack_warc(
    path: Path,
    output: Path,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
    watch: Callable[[Watched], None] | None = None,
) -> CrawlResult:
    """Write the files of the first site in a WARC file into the docroot ``output``.

    Raises ``UsageError`` when it is no WARC file, or holds no response that is a file.
    """
    archive = WarcFetcher(path)
    try:
        urls = _of_one_site(archive.found(), path)
    except UsageError:
        archive.close()
        raise
    again = AgainOptions(purge=True)
    options = CrawlOptions(urls, output, ScopeOptions(level=0), _NAMES, again=again, robots=False, as_served=True)
    return crawl(options, fetcher=archive, is_stopped=is_stopped, watch=watch)


def _of_one_site(urls: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """Return the URLs of the host that the file begins with: the other hosts of a crawl are what its pages embed."""
    if not urls:
        raise UsageError(f"{path} holds no response that is a file")
    site = parts_of(urls[0]).origin
    return tuple(url for url in urls if parts_of(url).origin == site)
