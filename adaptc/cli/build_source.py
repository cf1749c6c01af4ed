"""What ``adaptc build`` is given: a docroot, a mirror, the URL of a site, or a WARC file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from adaptc.cli.frame import Frame
from adaptc.config.config import MIRRORS
from adaptc.site.mirror import mirrored

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.crawl.crawl import CrawlResult


def is_fetched(source: str | None) -> bool:
    """Whether the site must be had before it can be built."""
    return source is not None and (_is_url(source) or source.endswith((".warc", ".warc.gz")))


def _is_url(source: str) -> bool:
    return source.lower().startswith(("http://", "https://"))


def fetched(frame: Frame, source: str, output: Path) -> CrawlResult:
    """Crawl a URL, or unpack a WARC file, below the output's private directory.

    Raises ``UsageError``, ``CrawlBusy`` and ``KeyboardInterrupt``.
    """
    from adaptc.cli.crawl_run import stoppable, watching_crawl
    from adaptc.crawl.site import crawl_site, mirror_name, unpack_warc

    with stoppable() as is_stopped, watching_crawl(frame) as watch:
        if _is_url(source):
            return crawl_site(source, output / MIRRORS / mirror_name(source), is_stopped=is_stopped, watch=watch)
        path = Path(source)
        return unpack_warc(
            path, output / MIRRORS / mirror_name(str(path.resolve())), is_stopped=is_stopped, watch=watch
        )


def with_mirror(config: Config) -> Config:
    """Return the configuration with what a crawl knows of its docroot, where the user did not say it."""
    found = mirrored(config.docroot) if config.docroot is not None else None
    if found is None:
        return config
    site = replace(
        config.site,
        base_url=config.site.base_url or found.base_url,
        csp=config.site.csp if config.site.csp is not None else found.csp,
    )
    return replace(config, docroot=found.docroot, site=site)
